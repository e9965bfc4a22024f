"""An upright disk that rolls without slipping: S2 Fig 8-9 (X21)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent.coupling import Admittance
from detent.devices import AdmittanceDisplay
from detent.experiments.manifold import constraint_errors
from detent.experiments.protocol import (
    Claim,
    Count,
    Experiment,
    Metrics,
    Positive,
    Result,
    at_most,
    holds,
    within,
)
from detent.hands import Playback
from detent.mechanism.library import DAMPING, INERTIA, MASS, WHEEL, builtin
from detent.record.plots import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    RED,
    draw_envelope,
    figure,
    legend,
    save,
    state,
)
from detent.record.trace import Trace
from detent.session import Session

RATE = 1000.0  # [Hz]
LEG = 1.0  # [s] one of the four moves of a loop
SHOWN = 16.0  # [s] of the figure
SLOW = 0.001  # [m/s] ε of S2 Fig 9
MOVING = 0.01  # [m/s] above it the rolling error is judged
PRESS, TILT, PRESS_EVERY = 10.0, 0.5, 1.5  # [N, N·m, s] what a hand adds against the constraints
RESOLUTION = (4.7e-6, 5e-5)  # [m, rad] no fraction of the radius, or it would hide small errors
SETTLE = 0.5  # [s] at the end, at rest


def smooth(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A step from 0 to 1 without a jerk at its ends, and its two derivatives."""
    t = np.clip(t, 0.0, 1.0)
    return (
        t**3 * (10 - 15 * t + 6 * t**2),
        30 * t**2 * (1 - t) ** 2,
        60 * t * (1 - 3 * t + 2 * t**2),
    )


def parking(loops: int, roll: float, steer: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, way rolled and heading with two derivatives each: roll, steer, back, steer back."""
    times = np.arange(round((4 * LEG * loops + SETTLE) * RATE)) / RATE
    way, heading = np.zeros((3, len(times))), np.zeros((3, len(times)))
    for loop in range(loops):
        legs = ((way, roll), (heading, steer), (way, -roll), (heading, -steer))
        for leg, (what, size) in enumerate(legs):
            parts = smooth((times - (4 * loop + leg) * LEG) / LEG)
            for order, part in enumerate(parts):
                what[order] += size * part / LEG**order
    return times, way, heading


def parking_hand(loops: int, roll: float, steer: float) -> Playback:
    """The wrenches that move the disk so: its dynamics, inverted by hand (S2 IV-A)."""
    times, way, heading = parking(loops, roll, steer)
    heavy = MASS + INERTIA / WHEEL**2
    drag = DAMPING.damping + DAMPING.rotational_damping / WHEEL**2
    force = heavy * way[2] + drag * way[1]
    torque = INERTIA * heading[2] + DAMPING.rotational_damping * heading[1]
    wrenches = np.zeros((len(times), 6))
    wrenches[:, 0], wrenches[:, 1] = force * np.cos(heading[0]), force * np.sin(heading[0])
    wrenches[:, 5] = torque
    wrenches[:, 2] = -PRESS * (1.0 - np.cos(2.0 * np.pi * times / PRESS_EVERY))
    tilt = TILT * np.sin(2.0 * np.pi * times / PRESS_EVERY)
    wrenches[:, 3], wrenches[:, 4] = tilt * np.cos(heading[0]), tilt * np.sin(heading[0])
    return Playback(times, wrenches)


def session(display: AdmittanceDisplay | None = None) -> Session:
    """The disk on a display."""
    return Session(builtin("rolling-disk"), coupling=Admittance(), device=display, rate=RATE)


def measured(trace: Trace) -> dict[str, np.ndarray]:
    """The subplots of S2 Fig 9, from what the display measured of itself."""
    w, x, y, z = trace["seen_quaternion"].T
    axle = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), w**2 - x**2 - y**2 + z**2])
    flat = np.maximum(np.hypot(axle[0], axle[1]), 1e-12)
    forward = np.stack([-axle[1], axle[0]]) / flat  # at right angles to the axle, in the plane
    velocity = (trace["device_twist"][:, :2].T * forward).sum(axis=0)
    spin = (trace["device_twist"][:, 3:].T * axle).sum(axis=0)
    rolled = -WHEEL * spin
    return {
        "height": trace["seen_position"][:, 2] - WHEEL,
        "tilt": np.arcsin(np.clip(axle[2], -1.0, 1.0)),
        "velocity": velocity,
        "rolling": 100.0 * np.abs(velocity - rolled) / (np.abs(velocity) + SLOW),
    }


def park(loops: Count = 15, roll: Positive = 0.05, steer: Positive = 0.2, seed: int = 0) -> Result:
    """Loops of four moves: roll [m], steer [rad], and both back; the seed of the force sensor."""
    hand = parking_hand(loops, roll, steer)
    seconds = hand.seconds + 1.0 / RATE
    display = AdmittanceDisplay(seed=seed, resolution=RESOLUTION)
    trace = session(display).run(seconds, hand)
    exact = session(AdmittanceDisplay.ideal()).run(seconds, hand)
    errors = [constraint_errors(builtin("rolling-disk"), t) for t in (trace, exact)]
    shown = measured(trace)
    moving = np.abs(shown["velocity"]) > MOVING
    side = exact["tool_position"][-1, 1] - exact["tool_position"][0, 1]
    ahead = exact["tool_position"][-1, 0] - exact["tool_position"][0, 0]
    metrics = Metrics(
        seconds=seconds,
        holonomic_error=max(h for h, _ in errors),
        forbidden_rate=max(rate for _, rate in errors),
        height_error=float(np.abs(shown["height"]).max()),
        tilt_error=float(np.abs(shown["tilt"]).max()),
        rolling_error_median=float(np.median(shown["rolling"][moving])),
        rolling_error_slow=float(np.median(shown["rolling"][~moving])),
        sideways_per_loop=float(-side / loops),
        lie_bracket=roll * steer,
        ahead_per_loop=float(ahead / loops),
        resolution=RESOLUTION[0],
        turn_resolution=RESOLUTION[1],
    )
    traces = {"display": trace, "ideal": exact}
    return Result(metrics, disk_claims(metrics), traces, partial(draw_disk, trace, shown, loops))


def disk_claims(m: Metrics) -> list[Claim]:
    """S2 III-A and IV-A."""
    return [
        at_most("X21.holonomic", "S2 II-G", f"reference over {m['seconds']:.0f} s: height and "
                "uprightness (largest error)", m["holonomic_error"], 1e-9, "m, rad"),
        at_most("X21.pfaffian", "S2 eq. 23-24", "reference: it rolls and does not slip (A q̇)",
                m["forbidden_rate"], 1e-9, "m/s"),
        at_most("X21.height", "S2 Fig 9A", "display: height error, at most two steps of its "
                "position", m["height_error"], 2.0 * m["resolution"], "m"),
        at_most("X21.tilt", "S2 Fig 9B", "display: error of the upright orientation, at most two "
                "steps of its position", m["tilt_error"], 2.0 * m["turn_resolution"], "rad"),
        at_most("X21.rolling", "S2 Fig 9D", f"display: rolling error above {1e3 * MOVING:.0f} mm/s "
                "(median)", m["rolling_error_median"], 0.1, "%"),
        holds("X21.slow", "S2 Fig 9D", "… is small except near zero speed",
              m["rolling_error_slow"] / m["rolling_error_median"], "> 2 times as large there",
              m["rolling_error_slow"] > 2.0 * m["rolling_error_median"]),
        within("X21.parking", "S2 Fig 8; Lie bracket of rolling and steering", "parallel parking "
               "moves it sideways by roll × steer per loop", m["sideways_per_loop"],
               m["lie_bracket"], 0.02, "m"),
    ]  # fmt: skip


def draw_disk(trace: Trace, shown: dict[str, np.ndarray], loops: int, path: Path) -> Any:
    """S2 Fig 8 and 9."""
    title = "An upright disk rolls on a plane (S2 Fig 8–9); errors as the display measures them"
    fig, axes = figure(2, 3, (14, 7.4), title)
    draw_track(axes[0, 0], trace, loops)
    early = trace["time"] < SHOWN
    time = trace["time"][early]
    height, tilt, rolling = (shown[name][early] for name in ("height", "tilt", "rolling"))
    most, turn = (2.0 * step for step in RESOLUTION[:2])
    draw_error(axes[0, 1], time, 1e6 * height, 1e6 * most, RED, "height error [µm]")
    state(axes[0, 1], "height stays within two steps of the display (Fig 9A)")
    draw_error(axes[0, 2], time, 1e6 * tilt, 1e6 * turn, ORANGE, "orientation error [µrad]")
    state(axes[0, 2], "it stays upright within two steps (Fig 9B)")
    axes[1, 0].plot(time, 1e3 * shown["velocity"][early], color=BLUE, lw=1.2, label="measured")
    axes[1, 0].set(ylabel="rolling velocity [mm/s]", ylim=(-110, 135))
    state(axes[1, 0], "it rolls forth and back, and turns in between (Fig 9C)")
    moving = np.abs(shown["velocity"][early]) > MOVING
    for part, colour, words in ((moving, GREEN, "rolling"), (~moving, BLACK, "nearly at rest")):
        values = np.where(part, rolling, np.nan)
        axes[1, 1].plot(time[::4], values[::4], ".", ms=1.5, color=colour, label=words)
    axes[1, 1].set(ylabel="rolling error [%]", ylim=(1e-3, 1e3), yscale="log")
    state(axes[1, 1], "the rolling error is large only near zero speed (Fig 9D)")
    axes[1, 2].plot(time, trace["hand_wrench"][early, 2], color=BLACK, lw=1.2, label="hand")
    axes[1, 2].set(ylabel="force on the plane [N]", ylim=(-22, 4))
    state(axes[1, 2], "meanwhile the hand presses with up to 20 N")
    for ax in axes.flat[1:]:
        ax.set(xlabel="time [s]")
        legend(ax, "upper right", markerscale=6, ncols=2)
    return save(fig, path)


def draw_error(
    ax: Any, time: np.ndarray, values: np.ndarray, most: float, colour: str, label: str
) -> None:
    """An error as its envelope, and how large it may be."""
    draw_envelope(ax, time, values, 160, colour, "error")
    for sign in (-1.0, 1.0):
        ax.axhline(sign * most, color="0.5", lw=1, ls=":", label="two steps" if sign > 0 else None)
    ax.set(ylabel=label, ylim=(-1.5 * most, 1.5 * most))


def draw_track(ax: Any, trace: Trace, loops: int) -> None:
    """S2 Fig 8 from above."""
    track = 1e3 * trace["track"]
    every = max(1, len(track) // 60)
    heading = trace["coordinates"][::every, 3]
    ends = 1e3 * WHEEL * 0.5 * np.stack([np.cos(heading), np.sin(heading)])
    for place, end in zip(track[::every, :2], ends.T, strict=True):
        ax.plot(*np.stack([place - end, place + end]).T, color=BLUE, lw=1.5, alpha=0.35)
    ax.plot([], [], color=BLUE, lw=1.5, label="disk, half its size")
    ax.plot(track[:, 0], track[:, 1], color=BLACK, lw=1, label="tire track")
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel="x [mm]", ylabel="y [mm]")
    state(ax, f"parallel parking moves it sideways, {loops} loops (Fig 8)")
    legend(ax, "upper right", fontsize=7)


EXPERIMENTS = (
    Experiment("rolling-disk", "X21", "A disk rolls upright: nonholonomic parallel parking", park),
)
