"""What a person sees on the page, in one browser: hint, charts, visitors, the script."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np
import pytest
from browser import Page, open_page, wait_for
from selenium.webdriver.common.by import By
from test_workbench import Playing, played_to_its_end

from detent import Session, World
from detent.app.stage import Stage, set_stage
from detent.app.visitors import LOOKING_ON, YOURS

pytestmark = pytest.mark.browser
PATIENCE = 180.0  # [s]
CODE = """
from detent import Contact, Session, World
from detent.app.workbench import play
world = World.builtin("peg-in-hole")
play(Session(world, Contact(mode="penalty")), rate=1000.0, port=0)
"""
KEY = """document.documentElement.dispatchEvent(new KeyboardEvent(
    'keydown', {key: arguments[0].toLowerCase(), code: 'Key' + arguments[0], bubbles: true}))"""
CHART = """
    const all = Object.values(window.__viserTestpoints.uplots).map(u => u.chart);
    const one = all.findLast(c => c.series.some(s => s.label === arguments[0]));
    return [one.scales.x.min, one.scales.x.max, one.data[1]]"""


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
        wait_for("the numbers", lambda: opened.text("state"), PATIENCE)
        wait_for("the handle", lambda: opened.node("/handle") is not None, PATIENCE)
        yield opened


def press(page: Page, key: str) -> None:
    """Press a key that is a shortcut."""
    page.browser.execute_script(KEY, key)


def chart(page: Page, name: str) -> tuple[float, float, np.ndarray]:
    """The time axis of a chart, and what it shows of its first line."""
    first, last, values = page.browser.execute_script(CHART, name)
    return float(first), float(last), np.array(values, float)


def test_the_hint_of_the_first_visit_is_closed_for_good(page: Page) -> None:
    hint = page.browser.find_element(By.CSS_SELECTOR, "[data-name=hint]")
    wait_for("the hint", hint.is_displayed)
    assert hint.text.count("\n") == 2 or len(hint.text.splitlines()) >= 3
    page.browser.find_element(By.CSS_SELECTOR, "[data-name=hint-close]").click()
    assert not hint.is_displayed()
    page.browser.refresh()
    wait_for("the numbers again", lambda: page.text("state"), PATIENCE)
    wait_for("the script", lambda: page.browser.execute_script("return !!window.__detent?.listens"))
    assert not page.browser.find_element(By.CSS_SELECTOR, "[data-name=hint]").is_displayed()


def test_charts_have_a_time_axis_that_stands_still(page: Page) -> None:
    wait_for("charts", lambda: chart(page, "felt")[2].size > 100, PATIENCE)
    for name in ("felt", "impulse", "depth", "given"):
        first, last, values = chart(page, name)
        assert (first, last) == (-6.0, 0.0) and np.isfinite(values).all()


def test_every_control_says_what_it_is(page: Page) -> None:
    hints = """return [...document.querySelectorAll('label')].map(l => l.textContent)"""
    labels = set(page.browser.execute_script(hints))
    assert {
        "Grip [N/m]",
        "Stiffness [N/m]",
        "Damping [N·s/m]",
        "Restitution",
        "Passivity",
    } <= labels


def test_a_second_visitor_looks_on_until_the_first_leaves(page: Page, playing: Playing) -> None:
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    page.browser.get(playing.url)
    second = page.browser.current_window_handle

    def says(text: str) -> bool:
        return escape(text) in page.browser.page_source or text in page.browser.page_source

    wait_for("being told", lambda: says(LOOKING_ON), PATIENCE)
    page.browser.switch_to.window(first)
    page.browser.close()
    page.browser.switch_to.window(second)
    wait_for("having the tool", lambda: says(YOURS), PATIENCE)
    wait_for("the handle", lambda: page.node("/handle") is not None, PATIENCE)
    page.close_notices()


def test_the_script_waits_while_the_pointer_is_down(page: Page) -> None:
    if not page.scripted:
        page.toggle_script()
    moves = page.node("/handle")
    wait_for("the script", lambda: not np.allclose(page.node("/handle"), moves, atol=0.02))
    press(page, "H")
    page.wait_until_still("/handle")
    assert page.scripted  # it waits, and is not off
    still = page.node("/handle")
    press(page, "G")
    wait_for("going on", lambda: not np.allclose(page.node("/handle"), still, atol=0.02), PATIENCE)
