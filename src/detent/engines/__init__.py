"""Physics engines that simulate the world outside the servo (M27)."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from detent.errors import MissingExtraError, ParameterError, UnknownNameError

#: engines by name: module, class, and the package and the extra that it needs
ENGINES = {
    "mujoco": ("detent.engines.mujoco_engine", "MuJoCoEngine", "mujoco", ""),
    "bullet": ("detent.engines.bullet_engine", "BulletEngine", "pybullet", "bullet"),
}
METHODS = ("advance", "links", "near", "bodies")


def find_engine(engine: str | type) -> Any:
    """The class of an engine, by its name or as it is given."""
    if isinstance(engine, str):
        if engine not in ENGINES:
            raise UnknownNameError("engine", engine, ENGINES)
        module, name, package, extra = ENGINES[engine]
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(f"the {engine} engine", extra)
        return getattr(importlib.import_module(module), name)
    missing = [name for name in METHODS if not callable(getattr(engine, name, None))]
    if missing:
        raise ParameterError("engine", engine, f"a class with {', '.join(METHODS)}")
    return engine
