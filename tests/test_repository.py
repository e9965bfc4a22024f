"""What the repository holds, apart from its code: nothing of one machine, everything promised."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tempfile
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

REQUIRED = [
    *("README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md"),
    *("Makefile", "pyproject.toml", "requirements.lock", ".ci/run", "tools/system-packages"),
    *("docs/references.md", "docs/dependencies.md", "docs/decisions/README.md"),
]

FILE_LINES, FUNCTION_LINES = 400, 60  # at most, of the sources

PIN = re.compile(r'[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+( ; python_version < "3\.\d+")?')
CITED = re.compile(r"\[([A-Z][A-Za-z-]*\d{2}[a-z]?)\]")


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def repository_files() -> tuple[str, ...]:
    """Files that are tracked, or would be with the next commit."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return tuple(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


def machine_paths(text: str) -> list[str]:
    """Absolute paths that belong to one machine: homes, the temporary folder, this checkout."""
    folders = {Path.home(), Path(tempfile.gettempdir()), ROOT.parent} - {Path("/")}
    escaped = [re.escape(folder.as_posix()) for folder in folders]
    homes = [f"/{name}/[a-z]\\w*" for name in ("home", "Users")]
    pattern = rf"(?<![\w.~$}})\]/-])(?:{'|'.join(escaped + homes)})(?=/)"
    return re.findall(pattern, text)


def canonical(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def requirements() -> set[str]:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = project["dependencies"] + [one for extra in extras for one in extra]
    return {canonical(requirement) for requirement in wanted} - {"detent"}


def functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    found = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert all(one.end_lineno for one in found)
    return found


def too_long(name: str, text: str) -> list[str]:
    """What does not fit: a file of more than one subject, a function of more than a screen."""
    found = [name] if len(text.splitlines()) > FILE_LINES else []
    for one in functions(ast.parse(text)):
        if (one.end_lineno or 0) - one.lineno + 1 > FUNCTION_LINES:
            found.append(f"{name}: {one.name}")
    return found


def test_files_and_functions_are_small() -> None:
    sources = [
        name for name in repository_files() if re.match(r"(src|tools|examples)/.*\.py$", name)
    ]
    assert len(sources) > 200
    found = [one for name in sources for one in too_long(name, read(name))]
    assert not found, "\n" + "\n".join(found)


def test_what_is_too_long_would_be_found() -> None:
    body = "\n".join(["    x = 1"] * 60)
    assert too_long("a.py", f"def f():\n{body}") == ["a.py: f"]
    assert too_long("a.py", "x = 1\n" * 401) == ["a.py"]
    assert too_long("a.py", f"class A:\n    async def f(self):\n{body.replace(' x', '     x')}")
    assert not too_long("a.py", f"def f():\n{body[10:]}\n" * 6)


def test_the_top_of_the_package_is_small() -> None:
    assert len(list((ROOT / "src" / "detent").glob("*.py"))) < 10


def test_no_file_names_a_path_of_one_machine() -> None:
    found = []
    for name in repository_files():
        try:
            text = read(name)
        except UnicodeDecodeError:
            continue
        found += [f"{name}: {path}" for path in machine_paths(text)]
    assert not found, "\n" + "\n".join(found)


def test_a_path_of_this_machine_would_be_found() -> None:
    assert machine_paths(f"open('{ROOT.parent}/x')") or ROOT.parent == Path("/")
    assert machine_paths(f"{tempfile.gettempdir()}/x.png")
    assert machine_paths("cd /" + "home/someone/detent")
    assert not machine_paths("src/detent/app/view.py, https://example.org/home/page, ~/.cache")


@pytest.mark.parametrize("name", REQUIRED)
def test_required_file_exists(name: str) -> None:
    assert name in repository_files()


@pytest.mark.parametrize("name", [".ci/run", "tools/system-packages"])
def test_script_can_be_executed(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)


def test_lock_holds_pins_only() -> None:
    lines = [line for line in read("requirements.lock").splitlines() if line.strip()]
    pins = [line for line in lines if not line.startswith("#")]
    assert len(pins) > 20
    assert [line for line in pins if not PIN.fullmatch(line)] == []


def test_every_requirement_is_pinned() -> None:
    pinned = {canonical(line) for line in read("requirements.lock").splitlines() if "==" in line}
    assert requirements() - pinned == set()


def test_every_requirement_has_a_written_reason() -> None:
    reasons = read("docs/dependencies.md")
    assert {name for name in requirements() if f"| {name} |" not in reasons} == set()


def test_every_cited_key_is_in_the_references() -> None:
    known = read("docs/references.md")
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    missing = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = (ast.get_docstring(node) or "") if isinstance(node, documented) else ""
            missing |= {f"{path.name}: {key}" for key in CITED.findall(text) if key not in known}
    assert missing == set()


def test_version_is_the_same_everywhere() -> None:
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert f"\nversion: {version}\n" in read("CITATION.cff")


@pytest.mark.parametrize("command", ["make run", "make test"])
def test_readme_shows_the_two_commands(command: str) -> None:
    assert command in read("README.md")
