"""A peg in a hole that is exactly as wide as it is long: S0 Fig 3 to 5 (X2)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from detent import AT_ONCE
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import IDEAL
from detent.experiments.peg import HALF, draw_peg, pose
from detent.experiments.protocol import Claim, Experiment, Metrics, Range, Result, at_most, holds
from detent.hands import Hand, Impedance
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, figure, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

RATE = 512.0  # [Hz] TH 3; S0 gives none
STIFFNESS, DAMPING = 10_000.0, 100.0  # [N/m] [N·s/m] S0 5.2
HAND = 200.0  # [N/m] of the hand's spring; like all of the script, not in the document
TOP = 0.08 - HALF[1]  # [m] where the peg's centre is when it touches the top of the hole
PUSH = 5.0 / HAND  # [m] how far behind a wall the hand aims to push with 5 N

#: what the user does, where the hand wants the peg [m] (None: lets go), for how long [s]
SCRIPT = (
    ("insert and push", (0.0, TOP + PUSH), 0.8),
    ("back", (0.0, TOP - 0.005), 0.4),
    ("push", (0.0, TOP + PUSH), 0.5),
    ("push right", (PUSH, TOP + PUSH), 0.5),
    ("back", (PUSH, TOP - 0.005), 0.4),
    ("push left", (-PUSH, TOP + PUSH), 0.6),
    ("extract", (0.0, 0.0), 0.8),
    ("insert and push", (0.0, TOP + PUSH), 0.8),
    ("push right", (PUSH, TOP + PUSH), 0.5),
    ("let go", None, 0.4),
)

LAWS = {"complementarity": "impulses only push (default)", "equality": "S0 14, TH 4.36"}
STRUCK = 1e-9  # [J] a collision that takes less is round-off of the exact fit
FELT = 0.1  # [N] a sustained force worth the name


def hand_at(target: tuple[float, float] | None) -> Hand | None:
    """The user's spring-like hand, aligned with the hole; None lets go."""
    if target is None:
        return None
    return Impedance(HAND, 20.0, 2.0, 0.1, target, (1.0, 0.0, 0.0, 0.0))


def play(method: str, offset: float, tilt: float) -> Trace:
    """The whole script. Each step starts at rest where the last one ended."""
    world = World.builtin("tight-hole")
    at = np.array([offset, 0.0, tilt])
    parts, start = [], 0.0
    for _, target, seconds in SCRIPT:
        contact = Contact(STIFFNESS, DAMPING, 0.0, method=method)
        session = Session(
            world.placed(at), contact, TABLE_4_1, IDEAL, force_path=AT_ONCE, rate=RATE
        )
        trace = session.run(seconds, hand_at(target))
        rows = trace.rows.copy()
        rows["time"] += start
        parts.append(rows)
        start = float(rows["time"][-1]) + 1.0 / RATE
        at = pose(trace, -1)
    return Trace(np.concatenate(parts), trace.meta)


def hole_metrics(law: str, trace: Trace) -> Metrics:
    """Energies and forces of one run."""
    change, rows = trace["impact_energy"], trace["collisions"]
    force = np.linalg.norm(trace["device_wrench"][:, :2], axis=1)
    struck = change < -STRUCK
    resting = (trace["contacts"] > 0) & (rows == 0) & (force > FELT)
    return {
        f"{law}.collisions": float(struck.sum()),
        f"{law}.most_rows": float(rows[struck].max(initial=0)),
        f"{law}.redundant_collisions": float((struck & (rows >= 4)).sum()),
        f"{law}.worst_energy_change": float(change.max()),
        f"{law}.worst_redundant_change": float(change[rows >= 4].max(initial=-np.inf)),
        f"{law}.energy_lost": float(-change.sum()),
        f"{law}.peak_force": float(force[struck].max(initial=0.0)),
        f"{law}.sustained_force": float(np.median(force[resting])) if resting.any() else 0.0,
        f"{law}.peak_torque": float(np.abs(trace["device_wrench"][:, 5]).max()),
        f"{law}.deepest": float(trace["depth"].max()),
    }


def insert_peg(
    offset: Annotated[float, Range(-0.05, 0.05)] = 0.001,  # within the enclosure
    tilt: float = 0.02,
) -> Result:
    """Offset [m] and tilt [rad] of the peg before the hole at the start.

    Limitations: the script is played as one run per step, each from rest. Without play the walls
    are touched by round-off all the time; such a collision takes no energy, but its tick has no
    penalty force, which shows as dips of the sustained force.
    """
    traces, metrics = {}, Metrics()
    for law in LAWS:
        traces[law] = play(law, offset, tilt)
        metrics |= hole_metrics(law, traces[law])
    return Result(metrics, hole_claims(metrics), traces, partial(draw_hole, traces))


def hole_claims(m: Metrics) -> list[Claim]:
    """S0 5.2: passive, redundant or not, and an order of magnitude above sustained contact."""
    claims = []
    for law, words in LAWS.items():
        claims.append(
            at_most(
                f"X2.passive-{law}",
                "S0 Fig 4",
                f"no collision raises the kinetic energy ({words})",
                m[f"{law}.worst_energy_change"],
                1e-12,
                "J",
            )
        )
        most, worst = m[f"{law}.most_rows"], m[f"{law}.worst_redundant_change"]
        claims.append(
            holds(
                f"X2.redundant-{law}",
                "S0 Fig 4",
                f"four or more contacts collide at once, and passively too ({words})",
                most,
                "≥ 4 rows, which never raise the energy",
                most >= 4.0 and worst <= 1e-12,
            )
        )
        ratio = m[f"{law}.peak_force"] / max(m[f"{law}.sustained_force"], 1e-12)
        claims.append(
            holds(
                f"X2.impulsive-{law}",
                "S0 Fig 5",
                f"impulsive peaks over the sustained contact force ({words})",
                ratio,
                "≥ 10",
                ratio >= 10.0,
            )
        )
    return claims


def draw_hole(traces: dict[str, Trace], path: Path) -> Any:
    """The world, S0 Fig 4 (energy, simultaneous collisions) and Fig 5 (forces, torque)."""
    fig, axes = figure(
        3, 2, (12, 9), "Peg in a hole of its own width (S0 Fig 3–5): e = 0, 10 kN/m, 100 N·s/m"
    )
    trace = traces["complementarity"]
    time = trace["time"]
    draw_world(axes[0, 0], trace)
    (_, path_ax), (energy_ax, count_ax), (force_ax, torque_ax) = axes
    x, y = 1e3 * trace["tool_position"][:, :2].T
    path_ax.plot(time, y, color=BLUE, lw=1.3, label="y")
    path_ax.plot(time, 20.0 * x, color=ORANGE, lw=1.0, label="x, 20 times larger")
    path_ax.set(ylabel="position of the peg [mm]")
    for (law, one), (marker, colour) in zip(
        traces.items(), (("o", BLUE), ("x", ORANGE)), strict=True
    ):
        change = one["impact_energy"]
        hit = change < -STRUCK
        style: dict[str, Any] = {"ls": "", "marker": marker, "ms": 5, "color": colour}
        energy_ax.plot(one["time"][hit], -1e3 * change[hit], label=LAWS[law], mfc="none", **style)
        count_ax.plot(
            one["time"][hit], one["collisions"][hit], label=LAWS[law], mfc="none", **style
        )
    energy_ax.set_yscale("log")
    energy_ax.set(ylabel="kinetic energy lost, −ΔKE [mJ]")
    state(energy_ax, "each collision takes energy, none gives (Fig 4)")
    count_ax.axhline(3.5, color="0.5", lw=1, ls="--")
    count_ax.annotate("redundant: more rows than degrees of freedom", (0.05, 3.6), fontsize=8)
    count_ax.set(ylabel="simultaneous collisions [rows]", ylim=(0.5, 5.5))
    for i, (name, colour) in enumerate((("x", ORANGE), ("y", BLUE))):
        force_ax.plot(
            time, trace["device_wrench"][:, i], color=colour, lw=1.1, label=f"force {name}"
        )
    force_ax.set_yscale("symlog", linthresh=5.0)
    force_ax.set(ylabel="force on the hand [N]", yticks=(-500, -50, -5, 0, 5, 50))
    force_ax.set_yticklabels(("−500", "−50", "−5", "0", "5", "50"))
    state(force_ax, "impacts stand far above the force of the penalty (Fig 5)")
    torque_ax.plot(time, trace["device_wrench"][:, 5], color=GREEN, lw=1.1, label="torque")
    torque_ax.set_yscale("symlog", linthresh=0.1)
    torque_ax.set(ylabel="torque on the hand [N·m]", yticks=(-10, -1, -0.1, 0, 0.1, 1))
    torque_ax.set_yticklabels(("−10", "−1", "−0.1", "0", "0.1", "1"))
    state(axes[0, 0], "the peg goes into a hole of its own width (Fig 3)")
    state(path_ax, "it enters the hole, and x stays within a millimetre there")
    state(count_ax, "up to five contacts strike at once (Fig 4)")
    state(torque_ax, "and the torque (Fig 5)")
    for ax in (path_ax, energy_ax, count_ax, force_ax, torque_ax):
        ax.set(xlabel="time [s]", xlim=(0.0, time[-1]))
        ax.legend(fontsize=8, frameon=False)
    return save(fig, path)


def draw_world(ax: Any, trace: Trace) -> None:
    """S0 Fig 3, with where the peg's centre went."""
    for left in (-80.0, 21.0):
        ax.fill([left, left + 59, left + 59, left], [40, 40, 80, 80], color="0.8")
    ax.plot([-80, -80, 80, 80, -80], [-80, 80, 80, -80, -80], color=BLACK, lw=1.5)
    x, y = 1e3 * trace["tool_position"][:, :2].T
    ax.plot(x, y, color=BLUE, lw=1, label="path of the centre")
    draw_peg(ax, pose(trace, 0), ORANGE, lw=1.5, label="the peg at the start")
    draw_peg(ax, np.array([0.0, TOP, 0.0]), GREEN, lw=1.5, label="inserted: no play")
    ax.set(xlim=(-85, 85), ylim=(-85, 85), aspect="equal", xlabel="x [mm]", ylabel="y [mm]")
    ax.legend(fontsize=8, frameon=False, loc="lower center")


EXPERIMENTS = (
    Experiment("peg-in-hole-impulses", "X2", "A peg in a hole without play", insert_peg),
)
