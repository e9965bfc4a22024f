"""A linkage that strikes the walls around it, in a local model: TH Fig 6.14 to 6.17 (X16)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent.experiments.local_models import FRAME, METHODS, prefixed
from detent.experiments.protocol import Claim, Experiment, Metrics, Positive, Result, at_most, holds
from detent.hands import Guided
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, RED, figure, save, state
from detent.record.trace import Trace
from detent.world.world import World

STIFFNESS, DAMPING = 15_000.0, 100.0  # [N/m, N·s/m] TH 6.4.1
SMALL = 5.0  # [%] of the forces in contact are smaller than what counts as small
LEG = 0.5  # [s] between two aims of the hand
AIMS = (
    (0.03, 0.13), (0.06, 0.13), (0.13, 0.03), (0.13, -0.03), (0.06, -0.13), (0.0, -0.13),
    (0.02, 0.0), (0.0, 0.13), (0.05, 0.13), (0.05, -0.13), (0.13, 0.0), (0.02, 0.0),
)  # fmt: skip
RESTITUTIONS = {"plastic": 0.0, "elastic": 1.0}
COLOURS = {"plastic": BLUE, "elastic": ORANGE}


def swing(restitution: float, period: float) -> Trace:
    """A hand that leads the distal link around; it aims behind the walls [m]."""
    world = World.builtin("linkage-enclosure")
    path = [(LEG * (i + 1), *aim, 0.0) for i, aim in enumerate(AIMS)]
    hand = Guided(300.0, 20.0, 0.5, 0.05, path=[(0.0, 0.04, 0.0, 0.0), *path])
    session = METHODS["lm5"].session(world, STIFFNESS, DAMPING, period, restitution)
    return session.run(LEG * (len(AIMS) + 1), hand)


def collision_metrics(trace: Trace) -> Metrics:
    """Energies [J] and forces on the hand [N], at collisions and between them."""
    change, hit = trace["impact_energy"], trace["collisions"] > 0
    force = np.linalg.norm(trace["environment_wrench"][:, :2], axis=1)
    resting = force[(trace["contacts"] > 0) & ~hit & (force > 0.0)]
    resting = resting if resting.size else np.array([np.nan])
    return {
        "collisions": float(hit.sum()),
        "most_rows": float(trace["collisions"].max()),
        "worst_change": float(change[hit].max(initial=-np.inf)),
        "largest_change": float(np.abs(change[hit]).max(initial=0.0)),
        "largest_energy": float(trace["tool_energy"].max()),
        "peak_force": float(force[hit].max(initial=0.0)),
        "median_contact_force": float(np.median(resting)),
        "small_contact_force": float(np.percentile(resting, SMALL)),
        "updates": float(trace["update"].max()),
    }


def strike(period: Positive = FRAME) -> Result:
    """Period of the engine [s], whose latency is the same. The hand's way is ours.

    Between collisions the energy also changes fast where the linkage is stretched and holds the
    hand back (TH 5.23): that is the penalty of its joints.
    """
    traces = {name: swing(e, period) for name, e in RESTITUTIONS.items()}
    metrics = Metrics()
    for name, trace in traces.items():
        metrics |= prefixed(name, collision_metrics(trace))
    draw = partial(draw_collisions, traces, period)
    return Result(metrics, collision_claims(metrics), traces, draw)


def collision_claims(m: Metrics) -> list[Claim]:
    """TH 6.4.1 and the catalogue: passive for any restitution, and felt on impact."""
    claims = [
        holds(
            f"X16.collisions-{name}",
            "TH Fig 6.15",
            f"collisions, e = {e:g}; some of several contacts at once",
            m[f"{name}.collisions"],
            "≥ 5, one with ≥ 2 contacts",
            m[f"{name}.collisions"] >= 5.0 and m[f"{name}.most_rows"] >= 2.0,
        )
        for name, e in RESTITUTIONS.items()
    ]
    ratio = m["plastic.peak_force"] / m["plastic.median_contact_force"]
    span = m["plastic.peak_force"] / m["plastic.small_contact_force"]
    claims += [
        holds(
            "X16.plastic",
            "TH Fig 6.15(a)",
            "largest change of the proxy's energy in a collision, e = 0 [J]",
            m["plastic.worst_change"],
            "< 0: every collision takes energy",
            m["plastic.worst_change"] < 0.0,
        ),
        at_most(
            "X16.elastic",
            "TH Fig 6.15(b)",
            "change of the proxy's energy in any collision, e = 1 [J]",
            m["elastic.largest_change"],
            1e-9,
            "J",
        ),
        holds(
            "X16.impulsive",
            "TH Fig 6.16",
            "largest impulsive force on the hand over the median one in contact, e = 0 [-]",
            ratio,
            "≥ 100",
            ratio >= 100.0,
        ),
        holds(
            "X16.span",
            "TH Fig 6.16",
            f"largest impulsive force over the {SMALL:g} % smallest in contact, e = 0 [-]",
            span,
            "≥ 1e4: up to four orders of magnitude",
            span >= 1e4,
        ),
    ]
    return claims


def draw_collisions(traces: Mapping[str, Trace], period: float, path: Path) -> Any:
    """TH Fig 6.15 (energy, collisions), 6.16 and 6.17 (wrenches on a log axis)."""
    title = (
        "A linkage held at its distal link in an enclosure (TH Fig 6.15–6.17): local model, "
        f"15 kN/m, 100 N·s/m, engine {1e3 * period:.3g} ms"
    )
    fig, axes = figure(3, 2, (14, 9.5), title)
    for column, (name, trace), fig_number in zip(axes.T, traces.items(), (16, 17), strict=True):
        time, hit = trace["time"], trace["collisions"] > 0
        energy, force, torque = column
        energy.plot(time, 1e3 * trace["tool_energy"], color=COLOURS[name], lw=1)
        energy.plot(time[hit], 1e3 * trace["tool_energy"][hit], "o", ms=5, mfc="none", color=BLACK)
        for t, before, change, rows in zip(
            time[hit], trace["tool_energy"][hit], trace["impact_energy"][hit],
            trace["collisions"][hit], strict=True,
        ):  # fmt: skip
            energy.plot([t, t], 1e3 * np.array([before, before + change]), color=RED, lw=1.5)
            if rows > 1:
                energy.annotate(f"{rows:.0f}", (t, 1e3 * before), xytext=(4, 4),
                                textcoords="offset points", fontsize=8)  # fmt: skip
        energy.set(ylabel="kinetic energy of the proxy [mJ]")
        letter = "ab"[fig_number - 16]
        words = f"e = {RESTITUTIONS[name]:g}: no collision adds energy (red: its change), "
        state(energy, f"{words}numbers: contacts at once (Fig 6.15{letter})")
        wrench = np.abs(trace["environment_wrench"])
        size = np.hypot(wrench[:, 0], wrench[:, 1])
        for ax, values, unit in (
            (force, size, "force [N]"),
            (torque, wrench[:, 5], "torque [N·m]"),
        ):
            resting = np.where(hit | (values <= 0.0), np.nan, values)
            ax.plot(time, resting, ".", ms=2, color=GREEN, label="in contact")
            ax.vlines(time[hit], 1e-6, values[hit], color=RED, lw=1.2, label="on impact")
            ax.set(yscale="log", ylabel=f"environment {unit}", ylim=(1e-3, 1e4))
            ax.legend(fontsize=8, frameon=False, loc="upper right", ncol=2)
        torque.set(ylim=(1e-5, 1e3))
        state(force, f"forces of impacts stand far above those of contact (Fig 6.{fig_number})")
        state(torque, f"and so do torques (Fig 6.{fig_number})")
    for ax in axes.flat:
        ax.set(xlabel="time [s]", xlim=(0.0, LEG * (len(AIMS) + 1)))
    return save(fig, path)


EXPERIMENTS = (
    Experiment("linkage-collisions", "X16", "A linkage strikes the walls around it", strike),
)
