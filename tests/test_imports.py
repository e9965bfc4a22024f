"""The rooms of the package, and the direction in which they may import each other."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src"

ROOT = "(the package itself)"  # `import detent`, or a name that its __init__ offers

#: The rooms in their order, and what each may import: only rooms above it, and of those only
#: these. A file at the top is a room of its own.
ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "checks": {"errors"},
    "kernels": {"errors"},
    "world": {"errors", "checks", "kernels"},
    "shapes": {"errors", "checks", "kernels", "world"},
    "mechanism": {"errors", "checks", "kernels", "world"},
    "local": {"errors", "checks", "kernels", "world"},
    "coupling": {"errors", "checks"},
    "devices": {"errors", "checks", "kernels"},
    "hands": {"errors", "checks"},
    "servo": {
        *("errors", "checks", "kernels", "world", "mechanism", "local", "coupling", "devices"),
        *("hands", "shapes"),
    },
    "engines": {"errors", "checks", "kernels", "world", "shapes", "local", "servo"},
    "record": {"errors", "checks"},
    "collision": {"errors", "checks", "kernels"},
    "setup": {
        *("errors", "checks", "kernels", "world", "mechanism", "local", "coupling", "devices"),
        *("hands", "servo", "engines", "shapes"),
    },
    "session": {
        *("errors", "checks", "world", "mechanism", "local", "coupling", "devices", "hands"),
        *("servo", "engines", "record", "setup"),
    },
    # The package's __init__ offers the session and what goes into one.
    ROOT: {
        *("errors", "world", "mechanism", "local", "coupling", "devices", "hands", "servo"),
        *("record", "collision", "session"),
    },
    "envs": {"errors", "checks", "hands", "session", "setup"},
    # Experiments use the public API, and records of it; some ask where two shapes touch.
    "experiments": {
        *("errors", "checks", "world", "mechanism", "local", "coupling", "devices", "hands"),
        *("record", "collision", "session", "shapes", ROOT),
    },
    # Maps are many small experiments.
    "maps": {
        *("errors", "checks", "world", "coupling", "devices", "hands", "record", "session"),
        *("experiments", ROOT),
    },
    "app": {
        *("errors", "checks", "world", "mechanism", "local", "coupling", "devices", "hands"),
        *("servo", "engines", "record", "setup", "session", ROOT),
    },
    "bench": {
        *("errors", "checks", "kernels", "world", "mechanism", "local", "coupling", "devices"),
        *("hands", "servo", "engines", "record", "setup", "session", "maps", "app", "shapes", ROOT),
    },
    "cli": {
        *("errors", "checks", "kernels", "world", "mechanism", "local", "coupling", "devices"),
        *("hands", "servo", "engines", "record", "collision", "setup", "session"),
        *("experiments", "maps", "app", "bench", ROOT),
    },
    "__main__": {"cli"},
}

# The modules that talk to the compiler, and check what it is given; the laws themselves do not.
COMPILER_MODULES = {
    f"detent.kernels.{name}"
    for name in ("cached", "dispatch", "machine_code", "jit", "fields", "struct", "stages")
}

KERNELS_USE = {"__future__", "math", "typing", "numpy", "numba"}
JIT_USES = KERNELS_USE | {"llvmlite"} | sys.stdlib_module_names

EXTRAS = {
    "pybullet",
    "coacd",
    "fcl",
    "dask",
    "distributed",
    "submitit",
    "zenoh",
    "forcedimension_core",
    "pyOpenHaptics",
}
HEAVY = {"matplotlib", "sympy", "pyarrow", "scipy"}
TERMINAL = {"typer", "rich"}
ON_TOP = {"app", "cli", "__main__"}


@dataclass(frozen=True)
class Import:
    """One imported name, made absolute."""

    target: str
    line: int
    eager: bool  # runs when the module is imported
    typing_only: bool  # under `if TYPE_CHECKING:`

    @property
    def top(self) -> str:
        return self.target.partition(".")[0]


@dataclass(frozen=True)
class Module:
    name: str
    imports: tuple[Import, ...]

    @property
    def room(self) -> str:
        return room_of(self.name)


def room_of(name: str) -> str:
    parts = name.split(".")
    if len(parts) == 1:
        return ROOT
    below = SRC / "detent" / parts[1]
    known = parts[1] in ROOMS or below.is_dir() or len(parts) > 2
    return parts[1] if known else ROOT  # else a name that the package offers


def parse(name: str, source: str, is_package: bool = False) -> Module:
    package = name if is_package else name.rpartition(".")[0]
    return Module(name, tuple(_imports(ast.parse(source), package, eager=True, typing_only=False)))


def _imports(node: ast.AST, package: str, eager: bool, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            for target in _targets(child, package):
                yield Import(target, child.lineno, eager, typing_only)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _imports(child, package, False, typing_only)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.body:
                block = ast.Module([statement], [])
                yield from _imports(block, package, eager, True)
            yield from _imports(ast.Module(child.orelse, []), package, eager, typing_only)
        else:
            yield from _imports(child, package, eager, typing_only)


def _targets(node: ast.Import | ast.ImportFrom, package: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        parents = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*parents, base] if base else parents)
    return [f"{base}.{alias.name}" for alias in node.names]


def loaded_eagerly(modules: list[Module]) -> set[str]:
    """What the modules below the command line import as they are imported themselves."""
    names = set()
    for module in modules:
        for found in module.imports:
            if found.eager and not found.typing_only and module.room not in ON_TOP:
                parts = found.target.split(".")
                names |= {".".join(parts[: i + 1]) for i in range(len(parts))}
    return names


def violations(modules: list[Module]) -> list[str]:
    eager = loaded_eagerly(modules)
    return [
        f"{module.name}:{found.line}: {reason} ({found.target})"
        for module in modules
        for found in module.imports
        if (reason := _own_rule(module, found) or _library_rule(module, found, eager))
    ]


def _own_rule(module: Module, found: Import) -> str | None:
    if module.room == "kernels":
        compiler = module.name in COMPILER_MODULES
        allowed = JIT_USES if compiler else KERNELS_USE
        ours = ("detent.kernels.", "detent.errors.") if compiler else ("detent.kernels.",)
        if found.top not in allowed and not f"{found.target}.".startswith(ours):
            return "kernels import numpy, numba, math and each other only"
    if found.top != "detent":
        return None
    target = room_of(found.target)
    if target == module.room:
        return None
    if target not in ROOMS.get(module.room, ()):
        return f"{module.room} does not import {target}"
    return None


def _library_rule(module: Module, found: Import, eager: set[str]) -> str | None:
    if found.top == "viser" and module.room != "app":
        return "viser belongs to app"
    if not found.eager or found.typing_only:
        return None
    if found.top in EXTRAS:
        return "an extra is imported inside the function that uses it"
    if found.top in HEAVY and module.room not in ON_TOP:
        return "a heavy library is imported inside the function that uses it"
    if found.top in TERMINAL and module.room not in ON_TOP and module.name in eager:
        return "typer and rich are for cli, or for a module that is imported late"
    return None


def package_modules() -> list[Module]:
    modules = []
    for path in sorted((SRC / "detent").rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        modules.append(parse(name, path.read_text(encoding="utf-8"), is_package))
    return modules


def test_a_room_imports_only_rooms_above_it() -> None:
    order = list(ROOMS)
    for i, room in enumerate(order):
        assert ROOMS[room] <= set(order[:i]), room
    found = {path.stem for path in (SRC / "detent").iterdir() if path.suffix in ("", ".py")}
    assert found - {"__init__", "__pycache__"} == set(order) - {ROOT}


def test_imports_go_in_one_direction() -> None:
    modules = package_modules()
    assert "detent.errors" in {module.name for module in modules}
    found = violations(modules)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("detent.kernels.friction", "import scipy"),
        ("detent.kernels.friction", "def f():\n    from detent.errors import DetentError"),
        ("detent.kernels.friction", "import llvmlite.binding"),
        ("detent.kernels.jit", "from ..world import World"),
        ("detent.kernels.struct", "from detent.checks import positive"),
        ("detent.servo.tick", "from detent.engines import protocol"),
        ("detent.servo.tick", "from .. import record"),
        ("detent.world.world", "from detent.servo.structs import Servo"),
        ("detent.hands.scripted", "from detent.servo.structs import Servo"),
        ("detent.coupling.base", "from detent.engines.protocol import Task"),
        ("detent.local.model", "from detent.record.trace import Trace"),
        ("detent.record.trace", "from detent.servo.columns import ROW"),
        ("detent.devices.port", "from detent.hands import Hand"),
        ("detent.setup.world", "from detent.session import Session"),
        ("detent.attic.old", "from detent.errors import DetentError"),
        ("detent.servo.tick", "from detent import World"),
        ("detent.servo.tick", "if TYPE_CHECKING:\n    from ..record.trace import Trace"),
        ("detent.engines.bullet", "import detent.devices.inertial"),
        ("detent.engines.bullet", "try:\n    import pybullet\nexcept ImportError:\n    pass"),
        ("detent.devices.pantograph", "from ..engines import mujoco"),
        ("detent.experiments.corner", "from detent.kernels import contact"),
        ("detent.experiments.corner", "def f():\n    import detent.servo.loop.clock"),
        ("detent.record.trace", "from detent.session import Session"),
        ("detent.record.trace", "import pyarrow"),
        ("detent.record.trace", "class Plot:\n    import matplotlib.pyplot as plt"),
        ("detent.session", "from detent.app import workbench"),
        ("detent.session", "def f():\n    import viser"),
        ("detent.world.model", "from detent.cli import main"),
        ("detent.app.workbench", "import pybullet"),
    ],
)
def test_the_rules_can_fail(name: str, source: str) -> None:
    assert len(violations([parse(name, source)])) == 1


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("detent.kernels.friction", "import math\nimport numpy as np\nfrom .jit import kernel"),
        ("detent.kernels.friction", "from . import so3\nfrom detent.kernels import linalg"),
        ("detent.kernels.cached", "import os\nimport llvmlite.binding as llvm"),
        ("detent.kernels.struct", "from detent.errors import StructError"),
        ("detent.engines.bullet", "def connect():\n    import pybullet"),
        ("detent.experiments.corner", "import detent\nfrom detent import hands, session"),
        ("detent.record.trace", "if TYPE_CHECKING:\n    import pyarrow"),
        ("detent.record.trace", "def plot(self):\n    import matplotlib.pyplot"),
        ("detent.app.workbench", "import viser\nfrom ..session import Session\nfrom . import view"),
        ("detent.cli", "import typer\nfrom detent import app\nfrom rich.table import Table"),
        ("detent.__main__", "from .cli import main"),
        ("detent.record.progress", "from rich.progress import Progress"),
    ],
)
def test_the_rules_let_pass(name: str, source: str) -> None:
    assert violations([parse(name, source)]) == []


def test_the_package_itself_may_offer_the_session_but_not_the_app() -> None:
    offered = "from .session import Session\nfrom .world import World"
    assert violations([parse("detent", offered, is_package=True)]) == []
    assert len(violations([parse("detent", "from . import app", is_package=True)])) == 1


def test_a_module_with_rich_must_be_imported_late() -> None:
    progress = parse("detent.record.progress", "import rich")
    early = parse("detent.session", "from .record.progress import bar")
    late = parse("detent.session", "def run():\n    from .record.progress import bar")
    assert violations([progress, late]) == []
    assert len(violations([progress, early])) == 1


def test_importing_detent_loads_nothing_heavy() -> None:
    # Numba itself looks at scipy, so what counts is what detent adds.
    code = (
        "import sys, numpy, numba, mujoco; before = set(sys.modules); import detent;"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(SRC)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "detent" in loaded
    assert not loaded & (HEAVY | TERMINAL | EXTRAS | {"viser"})
