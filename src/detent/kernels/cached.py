"""Where machine code is kept: by the content of its sources, whatever folder they lie in.

Numba's own cache looks only at the file of a function, at its path and at its time stamp: a change
in another file would leave a stale tick behind, and a second clone would compile everything again.
Here a function is kept under a key of its own file and of every file that this imports, in turn,
of what generates the machine code, and of whether that checks the bounds of arrays
(``NUMBA_BOUNDSCHECK=1``). So a change compiles anew what depends on it, and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

PACKAGE = Path(__file__).parents[1]
_ROOMS = ("kernels", "shapes", "devices", "servo")  # where kernels are
_IMPORTS = re.compile(r"^\s*from detent\.([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def cache_home() -> Path:
    """The folder under which all of Detent's caches live."""
    explicit = os.environ.get("DETENT_CACHE_DIR")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "detent"


@cache
def _text(path: Path) -> str:
    """Of a source as it is when the process first asks: that is what it runs."""
    return path.read_text("utf-8")


@cache
def _digest(path: Path) -> bytes:
    return hashlib.sha256(_text(path).encode()).digest()


@cache
def _modules(package: Path) -> dict[str, Path]:
    """All files of the package, by the names that they are imported by."""
    files = package.rglob("*.py")
    return {".".join(path.relative_to(package).with_suffix("").parts): path for path in files}


@cache
def _imported(path: Path, package: Path) -> tuple[Path, ...]:
    """Files of the package that a file imports by itself."""
    known = _modules(package)
    found = []
    for where, names in _IMPORTS.findall(_text(path)):
        modules = [where, *(f"{where}.{name}" for name in re.findall(r"\w+", names))]
        found += [known[module] for module in modules if module in known]
    return tuple(found)


def needed_by(paths: list[Path], package: Path) -> list[Path]:
    """Those files and all that they import: all that their machine code may depend on."""
    found, left = set(paths), list(paths)
    while left:
        new = [path for path in _imported(left.pop(), package) if path not in found]
        found.update(new)
        left += new
    return sorted(found)


def compiled_sources(package: Path) -> list[Path]:
    """All files with kernels, and those that they import.

    So a change of the page, or of how a session is set up, leaves the cache as it is.
    """
    files = (path for room in _ROOMS for path in (package / room).rglob("*.py"))
    return needed_by([path for path in files if "@kernel" in _text(path)], package)


@cache
def toolchain() -> str:
    """What turns sources into machine code."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        physics = version("mujoco")
    except PackageNotFoundError:
        physics = ""
    config: Any = numba.config  # type: ignore[attr-defined]
    # debug information turns the checks on, too, where they are not turned off by name
    checks = f"bounds {config.BOUNDSCHECK} debug {config.DEBUGINFO_DEFAULT} opt {config.OPT}"
    processor = f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    return f"{numba.__version__} {processor} {checks} {physics}"


def key_of(sources: list[Path], package: Path) -> str:
    """Of the content of files, and of what compiles them."""
    digest = hashlib.sha256(toolchain().encode())
    for path in sources:
        name = path.relative_to(package) if path.is_relative_to(package) else path
        digest.update(f"{name.as_posix()}\0".encode() + _digest(path))
    return digest.hexdigest()[:16]


@cache
def compiled_cache() -> Path:
    """What goes with exactly these sources, all of them together."""
    return cache_home() / "compiled" / key_of(compiled_sources(PACKAGE), PACKAGE)


@cache
def folder_of(file: Path) -> str:
    """Where the machine code of a file's kernels is kept."""
    return str(cache_home() / "compiled" / key_of(needed_by([file], PACKAGE), PACKAGE))


class _Locator(_CacheLocator):  # type: ignore[misc]  # Numba has no types
    """Tells Numba where a function is kept."""

    def __init__(self, file: str, line: int) -> None:
        self._file, self._line = Path(file), line

    def get_cache_path(self) -> str:
        return folder_of(self._file)

    def get_source_stamp(self) -> str:
        return ""  # the path says it all

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator:
        return cls(file, function.__code__.co_firstlineno)


class _Impl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class ByContent(FunctionCache):  # type: ignore[misc]
    """The cache of one function."""

    _impl_class = _Impl
