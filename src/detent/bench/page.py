"""The workbench open in a browser, as the load under which live sessions are measured."""

from __future__ import annotations

import io
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from detent.app.grip import grip
from detent.app.server import LOGGER, PageServer
from detent.app.stage import set_stage
from detent.app.status import StatusLine
from detent.app.workbench import Workbench
from detent.app.workbench import run as run_frames
from detent.errors import PlatformError
from detent.servo.loop.live import Live
from detent.session import Session

BROWSERS = ("chromium", "google-chrome")
FLAGS = (
    # No sandbox: it does not work for root and in containers, and only our own page is shown.
    *("--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-first-run", "--window-size=1200,700", "--remote-debugging-port=0"),
)
PAGE_PATIENCE = 60.0  # [s] for the page to connect
ATTEMPTS, BETWEEN_ATTEMPTS = 20, 0.5  # [-], [s] to start a live session


class Page:
    """A page that shows one live session after the other."""

    def __init__(self, session: Session, server: PageServer) -> None:
        self._session, self.server = session, server
        self.workbench: Workbench | None = None  # of the session that is shown
        self.frames: threading.Thread | None = None  # on which it is
        self.profile: Path | None = None  # of the browser that shows it
        self._stage = set_stage(session)
        self.url = server.url

    @property
    def open(self) -> bool:
        """Whether a browser shows it."""
        return bool(self.server.get_clients())

    def debugger_port(self) -> int:
        """Where the browser that shows it can be asked."""
        if self.profile is None:
            raise KeyError("no browser")
        return int((self.profile / "DevToolsActivePort").read_text().split()[0])

    @contextmanager
    def playing(self, rate: float, realtime: bool) -> Iterator[Live]:
        """The session live on the page, as `detent play` does it, on a thread of its own."""
        hand, stop = grip(self._session, self._stage, rate), threading.Event()
        self.server.gui.reset()
        self.server.scene.reset()
        with patient(lambda: self._session.live(rate, hand, realtime)) as live:
            workbench = self.workbench = Workbench(self._session, live, self._stage, self.server)
            unseen = StatusLine(io.StringIO())
            frames = self.frames = threading.Thread(
                target=run_frames, args=(workbench, live, unseen, stop, None), daemon=True
            )
            frames.start()
            try:
                yield live
            finally:
                stop.set()
                frames.join()


@contextmanager
def patient(start: Callable[[], AbstractContextManager[Live]]) -> Iterator[Live]:
    """Start a live session, again if it is refused: on a busy machine ticks look slow at times."""
    with ExitStack() as stack:
        for left in reversed(range(ATTEMPTS)):
            try:
                live = stack.enter_context(start())
                break
            except PlatformError:
                if not left:
                    raise
                time.sleep(BETWEEN_ATTEMPTS)
        yield live


@contextmanager
def serve_page(session: Session) -> Iterator[Page]:
    """A page of this session on a loopback port, not yet open anywhere."""
    # a browser that ends breaks connections off, which is not worth a traceback
    LOGGER.setLevel(logging.CRITICAL)
    server = PageServer("127.0.0.1", 0)
    try:
        yield Page(session, server)
    finally:
        server.stop()


@contextmanager
def browser_at(page: Page) -> Iterator[str]:
    """A headless browser that has opened the page; its name, or "none" where that fails."""
    command = next(filter(None, map(shutil.which, BROWSERS)), None)
    if command is None:
        yield "none"
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        page.profile = Path(profile)
        process = subprocess.Popen(
            [command, *FLAGS, f"--user-data-dir={profile}", page.url],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield Path(command).name if _connects(page, process) else "none"
        finally:
            _end(process)


def _connects(page: Page, browser: subprocess.Popen[bytes]) -> bool:
    """Wait for the browser to open the page; whether it did."""
    until = time.monotonic() + PAGE_PATIENCE
    while not page.open and browser.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    return page.open


def _end(browser: subprocess.Popen[bytes]) -> None:
    """End the browser and the processes that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(browser.pid, number)
        with suppress(subprocess.TimeoutExpired):
            browser.wait(10.0)
