"""The workbench in a headless browser, as a person would use it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_actions import PointerActions
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from detent.app.handle import HANDLE_SIZE
from detent.app.stage import Stage

# Pictures are put together without the drawing process: beside others it kept a page for minutes.
PLAIN = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-first-run", "--disable-gpu-watchdog", "--disable-renderer-backgrounding"),
    *("--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows"),
)
# a quarter of the pixels: all are drawn in software
FLAGS = (*PLAIN, "--window-size=1200,700", "--force-device-scale-factor=0.5")
ANSWERS = 600  # [s] of the driver: a busy machine draws seldom, and each move waits for that
SQUARE = 1.7 / 7.0  # of the gizmo's size: where its square for moving in the plane is
NODE = "return window.__viserMutable?.nodePoseData?.[arguments[0]] ?? null"
CELL = "return document.querySelector(arguments[0])?.textContent ?? ''"
COPIES = """
    const all = [];
    window.__viserMutable?.nodeRefFromName?.[arguments[0]]?.traverse(o => {
        const kept = o.matricesTexture;
        if (kept) all.push(...(kept._data ?? kept.image.data).slice(0, 16 * o.count)); });
    return all"""
CANVAS = """
    const all = [...document.querySelectorAll('canvas')].map(c => c.getBoundingClientRect());
    const box = all.sort((a, b) => b.width * b.height - a.width * a.height)[0];
    return [box.left, box.top, box.width, box.height]"""
# A page that is drawn in software takes a whole core; five frames a second show as much.
SELDOM = """
    const draw = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = f => setTimeout(() => draw(f), 200);
    window.cancelAnimationFrame = clearTimeout"""
TWO_FRAMES = "const f = requestAnimationFrame, done = arguments[0]; f(() => f(done))"


@contextmanager
def open_browser(flags: tuple[str, ...] = FLAGS) -> Iterator[webdriver.Chrome]:
    """A browser of its own, which leaves nothing behind; skips the test where there is none."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.page_load_strategy = "eager"  # a page with a live line need never be done loading
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in flags:
        options.add_argument(flag)
    service = webdriver.ChromeService(driver, popen_kw={"start_new_session": True})
    try:
        browser = webdriver.Chrome(options, service)
        try:
            browser.set_script_timeout(60)
            seldom = {"source": SELDOM}
            browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", seldom)
            browser.command_executor.client_config.timeout = ANSWERS  # type: ignore[union-attr]
            yield browser
        finally:
            with suppress(Exception):  # it may be gone already
                browser.quit()
    finally:
        end_session(getattr(service, "process", None))


@contextmanager
def open_page(url: str, stage: Stage) -> Iterator[Page]:
    """A page in a browser of its own."""
    with open_browser() as browser:
        browser.get(url)
        yield Page(browser, stage)


def end_session(driver: subprocess.Popen[bytes] | None) -> None:
    """Kill what is left of a driver and its browser, which has a process group of its own."""
    if driver is None:
        return
    until = time.monotonic() + 10.0
    while (left := members(driver.pid)) and time.monotonic() < until:
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)
    driver.wait()


def members(session: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, its, *_ = file.read_text().rpartition(")")[2].split()
            if int(its) == session and state != "Z":
                found.append(int(file.parent.name))
    return found


def wait_for(what: str, met: Callable[[], object], seconds: float = 60.0) -> None:
    """Poll until a condition is met."""
    until = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < until, f"waited {seconds:g} s in vain for {what}"
        time.sleep(0.1)


class Page:
    """What a person sees and does."""

    def __init__(self, browser: webdriver.Chrome, stage: Stage) -> None:
        self.browser, self._stage = browser, stage

    def text(self, name: str) -> str:
        """The number in the table of the servo, as text; empty if it is not there."""
        return str(self.browser.execute_script(CELL, f"td[data-name={name}]"))

    def number(self, name: str) -> float:
        """The number in the table of the servo, without its unit."""
        return float((self.text(name) or "nan").split()[0])

    @property
    def scripted(self) -> bool:
        """Whether the page says that the script leads."""
        return self._field("Scripted motion", "@type='checkbox'").is_selected()

    def toggle_script(self) -> None:
        """Click the checkbox of the script."""
        self._field("Scripted motion", "@type='checkbox'").click()

    def tick(self, label: str) -> None:
        """Click a checkbox, wherever it is; the page may be rebuilt at any time."""

        def clicked() -> bool:
            try:
                box = self._field(label, "@type='checkbox'")
                self.browser.execute_script("arguments[0].click()", box)
            except WebDriverException:
                return False
            return True

        wait_for(f"the checkbox {label!r}", clicked)

    def close_notices(self) -> None:
        """Close what lies above the picture; what fades out still catches the mouse."""

        def none_left() -> bool:
            close = "document.querySelectorAll('[role=alert] button').forEach(b => b.click())"
            self.browser.execute_script(close)
            return not self.browser.find_elements(By.CSS_SELECTOR, "[role=alert]")

        wait_for("notices to be gone", none_left)

    def type_number(self, label: str, value: float) -> None:
        """Type into the field beside a slider."""
        field = self._field(label, "@inputmode")
        self.browser.execute_script("arguments[0].scrollIntoView()", field)
        chain = ActionChains(self.browser).click(field)
        chain.key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL)
        chain.send_keys(f"{value:g}", Keys.ENTER).perform()

    def typed(self, label: str) -> float:
        """The number in the field beside a slider; NaN while the page is being rebuilt."""
        try:
            return float(self._field(label, "@inputmode").get_attribute("value") or "nan")
        except (WebDriverException, ValueError):
            return float("nan")

    def choose(self, label: str, option: str) -> None:
        """Choose from a list; the page may be rebuilt at any time."""

        def chosen() -> bool:
            try:
                self._field(label, "@aria-haspopup='listbox'").click()
                self.wait_for_frames()
                self.browser.find_element(By.XPATH, f"//*[@role='option'][.='{option}']").click()
            except WebDriverException:
                return False
            return True

        wait_for(f"{option!r} in the list {label!r}", chosen)

    def node(self, name: str) -> np.ndarray | None:
        """Position and quaternion (7,) of a node in page units."""
        pose = self.browser.execute_script(NODE, name)
        return None if pose is None else np.array([*pose["position"], *pose["wxyz"]])

    def marks(self, batch: str) -> np.ndarray:
        """Places (n, 3) [page units] of those copies of a batched shape that have a size."""
        matrices = np.array(self.browser.execute_script(COPIES, batch), float).reshape(-1, 4, 4)
        sized: np.ndarray = np.abs(matrices[:, :3, :3]).max(axis=(1, 2)) > 0.0
        return matrices[sized, 3, :3]

    def wait_until_still(self, name: str) -> None:
        """Wait until a node does not move any more, and was drawn there."""
        seen: list[np.ndarray | None] = [None, None]

        def still() -> bool:
            time.sleep(0.2)
            self.wait_for_frames()
            seen[:] = [seen[1], self.node(name)]
            return seen[0] is not None and np.allclose(*seen, atol=1e-3)

        wait_for(f"{name} to stand still", still)

    def wait_for_frames(self) -> None:
        """Wait until the page was drawn anew; a slow page takes its messages then, too."""
        self.browser.execute_async_script(TWO_FRAMES)

    def handle_square(self, target: np.ndarray | None = None) -> tuple[int, int]:
        """The pixel of the gizmo's square: now, or if the handle came to a target (3,)."""
        pose = self.node("/handle")
        assert pose is not None
        angle = 2.0 * np.arctan2(pose[6], pose[3])
        corner = SQUARE * HANDLE_SIZE * np.array([1.0, 1.0])
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        place = pose[:3] if target is None else self._stage.lifted(target)
        return self.pixel(place + np.append(turn @ corner, 0.0))

    def pixel(self, point: np.ndarray) -> tuple[int, int]:
        """Where a point of the page [page units] is on the screen, before the camera moved."""
        left, top, width, height = self.browser.execute_script(CANVAS)
        eye = self._stage.to_page(self._stage.camera())
        zoom = 0.5 * height / np.tan(0.5 * self._stage.field_of_view) / (eye[2] - point[2])
        x, y = left + 0.5 * width + zoom * point[0], top + 0.5 * height - zoom * point[1]
        return round(float(x)), round(float(y))

    def drag_handle(self, target: tuple[float, float]) -> None:
        """Drag the handle by its square to (x, y) [m], as often as a busy machine needs."""
        wanted = self._stage.to_page(np.array([*target, self._stage.start.position[2]]))
        wait_for(f"the handle to come to {target}", lambda: self._try_drag(wanted), 90.0)

    def _try_drag(self, wanted: np.ndarray) -> bool:
        self.wait_until_still("/handle")
        self.drag(self.handle_square(), self.handle_square(wanted))
        self.wait_until_still("/handle")
        handle = self.node("/handle")
        assert handle is not None
        return bool(np.allclose(self._stage.lowered(handle[:3])[:2], wanted[:2], atol=0.03))

    def drag(self, start: tuple[int, int], end: tuple[int, int], steps: int = 4) -> None:
        """Drag the mouse from pixel to pixel.

        It happens in one go: a headless browser forgets a pressed button when the page
        changes below a mouse that does not move.
        """
        self._mouse(lambda mouse: mouse.move_to_location(*start))
        self.wait_for_frames()

        def gesture(mouse: PointerActions) -> None:
            mouse.pointer_down()
            for part in np.linspace(0.0, 1.0, steps + 1)[1:]:
                x, y = np.add(start, part * np.subtract(end, start)).round().astype(int).tolist()
                mouse.move_to_location(x, y)
            mouse.pointer_up()

        self._mouse(gesture)

    def _field(self, label: str, kind: str) -> WebElement:
        inside = f"//label[.='{label}']/ancestor::*[.//input[{kind}]][1]//input[{kind}]"
        return self.browser.find_element(By.XPATH, inside)

    def _mouse(self, do: Callable[[PointerActions], object]) -> None:
        builder = ActionBuilder(self.browser, duration=50)
        do(builder.pointer_action)
        builder.perform()
