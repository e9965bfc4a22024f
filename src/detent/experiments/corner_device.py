"""The corner push on the pantograph: TH Fig 4.22 to 4.24 (X11)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.devices import Inertial, Pantograph
from detent.experiments.corner import (
    FORCE,
    METHODS,
    RATE,
    SECONDS,
    WALL_X,
    WALL_Y,
    corner_metrics,
    extent,
    penetrations,
)
from detent.experiments.on_pantograph import SHAPED
from detent.experiments.protocol import Claim, Experiment, Metrics, Result, holds
from detent.hands import Constant
from detent.record.plots import METHOD_COLOURS, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.world import World

NAMES = ("ideal", "iapb", "iapb_spread", "pb")


def push_device(friction: float = 2e-4, delay_ticks: int = 1, counts: int = 16_000) -> Result:
    """Coulomb friction [N·m] of the device's joints, its delay [ticks], counts of its encoders."""
    wide, high = extent(0.0)
    world = World.builtin("corner").placed((WALL_X - 0.02 - wide, WALL_Y + 0.05 + high, 0.0))
    pantograph = Pantograph(friction=friction, delay_ticks=delay_ticks, counts=counts)
    traces, metrics = {}, Metrics()
    for name in NAMES:
        method = METHODS[name]
        contact = method.contact
        if name == "ideal":  # the document compares with a simulation
            session = Session(world, contact, method.coupling, Inertial(), AT_ONCE, rate=RATE)
        else:  # without limits of its own, a method leaves it to the motors to cut what it asks
            contact = contact if method.limited else replace(contact, strategy="full")
            session = Session(world, contact, SHAPED, pantograph, rate=RATE, force_path=AT_ONCE)
        traces[name] = session.run(SECONDS, Constant(FORCE))
        metrics |= corner_metrics(name, traces[name])
        metrics[f"{name}.bounces"] = float(bounces(traces[name]))
    return Result(metrics, device_claims(metrics), traces, partial(draw_device, traces))


def bounces(trace: Trace) -> int:
    """How often the device leaves the floor again by more than 0.1 mm."""
    depth = penetrations(trace)[1]
    touched = np.nonzero(depth > 0.0)[0]
    if len(touched) == 0:
        return 0
    away = depth[touched[0] :] < -1e-4
    return int(np.count_nonzero(away[1:] & ~away[:-1]))


def device_claims(m: Metrics) -> list[Claim]:
    """TH Fig 4.22: settling and bounces order IAPB, limited IAPB, PB."""
    claims = []
    order = ("iapb", "iapb_spread", "pb")
    for what, unit in (("settling_y", "s"), ("bounces", ""), ("peak_penetration_y", "m")):
        values = [m[f"{name}.{what}"] for name in order]
        text = f"{what.replace('_', ' ')}: IAPB ≤ IAPB limited ≤ PB, and IAPB < PB"
        required = "≤ ".join(f"{v:.4g} {unit}".strip() + " " for v in values).strip()
        good = values[0] <= values[1] <= values[2] and values[0] < values[2]
        claims.append(holds(f"X11.{what}", "TH Fig 4.22", text, values[0], required, good))
    return claims


def draw_device(traces: dict[str, Trace], path: Path) -> Any:
    """Path, force and energy, in the form of TH Fig 4.22 to 4.24."""
    title = "Corner push on the twin pantograph (TH Fig 4.22–4.24)"
    fig, (axes,) = figure(1, 3, (14, 4.6), title)
    for name, trace in traces.items():
        style: dict[str, Any] = {
            "color": METHOD_COLOURS[name], "label": METHODS[name].label, "lw": 1.3,
        }  # fmt: skip
        x, y = 1e3 * trace["device_position"][:, :2].T
        axes[0].plot(x, y, **style)
        axes[1].plot(trace["time"], trace["environment_wrench"][:, 1], **style)
        axes[2].plot(trace["time"], 1e3 * trace["device_energy"], **style)
    axes[0].set(xlabel="device x [mm]", ylabel="device y [mm]", xlim=(53, 61.5), ylim=(-72.5, -42))
    axes[1].set(xlabel="time [s]", ylabel="environment force, y [N]", xlim=(0.6, 1.6))
    axes[1].set_yscale("symlog", linthresh=0.5)
    axes[2].set(xlabel="time [s]", ylabel="kinetic energy of the device [mJ]", xlim=(0.0, 1.8))
    state(axes[0], "the hand's path: impulses turn it at the wall (Fig 4.22)")
    state(axes[1], "the force of the environment (Fig 4.23)")
    state(axes[2], "impulses take the energy at once (Fig 4.24)")
    for ax in axes:
        legend(ax, fontsize=7)
    return save(fig, path)


EXPERIMENTS = (
    Experiment("corner-device", "X11", "The corner push on the pantograph", push_device),
)
