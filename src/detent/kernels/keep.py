"""Keeping alive what a struct points to by address only."""

from __future__ import annotations

from typing import Any

from detent.kernels.struct import Struct


def keep_alive(struct: Struct, *others: Any) -> None:
    """Let *others* live as long as the struct, which knows their addresses.

    A struct keeps the arrays and structs that are its fields; an address is a number, and keeps
    nothing.
    """
    object.__setattr__(struct, "_kept", others)


def kept_by(struct: Struct) -> tuple[Any, ...]:
    """What lives as long as the struct."""
    return tuple(struct.__dict__.get("_kept", ()))
