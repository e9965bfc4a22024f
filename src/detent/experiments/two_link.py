"""A two-link arm that strikes a post: TH Fig 4.11 and 4.12 (X7)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from detent import AT_ONCE
from detent.collision import resolve_collision
from detent.devices import IDEAL
from detent.experiments.protocol import Claim, Experiment, Metrics, Result, at_most, within
from detent.hands import Constant
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, PINK, figure, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

UPRIGHT = np.array([np.pi / 2.0, 0.0])  # [rad] q of TH 4.4.1.1
BEFORE = np.array([1.0, 1.0])  # [rad/s] q̇₀
ENERGY = 7.0 / 3.0  # [J] KE₀
POST = 0.06  # [m] from the arm's axis to the post's centre

#: where the post is [m], and the share of the energy lost at e = 0: 7/24 J is 1/8 of 7/3 J,
#: the link's centre of percussion (1.5 m) loses all; the others are errata B2's
SHARES = {0.7: 0.125, 1.2: 0.438, 1.5: 1.0, 1.8: 0.728}
COLOURS = {0.7: ORANGE, 1.2: GREEN, 1.5: BLUE, 1.8: PINK}
RESTITUTIONS = np.linspace(0.0, 1.0, 21)


def arm(height: float) -> World:
    """The arm, with the post at a height [m] beside it."""
    spec = World.builtin("two-link").spec.copy()
    spec.geom("post").pos = [-POST, height, 0.0]
    return World(spec, name="two-link")


def inertia_and_row(
    world: World, q: np.ndarray, reach: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's D, and the row of its contact with the post, which may be *reach* [m] away."""
    model = world.spec.copy().compile()
    model.geom("post").margin = reach
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    D = np.zeros((2, 2))
    mujoco.mj_fullM(model, data, D)
    contact = data.contact[0]
    moving = model.geom_bodyid[contact.geom2]
    jac = np.zeros((3, 2))
    mujoco.mj_jac(model, data, jac, None, contact.pos, moving)
    return D, contact.frame[None, :3] @ jac


def energy(D: np.ndarray, v: np.ndarray) -> float:
    """½ q̇ᵀ D q̇ [J]."""
    return float(0.5 * v @ D @ v)


def losses(height: float) -> np.ndarray:
    """Energy lost at the post, for each restitution [J]."""
    D, J = inertia_and_row(arm(height), UPRIGHT, 1e-6)
    after = [resolve_collision(D, J, BEFORE, e).velocity for e in RESTITUTIONS]
    return np.array([energy(D, BEFORE) - energy(D, v) for v in after])


def swing(height: float, restitution: float) -> tuple[Trace, float]:
    """Push the arm against the post; the trace, and how far its loss is off the law [-]."""
    world = arm(height)
    start = world.placed(UPRIGHT - np.array([0.25, 0.0]))
    session = Session(
        start, Contact(restitution=restitution), device=IDEAL, force_path=AT_ONCE, rate=1000.0
    )
    trace = session.run(1.0, Constant(force=(-2.0, 0.0)))
    hit = int(np.argmax(trace["collisions"] > 0))
    if trace["collisions"][hit] == 0:
        return trace, np.inf
    q, v = joint_state(trace, hit)
    D, J = inertia_and_row(world, q)
    mass = 1.0 / (J @ np.linalg.solve(D, J.T)).item()
    expected = -0.5 * (1.0 - restitution**2) * mass * (J @ v).item() ** 2  # TH 4.27, errata E5
    return trace, abs(float(trace["impact_energy"][hit]) / expected - 1.0)


def joint_state(trace: Trace, tick: int) -> tuple[np.ndarray, np.ndarray]:
    """q and q̇ from the pose and twist of the distal link's centre."""
    x, y = trace["tool_position"][tick, :2]
    w, z = trace["tool_quaternion"][tick, [0, 3]]
    both = 2.0 * np.arctan2(z, w)
    q1 = np.arctan2(y - 0.5 * np.sin(both), x - 0.5 * np.cos(both))
    spin = trace["tool_twist"][tick, 5]
    elbow = trace["tool_twist"][tick, :2] - 0.5 * spin * np.array([-np.sin(both), np.cos(both)])
    first = elbow @ np.array([-np.sin(q1), np.cos(q1)])
    return np.array([q1, both - q1]), np.array([first, spin - first])


def strike_post(restitution: float = 0.3) -> Result:
    """Restitution [-] of the runs through the servo; the curves have all from 0 to 1."""
    curves = {height: losses(height) for height in SHARES}
    metrics, traces = Metrics(), {}
    D, _ = inertia_and_row(arm(1.5), UPRIGHT, 1e-6)
    metrics["energy"] = energy(D, BEFORE)
    for height, curve in curves.items():
        law = (1.0 - RESTITUTIONS**2) * curve[0]
        metrics[f"loss_{height}"] = float(curve[0])
        metrics[f"share_{height}"] = float(curve[0] / metrics["energy"])
        metrics[f"law_error_{height}"] = float(np.abs(curve - law).max())
        metrics[f"elastic_loss_{height}"] = float(abs(curve[-1]))
    for height in (0.7, 1.5):
        traces[f"post-{height}"], error = swing(height, restitution)
        metrics[f"servo_error_{height}"] = error
    return Result(metrics, arm_claims(metrics), traces, partial(draw_arm, curves))


def arm_claims(m: Metrics) -> list[Claim]:
    """TH 4.4.1.1 with errata B2 and E5."""
    claims = [within("X7.energy", "TH 4.4.1.1", "KE₀", m["energy"], ENERGY, 1e-12, "J")]
    for height, name, loss in ((0.7, "base", 7.0 / 24.0), (1.5, "distal", ENERGY)):
        figure_number = f"TH Fig 4.12({'a' if name == 'base' else 'b'})"
        error = max(abs(m[f"loss_{height}"] - loss), m[f"law_error_{height}"])
        claims += [
            at_most(
                f"X7.law-{name}",
                figure_number,
                f"{name} link: the loss is (1 − e²)·{loss:.4f} J for every e (largest error)",
                error,
                1e-9,
                "J",
            ),
            within(
                f"X7.share-{name}",
                figure_number,
                f"{name} link: share of the energy lost at e = 0",
                m[f"share_{height}"],
                SHARES[height],
                1e-9,
            ),
            at_most(
                f"X7.servo-{name}",
                "TH 4.27 (errata E5)",
                f"{name} link: a run through the servo loses what the law says (relative error)",
                m[f"servo_error_{height}"],
                1e-6,
            ),
        ]
    for height in (1.2, 1.8):
        claims.append(
            within(
                f"X7.share-{height}",
                "errata B2",
                f"distal link at {height} m: not all of the energy is lost",
                m[f"share_{height}"],
                SHARES[height],
                2e-3,
            )
        )
    elastic = max(m[f"elastic_loss_{height}"] for height in SHARES)
    claims.append(
        at_most("X7.elastic", "TH 4.4.1.1", "e = 1 keeps the energy (loss)", elastic, 1e-12, "J")
    )
    return claims


def draw_arm(curves: dict[float, np.ndarray], path: Path) -> Any:
    """TH Fig 4.11 and 4.12."""
    fig, axes = figure(1, 3, (12, 4.6), "A two-link arm strikes a post (TH Fig 4.11–4.12)")
    sketch, base, distal = axes[0]
    sketch.plot([0, 0, 0], [0, 1, 2], "o-", color=BLACK, lw=4, ms=9, mfc="white", markevery=[0, 1])
    for height, colour in COLOURS.items():
        sketch.plot(-0.09, height, "o", ms=9, color=colour)
        sketch.annotate(
            f"L = {height} m", (-0.17, height), ha="right", va="center", fontsize=9, color=colour
        )
        sketch.annotate(
            "", (0.0, height), (0.45, height), arrowprops={"arrowstyle": "->", "color": "0.5"}
        )
    sketch.annotate("q̇₀ = (1, 1) rad/s", (0.12, 2.05), fontsize=9)
    sketch.set(xlim=(-1.1, 1.1), ylim=(-0.2, 2.2), aspect="equal", xlabel="x [m]", ylabel="y [m]")
    state(sketch, "the arm meets a post at four heights (Fig 4.11)")
    fine = np.linspace(0.0, 1.0, 200)
    for height, loss in curves.items():
        ax = base if height < 1.0 else distal
        share = 100.0 * loss[0] / ENERGY
        label = f"L = {height} m: {share:.4g} % at e = 0"
        ax.plot(RESTITUTIONS, loss, "o", ms=4, color=COLOURS[height], label=label)
        ax.plot(fine, (1.0 - fine**2) * loss[0], color=COLOURS[height], lw=1.2)
    distal.axhline(ENERGY, color="0.5", lw=1, ls="--", label="all of it, 7/3 J")
    state(base, "base link: the loss is (1 − e²) of that at e = 0 (Fig 4.12a)")
    state(distal, "distal link: struck at 1.5 m, all energy goes (Fig 4.12b)")
    for ax in (base, distal):
        ax.plot([], [], color="0.3", lw=1.2, label="(1 − e²) · loss at e = 0")
        ax.set(xlabel="restitution e [-]", ylabel="kinetic energy lost [J]", ylim=(0.0, None))
        ax.legend(fontsize=8, frameon=False)
    distal.set_ylim(0.0, 3.3)
    base.set_ylim(0.0, 0.4)
    return save(fig, path)


EXPERIMENTS = (
    Experiment("two-link-impact", "X7", "A two-link arm that strikes a post", strike_post),
)
