"""The page of a live session as a picture, taken in the headless browser of the tests."""

from __future__ import annotations

import math
import sys
from contextlib import suppress
from pathlib import Path

from selenium.common.exceptions import TimeoutException
from selenium.webdriver import Chrome

import detent
from detent.app.stage import set_stage
from detent.bench.page import serve_page
from detent.session import Session

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "app")]

from browser import PLAIN, Page, open_browser, wait_for  # noqa: E402

WIDE, HIGH, FRAME = 1280, 720, 143  # [px] of the page, and what a window adds to its height
RATE = 1000.0  # [Hz] that a busy machine holds, too
PATIENCE = 300.0  # [s]
FELT = 1.0  # [N]


def photograph(world: detent.World, path: Path) -> None:
    """Write the page of a session with its scripted hand, when something is felt."""
    flags = (*PLAIN, f"--window-size={WIDE},{HIGH + FRAME}")
    contact = detent.Contact(friction=detent.Friction(0.5, 0.4))
    session = Session(world, contact)
    with (
        serve_page(session) as served,
        served.playing(RATE, realtime=True) as live,
        open_browser(flags) as browser,
    ):
        browser.get(served.url)
        page = Page(browser, set_stage(session))
        wait_for("the numbers", lambda: page.text("state"), PATIENCE)
        page.close_notices()
        with suppress(AssertionError):  # a scene in which nothing touches is shown as it is
            wait_for("a force", lambda: page.number("felt") > FELT and page.number("contacts") > 0)
        live.pace(math.inf)  # a page that stands still is soon drawn
        wait_for("a picture", lambda: taken(browser, path), PATIENCE)


def taken(browser: Chrome, path: Path) -> bool:
    """Write what a browser shows; whether it came to it: a busy machine is late with pictures."""
    try:
        return bool(browser.save_screenshot(str(path)))
    except TimeoutException:
        return False
