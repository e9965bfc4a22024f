"""Room for everything that a tick writes, allocated once."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from detent.kernels.constants import CONTACT_MEMORY
from detent.kernels.inertia import make_inertia
from detent.kernels.rank import mapping_work
from detent.kernels.ringing import ring_memory
from detent.kernels.sliding import FrictionWork, friction_work
from detent.servo.constants import HISTOGRAM_BINS
from detent.servo.guarded import make_guarded
from detent.servo.observed import make_observed
from detent.servo.structs import Clock, Device, Lead, Motion, Rows
from detent.servo.world.overlap import limit_count
from detent.servo.world.spans import load_size, row_width, tree_spans


class Block:
    """One preallocated, zeroed block of memory from which arrays are cut."""

    def __init__(self, size: int) -> None:
        self._memory = np.zeros(size, np.uint8)
        self._used = 0

    def array(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        """The next array of the block, aligned to a cache line."""
        kind = np.dtype(dtype)
        count = shape if isinstance(shape, int) else math.prod(shape)
        start = -(-self._used // 64) * 64
        end = start + count * kind.itemsize
        if end > self._memory.size:
            raise MemoryError("the block of the tick is too small")  # a bug, not a user's error
        self._used = end
        return self._memory[start:end].view(kind).reshape(shape)


def make_arrays(
    model: mujoco.MjModel, capacity: int, collision: int, closures: int
) -> tuple[Motion, Rows, FrictionWork, Device, Clock]:
    """All that a tick writes, on one block: *capacity* rows, *collision* of them in one."""
    nv, cap, hits = model.nv, capacity, 2 * capacity
    spans = tree_spans(model)
    width, loads = row_width(spans), load_size(spans)
    block = Block(
        8
        * (
            64 * nv
            + 2 * model.nM
            + 2 * loads
            + width * (4 * cap + 4 * hits)
            + model.ntendon
            + 32 * model.ntree
            + 3 * (model.ngeom + limit_count(model))
            + (96 + 2 * CONTACT_MEMORY) * cap
            + 2**17
        )
    )
    motion = _motion(block, model, loads, closures)
    rows = _rows(block, model, cap, width)
    return motion, rows, friction_work(collision, nv), make_device(model.nbody), make_clock()


def _motion(block: Block, model: mujoco.MjModel, loads: int, closures: int) -> Motion:
    """Of all degrees of freedom, and of the hand point."""
    a, nv, whole = block.array, model.nv, np.int64
    layout = model.M_rownnz, model.M_rowadr, model.M_colind
    motion = Motion(
        M=a(len(model.M_colind)), dry_damping=a(nv), bond=a(nv + model.ntendon),
        rank_one=a((2, nv)),
        inertia=make_inertia(*layout, closures), damped=make_inertia(*layout, closures),
        torque=a(nv), external=a(nv), penalty=a(nv), impulsive=a(nv), velocity=a(nv),
        after=a(nv), met=a(nv), scratch=a(nv), white=a(nv), load=a((2, loads)),
        turn=a(11), spun=a(3), jac=a((6, nv)),
        jac_white=a((6, nv)), jac_rate=a((6, nv)),
        twist=a(6), mobility=a((6, 6)), open=a((6, 6)), link=a((6, 6)), inside=a((2, 6, 6)),
        mapping=mapping_work(), rank=a(2, whole), tied=a(6), slack=a(6), error=a((2, 6)),
        reaction=a(nv), bias=a(6), on_tool=a(6), on_device=a(6), pushed=a(6), mapped=a(6),
        part=a(6), other=a(6), point=a(3), start=a(7),
    )  # fmt: skip
    motion.rank[0] = -1  # none yet
    return motion


def _rows(block: Block, model: mujoco.MjModel, cap: int, width: int) -> Rows:
    """Of contacts and limits, as many as there may be."""
    a, nv, hits, whole = block.array, model.nv, 2 * cap, np.int64
    limits = limit_count(model)
    rows = Rows(
        count=a(1, whole), dropped=a(1, whole), bounded=a(1, whole), struck=a(1, whole),
        hits=a(1, whole), impact=a(3), span=a((cap, 2, 2), whole), jac=a((cap, width)),
        white=a((cap, width)), gain=a((cap, 4)), separation=a(cap),
        velocity=a(cap), stiffness=a(cap), damping=a(cap), restitution=a(cap), friction=a(cap),
        turning=a((cap, 2)), force=a(cap), pressed=a(cap),
        carry=a((cap, 3)), rub=a((cap, 3)), slide=a((cap, 3)), rubbing=a(cap, whole),
        tangent=a((cap, width)), tangent_row=a(cap, whole), pressing=a(cap),
        memory=a((cap, CONTACT_MEMORY)),
        local=a((cap, 2, 3)),
        old_count=a(1, whole), old_row=a(cap, whole), old_taken=a(cap, whole),
        patch=a(cap, whole), old_patch=a(cap, whole),
        old_geom=a((cap, 2), whole), old_local=a((cap, 2, 3)), old_normal=a((cap, 3)),
        old_memory=a((cap, CONTACT_MEMORY)), recalled=a(cap, whole),
        worst=a(3), worst_geom=a(2, whole), joined=a(cap, whole),
        geom=a((cap, 2), whole), body=a((cap, 2), whole), tree=a((cap, 2), whole),
        normal=a((cap, 3)), point=a((cap, 3)), hit_row=a(hits, whole), hit_jac=a((hits, width)),
        hit_bound=a(hits),
        hit_restitution=a(hits), hit_friction=a(hits),
        hit_tangent=a((hits, 2, width)), hit_impulse=a(hits), hit_slide=a((hits, 2)),
        packs=a(1, whole), packed=a((model.ntree, 2), whole), place=a(nv, whole),
        slack_left=a(1, whole), limit_slack=a((limits, 3)), geom_slack=a((model.ngeom, 3)),
        heap=a(cap), lost=a(3), parent=a(model.ntree, whole), near=a(model.ntree, whole),
        group_row=a(model.ntree, whole), next_row=a(cap, whole), tree_row=a(model.ntree, whole),
        next_pair=a((cap, 2), whole), tree_gain=a((model.ntree, 2)), group_load=a(model.ntree),
        turning_load=a(model.ntree), braked=a(nv),
        group_state=a(model.ntree, whole), trust=a(1), spreading=a(1, whole),
        yields=a(1, whole), yielded=a(3), blows=a(model.ntree, whole),
        constrained=a(1, whole), group_restitution=a(model.ntree), touched=a(model.ntree, whole),
        loosened=a(2),
    )  # fmt: skip
    rows.worst[:2] = 1.0  # nothing was bounded yet
    rows.trust[0] = 1.0
    rows.place[:] = rows.patch[:] = rows.old_patch[:] = -1
    rows.parent[:] = np.arange(model.ntree)
    rows.touched[:] = 1  # what overlaps at the start has not just arrived
    return rows


def make_device(bodies: int = 0) -> Device:
    """A device of no mass that cannot move, in a world of so many bodies."""
    a, whole = np.zeros, np.int64
    return Device(
        mass=a((6, 6)), mobility=a((6, 6)), mask=a(6), axes=a(6, whole), dimension=a(1, whole),
        packed=a((2, 6, 6)), matched=a(1, whole), topology=a(6), environment=a(6), borne=a(1),
        felt=a(6), ring_memory=ring_memory(6), ringing=a(1, whole), lag=a(6), raw=a(6),
        filtered=a(6), altered=a(1, whole), guard=make_guarded(), observed=make_observed(bodies),
    )  # fmt: skip


def make_lead() -> Lead:
    """A reference that nobody follows."""
    a = np.zeros
    return Lead(
        gains=a((3, 6, 6)), senses=a(1, np.int64), reference=a(7), twist=a(6), feedforward=a(6),
        error=a((2, 6)), sum=a(6), feedback=a(6), sensed=a(6),
    )  # fmt: skip


def make_clock() -> Clock:
    """A clock that has not begun."""
    a, whole = np.zeros, np.int64
    return Clock(
        counts=a(8, whole), lateness=a(HISTOGRAM_BINS, whole), compute=a(HISTOGRAM_BINS, whole),
        timespec=a(2, whole),
    )  # fmt: skip
