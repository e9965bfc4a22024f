"""A peg pushed into a corner by a constant force: TH 4.5, Fig 4.15 to 4.17 (X8), and in 3-D."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from detent import AT_ONCE
from detent.coupling import Coupling
from detent.coupling.couplers import TABLE_4_1_COUPLER
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import IDEAL
from detent.experiments.protocol import (
    Claim,
    Experiment,
    Metrics,
    Range,
    Result,
    at_most,
    holds,
    within,
)
from detent.hands import Constant
from detent.record.plots import BLACK, METHOD_COLOURS, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

RATE = 512.0  # [Hz] TH 3
FORCE = (0.32, -0.4)  # [N] TH 4.5
HALF = np.array([0.021, 0.0105])  # [m] half the peg
WALL_X, WALL_Y = 0.08, -0.08  # [m] of the world "corner"
SECONDS = 4.0
SETTLED = 0.2e-3  # [m]
Gap = Annotated[float, Range(0.0, 0.1, above=True)]  # [m] within the enclosure


@dataclass(frozen=True)
class Method:
    """One way of rendering the corner: what it is called, its contact and coupling."""

    label: str
    contact: Contact
    coupling: Coupling = TABLE_4_1
    limited: bool = False


# the figures are the literal, glued collisions (errata B7)
WALL = Contact(4000.0, 30.0, 0.0, method="equality", limit="total")
LIMITS = (15.0, 15.0, 1.0)  # [N, N, N·m] TH 4.5.2

METHODS = {
    "ideal": Method("ideal (rigid)", replace(WALL, mode="rigid")),
    "iapb": Method("IAPB (impulses + penalty)", WALL),
    "pb": Method("PB (penalty)", replace(WALL, mode="penalty")),
    "cb_uc": Method("CB$_{uc}$ (rigid, unilateral coupler)", WALL, TABLE_4_1_COUPLER),
    "pb_limited": Method(
        "PB, limited", replace(WALL, mode="penalty", strategy="scale"), limited=True
    ),
    "iapb_spread": Method("IAPB, spread", WALL, limited=True),
    "iapb_spread_literal": Method(
        "IAPB, spread (collisions only)", replace(WALL, limit="collision_only"), limited=True
    ),
    "iapb_spread_rezeroed": Method(
        "IAPB, spread (spring re-zeroed)", replace(WALL, limit="rezero"), limited=True
    ),
    "iapb_scaled": Method("IAPB, scaled", replace(WALL, strategy="scale"), limited=True),
    "iapb_saturated": Method("IAPB, saturated", replace(WALL, strategy="saturate"), limited=True),
}
BEST = ("ideal", "iapb", "pb", "cb_uc")  # TH Fig 4.15
STRATEGIES = ("ideal", "iapb", "iapb_spread", "iapb_scaled", "iapb_saturated")  # TH Fig 4.18
RENDERED = ("ideal", "iapb_spread", "pb", "cb_uc")  # TH Fig 4.19

# peak penetration of an independent simulation of this set-up (catalogue X8, X9) [m]
REFERENCE = {
    "iapb": (0.079e-3, 0.128e-3),
    "pb": (0.923e-3, 1.613e-3),
    "cb_uc": (1.958e-3, 3.379e-3),
    "iapb_spread": (0.440e-3, 1.361e-3),
    "iapb_scaled": (0.814e-3, 1.551e-3),
    "iapb_saturated": (1.186e-3, 2.270e-3),
}


def extent(angle: np.ndarray | float) -> tuple[Any, Any]:
    """Half the width and height of the turned peg [m]."""
    c, s = np.abs(np.cos(angle)), np.abs(np.sin(angle))
    return HALF[0] * c + HALF[1] * s, HALF[0] * s + HALF[1] * c


def penetrations(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """How deep a peg at the device's pose is in the wall and in the floor [m]."""
    q = trace["device_quaternion"]
    wide, high = extent(2.0 * np.arctan2(q[:, 3], q[:, 0]))
    x, y = trace["device_position"][:, 0], trace["device_position"][:, 1]
    return x + wide - WALL_X, WALL_Y - (y - high)


def settling(time: np.ndarray, value: np.ndarray, depth: np.ndarray) -> float:
    """From first contact to the last exit from ±0.2 mm of the final value [s]."""
    touching = np.nonzero(depth > 0.0)[0]
    if len(touching) == 0:
        touching = np.array([int(np.argmax(depth))])
    outside = np.nonzero(np.abs(value - value[-1]) > SETTLED)[0]
    last = outside[-1] + 1 if len(outside) else 0
    return float(max(time[min(last, len(time) - 1)] - time[touching[0]], 0.0))


def corner_metrics(method: str, trace: Trace) -> Metrics:
    """The metrics of one method, of the device's pose, in SI units."""
    out: Metrics = {}
    for axis, (name, depth) in enumerate(zip("xy", penetrations(trace), strict=True)):
        out[f"{method}.peak_penetration_{name}"] = float(max(depth.max(), 0.0))
        out[f"{method}.settling_{name}"] = settling(
            trace["time"], trace["device_position"][:, axis], depth
        )
        out[f"{method}.peak_force_{name}"] = float(np.abs(trace["device_wrench"][:, axis]).max())
        out[f"{method}.sustained_force_{name}"] = float(trace["device_wrench"][-1, axis])
    out[f"{method}.energy_after_contact"] = energy_after_contact(trace)
    return out


def energy_after_contact(trace: Trace) -> float:
    """Kinetic energy of the hand 10 ms after its first contact, over that before it [-]."""
    touching = np.nonzero(trace["contacts"] > 0)[0]
    if len(touching) == 0:
        return 1.0
    first = max(int(touching[0]), 1)
    later = min(first + round(0.01 * RATE), len(trace) - 1)
    return float(trace["device_energy"][later] / max(trace["device_energy"][first - 1], 1e-300))


def push_into_corner(
    gap_x: Gap = 0.02, gap_y: Gap = 0.05, tilt: float = 0.0, delay_ticks: int = 0
) -> Result:
    """Gaps [m] to the wall and the floor, tilt [rad] of the peg, delay [ticks] of the device."""
    wide, high = extent(tilt)
    start = (WALL_X - gap_x - wide, WALL_Y + gap_y + high, tilt)
    world = World.builtin("corner").placed(start)
    traces, metrics = {}, Metrics()
    for name, method in METHODS.items():
        limits = LIMITS if method.limited else None
        device = replace(IDEAL, delay_ticks=delay_ticks, limits=limits)
        session = Session(
            world, method.contact, method.coupling, device, force_path=AT_ONCE, rate=RATE
        )
        traces[name] = session.run(SECONDS, Constant(FORCE))
        metrics |= corner_metrics(name, traces[name])
    documented = (gap_x, gap_y, tilt, delay_ticks) == (0.02, 0.05, 0.0, 0)
    claims = corner_claims(metrics, tilt)
    if documented:
        claims += order_claims(metrics) + number_claims(metrics)
    return Result(metrics, claims, traces, partial(draw_corner, traces))


def corner_claims(m: Metrics, tilt: float) -> list[Claim]:
    """What holds in this corner whatever the start: TH 4.5.1."""
    claims = []
    for i, axis in enumerate("xy"):
        depth = {name: m[f"{name}.peak_penetration_{axis}"] for name in METHODS}
        claims.append(
            at_most(
                f"X8.less-{axis}",
                "TH Fig 4.15",
                f"impulses penetrate less than penalties in {axis} (ratio)",
                depth["iapb"] / max(depth["pb"], 1e-12),
                0.3,
            )
        )
        if tilt == 0.0:
            claims.append(
                at_most(
                    f"X8.ideal-{axis}",
                    "TH Fig 4.15",
                    f"the ideal peg does not enter the wall in {axis}",
                    depth["ideal"],
                    1e-9,
                    "m",
                )
            )
        for name in ("ideal", "iapb", "pb", "cb_uc", "iapb_spread"):
            claims.append(
                within(
                    f"X8.sustained-{name}-{axis}",
                    "TH Fig 4.16",
                    f"{METHODS[name].label}: the sustained force balances the hand in {axis}",
                    m[f"{name}.sustained_force_{axis}"],
                    -FORCE[i],
                    0.01,
                    "N",
                )
            )
    return claims


def order_claims(m: Metrics) -> list[Claim]:
    """How the documents order the methods: TH Fig 4.15 to 4.21."""
    claims = []
    for axis in "xy":
        for id_, source, names in (
            ("X8.order", "TH Fig 4.15", ("iapb", "pb", "cb_uc")),
            ("X9.order", "TH Fig 4.18", ("iapb", "iapb_spread", "iapb_scaled", "iapb_saturated")),
            ("X10.order", "TH Fig 4.19", ("iapb_spread", "pb", "cb_uc")),
        ):
            depths = [m[f"{name}.peak_penetration_{axis}"] for name in names]
            text = f"penetration in {axis}: " + " < ".join(METHODS[n].label for n in names)
            steps = [b / a for a, b in pairwise(depths)]
            claims.append(
                holds(f"{id_}-{axis}", source, text, min(steps), "each ratio > 1", min(steps) > 1.0)
            )
    for id_, source, first, second in (
        ("X8.energy-pb", "TH Fig 4.17", "iapb", "pb"),
        ("X8.energy-cb", "TH Fig 4.17", "iapb", "cb_uc"),
        ("X10.energy", "TH Fig 4.21", "iapb_spread", "pb"),
    ):
        kept, other = m[f"{first}.energy_after_contact"], m[f"{second}.energy_after_contact"]
        text = f"the hand keeps less energy at first contact: {METHODS[first].label}"
        required = f"< {other:.4g} ({METHODS[second].label})"
        claims.append(holds(id_, source, text, kept, required, kept < other))
    peak, other = m["iapb_spread.peak_force_y"], m["pb.peak_force_y"]
    text = "the wrench peaks are larger with impulses than with penalties"
    claims.append(
        holds("X10.peaks", "TH Fig 4.20", text, peak, f"> {other:.4g} N (PB)", peak > other)
    )
    return claims


def number_claims(m: Metrics) -> list[Claim]:
    """Against the independent simulation of the catalogue."""
    return [
        within(
            f"{'X9' if METHODS[name].limited else 'X8'}.depth-{name}-{axis}",
            "catalogue X8, X9",
            f"{METHODS[name].label}: peak penetration in {axis}",
            m[f"{name}.peak_penetration_{axis}"],
            depths[i],
            0.15,
            "m",
        )
        for name, depths in REFERENCE.items()
        for i, axis in enumerate("xy")
    ]


def draw_corner(traces: dict[str, Trace], path: Path) -> Any:
    """Trajectories, force and energy, in the form of TH Fig 4.15 to 4.21."""
    fig, axes = figure(
        3, 2, (12.5, 12.5), "Corner push (TH Fig 4.15–4.21): a 2 kg peg, 0.32 N and −0.4 N"
    )
    for column, names in enumerate((BEST, RENDERED)):
        for name in names:
            trace, style = traces[name], _style(name)
            x, y = 1e3 * trace["device_position"][:, :2].T
            axes[0, column].plot(x, y, **style)
            axes[1, column].plot(trace["time"], trace["device_wrench"][:, 0], **style)
            if column == 0:
                axes[2, 0].plot(trace["time"], 1e3 * trace["device_energy"], **style)
    for name in STRATEGIES:
        depth = 1e3 * np.maximum(penetrations(traces[name])[1], 0.0)
        axes[2, 1].plot(traces[name]["time"], depth, **_style(name))
    state(axes[0, 0], "with full impulses the hand stays at the wall (Fig 4.15)")
    state(axes[0, 1], "limited to 15 N, spread impulses stay nearest to it (Fig 4.19)")
    state(axes[1, 0], "an impulse is one tick of force, a penalty a long one (Fig 4.16)")
    state(axes[1, 1], "limited, it lasts some ticks at the cap (Fig 4.20)")
    state(axes[2, 0], "impulses take the energy at once, penalties give it back (Fig 4.17)")
    state(axes[2, 1], "spread penetrates the floor least of what is limited (Fig 4.18)")
    draw_corner_axes(axes)
    return save(fig, path)


def _style(name: str) -> dict[str, Any]:
    return {"color": METHOD_COLOURS[name], "label": METHODS[name].label, "lw": 1.4}


def draw_corner_axes(axes: Any) -> None:
    """Same limits side by side, the walls as the peg's centre meets them, and the cap."""
    wall_x, wall_y = 1e3 * (WALL_X - HALF[0]), 1e3 * (WALL_Y + HALF[1])
    for ax in axes[0]:
        ax.set(xlabel="device x [mm]", ylabel="device y [mm]", xlim=(53, 61.5), ylim=(-73.5, -42))
        ax.axvspan(wall_x, 61.5, color="0.88", label="peg in the wall or the floor")
        ax.axhspan(-73.5, wall_y, color="0.88")
    for ax in axes[1]:
        ax.set(xlabel="time [s]", ylabel="force on the device, x [N]", xlim=(0.4, 1.2))
        ax.set_yscale("symlog", linthresh=1.0)
        ax.set(ylim=(-1500, 5), yticks=(-1000, -100, -10, -1, 0, 1))
    axes[1, 1].axhline(-LIMITS[0], color=BLACK, lw=1, ls=":", label="cap of 15 N")
    axes[2, 0].set(xlabel="time [s]", ylabel="kinetic energy of the hand [mJ]", xlim=(0.0, 1.6))
    axes[2, 1].set(xlabel="time [s]", ylabel="penetration [mm]", xlim=(0.65, 1.3))
    for ax in axes.flat:
        legend(ax, "lower right" if ax in axes[1] else "best", fontsize=7)


EXPERIMENTS = (Experiment("corner-push", "X8-X10", "A peg pushed into a corner", push_into_corner),)
