"""Machine code is kept by the content of what it was made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from detent.kernels import cached
from detent.kernels.jit import cache_of
from detent.servo.guard import guard
from detent.servo.world.move import move

SOURCES = {
    "kernels/law.py": "G = 9.81\n",
    "kernels/other.py": "from detent.kernels.jit import kernel\n@kernel\ndef other(): ...\n",
    "servo/step.py": "from detent.kernels.law import (\n    G,\n)\n@kernel\ndef step(): ...\n",
    "servo/both.py": "from detent.servo import step, missing\n@kernel\ndef both(): ...\n",
    "app/page.py": "from detent.servo.step import step\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return planted(tmp_path / "one" / "detent")


def planted(package: Path, **changed: str) -> Path:
    for name, text in SOURCES.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed.get(path.stem, text))
    return package


def keys(package: Path) -> dict[str, str]:
    files = {name: package / name for name in SOURCES}
    return {
        path.stem: cached.key_of(cached.needed_by([path], package), package)
        for path in files.values()
    }


def test_a_file_needs_what_it_imports_in_turn(package: Path) -> None:
    names = [path.stem for path in cached.needed_by([package / "servo/both.py"], package)]
    assert names == ["law", "both", "step"]
    assert [path.stem for path in cached.compiled_sources(package)] == [
        *("law", "other", "both", "step"),  # and not the page
    ]


def test_a_change_concerns_what_depends_on_it_and_nothing_else(
    package: Path, tmp_path: Path
) -> None:
    before = keys(package)
    after = keys(planted(tmp_path / "two" / "detent", law="G = 9.80665\n"))
    assert {name for name in before if before[name] != after[name]} == {
        *("law", "step", "both", "page"),
    }


def test_another_clone_of_the_same_sources_has_the_same_keys(package: Path, tmp_path: Path) -> None:
    assert keys(package) == keys(planted(tmp_path / "clone" / "detent"))


def test_kernels_of_different_files_are_kept_apart() -> None:
    assert cache_of(guard) != cache_of(move)
    assert cache_of(guard).parent == cached.compiled_cache().parent
