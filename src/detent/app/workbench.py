"""The workbench: a session live in the browser, where the pointer is the hand."""

from __future__ import annotations

import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from detent.app.actuators import Actuators
from detent.app.arrows import ForceArrows
from detent.app.contacts import Contacts
from detent.app.controls import Controls
from detent.app.grip import grip
from detent.app.handle import Handle
from detent.app.lead import Lead
from detent.app.panel import Panel, firmer
from detent.app.picture import Picture
from detent.app.pull import Pull
from detent.app.readings import Readings
from detent.app.server import PageServer
from detent.app.stage import Stage, set_stage
from detent.app.status import StatusLine, first_line
from detent.app.stopper import Stopper
from detent.app.tracks import Tracks
from detent.app.view import View
from detent.app.wanted import Wanted, renewed
from detent.checks import positive
from detent.errors import DetentError
from detent.servo.loop.live import Live
from detent.servo.loop.status import Status
from detent.session import Session
from detent.setup.progress import reporting

FRAME = 1.0 / 60.0  # [s]
PANEL_EVERY = 0.1  # [s]
BRAND = (0, 114, 178)
PANEL_WIDTH = 340  # [px]
_PREPARING = "<p data-name='preparing' style='margin:0.5em 0.75em'>Preparing the world …</p>"


class Workbench:
    """One page for one running session.

    It draws the newest view of the servo, and moves the hand's target: by a script as long
    as nobody drags, by the pointer afterwards. It never touches the servo's memory.
    """

    def __init__(
        self,
        session: Session,
        live: Live,
        stage: Stage,
        server: PageServer,
        firmness: float = 1.0,
        recording: bool = False,
        notice: str = "",
        dark: bool = False,
    ) -> None:
        self._live, self._server = live, server
        mechanism, touchable = session.subject.mechanism, session.subject.touchable
        led = mechanism is not None and mechanism.lead is not None
        self.pull = Pull(stage, Lead(mechanism) if led and mechanism is not None else None)
        self.readings = Readings(live, stage.tool_size, session.device.takes_motion)
        self._picture = Picture(server, stage, engine=live.engine is not None)
        self._arrows = ForceArrows(server, stage)
        self._contacts = Contacts(server, stage)
        self._handle = Handle(server, stage, self._picture.tool_meshes, self.pull.take)
        self._tracks = Tracks(server, stage) if mechanism is not None else None
        hand = grip(session, stage, live.rate)
        limits = [str(one) for one in session.limits(live.rate)]
        self._panel = Panel(server, live, hand, firmness, self.pull, self.readings, notice, limits)
        self._controls = Controls(server.gui, session, live, recording)
        self._view = View(server, stage, self.pull, dark, touchable)
        Actuators(server.gui, session, live)
        if touchable:
            self._panel.offer_links(session.world)
        self._world = session.world
        dress(server, self._world.name)
        self._watched = False  # whether a page is open
        self._holder = server.visitors.holder  # which page has the tool
        self._panel_due = 0.0
        self._session, self._grabs = session, True  # a button that grabs: until it is let go
        self._grabbed: str | None = None  # the link that it asks for
        self.drawn = 0  # pictures that pages were told of

    @property
    def lead(self) -> Leading:
        """How the hand is led."""
        return Leading(self.pull.scripted, self._panel.firmness, self._view.dark)

    @property
    def wanted(self) -> Wanted | None:
        """What shall be other, once somebody chose something that needs a new start."""
        link = self._panel.wanted_link or self._grabbed
        return self._controls.wanted if link is None else Wanted(link=link)

    def frame(self, now: float, step: float) -> None:
        """Lead the hand, and show where everything is.

        Args:
            now: [s] since the start.
            step: [s] since the last frame.
        """
        watched = bool(self._server.get_clients())
        if self._watched and not watched:  # the last page was closed
            self.pull.give_back()
        self._watched = watched
        link = self._session.grabbed(self._live)
        self._grabbed = link if not self._grabs else self._grabbed
        self._grabs = link is not None
        before, self._holder = self._holder, self._server.visitors.holder
        if before not in (None, self._holder):  # it may have left amid a drag
            self._handle.release()
        target = self.pull.advance(now, step)
        self._live.pull(target[:3].tolist(), target[3:].tolist())
        self.readings.refresh(step)
        flash = self._view.strike(self.readings.fresh)
        if self._view.dark != self._view.darkened:
            self._darken(self._view.dark)
        if watched:
            self._draw(target, flash, now)
        if watched and now >= self._panel_due:
            self._panel_due = now + PANEL_EVERY
            self._panel.refresh()

    def _draw(self, target: np.ndarray, flash: float, now: float) -> None:
        poses, row = self._live.view()
        if not poses[0, 3]:  # no unit quaternion: the servo has shown nothing yet
            return
        self.drawn += 1
        eye = self._view.eye
        with self._server.atomic():
            self._picture.update(poses, row)
            self._picture.warn(self.readings.deep)
            self._arrows.update(row["tool_position"], self.readings.arrows, eye)
            self._contacts.update(row["tool_position"], self._live.shown(), flash, eye)
            self._handle.update(target, row["tool_position"])
            if self._tracks is not None:
                self._tracks.update(row["track"])
            if self._live.engine is not None:
                self._picture.show_engine(self._live.engine.poses()[self._world.held])
        self._view.follow(row["tool_position"], now)

    def _darken(self, dark: bool) -> None:
        self._view.darkened = dark
        self._picture.darken(dark)
        self._arrows.darken(dark)
        self._panel.darken(dark)
        dress(self._server, self._world.name, dark)


def play(
    session: Session,
    rate: float = 4000.0,
    port: int = 8080,
    host: str = "127.0.0.1",
    realtime: bool = True,
    seconds: float | None = None,
    open_browser: bool = False,
    record: str | Path | None = None,
) -> Status | None:
    """Run a session live, with a page, until Ctrl-C, SIGTERM or the end of *seconds*.

    Args:
        session: what to feel.
        rate: [Hz] of the servo.
        port: of the page; the next free one if it is taken, any if 0.
        host: a loopback address; others are refused.
        realtime: take real-time priority where allowed.
        seconds: [s] after which to stop.
        open_browser: show the page.
        record: a file to stream the trace into.

    Returns:
        How the servo did; None if it was stopped before it started.
    """
    if seconds is not None:
        positive("seconds", seconds)
    screen, stopper = StatusLine(), Stopper()
    with stopper.listening():
        try:
            session.warm(rate)
            server = PageServer(host, port)
            try:
                screen.say(first_line(session.world.name, server.url))
                if open_browser:
                    webbrowser.open(server.url)
                show = Show(server, screen, stopper, rate, realtime, seconds, record)
                return show.go_on(session)
            finally:
                server.stop()
        except KeyboardInterrupt:
            screen.say("stopped before the start")
            return None


class Leading(NamedTuple):
    """How the hand is led and the page looks; it stays so when a session follows another."""

    scripted: bool = True  # by the script
    firmness: float = 1.0  # how stiff the grip is, relative to its default
    dark: bool = False  # the page


class Show:
    """One page, and the sessions that follow each other on it."""

    def __init__(
        self,
        server: PageServer,
        screen: StatusLine,
        stopper: Stopper,
        rate: float,
        realtime: bool,
        seconds: float | None,
        record: str | Path | None,
    ) -> None:
        self._server, self._screen, self._stopper = server, screen, stopper
        self._rate, self._realtime = rate, realtime
        self._seconds, self._until = seconds, 0.0  # [s] how long, and until when
        self._file, self._record = record, record
        self._lead = Leading()
        self._notice = ""  # for the next page
        self._begun = False  # whether the newest session runs, or ran

    def go_on(self, session: Session) -> Status:
        """Play, one session after the other, until the end."""
        before: Session | None = None
        start = session.world.qpos
        while True:
            self._begun = False
            try:
                status, following = self._play(session, start)
            except DetentError as error:
                if self._begun or before is None:
                    raise
                self._refuse(error)
                session, before = before, None
                continue
            if following is None:
                return status
            if following.world.name != session.world.name:
                start = following.world.qpos
            session, before = following, session

    def _refuse(self, error: DetentError) -> None:
        self._notice = f"that cannot be: {error}"
        self._screen.say(self._notice)

    def _play(self, session: Session, start: np.ndarray) -> tuple[Status, Session | None]:
        """Play a session until the end, or until something else is wanted: what, as a session."""
        with self._preparing():
            stage = set_stage(session)
            session.warm(self._rate)
        hand = firmer(grip(session, stage, self._rate), self._lead.firmness)
        recording = self._record is not None
        with session.live(self._rate, hand, self._realtime, self._record) as live:
            self._begun = True
            bench = Workbench(
                session, live, stage, self._server, self._lead.firmness, recording, self._notice,
                self._lead.dark,
            )  # fmt: skip
            self._notice = ""
            if not self._lead.scripted:
                bench.pull.hold()
            self._screen.say_once("rights", live.promises.advice)
            self._stopper.gentle = True
            run(bench, live, self._screen, self._stopper.stop, self._left())
            live.stop()
            status, wanted, self._lead = live.status(), bench.wanted, bench.lead
        if wanted is not None and wanted.reset:  # the script, too, from its start
            self._lead = self._lead._replace(scripted=True)
        ends = wanted is None or self._stopper.stop.is_set()
        if ends:
            self._screen.end(status, bench.readings)
        for note in live.notes():
            self._screen.say(f"note: {note}")
        if recording:
            self._screen.say(f"recorded {self._record}: detent replay {self._record}")
        if ends or wanted is None:
            return status, None
        with self._preparing():  # a mechanism may have to be derived
            return status, self._next(session, live, wanted, start)

    def _left(self) -> float | None:
        """[s] to the end; they count from when the first session runs."""
        if self._seconds is None:
            return None
        self._until = self._until or time.monotonic() + self._seconds
        return self._until - time.monotonic()

    @contextmanager
    def _preparing(self) -> Iterator[None]:
        """Clear the page; meanwhile it has a bar that says how far that is."""
        self._server.scene.reset()
        self._server.gui.reset()
        self._server.gui.add_html(_PREPARING)
        bar = self._server.gui.add_progress_bar(0.0)

        def tell(done: float) -> None:
            bar.value = 100.0 * done  # type: ignore[misc]  # it has a setter

        with reporting(tell):
            yield
        self._server.gui.reset()

    def _next(self, session: Session, live: Live, wanted: Wanted, start: np.ndarray) -> Session:
        """The session that was asked for, or the same one where it cannot be."""
        try:
            following = renewed(session, live, wanted, start)
            self._screen.say(wanted.words())
        except DetentError as error:
            self._refuse(error)
            held = session.world.body_name(session.world.held)
            following = session.continued(live, held)
        if wanted.record is not None:
            name = self._file or f"{session.world.name}.arrow"
            self._record = self._file = name if wanted.record else self._file
            self._record = free(name) if wanted.record else None
        elif self._record is not None:
            self._record = another(self._file)
        return following


def free(record: str | Path) -> Path:
    """The name itself, or the next free one."""
    path = Path(record)
    return another(path) or path if path.exists() else path


def another(record: str | Path | None) -> Path | None:
    """The next free name for a trace: trace.arrow, trace-2.arrow, …"""
    if record is None:
        return None
    path, number = Path(record), 2
    while (free := path.with_name(f"{path.stem}-{number}{path.suffix}")).exists():
        number += 1
    return free


def run(
    bench: Workbench,
    live: Live,
    screen: StatusLine,
    stop: threading.Event,
    seconds: float | None,
) -> None:
    """Frame after frame, until told to stop, time is over, a new start is wanted, or a fault."""
    began = last = time.monotonic()
    while live.running and not stop.wait(max(0.0, last + FRAME - time.monotonic())):
        now = time.monotonic()
        bench.frame(now - began, now - last)
        screen.refresh(live, bench.readings)
        last = now
        if bench.wanted is not None or (seconds is not None and now - began >= seconds):
            return


def dress(server: PageServer, world: str, dark: bool = False) -> None:
    """The page's title, colours and layout."""
    server.gui.configure_theme(
        control_width="medium",
        dark_mode=dark,
        show_logo=False,
        show_share_button=False,
        brand_color=BRAND,
    )
    server.gui.set_panel_label(f"Detent · {world}")
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(PANEL_WIDTH)
