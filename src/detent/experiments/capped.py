"""What a hand gets where its device has a cap: depth, energy returned, and where the wall is."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.devices import Inertial
from detent.experiments.protocol import Claim, Experiment, Metrics, Result, at_most
from detent.hands import Constant, Hand
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, PINK, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

CAPS = (3.3, 8.0, 12.0, 23.0, np.inf)  # [N]
SPEEDS = (0.05, 0.1, 0.2, 0.5, 1.0)  # [m/s]
COLOURS = dict(zip(CAPS, (BLUE, GREEN, ORANGE, PINK, BLACK), strict=True))
MASS, HALF, RATE = 2.0, 0.02, 1000.0  # [kg] [m] [Hz]
PUSH = 0.45  # [-] of the cap, by the hand that stays; 5 N where there is none
BACK, PATIENCE = 0.05, 0.5  # [m/s] [s] within which a hand must be back at the surface
NEAR = 2.5e-4  # [m] that is the surface: so much the position channel still has to take back
SCENE = f"""
<mujoco>
  <option gravity="0 0 0"/>
  <worldbody>
    <geom name="wall" type="box" size="1 1 1" pos="0 0 -1"/>
    <body name="tool"><freejoint/><geom size="{HALF}" mass="{MASS}"/></body>
  </worldbody>
</mujoco>
"""


def name_of(cap: float) -> str:
    """Of a cap, in words."""
    return "none" if np.isinf(cap) else f"{cap:g}"


def hit(cap: float, speed: float, hand: Hand | None, push: float) -> Trace:
    """A ball meets a wall, half a tick after the start."""
    height = HALF + 0.5 * speed / RATE
    world = World.from_string(SCENE, tool="tool", name="capped")
    world = world.placed((0, 0, height, 1, 0, 0, 0), (0, 0, -speed, 0, 0, 0))
    device = Inertial(limits=None if np.isinf(cap) else (cap,) * 6)
    session = Session(world, Contact(4000.0, 30.0), None, device, AT_ONCE, rate=RATE)
    brake = min(cap, 100.0) - push
    return session.run(0.7 + MASS * speed / brake * (1.0 + 12.0 * speed), hand)


def meet(cap: float, speed: float) -> Metrics:
    """A free tool, and a hand that stays and pushes."""
    free = hit(cap, speed, None, 0.0)
    depth = HALF - free["device_position"][:, 2]
    after = slice(int(np.argmax(depth)), None)
    brought = 0.5 * MASS * speed**2
    returned = max(free[name][after].max() for name in ("tool_energy", "device_energy"))
    push = 5.0 if np.isinf(cap) else PUSH * cap
    held = hit(cap, speed, Constant((0.0, 0.0, -push)), push)
    pressed = HALF - held["device_position"][:, 2]
    deepest = int(np.argmax(pressed))
    away = np.nonzero(pressed[deepest:] > push / 4000.0 + NEAR)[0]
    back = (int(away[-1]) + 1) / RATE if len(away) else 0.0
    return {
        "depth": float(depth.max()),
        "returned": float(returned / brought),
        "back": back,
        "late": back - PATIENCE - float(pressed[deepest]) / BACK,
        "felt": float(pressed[-1]) - push / 4000.0,
        "least_taken": float(min(free["taken_energy"].min(), held["taken_energy"].min())),
    }


def meet_walls() -> Result:
    """A tool of 2 kg meets a wall at 0.05 to 1 m/s, on devices with caps."""
    metrics: Metrics = {}
    for cap in CAPS:
        for speed in SPEEDS:
            for name, value in meet(cap, speed).items():
                metrics[f"{name_of(cap)}.{speed:g}.{name}"] = value
    return Result(metrics, wall_claims(metrics), {}, partial(draw_walls, metrics))


def worst(metrics: Metrics, name: str) -> float:
    """The largest of all caps and speeds."""
    return max(value for key, value in metrics.items() if key.endswith(f".{name}"))


def wall_claims(metrics: Metrics) -> list[Claim]:
    """What a hand may count on, at every cap and speed."""
    return [
        at_most(
            "capped.returned",
            "ours, errata E9",
            "a free tool leaves a plastic wall with a tenth of its energy at most (share)",
            worst(metrics, "returned"),
            0.1,
        ),
        at_most(
            "capped.back",
            "ours",
            "a hand that stays and pushes with less than half the cap is at the surface again "
            "within 0.5 s and its depth at 50 mm/s (later by)",
            worst(metrics, "late"),
            0.0,
            "s",
        ),
        at_most(
            "capped.felt",
            "ours",
            "the wall is then felt where it is (distance)",
            worst(metrics, "felt"),
            NEAR,
            "m",
        ),
        at_most(
            "capped.passive",
            "ours",
            "a wall gives no more than it took (energy from nowhere)",
            -min(v for key, v in metrics.items() if key.endswith(".least_taken")),
            1e-5,
            "J",
        ),
    ]


def guide_table(metrics: Metrics) -> list[str]:
    """The rows of the table in docs/guide.md."""
    rows = []
    for cap in CAPS:
        cells = []
        for speed in SPEEDS:
            m = {k: metrics[f"{name_of(cap)}.{speed:g}.{k}"] for k in ("depth", "returned", "back")}
            depth = 1e3 * m["depth"]
            deep = f"{depth:.0f}" if depth >= 10.0 else f"{depth:.2g}"
            cells.append(f"{deep} mm, {100 * m['returned']:.1g} %, {m['back']:.2g} s")
        unit = "none" if np.isinf(cap) else f"{cap:g} N"
        rows.append(f"| {unit} | " + " | ".join(cells) + " |")
    return rows


def draw_walls(metrics: Metrics, path: Path) -> Any:
    """Depth, energy returned and time to the surface, against speed."""
    fig, (axes,) = figure(1, 3, (15, 4.6), "A plastic wall on a device with a cap (errata E9)")
    for cap in CAPS:
        style: dict[str, Any] = {
            "color": COLOURS[cap], "marker": "o", "ms": 4,
            "label": "no cap" if np.isinf(cap) else f"{cap:g} N",
        }  # fmt: skip
        for ax, name, scale in zip(
            axes, ("depth", "returned", "back"), (1e3, 1.0, 1.0), strict=True
        ):
            values = [scale * metrics[f"{name_of(cap)}.{v:g}.{name}"] for v in SPEEDS]
            ax.plot(SPEEDS, values, **style)
    axes[0].set(xscale="log", yscale="log", xlabel="speed [m/s]", ylabel="depth of the stop [mm]")
    axes[1].set(xscale="log", xlabel="speed [m/s]", ylabel="energy returned / brought [-]")
    axes[1].axhline(0.1, color="0.5", lw=1, ls=":", label="a tenth")
    axes[2].set(xscale="log", xlabel="speed [m/s]", ylabel="back at the surface after [s]")
    state(axes[0], "a lower cap stops it deeper")
    state(axes[1], "what it returns stays below a tenth")
    state(axes[2], "it comes back slowly, and later from deeper")
    for ax in axes:
        legend(ax)
    return save(fig, path)


EXPERIMENTS = (
    Experiment(
        "capped-walls", "ours, M8", "What a hand gets where its device has a cap", meet_walls
    ),
)
