"""The engine in its own process: late, dead, asleep, wild, and back again."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from detent import Contact, LocalModel, Session, Trace, World
from detent.devices import Inertial
from detent.engines import host
from detent.errors import EngineError, MissingExtraError, ParameterError
from detent.hands import Constant
from detent.servo.loop.live import Live
from engines import adapters
from local.steps import unexplained
from sweeps import LONG
from waiting import PATIENCE, wait_for

pytestmark = pytest.mark.live

RATE = 1000.0
CAP = 5.0  # [N]
AGE, DECAY = 0.15, 0.02  # [s]
CONTACT, SLEW = Contact(4000.0, 30.0), LocalModel().slew_force  # [N/s]
KILLS = 100 if LONG else 3  # each takes as long as a spare to get ready
BACK = 0.5  # [s] within which force is back
LATE = 0.1  # [s] by which a busy machine may show a row later
PRESSED = 0.8  # of the ticks before an engine is killed or stopped


def pressing(engine: str | type = "mujoco", **local: object) -> Session:
    """A peg that is pressed on the floor."""
    world = World.builtin("corner").placed((0.0, -0.0695, 0.0))
    device = Inertial(limits=(CAP, CAP, 1.0))
    model = LocalModel(**{"age_limit": AGE, "decay": DECAY, **local})
    return Session(world, CONTACT, device=device, local=model, engine=engine)


PUSH = Constant((0.0, -1.0))


@pytest.fixture(autouse=True)
def no_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that others keep from the processor for seconds is not taken for asleep."""
    monkeypatch.setattr(host, "STALL", PATIENCE)


def newest(live: Live) -> np.ndarray:
    return live.view()[1]


def faded(rows: np.ndarray) -> np.ndarray:
    """Where the last update was so old that nothing of it was felt any more."""
    return (rows["age"] > AGE + 2 * DECAY) & (rows["trust"] == 0.0)


def test_updates_come_from_another_process() -> None:
    with pressing().live(rate=RATE, hand=PUSH) as live:
        assert live.engine is not None
        assert live.engine.pid != os.getpid()
        assert wait_for(lambda: live.engine.status().frames > 20)
        assert wait_for(lambda: newest(live)["contacts"] == newest(live)["local"] == 2)
        poses, _ = live.view()
        assert poses.shape == (World.builtin("corner").model.nbody, 7)
        pid = live.engine.pid
    assert wait_for(lambda: not _alive(pid))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def presses(live: Live) -> bool:
    """Whether the peg has touched in most of the last ticks, and is touching."""
    rows = live.recent(0.1)
    touching = (rows["contacts"] > 0) & (rows["trust"] == 1.0)
    return bool(len(rows) and touching[-1] and touching.mean() >= PRESSED)


def die_and_return(live: Live) -> None:
    """Kill the engine while the peg presses; wait until the spare is believed."""
    assert wait_for(lambda: presses(live))
    assert wait_for(lambda: live.engine.status().spare)
    spare = live.engine.spare_pid
    restarts, update = live.engine.status().restarts, int(newest(live)["update"])
    os.kill(live.engine.pid, signal.SIGKILL)
    assert wait_for(lambda: live.engine.status().restarts > restarts)
    assert wait_for(lambda: newest(live)["update"] > update + 2 and newest(live)["trust"] == 1.0)
    assert live.engine.pid == spare  # which had nothing to start


def stop_and_go_on(live: Live, seconds: float) -> None:
    """Stop the engine for so long while the peg presses; wait until it is believed again."""
    assert wait_for(lambda: presses(live))
    os.kill(live.engine.pid, signal.SIGSTOP)
    time.sleep(seconds)
    if seconds > AGE + DECAY + LATE:  # by the clock on the wall
        assert not newest(live)["environment_wrench"].any()
    os.kill(live.engine.pid, signal.SIGCONT)
    assert wait_for(lambda: newest(live)["age"] < AGE and newest(live)["trust"] == 1.0)


def check_deaths(rows: np.ndarray) -> None:
    """Within the cap always; held no longer than the age limit; zero within 20 ms after it."""
    assert np.isfinite(rows["device_wrench"]).all()
    assert np.abs(rows["device_wrench"][:, :2]).max() <= CAP
    dead = rows["age"] > AGE + DECAY + 2.0 / RATE
    contact = np.linalg.norm(rows["environment_wrench"][:, :3], axis=1)
    assert contact[dead].max(initial=0.0) == 0.0
    fading = (rows["age"] > AGE) & (rows["age"] <= AGE + DECAY)
    both = fading[1:] & fading[:-1] & (rows["trust"][:-1] > 0.0)  # late ticks take it all at once
    assert (np.diff(rows["trust"])[both] < 0.0).all()
    back = (np.diff(rows["trust"]) > 0.0) | (np.diff(rows["update"]) > 0)
    steps = unexplained(rows, CONTACT, 1.0 / RATE, 0.02)[back]
    assert steps.max(initial=0.0) <= 1.001 * SLEW / RATE


def longest_gap(rows: np.ndarray) -> float:
    """[s] for which nothing was felt of a contact that the hand presses."""
    felt = np.linalg.norm(rows["environment_wrench"][:, :3], axis=1) > 0.0
    began = int(np.argmax(felt))
    return float(np.diff(rows["time"][began:][felt[began:]]).max())


@(pytest.mark.alone if LONG else pytest.mark.live)
def test_the_spare_takes_over_from_a_killed_engine(tmp_path: Path) -> None:
    """How soon, by the wall, is asked where the machine is the test's own."""
    file = tmp_path / "killed.arrow"
    with pressing().live(rate=RATE, hand=PUSH, record=file) as live:
        for _ in range(KILLS):
            die_and_return(live)
        assert live.running
    rows = Trace.load(file).rows
    check_deaths(rows)
    assert (np.diff(rows["update"]) >= 0).all()  # numbers go on
    if LONG:
        assert longest_gap(rows) < BACK


def test_a_stopped_engine_lets_go_and_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "stopped.arrow"
    with pressing().live(rate=RATE, hand=PUSH, record=file) as live:
        for seconds in np.random.default_rng(1).uniform(0.005, 1.0, KILLS - 1):
            stop_and_go_on(live, seconds)
        stop_and_go_on(live, 0.4)
        assert live.running and live.engine.status().restarts == 0
    check_deaths(Trace.load(file).rows)


def test_an_answer_that_comes_late_does_not_keep_the_world_waiting() -> None:
    """`near` takes 24 periods: the engine goes on at its rate, and the floor is felt."""
    with pressing(adapters.Pondering).live(rate=RATE, hand=PUSH) as live:
        assert wait_for(lambda: newest(live)["contacts"] > 0)
        first, start = live.engine.status().frames, time.monotonic()
        assert wait_for(lambda: live.engine.status().frames >= first + 30)
        assert time.monotonic() - start < 30 * adapters.Pondering.seconds  # none was waited for
        assert wait_for(lambda: newest(live)["contacts"] > 0 and newest(live)["trust"] == 1.0)


def test_an_engine_that_cannot_start_says_why() -> None:
    with (
        pytest.raises(EngineError, match="no licence found"),
        pressing(adapters.Stubborn).live(rate=RATE),
    ):
        pass


def test_a_raising_engine_is_started_again_and_quoted() -> None:
    with pressing(adapters.Moody).live(rate=RATE, hand=PUSH) as live:
        assert wait_for(lambda: live.engine.status().restarts >= 1)
        trouble = live.engine.status().trouble
        assert re.match(r"adapters\.py, line \d+, in \w+: \w+: a bug of the adapter", trouble)
        assert live.running


def test_a_sleeping_engine_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "STALL", 2.0)
    with pressing(adapters.Sleepy).live(rate=RATE, hand=PUSH) as live:
        assert wait_for(lambda: live.engine.status().restarts >= 1)
        assert wait_for(lambda: faded(live.recent()).any())


def test_nan_never_reaches_the_device() -> None:
    with pressing(adapters.Wild).live(rate=RATE, hand=PUSH) as live:
        assert wait_for(lambda: "place" in live.engine.status().trouble)
        assert wait_for(lambda: newest(live)["contacts"] > 0)
        rows = live.recent()
        assert live.running
    assert np.isfinite(rows["device_wrench"]).all()


def test_a_lost_world_fades() -> None:
    with pressing(adapters.Lost).live(rate=RATE, hand=PUSH) as live:
        assert wait_for(lambda: bool(faded(newest(live))))
        assert wait_for(lambda: "diverged" in live.engine.status().trouble)
        assert live.engine.status().restarts == 0


def test_classes_of_the_script_itself_are_refused() -> None:
    mine = type("Mine", (adapters.Moody,), {"__module__": "__main__"})
    with pytest.raises(ParameterError, match="module of its own"), pressing(mine).live(rate=RATE):
        pass


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'detent\[bullet\]'"):
        pressing("bullet")
