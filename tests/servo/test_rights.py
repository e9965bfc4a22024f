"""What the servo's thread asks of the machine, what it says when refused, what it gives back."""

from __future__ import annotations

import ctypes
import os
import resource
import threading
from collections.abc import Callable
from typing import Any

import pytest

from detent.servo.constants import SPIN_NS
from detent.servo.loop import rights
from detent.servo.loop.live import Live
from detent.servo.loop.rights import PRIORITY, Promises, ask_slice, lines_to_allow

GET_TIMERSLACK = 30


def in_thread(work: Callable[[], Any]) -> Any:
    """What it returns in a thread of its own, whose scheduling dies with it."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def allow_up_to(most: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A machine with this limit of rtprio; the priorities that it is asked for."""
    asked: list[int] = []

    def ask(pid: int, policy: int, param: Any) -> None:
        if policy == os.SCHED_FIFO:
            asked.append(param.sched_priority)
            if not 0 < param.sched_priority <= most:
                raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", ask)
    limits = {resource.RLIMIT_RTPRIO: (0, most), resource.RLIMIT_MEMLOCK: (0, 0)}
    monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)
    monkeypatch.setattr(resource, "setrlimit", lambda which, limit: None)
    return asked


def taken(realtime: bool = True) -> tuple[Promises, str]:
    """What a thread was promised, and that as text before it was given back."""

    def take() -> tuple[Promises, str]:
        promises = Promises()
        promises.take(realtime)
        said = str(promises)
        promises.release()
        return promises, said

    found: tuple[Promises, str] = in_thread(take)
    return found


def test_a_refusal_is_one_line_that_says_how_to_be_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow_up_to(0, monkeypatch)
    monkeypatch.setattr("getpass.getuser", lambda: "somebody")
    promises, said = taken()
    assert not promises.fifo and promises.refused
    assert "SCHED_FIFO" not in said and "precise timer" in said
    assert "\n" not in promises.advice
    for words in ("rtprio is 0", "'somebody - rtprio 80'", "/etc/security/limits.d/", "doctor"):
        assert words in promises.advice


def test_a_lower_limit_is_used_as_far_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = allow_up_to(50, monkeypatch)
    promises, said = taken()
    assert asked == [PRIORITY, 50]
    assert promises.fifo and "SCHED_FIFO" in said
    assert promises.advice == ""


def test_a_container_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_up_to(0, monkeypatch)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (99, 99))
    assert "container or control group, although the limit rtprio is 99" in taken()[0].advice


def test_who_does_not_ask_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = allow_up_to(0, monkeypatch)
    promises, said = taken(realtime=False)
    assert asked == [] and promises.advice == ""
    assert "locked memory" not in said


def test_priority_and_timer_are_given_back() -> None:
    def look() -> tuple[int, int, int]:
        slack = ctypes.CDLL(None).prctl(GET_TIMERSLACK, 0, 0, 0, 0)
        return os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0), slack

    def take() -> tuple[Any, Any, Any]:
        before, promises = look(), Promises()
        promises.take(realtime=True)
        during = look()
        promises.release()
        return before, during, look()

    before, during, after = in_thread(take)
    assert during[2] in (0, 1)  # [ns]; real-time threads have none
    assert before == after


def test_a_short_slice_leaves_the_nice_value() -> None:
    def ask() -> tuple[bool, int]:
        os.setpriority(os.PRIO_PROCESS, 0, 7)
        return ask_slice(rights.SLICE_NS), os.getpriority(os.PRIO_PROCESS, 0)

    if "x86_64" not in os.uname().machine:
        pytest.skip("the number of the call is known for two machines")
    assert in_thread(ask) == (True, 7)


@pytest.mark.parametrize(("user", "named"), [(None, "*"), ("ada", "ada")])
def test_the_lines_name_the_user_and_every_limit(
    user: str | None, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whoami() -> str:
        if user is None:
            raise KeyError("uid not found")
        return user

    monkeypatch.setattr("getpass.getuser", whoami)
    files = lines_to_allow()
    assert files["/etc/security/limits.d/detent.conf"].splitlines() == [
        f"{named} - rtprio 80",
        f"{named} - memlock unlimited",
    ]
    units = [lines for file, lines in files.items() if file.startswith("/etc/systemd/")]
    assert units == ["[Service]\nLimitRTPRIO=80\nLimitMEMLOCK=infinity"] * 2


@pytest.mark.parametrize(
    ("fifo", "rate", "spin"), [(False, 1000, 0), (True, 1000, SPIN_NS), (True, 20_000, 25_000)]
)
def test_only_a_servo_with_priority_spins_and_half_of_the_time_at_most(
    fifo: bool, rate: float, spin: int
) -> None:
    live = Live.__new__(Live)
    live.period_ns, live.promises = round(1e9 / rate), Promises()
    live.promises.fifo = fifo
    assert live._spin_ns() == spin
