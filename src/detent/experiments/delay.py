"""Stiffness against delay: of the device, and of an engine that has the wall (B9)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import Passivity
from detent.devices.limits import rule_of_thumb
from detent.experiments.protocol import Claim, Experiment, Metrics, Result, at_most, holds
from detent.experiments.sampled_wall import WallCase, measured_boundary, swing
from detent.record.plots import BLUE, GREEN, ORANGE, RED, figure, legend, save, state

SOURCE = "Colgate and Schenkel 1994; Hulin 2006"
OURS = "what Detent promises"
DELAYS = (0, 1, 2, 3, 4)  # [ticks] of the device
STEPS = (250e-6, 1e-3)  # [s]
ENGINES = (0.01, 0.033, 0.1)  # [s] period and latency of an engine
CROSSING = (0.01, 0.033)  # [s] by which a force would be late that crosses instead
STEP = 1e-3  # [s] of the servo beside an engine
LIGHT = 0.2  # [N] of the hand where walls are soft


def compare_delays() -> Result:
    """The largest stable stiffness against the delay of the device and of an engine.

    Limitations: the wall stands still. What an engine moves is braked by the controller, not
    judged here (slow-engine does).
    """
    metrics, curves = Metrics(), {}
    for step in STEPS:
        found = []
        for delay in DELAYS:
            case = WallCase(1.0, step=step, delay=delay)
            found.append((measured_boundary(case), case.boundary))
            name = f"{1e6 * step:.0f}us.{delay}"
            metrics[f"{name}.boundary"] = found[-1][0]
            metrics[f"{name}.off"] = abs(found[-1][0] / found[-1][1] - 1.0)
            hard = replace(case, stiffness=4.0 * case.boundary)
            metrics[f"{name}.swing"] = swing(hard.run(2.0, 0.0, 0.05, Passivity()))
        curves[step] = np.array(found)
    metrics |= engine_metrics()
    return Result(metrics, delay_claims(metrics), {}, partial(draw_delays, curves, metrics))


def engine_metrics() -> Metrics:
    """[N/m] with a local model beside a slow engine, and where the force itself is late."""
    found = Metrics()
    for late in ENGINES:
        for delay in (0, 1):
            case = WallCase(1.0, step=STEP, delay=delay, engine=late)
            key = f"engine.{1e3 * late:.0f}ms.{delay}"
            found[f"{key}.boundary"] = measured_boundary(case)
            found[f"{key}.apart"] = abs(found[f"{key}.boundary"] / case.boundary - 1.0)
    for late in CROSSING:
        case = WallCase(1.0, step=STEP, delay=round(late / STEP), push=LIGHT)
        key = f"crossing.{1e3 * late:.0f}ms"
        found[f"{key}.boundary"] = measured_boundary(case)
        found[f"{key}.off"] = abs(found[f"{key}.boundary"] / case.boundary - 1.0)
    return found


def delay_claims(m: Metrics) -> list[Claim]:
    """K < (b + B)/(T/2 + dT), with the delay of the device, whatever that of the engine is."""
    worst = max(value for name, value in m.items() if name.endswith(".off"))
    text = "boundary against eigenvalues with delay, 0 to 33 ticks, two rates (largest difference)"
    claims = [at_most("D.boundary", SOURCE, text, worst, 0.02)]
    off = max(
        abs(m[f"{1e6 * step:.0f}us.{d}.boundary"] / rule_of_thumb(0.5, step, d) - 1.0)
        for step in STEPS
        for d in DELAYS
    )
    text = "and against b/(T/2 + dT) (largest difference)"
    claims.append(at_most("D.rule", SOURCE, text, off, 0.02))
    ratio = m["1000us.0.boundary"] / m["1000us.1.boundary"]
    text = "one tick of delay costs a factor (stiffness without it over that with it)"
    claims.append(holds("D.factor", SOURCE, text, ratio, "3 ± 2 %", abs(ratio - 3.0) < 0.06))
    for delay in DELAYS[:3]:
        got = m[f"1000us.{delay}.swing"]
        text = f"4 x the boundary with the controller, 1 ms, {delay} ticks of delay: swing"
        most = 1e-3 if delay < 2 else 2e-3
        claims.append(at_most(f"D.calm-{delay}", OURS, text, got, most, "m"))
    apart = max(value for name, value in m.items() if name.endswith(".apart"))
    text = "an engine that is 10 to 100 ms late takes nothing from it (largest difference)"
    claims.append(at_most("D.engine", OURS, text, apart, 0.02))
    gain = m["engine.33ms.0.boundary"] / m["crossing.33ms.boundary"]
    text = "33 ms late: stiffness where constraints cross over that where forces do"
    claims.append(holds("D.crossing", OURS, text, gain, "≥ 50", gain >= 50.0))
    return claims


def draw_delays(curves: dict[float, np.ndarray], m: Metrics, path: Path) -> Any:
    """Stiffness over the delay of the device, and of an engine; measured and by theory."""
    fig, axes = figure(1, 2, (12.5, 4.6), "The largest stable stiffness against delay")
    ax, beside = axes[0]
    dense = np.linspace(0.0, DELAYS[-1], 80)
    for (step, curve), colour in zip(curves.items(), (BLUE, ORANGE), strict=True):
        label = f"T = {1e6 * step:.0f} µs"
        ax.semilogy(DELAYS, curve[:, 0], "o", color=colour, label=f"{label}, measured")
        rule = [rule_of_thumb(0.5, step, d) for d in dense]
        ax.semilogy(dense, rule, color=colour, lw=1, label=f"{label}, b/(T/2 + dT)")
    ax.set(xlabel="delay of the device [ticks]", ylabel="stiffness [N/m]")
    state(ax, "a device that is late holds less")
    for delay, colour in ((0, GREEN), (1, BLUE)):
        found = [m[f"engine.{1e3 * late:.0f}ms.{delay}.boundary"] for late in ENGINES]
        label = f"constraints cross, device {delay} ticks late"
        beside.loglog(1e3 * np.array(ENGINES), found, "o-", color=colour, lw=1, label=label)
    found = [m[f"crossing.{1e3 * late:.0f}ms.boundary"] for late in CROSSING]
    beside.loglog(1e3 * np.array(CROSSING), found, "s", color=RED, label="forces cross")
    late = np.geomspace(8e-3, 0.11, 40)
    rule = [rule_of_thumb(0.5, STEP, one / STEP) for one in late]
    beside.loglog(1e3 * late, rule, color=RED, lw=1, label="forces cross, b/(T/2 + dT)")
    beside.set(xlabel="the engine is late by [ms]", ylabel="stiffness [N/m]")
    state(beside, "an engine that is late takes nothing from a local model")
    for one in (ax, beside):
        legend(one, fontsize=8)
    return save(fig, path)


EXPERIMENTS = (Experiment("delay", "B9", "Stiffness against delay", compare_delays),)
