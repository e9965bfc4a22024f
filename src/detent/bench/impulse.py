"""What a collision costs: the same tick, from the same place, with and without it."""

from __future__ import annotations

import numpy as np

from detent.bench.rounds import Numbers, rounds
from detent.bench.scenes import PUSH, at_rest, studded_cube
from detent.kernels.jit import kernel
from detent.kernels.stages import call_stage
from detent.servo import places
from detent.servo.loop.clock import now_ns
from detent.servo.structs import Servo

PAIRS = 2000  # of ticks, per turn
APPROACH = np.array([0.5, 0.5, -0.5, 0.0, 0.0, 0.0])  # [m/s, rad/s] into the corner
SPREAD = np.array([0.2, 0.2, 0.2, 2.0, 2.0, 2.0])  # around it, so that the solver's way varies


@kernel
def time_pairs(
    s: Servo, qpos: np.ndarray, device: np.ndarray, qvel: np.ndarray, costs: np.ndarray
) -> None:
    """The cost of single ticks [ns], all from one place: costs[i, k] begins with qvel[i, k].

    The device moves as the tool does: a free body's velocity is the twist at its middle.
    """
    for i in range(qvel.shape[0]):
        for k in range(qvel.shape[1]):
            s.scene.qpos[:] = qpos
            s.scene.qvel[:] = qvel[i, k]
            s.port.state.true_pose[:] = device
            s.port.state.true_twist[:] = qvel[i, k]
            began = now_ns(s.clock.timespec)
            call_stage(s.stages[places.TICK], s)
            costs[i, k] = now_ns(s.clock.timespec) - began
            s.written[0] += 1


def bench_impulses(quick: bool) -> Numbers:
    """Ticks in which a cube hits a corner with 16 contacts at once, against resting ones."""
    turns = rounds(quick)
    servo = at_rest(studded_cube(), PUSH, ring=2 * PAIRS).servo
    qpos = servo.scene.qpos.copy()
    device = servo.port.state.true_pose.copy()
    qvel = np.zeros((PAIRS, 2, 6))
    rng = np.random.default_rng(0)
    costs = np.zeros((turns, PAIRS, 2), np.int64)
    time_pairs(servo, qpos, device, qvel[:1], costs[0, :1])  # compiled before it counts
    for turn in range(turns):
        qvel[:, 0] = APPROACH + SPREAD * rng.uniform(-1.0, 1.0, (PAIRS, 6))
        servo.written[0] = 0
        time_pairs(servo, qpos, device, qvel, costs[turn])
    rows = servo.ring.reshape(PAIRS, 2)
    rank = np.linalg.matrix_rank(servo.rows.jac[: servo.rows.count[0]], tol=1e-9)
    return {
        "impulse_contacts": int(rows["collisions"][:, 0].min()),
        "impulse_rank": int(rank),
        "resting_contacts": int(rows["contacts"][:, 1].min()),
        **compare_costs(1e-3 * costs),
    }


def compare_costs(costs: np.ndarray) -> Numbers:
    """Percentiles of (turns, ticks, 2) costs [µs], impulses first; medians over the turns."""
    p50, p99 = np.percentile(costs, [50, 99], axis=1)
    return {
        "impulse_tick_p50_us": float(np.median(p50[:, 0])),
        "impulse_tick_p99_us": float(np.median(p99[:, 0])),
        "resting_tick_p50_us": float(np.median(p50[:, 1])),
        "resting_tick_p99_us": float(np.median(p99[:, 1])),
        "impulse_over_resting_p99": float(np.median(p99[:, 0] / p99[:, 1])),
        "impulse_p99_over_resting_p50": float(np.median(p99[:, 0] / p50[:, 1])),
    }
