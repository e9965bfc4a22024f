"""The workbench: without a browser, in a browser, and how it stops."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from browser import Page, open_page, wait_for

import detent
from detent import Contact, Session, World
from detent.app.panel import noted
from detent.app.stage import Stage, set_stage
from detent.app.workbench import play

SRC = Path(detent.__file__).parents[1]
CODE = """
from detent import Session, World
from detent.app.workbench import play
play(Session(World.builtin("peg-in-hole")), rate=1000.0, port=0)
"""
WALL = 0.08  # [m] the right wall of the peg-in-hole world


class Playing:
    """A workbench in a process of its own."""

    def __init__(self, code: str = CODE) -> None:
        environment = {**os.environ, "PYTHONPATH": str(SRC)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        self.output = ""
        threading.Thread(target=self._read, daemon=True).start()
        wait_for("the address", self._address, 240.0)  # nothing may be compiled yet
        self.url = self._address()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output += line

    def _address(self) -> str:
        assert self.process.poll() is None, self.output
        found = re.search(r"http://\S+", self.output)
        return found.group() if found else ""

    def stop(self, number: int) -> int:
        """Send a signal; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(20.0)


@contextmanager
def played_to_its_end(code: str) -> Iterator[Playing]:
    """A workbench that is stopped at the end, and must stop well."""
    running = Playing(code)
    yield running
    assert running.stop(signal.SIGINT) == 0, running.output
    assert "Traceback" not in running.output


@pytest.fixture(scope="module")
def stage() -> Stage:
    return set_stage(Session(World.builtin("peg-in-hole")))


@pytest.fixture(scope="module")
def playing() -> Iterator[Playing]:
    with played_to_its_end(CODE) as running:
        yield running


@pytest.fixture(scope="module")
def page(playing: Playing, stage: Stage) -> Iterator[Page]:
    with open_page(playing.url, stage) as opened:
        wait_for("the numbers", lambda: opened.text("state"))
        wait_for("the handle", lambda: opened.node("/handle") is not None)
        opened.close_notices()
        yield opened


def hold(page: Page) -> None:
    """Stop the script, and wait until everything stands still."""
    if page.scripted:
        page.toggle_script()
    page.wait_until_still("/handle")
    page.wait_until_still("/world/1")


@pytest.mark.live
def test_without_a_browser_the_script_moves_the_tool(capsys: pytest.CaptureFixture[str]) -> None:
    status = play(Session(World.builtin("peg-in-hole")), rate=1000.0, port=0, seconds=2.0)
    said = capsys.readouterr().out
    assert re.search(r"at http://127\.0\.0\.1:\d+/[0-9a-f]{32}/ ", said)
    moved = re.search(r"the tool moved (\d+) mm", said)
    assert moved is not None and float(moved.group(1)) > 10.0
    assert status is not None and 0 < status.ticks <= 6000


LIGHT = """<mujoco><custom><text name="detent.friction" data="none"/></custom><worldbody>
  <geom name="floor" type="plane" size="1 1 .1"/>
  <body name="ball" pos="0 0 .0999"><freejoint/><geom name="ball" size=".1" mass=".02"/></body>
</worldbody></mujoco>"""


@pytest.mark.live
def test_a_bound_that_acts_is_told_while_it_plays_and_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stiff = Contact(mode="penalty", stiffness=20_000.0, damping=1.0)
    session = Session(World.from_string(LIGHT), stiff)
    play(session, rate=1000.0, port=0, seconds=6.0)  # a status line is due after 5 s
    said = capsys.readouterr().out
    assert re.search(r"N · gains bounded in \d+ ticks\n", said)
    bound = r"note: the step of 1 ms bounded gains .* most at floor–ball: .* they would not be"
    assert re.search(bound, said.splitlines()[-1])


def test_notes_on_the_page_show_a_scene_as_text() -> None:
    assert "&lt;img" in noted(["most at <img src=x>–floor"])
    assert noted([]) == ""


@pytest.mark.live
def test_a_trace_is_recorded(tmp_path: Path) -> None:
    from detent.record.trace import Trace

    file = tmp_path / "play.arrow"
    play(Session(World.builtin("peg-in-hole")), rate=500.0, port=0, seconds=1.0, record=file)
    trace = Trace.load(file)
    assert np.ptp(trace["tool_position"][:, 0]) > 0.0


@pytest.mark.live
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly(number: int) -> None:
    running = Playing()
    assert running.stop(number) == 0
    wait_for("the last line", lambda: re.search("stopped (after|before)", running.output))
    assert "Traceback" not in running.output
    assert "Exception" not in running.output


@pytest.mark.browser
def test_the_page_shows_a_running_session(page: Page) -> None:
    assert page.browser.title == "Detent"
    for folder in ("Hand", "Now", "Plots", "Time", "Session", "Contact"):
        assert page.browser.find_elements("xpath", f"//*[text()='{folder}']"), folder
    assert page.number("rate") > 0.0
    assert page.scripted
    before = page.node("/world/1")
    assert before is not None
    wait_for("the tool to move", lambda: np.linalg.norm(page.node("/world/1") - before) > 0.05)


@pytest.mark.browser
def test_dragging_the_handle_into_a_wall_raises_the_force(page: Page) -> None:
    hold(page)
    page.drag_handle((0.02, 0.03))
    wait_for("a free tool", lambda: page.text("state") == "free" and page.number("force") < 0.5)
    page.drag_handle((WALL + 0.01, 0.03))
    wait_for("the wall's force", lambda: page.number("force") > 3.0)
    wait_for("rest", lambda: page.text("state") == "resting" and page.number("contacts") >= 1)
    pressed = page.number("force")
    page.drag_handle((WALL + 0.04, 0.03))
    wait_for("more force", lambda: page.number("force") > pressed + 5.0)
    assert not page.scripted  # the pointer leads, also after it let go


@pytest.mark.browser
def test_a_stiffer_wall_yields_less(page: Page) -> None:
    hold(page)
    page.drag_handle((WALL + 0.03, 0.03))
    wait_for("the wall", lambda: page.number("force") > 5.0 and page.text("state") == "resting")
    page.wait_until_still("/world/1")
    soft = page.number("depth")
    page.type_number("Stiffness [N/m]", 4.0 * Contact().gains[0])
    wait_for("a smaller depth", lambda: page.number("depth") < 0.5 * soft)
    page.type_number("Stiffness [N/m]", Contact().gains[0])
    wait_for("the depth of before", lambda: page.number("depth") > 0.8 * soft)


@pytest.mark.browser
def test_the_tool_itself_can_be_dragged(page: Page) -> None:
    hold(page)
    tool = page.node("/world/1")
    assert tool is not None
    start = tool[:3] + np.array([0.0, -0.1, 0.1])  # on its upper face, beside the arrows
    page.drag(page.pixel(start), page.pixel(start + np.array([-0.4, 0.1, 0.0])))
    wait_for("the tool to follow", lambda: page.node("/world/1")[0] < tool[0] - 0.2)


@pytest.mark.browser
def test_the_script_resumes_after_the_last_page_was_closed(page: Page, playing: Playing) -> None:
    hold(page)
    old = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    new = page.browser.current_window_handle
    page.browser.switch_to.window(old)
    page.browser.close()
    page.browser.switch_to.window(new)
    page.browser.get(playing.url)
    wait_for("the numbers", lambda: page.text("state"))
    wait_for("the script", lambda: page.scripted)
