"""What a person can change beside gains: time, the world, how bodies meet, what ties the hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import viser

from detent.app.wanted import Wanted, coupling_name, device_names, name_of
from detent.coupling import IMPEDANCE
from detent.mechanism.library import MECHANISMS
from detent.servo.loop.live import Live
from detent.servo.watching import LAWS as KEPT
from detent.session import Session
from detent.world.contact import MODES, Contact
from detent.world.friction import LAWS, NO_FRICTION, Friction
from detent.world.wall import WALLS, Wall
from detent.world.world import World

SPEEDS = {"real time": 1.0, "1/4": 4.0, "1/10": 10.0, "1/50": 50.0}
FRICTION = 0.4  # [-] static, of a law that is chosen
KINETIC = 0.8  # of the static one
MOST_FRICTION = 1.5  # [-]
NONE = "none"
TIME, SESSION = 40.0, 50.0  # where the folders are in the panel


def rubbing(law: str, static: float = FRICTION) -> Friction:
    """A friction law with usual coefficients."""
    return NO_FRICTION if law == NONE else Friction(static, KINETIC * static, law)


#: presets that let feel a difference: what they are called, and how bodies meet
PRESETS: dict[str, dict[str, Any]] = {
    "impulses: a blow, then firm": {"mode": "impulse", "friction": NO_FRICTION},
    "penalty: a spring, sinks in": {"mode": "penalty", "friction": NO_FRICTION},
    "rigid: time stepping": {"mode": "rigid", "friction": NO_FRICTION, "wall": Wall()},
    "soft: 500 N/m": {"mode": "impulse", "stiffness": 500.0, "damping": 20.0},
    **{
        f"friction: {law}": {"mode": "impulse", "friction": rubbing(law)}
        for law in LAWS
        if law != NONE
    },
}
CHOOSE = "choose …"


class Controls:
    """The folders Time and Session; `wanted` is what needs a new start."""

    def __init__(self, gui: viser.GuiApi, session: Session, live: Live, recording: bool) -> None:
        self._live = live
        self.wanted: Wanted | None = None
        with gui.add_folder("Time", order=TIME):
            self._add_time(gui, session, recording)
        with gui.add_folder("Session", order=SESSION):
            if session.subject.touchable:
                self._add_session(gui, session)
            else:
                self._add_worlds(gui, session)

    @property
    def _contact(self) -> Contact:
        contact = self._live.settings.contact
        assert contact is not None  # what can be touched has one
        return contact

    def _ask(self, **asked: Any) -> None:
        self.wanted = Wanted(**asked)

    def _add_time(self, gui: viser.GuiApi, session: Session, recording: bool) -> None:
        if session.local is None and not self._live.real:  # nobody else's time goes on meanwhile
            self._pause = gui.add_checkbox("Pause", False, hint="Space")
            self._pause.on_update(self._paused)
            gui.add_button("Step", hint="One tick, while it stands still (N)").on_click(self._step)
            self._speed = gui.add_dropdown(
                "Speed", tuple(SPEEDS), hint="Slow motion: every tick is as long as ever."
            )
            self._speed.on_update(self._paced)
            pause = gui.add_command("Pause or go on", hotkey="space")
            pause.on_trigger(self._toggle)
            gui.add_command("One tick", hotkey="N").on_trigger(self._step)
        reset = gui.add_button("Start over", hint="The world as it began; settings stay (R)")
        reset.on_click(self._reset)
        gui.add_command("Start over", hotkey="R").on_trigger(self._reset)
        record = gui.add_checkbox("Record", recording, hint="Into a file, for detent replay.")

        @record.on_update
        async def _(event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
            if event.client is not None:
                self._ask(record=bool(event.target.value))

    async def _toggle(self, _: Any) -> None:
        self._pause.value = not self._pause.value  # type: ignore[misc]  # it has a setter
        self._pace()

    async def _paused(self, event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
        if event.client is not None:
            self._pace()

    async def _paced(self, _: Any) -> None:
        self._pace()

    async def _step(self, _: Any) -> None:
        self._pause.value = True  # type: ignore[misc]
        self._live.pace(math.inf, steps=1)

    async def _reset(self, _: Any) -> None:
        self._ask(reset=True)

    def _pace(self) -> None:
        still = self._pause.value
        self._live.pace(math.inf if still else SPEEDS[self._speed.value])

    def _add_session(self, gui: viser.GuiApi, session: Session) -> None:
        contact = self._contact
        self._list(gui, "Feel the difference", [CHOOSE, *PRESETS], CHOOSE, self._preset,
                   "How bodies meet, in one go.")  # fmt: skip
        self._add_worlds(gui, session)
        self._list(gui, "Mode", MODES, contact.mode, lambda one: self._ask(contact={"mode": one}),
                   "How contact is rendered: impulses, penalty alone, or rigid.")  # fmt: skip
        self._list(gui, "Friction", LAWS, contact.rubbing.law, self._friction,
                   "The law; μ below.")  # fmt: skip
        if contact.rubbing.law != NONE:
            self._add_coefficient(gui, contact.rubbing)
        self._list(gui, "Wall", WALLS, contact.wall.law,
                   lambda one: self._ask(contact={"wall": Wall(one)}),
                   "The force of a resting contact.")  # fmt: skip
        tie = coupling_name(session.coupling)
        ties = [*IMPEDANCE] if tie in IMPEDANCE else [tie, *IMPEDANCE]
        self._list(gui, "Coupling", ties, tie, lambda one: self._ask(coupling=one),
                   "What ties tool and device.")  # fmt: skip
        if not self._live.real:
            self._list(gui, "Device", device_names(session.device), name_of(session.device),
                       lambda one: self._ask(device=one), "A model of it.")  # fmt: skip
        self._list(gui, "Passivity", KEPT, self._live.settings.passivity.law,
                   lambda one: self._ask(passivity=one),
                   "Who watches energy W [J] that nobody put in; docs/passivity.md.")  # fmt: skip
        engines, now = ("in the tick", "an engine"), int(session.local is not None)
        self._list(gui, "World runs", engines, engines[now],
                   lambda one: self._ask(local=one == engines[1]),
                   "Wholly in the servo's tick, or by an engine at its own pace.")  # fmt: skip

        if session.world.model.opt.gravity.any():
            self._add_weight(gui, session.world)

    def _add_worlds(self, gui: viser.GuiApi, session: Session) -> None:
        name, known = session.world.name, (*World.library(), *MECHANISMS)
        self._list(gui, "World", known if name in known else (name, *known), name,
                   lambda one: self._ask(world=one),
                   "A built-in world, with mode and wall as they are, or a mechanism.")  # fmt: skip

    def _add_weight(self, gui: viser.GuiApi, world: World) -> None:
        mass = float(world.model.body_mass[world.tool_bodies].sum())
        weight = mass * float(np.linalg.norm(world.model.opt.gravity))
        box = gui.add_checkbox(
            "Weight", world.gravity, hint=f"m g = {weight:.3g} N: the hand feels the tool's weight."
        )

        async def changed(event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
            if event.client is not None:
                self._ask(gravity=bool(event.target.value))

        box.on_update(changed)

    def _list(
        self,
        gui: viser.GuiApi,
        label: str,
        options: Any,
        now: str,
        chosen: Callable[[str], None],
        hint: str,
    ) -> None:
        choice = gui.add_dropdown(label, tuple(options), initial_value=now, hint=hint)

        async def changed(event: viser.GuiEvent[viser.GuiDropdownHandle[str]]) -> None:
            if event.client is not None and event.target.value != now:
                chosen(event.target.value)

        choice.on_update(changed)

    def _preset(self, name: str) -> None:
        self._ask(contact=PRESETS[name])

    def _friction(self, law: str) -> None:
        now = self._contact.rubbing
        static = now.static if now.law != NONE else FRICTION
        self._ask(contact={"friction": rubbing(law, static)})

    def _add_coefficient(self, gui: viser.GuiApi, friction: Friction) -> None:
        most = max(MOST_FRICTION, friction.static)
        slider = gui.add_slider(
            "μ static [-]", 0.0, most, 0.01, friction.static, hint="μ kinetic is 0.8 of it."
        )

        async def changed(event: viser.GuiEvent[viser.GuiSliderHandle]) -> None:
            static = float(event.target.value)
            now = replace(self._contact.rubbing, static=static, kinetic=KINETIC * static)
            self._live.change(contact=replace(self._contact, friction=now))

        slider.on_update(changed)
