"""Where a wall is felt through a local model: TH Fig 6.11 and 6.19 (X15, X17)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from detent.coupling import Direct
from detent.experiments.local_models import FRAME, METHODS, Method, near, prefixed
from detent.experiments.protocol import (
    Claim,
    Experiment,
    Metrics,
    Positive,
    Result,
    at_most,
    holds,
    within,
)
from detent.hands import Constant, Sinusoid
from detent.record.plots import BLACK, METHOD_COLOURS, figure, save, state
from detent.record.trace import Trace
from detent.world.world import World

# --- X15: a peg that fits exactly

PUSH, STIFFNESS, DAMPING = 5.0, 10_000.0, 15.0  # [N, N/m, N·s/m] TH 6.2.3
FIT_DELAY = 0.02  # [s] TH 6.2.3
PEGS = {
    "lm0": Method("active geometry only, ε = 0", near(0.0), Direct(), "penalty"),
    "lm5": Method("ε-active geometry, ε = 5 mm", near(0.005), Direct(), "penalty"),
}


def shake_peg(
    frequency: Positive = 1.0, delay: Positive = FIT_DELAY, seconds: Positive = 4.0
) -> Result:
    """Frequency of the hand's force [Hz]; period and latency of the engine [s]; time [s].

    The document's force, 5 sin(2π/10) N, has lost its time: 1 Hz is the catalogue's reading.
    """
    world, hand = World.builtin("exact-fit"), Sinusoid((PUSH, 0.0, 0.0), frequency=frequency)
    traces = {
        name: method.session(world, STIFFNESS, DAMPING, delay).run(seconds, hand)
        for name, method in PEGS.items()
    }
    metrics = Metrics()
    for name, trace in traces.items():
        metrics[f"{name}.travel"] = float(np.abs(trace["device_position"][:, 0]).max())
        metrics[f"{name}.deformation"] = float(trace["deformation"].max())
    metrics["ratio"] = metrics["lm0.travel"] / metrics["lm5.travel"]
    draw = partial(draw_peg_travel, traces, frequency, delay)
    return Result(metrics, peg_claims(metrics), traces, draw)


def peg_claims(m: Metrics) -> list[Claim]:
    """TH 6.2.3: without ε the hand drifts, with it only the stiffness of the walls is left."""
    return [
        within(
            "X15.stiffness",
            "TH Fig 6.11(b)",
            "with ε = 5 mm the hand moves as far as the walls give: F / K [m]",
            m["lm5.travel"],
            PUSH / STIFFNESS,
            0.05,
            "m",
        ),
        at_most(
            "X15.no-drift",
            "TH Fig 6.11(b)",
            "deformation of the proxy with ε = 5 mm [m]",
            m["lm5.deformation"],
            1e-9,
            "m",
        ),
        holds(
            "X15.drift",
            "TH Fig 6.11(a)",
            "how much further the hand moves without ε-active geometry [-]",
            m["ratio"],
            "> 2 times as far as with it",
            m["ratio"] > 2.0,
        ),
    ]


def draw_peg_travel(traces: Mapping[str, Trace], frequency: float, delay: float, path: Path) -> Any:
    """TH Fig 6.11, and why: how much the proxy was deformed."""
    title = (
        f"A peg of 1 kg in a hole that it fits exactly (TH Fig 6.11): 5 N at {frequency:g} Hz, "
        f"engine {1e3 * delay:.3g} ms late"
    )
    fig, axes = figure(1, 3, (14, 4.4), title)
    for ax, name, letter, said in (
        (axes[0, 0], "lm0", "a", "it digs out"),
        (axes[0, 1], "lm5", "b", "it stays"),
    ):
        trace = traces[name]
        ax.plot(trace["time"], 1e3 * trace["device_position"][:, 0], color=METHOD_COLOURS[name])
        for side in (-1.0, 1.0):
            ax.axhline(side * 1e3 * PUSH / STIFFNESS, color="0.5", lw=1, ls="--")
        ax.set(xlabel="time [s]", ylabel="position of the hand [mm]")
        state(ax, f"{PEGS[name].words}: {said} (Fig 6.11{letter})")
    axes[0, 1].annotate(
        "F / K", (0.0, 1e3 * PUSH / STIFFNESS), xytext=(2, 3), textcoords="offset points",
        fontsize=8, color="0.4",
    )  # fmt: skip
    axes[0, 1].set_ylim(-0.75, 0.75)
    ax = axes[0, 2]
    for name, trace in traces.items():
        deformed = 1e3 * trace["deformation"]
        ax.plot(trace["time"], deformed, color=METHOD_COLOURS[name], label=PEGS[name].words)
    ax.set(xlabel="time [s]", ylabel="deformation of the proxy [mm]")
    state(ax, "because late walls are moved to where the peg is")
    ax.legend(fontsize=8, frameon=False)
    return save(fig, path)


# --- X17: a wall that a constant force approaches

WALL_FORCE, WALL_STIFFNESS, WALL_DAMPING = 0.5, 4_000.0, 30.0  # [N, N/m, N·s/m] TH 6.4.2
EPSILON = 0.005  # [m]
MASS = 2.0  # [kg] TH 4.5
REST = -0.0695  # [m] height of the peg's centre on the floor of "corner"
WALLS = ("ir", "lm0", "lm5", "lm5_literal")
PHASES = 6  # start at these parts of a frame
PLASTIC = 1e-3  # [m] what the acceptance allows, with the depth of the penalty in it
SPEEDS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6)  # [m/s] of the sweep
FRAMES = (0.01, 1.0 / 60.0, 1.0 / 30.0)  # [s] of the sweep


def approach(method: Method, period: float, run: float, speed: float = 0.0) -> Trace:
    """The peg, from a height over the floor [m], with a speed [m/s], until after its stop."""
    world = World.builtin("corner").placed((0.0, REST + run, 0.0), (0.0, -speed, 0.0))
    session = method.session(world, WALL_STIFFNESS, WALL_DAMPING, period)
    acceleration = WALL_FORCE / MASS
    fall = (np.sqrt(speed**2 + 2.0 * acceleration * run) - speed) / acceleration
    return session.run(fall + 3.0 * period + 0.25, Constant((0.0, -WALL_FORCE)))


def wall_error(trace: Trace) -> tuple[float, float]:
    """How deep behind the wall the device turns round [m], and the speed at the wall [m/s]."""
    y = trace["device_position"][:, 1] - REST
    crossing = int(np.argmax(y < 0.0))
    return float(-y.min()), float(-trace["device_twist"][crossing, 1])


def push_wall(run: Positive = 0.04, period: Positive = FRAME) -> Result:
    """Run to the wall [m]; period of the engine [s], whose latency is the same.

    The wall is felt where the device first turns round: that is what the user of TH Fig 6.19
    perceives. Where in a frame the peg starts decides how late an update is, so each method
    runs from six starts, and the worst counts.
    """
    speed = np.sqrt(2.0 * WALL_FORCE / MASS * run)
    starts = run + speed * period * np.arange(PHASES) / PHASES
    metrics, traces = Metrics(), {}
    for name in WALLS:
        all_starts = [approach(METHODS[name], period, start) for start in starts]
        errors, speeds = np.array([wall_error(trace) for trace in all_starts]).T
        metrics |= prefixed(name, {"error": errors.max(), "mean_error": errors.mean()})
        metrics[f"{name}.speed"] = speeds.max()
        traces[name] = all_starts[int(np.argmax(errors))]
    metrics["late"] = 2.0 * period * metrics["lm5.speed"]
    sweep = list(sweep_walls())
    for name in WALLS:
        kept = [error for who, ratio, error in sweep if who == name and ratio < 1.0]
        metrics[f"{name}.sweep_error"] = max(kept)
    return Result(metrics, wall_claims(metrics), traces, partial(draw_walls, traces, sweep, period))


def sweep_walls() -> Iterator[tuple[str, float, float]]:
    """Method, v (T + latency) / ε and error [m], for speeds and periods; worst of two starts."""
    for name, speed, period in product(WALLS, SPEEDS, FRAMES):
        starts = 0.02 + speed * period * np.array([0.0, 0.5])
        runs = [wall_error(approach(METHODS[name], period, start, speed)) for start in starts]
        error, at_wall = max(runs)
        yield name, 2.0 * period * at_wall / EPSILON, error


def wall_claims(m: Metrics) -> list[Claim]:
    """The catalogue's acceptance of X17 (errata E13): orderings, not the document's millimetres."""
    claims = [
        holds(
            "X17.in-time",
            "M23",
            "v (T + latency) in this run [m]",
            m["late"],
            f"< ε = {EPSILON} m",
            m["late"] < EPSILON,
        ),
        at_most(
            "X17.lm5",
            "TH Fig 6.19",
            "distance of the felt wall from its place, ε = 5 mm [m]",
            m["lm5.error"],
            PLASTIC,
            "m",
        ),
        at_most(
            "X17.sweep",
            "M23",
            "the same for all speeds and periods with v (T + latency) < ε [m]",
            m["lm5.sweep_error"],
            PLASTIC,
            "m",
        ),
    ]
    for name, words in (("lm0", "without ε"), ("ir", "in the intermediate representation")):
        more = (m[f"{name}.error"] - m["lm5.error"]) / m["late"]
        claims.append(
            holds(
                f"X17.{name}",
                "TH Fig 6.19, errata E13",
                f"how much further behind the wall {words}, over v (T + latency) [-]",
                more,
                "0.5 to 1.5",
                0.5 <= more <= 1.5,
            )
        )
    return claims


def draw_walls(
    traces: Mapping[str, Trace], sweep: list[tuple[str, float, float]], period: float, path: Path
) -> Any:
    """TH Fig 6.19, and the error against how late an update is."""
    title = (
        "A wall felt through a slow engine (TH Fig 6.19): 0.5 N, 4 kN/m, 30 N·s/m, e = 0, "
        f"period and latency {1e3 * period:.3g} ms"
    )
    fig, ((left, right),) = figure(1, 2, (13, 5), title)
    for name, trace in traces.items():
        style = {"color": METHOD_COLOURS[name], "lw": 1.6, "label": METHODS[name].words}
        left.plot(trace["time"], 1e3 * (trace["device_position"][:, 1] - REST), **style)
        points = np.array([(ratio, error) for who, ratio, error in sweep if who == name])
        points = points[np.argsort(points[:, 0])]
        right.plot(*(points * (1.0, 1e3)).T, "o", color=METHOD_COLOURS[name], ms=4)
    left.axhline(0.0, color=BLACK, lw=1)
    left.annotate("the wall", (0.27, 0.0), xytext=(0, 3), textcoords="offset points", fontsize=8)
    left.set(
        xlabel="time [s]",
        ylabel="height of the device over the wall [mm]",
        ylim=(-12, 12),
        xlim=(0.25, None),
    )
    state(left, "with ε it turns at the wall, its literal form does not (worst of six)")
    left.legend(fontsize=8, frameon=False, loc="lower left")
    ratios = np.geomspace(0.1, 10.0, 50)
    right.plot(ratios, 1e3 * EPSILON * ratios, color="0.5", lw=1, ls="--", label="v (T + latency)")
    right.axvline(1.0, color="0.5", lw=1)
    right.annotate("ε", (1.0, 0.12), xytext=(4, 0), textcoords="offset points", fontsize=10)
    right.axhline(1e3 * PLASTIC, color="0.5", lw=1, ls=":", label="1 mm")
    right.set(xscale="log", yscale="log", xlabel="speed × (period + latency) / ε [-]")
    right.set(ylabel="how far behind the wall the device turns [mm]", ylim=(0.1, 60.0))
    state(right, "when an update is later than ε allows, the wall is felt late")
    right.legend(fontsize=8, frameon=False)
    return save(fig, path)


EXPERIMENTS = (
    Experiment("tight-hole-1d", "X15", "A peg that fits exactly, and a late engine", shake_peg),
    Experiment("static-wall", "X17", "Where a wall is felt through a slow engine", push_wall),
)
