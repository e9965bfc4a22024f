"""The loop around the tick: lockstep in virtual time, live on the wall clock."""

from __future__ import annotations

from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage, run_entry
from detent.servo import places
from detent.servo.faults import NO_FAULT
from detent.servo.loop.clock import now_ns, sleep_until
from detent.servo.loop.exchange import load_acquire, publish, store_release
from detent.servo.structs import FAULT, SKIPS, STARTED, STOP, TICKS, Servo


def run_lockstep(servo: Servo, ticks: int) -> int:
    """Tick in virtual time, as fast as it goes; returns how many ticks were done."""
    return run_entry(lockstep, servo, ticks)


@kernel
def lockstep(s: Servo, ticks: int) -> int:
    """What `run_lockstep` does, compiled."""
    for done in range(ticks):
        call_stage(s.stages[places.TICK], s)
        s.written[0] += 1
        if s.clock.counts[FAULT] != NO_FAULT:
            return done + 1
    return ticks


@kernel
def publish_view(s: Servo, index: int) -> None:
    """Poses, contacts and the newest row, for the page and the status line."""
    call_stage(s.stages[places.SHOW], s)
    for b in range(s.poses.shape[0]):
        for k in range(3):
            s.poses[b, k] = s.scene.xpos[b, k]
        for k in range(4):
            s.poses[b, 3 + k] = s.scene.xquat[b, k]
    size = s.pose_bytes.shape[0]
    mine = s.views.buffers[s.views.writer[0]]
    mine[:size] = s.pose_bytes
    mine[size:] = s.ring_bytes[index]
    publish(s.views, mine)


@kernel
def bin_of(nanoseconds: int, bins: int) -> int:
    """The histogram bin of a duration, one per microsecond."""
    return min(max(nanoseconds // 1000, 0), bins - 1)


@kernel
def run_live(s: Servo, period: int, spin: int, view_every: int, most: int) -> int:
    """Tick on the wall clock until told to stop, or *most* ticks; returns the ticks done.

    Deadlines are absolute, so the schedule does not drift; a deadline that has passed when
    its tick could begin is skipped and counted, and virtual time falls behind by a step.
    """
    ck = s.clock
    deadline = now_ns(ck.timespec) + period
    ck.counts[STARTED] = deadline
    first = ck.counts[TICKS]
    while load_acquire(ck.counts, STOP) == 0 and ck.counts[TICKS] - first < most:
        began = sleep_until(deadline, spin, ck.timespec)
        late = began - deadline
        index = s.written[0] % s.ring.shape[0]
        call_stage(s.stages[places.TICK], s)
        ended = now_ns(ck.timespec)
        s.ring["lateness_ns"][index] = late
        s.ring["compute_ns"][index] = ended - began
        ck.lateness[bin_of(late, ck.lateness.shape[0])] += 1
        ck.compute[bin_of(ended - began, ck.compute.shape[0])] += 1
        store_release(s.written, 0, s.written[0] + 1)
        stopped = ck.counts[FAULT] != NO_FAULT
        if stopped or ck.counts[TICKS] % view_every == 0:
            publish_view(s, index)
        if stopped:
            break
        deadline += period
        behind = ended - deadline
        if behind > 0:
            missed = behind // period + 1
            ck.counts[SKIPS] += missed
            deadline += missed * period
    return ck.counts[TICKS] - first


@kernel
def time_ticks(s: Servo, ticks: int) -> None:
    """Lockstep ticks whose cost goes into the histogram of the clock."""
    for _ in range(ticks):
        began = now_ns(s.clock.timespec)
        call_stage(s.stages[places.TICK], s)
        s.written[0] += 1
        cost = now_ns(s.clock.timespec) - began
        s.clock.compute[bin_of(cost, s.clock.compute.shape[0])] += 1


@kernel
def time_collision(s: Servo, hits: int, times: int) -> int:
    """The slowest but one percent of resolving a collision of the rows in hit_jac [ns]."""
    s.rows.hits[0] = hits
    s.rows.impact[1] = 0.0
    worst, second, third = 0, 0, 0
    for _ in range(times):
        began = now_ns(s.clock.timespec)
        call_stage(s.stages[places.COLLIDE], s)
        cost = now_ns(s.clock.timespec) - began
        if cost > worst:
            worst, second, third = cost, worst, second
        elif cost > second:
            second, third = cost, second
        elif cost > third:
            third = cost
    return third
