"""A run in a few numbers, to set beside those of another run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detent.record.trace import Trace

COLLIDING = 1  # the column `state`


class Measure(NamedTuple):
    """One number of a run."""

    name: str
    value: float
    unit: str


def measures(trace: Trace) -> list[Measure]:
    """What is felt, how deep, how often, and what becomes of energy.

    A collision is an impulse, force times step whatever the rate, and is left out of the largest
    force; a mean has all of it.
    """
    step = float(np.median(np.diff(trace["time"]))) if len(trace) > 1 else 0.0
    felt, world = (_force(one) for one in (trace.felt, trace["environment_wrench"]))
    hits = trace["collisions"] > 0
    touching = trace["contacts"] > 0
    moved = np.linalg.norm(np.diff(trace["tool_position"], axis=0), axis=1)
    work = (trace["hand_wrench"] * trace["device_twist"]).sum(axis=1).sum() * step
    calm = trace["state"] != COLLIDING
    found = [
        Measure("force on the hand, largest", _most(felt[~hits]), "N"),
        Measure("force on the hand, mean", float(felt.mean()) if len(felt) else 0.0, "N"),
        Measure("force of contacts at rest, largest", _most(world[calm]), "N"),
        Measure("impulse of a collision, largest", _most(world[hits]) * step, "N·s"),
        Measure("ticks with collisions", float(np.count_nonzero(hits)), ""),
        Measure("contacts made and broken", float(np.abs(np.diff(touching.astype(int))).sum()), ""),
        Measure("way of the tool", 1e3 * float(moved.sum()), "mm"),
        Measure("work of the hand", 1e3 * float(work), "mJ"),
        Measure("tool and device apart, largest", 1e3 * _apart(trace), "mm"),
    ]
    if "tracking_error" not in trace.columns:  # a mechanism penetrates nothing
        found.insert(3, Measure("depth, largest", 1e3 * _most(trace["depth"]), "mm"))
    return found


def _force(wrenches: np.ndarray) -> np.ndarray:
    return np.linalg.norm(wrenches[:, :3], axis=1)


def _most(values: np.ndarray) -> float:
    return float(values.max(initial=0.0))


def _apart(trace: Trace) -> float:
    """[m] beyond what they are apart at the start."""
    between = trace["tool_position"] - trace["device_position"]
    return _most(np.linalg.norm(between - between[:1], axis=1))
