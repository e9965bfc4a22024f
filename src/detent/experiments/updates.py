"""Updates of a local model at any period, jitter and loss: none makes the force jump (M22, M27)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from detent.coupling.four_channel import TABLE_4_1
from detent.experiments.protocol import Claim, Experiment, Metrics, Result, at_most, holds
from detent.hands import Sinusoid
from detent.local import LocalModel, Pace
from detent.record.plots import BLUE, ORANGE, RED, figure, save
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

RATE = 1000.0  # [Hz]
SECONDS = 1.0
SLEW = 500.0, 10.0  # [N/s, N·m/s] that the user sets here
EPSILONS = (0.0, 0.002, 0.005)  # [m]
WOBBLE = 0.02  # of the force: its direction at the hand turns with a linkage within a tick


class Scene(NamedTuple):
    """What is shaken."""

    world: str
    start: tuple[float, ...]
    force: tuple[float, float, float]  # [N]
    torque: float  # [N·m]
    stiffness: float  # [N/m]


SCENES = {
    "peg": Scene("peg-in-hole", (0.0, -0.045, 0.01), (2.0, -1.0, 0.0), 0.01, 4000.0),
    "linkage": Scene("linkage-enclosure", (), (2.0, 2.0, 0.0), 0.02, 15_000.0),
}


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


def shake(scene: Scene, seed: int) -> tuple[Run, Trace]:
    """One run with a random pace, from its seed."""
    rng = np.random.default_rng(seed)
    pace = Pace(
        float(rng.uniform(0.005, 0.2)),
        jitter=float(rng.uniform()),
        loss=float(0.5 * rng.uniform()),
        seed=seed,
    )
    local = LocalModel(epsilon=float(rng.choice(EPSILONS)), slew_force=SLEW[0], slew_torque=SLEW[1])
    world = World.builtin(scene.world)
    if scene.start:
        world = world.placed(scene.start)
    contact = Contact(scene.stiffness, scene.stiffness / 150.0)
    coupling = TABLE_4_1 if scene.start else None
    session = Session(world, contact, coupling, rate=RATE, local=local, pace=pace)
    hand = Sinusoid(scene.force, scene.torque, frequency=float(rng.uniform(1.0, 3.0)))
    trace = session.run(SECONDS, hand)
    return measure(trace, pace), trace


def measure(trace: Trace, pace: Pace) -> Run:
    """Steps of the environment's wrench at the ticks of updates."""
    fresh = np.diff(trace["update"], prepend=trace["update"][0]) != 0
    struck = trace["collisions"] > 0
    quiet = fresh & ~struck & ~np.roll(struck, 1)
    wrench = trace["environment_wrench"]
    step = np.diff(wrench, axis=0, prepend=wrench[:1])[quiet]
    size = [np.linalg.norm(wrench[quiet, part], axis=1) for part in (slice(0, 3), slice(3, 6))]
    over = [
        (np.linalg.norm(step[:, part], axis=1) - WOBBLE * size[k]) * RATE / SLEW[k]
        for k, part in enumerate((slice(0, 3), slice(3, 6)))
    ]
    return Run(
        pace.period,
        pace.loss,
        float(over[0].max(initial=0.0)),
        float(over[1].max(initial=0.0)),
        float(trace["update_energy"].max()),
        float(trace["impact_energy"].max()),
        int(fresh.sum()),
        int((fresh & struck).sum()),
    )


def sweep_updates(runs: int = 500) -> Result:
    """Runs, half of them in each scene, each with its own period, jitter, loss and ε."""
    found: dict[str, list[Run]] = {name: [] for name in SCENES}
    traces: dict[str, Trace] = {}
    for seed in range(max(runs, len(SCENES))):
        name = list(SCENES)[seed % len(SCENES)]
        run, trace = shake(SCENES[name], seed)
        found[name].append(run)
        traces.setdefault(name, trace)
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
    fig, axes = figure(2, 2, (11, 7), "Updates of a local model: no steps (TH 6.2.2)")
    for row, (name, some) in enumerate(found.items()):
        ax = axes[row, 0]
        periods = [1e3 * run.period for run in some]
        ax.plot(periods, [run.step for run in some], ".", color=BLUE, ms=4, label="force")
        ax.plot(periods, [run.turn for run in some], ".", color=ORANGE, ms=4, label="torque")
        ax.axhline(1.0, color=RED, lw=1, label="slew limit")
        ax.set(xlabel="engine period [ms]", ylabel="largest step / slew limit [-]")
        ax.set_title(f"{name}: {len(some)} runs, jitter to 100 %, loss to 50 %", fontsize=9)
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
    ax.set_title(f"{name}: one run", fontsize=9)
    ax.legend(fontsize=8, frameon=False)


EXPERIMENTS = (
    Experiment("update-sweep", "M22", "Updates at any pace make no steps", sweep_updates),
)
