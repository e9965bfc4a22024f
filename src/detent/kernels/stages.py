"""Stages: compiled functions that are called through a pointer.

Numba links a function's whole call tree into every caller and optimises it again there, so
the cost of compiling grows with the depth of the tree. A stage is compiled once, takes one
`Struct`, returns nothing, and is called by its address: its callers stay small.

An exception cannot leave a stage, and kernels raise none: division follows IEEE, and indices are
not checked. With ``NUMBA_BOUNDSCHECK=1`` they are; a stage is then called through Numba's wrapper,
which prints the exception (`sys.unraisablehook`), and the tests fail on it (pyproject.toml).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from detent.errors import StageError, StructError
from detent.kernels.dispatch import CHECKED  # then only Numba's wrapper of a stage tells
from detent.kernels.jit import JIT_ENABLED
from detent.kernels.machine_code import find_code, kept_at
from detent.kernels.struct import Struct, StructType

IDLE = 0  # the address of no stage: `call_stage` passes it over

_PLAIN: dict[int, Callable[..., None]] = {}
_STRUCTS: WeakValueDictionary[int, Struct] = WeakValueDictionary()  # by address, without a compiler
_TAKES: dict[int, set[StructType]] = {}  # what the stage at an address was compiled for
_WRAPPED: dict[int, int] = {}  # the same stage, as C calls it
_FOUND: dict[tuple[Any, StructType], int] = {}  # what was compiled or loaded in this process

_ENTRIES: dict[tuple[Any, tuple[Any, ...]], Callable[..., int]] = {}  # that Python calls


def stage_address(function: Any, struct: Struct) -> int:
    """Compile *function* (or load it from the cache) for this struct; its address."""
    if JIT_ENABLED:
        found = (function, struct.numba_type)
        address = _FOUND.get(found) or _FOUND.setdefault(found, _compiled(*found))
    else:
        address = id(function)
        _PLAIN[address] = function
        _STRUCTS[struct.address] = struct
    _TAKES.setdefault(address, set()).add(struct.numba_type)
    return address


def _compiled(function: Any, kind: StructType) -> int:
    code = find_code(function, (kind,))
    address = code.wrapped if CHECKED else code.native
    _WRAPPED[address] = code.wrapped
    return address


def empty_table(places: int) -> np.ndarray:
    """A table of stages in which every place is idle."""
    return np.full(places, IDLE, np.int64)


def put_stage(table: np.ndarray, place: int, function: Any, struct: Struct, takes: type) -> None:
    """Put a stage at a place whose callers pass a struct of the class *takes*.

    From then on nothing else writes into the table.
    """
    if place not in range(len(table)):
        raise StageError(f"there is no place {place} in a table of {len(table)} stages")
    if not isinstance(struct, takes):
        name = getattr(function, "__name__", function)
        given = type(struct).__name__
        raise StageError(f"the stage {name} takes a {takes.__name__}, not a {given}")
    address = stage_address(function, struct)
    table.flags.writeable = True
    table[place] = address
    table.flags.writeable = False


def is_ready(function: Any, struct: Struct) -> bool:
    """Whether this process has that stage already."""
    return not JIT_ENABLED or (function, struct.numba_type) in _FOUND


def is_kept(function: Any, struct: Struct) -> bool:
    """Whether that stage can be had without compiling it."""
    return is_ready(function, struct) or kept_at(function, (struct.numba_type,)).exists()


@intrinsic
def _call(typingctx: Any, address: Any, struct: Any) -> Any:
    """Call a stage with a struct, or with the address of one; nothing, where none is.

    It is called as Numba calls a function of its own, without the wrapper for C: a second jump
    through a pointer would cost as much as the first.
    """

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word, byte = ir.IntType(64), ir.IntType(8).as_pointer()
        with builder.if_then(builder.icmp_signed("!=", args[0], ir.Constant(word, IDLE))):
            if CHECKED:
                kind = ir.FunctionType(ir.VoidType(), [word])
                given = [args[1]]
            else:  # where it would put a result and an exception, and what it takes
                kind = ir.FunctionType(ir.IntType(32), [byte.as_pointer()] * 2 + [word])
                given = [cgutils.alloca_once(builder, byte) for _ in range(2)] + [args[1]]
            builder.call(builder.inttoptr(args[0], kind.as_pointer()), given)
        return context.get_dummy_value()

    return types.void(types.int64, struct), codegen


def _call_plain(address: int, struct: Struct | int) -> None:
    if address == IDLE:
        return
    known = _STRUCTS[int(struct)] if isinstance(struct, int | np.integer) else struct
    _PLAIN[int(address)](known)


def run_stage(address: int, struct: Struct) -> None:
    """Call a stage from Python. Refuses a struct of another kind than it was compiled for."""
    takes = _TAKES.get(int(address))
    if takes is None:
        raise StageError(f"there is no stage at the address {int(address)}")
    if struct.numba_type not in takes:
        problem = f"cannot be given to the stage at {int(address)}: that takes another struct"
        raise StructError(type(struct).__name__, "", problem)
    if JIT_ENABLED:
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(_WRAPPED[int(address)])(struct.address)
    else:
        _call_plain(address, struct)


def run_entry(function: Any, struct: Struct, *numbers: int) -> int:
    """Call a kernel that takes a struct and integers and returns one, as `run_stage` does a stage.

    From Python alone; Numba's own way would first load all that it takes to compile something.
    """
    if not JIT_ENABLED:
        return int(function(struct, *numbers))
    kinds = (struct.numba_type, *(types.int64 for _ in numbers))
    entry = _ENTRIES.get((function, kinds))
    if entry is None:
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(kinds))
        entry = prototype(find_code(function, kinds).wrapped)
        _ENTRIES[function, kinds] = entry
    return int(entry(struct.address, *map(int, numbers)))


call_stage = _call if JIT_ENABLED else _call_plain
