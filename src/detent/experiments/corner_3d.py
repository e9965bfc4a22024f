"""A free box pushed into a corner of three planes: the corner push in space (B11)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.devices import IDEAL
from detent.experiments.corner import METHODS, RATE, SECONDS
from detent.experiments.protocol import Claim, Experiment, Metrics, Result, at_most, holds, within
from detent.hands import Constant
from detent.record.plots import METHOD_COLOURS, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.world import World

METHODS_3D = ("ideal", "iapb", "pb")
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
    for method in METHODS_3D:
        contact = replace(METHODS[method].contact, method="complementarity")
        session = Session(world, contact, device=IDEAL, force_path=AT_ONCE, rate=RATE)
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
    fig, axes = figure(2, 3, (13.5, 7), "Corner push in space: a free 2 kg box and three planes")
    for method, trace in traces.items():
        for i, axis in enumerate("xyz"):
            style: dict[str, Any] = {
                "color": METHOD_COLOURS[method],
                "label": METHODS[method].label,
                "lw": 1.3,
            }
            depth = SIGNS_3D[i] * trace["device_position"][:, i] + HALF_3D[i] - WALLS_3D[i]
            axes[0, i].plot(trace["time"], 1e3 * np.maximum(depth, 0.0), **style)
            axes[1, i].plot(trace["time"], trace["device_wrench"][:, i], **style)
            state(axes[0, i], f"impulses enter the wall in {axis} less than penalties")
            state(axes[1, i], f"penalties bounce in {axis}, impulses settle")
    for ax in axes[0]:
        ax.set(xlabel="time [s]", ylabel="penetration [mm]", xlim=(0.3, 2.0))
    for ax in axes[1]:
        ax.set(xlabel="time [s]", ylabel="force on the device [N]", xlim=(0.3, 2.0))
        ax.set_yscale("symlog", linthresh=0.5)
    for ax in axes.flat:
        legend(ax, fontsize=7)
    return save(fig, path)


EXPERIMENTS = (
    Experiment(
        "corner-push-3d", "X8, B11", "A free box in a corner of three planes", push_into_corner_3d
    ),
)
