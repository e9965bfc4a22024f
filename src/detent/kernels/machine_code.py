"""Machine code of stages on disk, loaded without waking Numba's compiler.

What Numba keeps of a function it can call and inline again, and for that it imports all of its
knowledge, and SciPy, before it loads the first one: most of a second. A stage is only jumped to.
So its object code is kept by itself, with the names of what it calls elsewhere; where one of those
is not known to this process, it is compiled anew instead.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from detent.kernels.jit import cache_of


class Code(NamedTuple):
    """Where compiled code of a function begins, for other code of Numba's and for C."""

    native: int
    wrapped: int


class _Kept(NamedTuple):
    native: str  # names
    wrapped: str
    elsewhere: tuple[str, ...]
    machine_code: bytes


_LIBRARIES: list[Any] = []  # kept: they own the code


def kept_at(function: Any, kinds: tuple[Any, ...]) -> Path:
    """The file for the code of a kernel, for arguments of these types."""
    line = function.py_func.__code__.co_firstlineno
    names = "-".join(kind.name for kind in kinds)
    return cache_of(function) / f"{function.__name__}-{line}-{names}.code"


def find_code(function: Any, kinds: tuple[Any, ...]) -> Code:
    """The code of a kernel: from its file, or compiled, and then kept there."""
    alone = function.py_func.__closure__ is None  # what a closure holds, no file can tell
    path = kept_at(function, kinds)
    found = _load(path) if alone else None
    if found is None:
        result = function.entry(kinds)
        _LIBRARIES.append(result.library)
        found = _located(result.library, result.fndesc)
        if alone:
            _keep(path, result)
    return found


def _located(library: Any, names: Any) -> Code:
    place = library.get_pointer_to_function
    return Code(int(place(names.llvm_func_name)), int(place(names.llvm_cfunc_wrapper_name)))


def _keep(path: Path, result: Any) -> None:
    library, names = result.library, result.fndesc
    module = library._final_module
    named = (*module.functions, *module.global_variables)
    elsewhere = (one.name for one in named if one.is_declaration)
    kept = _Kept(
        names.llvm_func_name,
        names.llvm_cfunc_wrapper_name,
        tuple(name for name in elsewhere if not name.startswith("llvm.")),
        library._get_compiled_object(),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        pickle.dump(tuple(kept), file)
    os.replace(file.name, path)  # whoever reads it sees all of it, or nothing


@global_compiler_lock  # type: ignore[untyped-decorator]
def _load(path: Path) -> Code | None:
    try:
        kept = _Kept(*pickle.loads(path.read_bytes()))
    except (OSError, EOFError, ValueError, TypeError, pickle.UnpicklingError):
        return None
    context = cpu_target.target_context
    rtsys.initialize(context)  # names of Numba's own functions
    if not all(llvm.address_of_symbol(name) for name in kept.elsewhere):
        return None
    codegen = context.codegen()
    library = codegen.create_library(path.stem)
    library.enable_object_caching()
    library._set_compiled_object(kept.machine_code)
    library._finalize_final_module()
    _LIBRARIES.append(library)
    place: Callable[[str], int] = codegen._engine.get_function_address
    return Code(place(kept.native), place(kept.wrapped))
