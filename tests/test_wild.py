"""Scenes from the wild, held and pushed: none stops. `make test-scenes` judges all of them."""

from __future__ import annotations

import pytest

import wild

FOLDER = wild.package_folder()


@pytest.mark.slow
@pytest.mark.skipif(FOLDER is None, reason="gymnasium and dm_control are not there: make test")
def test_a_sample_of_scenes_from_the_wild_never_stops() -> None:
    assert FOLDER is not None
    results = wild.run_all([FOLDER / name for name in wild.SAMPLE], FOLDER)
    wild.print_table(results)
    assert {one["result"] for one in results} <= {"runs", "fails"}  # the bars of the table
