"""The page of a recording: it plays, stops where it is dragged to, and shows two runs."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import Page, open_page, wait_for
from test_workbench import Playing
from typer.testing import CliRunner

from detent import Contact, Session, Trace, World
from detent.app.rehearsal import rehearse
from detent.app.replay import measured, moment, side_by_side
from detent.app.stage import set_stage
from detent.cli import app
from detent.cli.traces import deviations
from detent.hands import Constant

pytestmark = pytest.mark.ramped  # traces are made once for all, as a session begins

SECONDS = 1.0
REPLAY = """
import sys
sys.argv = ["detent", "replay", {file!r}, "--as", "contact.mode=penalty", "--port", "0"]
from detent.cli import main
main()
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = World.builtin("corner").placed([0.05, -0.06, 0.1])
    path = tmp_path_factory.mktemp("traces") / "push.arrow"
    Session(world, Contact(4000, 30)).run(SECONDS, Constant(force=(0.32, -0.4)), record=path)
    return path


@pytest.fixture(scope="module")
def page(file: Path) -> Iterator[Page]:
    playing = Playing(REPLAY.format(file=str(file)))
    with open_page(playing.url, set_stage(Session(World.builtin("corner")))) as opened:
        wait_for("the numbers", lambda: opened.text("time"))
        yield opened
    assert playing.stop(signal.SIGINT) == 0, playing.output


@pytest.mark.browser
def test_it_plays_to_its_end_and_can_be_scrubbed(page: Page, file: Path) -> None:
    trace = Trace.load(file)
    wait_for("the end", lambda: page.text("time") == f"{trace['time'][-1]:.3f} s")
    for run in ("/world/1", "/run1/world/1"):
        assert page.node(run) is not None
    page.type_number("Time [s]", 0.4)
    wait_for("the moment", lambda: page.text("time") == "0.400 s")
    row = trace.rows[np.searchsorted(trace["time"], 0.4, "right") - 1]
    assert page.text("depth") == f"{1e3 * row['depth']:.3f} mm"
    assert float(page.text("depth-1").split()[0]) > 2.0 * page.number("depth")  # penalty
    touching = (int(row["contacts"]), int(page.text("contacts-1")))
    assert max(touching) > 0
    for under, count in zip(("", "/run1"), touching, strict=True):
        marks = f"{under}/contacts/discs"
        wait_for("its contacts", lambda m=marks, n=count: len(page.marks(m)) == n)  # type: ignore[misc]


def test_the_numbers_of_a_moment_are_those_of_its_row(file: Path) -> None:
    trace = Trace.load(file)
    run = rehearse("<push>", Session.of_trace(trace), trace)
    assert run.frame_at(-1.0) == 0 and run.tick_at(99.0) == len(trace) - 1
    last = np.searchsorted(trace["time"], run.times[1:] - 1e-9) - 1  # tick of each frame
    assert [len(one) for one in run.shown[1:]] == trace["contacts"][last].tolist()
    assert any(map(len, run.shown))
    shown = moment([run], 0.5)
    size = np.linalg.norm(trace["device_wrench"][run.tick_at(0.5), :3])
    assert "data-name='felt' style='text-align:right;" in shown and f">{size:.2f} N<" in shown
    blow = int(np.flatnonzero(trace["collisions"])[0])
    size = np.linalg.norm(trace["device_wrench"][blow, :3])
    assert size > 10.0  # what an impulse would be as a force of one tick
    shown = moment([run], float(trace["time"][blow]))
    assert (
        f">{1e3 * size / trace.meta['rate']:.1f} mN·s<" in shown and f">{size:.2f} N<" not in shown
    )
    assert "&lt;push&gt;" in shown and "<push>" not in measured([run, run])
    left, right = side_by_side([run, run])
    gap = left.to_page(left.centre) - left.to_page(right.centre)
    assert np.linalg.norm(gap) > 2.0  # a world is two units wide


def test_two_runs_of_one_hand_are_compared(file: Path, tmp_path: Path) -> None:
    call = CliRunner().invoke
    done = call(app, ["compare", str(file), "--as", "contact.mode=penalty", "--figure",
                      str(tmp_path / "a.svg")])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "depth, largest" in done.output and "impulse of a collision" in done.output
    assert (tmp_path / "a.svg").stat().st_size > 10_000
    same = call(app, ["compare", str(file), str(file)]).output
    assert "+0.0 %" in same and "not what was recorded" not in same
    assert "another trace, or --as" in str(call(app, ["compare", str(file)]).exception)
    wrong = call(app, ["compare", str(file), str(file), "--figure", "a.bmp"])
    assert ".png, .svg or .pdf" in str(wrong.exception)


def test_a_run_that_is_not_the_recorded_one_says_so(file: Path) -> None:
    trace = Trace.load(file)
    other = rehearse("", Session.of_trace(trace, ["contact.stiffness=3000"]), trace)
    trace.meta |= {"changed": [0.25], "truncated": True}
    cut, differs = deviations(trace, other)
    assert "cut off" in cut
    assert differs.endswith("is not what was recorded: settings were changed at 0.25 s")
