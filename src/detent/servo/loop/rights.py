"""What the machine allows the servo's thread: priority, a precise timer, memory that stays."""

from __future__ import annotations

import ctypes
import getpass
import os
import platform
import resource
from contextlib import suppress

PRIORITY = 80
SLICE_NS = 100_000  # [ns] the shortest that the kernel takes
_PR_SET_TIMERSLACK = 29
_MCL_CURRENT, _MCL_ONFAULT = 1, 4
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """The kernel's struct sched_attr, in its first version."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


class Promises:
    """What the machine allowed the servo thread to have, for the user to see.

    `take` and `release` are called in that thread: priority and timer belong to a thread.
    """

    def __init__(self) -> None:
        self.timer_slack = False
        self.short_slice = False
        self.fifo = False
        self.locked = False
        self.refused = False  # real-time priority was asked for in vain
        self._policy = os.SCHED_OTHER  # before
        self._latency: int | None = None

    @property
    def low_latency(self) -> bool:
        """Whether the processor is kept out of deep sleep."""
        return self._latency is not None

    def take(self, realtime: bool) -> None:
        """Ask for a precise timer and, if *realtime*, for priority and locked memory.

        Without priority a short slice of time lets the thread run soon after it wakes.
        """
        self.timer_slack = _LIBC.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0
        self._policy = os.sched_getscheduler(0)
        self.fifo = realtime and take_fifo()
        self.refused = realtime and not self.fifo
        if not self.fifo:
            self.short_slice = ask_slice(SLICE_NS)
        if not realtime:
            return
        raise_limit(resource.RLIMIT_MEMLOCK)
        # what is there now: a limit would else make later allocations of others fail
        self.locked = _LIBC.mlockall(_MCL_CURRENT | _MCL_ONFAULT) == 0
        try:
            self._latency = os.open("/dev/cpu_dma_latency", os.O_WRONLY)
            os.write(self._latency, bytes(4))
        except OSError:
            self._release_latency()

    def release(self) -> None:
        """Give back what was taken."""
        if self.fifo and self._policy != os.sched_getscheduler(0):
            os.sched_setscheduler(0, self._policy, os.sched_param(0))
        if self.short_slice:
            ask_slice(0)
        _LIBC.prctl(_PR_SET_TIMERSLACK, 0, 0, 0, 0)
        if self.locked:
            _LIBC.munlockall()
        self._release_latency()

    def _release_latency(self) -> None:
        if self._latency is not None:
            os.close(self._latency)
            self._latency = None

    @property
    def advice(self) -> str:
        """One line on how to be allowed the priority; empty if it was not refused."""
        if not self.refused:
            return ""
        file, lines = next(iter(lines_to_allow().items()))
        return (
            f"no real-time priority (SCHED_FIFO): {why_refused()}; to allow it, write "
            f"{lines.splitlines()[0]!r} to {file} and log in again, or see `detent doctor`"
        )

    def __str__(self) -> str:
        named = {
            "precise timer": self.timer_slack,
            "SCHED_FIFO": self.fifo,
            "short slice": self.short_slice,
            "locked memory": self.locked,
            "low latency": self.low_latency,
        }
        return ", ".join(name for name, held in named.items() if held) or "nothing"


def policy() -> int:
    """How this thread is scheduled, whatever its children inherit."""
    return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK


def take_fifo() -> bool:
    """Ask for real-time priority, as high as the limit allows; whether this thread has it."""
    if policy() in (os.SCHED_FIFO, os.SCHED_RR):  # whoever started us chose
        return True
    most = raise_limit(resource.RLIMIT_RTPRIO)
    for priority in (PRIORITY, min(PRIORITY, most)):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(priority)))
            return True
    return False


def ask_slice(nanoseconds: int) -> bool:
    """Ask for slices of this length, 0 for the usual ones; whether the kernel took it.

    A thread with shorter slices runs sooner after it wakes, and gets no more time for it.
    Linux has that since 6.12; before, the wish has no effect.
    """
    number = _SCHED_SETATTR.get(platform.machine())
    if number is None or policy() not in (os.SCHED_OTHER, os.SCHED_BATCH):
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    wish = _Attributes(policy=policy(), nice=nice, runtime=nanoseconds)
    wish.size = ctypes.sizeof(wish)
    return bool(_LIBC.syscall(number, 0, ctypes.byref(wish), 0) == 0)


def raise_limit(which: int) -> float:
    """Raise a limit as far as it goes without rights; what it is then."""
    soft, hard = resource.getrlimit(which)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(which, (hard, hard))
    return float("inf") if hard == resource.RLIM_INFINITY else float(hard)


def why_refused() -> str:
    """What stands in the way of real-time priority."""
    most = resource.getrlimit(resource.RLIMIT_RTPRIO)[1]
    if most == 0:
        return "the limit rtprio is 0"
    return f"refused by the container or control group, although the limit rtprio is {most}"


def lines_to_allow() -> dict[str, str]:
    """What to write where, to be allowed priority and locked memory."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may not know its user
        user = "*"
    unit = f"[Service]\nLimitRTPRIO={PRIORITY}\nLimitMEMLOCK=infinity"
    return {
        "/etc/security/limits.d/detent.conf": f"{user} - rtprio {PRIORITY}\n"
        f"{user} - memlock unlimited",
        "/etc/systemd/system/user@.service.d/detent.conf": unit,
        "/etc/systemd/system/NAME.service.d/detent.conf": unit,
        "the command line of a container": f"--ulimit rtprio={PRIORITY} --ulimit memlock=-1",
    }
