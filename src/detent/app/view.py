"""The folder View: light or dark, what the camera does, sound, and help."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import viser

from detent.app.contacts import BOND_COLOUR, COLOURS, MEANINGS
from detent.app.page_script import (
    GO_ON_KEY,
    HINT,
    HINT_OF_MECHANISM,
    HOLD_KEY,
    click,
    page_script,
    sound,
)
from detent.app.pull import Pull
from detent.app.server import PageServer
from detent.app.stage import PAGE_SIZE, Stage

VIEW, HELP = 70.0, 80.0  # where the folders are in the panel
FOLLOWED = 0.6 * PAGE_SIZE  # how far the tool may be from where the camera looks
FOLLOW_EVERY, RESTS = 0.2, 1.0  # [s]; since a camera last moved
LOUD_IMPULSE = 0.2  # [N·s] of a collision that is as loud as can be
LEAST_LOUD, CLICK_EVERY = 0.02, 0.05  # [-], [s]
FLASH_FADES = 0.18  # [s] after a collision
KEYS = {
    "Space": "pause, or go on",
    "N": "one tick, while it stands still",
    "R": "start over",
    "V": "look straight on",
    "L": "light or dark",
    "Ctrl K": "all commands",
}
ARROWS = {
    "black": "felt: the force on the hand",
    "#56B4E9": "of the hand",
    "#D55E00": "part: of the world",
    "#0072B2": "part: of joints and loops",
}


class View:
    """How the page looks at the world; what it hears of collisions."""

    def __init__(
        self, server: PageServer, stage: Stage, pull: Pull, dark: bool, touchable: bool = True
    ) -> None:
        self._server, self._stage, self._pull = server, stage, pull
        server.framing.show(stage)
        self.dark = dark
        self.darkened = False  # what the pictures know of it: they begin light
        self._follow_due, self._click_due = 0.0, 0.0
        self._flash, self._looked = 0.0, time.monotonic()
        self._clicks = 0
        gui = server.gui
        hint = HINT if touchable else HINT_OF_MECHANISM
        gui.add_html(page_script(stage.planar, hint), order=1.0)
        self._ear = gui.add_html("", order=2.0)
        with gui.add_folder("View", order=VIEW, expand_by_default=False):
            self._add(gui)
        with gui.add_folder("Help", order=HELP, expand_by_default=False):
            gui.add_html(help_text())
        self._add_keys(gui)

    def _add(self, gui: viser.GuiApi) -> None:
        straight = gui.add_button("Look straight on", hint="The camera as it began (V)")
        straight.on_click(self._straight)
        self._dark = gui.add_checkbox("Dark", self.dark, hint="A dark page (L)")
        self._dark.on_update(self._darkened)
        self._follows = gui.add_checkbox(
            "Follow the tool", True, hint="The camera goes along when the tool leaves the picture."
        )
        self._sound = gui.add_checkbox(
            "Sound", False, hint="A click at each collision, as loud as its impulse p [N·s]."
        )
        switch = gui.add_html("")

        @self._sound.on_update
        async def _(event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
            switch.content = sound(bool(event.target.value))

    def _add_keys(self, gui: viser.GuiApi) -> None:
        gui.add_command("Look straight on", hotkey="V").on_trigger(self._straight)
        gui.add_command("Light or dark", hotkey="L").on_trigger(self._toggle_dark)
        hold = gui.add_command("Hold the script still", hotkey=HOLD_KEY)
        go_on = gui.add_command("Let the script go on", hotkey=GO_ON_KEY)

        @hold.on_trigger
        async def _(_: Any) -> None:
            self._pull.still = True

        @go_on.on_trigger
        async def _(_: Any) -> None:
            self._pull.still = False

    async def _darkened(self, event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
        self.dark = bool(event.target.value)

    async def _toggle_dark(self, _: Any) -> None:
        self.dark = not self.dark
        self._dark.value = self.dark  # type: ignore[misc]  # it has a setter

    async def _straight(self, _: Any) -> None:
        self._server.framing.straight()

    @property
    def eye(self) -> np.ndarray | None:
        """Where the page that holds the tool looks from [page units]; None if nobody said yet."""
        holder = self._server.get_clients().get(self._server.visitors.holder or 0)
        if holder is None or not holder.camera.update_timestamp:
            return None
        return np.asarray(holder.camera.position, float)

    def follow(self, hand: np.ndarray, now: float) -> None:
        """Move cameras that rest along when the hand point (3,) [m] has left their picture.

        In one go, and only those that have said for a while where they are: a camera that a
        person moves says so late, and would be torn back.
        """
        if now < self._follow_due:
            return
        self._follow_due = now + FOLLOW_EVERY
        self._server.framing.update()
        if not self._follows.value:
            return
        here = self._stage.to_page(hand)
        for client in self._server.get_clients().values():
            if time.time() - client.camera.update_timestamp < RESTS:
                continue
            away = here - np.asarray(client.camera.look_at)
            if np.linalg.norm(away) > FOLLOWED:
                with client.atomic():  # a new position takes the point that it looks at along
                    client.camera.position = np.asarray(client.camera.position) + away

    def strike(self, impulse: float) -> float:
        """Hear of the largest impulse [N·s] of new collisions; how much to flash, 0 to 1."""
        now = time.monotonic()
        loud = min(impulse / LOUD_IMPULSE, 1.0)
        self._flash = max(0.0, self._flash - (now - self._looked) / FLASH_FADES)
        self._looked = now
        if loud > LEAST_LOUD:
            self._flash = max(self._flash, float(np.sqrt(loud)))
            if self._sound.value and now >= self._click_due:
                self._click_due, self._clicks = now + CLICK_EVERY, self._clicks + 1
                self._ear.content = click(self._clicks, loud)
        return self._flash


def help_text() -> str:
    """Keys, the mouse, and what colours mean."""
    small = "font-size:0.82em;line-height:1.45"
    keys = "".join(f"<tr><td><b>{key}</b></td><td>{what}</td></tr>" for key, what in KEYS.items())
    dots = "".join(
        f"<div><span style='color:rgb{COLOURS[kind]}'>●</span> {meaning}</div>"
        for kind, meaning in MEANINGS.items()
    )
    arrows = "".join(
        f"<div><span style='color:{'inherit' if colour == 'black' else colour}'>➜</span> {meaning}"
        "</div>"
        for colour, meaning in ARROWS.items()
    )
    return (
        f"<div data-name='help' style='margin:0 0.75em;{small}'>"
        "<p style='margin:0 0 0.4em'>Drag the tool, or the square, arrows and arcs of the handle; "
        "the wheel zooms, the right button moves the picture. In space the left one turns it.</p>"
        f"<table>{keys}</table><p style='margin:0.5em 0 0'><b>Contacts</b></p>{dots}"
        "<div>a stick is the force there, a cone is friction: inside it a contact sticks</div>"
        f"<div><span style='color:rgb{BOND_COLOUR}'>▬</span> the bond of friction, from the "
        "contact to where it stuck; it breaks when it is as long as the cone is high</div>"
        f"<p style='margin:0.5em 0 0'><b>Arrows</b>, logarithmic from 0.3 to 100 N</p>{arrows}"
        "<div>the pale copy of the tool is where the device is</div></div>"
    )
