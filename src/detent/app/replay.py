"""A trace in the browser: scrub through it, beside the same hand with other settings."""

from __future__ import annotations

import time
from dataclasses import replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
import viser

from detent.app.arrows import ForceArrows
from detent.app.contacts import Contacts
from detent.app.page_script import page_script
from detent.app.picture import Picture
from detent.app.readings import drawn, impulses, state_of
from detent.app.rehearsal import Run
from detent.app.server import PageServer
from detent.app.stage import Stage, set_stage
from detent.app.status import StatusLine
from detent.app.stopper import Stopper
from detent.app.timeline import Timeline
from detent.app.workbench import dress
from detent.record.summary import measures
from detent.record.trace import felt_in

FRAME = 1.0 / 60.0  # [s]
PANEL_EVERY = 0.1  # [s]
SPEEDS = {"slow, 1/10": 0.1, "slow, 1/4": 0.25, "as it was": 1.0, "4 times": 4.0}
APART = 1.15  # between the middles of two worlds side by side, in sizes of one
FARTHER = 1.55  # the camera, so that two worlds are in the picture
BROAD = 1.4  # width by height of a picture of two
LABEL = 0.58  # sizes of a world above its middle
SMOOTH = 0.03  # [s] over which arrows are averaged
_SMALL = "font-size:0.82em;line-height:1.35"


class Actor(NamedTuple):
    """A run on the page."""

    run: Run
    picture: Picture
    arrows: ForceArrows
    contacts: Contacts


class ReplayPage:
    """One page for one run, or for two on the same hand."""

    def __init__(self, server: PageServer, runs: list[Run], notes: list[str]) -> None:
        self._server, self._runs = server, runs
        self.end = max(float(run.trace["time"][-1]) for run in runs)
        self.now, self.playing, self._speed = 0.0, True, 1.0
        self._shown = -1.0  # [s] the moment that the page shows
        self._due = 0.0
        self._actors = self._set_scene()
        self._add_panel(notes)
        dress(server, f"{runs[0].session.world.name} · replay")

    def _set_scene(self) -> list[Actor]:
        actors, several = [], len(self._runs) > 1
        for i, (run, stage) in enumerate(zip(self._runs, side_by_side(self._runs), strict=True)):
            under = f"/run{i}" if i else ""
            place = self._server, stage, under
            actors.append(Actor(run, Picture(*place), ForceArrows(*place), Contacts(*place)))
            if several:
                above = set_stage(run.session).centre + LABEL * stage.size * stage.up
                middle = stage.lifted(stage.to_page(above))
                self._server.scene.add_label(f"{under}/label", run.label, position=middle)
        first = set_stage(self._runs[0].session)
        if several:
            camera = self._server.initial_camera
            camera.position = FARTHER * np.asarray(camera.position)
            self._server.framing.show(first, FARTHER, BROAD)
        else:
            self._server.framing.show(first)
        return actors

    def _add_panel(self, notes: list[str]) -> None:
        gui = self._server.gui
        planar = all(set_stage(run.session).planar for run in self._runs)
        gui.add_html(page_script(planar, hint=()))
        gui.add_command("Play, or stop", hotkey="space").on_trigger(self._toggled)
        with gui.add_folder("Replay"):
            for note in notes:
                style = f"margin:0 0.75em 0.4em;{_SMALL}"
                gui.add_html(f"<p data-name='note' style='{style}'>{escape(note)}</p>")
            self._play = gui.add_checkbox("Play", True, hint="Space; or drag the time.")
            self._slider = gui.add_slider(
                "Time [s]", 0.0, max(self.end, 0.01), 0.001, 0.0, hint="Drag to scrub."
            )
            speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="as it was")
        with gui.add_folder("Now"):
            self._table = gui.add_html("")
        with gui.add_folder("Plots"):
            self._timeline = Timeline(self._server, self._runs)
        with gui.add_folder("In all"):
            gui.add_html(measured(self._runs))
        self._play.on_update(self._played)
        self._slider.on_update(self._scrubbed)

        @speed.on_update
        async def _(event: viser.GuiEvent[viser.GuiDropdownHandle[str]]) -> None:
            self._speed = SPEEDS[event.target.value]

    async def _played(self, event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
        if event.client is not None:  # else it was set here, not by a person
            self._go_on(bool(event.target.value))

    async def _toggled(self, _: Any) -> None:
        self._go_on(not self.playing)
        self._refresh()

    def _go_on(self, playing: bool) -> None:
        self.playing = playing
        if playing and self.now >= self.end:
            self.now = 0.0

    async def _scrubbed(self, event: viser.GuiEvent[viser.GuiSliderHandle]) -> None:
        if event.client is not None:
            self.now, self.playing = float(event.target.value), False

    def frame(self, now: float, step: float) -> None:
        """Go on by a step [s] of the wall clock, and show where everything was."""
        if self.playing:
            self.now = min(self.now + self._speed * step, self.end)
            self.playing = self.now < self.end
        self._server.framing.update()
        if self.now == self._shown or not self._server.get_clients():
            return
        self._shown = self.now
        with self._server.atomic():
            for run, picture, arrows, contacts in self._actors:
                row, frame = run.trace.rows[run.tick_at(self.now)], run.frame_at(self.now)
                picture.update(run.poses[frame], row)
                arrows.update(row["tool_position"], smoothed(run, self.now, blows=False))
                still = not self.playing
                contacts.update(row["tool_position"], run.shown[frame], still=still)
        if now >= self._due or not self.playing:
            self._due = now + PANEL_EVERY
            self._refresh()

    def _refresh(self) -> None:
        self._table.content = moment(self._runs, self.now)
        self._timeline.refresh(self.now)
        if self._play.value != self.playing:
            self._play.value = self.playing  # type: ignore[misc]  # it has a setter
        if self.playing or self.now >= self.end:  # a person who drags it knows where it is
            self._slider.value = self.now  # type: ignore[misc]


def side_by_side(runs: list[Run]) -> list[Stage]:
    """A stage for each run; two are moved apart, to the left and to the right of the camera."""
    stages = [set_stage(run.session) for run in runs]
    if len(stages) == 1:
        return stages
    first = stages[0]
    sight = first.centre - first.camera()
    right = np.cross(sight, first.up)
    shift = 0.5 * APART * first.size * right / np.linalg.norm(right)
    return [replace(s, centre=s.centre + w * shift) for s, w in zip(stages, (1, -1), strict=True)]


def smoothed(run: Run, now: float, blows: bool = True) -> np.ndarray:
    """(4, 3) [N] the force that is felt, that of the hand, and parts, around a moment.

    Without *blows*, as numbers are given: a collision is an impulse, no force.
    """
    rows = rows_at(run, now)
    calm = rows["collisions"] == 0
    return drawn(rows if blows or not calm.any() else rows[calm], run.session.device.takes_motion)


def rows_at(run: Run, now: float) -> np.ndarray:
    """The rows of the last moment."""
    return run.trace.rows[run.tick_at(now - SMOOTH) : run.tick_at(now) + 1]


def moment(runs: list[Run], now: float) -> str:
    """Numbers of a moment as an HTML table, a column per run."""
    rows = [run.trace.rows[run.tick_at(now)] for run in runs]
    lines = {
        "time": ("Time", [f"{float(row['time']):.3f} s" for row in rows]),
        "felt": ("Force on the hand", [_felt(run, now) for run in runs]),
        "hand": ("Force of the hand", [f"{_size(row['hand_wrench']):.2f} N" for row in rows]),
        "impulse": ("Impulse", [f"{1e3 * _blow(run, now):.1f} mN·s" for run in runs]),
        "state": ("State", [state_of(row[None]) for row in rows]),
        "contacts": ("Contacts", [f"{int(row['contacts'])}" for row in rows]),
        "depth": ("Depth", [f"{1e3 * max(float(row['depth']), 0.0):.3f} mm" for row in rows]),
    }
    head = "".join(f"<th style='text-align:right'>{escape(run.label)}</th>" for run in runs)
    return _table(head, lines)


def measured(runs: list[Run]) -> str:
    """The runs in a few numbers, side by side."""
    columns = [measures(run.trace) for run in runs]
    lines = {}
    for i, parts in enumerate(zip(*columns, strict=True)):
        label = f"{parts[0].name} [{parts[0].unit or '-'}]"
        lines[f"in-all-{i}"] = (label, [f"{part.value:.4g}" for part in parts])
    head = "".join(f"<th style='text-align:right'>{escape(run.label)}</th>" for run in runs)
    return _table(head, lines)


def _table(head: str, lines: dict[str, tuple[str, list[str]]]) -> str:
    style = "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
    body = "".join(
        f"<tr><td>{escape(label)}</td>"
        + "".join(
            f"<td data-name='{name}{'' if i == 0 else f'-{i}'}' style='{style}'>{escape(text)}</td>"
            for i, text in enumerate(texts)
        )
        + "</tr>"
        for name, (label, texts) in lines.items()
    )
    return (
        f"<table style='width:calc(100% - 1.5em);margin:0 0.75em;{_SMALL}'>"
        f"<tr><td></td>{head}</tr>{body}</table>"
    )


def _felt(run: Run, now: float) -> str:
    """Of the newest tick without a collision, which is an impulse and no force."""
    rows = rows_at(run, now)
    calm = rows[rows["collisions"] == 0]
    if not len(calm):
        return "–"
    return f"{_size(felt_in(calm[-1:], run.session.device.takes_motion)[0]):.2f} N"


def _blow(run: Run, now: float) -> float:
    """[N·s] the largest of the last moment."""
    return float(impulses(rows_at(run, now), 1.0 / run.session.rate).max())


def _size(wrench: np.ndarray) -> float:
    return float(np.linalg.norm(wrench[:3]))


def replay(
    runs: list[Run],
    notes: list[str],
    port: int = 8080,
    host: str = "127.0.0.1",
    seconds: float | None = None,
) -> None:
    """Show runs on a page until Ctrl-C, SIGTERM or the end of *seconds*."""
    screen, stopper = StatusLine(), Stopper()
    with stopper.listening():
        server = PageServer(host, port)
        try:
            page = ReplayPage(server, runs, notes)
            screen.say(f"the replay is at {server.url} (Ctrl-C stops)")
            for note in notes:
                screen.say(f"note: {note}")
            stopper.gentle = True
            began = last = time.monotonic()
            while not stopper.stop.wait(max(0.0, last + FRAME - time.monotonic())):
                now = time.monotonic()
                page.frame(now - began, now - last)
                last = now
                if seconds is not None and now - began >= seconds:
                    return
        finally:
            server.stop()
