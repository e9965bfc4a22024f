"""A three-link linkage whose model is refreshed now and then: TH Fig 5.9 to 5.11 (X14)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.devices import IDEAL
from detent.experiments.linkages import (
    HELD_LINKS,
    RATE,
    SECONDS,
    SINGULAR,
    Law,
    draw_drifts,
    draw_paths,
    drift_metrics,
)
from detent.experiments.protocol import Claim, Experiment, Metrics, Positive, Result, holds
from detent.hands import Constant
from detent.local import LocalModel, Pace
from detent.record.plots import BLACK, RED, figure, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.world import World

LENGTHS = (0.042, 0.042, 0.03)  # [m] TH Table 5.1
START = (0.0, np.pi / 6.0, -np.pi / 3.0)  # [rad] TH 5.4.2


@dataclass(frozen=True)
class Link:
    """How the device is tied to the linkage."""

    words: str
    bias: bool
    frozen: bool = False
    late: bool = False
    local: bool = False


LINKS = {
    "frozen": Link("with a model that is refreshed at frames", False, frozen=True),
    "local": Link("with the local model of an engine", False, local=True),
    "synchronous": Link("at once", False),
    "late": Link("through a late device", False, late=True),
    "corrected": Link("at once, with the bias of errata E10", True),
}


def manipulate(link: Link, held: str, penalty: bool, offset: float, delay: float) -> Trace:
    """TH 5.4.2: 0.4 N along x."""
    law = Law("", link.bias, "inertia" if link.bias else "euclidean", penalty)
    world = World.builtin("three-link", tool=HELD_LINKS[held]).placed(START)
    late = round(delay * RATE) if link.late else 0
    device = replace(
        IDEAL, mass=1.0, rotational_inertia=1.0, offset=(offset, 0.0), delay_ticks=late
    )
    coupling = law.coupling(200.0, 50.0, SINGULAR)
    session = Session(
        world,
        coupling=coupling,
        device=device,
        force_path=AT_ONCE,
        rate=RATE,
        frozen=delay if link.frozen else 0.0,
        local=LocalModel(frozen=True, heal=False) if link.local else None,
        pace=Pace(delay) if link.local else None,
    )
    return session.run(SECONDS + 1.0 / RATE, Constant((0.4, 0.0)))


def hold_async(delay: Positive = 0.02, offset: float = 0.0012) -> Result:
    """Time [s] between two refreshes of the model; how far [m] the device starts beside it.

    As in the document, inertia and constraint directions are those of the last refresh, and
    Coriolis terms are left out (TH 5.25-5.26): once as a servo that keeps them, once as the
    local model of an engine with that period (TH 6.15-6.22). Beside that: the exact linkage,
    and one whose wrench reaches the device that much later. The workspace of the document's
    device, which it reaches at 0.7 s, is not here.
    """
    traces = {
        f"{name}-{held}-{'penalty' if penalty else 'free'}": manipulate(
            link, held, penalty, offset, delay
        )
        for name, link in LINKS.items()
        for held in HELD_LINKS
        for penalty in (False, True)
    }
    metrics = {f"{n}.{k}": v for n, t in traces.items() for k, v in drift_metrics(t).items()}
    metrics["offset"] = offset
    return Result(metrics, async_claims(metrics), traces, partial(draw_async, traces, delay))


def async_claims(m: Metrics) -> list[Claim]:
    """TH 5.4.2 and the catalogue: steady error only, or growing."""
    claims = []
    for name in ("frozen", "local", "synchronous", "late"):
        for held, number in (("distal", "TH Fig 5.10"), ("middle", "TH Fig 5.11")):
            words = f"{held} link, {LINKS[name].words}"
            key = f"{name}-{held}-free"
            early, end = m[f"{key}.halfway"], m[f"{key}.drift"]
            claims.append(
                holds(
                    f"X14.grows-{name}-{held}",
                    f"{number}(b)",
                    f"drift at 2 s without penalty [m]; {words}",
                    end,
                    "more than at the start, and more than at 1 s",
                    end > m["offset"] and end > early,
                )
            )
            key = f"{name}-{held}-penalty"
            early, end = m[f"{key}.halfway"], m[f"{key}.drift"]
            claims.append(
                holds(
                    f"X14.steady-{name}-{held}",
                    f"{number}(a)",
                    f"error at 2 s with the penalty [m]; {words}",
                    end,
                    "not more than at 1 s",
                    end <= early,
                )
            )
    return claims


def draw_async(traces: dict[str, Trace], delay: float, path: Path) -> Any:
    """TH Fig 5.9, 5.10 and 5.11."""
    title = (
        "Linkage held at two links (TH Fig 5.9–5.11): 0.4 N along x, "
        f"model frozen for {1e3 * delay:.3g} ms"
    )
    fig, axes = figure(2, 4, (16.5, 7.2), title)
    for row, (held, number) in enumerate((("distal", "5.10"), ("middle", "5.11"))):
        draw_linkage(axes[row, 0], held)
        penalty, free = traces[f"frozen-{held}-penalty"], traces[f"frozen-{held}-free"]
        draw_paths(axes[row, 1], penalty, f"with the penalty: together (Fig {number}a)")
        draw_paths(axes[row, 2], free, f"acceleration only: device and tool part (Fig {number}b)")
        ax = axes[row, 3]
        draw_drifts(ax, {"frozen, without penalty": free, "frozen, with penalty": penalty})
        at_once = {
            f"at once, {words} penalty": traces[f"synchronous-{held}-{key}"]
            for words, key in (("without", "free"), ("with", "penalty"))
        }
        draw_drifts(ax, at_once, "--")
        local = {
            f"local model, {words} penalty": traces[f"local-{held}-{key}"]
            for words, key in (("without", "free"), ("with", "penalty"))
        }
        draw_drifts(ax, local, ":")
        ax.set_ylim(0.0, 1.4 * ax.get_ylim()[1])
        state(ax, f"{held} link: a frozen model drifts without the penalty")
    return save(fig, path)


def draw_linkage(ax: Any, held: str) -> None:
    """TH Fig 5.9: the linkage at the start, and where the hand pulls."""
    turns = np.cumsum(START)
    steps = np.array(LENGTHS)[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    joints = 1e3 * np.vstack([np.zeros(2), np.cumsum(steps, axis=0)])
    ax.plot(*joints.T, "o-", color=BLACK, lw=4, ms=9, mfc="white", markevery=[0, 1, 2])
    link = {"distal": 2, "middle": 1}[held]
    x, y = joints[link : link + 2].mean(axis=0)
    ax.plot(x, y, "o", color=RED, ms=8, label="held at its centre of mass")
    style = {"arrowstyle": "-|>", "color": RED, "lw": 2}
    ax.annotate("", (x + 25, y), (x, y), arrowprops=style)
    ax.annotate("0.4 N", (x + 5, y - 14), color=RED, fontsize=9)
    ax.set(xlim=(-15, 145), ylim=(-60, 75), aspect="equal", xlabel="x [mm]", ylabel="y [mm]")
    state(ax, f"the {held} link is held (Fig 5.9)")
    ax.legend(fontsize=8, frameon=False, loc="lower left")


EXPERIMENTS = (Experiment("linkage-async", "X14", "A linkage with a frozen model", hold_async),)
