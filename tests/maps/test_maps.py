"""Maps: the same rows however they are cut, on whatever they run, killed or not."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from detent.devices.limits import stable_stiffness
from detent.devices.presets import SHEETS
from detent.errors import DetentError, MissingExtraError, ParameterError
from detent.maps import Grid, Setting, executors, parse_axis, run_map
from detent.maps import run as running
from detent.maps.cells import compute, modelled, wall_case
from detent.maps.executors import open_executor
from detent.maps.figure import draw_map, draw_theory, theory_of
from detent.maps.run import chunk_size, claim_folder
from detent.record.plots import figure
from waiting import wait_for

pytestmark = pytest.mark.slow

AXES = ("stiffness=500:1500:4", "rate=1000:4000:3:log")
GRID = Grid(Setting(seconds=0.1), *(parse_axis(axis) for axis in AXES))


class Inline:
    """An executor that does it at once, and counts."""

    def __init__(self) -> None:
        self.cells = 0

    def submit(self, function: Callable[..., Any], task: list[Setting]) -> Any:
        self.cells += len(task)
        value = function(task)

        class Done:
            def done(self) -> bool:
                return True

            def result(self) -> Any:
                return value

        return Done()


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> Inline:
    found = Inline()

    @contextmanager
    def opened(where: str, folder: Path) -> Iterator[Inline]:
        yield found

    monkeypatch.setattr(running, "open_executor", opened)
    return found


def test_rows_do_not_depend_on_how_they_are_cut(inline: Inline, tmp_path: Path) -> None:
    whole = run_map(GRID, tmp_path / "a", chunk=100)
    parts = run_map(GRID, tmp_path / "b", chunk=5)
    assert repr(whole) == repr(parts)  # NaN and all
    assert [row["stiffness"] for row in whole[:3]] == [500.0] * 3
    assert len(list((tmp_path / "b" / "chunks").glob("*.parquet"))) == 3
    assert not any(row["error"] for row in whole)
    # at 1 kHz the boundary is 1000 N/m: some grow, some do not
    slow = [row for row in whole if row["rate"] == 1000.0]
    assert [row["growth"] > 0.0 for row in slow] == [row["stiffness"] > 1000.8 for row in slow]


def test_what_is_there_is_not_computed_again(inline: Inline, tmp_path: Path) -> None:
    first = run_map(GRID, tmp_path, chunk=5)
    assert inline.cells == 12
    next((tmp_path / "chunks").glob("*.parquet")).unlink()
    again = run_map(GRID, tmp_path, chunk=7)
    assert inline.cells in (12 + 5, 12 + 2)
    assert repr(again) == repr(first)
    wider = Grid(GRID.base, parse_axis("stiffness=500:1500:4"), parse_axis("rate=1000:4000:5:log"))
    before = inline.cells
    run_map(wider, tmp_path)
    assert inline.cells == before + 8  # the cells in between


def test_the_file_says_what_it_is(inline: Inline, tmp_path: Path) -> None:
    rows = run_map(GRID, tmp_path)
    table = pq.read_table(tmp_path / "map.parquet")
    assert table.num_rows == 12
    assert b'"rate": [1000.0' in table.schema.metadata[b"detent"]
    assert draw_map(GRID, rows, tmp_path / "map.png").stat().st_size > 10_000


def test_rows_of_a_preset_have_its_own_numbers_unless_the_map_goes_over_them() -> None:
    """A Falcon: its sheet's mass and delay, the damping of the axis; at 40 mm its arm ends."""
    base = Setting("corner", "falcon", seconds=0.5)
    grid = Grid(base, parse_axis("own_damping=1:3:2"), parse_axis("rate=1000:4000:2:log"))
    cells = grid.settings()
    sheet = SHEETS["falcon"]
    assert {one.mass for one in cells} == {sheet.need("mass")}
    assert [one.delay for one in cells[:2]] == [sheet.need("delay") * r for r in (1000, 4000)]
    assert [one.own_damping for one in cells] == [1.0, 1.0, 3.0, 3.0]
    assert modelled(cells[0]).sheet.need("damping") == 1.0
    row = compute(base.at(push=5.0))
    assert row["error"] == "" and row["at_end"] > 0


def test_a_preset_on_the_wall_has_its_own_period_and_the_line_of_its_theory() -> None:
    """A Falcon under 4 kHz: it samples at 1 kHz, one period late."""
    sheet, base = SHEETS["falcon"], Setting(device="falcon", rate=4000.0)
    case = wall_case(base)
    assert (case.step, case.delay, case.cap) == (1e-3, 1, sheet.need("force"))
    edge = stable_stiffness(sheet.need("mass"), sheet.need("damping"), 1e-3, 1)
    for share, grows in ((0.95, False), (1.05, True)):
        row = compute(base.at(stiffness=share * edge, seconds=0.1))
        assert row["error"] == "" and (row["growth"] > 0.0) == grows


def test_a_scene_that_has_changed_is_computed_again(tmp_path: Path) -> None:
    scene = tmp_path / "scene.xml"
    scene.write_text("<mujoco/>")
    before = Setting(world=str(scene)).key
    scene.write_text("<mujoco><worldbody/></mujoco>")
    assert Setting(world=str(scene)).key != before


@pytest.mark.parametrize("cells", [3, 400, 10_000])
@pytest.mark.parametrize("wall", [True, False])
def test_all_cores_have_something_to_do(cells: int, wall: bool) -> None:
    size = chunk_size(cells, wall, 2)
    least = 40 if wall else 4
    assert size == least if cells < 8 * least else size * 8 >= min(cells, 8 * 50)


def test_another_map_is_not_written_over(inline: Inline, tmp_path: Path) -> None:
    claim_folder(GRID, tmp_path)
    run_map(GRID, tmp_path)
    claim_folder(GRID, tmp_path)
    other = Grid(GRID.base.at(damping=0.1), GRID.first, GRID.second)
    with pytest.raises(ParameterError, match="a map over stiffness and rate is there"):
        claim_folder(other, tmp_path)
    claim_folder(other, tmp_path, replace=True)
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match="a folder"):
        claim_folder(GRID, tmp_path / "file")


def test_the_line_of_theory_does_not_depend_on_the_cells() -> None:
    """Two cells by two: the boundary is where the eigenvalues have it, between them."""
    base = Setting()
    grid = Grid(base, parse_axis("stiffness=100:9100:2"), parse_axis("rate=500:4000:2:log"))
    axes = figure(1, 1, (4, 3), "")[1]
    draw_theory(axes[0, 0], grid, theory_of(grid))
    found = np.vstack([path for path in axes[0, 0].collections[0].get_paths()[0].to_polygons()])
    for rate, stiffness in found[:: len(found) // 10]:
        exact = stable_stiffness(0.1, 0.5, 1.0 / rate, 0)
        assert stiffness == pytest.approx(exact, rel=0.02)


def test_a_cell_that_fails_is_a_row_with_the_reason(tmp_path: Path) -> None:
    scene = tmp_path / "scene.xml"
    scene.write_text("<mujoco/>")
    assert "can move" in compute(Setting(world=str(scene)))["error"]
    assert compute(Setting(world="corner", coupling="virtual", seconds=0.05))["error"] == ""


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"device": "hapticmaster"}, "one that takes a force, on the wall"),
        ({"device": "moteus-knob"}, "one that takes a force, on the wall"),
        ({"stiffness": math.nan}, "stiffness"),
        ({"damping": -1.0}, "damping"),
        ({"resolution": -1e-6}, "resolution"),
        ({"delay": 0.5}, "whole ticks"),
        ({"delay": 200.0}, "whole ticks"),
        ({"device": "no-such-device"}, "no-such-device"),
        ({"coupling": "virtual"}, "direct on the wall"),
        ({"hand": 100.0}, "on the wall"),
        ({"world": "no-such-world"}, "no-such-world"),
    ],
)
def test_what_no_cell_can_have_is_refused_before_any_is_computed(
    wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(DetentError, match=words):
        Setting(**wrong)


def test_a_scheduler_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "PATIENCE", 0.2)
    for where in ("dask:tcp://127.0.0.1:9", "dask:foo"):
        with pytest.raises(ParameterError, match=where), open_executor(where, tmp_path):
            pass


@pytest.mark.parametrize(
    "text",
    [
        *("stiffness", "speed=1:2:3", "rate=2:1:3", "rate=1:2:1", "rate=1:2:3:cubic"),
        *("rate=0:2:3:log", "rate=1:inf:3", "rate=1:2:2.5", "delay=0:1:3"),
    ],
)
def test_axes_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(DetentError):
        parse_axis(text)


def test_a_place_that_there_is_not_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in ("moon", "dask:", "local:0", "slurm"):
        with pytest.raises(ParameterError, match="--on"), open_executor(where, tmp_path):
            pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match="distributed"), open_executor("dask:x", tmp_path):
        pass


def test_slurm_is_refused_where_there_is_none(tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    with pytest.raises(ParameterError, match="SLURM"), open_executor("slurm:debug", tmp_path):
        pass


def test_jobs_of_submitit_give_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What SLURM would be given, by submitit's own executor of this machine: no SLURM is here."""
    submitit = pytest.importorskip("submitit")
    given: dict[str, object] = {}

    class Here(submitit.AutoExecutor):  # type: ignore[misc,name-defined]
        def __init__(self, folder: Path, cluster: str) -> None:
            given["cluster"] = cluster
            super().__init__(folder=folder, cluster="local")

        def update_parameters(self, **parameters: object) -> None:
            given.update(parameters)
            super().update_parameters(**parameters)

    monkeypatch.setattr(submitit, "AutoExecutor", Here)
    small = Grid(
        Setting(seconds=0.05), parse_axis("stiffness=500:1500:2"), parse_axis("rate=1000:2000:2")
    )
    there = run_map(small, tmp_path, "slurm:short", chunk=2)
    assert given["cluster"] == "slurm" and given["slurm_partition"] == "short"
    assert repr(there) == repr([compute(one) for one in small.settings()])


def test_a_real_dask_cluster_gives_the_same_bits(inline: Inline, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    here = run_map(GRID, tmp_path / "here")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        open_executor(f"dask:{cluster.scheduler_address}", tmp_path) as executor,
    ):
        tasks = [GRID.settings()[i : i + 4] for i in range(0, 12, 4)]
        there = {row["key"]: row for rows in running.completed(executor, tasks) for row in rows}
    assert repr([there[row["key"]] for row in here]) == repr(here)


def test_killed_half_way_it_goes_on_where_it_was(inline: Inline, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "detent", "map", *AXES, "--out", str(tmp_path)]
    started = subprocess.Popen(
        [*command, "--chunk", "1", "--on", "local:1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        assert wait_for(lambda: len(list((tmp_path / "chunks").glob("*.parquet"))) >= 2)
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
    grid = Grid(Setting(), *(parse_axis(axis) for axis in AXES))
    there = len(list((tmp_path / "chunks").glob("*.parquet")))
    rows = run_map(grid, tmp_path)
    assert inline.cells == 12 - there
    assert repr(rows[0]) == repr(compute(grid.settings()[0]))
