"""Updates of a local model at any period, jitter and loss: none makes the force jump (M22, M27)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from detent import AT_ONCE
from detent.coupling.four_channel import TABLE_4_1
from detent.experiments.linkage_collisions import AIMS
from detent.experiments.protocol import Claim, Count, Experiment, Metrics, Result, at_most, holds
from detent.hands import Guided, Hand, Sinusoid
from detent.local import LocalModel, Pace
from detent.record.plots import BLUE, ORANGE, RED, figure, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

RATE = 1000.0  # [Hz]
SECONDS = 2.0
LEGS = 7  # of the hand's way in a run
SLEW = 500.0, 10.0  # [N/s, N·m/s] that the user sets here
EPSILONS = (0.0, 0.002, 0.005)  # [m]


def peg_session(local: LocalModel, pace: Pace) -> Session:
    """A peg in a hole that is half a millimetre wider."""
    world = World.builtin("peg-in-hole").placed((0.0, -0.045, 0.01))
    return Session(
        world,
        Contact(4000.0, 30.0),
        TABLE_4_1,
        force_path=AT_ONCE,
        rate=RATE,
        local=local,
        pace=pace,
    )


def linkage_session(local: LocalModel, pace: Pace) -> Session:
    """Three links among walls, held at the last one."""
    world = World.builtin("linkage-enclosure")
    return Session(
        world, Contact(15_000.0, 100.0), force_path=AT_ONCE, rate=RATE, local=local, pace=pace
    )


def peg_hand(rng: np.random.Generator) -> Hand:
    """A force that shakes the peg."""
    return Sinusoid((2.0, -1.0, 0.0), 0.01, frequency=float(rng.uniform(1.0, 3.0)))


def linkage_hand(rng: np.random.Generator) -> Hand:
    """A hand that leads the last link against the walls."""
    aims = rng.permutation(AIMS)[:LEGS]
    path = [(SECONDS * (i + 1) / LEGS, *aim, 0.0) for i, aim in enumerate(aims)]
    return Guided(300.0, 20.0, 0.5, 0.05, path=[(0.0, 0.04, 0.0, 0.0), *path])


SCENES = {"peg": (peg_session, peg_hand), "linkage": (linkage_session, linkage_hand)}


class Run(NamedTuple):
    """What one run showed, at updates that met no collision."""

    period: float  # [s]
    loss: float
    step: float  # largest change of the force over what the slew limit allows in a tick
    turn: float  # the same of the torque
    loaded: float  # [J] most that an update loaded the springs by
    struck: float  # [J] most that a collision raised the kinetic energy by
    updates: int
    late: int  # updates whose tick was a collision


def shake(name: str, seed: int) -> tuple[Run, Trace]:
    """One run with a random pace, from its seed."""
    rng = np.random.default_rng(seed)
    pace = Pace(
        float(rng.uniform(0.005, 0.2)),
        jitter=float(rng.uniform()),
        loss=float(0.5 * rng.uniform()),
        seed=seed,
    )
    local = LocalModel(epsilon=float(rng.choice(EPSILONS)), slew_force=SLEW[0], slew_torque=SLEW[1])
    session, hand = SCENES[name]
    trace = session(local, pace).run(SECONDS, hand(rng))
    return measure(trace, pace), trace


def measure(trace: Trace, pace: Pace) -> Run:
    """Steps of the wrenches of contacts, at updates without a collision."""
    fresh = np.diff(trace["update"], prepend=trace["update"][0]) != 0
    struck = trace["collisions"] > 0
    quiet = fresh & ~struck & ~np.roll(struck, 1)
    over = (trace["update_step"][quiet] * RATE / SLEW).max(axis=0, initial=0.0)
    return Run(
        pace.period,
        pace.loss,
        float(over[0]),
        float(over[1]),
        float(trace["update_energy"].max()),
        float(trace["impact_energy"].max()),
        int(fresh.sum()),
        int((fresh & struck).sum()),
    )


def sweep_updates(runs: Count = 500) -> Result:
    """Runs, half of them in each scene, each with its own period, jitter, loss and ε."""
    found: dict[str, list[Run]] = {name: [] for name in SCENES}
    traces: dict[str, Trace] = {}
    for seed in range(max(runs, len(SCENES))):
        name = list(SCENES)[seed % len(SCENES)]
        run, trace = shake(name, seed)
        if all(run.period < other.period for other in found[name]):
            traces[name] = trace  # the figure shows that of the shortest period
        found[name].append(run)
    metrics: Metrics = {"runs": float(sum(map(len, found.values())))}
    for name, some in found.items():
        for field in ("step", "turn", "loaded", "struck"):
            metrics[f"{name}.{field}"] = max(getattr(run, field) for run in some)
        metrics[f"{name}.updates"] = float(sum(run.updates for run in some))
        metrics[f"{name}.late_collisions"] = float(sum(run.late for run in some))
    return Result(metrics, update_claims(metrics), traces, partial(draw_updates, found, traces))


def update_claims(m: Metrics) -> list[Claim]:
    """Issue of the local model: no steps, no energy."""
    claims = []
    for name in SCENES:
        text = f"{name}: step of the force at an update, over what the slew limit allows in a tick"
        claims.append(at_most(f"M22.force-{name}", "TH 6.2.2", text, m[f"{name}.step"], 1.0 + 1e-6))
        text = f"{name}: step of the torque at an update, over what the slew limit allows"
        claims.append(
            at_most(f"M22.torque-{name}", "TH 6.2.2", text, m[f"{name}.turn"], 1.0 + 1e-6)
        )
        text = f"{name}: energy by which an update loads the springs"
        claims.append(
            at_most(f"M22.energy-{name}", "TH 6.2.2", text, m[f"{name}.loaded"], 1e-12, "J")
        )
        text = f"{name}: energy by which a collision raises the proxy's"
        claims.append(
            at_most(f"M25.passive-{name}", "TH 6.3.1", text, m[f"{name}.struck"], 1e-10, "J")
        )
    text = "updates that came in all runs"
    total = sum(m[f"{name}.updates"] for name in SCENES)
    claims.append(
        holds("M27.updates", "TH 3", text, total, "more than four in a run", total > 4 * m["runs"])
    )
    return claims


def draw_updates(found: dict[str, list[Run]], traces: dict[str, Trace], path: Path) -> Any:
    """Steps against the period, and one run of each scene."""
    fig, axes = figure(
        2, 2, (11, 7), "Updates of a local model: jitter to 100 %, loss to 50 % (TH 6.2.2)"
    )
    for row, (name, some) in enumerate(found.items()):
        ax = axes[row, 0]
        periods = [1e3 * run.period for run in some]
        ax.plot(periods, [run.step for run in some], ".", color=BLUE, ms=4, label="force")
        ax.plot(periods, [run.turn for run in some], ".", color=ORANGE, ms=4, label="torque")
        ax.axhline(1.0, color=RED, lw=1, label="slew limit")
        ax.set(xlabel="engine period [ms]", ylabel="largest step / slew limit [-]")
        state(ax, f"{name}: no update steps beyond the slew limit, {len(some)} runs")
        ax.legend(fontsize=8, frameon=False)
        draw_run(axes[row, 1], name, traces[name])
    return save(fig, path)


def draw_run(ax: Any, name: str, trace: Trace) -> None:
    """The force of one run, with its updates marked."""
    force = np.linalg.norm(trace["environment_wrench"][:, :3], axis=1)
    fresh = np.diff(trace["update"], prepend=trace["update"][0]) != 0
    ax.plot(trace["time"], force, color=BLUE, lw=0.8, label="environment")
    ax.plot(trace["time"][fresh], force[fresh], "|", color=RED, ms=9, label="update")
    ax.set(xlabel="time [s]", ylabel="force [N]", yscale="symlog")
    state(ax, f"{name}: one of them, with its updates")
    ax.legend(fontsize=8, frameon=False)


EXPERIMENTS = (
    Experiment("update-sweep", "M22", "Updates at any pace make no steps", sweep_updates),
)
