"""The engine of a session: in a process of its own, or in virtual time beside the servo."""

from __future__ import annotations

import numpy as np

from detent.engines import find_engine
from detent.engines.frame import Frames
from detent.engines.host import Host
from detent.engines.lockstep import Lockstep
from detent.engines.protocol import Task
from detent.local.records import state_size
from detent.setup.asked import Asked
from detent.setup.prepared import Prepared
from detent.setup.subject import Subject


def make_task(subject: Subject, asked: Asked) -> Task:
    """What an engine of this session is made for."""
    assert asked.local is not None and subject.cut is not None
    return Task(subject.world, subject.cut, asked.local, asked.contact)


def host_engine(subject: Subject, asked: Asked) -> Host:
    """The engine in a process of its own, not yet started."""
    task = make_task(subject, asked)
    tool = task.cut.world
    size = state_size(tool.model, task.local.exchanges_forces)
    state = np.zeros(size // 8)
    state[1 : 1 + tool.model.nq + tool.model.nv] = np.concatenate([tool.qpos, tool.qvel])
    return Host(task, asked.engine, asked.pace.period, state)


def play_engine(subject: Subject, asked: Asked, ready: Prepared) -> Lockstep:
    """The engine in virtual time, beside a servo that is ready."""
    task = make_task(subject, asked)
    frames = Frames(find_engine(asked.engine)(task), task)
    return Lockstep(frames, asked.pace, ready.servo, ready.rate)
