"""What can go wrong, as types. Every message names the bad value and the allowed ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def _plain(value: Any) -> Any:
    """Numbers of NumPy as Python's own, which print as what was typed."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return value


class DetentError(Exception):
    """The base of all errors that Detent raises on purpose."""


class SceneError(DetentError):
    """A scene cannot be loaded, or does not contain what was asked of it."""


class ToolNotNamedError(SceneError):
    """A scene has several things to hold, and nobody said which."""

    def __init__(self, names: Iterable[str], described: Iterable[str]) -> None:
        self.names = list(names)
        listed = ", ".join(described)
        super().__init__(
            f"the scene has {len(self.names)} things to hold; name one (tool=, --tool): {listed}"
        )


class ShapeError(SceneError):
    """A mesh cannot be felt as it is: says what is wrong with it, and what would do."""

    def __init__(self, mesh: str, problem: str) -> None:
        super().__init__(f"the mesh {mesh!r} cannot be felt as it is: {problem}")
        self.mesh, self.problem = mesh, problem


class ParameterError(DetentError):
    """A parameter has a value that is not allowed."""

    def __init__(self, name: str, value: Any, allowed: str) -> None:
        super().__init__(f"{name} = {_plain(value)!r} is not allowed: it must be {allowed}")
        self.name, self.value, self.allowed = name, value, allowed


class StructError(DetentError, TypeError):
    """A struct was given, or told to become, what compiled code would misread.

    It carries the names of the struct and of the field; the field is empty where the struct
    as a whole is meant.
    """

    def __init__(self, struct: str, field: str, problem: str) -> None:
        super().__init__(f"{struct}.{field} {problem}" if field else f"{struct} {problem}")
        self.struct, self.field = struct, field


class StageError(DetentError, TypeError):
    """A stage that is not there, or that does not fit where it is put."""


class UnknownNameError(DetentError):
    """A name was asked for that does not exist."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        listed = ", ".join(self.known) if self.known else "none"
        super().__init__(f"there is no {kind} {name!r}; known: {listed}")


class TraceError(DetentError):
    """A trace cannot be read or written."""


class PlatformError(DetentError):
    """This machine, or the library versions on it, cannot do what was asked."""


class MissingExtraError(DetentError):
    """A feature needs an optional library that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'detent[{extra}]'")
        self.feature, self.extra = feature, extra


class ExperimentError(DetentError):
    """An experiment cannot be computed with the parameters that it was told."""

    def __init__(self, name: str, changed: Mapping[str, Any], problem: Exception) -> None:
        told = ", ".join(f"{key}={value}" for key, value in changed.items())
        said = f"{type(problem).__name__}: {problem}"
        super().__init__(f"{name} cannot be computed with {told} ({said})")
        self.name, self.changed = name, dict(changed)


class EngineError(DetentError):
    """An engine sent what cannot be used, diverged, or could not be started."""


class ServoFault(DetentError):
    """The servo stopped with zero force. Carries the last rows before the fault."""

    def __init__(self, reason: str, last_rows: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.reason, self.last_rows = reason, last_rows


class DeviceDataError(DetentError):
    """Nobody has published what is needed of a device."""

    def __init__(self, device: str, field: str) -> None:
        super().__init__(
            f"the {field} of a {device} is not known: measure it, and give it as "
            f'preset("{device}", {field}=known(value, "how it was measured")), in a device file, '
            "or, if it is the torque, to detent devices with --torque"
        )
        self.device, self.field = device, field


class IdentificationError(DetentError):
    """A recording that does not say what a device is; says what to do about it."""


class DeviceMissingError(DetentError):
    """A device needs what is not installed; says what that is, and where to get it."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what} is not there: {remedy}")
        self.what, self.remedy = what, remedy


class DeviceNotReadyError(DetentError):
    """A device cannot be opened: not plugged in, not allowed, busy or not calibrated."""

    def __init__(self, device: str, problem: str) -> None:
        super().__init__(f"the device {device!r} is not ready: {problem}")
        self.device, self.problem = device, problem


class DeviceFault(ServoFault):
    """The servo stopped with zero force because of its device: lost, silent, not calibrated."""


class MechanismError(DetentError):
    """A mechanism is described wrongly. Carries the offending expression."""

    def __init__(self, what: str, expression: Any, problem: str) -> None:
        super().__init__(f"{what} {expression} {problem}")
        self.what, self.expression, self.problem = what, expression, problem
