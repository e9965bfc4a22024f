"""Structures of arrays that compiled functions receive as one pointer.

A named tuple of forty arrays reaches a Numba function as three hundred arguments: slow to
compile and slow to call. A `Struct` is a table of addresses, shapes and scalars in memory;
compiled code gets the address of the table and reads a field where it is used. The arrays
are borrowed: the Python object keeps them alive, so keep it as long as compiled code runs.

With ``NUMBA_DISABLE_JIT=1`` it is an ordinary object with attributes.
"""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar, dataclass_transform

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, lower_getattr_generic, typeof_impl, unbox

from detent.errors import StructError
from detent.kernels.fields import Array, Nested, Rule, rules_of, told


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
    from numba.np.arrayobj import make_array, populate_array  # slow to import, and to compile only

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


_RESERVED = ("address", "numba_type", "_table")


@dataclass_transform(frozen_default=True)
class Struct:
    """Base of structures: annotate the fields, construct with arrays, numbers or structs.

    It is frozen: compiled code keeps addresses, so a field that were another array for Python
    would still be the old one there. What arrays hold may change: ``s.x[:] = ...``.
    """

    address: int  # of the table
    numba_type: StructType
    _rules: ClassVar[dict[str, Rule] | None] = None
    _type: ClassVar[StructType | None] = None  # once there is an instance

    def __init_subclass__(cls) -> None:
        if cls.__bases__ != (Struct,):
            raise StructError(cls.__name__, "", "must derive from Struct, and from nothing else")
        for name in cls.__annotations__:
            if name in _RESERVED or hasattr(Struct, name):
                raise StructError(cls.__name__, name, "is a name that every struct uses itself")

    def __init__(self, *values: Any, **named: Any) -> None:
        rules = self._field_rules()
        fields = self._given(tuple(rules), values, named)
        words: list[int] = []
        held = self.__dict__
        for name, rule in rules.items():
            try:
                taken: Any = rule.take(fields[name])
            except ValueError as wrong:
                problem = f"= {told(fields[name])} is not allowed: it must be {wrong}"
                raise StructError(type(self).__name__, name, problem) from None
            held[name] = taken
            words += rule.words(taken)
        table = np.array(words, np.int64)
        table.flags.writeable = False
        held["_table"], held["address"] = table, int(table.ctypes.data)
        held["numba_type"] = self._one_type()

    @classmethod
    def _field_rules(cls) -> dict[str, Rule]:
        if cls._rules is None:  # here, where all names of its module are known
            cls._rules = rules_of(cls, Struct)
        return cls._rules

    def _given(self, names: tuple[str, ...], values: Any, named: dict[str, Any]) -> dict[str, Any]:
        fields = dict(zip(names, values, strict=False)) | named
        if len(values) + len(named) != len(names) or fields.keys() != set(names):
            raise StructError(type(self).__name__, "", f"has the fields {', '.join(names)}")
        return fields

    def _one_type(self) -> StructType:
        """The type of all instances, made with the first: the functions are compiled once."""
        cls = type(self)
        if cls._type is None:
            kinds = []
            for name, rule in self._field_rules().items():
                if isinstance(rule, Array | Nested):
                    rule.fix(getattr(self, name))
                kinds.append((name, rule.kind))
            cls._type = StructType(cls.__name__, tuple(kinds))
        return cls._type

    def __setattr__(self, name: str, value: Any) -> None:
        way = "make a new struct"
        if isinstance(self.__dict__.get(name), np.ndarray):
            way = f"write into the array: .{name}[:] = ..."
        raise StructError(type(self).__name__, name, f"cannot be assigned: {way}")

    def __delattr__(self, name: str) -> None:
        raise StructError(type(self).__name__, name, "cannot be deleted: compiled code reads it")

    def __reduce__(self) -> Any:
        raise StructError(
            type(self).__name__,
            "",
            "cannot be copied or pickled: a copy would keep the old addresses; make a new struct",
        )


@typeof_impl.register(Struct)
def _typeof_struct(value: Struct, context: Any) -> StructType:
    return value.numba_type
