"""The list of `make mutants`: fixed, spread over all files, each of them a program that runs."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from belonging import EXPLAINED, LEFT_OUT, belonging_to
from mutants import MOST, PACKAGE, SEEDS, chosen_mutants, copy_sources, files, sampled
from mutations import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[1]


@cache
def fixed_list() -> tuple[Mutant, ...]:
    """Not at import: every worker collects every test."""
    return tuple(chosen_mutants(SEEDS))


def test_the_list_is_fixed_and_long_enough() -> None:
    mutants = fixed_list()
    assert mutants == tuple(chosen_mutants(SEEDS)) != tuple(chosen_mutants([3, 4]))
    assert len(mutants) >= 80 and len(set(mutants)) == len(mutants)


def test_every_file_with_kernels_is_in_it_or_left_out_for_a_reason() -> None:
    for seed in SEEDS:
        broken = [mutant.file for mutant in sampled(seed)]
        assert set(broken) == {file for file in files() if mutants_of(PACKAGE, file)}
        assert max(map(broken.count, broken)) <= MOST
    assert all((PACKAGE / file).is_file() and reason for file, reason in LEFT_OUT.items())


def test_a_mutant_is_another_program() -> None:
    for file, mutants in groupby(fixed_list(), lambda mutant: mutant.file):
        source = (PACKAGE / file).read_bytes()
        before = ast.dump(ast.parse(source))
        for mutant in mutants:
            assert ast.dump(ast.parse(mutant.applied(source))) != before, mutant


def test_the_tests_that_belong_are_there() -> None:
    for file in {mutant.file for mutant in fixed_list()}:
        for test in belonging_to(file):
            path, _, name = test.partition("::")
            assert not name or f"\ndef {name}(" in (ROOT / path).read_text("utf-8"), test
            assert (ROOT / path).is_file(), f"{file}: {path}"


def test_a_copy_has_all_that_tests_import(tmp_path: Path) -> None:
    """Tests of a concave scene made its meshes by a tool that was not copied: none could run."""
    copy_sources(tmp_path)
    folders = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for folder in folders["tool"]["pytest"]["ini_options"]["pythonpath"]:
        assert (tmp_path / folder).is_dir(), folder


@pytest.mark.parametrize("key", EXPLAINED)
def test_what_is_explained_can_be_broken(key: str) -> None:
    """On this list or on that of another seed."""
    file = key.partition(":")[0]
    source = (PACKAGE / file).read_bytes()
    assert key in {mutant.key(source) for mutant in mutants_of(PACKAGE, file)}
