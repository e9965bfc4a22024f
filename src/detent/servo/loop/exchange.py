"""Latest-value slots between the servo and one partner: wait-free, single writer, single reader.

A slot has three buffers. The writer owns one, the reader owns one, and the third lies in
the middle with a mark if it is fresh; each side swaps its own with the middle by one atomic
exchange, so nobody waits and nobody sees a half-written value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from detent.kernels.jit import JIT_ENABLED, kernel
from detent.kernels.struct import Struct
from detent.kernels.vectors import copy_vector

FRESH = 4  # mark on the index of the middle buffer


def _plain_swap(array: np.ndarray, index: int, value: int) -> int:
    """Exchange without a compiler: only one thread runs then."""
    old = int(array[index])
    array[index] = value
    return old


def _plain_load(array: np.ndarray, index: int) -> int:
    return int(array[index])


def _plain_store(array: np.ndarray, index: int, value: int) -> None:
    array[index] = value


def _element(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    structure = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(
        context, builder, array_type, structure, [index], wraparound=False
    )


@intrinsic
def _swap(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _element(context, builder, sig.args[0], args[0], args[1])
        return builder.atomic_rmw("xchg", place, args[2], "acq_rel")

    return types.int64(array, types.intp, types.int64), codegen


@intrinsic
def _load(typingctx: Any, array: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _element(context, builder, sig.args[0], args[0], args[1])
        return builder.load_atomic(place, "acquire", 8, typ=ir.IntType(64))

    return types.int64(array, types.intp), codegen


@intrinsic
def _store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _element(context, builder, sig.args[0], args[0], args[1])
        builder.store_atomic(args[2], place, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), codegen


swap = _swap if JIT_ENABLED else _plain_swap
load_acquire = _load if JIT_ENABLED else _plain_load
store_release = _store if JIT_ENABLED else _plain_store


class Slot(Struct):
    """Three buffers of bytes and who owns which."""

    buffers: np.ndarray  # (3, n) bytes
    middle: np.ndarray  # (1,) index of the middle buffer, + FRESH
    writer: np.ndarray  # (1,) index that the writer owns
    reader: np.ndarray  # (1,) index that the reader owns


def make_slot(size: int) -> Slot:
    """A slot for values of *size* bytes."""
    return Slot(
        np.zeros((3, size), np.uint8),
        np.array([1], np.int64),
        np.array([0], np.int64),
        np.array([2], np.int64),
    )


@kernel
def publish(slot: Slot, value: np.ndarray) -> None:
    """Write a value (bytes); it replaces the one before."""
    mine = slot.writer[0]
    copy_vector(value, slot.buffers[mine])
    slot.writer[0] = swap(slot.middle, 0, mine + FRESH) % FRESH


@kernel
def take(slot: Slot) -> bool:
    """Whether there is a value that was not read yet; it is in the reader's buffer then."""
    if load_acquire(slot.middle, 0) < FRESH:
        return False
    slot.reader[0] = swap(slot.middle, 0, slot.reader[0]) % FRESH
    return True


@kernel
def latest(slot: Slot, out: np.ndarray) -> bool:
    """Copy the newest value into *out* if there is one that was not read yet."""
    if not take(slot):
        return False
    copy_vector(slot.buffers[slot.reader[0]], out)
    return True
