"""The same servo again: a run that differs from the last one of its world in gains only.

To allocate a servo takes as long as thousands of ticks. So what a world's last run left behind is
kept beside the world, with what its memory held at the start, and a run for which the same would be
allocated takes that. Whatever is written while it ticks lies in arrays of its structs and in
MuJoCo's data; both are put back as they were, to the bit. Nobody else may hold such a servo: it is
lent (`lent`), and not given away as `Session.prepare` does.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import mujoco
import numpy as np

from detent.devices.adapters import Adapter
from detent.hands import Hand
from detent.kernels.struct import Struct
from detent.setup.asked import Asked
from detent.setup.contact import fill_contact
from detent.setup.device import ignore_limits
from detent.setup.limits import beyond_passive
from detent.setup.passivity import fill_passivity
from detent.setup.prepared import Prepared
from detent.setup.subject import Subject
from detent.setup.warmup import warm
from detent.world.contact import Contact
from detent.world.world import World

_NOT_KEPT = ("ring", "ring_bytes", "_table")  # rows are written whole; addresses stay
_NOT_OF_A_START = ("model", "spec", "name", "source")  # of a world; its model counts by itself


class Spare(NamedTuple):
    """A servo that nobody uses, and what it was at the start."""

    key: bytes
    ready: Prepared
    contact: Contact
    start: list[tuple[np.ndarray, np.ndarray]]  # memory, and what it held
    data: mujoco.MjData


#: by world: the key of its last run, then a servo that was made for the same key twice
_LAST: WeakKeyDictionary[World, bytes | Spare] = WeakKeyDictionary()


@contextmanager
def lent(
    subject: Subject, asked: Asked, hand: Hand | None, rate: float, ring: int
) -> Iterator[Prepared]:
    """A servo that is ready to run, until the block is left: a new one, or that of the last run.

    One that is made for the second time is kept: most worlds are run once, and pay nothing.
    """
    key = key_of(subject, asked, hand, rate, ring)
    last = None if key is None else _LAST.pop(subject.world, None)  # who runs beside gets none
    spare = None
    if isinstance(last, Spare) and last.key == key:
        spare, ready = last, renewed(last, asked)
    else:
        ready = subject.allocate(asked, hand, rate, ring, None)
        warm(ready)
        known = last.key if isinstance(last, Spare) else last
        if key is not None and known == key and ready.adapter.begin is None:
            spare = kept(key, ready, asked.contact)
    yield ready
    if key is not None:  # not after an error, which may have left anything behind
        _LAST[subject.world] = spare or key


def key_of(
    subject: Subject, asked: Asked, hand: Hand | None, rate: float, ring: int
) -> bytes | None:
    """A digest of all that decides what is allocated, but for the gains; None: of no use here."""
    world = subject.world
    if not subject.touchable or subject.cut is not None or world.concave:
        return None
    contact = replace(asked.contact, stiffness=1.0, damping=1.0)
    parts = (
        *(contact, asked.coupling, asked.device, asked.force_path, asked.passivity, asked.outside),
        *(asked.integrator, asked.frozen, asked.baumgarte, asked.sleep, hand, rate, ring),
        {name: value for name, value in vars(world).items() if name not in _NOT_OF_A_START},
    )
    try:
        digest = hashlib.sha256(pickle.dumps(parts))
    except (pickle.PicklingError, TypeError, AttributeError):  # a device of somebody's own
        return None
    model = np.empty(mujoco.mj_sizeModel(world.model), np.uint8)
    mujoco.mj_saveModel(world.model, None, model)
    digest.update(model.data)
    return digest.digest()


def kept(key: bytes, ready: Prepared, contact: Contact) -> Spare:
    """A servo that has not run yet, with a copy of all that a run may write."""
    start = [(memory, memory.copy()) for memory in memory_of(ready)]
    data = mujoco.MjData(ready.model)
    mujoco.mj_copyData(data, ready.model, ready.data)
    return Spare(key, ready, contact, start, data)


def memory_of(ready: Prepared) -> list[np.ndarray]:
    """All memory that its structs point to, each byte once, but for rows and MuJoCo's data."""
    arrays, seen = list[np.ndarray](), set[int]()

    def visit(struct: Struct) -> None:
        if id(struct) in seen:
            return
        seen.add(id(struct))
        for name, value in vars(struct).items():
            if isinstance(value, Struct):
                visit(value)
            elif isinstance(value, np.ndarray) and name not in _NOT_KEPT:
                arrays.append(value)

    adapter: Adapter | None = ready.adapter
    visit(ready.servo)
    while adapter is not None:
        visit(adapter.struct)
        adapter = adapter.inner
    return _whole(arrays)


def _whole(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The memory of arrays as bytes, those that were cut from one block together."""
    ends: dict[int, list[int]] = {}
    owners: dict[int, np.ndarray] = {}
    for array in arrays:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner.base is not None or not owner.flags.writeable or array.size == 0:
            continue  # MuJoCo's, the table of stages, nothing
        first = owner.__array_interface__["data"][0]
        low, high = np.lib.array_utils.byte_bounds(array)
        owners[first] = owner
        end = ends.setdefault(first, [low - first, high - first])
        end[:] = min(end[0], low - first), max(end[1], high - first)
    flat = (owner.reshape(-1).view(np.uint8) for owner in owners.values())
    return [memory[low:high] for memory, (low, high) in zip(flat, ends.values(), strict=True)]


def renewed(spare: Spare, asked: Asked) -> Prepared:
    """The servo as it was at the start, with other gains."""
    old, contact = spare.ready, asked.contact
    for memory, was in spare.start:
        memory[...] = was
    mujoco.mj_copyData(old.data, old.model, spare.data)
    notes, device, p, law = list(old.notes), old.servo.device, old.servo.parameters, asked.passivity
    if contact != spare.contact:
        told = beyond_passive(device, p, law.law)
        fill_contact(p, contact)
        if asked.coupling.channels.leads:
            ignore_limits(p)
        fill_passivity(p, law, device.observed)
        notes = [note for note in notes if note not in told]
        notes += beyond_passive(device, p, law.law)
    return replace(old, notes=notes, settings=old.settings._replace(contact=contact))
