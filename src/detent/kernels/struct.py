"""Structures of arrays that compiled functions receive as one pointer.

A named tuple of forty arrays reaches a Numba function as three hundred arguments: slow to
compile and slow to call. A `Struct` is a table of addresses, shapes and scalars in memory;
compiled code gets the address of the table and reads a field where it is used. The arrays
are borrowed: the Python object keeps them alive, so keep it as long as compiled code runs.

With ``NUMBA_DISABLE_JIT=1`` it is an ordinary object with attributes.
"""

from __future__ import annotations

import hashlib
from typing import Any, dataclass_transform

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, lower_getattr_generic, typeof_impl, unbox
from numba.np.arrayobj import make_array, populate_array


class StructType(types.Type):
    """The type of a `Struct`: the names and types of its fields, in order."""

    def __init__(self, name: str, fields: tuple[tuple[str, types.Type], ...]) -> None:
        layout = ", ".join(f"{n}: {t}" for n, t in fields)
        # the name becomes part of every symbol that is compiled with it: keep it short
        super().__init__(name=f"{name}_{hashlib.sha256(layout.encode()).hexdigest()[:8]}")
        self.fields = fields

    def place(self, attr: str) -> tuple[int, types.Type] | None:
        """Where a field starts in the table [words], and its type."""
        word = 0
        for name, kind in self.fields:
            if name == attr:
                return word, kind
            word += _words(kind)
        return None


def _words(kind: types.Type) -> int:
    return 1 + 2 * kind.ndim if isinstance(kind, types.Array) else 1


@register_default(StructType)
class _StructModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, ir.IntType(64))


@infer_getattr
class _StructFields(AttributeTemplate):
    key = StructType

    def generic_resolve(self, typ: StructType, attr: str) -> types.Type | None:
        found = typ.place(attr)
        return None if found is None else found[1]


def _load(builder: Any, table: Any, word: int) -> Any:
    """A word of a table. It never changes, so that what is loaded once need not be again."""
    place = builder.gep(table, [ir.Constant(ir.IntType(64), word)])
    loaded = builder.load(place)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@lower_getattr_generic(StructType)
def _read_field(context: Any, builder: Any, typ: StructType, value: Any, attr: str) -> Any:
    found = typ.place(attr)
    assert found is not None  # the typing has seen to that
    word, kind = found
    table = builder.inttoptr(value, ir.IntType(64).as_pointer())
    first = _load(builder, table, word)
    if isinstance(kind, types.Float):
        return builder.bitcast(first, ir.DoubleType())
    if not isinstance(kind, types.Array):
        return first
    array = make_array(kind)(context, builder)
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    populate_array(
        array,
        data=builder.inttoptr(first, array.data.type),
        shape=[_load(builder, table, word + 1 + i) for i in range(kind.ndim)],
        strides=[_load(builder, table, word + 1 + kind.ndim + i) for i in range(kind.ndim)],
        itemsize=context.get_constant(types.intp, item),
        meminfo=None,
    )
    return array._getvalue()


@unbox(StructType)
def _unbox_struct(typ: StructType, obj: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(obj, "address")
    value = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    return NativeValue(value)


@dataclass_transform()
class Struct:
    """Base of structures: annotate the fields, construct with arrays, numbers or structs."""

    def __init__(self, *values: Any, **named: Any) -> None:
        names = tuple(type(self).__annotations__)
        fields = dict(zip(names, values, strict=False)) | named
        if tuple(fields) != names and set(fields) != set(names):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}")
        for name in names:
            setattr(self, name, fields[name])
        self._lay_out({name: fields[name] for name in names})

    def _lay_out(self, fields: dict[str, Any]) -> None:
        words: list[int] = []
        kinds = []
        for name, value in fields.items():
            kinds.append((name, _kind_of(value)))
            words += _table_words(value)
        self._table = np.array(words, np.int64)
        self.address = int(self._table.ctypes.data)
        self.numba_type = StructType(type(self).__name__, tuple(kinds))


_KINDS: dict[Any, types.Type] = {}  # numba.typeof is slow


def _kind_of(value: Any) -> types.Type:
    if isinstance(value, Struct):
        return value.numba_type
    if isinstance(value, np.ndarray):
        flags = value.flags
        key = (value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.aligned)
        if key not in _KINDS:
            kind = numba.typeof(value)
            _KINDS[key] = kind if kind.mutable else kind.copy(readonly=False)
        return _KINDS[key]
    return types.float64 if isinstance(value, float) else types.int64


def _table_words(value: Any) -> list[int]:
    if isinstance(value, Struct):
        return [value.address]
    if isinstance(value, np.ndarray):
        return [value.ctypes.data, *value.shape, *value.strides]
    if isinstance(value, float):
        return [int(np.float64(value).view(np.int64))]
    return [int(value)]


@typeof_impl.register(Struct)
def _typeof_struct(value: Struct, context: Any) -> StructType:
    return value.numba_type
