"""A pile of bodies that the engine can hardly simulate, felt at 2 kHz (ours; M27)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.experiments.protocol import (
    Claim,
    Count,
    Experiment,
    Metrics,
    Positive,
    Result,
    at_most,
    holds,
)
from detent.hands import Guided
from detent.local import LocalModel, Pace
from detent.record.plots import BLUE, GREEN, ORANGE, RED, figure, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.clutter import STEP, cluttered
from detent.world.contact import Contact
from detent.world.world import World

RATE = 2000.0  # [Hz]
STIFFNESS, DAMPING = 2_000.0, 20.0  # [N/m, N·s/m]
EPSILON = 0.01  # [m]
SLEW = 2_000.0  # [N/s] by which an update may change the force
SLOW = 0.03  # [s] a frame of the engine that deserves the name
TRIES = 6  # frames that are timed
SECONDS = 2.0


def feel(world: World, period: float) -> Session:
    """A session of which the engine takes that long for a frame [s]."""
    local = LocalModel(epsilon=EPSILON, slew_force=SLEW, age_limit=max(0.25, 4.0 * period))
    contact = Contact(STIFFNESS, DAMPING, 0.0)
    return Session(world, contact, force_path=AT_ONCE, rate=RATE, local=local, pace=Pace(period))


def stroke(world: World) -> Guided:
    """A hand that presses the block on the pile and drags it along."""
    x, y, z = world.qpos[:3]
    path = ((0.0, 0, 0, 0), (0.7, 0, 0, -0.04), (1.4, 0.04, 0, -0.045), (2.0, 0.04, 0.03, -0.045))
    rows = [(t, x + dx, y + dy, z + dz) for t, dx, dy, dz in path]
    return Guided(300.0, 10.0, 1.0, 0.02, path=rows)


def frame_seconds(world: World) -> float:
    """[s] that a frame of the engine takes here, for 30 ms of the world."""
    session, hand = feel(world, STEP), stroke(world)
    session.run(STEP, hand)  # compiled, and in memory
    start = perf_counter()
    trace = session.run(TRIES * STEP, hand)
    return (perf_counter() - start) / max(int(trace["update"].max()), 1)


def feel_pile(count: Count = 160, period: Positive = 0.07) -> Result:
    """Number of loose bodies; period of the engine [s], whose latency is the same.

    Lockstep: what is felt depends on these alone, not on the clock. How long a frame and a tick
    take here is measured beside it; what the two do to each other is in `detent bench`.
    """
    world = cluttered(count)
    measured = frame_seconds(world)
    session, hand = feel(world, period), stroke(world)
    tick = 1e-9 * session.tick_cost(hand, RATE)
    trace = session.run(SECONDS, hand)
    metrics = {"frame": measured, "period": period, "tick": tick, "bodies": float(count)}
    metrics |= pile_metrics(trace)
    draw = partial(draw_pile, trace, metrics)
    return Result(metrics, pile_claims(metrics), {"pile": trace}, draw)


def pile_metrics(trace: Trace) -> Metrics:
    """Forces on the hand [N], depth [m], and how many constraints there were."""
    force = trace["environment_wrench"][:, :3]
    steps = np.linalg.norm(np.diff(force, axis=0), axis=1)
    hit = trace["collisions"] > 0
    calm = ~(hit[1:] | hit[:-1])
    updated = np.diff(trace["update"]) > 0
    size = np.linalg.norm(force, axis=1)
    pressing = (trace["contacts"] > 0) & ~hit
    return {
        "updates": float(trace["update"].max()),
        "most_local": float(trace["local"].max()),
        "most_contacts": float(trace["contacts"].max()),
        "collisions": float(hit.sum()),
        "step_at_updates": float(steps[calm & updated].max(initial=0.0)),
        "largest_step": float(steps[calm].max(initial=0.0)),
        "median_force": float(np.median(size[pressing])) if pressing.any() else 0.0,
        "largest_force": float(size[~hit].max()),
        "depth": float(trace["depth"].max()),
        "deformation": float(trace["deformation"].max()),
        "least_trust": float(trace["trust"][trace["contacts"] > 0].min(initial=1.0)),
    }


def pile_claims(m: Metrics) -> list[Claim]:
    """A slow engine, a fast servo, and no jump of the force between them."""
    return [
        holds(
            "slow-engine.slow",
            "TH 6",
            "what a frame of the engine takes [s]",
            m["frame"],
            f"≥ {SLOW} s",
            m["frame"] >= SLOW,
        ),
        at_most(
            "slow-engine.fast",
            "TH 6",
            "what a tick of the servo takes, with a collision in it (99 %) [s]",
            m["tick"],
            1.0 / RATE,
            "s",
        ),
        holds(
            "slow-engine.felt",
            "TH 6",
            "the pile is felt: median force in contact [N]",
            m["median_force"],
            "> 0.1 N, and the newest update is trusted",
            m["median_force"] > 0.1 and m["least_trust"] == 1.0,
        ),
        at_most(
            "slow-engine.smooth",
            "TH 6.2.2",
            "largest change of the force in a tick with an update, collisions apart [N]",
            m["step_at_updates"],
            (1.0 + 1e-6) * SLEW / RATE,
            "N",
        ),
        at_most(
            "slow-engine.depth",
            "TH 6.2.2",
            "depth in the constraints as they are felt [m]",
            m["depth"],
            5e-3,
            "m",
        ),
        at_most(
            "slow-engine.deformation",
            "TH 6.2.2",
            "how far a late constraint is deformed so that it does not push at once [m]",
            m["deformation"],
            EPSILON,
            "m",
        ),
    ]


def busiest(updates: np.ndarray, time: np.ndarray, size: np.ndarray, period: float) -> float:
    """The time of the update around which the median force is largest [s]."""
    around = [np.median(size[np.abs(time - update) < 0.5 * period]) for update in updates]
    return float(updates[int(np.argmax(around))]) if len(updates) else 0.5 * float(time[-1])


def draw_pile(trace: Trace, m: Metrics, path: Path) -> Any:
    """Force and motion of the block, and both rates side by side."""
    title = (
        f"A pile of {m['bodies']:.0f} loose bodies felt at 2 kHz: a frame of the engine takes "
        f"{1e3 * m['frame']:.0f} ms, a tick of the servo {1e6 * m['tick']:.0f} µs"
    )
    fig, axes = figure(2, 2, (14, 8), title)
    time, hit = trace["time"], trace["collisions"] > 0
    size = np.linalg.norm(trace["environment_wrench"][:, :3], axis=1)
    updates = time[1:][np.diff(trace["update"]) > 0]
    (force, close), (place, count) = axes
    force.plot(time[~hit], size[~hit], color=BLUE, lw=1, label="between collisions")
    force.plot(time[hit], size[hit], "x", color=RED, ms=6, label="in a collision")
    force.set(xlabel="time [s]", ylabel="environment force [N]", yscale="symlog")
    force.set_ylim(0.0, None)
    force.legend(fontsize=8, frameon=False)
    middle = busiest(updates, time, np.where(hit, 0.0, size), m["period"])
    shown = (np.abs(time - middle) < m["period"]) & ~hit
    close.plot(time[shown], size[shown], ".-", color=BLUE, ms=3, lw=0.6, label="ticks, 0.5 ms")
    for i, update in enumerate(updates[np.abs(updates - middle) < m["period"]]):
        close.axvline(update, color=ORANGE, lw=2, label="" if i else "updates of the engine")
    close.set(xlabel="time [s]", ylabel="environment force [N]")
    state(close, "between two updates of the engine the force goes on")
    state(force, "the force stays bounded while the pile gives way")
    state(place, "the block is pushed through the pile")
    state(count, "only what is near is in the local model")
    close.legend(fontsize=8, frameon=False)
    for axis, colour in zip(range(3), (BLUE, ORANGE, GREEN), strict=True):
        moved = 1e3 * (trace["device_position"][:, axis] - trace["device_position"][0, axis])
        place.plot(time, moved, color=colour, lw=1.4, label=f"{'xyz'[axis]} of the device")
    place.set(xlabel="time [s]", ylabel="motion [mm]")
    place.legend(fontsize=8, frameon=False)
    count.step(time, trace["local"], color=ORANGE, lw=1.2, label="constraints in the local model")
    count.step(time, trace["contacts"], color=BLUE, lw=1.0, label="of which the block touches")
    count.set(xlabel="time [s]", ylabel="number [-]")
    count.legend(fontsize=8, frameon=False)
    return save(fig, path)


EXPERIMENTS = (
    Experiment("slow-engine", "ours", "A pile that the engine can hardly simulate", feel_pile),
)
