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
    SEEN,
    SPOKE,
    STANDING,
    STOP,
    TURN,
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
STAND_BY = 0.005  # [s] between looks of a spare
ASK_AGAIN = 0.001  # [s] between looks for an answer that is late
ORDER = "order"  # the file that says what an engine is made for
MOST_SECONDS = 1.0 / 30.0  # of the world's time in a frame
_CHILD = "import sys; from detent.engines.host import serve; serve(*sys.argv[1:])"


class EngineStatus(NamedTuple):
    """How the engine is doing."""

    rate: float  # [Hz] frames, over the last second
    frames: int
    restarts: int
    trouble: str  # what it last complained of
    spare: bool  # another process stands by


class Host:
    """Runs an engine for a live session, beside a spare. Use it through `Session.live`."""

    def __init__(self, task: Task, engine: str | type, period: float, state: np.ndarray) -> None:
        find_engine(engine)
        check_travels(engine)
        model = task.world.model
        sizes = Sizes(update_size(), state.nbytes, 56 * model.nbody, 8 * (model.nq + model.nv))
        self._folder = shared_folder()
        self._path = Path(self._folder.name) / "engine"
        self.shared = Shared(self._path, sizes, create=True)
        order = (str(self._path), sizes, travelling(task), engine, period, os.getpid())
        self._order = pickle.dumps(order)
        self._process: subprocess.Popen[bytes] | None = None
        self._spare: subprocess.Popen[bytes] | None = None
        self._spawned = 0
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="detent-engine", daemon=True)
        self._poses = np.zeros(sizes.poses, np.uint8)
        self._marks: deque[tuple[float, int]] = deque(maxlen=round(1.0 / WATCH))
        self._lock = threading.Lock()
        self.restarts = 0
        self._fruitless, self._frames_before = 0, 0
        publish(self.shared.states, state.view(np.uint8))

    def start(self) -> None:
        """Start the process, and wait for its first update; then a spare."""
        (self._path.parent / ORDER).write_bytes(self._order)
        self._process = self._spawn()
        self._let_serve(self._spawned)
        deadline = time.monotonic() + START_PATIENCE
        while self.shared.numbers[FRAMES] == 0:
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise EngineError(f"the engine did not start: {self._complaint()}")
            time.sleep(0.005)
        self._spare = self._spawn()
        self._watcher.start()

    def stop(self) -> None:
        """Stop the process and free the memory."""
        self._stopping.set()
        self.shared.numbers[STOP] = 1
        if self._watcher.is_alive():
            self._watcher.join()
        for process in (self._process, self._spare):
            if process is not None:
                end(process)
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        """Of the process that runs now."""
        return self._process.pid if self._process is not None else 0

    @property
    def spare_pid(self) -> int:
        """Of the process that would take over."""
        return self._spare.pid if self._spare is not None else 0

    def status(self) -> EngineStatus:
        """Rates and troubles."""
        marks = list(self._marks)
        (then, before), (now, frames) = (marks[0], marks[-1]) if marks else ((0.0, 0), (0.0, 0))
        rate = (frames - before) / (now - then) if now > then else 0.0
        numbers = self.shared.numbers
        trouble = self.shared.message if numbers[SPOKE] else ""
        spare = int(numbers[STANDING]) == self._spawned
        return EngineStatus(rate, int(numbers[FRAMES]), self.restarts, trouble, spare)

    def poses(self) -> np.ndarray:
        """(nbody, 7) of the engine's world, as it last was."""
        with self._lock:
            latest(self.shared.poses, self._poses)
            return self._poses.view(np.float64).reshape(-1, 7).copy()

    def _complaint(self) -> str:
        return self.shared.message or "it gave no reason"

    def _spawn(self) -> subprocess.Popen[bytes]:
        """A process that gets ready, and serves when it is its turn."""
        places = os.pathsep.join(place for place in sys.path if place)
        self._spawned += 1
        order = str(self._path.parent / ORDER)
        return subprocess.Popen(
            [sys.executable, "-c", _CHILD, order, str(self._spawned)],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": places},  # an adapter may lie beside the script
        )

    def _let_serve(self, number: int) -> None:
        """It is the turn of that process; it may still be getting ready."""
        self.shared.numbers[BEAT_NS] = time.monotonic_ns() + int(START_PATIENCE * 1e9)
        self.shared.numbers[TURN] = number

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
        """The spare in place of a process that died; ever later if none makes a frame."""
        frames = int(self.shared.numbers[FRAMES])
        self._fruitless = self._fruitless + 1 if frames == self._frames_before else 0
        self._frames_before = frames
        if self._fruitless and self._stopping.wait(min(0.1 * 2.0**self._fruitless, 5.0)):
            return
        self.shared.mend()
        if self._spare is None or self._spare.poll() is not None:
            self._spare = self._spawn()
        self._process = self._spare
        self._let_serve(self._spawned)
        self.restarts += 1
        self._spare = self._spawn()


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


def end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that was told to stop, and kill it if it does not."""
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def serve(order: str, number: str) -> None:
    """What an engine's process does: frames, until it is told to stop or its parent is gone."""
    try:
        path, sizes, task, engine, period, parent = pickle.loads(Path(order).read_bytes())
        shared = Shared(Path(path), sizes)
    except FileNotFoundError:
        return  # the session is over already
    try:
        _serve(shared, task, engine, period, parent, int(number))
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


def _serve(
    shared: Shared, task: Task, engine: Any, period: float, parent: int, number: int
) -> None:
    simulation = find_engine(engine)(task)
    shared.numbers[STANDING] = number
    while shared.numbers[TURN] != number:
        if shared.numbers[STOP] or os.getppid() != parent:
            return
        time.sleep(STAND_BY)
    frames = Frames(simulation, task, max(2.0 * period, MOST_SECONDS))
    take_over(shared, frames)
    state = np.zeros(shared.states.buffers.shape[1], np.uint8)
    fresh, due = False, time.monotonic()
    while shared.numbers[STOP] == 0 and os.getppid() == parent:
        fresh = latest(shared.states, state) or fresh
        if fresh:
            _frame(shared, frames, state)
        shared.numbers[BEATS] += 1
        shared.numbers[BEAT_NS] = time.monotonic_ns()
        due = max(due + period, time.monotonic() - period)
        rest(shared, frames, due)


def take_over(shared: Shared, frames: Frames) -> None:
    """Go on where the last process was: its world, and the proxy as it last saw it."""
    if shared.numbers[SAVED] and hasattr(frames.engine, "restore"):
        frames.engine.restore(shared.saved.copy())
    if shared.numbers[SEEN] and np.isfinite(shared.seen).all():
        frames.resume(shared.seen.copy(), int(shared.numbers[SEEN]))


def rest(shared: Shared, frames: Frames, due: float) -> None:
    """Wait until that time; what `near` answers meanwhile is passed on."""
    while frames.waits and time.monotonic() + ASK_AGAIN < due:
        time.sleep(ASK_AGAIN)
        answer(shared, frames.answer())
    time.sleep(max(due - time.monotonic(), 0.0))


def answer(shared: Shared, update: np.ndarray | None) -> None:
    """Pass on an update, if there is one."""
    if update is not None:
        publish(shared.updates, update)


def _frame(shared: Shared, frames: Frames, state: np.ndarray) -> None:
    trouble = frames.trouble
    answer(shared, frames.make(state.view(np.float64).copy()))
    shared.seen[:] = state.view(np.float64)
    shared.numbers[SEEN] = frames.sequence
    publish(shared.poses, np.ascontiguousarray(frames.engine.bodies()).reshape(-1).view(np.uint8))
    if hasattr(frames.engine, "save"):
        shared.saved[:] = frames.engine.save()
        shared.numbers[SAVED] = 1
    if frames.trouble != trouble:
        shared.say(frames.trouble)
    shared.numbers[FRAMES] += 1
