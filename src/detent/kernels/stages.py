"""Stages: compiled functions that are called through a pointer.

Numba links a function's whole call tree into every caller and optimises it again there, so
the cost of compiling grows with the depth of the tree. A stage is compiled once, takes one
`Struct`, returns nothing, and is called by its address: its callers stay small.

An exception cannot leave a stage: Numba prints it (`sys.unraisablehook`) and the caller goes
on. The tests fail on it (pyproject.toml), also on those of ``NUMBA_BOUNDSCHECK=1``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from detent.errors import StageError, StructError
from detent.kernels.jit import JIT_ENABLED, kernel
from detent.kernels.struct import Struct, StructType

_PLAIN: dict[int, Callable[..., None]] = {}
_STRUCTS: WeakValueDictionary[int, Struct] = WeakValueDictionary()  # by address, without a compiler
_TAKES: dict[int, set[StructType]] = {}  # what the stage at an address was compiled for


@kernel
def idle(address: int) -> None:
    """Stage: nothing. It stands where a configuration needs no stage, whatever struct is there."""


def stage_address(function: Any, struct: Struct) -> int:
    """Compile *function* (or load it from the cache) for this struct; its address."""
    address = _address(function, struct.numba_type)
    if not JIT_ENABLED:
        _STRUCTS[struct.address] = struct
    _TAKES.setdefault(address, set()).add(struct.numba_type)
    return address


def idle_address() -> int:
    """The address of `idle`."""
    return _address(idle, types.int64)


def _address(function: Any, kind: types.Type) -> int:
    if not JIT_ENABLED:
        _PLAIN[id(function)] = function
        return id(function)
    function.compile((kind,))
    compiled = function.overloads[(kind,)]
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    return int(compiled.library.get_pointer_to_function(name))


def empty_table(places: int) -> np.ndarray:
    """A table of stages in which every place is idle."""
    return np.full(places, idle_address(), np.int64)


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


@intrinsic
def _call(typingctx: Any, address: Any, struct: Any) -> Any:
    """Call a stage with a struct, or with the address of one."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1]])
        return context.get_dummy_value()

    return types.void(types.int64, struct), codegen


def _call_plain(address: int, struct: Struct | int) -> None:
    known = _STRUCTS[int(struct)] if isinstance(struct, int | np.integer) else struct
    _PLAIN[int(address)](known)


def run_stage(address: int, struct: Struct) -> None:
    """Call a stage from Python. Refuses a struct of another kind than it was compiled for."""
    takes = _TAKES.get(int(address))
    if takes is None and int(address) != idle_address():
        raise StageError(f"there is no stage at the address {int(address)}")
    if takes is not None and struct.numba_type not in takes:
        problem = f"cannot be given to the stage at {int(address)}: that takes another struct"
        raise StructError(type(struct).__name__, "", problem)
    if JIT_ENABLED:
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(int(address))(struct.address)
    else:
        _call_plain(address, struct)


call_stage = _call if JIT_ENABLED else _call_plain
