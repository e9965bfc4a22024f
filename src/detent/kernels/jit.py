"""The decorator of every compiled function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from detent.kernels.cached import folder_of
from detent.kernels.dispatch import Kernel

F = TypeVar("F", bound=Callable[..., Any])

#: every compiled function of the package, in the order of definition
KERNELS: list[Any] = []

JIT_ENABLED: bool = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]


def kernel(function: F) -> F:
    """Compile *function* with Numba: no GIL, cached on disk, no fast maths.

    ``fastmath`` would let the compiler assume that NaN does not happen, and the
    finite check of the force path would be optimised away.
    """
    compiled: Any = Kernel(function) if JIT_ENABLED else function
    KERNELS.append(compiled)
    return compiled  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """`kernel`, put into each of its callers: a size that is a constant there is one in it, too.

    For the inner loops of solvers, whose callers tell the six dofs of one free body, the
    commonest size of all, from others. The arithmetic is the same, in the same order.
    """
    compiled: Any = Kernel(function, inline=True) if JIT_ENABLED else function
    KERNELS.append(compiled)
    return compiled  # type: ignore[no-any-return]


def cache_of(function: Any) -> Path:
    """The folder in which the machine code of a kernel is kept."""
    return Path(folder_of(Path(function.py_func.__code__.co_filename)))
