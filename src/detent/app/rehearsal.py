"""A recorded hand once more, in virtual time: rows, where every body was, and what it touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from detent.errors import TraceError
from detent.hands import Playback
from detent.record.trace import Trace
from detent.session import Session
from detent.setup.combinations import check_simulated
from detent.setup.prepared import batches, raise_fault

FRAMES_HZ = 60.0


@dataclass(frozen=True)
class Run:
    """One run that can be looked at."""

    label: str
    session: Session
    trace: Trace
    times: np.ndarray  # (n,) [s] of the frames
    poses: np.ndarray  # (n, nbody, 7)
    shown: list[np.ndarray]  # n times contacts, constraints and lost directions, `servo.shown`

    def frame_at(self, time: float) -> int:
        """The newest frame at a time [s]."""
        return int(np.clip(np.searchsorted(self.times, time, "right") - 1, 0, len(self.times) - 1))

    def tick_at(self, time: float) -> int:
        """The newest row at a time [s]."""
        now = self.trace["time"]
        return int(np.clip(np.searchsorted(now, time, "right") - 1, 0, len(now) - 1))


def rehearse(
    label: str,
    session: Session,
    recorded: Trace,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Run a session with the hand of a trace, for as long as it lasts."""
    if not len(recorded):
        raise TraceError("the trace has no rows: there is nothing to see")
    hand = Playback.from_trace(recorded)
    every = max(1, round(session.rate / FRAMES_HZ))
    ready = session.prepare(hand, session.rate, ring=every)
    check_simulated(session.device, ready.adapter)
    engine = None if session.local is None else session.play_engine(ready)
    meta = session.describe(hand, session.rate, ready.notes)
    rows, poses, shown, done = [], [_poses(session, ready, engine)], [ready.shown()], 0
    ticks = round(len(recorded) * session.rate / float(recorded.meta["rate"]))
    for batch in batches(ready, hand, ticks, engine):
        rows.append(session.subject.kept(batch).copy())
        poses.append(_poses(session, ready, engine))
        shown.append(ready.shown())
        done += len(batch)
        raise_fault(ready.servo, rows[-1])
        if progress is not None:
            progress(done / ticks)
    trace = Trace(np.concatenate(rows), meta | {"notes": ready.said()})
    times = np.minimum(np.arange(len(poses)) * every, ticks) / session.rate
    return Run(label, session, trace, times, np.array(poses), shown)


def _poses(session: Session, ready: Any, engine: Any) -> np.ndarray:
    """(nbody, 7) of all bodies now."""
    scene = ready.servo.scene
    mine = np.hstack([scene.xpos, scene.xquat]).copy()
    if engine is None or session.subject.cut is None:
        return mine
    whole: np.ndarray = engine.poses()
    whole[session.subject.cut.bodies] = mine
    return whole


def first_difference(a: Trace, b: Trace) -> float | None:
    """[s] of the first row in which two runs differ in more than timing; None if nowhere."""
    if a.columns != b.columns or len(a) != len(b):
        return 0.0
    if a.state_hash() == b.state_hash():
        return None
    same = np.ones(len(a), bool)
    for name in a.columns:
        if not name.endswith("_ns"):
            equal = a[name] == b[name]
            same &= equal.reshape(len(a), -1).all(axis=1)
    return float(a["time"][int(np.argmin(same))])
