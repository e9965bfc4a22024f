"""The engine in a process of its own: started, watched, and started again when it dies."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from detent.engines import find_engine
from detent.engines.frame import Frames
from detent.engines.protocol import Task
from detent.engines.shared import (
    BEAT_NS,
    BEATS,
    FRAMES,
    SAVED,
    SPOKE,
    STOP,
    Shared,
    Sizes,
    shared_folder,
)
from detent.errors import DetentError, EngineError, ParameterError
from detent.local.records import update_size
from detent.servo.loop.exchange import latest, publish

START_PATIENCE = 180.0  # [s] for an engine to make its first frame: it may have to compile
STALL = 2.0  # [s] without a heartbeat
WATCH = 0.02  # [s]
MOST_SECONDS = 1.0 / 30.0  # of the world's time in a frame
_CHILD = "from detent.engines.host import serve; serve()"


class EngineStatus(NamedTuple):
    """How the engine is doing."""

    rate: float  # [Hz] frames, over the last second
    frames: int
    restarts: int
    trouble: str  # what it last complained of


class Host:
    """Runs an engine for a live session. Use it through `Session.live`."""

    def __init__(self, task: Task, engine: str | type, period: float, state: np.ndarray) -> None:
        find_engine(engine)
        model = task.world.model
        sizes = Sizes(update_size(), state.nbytes, 56 * model.nbody, 8 * (model.nq + model.nv))
        self._folder = shared_folder()
        self._path = Path(self._folder.name) / "engine"
        self.shared = Shared(self._path, sizes, create=True)
        self._order = (str(self._path), sizes, travelling(task), engine, period, os.getpid())
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="detent-engine", daemon=True)
        self._poses = np.zeros(sizes.poses, np.uint8)
        self._marks: deque[tuple[float, int]] = deque(maxlen=round(1.0 / WATCH))
        self._lock = threading.Lock()
        self.restarts = 0
        self._fruitless, self._frames_before = 0, 0
        publish(self.shared.states, state.view(np.uint8))
        check_travels(engine)

    def start(self) -> None:
        """Start the process, and wait for its first update."""
        self._spawn()
        deadline = time.monotonic() + START_PATIENCE
        while self.shared.numbers[FRAMES] == 0:
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise EngineError(f"the engine did not start: {self._complaint()}")
            time.sleep(0.005)
        self._watcher.start()

    def stop(self) -> None:
        """Stop the process and free the memory."""
        self._stopping.set()
        self.shared.numbers[STOP] = 1
        if self._watcher.is_alive():
            self._watcher.join()
        if self._process is not None:
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        """Of the process that runs now."""
        return self._process.pid if self._process is not None else 0

    def status(self) -> EngineStatus:
        """Rates and troubles."""
        marks = list(self._marks)
        (then, before), (now, frames) = (marks[0], marks[-1]) if marks else ((0.0, 0), (0.0, 0))
        rate = (frames - before) / (now - then) if now > then else 0.0
        trouble = self.shared.message if self.shared.numbers[SPOKE] else ""
        return EngineStatus(rate, int(self.shared.numbers[FRAMES]), self.restarts, trouble)

    def poses(self) -> np.ndarray:
        """(nbody, 7) of the engine's world, as it last was."""
        with self._lock:
            latest(self.shared.poses, self._poses)
            return self._poses.view(np.float64).reshape(-1, 7).copy()

    def _complaint(self) -> str:
        return self.shared.message or "it gave no reason"

    def _spawn(self) -> None:
        places = os.pathsep.join(place for place in sys.path if place)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": places},  # an adapter may lie beside the script
        )
        assert self._process.stdin is not None
        self.shared.numbers[BEAT_NS] = time.monotonic_ns() + int(START_PATIENCE * 1e9)
        try:
            pickle.dump(self._order, self._process.stdin)
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # it died already: whoever waits for it will say so

    def _watch(self) -> None:
        while not self._stopping.wait(WATCH):
            assert self._process is not None
            self._marks.append((time.monotonic(), int(self.shared.numbers[FRAMES])))
            silent = time.monotonic_ns() - int(self.shared.numbers[BEAT_NS])
            if self._process.poll() is None and silent > STALL * 1e9:
                self.shared.say(f"the engine stalled for {STALL:g} s")
                self._process.kill()
                self._process.wait()
            if self._process.poll() is not None and not self._stopping.is_set():
                self._start_again()

    def _start_again(self) -> None:
        """A new process in place of one that died; ever later if none makes a frame."""
        frames = int(self.shared.numbers[FRAMES])
        self._fruitless = self._fruitless + 1 if frames == self._frames_before else 0
        self._frames_before = frames
        if self._fruitless and self._stopping.wait(min(0.1 * 2.0**self._fruitless, 5.0)):
            return
        self.shared.mend()
        self._spawn()
        self.restarts += 1


def check_travels(engine: str | type) -> None:
    """Refuse a class that another process could not import."""
    if not isinstance(engine, str) and engine.__module__ == "__main__":
        raise ParameterError(
            "engine", engine.__name__, "in a module of its own, which the engine's process imports"
        )


def travelling(task: Task) -> Task:
    """The task without MuJoCo's specifications, which cannot be sent to another process."""
    world, tool = copy.copy(task.world), copy.copy(task.cut.world)
    world.spec = tool.spec = None  # type: ignore[assignment]
    return replace(task, world=world, cut=task.cut._replace(world=tool))


def serve() -> None:
    """What the engine's process does: frames, until it is told to stop or its parent is gone."""
    path, sizes, task, engine, period, parent = pickle.load(sys.stdin.buffer)
    if os.getppid() != parent:  # it is gone already
        shutil.rmtree(Path(path).parent, ignore_errors=True)
        return
    shared = Shared(Path(path), sizes)
    try:
        _serve(shared, task, engine, period, parent)
        if os.getppid() != parent:
            shutil.rmtree(Path(path).parent, ignore_errors=True)
    except KeyboardInterrupt:
        pass  # the parent gets it too, and stops us
    except Exception as error:
        shared.say(told(error))
        sys.exit(1)


def told(error: Exception) -> str:
    """What went wrong and, unless an adapter says it on purpose, in which line of its file."""
    if isinstance(error, DetentError):
        return f"{type(error).__name__}: {error}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"
    return f"{place}: {type(error).__name__}: {error}"


def _serve(shared: Shared, task: Task, engine: Any, period: float, parent: int) -> None:
    simulation = find_engine(engine)(task)
    if shared.numbers[SAVED] and hasattr(simulation, "restore"):
        simulation.restore(shared.saved.copy())  # go on where the last one was
    frames = Frames(simulation, task, max(2.0 * period, MOST_SECONDS))
    state = np.zeros(shared.states.buffers.shape[1], np.uint8)
    fresh, due = False, time.monotonic()
    while shared.numbers[STOP] == 0 and os.getppid() == parent:
        fresh = latest(shared.states, state) or fresh
        if fresh:
            _frame(shared, frames, state)
        shared.numbers[BEATS] += 1
        shared.numbers[BEAT_NS] = time.monotonic_ns()
        due = max(due + period, time.monotonic() - period)
        time.sleep(max(due - time.monotonic(), 0.0))


def _frame(shared: Shared, frames: Frames, state: np.ndarray) -> None:
    trouble = frames.trouble
    publish(shared.updates, frames.make(state.view(np.float64).copy()))
    publish(shared.poses, np.ascontiguousarray(frames.engine.bodies()).reshape(-1).view(np.uint8))
    if hasattr(frames.engine, "save"):
        shared.saved[:] = frames.engine.save()
        shared.numbers[SAVED] = 1
    if frames.trouble != trouble:
        shared.say(frames.trouble)
    shared.numbers[FRAMES] += 1
