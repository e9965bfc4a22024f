"""What the fields of a `Struct` may hold: their annotations, and the checks that follow.

Compiled code takes the words of a table for what the annotation says and checks nothing, so
a value is checked here, once, where it enters.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, get_args, get_origin

import numba
import numpy as np
from numba import types

from detent.errors import StructError

#: elements of arrays that need not be declared: those of ``np.ndarray`` and of records
ELEMENTS = tuple(np.dtype(t) for t in (np.float64, np.int64, np.int32, np.uint8))
#: elements that ``NDArray[...]`` may declare besides
DECLARED_ONLY = tuple(
    np.dtype(t)
    for t in (np.float32, np.int8, np.int16, np.uint16, np.uint32, np.uint64, np.bool_)
)  # fmt: skip

_CONTIGUOUS, _FORTRAN, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400  # of ndarray.flags.num
_INT64 = np.iinfo(np.int64)


class Whole:
    """A field annotated ``int``."""

    kind = types.int64

    def take(self, value: Any) -> int:
        """The value as compiled code reads it, or a ValueError that says what is allowed."""
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError("an int or a NumPy integer")
        if not _INT64.min <= value <= _INT64.max:
            raise ValueError("within 64 bits")
        return int(value)

    def words(self, value: int) -> tuple[int, ...]:
        """What the table holds of it."""
        return (value,)


class Real:
    """A field annotated ``float``. An int is taken where a float can hold it exactly.

    A float32 is not: 0.1 as a float32 is another number, which its sender may not mean.
    """

    kind = types.float64

    def take(self, value: Any) -> float:
        """The value as compiled code reads it, or a ValueError that says what is allowed."""
        if isinstance(value, float):  # np.float64 is one, too
            return float(value)
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError("a float, np.float64 or int: convert it with float(...)")
        if abs(int(value)) > 2**53:
            raise ValueError("an int of at most 53 bits, or a float")  # float(...) may round
        return float(value)

    def words(self, value: float) -> tuple[int, ...]:
        """What the table holds of it: its bits."""
        return (int(np.float64(value).view(np.int64)),)


class Layout(NamedTuple):
    """What compiled code knows of an array beforehand; its shape and strides are data."""

    dtype: np.dtype
    ndim: int
    flags: int  # that an array must have

    def holds(self, array: np.ndarray) -> bool:
        """Whether compiled code would read this array rightly."""
        return (
            type(array) is np.ndarray
            and array.flags.num & self.flags == self.flags
            and array.ndim == self.ndim
            and array.dtype == self.dtype
        )

    def __str__(self) -> str:
        order = {_CONTIGUOUS: ", contiguous", _FORTRAN: ", in Fortran's order"}
        return f"{self.ndim}-D, of {self.dtype}" + order.get(self.flags & 3, "")


class Array:
    """A field annotated ``np.ndarray`` or ``NDArray[element]``.

    The first array that it takes fixes dtype, number of axes and contiguity for good: the
    functions that read it are compiled once for all instances. One that began with gaps
    between its elements takes any strides.
    """

    def __init__(self, element: np.dtype | None = None) -> None:
        self.element = element
        self.layout: Layout | None = None
        self.kind: types.Type | None = None

    def take(self, value: Any) -> np.ndarray:
        """The array itself, or a ValueError that says what is allowed."""
        if self.layout is not None and self.layout.holds(value):
            return value  # type: ignore[no-any-return]
        self._check(value)
        if self.layout is not None:
            raise ValueError(f"like that of the first instance, {self.layout}")
        return value  # type: ignore[no-any-return]

    def _check(self, value: Any) -> None:
        if type(value) is not np.ndarray:
            raise ValueError("a plain np.ndarray: np.asarray(...) makes one")
        if self.element is not None and value.dtype != self.element:
            raise ValueError(f"of {self.element} in native byte order, as it is declared")
        if self.element is None and not _made_of_elements(value.dtype):
            names = ", ".join(map(str, ELEMENTS))
            raise ValueError(
                f"of {names} in native byte order, or of records of them; NDArray[...] declares "
                "another element"
            )
        if not value.flags.aligned:
            raise ValueError("aligned in memory: a copy is")
        if not value.flags.writeable:
            raise ValueError("writeable: compiled code does not ask; give it a copy")

    def fix(self, value: np.ndarray) -> None:
        """Hold later instances to the layout of this array."""
        if self.layout is None:
            order = value.flags.num & _CONTIGUOUS or value.flags.num & _FORTRAN
            self.kind = numba.typeof(value)
            self.layout = Layout(value.dtype, value.ndim, order | _ALIGNED | _WRITEABLE)

    def words(self, value: np.ndarray) -> tuple[int, ...]:
        """What the table holds of it."""
        place: int = value.__array_interface__["data"][0]
        return (place, *value.shape, *value.strides)


def _made_of_elements(dtype: np.dtype) -> bool:
    if dtype.fields is not None:
        return all(_made_of_elements(inner[0]) for inner in dtype.fields.values())
    return dtype.base in ELEMENTS  # one of another byte order is not equal to them


class Nested:
    """A field annotated with another struct, or with the name of one that is not imported."""

    def __init__(self, struct: type | str) -> None:
        self.struct = struct
        self.kind: types.Type | None = None

    def take(self, value: Any) -> Any:
        """The struct itself, or a ValueError that says what is allowed."""
        if isinstance(self.struct, type):
            right = isinstance(value, self.struct)
        else:  # imported for type checkers only
            right = type(value).__name__ == self.struct and hasattr(value, "numba_type")
        if not right:
            raise ValueError(f"an instance of {getattr(self.struct, '__name__', self.struct)}")
        return value

    def fix(self, value: Any) -> None:
        """Structs of one class have one type; take note of it."""
        self.kind = value.numba_type

    def words(self, value: Any) -> tuple[int, ...]:
        """What the table holds of it."""
        return (value.address,)


Rule = Whole | Real | Array | Nested


def rules_of(struct: type, base: type) -> dict[str, Rule]:
    """The rule of each field of a struct, in order; *base* is what all structs derive from."""
    module = sys.modules.get(struct.__module__)
    known = {} if module is None else dict(vars(module))
    return {
        name: _rule(struct.__name__, name, _resolved(annotation, known), base)
        for name, annotation in struct.__annotations__.items()
    }


def _resolved(annotation: Any, known: dict[str, Any]) -> Any:
    """An annotation as an object; a name that cannot be found stays a name."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, known)
    except (NameError, AttributeError):
        return annotation


def _rule(struct: str, name: str, annotation: Any, base: type) -> Rule:
    if annotation is int:
        return Whole()
    if annotation is float:
        return Real()
    if annotation is np.ndarray:
        return Array()
    if get_origin(annotation) is np.ndarray:  # NDArray[np.float32]
        element = np.dtype(get_args(get_args(annotation)[1])[0])
        if element in ELEMENTS + DECLARED_ONLY:
            return Array(element)
    if isinstance(annotation, type) and issubclass(annotation, base):
        return Nested(annotation)
    if isinstance(annotation, str) and annotation.isidentifier():
        return Nested(annotation)
    raise StructError(
        struct,
        name,
        f"is annotated {annotation!r}: it must be int, float, np.ndarray, another Struct, or "
        f"NDArray[...] of {', '.join(map(str, ELEMENTS + DECLARED_ONLY))}",
    )


def told(value: Any) -> str:
    """A refused value in a few words."""
    if isinstance(value, np.ndarray):
        gaps = "" if value.flags.num & 3 else ", with gaps"
        return f"{type(value).__name__}({value.ndim}-D, of {value.dtype}{gaps})"
    text = repr(value)
    return text if len(text) < 60 else f"a {type(value).__name__}"
