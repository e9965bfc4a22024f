"""Holding another link of a linkage while it plays, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import Page, open_page, wait_for
from test_workbench import Playing, played_to_its_end

from detent import Session, World
from detent.app.stage import set_stage

CODE = """
from detent import Session, World
from detent.app.workbench import play
play(Session(World.builtin("three-link")), rate=1000.0, port=0)
"""


@pytest.fixture(scope="module")
def playing() -> Iterator[Playing]:
    with played_to_its_end(CODE) as running:
        yield running


@pytest.fixture(scope="module")
def page(playing: Playing) -> Iterator[Page]:
    with open_page(playing.url, set_stage(Session(World.builtin("three-link")))) as opened:
        wait_for("the numbers", lambda: opened.text("state"))
        opened.close_notices()
        yield opened


@pytest.mark.browser
def test_another_link_is_held_by_name(page: Page, playing: Playing) -> None:
    page.choose("Held link", "link1")
    wait_for("the other link", lambda: "the hand now holds 'link1'" in playing.output)
    wait_for("two constraints", lambda: page.text("constraints") == "2")  # a crank in the plane
    page.choose("Held link", "link2")
    wait_for("one constraint", lambda: page.text("constraints") == "1")


@pytest.mark.browser
def test_what_was_changed_stays_when_another_link_is_held(page: Page, playing: Playing) -> None:
    grip = round(0.5 * page.typed("Grip [N/m]"))
    page.type_number("Stiffness [N/m]", 9000)
    page.type_number("Grip [N/m]", grip)
    before = playing.output.count("the hand now holds")
    page.choose("Held link", "link3")
    wait_for("the other link", lambda: playing.output.count("the hand now holds") > before)
    wait_for("the stiffness", lambda: page.typed("Stiffness [N/m]") == 9000)
    wait_for("the grip", lambda: page.typed("Grip [N/m]") > 0)
    assert "Traceback" not in playing.output
