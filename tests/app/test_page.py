"""What a person sees and does on the page, in one browser: contacts, camera, view, actuators."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np
import pytest
from browser import Page, open_page, wait_for
from selenium.webdriver.common.by import By
from test_controls import renew
from test_workbench import Playing, hold, played_to_its_end
from typer.testing import CliRunner

from detent import Session, World
from detent.app.stage import Stage, set_stage
from detent.app.visitors import LOOKING_ON, YOURS
from detent.cli import app

pytestmark = pytest.mark.browser
PATIENCE = 180.0  # [s]
CODE = """
from detent import Contact, Session, World
from detent.app.workbench import play
world = World.builtin("peg-in-hole")
play(Session(world, Contact(mode="penalty")), rate=1000.0, port=0)
"""
MIDDLE, WALL, BEYOND = (-0.03, 0.03), (0.073, 0.03), (0.1, 0.03)  # [m]
KEY = """document.documentElement.dispatchEvent(new KeyboardEvent(
    'keydown', {key: arguments[0].toLowerCase(), code: 'Key' + arguments[0], bubbles: true}))"""
CHART = """
    const all = Object.values(window.__viserTestpoints.uplots).map(u => u.chart);
    const one = all.findLast(c => c.series.some(s => s.label === arguments[0]));
    return [one.scales.x.min, one.scales.x.max, one.data[1]]"""

CAMERA = """
    const c = window.__viserMutable.cameraControl, eye = c.camera.position;
    return [c.azimuthAngle, c.polarAngle, c.distance, eye.x, eye.y, eye.z]"""


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
        opened.close_notices()
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


def test_a_drag_beside_the_tool_does_not_tip_the_plane_over(page: Page) -> None:
    def camera() -> np.ndarray:
        return np.array(page.browser.execute_script(CAMERA), float)

    page.close_notices()  # one comes with every page that is drawn in software
    before = camera()
    beside = page.pixel(np.array([-0.9, 0.95, 0.0]))  # on the wall
    page.drag(beside, (beside[0] + 120, beside[1] + 90))

    def moved() -> bool:
        return bool(np.abs(camera() - before)[3:].max() > 0.05)

    wait_for("the picture to be moved instead", moved, PATIENCE)
    np.testing.assert_allclose(camera()[:3], before[:3], atol=1e-6)  # angles and distance
    press(page, "V")
    wait_for("the camera to be back", lambda: np.allclose(camera(), before, atol=1e-3))


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


def test_a_contact_is_marked_where_the_tool_touches(page: Page, stage: Stage) -> None:
    hold(page)
    page.drag_handle(MIDDLE)
    wait_for("a free tool", lambda: page.text("state") == "free" and page.number("contacts") == 0)
    wait_for("no mark", lambda: not len(page.marks("/contacts/discs")))
    page.drag_handle(BEYOND)
    wait_for("rest", lambda: page.text("state") == "resting" and page.number("force") > 3.0)
    wait_for("a disc and a stick", lambda: len(page.marks("/contacts/sticks")) > 0)
    hand = page.node("/contacts")
    assert hand is not None
    places = hand[:3] + page.marks("/contacts/discs")
    walls = stage.to_page(np.array([0.08, 0.0, 0.0]))[0]
    np.testing.assert_allclose(places[:, 0], walls, atol=0.08)  # at the wall, as seen from above


def test_dark_and_light(page: Page) -> None:
    def shade() -> str:
        root = page.browser.find_element(By.TAG_NAME, "html")
        return str(root.get_attribute("data-mantine-color-scheme"))

    assert shade() == "light"
    press(page, "L")
    wait_for("dark", lambda: shade() == "dark")
    wait_for("charts", lambda: chart(page, "felt")[2].size > 100, PATIENCE)
    press(page, "L")
    wait_for("light", lambda: shade() == "light")


def test_impulses_let_a_blow_sink_in_less_than_a_penalty(page: Page) -> None:
    deep = {}
    for mode in ("penalty", "impulse"):
        if mode == "impulse":
            renew(page, lambda: page.choose("Mode", "impulse"))
            wait_for("the handle", lambda: page.node("/handle") is not None, PATIENCE)
        hold(page)
        page.drag_handle(MIDDLE)
        wait_for("a free tool", lambda: page.text("state") == "free")
        wait_for("no depth in the chart", lambda: chart(page, "depth")[2].max() == 0.0, PATIENCE)
        page.drag_handle(WALL)
        wait_for("rest", lambda: page.text("state") == "resting" and page.number("depth") > 0.0)
        deep[mode] = chart(page, "depth")[2].max()
    assert deep["impulse"] < 0.7 * deep["penalty"], deep


def test_a_click_for_a_collision_only_if_asked_for(page: Page) -> None:
    count = "return window.__detent.clicks"
    assert page.browser.execute_script(count) == 0  # blows there were
    page.tick("Sound")
    wait_for("sound", lambda: page.browser.execute_script("return window.__detent.sound"))

    def struck() -> bool:
        page.drag_handle(MIDDLE)
        page.drag_handle(WALL)
        return bool(page.browser.execute_script(count))

    wait_for("a click", struck, PATIENCE)
    assert 0.0 < page.browser.execute_script("return window.__detent.loud") <= 1.0
    page.tick("Sound")


def test_a_gripper_can_be_closed(page: Page) -> None:
    renew(page, lambda: page.choose("World", "gripper"))
    wait_for("its actuators", lambda: page.typed("left") == 0.006, PATIENCE)

    def apart() -> float:
        finger, palm = page.node("/world/3"), page.node("/world/1")
        assert finger is not None and palm is not None
        return float(np.linalg.norm(finger[:3] - palm[:3]))

    before = apart()
    page.type_number("left", 0.02)
    page.type_number("right", 0.02)
    wait_for("the finger to move", lambda: abs(apart() - before) > 0.02, PATIENCE)


def test_a_report_opens_in_a_browser(page: Page, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", "walls", "--out", str(tmp_path)])
    assert done.exit_code in (0, 1), done.output
    page.browser.get((tmp_path / "report.html").as_uri())
    wait_for("a table", lambda: page.browser.find_elements(By.TAG_NAME, "table"))
    pictures = """return [...document.querySelectorAll('img, svg')].length > 0 &&
        [...document.images].every(i => i.complete && i.naturalWidth > 0)"""
    wait_for("figures", lambda: page.browser.execute_script(pictures))
    outside = """return [...document.querySelectorAll('[src],link[href]')].map(
        e => e.src || e.href).filter(a => /^https?:/.test(a)).length"""
    assert page.browser.execute_script(outside) == 0  # one file, nothing from elsewhere
