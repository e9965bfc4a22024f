"""A device in a file: a preset, and the facts that were measured of yours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from detent.checks import one_of
from detent.devices.facts import Fact
from detent.devices.preset import Preset, preset
from detent.errors import ParameterError

_FORM = '{"preset": NAME, "facts": {FIELD: {"value": NUMBER, "source": TEXT}}}'


def load_device(path: str | Path) -> Preset:
    """Read a device file; refused if it is not one."""
    try:
        content: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        problem = f"a JSON file that is there ({error})"
        raise ParameterError("device file", str(path), problem) from error
    if not isinstance(content, dict) or not isinstance(content.get("preset"), str):
        raise ParameterError("device file", str(path), f"of the form {_FORM}")
    for key in content:
        one_of(f"key in {path}", key, ("preset", "facts"))
    facts = content.get("facts", {})
    try:
        made = {
            name: Fact(
                float(one["value"]),
                one["source"],
                bool(one.get("assumed", False)),
                float(one.get("within", 0.0)),
            )
            for name, one in facts.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ParameterError("device file", str(path), f"of the form {_FORM}") from None
    return preset(content["preset"], **made)


def save_device(path: str | Path, name: str, facts: dict[str, Fact]) -> None:
    """Write a device file."""
    told = {
        field: {"value": fact.value, "source": fact.source, "assumed": fact.assumed}
        | ({"within": fact.within} if fact.within > 0.0 else {})
        for field, fact in facts.items()
    }
    Path(path).write_text(json.dumps({"preset": name, "facts": told}, indent=1), encoding="utf-8")
