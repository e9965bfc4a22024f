"""Room for everything that a tick writes, allocated once."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.kernels.impact_friction import FrictionWork, friction_work
from detent.kernels.inertia import make_inertia
from detent.kernels.mapping import mapping_work
from detent.kernels.shaping import shaping_memory
from detent.local.records import MEMORY
from detent.servo.records import MAX_DELAY, Block, Clock, Device, Motion, Rows

HISTOGRAM_BINS = 4096  # [µs] of the loop's statistics


def make_arrays(
    model: mujoco.MjModel, capacity: int, closures: int
) -> tuple[Motion, Rows, FrictionWork, Device, Clock]:
    """All that a tick writes, on one block."""
    nv, cap, hits = model.nv, capacity, 2 * capacity
    block = Block(
        8
        * (
            nv * (3 * nv + 2 * model.nM + 8 * cap + 4 * hits + 64)
            + model.ntendon
            + (64 + 2 * MEMORY) * cap
            + 2**17
        )
    )
    a = block.array
    whole = np.int64
    layout = model.M_rownnz, model.M_rowadr, model.M_colind
    motion = Motion(
        M=a(len(model.M_colind)), drag=a(nv), bond=a(nv + model.ntendon), rank_one=a((2, nv)),
        inertia=make_inertia(*layout, closures), damped=make_inertia(*layout, closures),
        torque=a(nv), external=a(nv), penalty=a(nv), impulsive=a(nv), velocity=a(nv),
        after=a(nv), scratch=a(nv), white=a(nv), load=a((2, nv, nv)), spun=a(3), jac=a((6, nv)),
        jac_white=a((6, nv)), jac_rate=a((6, nv)),
        vector3=a((3, 3)), twist=a(6), mobility=a((6, 6)), link=a((6, 6)), inside=a((2, 6, 6)),
        mapping=mapping_work(), rank=a(2, whole), error=a((2, 6)),
        reaction=a(nv), bias=a(6), hand6=a((6, 6)),
        point=a(3), start=a(7),
    )  # fmt: skip
    motion.rank[0] = -1  # none yet
    rows = Rows(
        tally=a(5, whole), impact=a(2), jac=a((cap, nv)), white=a((cap, nv)), separation=a(cap),
        velocity=a(cap), stiffness=a(cap), damping=a(cap), restitution=a(cap), friction=a(cap),
        force=a(cap),
        carry=a((cap, 3)), rub=a((cap, 3)), slide=a((cap, 3)), rubbing=a(cap, whole),
        tangent=a((cap, nv)), pressing=a(cap), memory=a((cap, MEMORY)), local=a((cap, 2, 3)),
        old_count=a(1, whole), old_row=a(cap, whole), old_taken=a(cap, whole),
        old_geom=a((cap, 2), whole), old_local=a((cap, 2, 3)), old_normal=a((cap, 3)),
        old_memory=a((cap, MEMORY)), recalled=a(cap, whole),
        worst=a(3), worst_geom=a(2, whole), bound=a(cap), joined=a(cap, whole),
        geom=a((cap, 2), whole), body=a((cap, 2), whole), tree=a((cap, 2), whole),
        normal=a((cap, 3)), point=a((cap, 3)), hit_row=a(hits, whole), hit_jac=a((hits, nv)),
        hit_restitution=a(hits), hit_friction=a(hits),
        hit_tangent=a((hits, 2, nv)), hit_impulse=a(hits), hit_slide=a((hits, 2)),
        order=a(cap, whole), parent=a(model.ntree, whole),
        group_state=a(model.ntree, whole), trust=a(1), spreading=a(1, whole),
        constrained=a(1, whole), group_restitution=a(model.ntree), touched=a(model.ntree, whole),
        loosened=a(2),
    )  # fmt: skip
    rows.worst[:2] = 1.0  # nothing was bounded yet
    rows.trust[0] = 1.0
    rows.touched[:] = 1  # what overlaps at the start has not just arrived
    return motion, rows, friction_work(hits, nv), make_device(), make_clock()


def make_device() -> Device:
    """A device that is nowhere yet."""
    a, whole = np.zeros, np.int64
    return Device(
        position=a(3), seen=a(3), quaternion=a(4), twist=a(6), mass=a((6, 6)), mobility=a((6, 6)),
        mask=a(6), axes=a(6, whole), dimension=a(1, whole), packed=a((2, 6, 6)), topology=a(6),
        acceleration=a(6), mean=a(6), wrench=a(6), raw=a(6), filtered=a(6), hand=a(6),
        environment=a(6), felt=a(6), resonance=shaping_memory(6), resonating=a(1, whole),
        lag=a(6), delayed=a((MAX_DELAY + 1, 6)),
    )  # fmt: skip


def make_clock() -> Clock:
    """A clock that has not begun."""
    a, whole = np.zeros, np.int64
    return Clock(
        counts=a(8, whole), lateness=a(HISTOGRAM_BINS, whole), compute=a(HISTOGRAM_BINS, whole),
        timespec=a(2, whole),
    )  # fmt: skip
