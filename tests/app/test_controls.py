"""Changing what a running servo cannot: it starts anew where it was, and pauses, and steps."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import Page, open_page, wait_for
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from test_workbench import Playing

from detent import Contact, Friction, Session, Trace, World, devices
from detent.app.controls import PRESETS
from detent.app.stage import set_stage
from detent.app.wanted import Wanted, coupling_name, device_names, name_of, renewed
from detent.app.workbench import another, free
from detent.errors import ParameterError
from detent.hands import Impedance
from detent.servo.loop.live import Live
from detent.servo.structs import STARTED
from waiting import wait_for as waited

CODE = """
import os
os.chdir({folder!r})
from detent import Session, World
from detent.app.workbench import play
play(Session(World.builtin("corner")), rate=500.0, port=0, realtime=False)
"""


def moved() -> tuple[Session, Live]:
    """A session that went somewhere, with a stiffness that somebody changed."""
    session = Session(World.builtin("corner"))
    with session.live(1000, Impedance(200, 10), realtime=False) as live:
        live.pull((0.03, 0.02))
        live.change(contact=Contact(9000, 40))
        assert waited(lambda: live.status().ticks > 100)
    return session, live


@pytest.mark.live
def test_what_is_not_wanted_otherwise_stays() -> None:
    session, live = moved()
    start = session.world.qpos
    where = live.configuration()[0]
    assert not np.allclose(where, start)
    soft = renewed(session, live, Wanted(contact={"mode": "penalty"}), start)
    assert (soft.contact.mode, soft.contact.stiffness) == ("penalty", 9000)
    np.testing.assert_array_equal(soft.world.qpos, where)
    over = renewed(session, live, Wanted(reset=True), start)
    np.testing.assert_array_equal(over.world.qpos, start)
    assert over.contact.stiffness == 9000
    tied = renewed(session, live, Wanted(coupling="virtual"), start)
    assert coupling_name(tied.coupling) == "virtual"
    other = renewed(session, live, Wanted(device="touch"), start)
    assert name_of(other.device) == "touch" and other.coupling != session.coupling
    engine = renewed(session, live, Wanted(local=True), start)
    assert engine.local is not None and renewed(engine, live, Wanted(local=False), start)
    assert not renewed(session, live, Wanted(gravity=False), start).world.gravity
    door = renewed(session, live, Wanted(world="door"), start)
    assert door.world.name == "door" and door.contact.stiffness != 9000


@pytest.mark.live
def test_a_mechanism_can_follow_a_world_and_a_world_a_mechanism() -> None:
    session, live = moved()
    wheel = renewed(session, live, Wanted(world="two-link-circle"), session.world.qpos)
    assert wheel.subject.mechanism is not None and wheel.device.takes_motion
    with wheel.live(500, Impedance(), realtime=False) as turning:
        assert waited(lambda: turning.status().ticks > 5)
    over = renewed(wheel, turning, Wanted(reset=True), wheel.world.qpos)
    assert over is wheel
    back = renewed(wheel, turning, Wanted(world="corner"), wheel.world.qpos)
    assert (back.world.name, name_of(back.device), back.contact.mode) == (
        "corner", "desktop", "impulse",
    )  # fmt: skip


@pytest.mark.live
def test_what_does_not_fit_is_refused() -> None:
    session, live = moved()
    rigid = renewed(session, live, Wanted(contact={"mode": "rigid"}), session.world.qpos)
    with pytest.raises(ParameterError):
        renewed(rigid, live, Wanted(contact={"mode": "rigid", "friction": Friction(law="dahl")}),
                session.world.qpos)  # fmt: skip
    for name, preset in PRESETS.items():
        assert renewed(session, live, Wanted(contact=preset), session.world.qpos), name


def test_what_is_wanted_is_said_in_words() -> None:
    wanted = Wanted(contact={"mode": "penalty", "friction": Friction()}, record=True)
    assert wanted.words() == "mode is penalty, friction is reset-integrator, recording"
    assert device_names(devices.Pantograph())[0] == "Pantograph"


def test_a_recording_never_writes_over_another(tmp_path: Path) -> None:
    file = tmp_path / "a.arrow"
    assert free(file) == file
    file.touch()
    assert free(file) == another(file) == tmp_path / "a-2.arrow"


@pytest.mark.live
def test_a_servo_pauses_steps_and_goes_slowly() -> None:
    session = Session(World.builtin("corner"))
    with session.live(1000, Impedance(), realtime=False) as live:
        assert waited(lambda: live.status().ticks > 20)
        live.pace(math.inf)
        assert waited(lambda: live.status().wanted == 0.0 and not live._servo.clock.counts[STARTED])
        ticks = live.status().ticks
        live.pace(math.inf, steps=3)
        assert waited(lambda: live.status().ticks == ticks + 3)
        live.pace(10.0)
        assert live.status().wanted == 100.0
        assert waited(lambda: live.status().ticks > ticks + 10)
        assert live.running
        with pytest.raises(ParameterError, match="at least 1"):
            live.pace(0.5)
    rows = live.recent()
    np.testing.assert_allclose(np.diff(rows["time"]), 1e-3, atol=1e-12)  # as long as ever


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Playing, Page, Path]]:
    folder = tmp_path_factory.mktemp("records")
    playing = Playing(CODE.format(folder=str(folder)))
    with open_page(playing.url, set_stage(Session(World.builtin("corner")))) as page:
        wait_for("the numbers", lambda: page.text("state"))
        page.close_notices()
        yield playing, page, folder
    assert playing.stop(signal.SIGINT) == 0, playing.output
    assert "Traceback" not in playing.output


def renew(page: Page, ask: Callable[[], None]) -> None:
    """Ask for something, and wait for the page of the session that has it."""
    old = page.browser.find_element(By.XPATH, "//label[.='Record']")

    def gone() -> bool:
        try:
            return not old.is_enabled()
        except WebDriverException:
            return True

    ask()
    wait_for("another page", gone)
    wait_for("its numbers", lambda: page.text("state"), 180.0)  # what is new is compiled first


@pytest.mark.browser
def test_a_person_changes_what_needs_a_new_start(played: tuple[Playing, Page, Path]) -> None:
    playing, page, folder = played
    renew(page, lambda: page.choose("Mode", "penalty"))
    assert "mode is penalty" in playing.output
    renew(page, lambda: page.choose("Friction", "dahl"))
    assert "friction is dahl" in playing.output
    wait_for("a slider for it", lambda: page.typed("μ static [-]") == 0.4)
    renew(page, lambda: page.tick("Record"))
    assert (folder / "corner.arrow").exists()
    renew(page, lambda: page.tick("Record"))
    assert "recorded corner.arrow" in playing.output
    trace = Trace.load(folder / "corner.arrow")
    assert (trace.meta["contact"]["mode"], trace.meta["contact"]["friction"]["law"]) == (
        "penalty", "dahl",
    )  # fmt: skip
    assert "truncated" not in trace.meta


@pytest.mark.browser
def test_a_person_pauses_and_steps(played: tuple[Playing, Page, Path]) -> None:
    _, page, _ = played
    wait_for("the numbers", lambda: page.text("state"))
    page.tick("Pause")
    wait_for("a pause", lambda: page.text("rate") == "paused")
    step = page.browser.find_element(By.XPATH, "//button[.='Step']")
    page.browser.execute_script("arguments[0].click()", step)
    page.tick("Pause")
    wait_for("going on", lambda: "Hz" in page.text("rate"))


@pytest.mark.browser
def test_starting_over_replays_the_script(played: tuple[Playing, Page, Path]) -> None:
    playing, page, _ = played
    page.toggle_script()
    wait_for("nobody to lead", lambda: not page.scripted)
    renew(page, lambda: page.choose("Coupling", "virtual"))
    assert not page.scripted  # a new start goes on as it was
    over = "//button[.='Start over']"
    button = page.browser.find_element(By.XPATH, over)
    renew(page, lambda: page.browser.execute_script("arguments[0].click()", button))
    assert "it starts over" in playing.output
    wait_for("the script", lambda: page.scripted)


@pytest.mark.browser
def test_another_link_is_held_by_name(played: tuple[Playing, Page, Path]) -> None:
    playing, page, _ = played
    renew(page, lambda: page.choose("World", "three-link"))
    page.choose("Held link", "link1")
    wait_for("the other link", lambda: "the hand now holds 'link1'" in playing.output)
    wait_for("two constraints", lambda: page.text("constraints") == "2")  # a crank in the plane
    page.choose("Held link", "link2")
    wait_for("one constraint", lambda: page.text("constraints") == "1")


@pytest.mark.browser
def test_what_was_changed_stays_when_another_link_is_held(
    played: tuple[Playing, Page, Path],
) -> None:
    playing, page, _ = played
    grip = round(0.5 * page.typed("Grip [N/m]"))
    page.type_number("Stiffness [N/m]", 9000)
    page.type_number("Grip [N/m]", grip)
    before = playing.output.count("the hand now holds")
    page.choose("Held link", "link3")
    wait_for("the other link", lambda: playing.output.count("the hand now holds") > before)
    wait_for("the stiffness", lambda: page.typed("Stiffness [N/m]") == 9000)
    wait_for("the grip", lambda: page.typed("Grip [N/m]") > 0)


@pytest.mark.browser
def test_a_mechanism_has_a_track_and_constraints_and_what_it_is_held_by_is_felt(
    played: tuple[Playing, Page, Path],
) -> None:
    _, page, _ = played
    renew(page, lambda: page.choose("World", "rolling-disk"))
    wait_for("a track", lambda: page.node("/track/0") is not None)
    wait_for("its constraints", lambda: page.text("constraints") == "4")
    assert page.text("lag").endswith("µm") and not page.text("depth")
    assert not page.browser.find_elements("xpath", "//*[text()='Contact']")
    before = page.node("/world/1")
    wait_for("the disk to roll", lambda: np.linalg.norm(page.node("/world/1") - before) > 0.05)
    wait_for("what presses to be felt", lambda: page.number("felt") == page.number("hand") > 0.0)
    renew(page, lambda: page.choose("World", "corner"))
    wait_for("a world again", lambda: page.text("depth"))
