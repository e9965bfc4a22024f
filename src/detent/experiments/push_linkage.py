"""Pushing what can move: a linkage towards a wall, a free block (TH Fig 6.24, X20, B4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent.experiments.local_models import FRAME, METHODS, losses, prefixed
from detent.experiments.protocol import Claim, Experiment, Metrics, Positive, Result, holds, within
from detent.hands import Constant
from detent.record.plots import BLACK, METHOD_COLOURS, figure, save, state
from detent.record.trace import Trace
from detent.world.world import World

FORCE, STIFFNESS, DAMPING = 0.1, 4_000.0, 30.0  # [N, N/m, N·s/m] TH 6.4.4
SECONDS = 5.0
GAPS = (0.005, 0.0053, 0.0056, 0.0059)  # [m] under the link: parts of a frame
RISE = 0.02  # [m] by which the link can rise
PEG, BLOCK = 2.0, 3.0  # [kg]
PUSHED = ("ir", "lm5", "lm_kc", "lm_inertial", "sync")
WORDS = {name: METHODS[name].words for name in PUSHED} | {"lm5": "static constraints"}

FREE_BLOCK = f"""
<mujoco model="free-block">
  <option gravity="0 0 0" timestep="0.001953125"/>
  <custom>
    <text name="detent.tool" data="peg"/><text name="detent.friction" data="none"/>
  </custom>
  <worldbody>
    <body name="block" pos="0.047 0 0">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="hinge" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="{BLOCK}" diaginertia="0.005 0.005 0.005"/>
      <geom type="box" size="0.021 0.0105 0.01"/>
    </body>
    <body name="peg">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="hinge" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="{PEG}" diaginertia="0.005 0.005 0.005"/>
      <geom type="box" size="0.021 0.0105 0.01"/>
    </body>
  </worldbody>
</mujoco>"""


def push(name: str, gap: float, period: float) -> Trace:
    """0.1 N on the peg, from a gap [m] under the link."""
    world = World.builtin("push-linkage")
    start = world.qpos.copy()
    start[-1] -= gap - GAPS[0]  # y of the peg
    session = METHODS[name].session(world.placed(start), STIFFNESS, DAMPING, period)
    return session.run(SECONDS, Constant((0.0, FORCE)))


def push_block(name: str, period: float) -> Trace:
    """0.1 N on the peg, behind a block that is free."""
    session = METHODS[name].session(World.from_string(FREE_BLOCK), STIFFNESS, DAMPING, period)
    return session.run(SECONDS, Constant((FORCE, 0.0)))


def acceleration(trace: Trace) -> float:
    """[m/s²] of the device along x in the last two seconds."""
    late = trace["time"] > trace["time"][-1] - 2.0
    return float(np.polyfit(trace["time"][late], trace["device_twist"][late, 0], 1)[0])


def push_metrics(traces: list[Trace]) -> Metrics:
    """Of one method: bounces, time in contact after the first touch, how far the device rises."""
    after = [trace["contacts"][int(np.argmax(trace["contacts"] > 0)) :] > 0 for trace in traces]
    return {
        "bounces": float(sum(losses(trace) for trace in traces)),
        "fewest_bounces": float(min(losses(trace) for trace in traces)),
        "in_contact": float(np.mean(np.concatenate(after))),
        "rise": max(
            float(np.ptp(trace["device_position"][:, 1])) - gap
            for gap, trace in zip(GAPS, traces, strict=True)
        ),
    }


def push_moving(period: Positive = FRAME) -> Result:
    """Period of the engine [s], whose latency is the same.

    A bounce is a loss of contact after the first touch. What counts is the sum over four starts,
    which meet the link at different times of a frame.
    """
    linkages = {name: [push(name, gap, period) for gap in GAPS] for name in PUSHED}
    blocks = {name: push_block(name, period) for name in PUSHED}
    metrics = Metrics()
    for name in PUSHED:
        metrics |= prefixed(name, push_metrics(linkages[name]))
        metrics[f"{name}.acceleration"] = acceleration(blocks[name])
        metrics[f"{name}.block_losses"] = float(losses(blocks[name]))
    traces = {name: runs[0] for name, runs in linkages.items()}
    everything = traces | {f"block-{name}": trace for name, trace in blocks.items()}
    draw = partial(draw_pushes, traces, blocks, metrics, period)
    return Result(metrics, push_claims(metrics), everything, draw)


def push_claims(m: Metrics) -> list[Claim]:
    """TH 6.4.4: all bounce; with the inertia of what is pushed (B4) hardly anything does."""
    claims = [
        holds(
            f"X20.bounces-{name}",
            "TH Fig 6.24",
            f"bounces in four pushes, {WORDS[name]} [-]",
            m[f"{name}.bounces"],
            "at least one in each",
            m[f"{name}.fewest_bounces"] >= 1.0,
        )
        for name in ("ir", "lm5", "lm_kc")
    ]
    claims += bounce_claims(m)
    claims += [
        holds(
            "X20.inertial",
            "B4",
            "bounces in four pushes, inertial constraints [-]",
            m["lm_inertial.bounces"],
            "fewer than with kinematic constraints",
            m["lm_inertial.bounces"] < m["lm_kc.bounces"],
        ),
        within(
            "X20.block",
            "B4",
            "acceleration of a free block that is pushed, F / (m₁ + m₂) [m/s²]",
            m["lm_inertial.acceleration"],
            FORCE / (PEG + BLOCK),
            0.05,
            "m/s²",
        ),
    ]
    return claims


def bounce_claims(m: Metrics) -> list[Claim]:
    """TH 6.4.4: the intermediate representation bounces most, static and kinematic alike."""
    most = m["ir.bounces"] / max(m["lm5.bounces"], m["lm_kc.bounces"])
    alike = m["lm5.bounces"] / m["lm_kc.bounces"]
    return [
        holds(
            "X20.most-ir",
            "TH Fig 6.24",
            "bounces in the intermediate representation over the most of the others [-]",
            most,
            "> 1: it bounces most",
            most > 1.0,
        ),
        within(
            "X20.alike",
            "TH Fig 6.24",
            "bounces with static constraints over those with kinematic ones [-]",
            alike,
            1.0,
            0.1,
        ),
    ]


def draw_pushes(
    traces: Mapping[str, Trace],
    blocks: Mapping[str, Trace],
    m: Metrics,
    period: float,
    path: Path,
) -> Any:
    """TH Fig 6.24, contact against time, and the velocity of the free block's pusher."""
    title = (
        "Pushing what can move (TH Fig 6.24): 0.1 N, 4 kN/m, 30 N·s/m, "
        f"engine {1e3 * period:.3g} ms"
    )
    fig, ((rise, touch, speed),) = figure(1, 3, (16, 5), title)
    for row, (name, trace) in enumerate(traces.items()):
        style = {"color": METHOD_COLOURS[name], "lw": 1.4, "label": WORDS[name]}
        y = trace["device_position"][:, 1]
        rise.plot(trace["time"], 1e3 * (y - y[0] - GAPS[0]), **style)
        on = np.where(trace["contacts"] > 0, len(traces) - row, np.nan)
        touch.plot(trace["time"], on, color=METHOD_COLOURS[name], lw=7, solid_capstyle="butt")
        words = f"{WORDS[name]}: {m[f'{name}.bounces']:.0f} bounces in four pushes"
        touch.annotate(words, (0.02, len(traces) - row + 0.2), fontsize=8)
        speed.plot(blocks[name]["time"], 1e3 * blocks[name]["device_twist"][:, 0], **style)
    rise.axhline(1e3 * RISE, color="0.5", lw=1, ls="--")
    rise.annotate("the link at the wall", (0.05, 1e3 * RISE + 0.4), fontsize=8, color="0.4")
    rise.set(xlabel="time [s]", ylabel="the device over the link's start [mm]", ylim=(-6, 25))
    touch.set(xlabel="time [s]", yticks=(), xlim=(0, SECONDS), ylim=(0.6, len(traces) + 0.6))
    state(touch, "the more of its motion is known, the longer the contact lasts")
    state(rise, "the link is lifted to the wall (Fig 6.24)")
    time = blocks["sync"]["time"]
    speed.plot(time, 1e3 * FORCE / (PEG + BLOCK) * time, color=BLACK, lw=0.8, ls=":")
    speed.annotate("slope F / (m₁ + m₂)", (1.95, 66), fontsize=8)
    speed.set(xlabel="time [s]", ylabel="velocity of the device [mm/s]", ylim=(-60, 150))
    state(speed, "a free block of 3 kg: the slope should be that of both masses")
    for ax in (rise, speed):
        ax.legend(fontsize=8, frameon=False, loc="lower right")
    return save(fig, path)


EXPERIMENTS = (
    Experiment("push-linkage", "X20", "Pushing a linkage and a block, slow engine", push_moving),
)
