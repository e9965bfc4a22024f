"""Compiled mechanisms, cached on disk by the content of their description."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from detent.kernels.cached import compiled_cache
from detent.mechanism.mechanism import BodyDamper, BodySpring, Mechanism

Progress = Callable[[float], None]
DERIVED = 0.5  # of the work, when the equations are there


def fingerprint(m: Mechanism) -> str:
    """A digest of all that the generated source depends on: not of values that may change."""
    import sympy as sp

    digest = hashlib.sha256(_own_sources().encode())
    fields = (
        m.coordinates, m.u, m.inertia, m.kinetic_energy, m.task, m.kinematics, m.handle,
        m.rotation, m.holonomic, m.pfaffian, m.parametrisation, m.potential, m.rayleigh,
        m.stops, tuple(m.constants), dict(m.energies), dict(m.bodies), m.track,
    )  # fmt: skip
    digest.update(sp.__version__.encode())
    for value in fields:
        digest.update(_text(value).encode())
    return digest.hexdigest()[:24]


def _text(value: Any) -> str:
    """A text that is the same for the same expressions."""
    import sympy as sp

    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(_text, value)) + ")"
    if isinstance(value, BodySpring | BodyDamper) or value is None or hasattr(value, "rates"):
        return repr(value)
    return str(sp.srepr(sp.sympify(value)))


@cache
def _own_sources() -> str:
    here = Path(__file__).parent
    names = ("derive.py", "generate.py", "layout.py", "mechanism.py", "rotations.py")
    return "".join((here / name).read_text(encoding="utf-8") for name in names)


def source_file(m: Mechanism) -> Path:
    """Where the generated source of a mechanism is kept."""
    return compiled_cache() / "mechanisms" / f"mechanism_{fingerprint(m)}.py"


def is_built(m: Mechanism) -> bool:
    """Whether the source, and a mark that it is compiled, are on disk."""
    return source_file(m).with_suffix(".compiled").exists()


def mark_built(m: Mechanism) -> None:
    """Leave the mark, once the stages are compiled."""
    source_file(m).with_suffix(".compiled").touch()


def build(m: Mechanism, progress: Progress | None = None) -> ModuleType:
    """The module of a mechanism, with its stages, SIZES and COLUMNS: derived, or from the cache."""
    path = source_file(m)
    if not path.exists():
        from detent.mechanism.derive import derive
        from detent.mechanism.generate import source

        text = source(m.name, derive(m))
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(f".{os.getpid()}")
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    if progress is not None:
        progress(DERIVED)
    return _load(path)


def _load(path: Path) -> ModuleType:
    if path.stem in sys.modules:
        return sys.modules[path.stem]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # the file is there
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
