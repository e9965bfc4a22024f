"""A session from the head of its trace: the same one, or with other settings."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np

from detent import devices
from detent.coupling import COUPLINGS
from detent.devices.preset import LightDisplay, Preset
from detent.errors import DetentError, ParameterError, TraceError, UnknownNameError
from detent.local.model import LocalModel
from detent.local.pace import Pace
from detent.mechanism import Mechanism
from detent.mechanism.library import MECHANISMS, builtin
from detent.servo.force_path import ForcePath
from detent.servo.watching import Passivity
from detent.world.baumgarte import Baumgarte
from detent.world.contact import Contact
from detent.world.world import World

#: what a part of a session can be, by the name of its class
CLASSES: dict[str, dict[str, type]] = {
    "contact": {"Contact": Contact},
    "coupling": {kind.__name__: kind for kind in COUPLINGS.values()},
    "device": {
        kind.__name__: kind
        for kind in (
            *(devices.Inertial, devices.Desktop, devices.AdmittanceDisplay),
            *(LightDisplay, Preset, devices.Pantograph),
        )
    },
    "force_path": {"ForcePath": ForcePath},
    "passivity": {"Passivity": Passivity},
    "baumgarte": {"Baumgarte": Baumgarte},
    "local": {"LocalModel": LocalModel},
    "pace": {"Pace": Pace},
}
PLAIN = ("outside", "rate", "integrator", "frozen", "sleep", "engine")
OF_A_WORLD = ("contact", "baumgarte", "local", "pace", "frozen", "outside", "integrator", "sleep")

Meta = Mapping[str, Any]


def restored(meta: Meta, changes: Sequence[str] = ()) -> dict[str, Any]:
    """The arguments of the session that a trace's head describes, with ``contact.mode=penalty`` …

    Raises:
        TraceError: if the head does not say enough, or its world is not there any more.
    """
    told = apply_changes(meta, changes)
    world = restored_world(told)
    parts: dict[str, Any] = {"world": world}
    for name, known in CLASSES.items():
        if told.get(name) is not None:
            parts[name] = restored_part(name, told[name], known)
    parts |= {name: told[name] for name in PLAIN if name in told}
    if isinstance(world, Mechanism):
        return {name: value for name, value in parts.items() if name not in OF_A_WORLD}
    if "local" not in parts:
        parts.pop("pace", None)
    return parts


def apply_changes(meta: Meta, changes: Sequence[str]) -> dict[str, Any]:
    """The head with ``part.field=value`` changed; ``part.type=Name`` begins with its defaults."""
    told = copy.deepcopy(dict(meta))
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals or not path:
            raise ParameterError("--as", change, "of the form contact.mode=penalty")
        *way, last = path.strip().split(".")
        at = told
        for step in way:
            if not isinstance(at.get(step), dict):
                raise UnknownNameError("setting", path, _paths(meta))
            at = at[step]
        if last not in at:
            raise UnknownNameError("setting", path, _paths(meta))
        if last == "type":
            at.clear()
        at[last] = _value(text.strip())
    return told


def _value(text: str) -> Any:
    """A number, a list, true, false or null as JSON writes them; else a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _paths(meta: Meta) -> list[str]:
    """What can be changed."""
    found: list[str] = [name for name in PLAIN if name in meta]
    for part in CLASSES:
        found += _within(part, meta.get(part))
    return found


def _within(path: str, value: Any) -> list[str]:
    if not isinstance(value, dict):
        return [path] if "." in path else []
    return [one for key, inner in value.items() for one in _within(f"{path}.{key}", inner)]


def restored_world(meta: Meta) -> World | Mechanism:
    """The world where the trace began, held as it was."""
    if "world" not in meta or "rate" not in meta:
        raise TraceError("the trace does not say its world and rate, so it cannot run again")
    if meta["world"] in MECHANISMS and "mechanism" in meta:
        return builtin(meta["world"])
    source = dict(meta.get("source") or {})
    path = source.pop("path", None)
    if path is None:
        raise TraceError("the trace does not name a file of its world, so it cannot run again")
    try:
        if path in World.library():
            world = World.builtin(path, **source)
        elif not Path(path).is_file():
            raise TraceError(f"the world of the trace, {path}, is not there any more")
        else:
            world = World.load(path, **source)
        world = world.holding(meta["held"], meta["point"])
        world = world.placed(meta["start"], meta["start_velocity"])
        world.ctrl = np.array(meta["controls"], float)
    except TraceError:
        raise
    except KeyError as error:
        raise TraceError(f"the trace does not say its {error}, so it cannot run again") from error
    except DetentError as error:
        raise TraceError(f"the world of the trace has changed: {error}") from error
    return world


def restored_part(name: str, value: Any, known: Mapping[str, type]) -> Any:
    """A contact, a coupling, a device …"""
    kind = str(value.get("type") if isinstance(value, dict) else value)
    if kind not in known:
        raise UnknownNameError(f"{name} that can run again", kind, known)
    return remade(known[kind], {k: v for k, v in value.items() if k != "type"})


def remade(kind: type, values: Mapping[str, Any]) -> Any:
    """A dataclass from what `dataclasses.asdict` made of it, and what JSON made of that."""
    hints = get_type_hints(kind)
    settable = {field.name for field in fields(kind) if field.init}
    made = {}
    for name, value in values.items():
        if name not in settable:
            raise TraceError(f"a {kind.__name__} of this version has no {name}")
        inner: Any = next((one for one in _options(hints[name]) if is_dataclass(one)), None)
        if isinstance(value, dict) and inner is not None:
            value = remade(inner, value)
        made[name] = tuple(value) if isinstance(value, list) else value
    return kind(**made)


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) or (hint,)
