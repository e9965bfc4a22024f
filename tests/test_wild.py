"""Ten scenes from the wild, held and pushed; all of them by `make test-scenes`."""

from __future__ import annotations

import pytest

import wild

FOLDER = wild.package_folder()


@pytest.mark.slow
@pytest.mark.skipif(FOLDER is None, reason="gymnasium and dm_control are not there: make test")
def test_a_sample_of_scenes_from_the_wild_runs() -> None:
    assert FOLDER is not None
    assert wild.print_table(wild.run_all([FOLDER / name for name in wild.SAMPLE], FOLDER))
