"""Impacts at all speeds on a device with limits: both remedies of errata E9 (M8, X10)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import IDEAL
from detent.experiments.corner import FORCE, LIMITS, METHODS, RATE, WALL_X, extent
from detent.experiments.protocol import Claim, Experiment, Metrics, Result, at_most
from detent.hands import Constant
from detent.record.plots import METHOD_COLOURS, figure, legend, save, state
from detent.session import Session
from detent.world.world import World

SPEEDS = np.geomspace(0.02, 1.0, 14)  # [m/s]
NAMES = ("pb_limited", "iapb_spread", "iapb_spread_rezeroed", "iapb_spread_literal")
MASS = 2.0  # [kg]
CAP, HAND = LIMITS[0], FORCE[0]  # [N]
MANY = 2  # ticks: a stop within fewer is coarser than the formula of continuous time
CREEP = HAND / MASS / RATE**2  # [m] how far the hand pushes in the tick of the last impulse

Curves = dict[str, np.ndarray]


def hit_wall(name: str, speed: float) -> tuple[float, float]:
    """Depth of the stop [m], and energy given back over energy brought in [-].

    The peg starts half a tick before the wall, so that it is neither found early nor late.
    """
    wide, _ = extent(0.0)
    start = (WALL_X - wide - 0.5 * speed / RATE, 0.0, 0.0)
    world = World.builtin("corner").placed(start, (speed, 0.0, 0.0))
    method = METHODS[name]
    device = replace(IDEAL, limits=LIMITS)
    session = Session(world, method.contact, TABLE_4_1, device, force_path=AT_ONCE, rate=RATE)
    trace = session.run(0.25 + 2.0 * MASS * speed / CAP, Constant((HAND, 0.0)))
    depth = trace["device_position"][:, 0] + wide - WALL_X
    deepest = int(np.argmax(depth))
    # the first way out; what the hand adds on the way is not the contact's
    out = np.nonzero(depth[deepest:] < 0.0)[0]
    end = deepest + int(out[0]) if len(out) else len(depth) - 1
    leaving = float(trace["device_energy"][deepest:end].max(initial=0.0))
    brought = 0.5 * MASS * speed**2 + HAND * float(depth[deepest])
    return float(depth[deepest]), leaving / brought


def sweep_limits() -> Result:
    """A peg meets a wall at 0.02 to 1 m/s; the device can render 15 N."""
    depths = {name: np.zeros(len(SPEEDS)) for name in NAMES}
    returned = {name: np.zeros(len(SPEEDS)) for name in NAMES}
    for name in NAMES:
        for i, speed in enumerate(SPEEDS):
            depths[name][i], returned[name][i] = hit_wall(name, float(speed))
    physical = MASS * SPEEDS**2 / (2.0 * (CAP - HAND))
    metrics: Metrics = {}
    for name in NAMES:
        metrics[f"{name}.most_returned_energy"] = float(returned[name].max())
        for i, speed in enumerate(SPEEDS):
            metrics[f"{name}.depth_at_{speed:.3f}"] = float(depths[name][i])
    error = np.abs(depths["iapb_spread"] / physical - 1.0)
    metrics["iapb_spread.worst_depth_error_at_any_speed"] = float(error.max())
    claims = limit_claims(depths, returned, physical)
    return Result(metrics, claims, {}, partial(draw_sweep, depths, returned, physical))


def limit_claims(depths: Curves, returned: Curves, physical: np.ndarray) -> list[Claim]:
    """TH 4.5.2 with the remedy that is the default."""
    excess = depths["iapb_spread"] - depths["pb_limited"]
    many = SPEEDS >= MANY * CAP / MASS / RATE
    error = np.abs(depths["iapb_spread"][many] / physical[many] - 1.0)
    return [
        at_most(
            "X10.sweep",
            "TH 4.5.2, errata E9",
            "spread impulses never penetrate more than limited penalties, at any speed, but for "
            "what the hand pushes in the tick of the last impulse (excess)",
            float(excess.max()),
            1.01 * CREEP,
            "m",
        ),
        at_most(
            "X10.physical",
            "errata E9",
            f"a stop that takes {MANY} ticks or more is as deep as the cap allows, "
            "mv²/2(F_cap − F_h) (relative error)",
            float(error.max()),
            0.1,
        ),
        at_most(
            "X10.returned",
            "errata E9",
            "a contact gives back no more energy than it received (largest share)",
            float(returned["iapb_spread"].max()),
            1.0,
        ),
    ]


def draw_sweep(depths: Curves, returned: Curves, physical: np.ndarray, path: Path) -> Any:
    """Stopping depth and energy given back, against the speed of the impact."""
    fig, (axes,) = figure(
        1, 2, (12, 4.8), "Impacts on a device that can render 15 N (TH 4.5.2, errata E9)"
    )
    for name in NAMES:
        style: dict[str, Any] = {
            "color": METHOD_COLOURS[name], "label": METHODS[name].label, "marker": "o", "ms": 3,
        }  # fmt: skip
        if name == "iapb_spread":  # others lie on it
            style |= {"lw": 6, "alpha": 0.5, "ms": 0, "solid_capstyle": "round"}
        axes[0].loglog(SPEEDS, 1e3 * depths[name], **style)
        axes[1].semilogx(SPEEDS, returned[name], **style)
    axes[0].loglog(SPEEDS, 1e3 * physical, "k--", lw=1, label="mv²/2(F$_{cap}$ − F$_h$)")
    axes[0].set(xlabel="speed of the impact [m/s]", ylabel="stopping depth [mm]")
    axes[1].set(xlabel="speed of the impact [m/s]", ylabel="energy returned / received [-]")
    state(axes[0], "hard impacts stop where the cap allows, whatever the law")
    state(axes[1], "re-zeroing the spring returns nothing")
    for ax in axes:
        legend(ax)
    return save(fig, path)


EXPERIMENTS = (
    Experiment("limit-sweep", "M8, X10", "Impacts at all speeds on a limited device", sweep_limits),
)
