"""A session: a world, how its bodies meet, a coupling, a device."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from detent.checks import flag, not_negative, one_of, positive
from detent.coupling import Coupling
from detent.devices.protocol import Device
from detent.engines.host import Host
from detent.engines.lockstep import Lockstep
from detent.errors import TraceError
from detent.hands import Hand
from detent.local.model import LocalModel
from detent.local.pace import Pace
from detent.mechanism import Mechanism
from detent.record.trace import KeptWriter, Trace
from detent.servo.force_path import ForcePath
from detent.servo.loop.live import Live
from detent.servo.watching import Passivity
from detent.setup import combinations
from detent.setup.again import lent
from detent.setup.collect import collect
from detent.setup.combinations import suited
from detent.setup.constants import CHUNK
from detent.setup.contact import check_material
from detent.setup.cost import tick_cost
from detent.setup.describe import describe
from detent.setup.engine import host_engine, play_engine
from detent.setup.fitting import fitting_coupling
from detent.setup.limits import Felt, felt_limits
from detent.setup.passivity import chosen_passivity
from detent.setup.prepared import Prepared, raise_fault
from detent.setup.restore import restored
from detent.setup.subject import Subject
from detent.setup.subjects import make_subject
from detent.setup.warmup import warm
from detent.world.baumgarte import Baumgarte
from detent.world.contact import Contact
from detent.world.world import World


class Session:
    """Feel a world through a device.

    Args:
        world: what can be touched, and what the hand holds; or a `Mechanism`, which an
            admittance display moves as (of the arguments below it takes coupling, device,
            force_path and rate).
        contact: how bodies meet.
        coupling: what ties tool and device; by default what suits the device.
        device: by default an inertial one like the tool.
        force_path: filter and slew limit before the device.
        outside: ``"hold"`` the tool by a spring in directions that the device cannot move in,
            or leave it ``"free"`` there.
        rate: [Hz] of the servo in lockstep.
        integrator: ``"velocity-first"`` (passive for undamped springs) or
            ``"held"`` (positions move as under a force that is held for the step, as a real
            device does: a sampled spring then gains energy).
        frozen: [s] for which inertia and directions of constraint are kept, as those of a local
            model are until its next update (Coriolis terms are left out, too); 0 = exact.
        baumgarte: how drift of closed loops is taken back.
        local: render a local model of what is near the tool, while an engine simulates the
            world at its own pace; by default the whole world is in the tick.
        engine: ``"mujoco"``, ``"bullet"``, or a class of your own (`detent.engines.protocol`).
        pace: when the engine looks and when its updates arrive, in lockstep.
        sleep: let bodies that rest, and that nothing moving touches, sleep until something
            reaches them (docs/architecture.md says within what tolerance); False = never.
        passivity: who watches that no energy comes out that nobody put in (docs/passivity.md); on
            by default for a device of a data sheet, off for an ideal one.
    """

    def __init__(
        self,
        world: World | Mechanism,
        contact: Contact | None = None,
        coupling: Coupling | None = None,
        device: Device | None = None,
        force_path: ForcePath | None = None,
        outside: str = "hold",
        rate: float = 1000.0,
        integrator: str = "velocity-first",
        frozen: float = 0.0,
        baumgarte: Baumgarte | None = None,
        local: LocalModel | None = None,
        engine: str | type = "mujoco",
        pace: Pace | None = None,
        sleep: bool = True,
        passivity: Passivity | str | None = None,
    ) -> None:
        self.subject: Subject = make_subject(
            frozen, world=world, contact=contact, coupling=coupling, device=device,
            force_path=force_path, baumgarte=baumgarte, local=local, pace=pace,
        )  # fmt: skip
        fits = coupling or fitting_coupling(self.subject, device, contact, local)
        self.coupling = self.subject.suited(fits)
        self.rate = positive("rate", rate)
        self.contact = suited(self.subject.settled(contact or Contact(), self.rate), self.coupling)
        self.device = combinations.fitting_device(device, self.coupling)
        self.force_path = force_path or ForcePath()
        self.outside = one_of("choice for outside", outside, ("hold", "free"))
        check_material(self.contact, self.rate)
        self.baumgarte = baumgarte or Baumgarte()
        self.frozen = not_negative("frozen", frozen)
        self.integrator = combinations.check_integrator(integrator)
        self.local, self.engine, self.pace = local, engine, pace or Pace()
        self.sleep = flag("sleep", sleep)
        self.passivity = chosen_passivity(passivity, self.device)
        combinations.check_local(local, engine, pace, self.contact, self.frozen)

    @classmethod
    def of_trace(cls, trace: Trace, changes: Sequence[str] = ()) -> Session:
        """The session that made a trace, or one with other settings: ``["contact.mode=penalty"]``.

        With `hands.Playback.from_trace` as its hand it makes the same run again, to the bit.
        """
        return cls(**restored(trace.meta, changes))

    @property
    def world(self) -> World:
        """What can be touched, or the scene in which a mechanism is drawn."""
        return self.subject.world

    def run(
        self,
        seconds: float,
        hand: Hand | None = None,
        record: str | Path | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Trace:
        """Run in lockstep from the world's start; the same inputs give the same trace.

        Args:
            seconds: [s] of virtual time.
            hand: who pushes.
            record: a file to stream the trace into while it runs.
            progress: called with the fraction done.
        """
        ticks = combinations.check_room(seconds, self.rate, self.subject.row.itemsize)
        with lent(self.subject, self, hand, self.rate, min(ticks, CHUNK)) as ready:
            combinations.check_simulated(self.device, ready.adapter)
            engine = self.play_engine(ready) if self.local is not None else None
            meta = self.describe(hand, self.rate, ready.notes)
            writer, kept = self._writer(record, meta), self.subject.kept
            rows = collect(ready, hand, ticks, engine, kept, writer, progress)
            meta["notes"] = ready.said() + (engine.said() if engine is not None else [])
        return Trace(rows, meta)

    @contextmanager
    def live(
        self,
        rate: float = 4000.0,
        hand: Hand | None = None,
        realtime: bool = True,
        record: str | Path | None = None,
    ) -> Iterator[Live]:
        """Run on the wall clock, on a thread of its own, until the block is left.

        Args:
            rate: [Hz].
            hand: who pushes at first; `Live.pull` moves an impedance hand.
            realtime: take SCHED_FIFO and locked memory where allowed (see `Live.promises`).
            record: a file to stream the trace into.
        """
        rate = combinations.check_rate(rate)
        combinations.check_live_hand(hand)
        cost = self.tick_cost(hand, rate)
        host = None if self.local is None else self.host_engine()
        bodies = None if self.subject.cut is None else self.subject.cut.bodies
        writer = live = None
        try:
            ready = self.prepare(hand, rate, ring=max(4096, int(rate)), host=host)
            writer = self._writer(record, self.describe(hand, rate, ready.notes))
            live = Live(ready.servo, ready, rate, realtime, writer, cost, host, bodies)
            try:
                if host is not None:
                    host.start()
                ready.begin()
                live.start()
                yield live
            finally:
                live.stop()
                ready.end()
        finally:
            if host is not None:
                host.stop()
            if writer is not None:
                said = {} if live is None else {"notes": live.notes(), "changed": live.changed}
                writer.close(said)
        raise_fault(ready.servo, self.subject.kept(live.recent()))
        if live.sink_error is not None:
            stopped = f"recording to {record} stopped: {live.sink_error}"
            raise TraceError(stopped) from live.sink_error

    def describe(
        self, hand: Hand | None = None, rate: float | None = None, notes: list[str] | None = None
    ) -> dict[str, Any]:
        """The configuration, as plain values, for the head of a trace."""
        return describe(self, self.subject, hand, rate or self.rate, notes or [])

    def continued(self, live: Live, held: str) -> Session:
        """The same session with the hand at a link, where a live one stopped, with its changes."""
        other = copy.copy(self)
        other.subject = self.subject.holding(held, *live.configuration())
        contact, other.coupling, other.force_path, _, other.passivity = live.settings
        other.contact = contact or self.contact
        return other

    def grabbed(self, live: Live) -> str | None:
        """The link that the hand takes next, while a button that grabs is pressed (`Mapped`)."""
        button, held = getattr(self.device, "grab", None), self.world.body_name(self.world.held)
        links = [self.world.body_name(body) for body in self.world.holdable]
        if button is None or not live.buttons >> button & 1 or len(links) < 2:
            return None
        return links[(links.index(held) + 1) % len(links)]

    def changed(self, **contact: Any) -> Session:
        """The same session with other contact properties."""
        other = copy.copy(self)
        changed = self.subject.settled(replace(self.contact, **contact), self.rate)
        other.contact = suited(changed, self.coupling)
        check_material(other.contact, other.rate)
        return other

    def warm(self, rate: float) -> None:
        """Check the start and compile what a live run calls, before it is needed."""
        self.prepare(None, positive("rate", rate), ring=1)

    def prepare(
        self, hand: Hand | None, rate: float, ring: int, host: Host | None = None
    ) -> Prepared:
        """A servo that is ready to run: allocated, filled, compiled."""
        ready = self.subject.allocate(self, hand, rate, ring, host)
        warm(ready)
        return ready

    def tick_cost(self, hand: Hand | None, rate: float) -> float:
        """The 99 % cost of a tick at the start, with a collision of 16 contacts in it [ns]."""
        return tick_cost(self.subject, self, hand, rate)

    def limits(self, rate: float | None = None) -> list[Felt]:
        """The stiffness that is felt through the device, and up to where that holds it."""
        ready = self.subject.allocate(self, None, rate or self.rate, 1, None)
        return felt_limits(ready.servo.device, ready.servo.parameters)

    def play_engine(self, ready: Prepared) -> Lockstep:
        """The engine of a local model in virtual time, beside a servo that is ready."""
        return play_engine(self.subject, self, ready)

    def host_engine(self) -> Host:
        """The engine of a local model in a process of its own, not yet started."""
        return host_engine(self.subject, self)

    def _writer(self, record: str | Path | None, meta: dict[str, Any]) -> KeptWriter | None:
        if record is None:
            return None
        kept = self.subject.kept
        return KeptWriter(record, meta, kept(np.zeros(0, self.subject.row)).dtype, kept)
