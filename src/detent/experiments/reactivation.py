"""A resting contact that strikes again when another one does: S0 Fig 1 (X1)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from detent import AT_ONCE
from detent.collision import Collision, resolve_collision
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import IDEAL
from detent.errors import ParameterError
from detent.experiments.peg import HALF, MASS, corners, draw_peg, planar, pose
from detent.experiments.protocol import (
    Claim,
    Experiment,
    Metrics,
    Positive,
    Result,
    at_most,
    holds,
    within,
)
from detent.hands import Constant
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, RED, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

RATE = 512.0  # [Hz] TH 3; S0 gives none
CONTACT = Contact(stiffness=10_000.0, damping=100.0, restitution=0.0)  # S0 5.2
SLAB = float(MASS * (2.0 * HALF) @ (2.0 * HALF) / 12.0)  # [kg·m²] if the mass is spread evenly
PUSH = (0.0, -2.0)  # [N]
FLOOR = -0.08  # [m] of the world "corner"


class Strike(NamedTuple):
    """The moment at which B strikes while A rests, and both ways to resolve it."""

    J: np.ndarray  # (2, 3) rows of A and B
    before: np.ndarray  # (x, y, θ) velocity
    excluded: Collision  # B alone
    reactivated: Collision  # A and B


def strike(rows: np.ndarray, before: np.ndarray, inertia: float) -> Strike:
    """Resolve B with A left out, and with A re-activated."""
    D = np.diag([MASS, MASS, inertia])
    alone, both = (resolve_collision(D, J, before) for J in (rows[1:], rows))
    return Strike(rows, before, alone, both)


def floor_rows(angle: float) -> np.ndarray:
    """J of the two lower vertices on a floor: A is the right one, B the left one."""
    r = corners(angle)
    return np.array([[0.0, 1.0, r[1, 0]], [0.0, 1.0, r[0, 0]]])


def reactivate(inertia: Positive = SLAB, tilt: float = 0.15, gap: Positive = 0.0165) -> Result:
    """Inertia [kg·m²] of the peg, its tilt [rad] to the right and its gap [m] to the floor.

    S0 gives no numbers. The peg is TH 4.5's with evenly spread mass: with that document's
    0.005 kg·m² the vertices lie within the radius of gyration (leverage < 1), an impulse at
    B lifts A too, and there is nothing to re-activate.
    """
    by_hand = strike(floor_rows(0.0), np.array([0.0, -HALF[0], 1.0]), inertia)  # A at rest
    spec = World.builtin("corner").spec.copy()
    spec.body("peg").inertia = [inertia] * 3
    lowest = -corners(-tilt)[:, 1].min()
    world = World(spec, name="corner").placed((0.0, FLOOR + gap + lowest, -tilt))
    session = Session(world, CONTACT, TABLE_4_1, IDEAL, force_path=AT_ONCE, rate=RATE)
    trace = session.run(0.5, Constant(PUSH))
    ticks = np.nonzero(trace["collisions"])[0]
    if len(ticks) < 2:
        raise ParameterError("tilt", tilt, "such that A strikes the floor first and then B")
    first, second = int(ticks[0]), int(ticks[1])
    played = strike(
        floor_rows(pose(trace, second)[2]), planar(trace["tool_twist"][second]), inertia
    )
    metrics = reactivation_metrics(by_hand, played, inertia)
    pushed = np.array([PUSH[0] / MASS, PUSH[1] / MASS, 0.0]) / RATE
    after = planar(trace["tool_twist"][second + 1]) - pushed
    metrics["session.rows"] = float(trace["collisions"][second])
    metrics["session.velocity_a"] = float(played.J[0] @ after)
    metrics["session.error"] = float(np.abs(after - played.reactivated.velocity).max())
    draw = partial(draw_reactivation, trace, first, second, played)
    return Result(metrics, reactivation_claims(metrics), {"reactivation": trace}, draw)


def reactivation_metrics(by_hand: Strike, played: Strike, inertia: float) -> Metrics:
    """Velocities of A after the collision, and the impulses' torque."""
    out: Metrics = {"leverage": MASS * HALF[0] ** 2 / inertia}
    for name, one in (("hand", by_hand), ("recorded", played)):
        out[f"{name}.excluded_velocity_a"] = float(one.J[0] @ one.excluded.velocity)
        out[f"{name}.reactivated_velocity_a"] = float(one.J[0] @ one.reactivated.velocity)
        out[f"{name}.excluded_torque_impulse"] = float(one.J[1, 2] * one.excluded.impulse[0])
        out[f"{name}.reactivated_torque_impulse"] = float(one.J[:, 2] @ one.reactivated.impulse)
        out[f"{name}.impulse_a"] = float(one.reactivated.impulse[0])
    a, g = HALF[0], HALF[0] ** 2 / inertia  # two rows of one half-length: by hand
    out["hand.expected_velocity_a"] = 2.0 * a * (1.0 / MASS - g) / (1.0 / MASS + g)
    return out


def reactivation_claims(m: Metrics) -> list[Claim]:
    """S0 section 2: the impulse at B alone turns the body into A."""
    source = "S0 Fig 1(c)"
    claims = [
        within(
            "X1.by-hand",
            source,
            "A excluded: A's velocity after the collision is the one computed by hand",
            m["hand.excluded_velocity_a"],
            m["hand.expected_velocity_a"],
            1e-9,
            "m/s",
        ),
        at_most(
            "X1.session",
            source,
            "the running servo gives the velocity with A re-activated",
            m["session.error"],
            1e-9,
            "m/s, rad/s",
        ),
    ]
    for name, where in (("hand", "by hand"), ("recorded", "at the recorded state")):
        v = m[f"{name}.reactivated_velocity_a"]
        claims.append(
            holds(
                f"X1.reactivated-{name}",
                source,
                f"A re-activated, {where}: A does not approach",
                v,
                "≥ −1e-12 m/s",
                v >= -1e-12,
            )
        )
        if m["leverage"] <= 1.0:
            continue
        v = m[f"{name}.excluded_velocity_a"]
        claims.append(
            holds(
                f"X1.excluded-{name}",
                source,
                f"A excluded, {where}: the impulse turns the body into A",
                v,
                "< 0 m/s",
                v < 0.0,
            )
        )
    if m["leverage"] > 1.0:
        rows = m["session.rows"]
        text = "A takes part in the collision of B"
        claims.append(holds("X1.rows", source, text, rows, "= 2 rows", rows == 2.0))
    return claims


def draw_reactivation(trace: Trace, first: int, second: int, at_b: Strike, path: Path) -> Any:
    """The sequence of S0 Fig 1, and what became of A and B."""
    fig, axes = figure(
        2, 4, (14, 6.4), "A resting contact strikes again when another one does (S0 Fig 1)"
    )
    last = pose(trace, second)
    turned = last + np.array([0.0, 0.0, 0.03 * at_b.excluded.velocity[2]])
    resting = pose(trace, (first + second) // 2)
    draw_moment(axes[0, 0], pose(trace, first), "A strikes: infinite stiffness")
    draw_moment(axes[0, 1], resting, "A rests: limited stiffness")
    draw_moment(axes[0, 2], last, "B strikes, A excluded")
    draw_moment(axes[0, 3], last, "B strikes, A re-activated")
    draw_peg(axes[0, 2], turned, RED, lw=1.2, ls="--")
    axes[0, 2].annotate("turns into A", (0, 1e3 * FLOOR + 25), color=RED, fontsize=9, ha="center")
    tips = 1e3 * (last[:2] + corners(last[2])[[1, 0]])  # A, B
    draw_impulse(axes[0, 2], tips[1], at_b.excluded.impulse[0], RED)
    for tip, impulse in zip(tips, at_b.reactivated.impulse, strict=True):
        draw_impulse(axes[0, 3], tip, impulse, BLUE)
    draw_outcomes(axes[1], trace, first, second, at_b)
    return save(fig, path)


def draw_moment(ax: Any, at: np.ndarray, title: str) -> None:
    """The peg on the floor."""
    draw_peg(ax, at, BLACK, lw=1.6)
    ax.axhspan(1e3 * FLOOR - 8, 1e3 * FLOOR, color="0.85")
    for name, r in zip("BA", corners(at[2])[:2], strict=True):
        x, y = 1e3 * (at[:2] + r)
        ax.annotate(name, (x, y - 5), ha="center", fontsize=10, weight="bold")
    ax.set(xlim=(-34, 40), ylim=(1e3 * FLOOR - 8, 1e3 * FLOOR + 32), aspect="equal")
    ax.set(xlabel="x [mm]", ylabel="y [mm]")
    state(ax, title)


def draw_impulse(ax: Any, tip: np.ndarray, impulse: float, colour: str) -> None:
    """An impulse [N·s] on a vertex [mm]."""
    end = tip + np.array([0.0, 80.0 * impulse])
    style = {"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, tip, arrowprops=style)
    ax.annotate(f" {1e3 * impulse:.0f} mN·s", end, color=colour, fontsize=8)


def draw_outcomes(axes: Any, trace: Trace, first: int, second: int, at_b: Strike) -> None:
    """Velocities and depths of A and B over time, and what both choices leave of A's."""
    shown = np.arange(first - 4, second + 16)
    time = 1e3 * trace["time"][shown]
    poses = [pose(trace, int(k)) for k in shown]
    twists = planar(trace["tool_twist"][shown])
    rows = np.array([floor_rows(at[2]) for at in poses])
    speeds = np.einsum("kij,kj->ki", rows, twists)
    depths = np.array([FLOOR - at[1] - corners(at[2])[[1, 0], 1] for at in poses])
    for i, (name, colour) in enumerate((("A", ORANGE), ("B", GREEN))):
        style: dict[str, Any] = {"color": colour, "lw": 1.4, "label": f"{name}, in the session"}
        axes[0].plot(time, speeds[:, i], ".-", **style)
        axes[1].plot(time, 1e3 * depths[:, i], ".-", **style)
    axes[0].plot(
        1e3 * (trace["time"][second] + 1.0 / RATE),
        at_b.J[0] @ at_b.excluded.velocity,
        "v",
        color=RED,
        label="A, if excluded",
    )
    axes[0].set(xlabel="time [ms]", ylabel="normal velocity [m/s]", ylim=(-0.45, 0.04))
    axes[1].set(xlabel="time [ms]", ylabel="penetration [mm]", ylim=(-0.2, None))
    state(axes[0], "in the session A does not move when B strikes")
    state(axes[1], "and goes no deeper")
    legend(axes[0], "lower left")
    legend(axes[1])
    both = (at_b.excluded, at_b.reactivated)
    draw_choice(axes[2], [float(at_b.J[0] @ one.velocity) for one in both])
    axes[2].set(ylabel="normal velocity of A after [m/s]")
    state(axes[2], "excluded, A goes into the floor")
    draw_choice(axes[3], [float(one.velocity[2]) for one in both])
    axes[3].set(ylabel="angular velocity after [rad/s]")
    state(axes[3], "excluded, the peg turns clockwise")


def draw_choice(ax: Any, values: list[float]) -> None:
    """A bar for each way to resolve the collision."""
    bars = ax.bar(("A excluded", "A re-activated"), values, color=(RED, BLUE), width=0.5)
    ax.bar_label(
        bars, [f"{value:.3g}".replace("-", "−") if abs(value) > 1e-9 else "0" for value in values]
    )
    ax.axhline(0.0, color=BLACK, lw=0.8)
    ax.margins(y=0.15)


EXPERIMENTS = (
    Experiment("reactivation", "X1", "A resting contact that strikes again", reactivate),
)
