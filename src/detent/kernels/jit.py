"""The decorator of every compiled function, and the cache that it compiles into.

Numba's own cache looks only at the file of the function itself, so a change in
another file would leave a stale tick behind. The cache directory is therefore
keyed by all the sources that are compiled, by what generates the machine code, and by
whether that checks the bounds of arrays (``NUMBA_BOUNDSCHECK=1``).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding as llvm
import numba

F = TypeVar("F", bound=Callable[..., Any])

_ROOMS = ("kernels", "devices", "servo")  # where kernels are
_IMPORTS = re.compile(r"^\s*from detent\.([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)

#: every compiled function of the package, in the order of definition
KERNELS: list[Any] = []

JIT_ENABLED: bool = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]


def cache_home() -> Path:
    """The folder under which all of Detent's caches live."""
    explicit = os.environ.get("DETENT_CACHE_DIR")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "detent"


def compiled_sources(package: Path) -> list[Path]:
    """Files with kernels, and those that they import: all that machine code may depend on.

    So a change of the page, or of how a session is set up, leaves the cache as it is.
    """
    rooms = (package / room for room in _ROOMS)
    left = [
        path for room in rooms for path in room.rglob("*.py") if b"@kernel" in path.read_bytes()
    ]
    found = set(left)
    while left:
        for where, names in _IMPORTS.findall(left.pop().read_text("utf-8")):
            base = package.joinpath(*where.split("."))
            modules = [base, *(base / name for name in re.findall(r"\w+", names))]
            for path in (module.with_suffix(".py") for module in modules):
                if path not in found and path.is_file():
                    found.add(path)
                    left.append(path)
    return sorted(found)


@cache
def _fingerprint() -> str:
    """Of the sources as they are when the process starts: that is what it runs."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for source in compiled_sources(package):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    digest.update(f"{numba.__version__} {llvm.get_host_cpu_name()}".encode())
    config: Any = numba.config  # type: ignore[attr-defined]
    # debug information turns the checks on, too, where they are not turned off by name
    digest.update(f"bounds {config.BOUNDSCHECK} debug {config.DEBUGINFO_DEFAULT}".encode())
    try:
        from importlib.metadata import version

        digest.update(version("mujoco").encode())
    except ImportError:
        pass
    return digest.hexdigest()[:16]


def compiled_cache() -> Path:
    """Where the machine code of exactly these sources is kept."""
    return cache_home() / "compiled" / _fingerprint()


_CACHE = str(compiled_cache())


def kernel(function: F) -> F:
    """Compile *function* with Numba: no GIL, cached on disk, no fast maths.

    ``fastmath`` would let the compiler assume that NaN does not happen, and the
    finite check of the force path would be optimised away.
    """
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = _CACHE  # type: ignore[attr-defined]
    try:
        compiled = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
    KERNELS.append(compiled)
    return compiled  # type: ignore[no-any-return]
