"""The panel beside the picture: who leads, how bodies meet, how the servo is doing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from itertools import zip_longest
from typing import Any

import numpy as np
import viser

from detent.app.charts import Charts
from detent.app.pull import Pull
from detent.app.readings import Readings
from detent.app.status import advice, late_text, rate_text
from detent.engines.host import EngineStatus
from detent.hands import Impedance
from detent.servo.loop.live import Live
from detent.servo.loop.status import Status
from detent.setup.contact import least_rate
from detent.world.contact import MATERIALS, Contact
from detent.world.world import World

# label, field of Contact, least and largest value, step
CONTACT_SLIDERS = (
    ("Stiffness [N/m]", "stiffness", 500.0, 20_000.0, 100.0),
    ("Damping [N·s/m]", "damping", 0.0, 200.0, 1.0),
    ("Restitution", "restitution", 0.0, 1.0, 0.01),
)
CONTACT_HINTS = {
    "stiffness": "k [N/m]: force of a resting contact per depth.",
    "damping": "b [N·s/m]: force of a resting contact per speed of approach.",
    "restitution": "e [-]: how much of the speed a collision gives back.",
}
HAND, NOW, PLOTS, CONTACT = 10.0, 20.0, 30.0, 60.0  # the order of the folders
NO_MATERIAL = "none"  # an impulse within one tick
SOFTEST, STIFFEST = 0.1, 5.0  # of the grip, relative to its start
_RED = "color:#e03131;font-weight:600"  # on a light page and on a dark one
_SMALL = "font-size:0.82em;line-height:1.35"


class Panel:
    """The folders Hand, Now, Plots and Contact; those of `Controls` are between them."""

    def __init__(
        self,
        server: viser.ViserServer,
        live: Live,
        grip: Impedance,
        firmness: float,
        pull: Pull,
        readings: Readings,
        notice: str = "",
        limits: Sequence[str] = (),
    ) -> None:
        self.notice = notice  # why something that was asked for is not so
        self._limits = [f"the device holds: {one}" for one in limits]
        self._live, self._grip = live, grip
        self.firmness = firmness  # of the grip, relative to its default
        self._pull, self._readings = pull, readings
        self._said_scripted = True
        self.wanted_link: str | None = None  # chosen by somebody, instead of the held one
        self._noted = ""  # what the notes say
        gui = self._gui = server.gui
        self._hand_folder = gui.add_folder("Hand", order=HAND)
        with self._hand_folder:
            self._scripted = self._add_hand(gui)
        if live.settings.contact is not None:
            with gui.add_folder("Contact", order=CONTACT):
                self._add_contact(gui)
        with gui.add_folder("Now", order=NOW):
            self._table = gui.add_html("")
            self._notes = gui.add_html("")
        watched = live.settings.passivity.law != "off"
        folder = gui.add_folder("Plots", order=PLOTS)
        touchable = live.settings.contact is not None
        self._charts = Charts(server, readings, folder, touchable, watched)

    @property
    def _contact(self) -> Contact:
        contact = self._live.settings.contact
        assert contact is not None  # the folder is there for what has one
        return contact

    def _add_contact(self, gui: viser.GuiApi) -> None:
        """How bodies meet: a mechanism has nothing to meet."""
        for label, field, least, most, step in CONTACT_SLIDERS:
            self._add_contact_slider(gui, label, field, (least, most), step)
        self._add_materials(gui)

    def offer_links(self, world: World) -> None:
        """Let a person choose which link of the tool to hold, if it has several."""
        links = tuple(world.body_name(body) for body in world.holdable)
        if len(links) < 2:
            return
        held = world.body_name(world.held)
        with self._hand_folder:
            choice = self._gui.add_dropdown(
                "Held link",
                links,
                initial_value=held,
                hint="The link of the tool that the hand holds.",
            )

        async def chosen(event: viser.GuiEvent[viser.GuiDropdownHandle[str]]) -> None:
            if event.target.value != held:
                self.wanted_link = event.target.value

        choice.on_update(chosen)

    def darken(self, dark: bool) -> None:
        """Colours for a dark page, or for a light one."""
        self._charts.draw(dark)

    def refresh(self) -> None:
        """Show the newest numbers."""
        if self._pull.scripted != self._said_scripted:  # or a click may be undone
            self._said_scripted = self._pull.scripted
            self._scripted.value = self._said_scripted  # type: ignore[misc]  # it has a setter
        engine = None if self._live.engine is None else self._live.engine.status()
        status = self._live.status()
        self._table.content = table(status, self._readings, engine)
        refused = filter(None, [self._live.promises.advice])
        warnings = filter(None, [self.notice, advice(self._live, status), self._readings.warning])
        said = noted([*refused, *self._limits, *self._live.notes()], list(warnings))
        if said != self._noted:  # or what a person opened would close
            self._notes.content = self._noted = said
        self._charts.refresh()

    def _add_hand(self, gui: viser.GuiApi) -> viser.GuiCheckboxHandle:
        scripted = gui.add_checkbox(
            "Scripted motion", True, hint="A script leads the hand until you drag the tool."
        )
        scripted.on_update(self._scripted_changed)
        start = self._grip.stiffness
        grip = gui.add_slider(
            "Grip [N/m]",
            round(SOFTEST * start),
            round(STIFFEST * start),
            1,
            round(self.firmness * start),
            hint="k_h [N/m]: how stiffly the hand goes where it is led.",
        )
        grip.on_update(self._grip_changed)
        return scripted

    async def _scripted_changed(self, event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
        if event.client is None:  # set by `refresh`, not by a person
            return
        if event.target.value:
            self._pull.give_back()
        else:
            self._pull.hold()

    async def _grip_changed(self, event: viser.GuiEvent[viser.GuiSliderHandle]) -> None:
        """Stiffness as asked for; damping with its square root, so that the ratio stays."""
        self.firmness = float(event.target.value) / self._grip.stiffness
        self._live.change(hand=firmer(self._grip, self.firmness))

    def _add_contact_slider(
        self, gui: viser.GuiApi, label: str, field: str, bounds: tuple[float, float], step: float
    ) -> None:
        value = float(getattr(self._contact, field))
        slider = gui.add_slider(
            label,
            min(bounds[0], value),
            max(bounds[1], value),
            step,
            value,
            hint=CONTACT_HINTS[field],
        )

        async def changed(event: viser.GuiEvent[viser.GuiSliderHandle]) -> None:
            self._change_contact({field: float(event.target.value)})

        slider.on_update(changed)

    def _add_materials(self, gui: viser.GuiApi) -> None:
        """What collisions feel like, where they are rendered as impulses."""
        felt = self._live.parameters["device_force"][0]
        contact = self._contact
        if contact.mode != "impulse" or not felt:
            return
        known = [name for name in MATERIALS if least_rate(name) <= self._live.rate]
        chosen = gui.add_dropdown(
            "Material",
            (NO_MATERIAL, *known),
            initial_value=contact.material or NO_MATERIAL,
            hint="How collisions feel: as a single blow, or as a tapped material.",
        )

        async def changed(event: viser.GuiEvent[viser.GuiDropdownHandle[str]]) -> None:
            name = event.target.value
            self._change_contact({"material": None if name == NO_MATERIAL else name})

        chosen.on_update(changed)

    def _change_contact(self, change: dict[str, Any]) -> None:
        self._live.change(contact=replace(self._contact, **change))


def firmer(grip: Impedance, firmness: float) -> Impedance:
    """A grip so many times as stiff; its damping with the square root, so that the ratio stays."""
    ease = float(np.sqrt(firmness))
    return Impedance(
        firmness * grip.stiffness,
        ease * grip.damping,
        firmness * grip.rotational_stiffness,
        ease * grip.rotational_damping,
    )


def table(status: Status, readings: Readings, engine: EngineStatus | None = None) -> str:
    """The numbers of the servo as an HTML table; ``data-name`` names each for programs."""
    now = readings.moment
    world, weight, joints, rest = (float(np.linalg.norm(part)) for part in now.parts)
    cells = {
        "felt": ("<b>Felt</b>", f"{np.linalg.norm(now.felt):.2f} N"),
        "force": ("– world", f"{world:.2f} N"),
        "weight": ("– weight", f"{weight:.2f} N"),
        "joints": ("– joints", f"{joints:.2f} N"),
        "rest": ("– inertia" if readings.display else "– coupling", f"{rest:.2f} N"),
        "hand": ("Hand", f"{np.linalg.norm(now.hand):.2f} N"),
        "impulse": ("Impulse", f"{1e3 * now.impulse:.1f} mN·s"),
        "state": ("State", now.state),
        "contacts": ("Contacts", f"{now.contacts}"),
        "constraints": ("Constraints", f"{now.constraints}"),
        "depth": ("Depth", f"{1e3 * now.depth:.2f} mm"),
        "rate": (
            "Rate",
            "paused" if not status.wanted else rate_text(status.recent, status.wanted),
        ),
        "lateness": ("Late, p99", late_text(status.lateness_p99)),
        "compute": ("Tick, p99", late_text(status.compute_p99)),
        "skips": ("Skipped", f"{status.skips}"),
    }
    if now.lag is not None:  # a mechanism touches nothing
        for name in ("weight", "impulse", "contacts", "depth"):
            del cells[name]
        cells["lag"] = ("Display off", f"{1e6 * now.lag:.0f} µm")
    if engine is not None:
        cells["engine"] = ("Engine", f"{engine.rate:.0f} Hz")
        cells["age"] = ("Update age", f"{1e3 * now.age:.0f} ms")
        cells["local"] = ("Near", f"{now.near}")
        cells["trust"] = ("Trust", f"{100 * now.trust:.0f} %")
    if readings.altered:
        cells["altered"] = ("Limited", f"{readings.altered}")
    if readings.passive:
        cells["passive"] = ("Kept passive", f"{readings.passive}")
    if now.bounded:
        cells["bounded"] = ("Gains", "bounded")
    red = {"rate"} if not status.holds else set()
    red |= {"depth"} if readings.deep else set()
    pairs = [_cells(name, *texts, name in red) for name, texts in cells.items()]
    half = (len(pairs) + 1) // 2
    rows = zip_longest(pairs[:half], pairs[half:], fillvalue="")
    body = "".join(f"<tr>{left}<td style='width:1.2em'></td>{right}</tr>" for left, right in rows)
    return f"<table style='width:calc(100% - 1.5em);margin:0 0.75em;{_SMALL}'>{body}</table>"


def noted(notes: list[str], warnings: list[str] | None = None) -> str:
    """What the run says of itself: warnings in red, notes folded into one line.

    A scene's names are not to be trusted.
    """
    style = f"margin:0.4em 0.75em 0;{_SMALL}"
    lines = [
        f"<p data-name='warning' style='{style};{_RED}'>{escape(one)}</p>" for one in warnings or []
    ]
    if notes:
        count = f"{len(notes)} note{'' if len(notes) == 1 else 's'}"
        told = "".join(f"<p data-name='note' style='margin:0.3em 0'>{escape(n)}</p>" for n in notes)
        head = f"<summary data-name='notes' style='cursor:pointer'>{count}</summary>"
        lines.append(f"<details style='{style}'>{head}{told}</details>")
    return "".join(lines)


def _cells(name: str, label: str, value: str, red: bool) -> str:
    style = "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
    style += f";{_RED}" if red else ""
    head = f"<td style='white-space:nowrap'>{label}</td>"
    return f"{head}<td data-name='{name}' style='{style}'>{escape(value)}</td>"
