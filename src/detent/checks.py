"""Validation of parameters at the edge: constructors, loaders, the command line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from detent.errors import ParameterError, UnknownNameError


def not_negative(name: str, value: float) -> float:
    """A finite number ≥ 0."""
    return _number(name, value, lambda x: x >= 0.0, "finite and not negative")


def positive(name: str, value: float) -> float:
    """A finite number > 0."""
    return _number(name, value, lambda x: x > 0.0, "finite and positive")


def fraction(name: str, value: float) -> float:
    """A number between 0 and 1."""
    return _number(name, value, lambda x: 0.0 <= x <= 1.0, "between 0 and 1")


def finite(name: str, value: float) -> float:
    """A finite number."""
    return _number(name, value, lambda x: True, "finite")


def _number(name, value, test, allowed):  # type: ignore[no-untyped-def]
    try:
        if isinstance(value, str | bytes):  # "0.3" would stay a text in the caller's hands
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterError(name, value, f"a number, {allowed}") from None
    if not math.isfinite(number) or not test(number):
        raise ParameterError(name, value, allowed)
    return number


def flag(name: str, value: bool) -> bool:
    """True or False, and nothing that merely counts as one of them."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(name, value, "True or False")
    return bool(value)


def instance(name: str, value: object, kind: Any, allowed: str) -> None:
    """An instance of a class (or of one of several), not its name."""
    if not isinstance(value, kind):
        raise ParameterError(name, value, allowed)


def one_of(kind: str, value: str, known: Iterable[str]) -> str:
    """One of the known names."""
    known = tuple(known)
    if value not in known:
        raise UnknownNameError(kind, value, known)
    return value


def vector(name: str, value: Sequence[float] | np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """A vector of finite numbers of one of the given sizes."""
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or array.size not in sizes or not np.isfinite(array).all():
        counts = " or ".join(map(str, sizes))
        raise ParameterError(name, value, f"{counts} finite numbers")
    return array


def positives(
    name: str, value: Sequence[float] | np.ndarray, sizes: tuple[int, ...], allowed: str
) -> np.ndarray:
    """A vector of positive numbers, which may be infinite, of one of the given sizes."""
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or array.size not in sizes or not (array > 0.0).all():
        raise ParameterError(name, value, allowed)
    return array


def unit_quaternion(name: str, value: Sequence[float]) -> np.ndarray:
    """Four numbers (w, x, y, z), not all zero, made a unit quaternion."""
    array = vector(f"{name} quaternion", value, (4,))
    size = float(np.linalg.norm(array))
    if size < 1e-9:
        raise ParameterError(f"{name} quaternion", value, "four numbers, not all zero")
    return array / size


def wrench(
    force: Sequence[float] = (0.0, 0.0, 0.0), torque: float | Sequence[float] = (0.0, 0.0, 0.0)
) -> np.ndarray:
    """Force (2 or 3 numbers [N]) and torque (about z, or 3 numbers [N·m]) as six numbers."""
    out = np.zeros(6)
    f = vector("force", force, (2, 3))
    out[: f.size] = f
    t = vector("torque", np.atleast_1d(torque), (1, 3))
    out[6 - t.size :] = t
    return out
