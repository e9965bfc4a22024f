"""A peg pushed into a corner by a constant force: TH 4.5, Fig 4.15 to 4.17 (X8), and in 3-D."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent.coupling.four_channel import TABLE_4_1
from detent.devices import Inertial
from detent.experiments.protocol import Claim, Experiment, Metrics, Result, at_most, holds, within
from detent.hands import Constant
from detent.record.plots import METHOD_COLOURS, figure, save
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

METHODS = {"ideal": "rigid", "iapb": "impulse", "pb": "penalty"}
LABELS = {"ideal": "ideal (rigid)", "iapb": "IAPB (impulses + penalty)", "pb": "PB (penalty)"}

# peak penetration of an independent simulation of this set-up (catalogue X8) [m]
REFERENCE = {"iapb": (0.079e-3, 0.128e-3), "pb": (0.923e-3, 1.613e-3)}


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
    gap_x: float = 0.02, gap_y: float = 0.05, tilt: float = 0.0, delay_ticks: int = 0
) -> Result:
    """Gaps [m] to the wall and the floor, tilt [rad] of the peg, delay [ticks] of the device."""
    wide, high = extent(tilt)
    start = (WALL_X - gap_x - wide, WALL_Y + gap_y + high, tilt)
    world = World.builtin("corner").placed(start)
    traces, metrics = {}, Metrics()
    for method, mode in METHODS.items():
        session = Session(
            world,
            # the figures are the literal, glued collisions (errata B7)
            Contact(4000.0, 30.0, 0.0, mode=mode, method="equality"),
            TABLE_4_1,
            Inertial(delay_ticks=delay_ticks),
            rate=RATE,
        )
        traces[method] = session.run(SECONDS, Constant(FORCE))
        metrics |= corner_metrics(method, traces[method])
    documented = (gap_x, gap_y, tilt, delay_ticks) == (0.02, 0.05, 0.0, 0)
    claims = corner_claims(metrics, tilt, documented)
    return Result(metrics, claims, traces, partial(draw_corner, traces))


def corner_claims(m: Metrics, tilt: float, documented: bool) -> list[Claim]:
    """TH 4.5.1 and the independent numbers of the catalogue."""
    source = "TH Fig 4.15"
    claims = []
    for axis in "xy":
        ratio = m[f"iapb.peak_penetration_{axis}"] / max(m[f"pb.peak_penetration_{axis}"], 1e-12)
        claims.append(
            at_most(
                f"X8.less-{axis}",
                source,
                f"impulses penetrate less than penalties in {axis} (ratio)",
                ratio,
                0.3,
            )
        )
        if tilt == 0.0:
            claims.append(
                at_most(
                    f"X8.ideal-{axis}",
                    source,
                    f"the ideal peg does not enter the wall in {axis}",
                    m[f"ideal.peak_penetration_{axis}"],
                    1e-9,
                    "m",
                )
            )
        i = "xy".index(axis)
        for method in METHODS:
            claims.append(
                within(
                    f"X8.sustained-{method}-{axis}",
                    "TH Fig 4.16",
                    f"{LABELS[method]}: the sustained force balances the hand in {axis}",
                    m[f"{method}.sustained_force_{axis}"],
                    -FORCE[i],
                    0.01,
                    "N",
                )
            )
        for method, depths in REFERENCE.items() if documented else ():
            claims.append(
                within(
                    f"X8.depth-{method}-{axis}",
                    "catalogue X8",
                    f"{LABELS[method]}: peak penetration in {axis}",
                    m[f"{method}.peak_penetration_{axis}"],
                    depths[i],
                    0.15,
                    "m",
                )
            )
    less = m["iapb.energy_after_contact"] < m["pb.energy_after_contact"]
    claims.append(
        holds(
            "X8.energy",
            "TH Fig 4.17",
            "impulses take more kinetic energy at first contact than penalties",
            m["iapb.energy_after_contact"],
            f"< {m['pb.energy_after_contact']:.4g} (PB)",
            less,
        )
    )
    return claims


def draw_corner(traces: dict[str, Trace], path: Path) -> Any:
    """Trajectories, force and energy, in the form of TH Fig 4.15 to 4.17."""
    fig, axes = figure(
        2, 2, (11, 8), "Corner push (TH Fig 4.15–4.17): a 2 kg peg, 0.32 N and −0.4 N"
    )
    (path_ax, depth_ax), (force_ax, energy_ax) = axes
    for method, trace in traces.items():
        style: dict[str, Any] = {
            "color": METHOD_COLOURS[method],
            "label": LABELS[method],
            "lw": 1.4,
        }
        x, y = 1e3 * trace["device_position"][:, :2].T
        time = trace["time"]
        path_ax.plot(x, y, **style)
        depth = 1e3 * np.maximum(penetrations(trace)[1], 0.0)
        depth_ax.plot(time, depth, **style)
        force_ax.plot(time, trace["device_wrench"][:, 0], **style)
        energy_ax.plot(time, 1e3 * trace["device_energy"], **style)
    zoom = path_ax.inset_axes((0.13, 0.1, 0.4, 0.42))
    for method, trace in traces.items():
        x, y = 1e3 * trace["device_position"][:, :2].T
        zoom.plot(x, y, color=METHOD_COLOURS[method], lw=1.2)
    zoom.set_xlim(58.6, 60.2)
    zoom.set_ylim(-71.3, -68.9)
    zoom.tick_params(labelsize=7)
    zoom.set_title("the corner", fontsize=8)
    path_ax.set(xlabel="device x [mm]", ylabel="device y [mm]")
    depth_ax.set(xlabel="time [s]", ylabel="penetration of the floor [mm]", xlim=(0.6, 1.6))
    force_ax.set(xlabel="time [s]", ylabel="force on the device, x [N]", xlim=(0.4, 1.2))
    force_ax.set_yscale("symlog", linthresh=0.5)
    energy_ax.set(xlabel="time [s]", ylabel="kinetic energy of the hand [mJ]", xlim=(0.0, 1.6))
    for ax in (path_ax, depth_ax, force_ax, energy_ax):
        ax.legend(fontsize=8, frameon=False)
    return save(fig, path)


FORCE_3D = (0.32, 0.36, -0.4)  # [N]
HALF_3D = np.array([0.021, 0.015, 0.0105])  # [m]
WALLS_3D = np.array([0.08, 0.08, 0.08])  # [m] distance of the planes from the origin
SIGNS_3D = np.array([1.0, 1.0, -1.0])  # towards which side the planes lie
GAPS_3D = np.array([0.02, 0.035, 0.05])  # [m]


def push_into_corner_3d(tilt: float = 0.0) -> Result:
    """A free box pushed into a corner of three planes; tilt [rad] about x + y + z."""
    half = tilt / 2.0
    turn = np.array([np.cos(half), *(np.sin(half) / np.sqrt(3.0) * np.ones(3))])
    start = np.concatenate([SIGNS_3D * (WALLS_3D - GAPS_3D - HALF_3D), turn])
    world = World.builtin("corner-3d").placed(start)
    traces, metrics = {}, Metrics()
    for method, mode in METHODS.items():
        session = Session(world, Contact(4000.0, 30.0, 0.0, mode=mode), rate=RATE)
        trace = traces[method] = session.run(SECONDS, Constant(FORCE_3D))
        depth = SIGNS_3D * trace["device_position"] + HALF_3D - WALLS_3D
        for i, axis in enumerate("xyz"):
            metrics[f"{method}.peak_penetration_{axis}"] = float(max(depth[:, i].max(), 0.0))
            metrics[f"{method}.sustained_force_{axis}"] = float(trace["device_wrench"][-1, i])
        metrics[f"{method}.peak_contacts"] = float(trace["contacts"].max())
        metrics[f"{method}.worst_impact_energy"] = float(trace["impact_energy"].max())
    return Result(metrics, claims_3d(metrics, tilt), traces, partial(draw_corner_3d, traces))


def claims_3d(m: Metrics, tilt: float) -> list[Claim]:
    """The planar claims, in space."""
    source = "beyond TH 4.5 (B11)"
    claims = []
    for i, axis in enumerate("xyz"):
        claims.append(
            within(
                f"X8-3d.sustained-{axis}",
                source,
                f"IAPB: the sustained force balances the hand in {axis}",
                m[f"iapb.sustained_force_{axis}"],
                -FORCE_3D[i],
                0.02,
                "N",
            )
        )
        if tilt == 0.0:
            ratio = m[f"iapb.peak_penetration_{axis}"] / m[f"pb.peak_penetration_{axis}"]
            claims.append(
                at_most(
                    f"X8-3d.less-{axis}",
                    source,
                    f"impulses penetrate less than penalties in {axis} (ratio)",
                    ratio,
                    0.3,
                )
            )
            claims.append(
                at_most(
                    f"X8-3d.ideal-{axis}",
                    source,
                    f"the ideal box does not enter the wall in {axis}",
                    m[f"ideal.peak_penetration_{axis}"],
                    1e-9,
                    "m",
                )
            )
    claims.append(
        at_most(
            "X8-3d.passive",
            source,
            "no collision raises the kinetic energy",
            m["iapb.worst_impact_energy"],
            1e-12,
            "J",
        )
    )
    if tilt == 0.0:
        claims.append(
            holds(
                "X8-3d.contacts",
                source,
                "three faces of four vertices rest in the corner",
                m["iapb.peak_contacts"],
                "= 12",
                m["iapb.peak_contacts"] == 12,
            )
        )
    return claims


def draw_corner_3d(traces: dict[str, Trace], path: Path) -> Any:
    """Position along each axis, and its force."""
    fig, axes = figure(2, 3, (12, 6.5), "Corner push in space: a free 2 kg box and three planes")
    for method, trace in traces.items():
        for i, axis in enumerate("xyz"):
            style: dict[str, Any] = {
                "color": METHOD_COLOURS[method],
                "label": LABELS[method],
                "lw": 1.3,
            }
            depth = SIGNS_3D[i] * trace["device_position"][:, i] + HALF_3D[i] - WALLS_3D[i]
            axes[0, i].plot(trace["time"], 1e3 * np.maximum(depth, 0.0), **style)
            axes[1, i].plot(trace["time"], trace["device_wrench"][:, i], **style)
            axes[0, i].set_title(f"{axis} axis", fontsize=9)
    for ax in axes[0]:
        ax.set(xlabel="time [s]", ylabel="penetration [mm]", xlim=(0.3, 2.0))
        ax.legend(fontsize=7, frameon=False)
    for ax in axes[1]:
        ax.set(xlabel="time [s]", ylabel="force on the device [N]", xlim=(0.3, 2.0))
        ax.set_yscale("symlog", linthresh=0.5)
    return save(fig, path)


EXPERIMENTS = (
    Experiment("corner-push", "X8", "A peg pushed into a corner", push_into_corner),
    Experiment(
        "corner-push-3d",
        "X8, B11",
        "A free box pushed into a corner of three planes",
        push_into_corner_3d,
    ),
)
