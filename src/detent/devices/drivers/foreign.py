"""C functions called by their address from compiled code: no binding package, no Python."""

from __future__ import annotations

import ctypes
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from detent.kernels.jit import JIT_ENABLED
from detent.kernels.machine_code import find_code


@intrinsic
def _call(typingctx: Any, address: Any, arguments: Any) -> Any:
    """Call the function at *address* with a tuple of integers, pointers and doubles; an int32.

    Every integer goes as 64 bits: the calling conventions of x86-64 and AArch64 let a callee
    that wants fewer (an int, a char) look at those only.
    """
    kinds = [ir.DoubleType() if kind == types.float64 else ir.IntType(64) for kind in arguments]
    given = types.Tuple([types.float64 if k == types.float64 else types.int64 for k in arguments])

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        values = [builder.extract_value(args[1], i) for i in range(len(kinds))]
        kind = ir.FunctionType(ir.IntType(32), kinds)
        code = builder.call(builder.inttoptr(args[0], kind.as_pointer()), values)
        return builder.sext(code, ir.IntType(64))

    return types.int64(types.int64, given), codegen


def _call_plain(address: int, arguments: tuple[Any, ...]) -> int:
    kinds = [ctypes.c_double if isinstance(a, float) else ctypes.c_int64 for a in arguments]
    return int(ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(int(address))(*arguments))


call_c = _call if JIT_ENABLED else _call_plain


def address_of(function: Any) -> int:
    """Where a function of a loaded library is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def callback_address(function: Any, struct: Any) -> tuple[int, Any]:
    """A kernel that takes a struct and returns an int, as C calls it; keep the second one alive."""
    if not JIT_ENABLED:
        kind = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
        plain = kind(lambda _: function(struct))
        return address_of(plain), plain
    return find_code(function, (struct.numba_type,)).wrapped, struct
