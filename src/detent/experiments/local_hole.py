"""A peg in a hole of its own width, through a slow engine: TH Fig 6.20 to 6.22 (X18, X19)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent.devices import IDEAL, Inertial
from detent.errors import ServoFault
from detent.experiments.local_models import FRAME, METHODS, Method, angle, losses, prefixed
from detent.experiments.protocol import Claim, Experiment, Metrics, Positive, Result, holds, within
from detent.hands import Sinusoid
from detent.record.plots import METHOD_COLOURS, figure, save, state
from detent.record.trace import Trace
from detent.world.friction import Friction
from detent.world.world import World

FREQUENCY = 2.5  # [Hz] TH 6.4.2: sin(5π t)
DRIFT, TWIST = 0.02, 0.005  # [N, N·m] of the interface, which the document only mentions
FRICTION = Friction(0.25, 0.2, damping_ratio=1.0)  # of the walls; the document gives no numbers
SECONDS = 4.0
HOLES = ("ir", "ir_prompt", "lm0", "lm5")
STIFF_HOLES = ("ir", "lm0", "lm5")
LOST = 0.05  # [m] out of this a device is no longer in the hole


def shake(
    method: Method,
    force: float,
    stiffness: float,
    damping: float,
    period: float,
    device: Inertial = IDEAL,
) -> Trace:
    """The hand's force along x, with the drift of the interface."""
    session = method.session(
        World.builtin("exact-hole"), stiffness, damping, period, 0.0, device, FRICTION
    )
    hand = Sinusoid(
        (force, 0.0, 0.0), 0.0, FREQUENCY, bias_force=(0.0, DRIFT, 0.0), bias_torque=TWIST
    )
    return session.run(SECONDS, hand)


def hole_metrics(trace: Trace) -> Metrics:
    """How far the device travels [m, rad], and how often the peg lost contact."""
    place, turned = trace["device_position"], angle(trace)
    return {
        "travel_x": float(np.ptp(place[:, 0])),
        "travel_y": float(np.ptp(place[:, 1])),
        "turned": float(np.ptp(turned)),
        "drift_y": float(place[-1, 1] - place[0, 1]),
        "losses": float(losses(trace)),
        "deformation": float(trace["deformation"].max()),
    }


# --- X18


def shake_hole(force: Positive = 1.0, period: Positive = FRAME) -> Result:
    """Force of the hand [N]; period of the engine [s], whose latency is the same.

    Limitation: the interface drifts upwards with 0.02 N and 5 mN·m, and the walls have friction
    0.25: the document names both causes, and no numbers.
    """
    traces = {name: shake(METHODS[name], force, 4_000.0, 30.0, period) for name in HOLES}
    metrics = Metrics()
    for name, trace in traces.items():
        metrics |= prefixed(name, hole_metrics(trace))
    title = (
        f"A peg in a hole of its own width (TH Fig 6.21): {force:g} N at 2.5 Hz, 4 kN/m, "
        f"30 N·s/m, engine {1e3 * period:.3g} ms"
    )
    return Result(metrics, hole_claims(metrics), traces, partial(draw_holes, traces, title))


def hole_claims(m: Metrics) -> list[Claim]:
    """The catalogue's acceptance of X18."""
    claims = []
    for name, words in (
        ("lm0", "without ε"),
        ("ir", "in the intermediate representation"),
        ("ir_prompt", "in the intermediate representation, no latency,"),
    ):
        for key, what in (("travel_x", "travel along x"), ("turned", "rotation")):
            ratio = m[f"{name}.{key}"] / m[f"lm5.{key}"]
            claims.append(
                holds(
                    f"X18.{key.split('_')[0]}-{name}",
                    "TH Fig 6.21",
                    f"{what} {words}, over that with ε = 5 mm [-]",
                    ratio,
                    "> 1",
                    ratio > 1.0,
                )
            )
    drift = abs(m["ir.drift_y"]) / max(abs(m["lm5.drift_y"]), 1e-12)
    claims.append(
        holds(
            "X18.contact-ir",
            "TH Fig 6.21(a)",
            "the intermediate representation leaves the bottom: y at the end over that with ε [-]",
            drift,
            "> 1, and it loses contact",
            drift > 1.0 and m["ir.losses"] > 0.0,
        )
    )
    return claims


def draw_holes(traces: Mapping[str, Trace], title: str, path: Path) -> Any:
    """TH Fig 6.21 and 6.22: x against y, and x and θ against time; each method its own scale."""
    fig, axes = figure(3, len(traces), (3.9 * len(traces), 8.6), title)
    for column, (name, trace) in zip(axes.T, traces.items(), strict=True):
        x, y = 1e3 * (trace["device_position"][:, :2] - trace["device_position"][0, :2]).T
        style = {"color": METHOD_COLOURS[name], "lw": 1.0}
        curves = (
            (x, y, "x [mm]", "y [mm]"),
            (trace["time"], x, "time [s]", "x [mm]"),
            (trace["time"], 1e3 * angle(trace), "time [s]", "θ [mrad]"),
        )
        for ax, (across, up, xlabel, ylabel) in zip(column, curves, strict=True):
            ax.plot(across, up, **style)
            ax.set(xlabel=xlabel, ylabel=ylabel)
            ax.ticklabel_format(useOffset=False)
        wide = np.ptp(x)
        state(column[0], f"{METHODS[name].words}: {wide:.2g} mm wide")
        state(column[1], "from side to side")
        state(column[2], "and turning")
    return save(fig, path)


# --- X19

RATIO = 150.0  # [1/s] K over B, TH 6.4.3
KICK = 0.05  # [m/s] of the peg that is then left alone
CALM = 0.1  # of the kick: a peg that is slower after 3 s has settled
MOST = 64_000.0  # [N/m] beyond that the step of the servo bounds the walls
LEAST = 1_000.0  # [N/m]
LIMITS = ("ir", "ir_prompt", "lm5_direct", "lm0", "lm5")


def settles(method: Method, stiffness: float, period: float, device: Inertial) -> bool:
    """Whether a peg that is left in the hole comes to rest: TH 6.4.2's test of stability."""
    world = World.builtin("exact-hole").placed((0.0, 0.0, 0.0), (KICK, 0.0, 0.0))
    session = method.session(world, stiffness, stiffness / RATIO, period, 0.0, device)
    try:
        trace = session.run(3.0)
    except ServoFault:
        return False
    late = trace["time"] > 2.8
    speed = np.abs(trace["device_twist"][late, :2]).max()
    return bool(speed < CALM * KICK and np.abs(trace["device_position"][:, 0]).max() < LOST)


def largest_stable(method: Method, period: float, device: Inertial) -> float:
    """The stiffness [N/m] up to which the peg settles: doubled until it fails, then bisected.

    0 if it fails at the least, MOST if it never fails.
    """
    low, high = 0.0, LEAST
    while settles(method, high, period, device):
        low, high = high, 2.0 * high
        if low >= MOST:
            return MOST
    while low > 0.0 and high > 1.05 * low:
        middle = np.sqrt(low * high)
        good = settles(method, middle, period, device)
        low, high = (middle, high) if good else (low, middle)
    return float(low)


def stiffen_hole(mass: Positive = 2.0, delay_ticks: int = 1, period: Positive = FRAME) -> Result:
    """Mass of the device [kg] and its delay [ticks]; period of the engine [s].

    An ideal device that applies a force within the tick is stable with any stiffness that the
    step can hold, however it is coupled. So the device here is one tick late, as a sampled one
    is. The intermediate representation is also tried without latency ("prompt"): that is where
    it does best.
    """
    device = replace(IDEAL, mass=mass, rotational_inertia=2.5e-3 * mass, delay_ticks=delay_ticks)
    traces, metrics = {}, Metrics()
    for name in STIFF_HOLES:
        traces[name] = shake(METHODS[name], 3.0, 15_000.0, 100.0, period, device)
        metrics |= prefixed(name, hole_metrics(traces[name]))
    for name in LIMITS:
        metrics[f"{name}.largest_stable"] = largest_stable(METHODS[name], period, device)
        metrics[f"{name}.settles"] = float(settles(METHODS[name], 15_000.0, period, device))
    prompt = metrics["ir_prompt.largest_stable"]
    metrics["ratio"] = metrics["lm5.largest_stable"] / max(prompt, 1e-9)
    draw = partial(draw_stiff, traces, metrics, period)
    return Result(metrics, stiff_claims(metrics), traces, draw)


def stiff_claims(m: Metrics) -> list[Claim]:
    """TH 6.4.3 and the catalogue: 15 000 N/m with the four-channel controller, not without."""
    claims = []
    for name in ("lm0", "lm5"):
        most = max(m[f"{name}.travel_x"], m[f"{name}.travel_y"])
        claims.append(
            holds(
                f"X19.stable-{name}",
                "TH Fig 6.22",
                f"travel at 15 000 N/m, four channels, {METHODS[name].words} [m]",
                most,
                f"< {LOST} m, and a peg left alone comes to rest",
                most < LOST and m[f"{name}.settles"] == 1.0,
            )
        )
    for name in ("ir", "ir_prompt"):
        claims.append(
            holds(
                f"X19.unstable-{name}",
                "TH 6.4.3, footnote 7",
                f"largest stable stiffness, directly coupled, {METHODS[name].words} [N/m]",
                m[f"{name}.largest_stable"],
                "< 15 000 N/m, where a peg left alone does not come to rest",
                m[f"{name}.settles"] == 0.0 and m[f"{name}.largest_stable"] < 15_000.0,
            )
        )
    further = m["lm0.travel_x"] / m["lm5.travel_x"]
    capped = m["lm5.largest_stable"] >= MOST
    claims += [
        within(
            f"X19.further-{axis}",
            "TH Fig 6.22",
            f"how much further it travels along {axis} without ε [m]",
            m[f"lm0.travel_{axis}"] - m[f"lm5.travel_{axis}"],
            0.02,
            0.5,
            "m",
        )
        for axis in "xy"
    ]
    claims += [
        holds(
            "X19.ratio",
            "TH 6.4.3",
            "largest stable stiffness with four channels over that directly coupled"
            + (" (at least: the search ends there) [-]" if capped else " [-]"),
            m["ratio"],
            "≥ 15 000 / 4 000",
            m["ratio"] >= 15.0 / 4.0,
        ),
        holds(
            "X19.epsilon",
            "TH Fig 6.22",
            "travel along x without ε over that with ε = 5 mm [-]",
            further,
            "> 1",
            further > 1.0,
        ),
    ]
    return claims


def draw_stiff(traces: Mapping[str, Trace], m: Metrics, period: float, path: Path) -> Any:
    """TH Fig 6.22, and the largest stable stiffness of each method."""
    title = (
        "A stiff hole (TH Fig 6.22): 15 kN/m, 100 N·s/m, 3 N at 2.5 Hz, "
        f"engine {1e3 * period:.3g} ms, device one tick late"
    )
    fig, axes = figure(1, 4, (17, 4.6), title)
    for ax, (name, trace) in zip(axes[0], traces.items(), strict=False):
        x, y = 1e3 * (trace["device_position"][:, :2] - trace["device_position"][0, :2]).T
        ax.plot(x, y, color=METHOD_COLOURS[name], lw=0.8)
        if np.ptp(x) > 1e3 * LOST:
            ax.set(xlim=(-100, 100), ylim=(-50, 150))
            ax.annotate("unstable: it leaves the hole", (-95, -45), fontsize=9)
        ax.set(xlabel="x of the device [mm]", ylabel="y of the device [mm]")
        state(ax, METHODS[name].words)
    ax = axes[0, 3]
    values = [max(m[f"{name}.largest_stable"], 1.0) / 1e3 for name in LIMITS]
    colours = [METHOD_COLOURS[name] for name in LIMITS]
    ax.barh(range(len(LIMITS)), values, 0.35, color=colours)
    for row, (name, value) in enumerate(zip(LIMITS, values, strict=True)):
        found = m[f"{name}.largest_stable"]
        text = "none" if found == 0.0 else f"{'≥ ' if found >= MOST else ''}{value:.3g} kN/m"
        ax.annotate(f"{METHODS[name].words}: {text}", (0.12, row - 0.25), fontsize=8)
    ax.set(xscale="log", xlim=(0.1, 120.0), yticks=(), ylim=(-0.7, len(LIMITS) - 0.6))
    ax.axvline(4.0, color="0.5", lw=1, ls="--")
    ax.axvline(15.0, color="0.5", lw=1, ls="--")
    ax.set(xlabel="largest stable stiffness [kN/m]")
    state(ax, "largest stable stiffness (dashed: 4 and 15 kN/m)")
    ax.invert_yaxis()
    return save(fig, path)


EXPERIMENTS = (
    Experiment("tight-hole", "X18", "A peg in a hole of its own width, slow engine", shake_hole),
    Experiment("stiff-hole", "X19", "The stiffest hole that each coupling can hold", stiffen_hole),
)
