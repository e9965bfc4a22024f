"""A session in plain values, for the head of a trace."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from detent.hands import Hand, Playback
from detent.setup.asked import Asked
from detent.setup.subject import Subject


def describe(
    asked: Asked, subject: Subject, hand: Hand | None, rate: float, notes: list[str]
) -> dict[str, Any]:
    """The configuration of a run."""
    world = subject.world
    out: dict[str, Any] = {
        "world": world.name,
        "source": world.source,
        "versions": versions(),
        "tool": world.body_name(world.tool),
        "held": world.body_name(world.held),
        "point": world.point.tolist(),
        "start": world.qpos.tolist(),
        "start_velocity": world.qvel.tolist(),
        "controls": world.ctrl.tolist(),
        "rate": rate,
        "outside": asked.outside,
        "integrator": asked.integrator,
        "frozen": asked.frozen,
        "sleep": asked.sleep,
        "display": asked.device.takes_motion,
        "notes": notes,
    }
    for name in ("contact", "coupling", "device", "force_path", "passivity", "baumgarte"):
        out[name] = plain(getattr(asked, name))
    out |= subject.describe()
    if asked.local is not None:
        engine = asked.engine if isinstance(asked.engine, str) else asked.engine.__name__
        out |= {"local": plain(asked.local), "engine": engine, "pace": plain(asked.pace)}
    if hand is not None:
        out["hand"] = plain(hand)
    return out


@cache
def versions() -> dict[str, str]:
    """Of Detent, and of what computes."""
    names = ("detent", "mujoco", "numba", "numpy")
    return {name: version(name) for name in names}


def plain(part: Any) -> dict[str, Any]:
    """One part of a configuration."""
    if isinstance(part, Playback):  # its samples are in the trace itself
        return {"type": "Playback"} | part.describe()
    return {"type": type(part).__name__} | (asdict(part) if is_dataclass(part) else {})  # type: ignore[arg-type]
