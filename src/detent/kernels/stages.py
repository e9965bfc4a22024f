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

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from detent.errors import StructError
from detent.kernels.jit import JIT_ENABLED
from detent.kernels.struct import Struct, StructType

_PLAIN: dict[int, Callable[..., None]] = {}
_TAKES: dict[int, set[StructType]] = {}  # what the stage at an address was compiled for


def stage_address(function: Any, struct: Struct) -> int:
    """Compile *function* (or load it from the cache) for this struct; its address."""
    if JIT_ENABLED:
        signature = (struct.numba_type,)
        function.compile(signature)
        compiled = function.overloads[signature]
        name = compiled.fndesc.llvm_cfunc_wrapper_name
        address = int(compiled.library.get_pointer_to_function(name))
    else:
        address = id(function)
        _PLAIN[address] = function
    _TAKES.setdefault(address, set()).add(struct.numba_type)
    return address


@intrinsic
def _call(typingctx: Any, address: Any, struct: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1]])
        return context.get_dummy_value()

    return types.void(types.int64, struct), codegen


def _call_plain(address: int, struct: Struct) -> None:
    _PLAIN[int(address)](struct)


def run_stage(address: int, struct: Struct) -> None:
    """Call a stage from Python. Refuses a struct of another kind than it was compiled for."""
    takes = _TAKES.get(int(address))
    if takes is None or struct.numba_type not in takes:
        there = "no stage is" if takes is None else "what takes another struct is"
        problem = f"cannot be given to the stage at {int(address)}: {there} there"
        raise StructError(type(struct).__name__, "", problem)
    if JIT_ENABLED:
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(int(address))(struct.address)
    else:
        _call_plain(address, struct)


call_stage = _call if JIT_ENABLED else _call_plain
