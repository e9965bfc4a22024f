"""What a session drives: a world or a mechanism, two kinds of one thing."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from detent.coupling import Coupling
from detent.engines.host import Host
from detent.hands import Hand
from detent.local.proxy import Cut
from detent.mechanism import Mechanism
from detent.servo.world.start import ToolStart
from detent.setup.asked import Asked
from detent.setup.prepared import Prepared
from detent.world.contact import Contact
from detent.world.world import World


class Subject(Protocol):
    """What can be held: it knows how a servo is made for it, and what its traces keep."""

    @property
    def world(self) -> World:
        """The world, or the scene in which a mechanism is drawn."""
        ...

    @property
    def touchable(self) -> bool:
        """Whether it has contacts that a session can be asked about."""
        ...

    @property
    def mechanism(self) -> Mechanism | None:
        """The mechanism, if it is one."""
        ...

    @property
    def row(self) -> np.dtype:
        """A row of its ring."""
        ...

    @property
    def cut(self) -> Cut | None:
        """The tool alone, where an engine simulates the rest."""
        ...

    def suited(self, coupling: Coupling | None) -> Coupling:
        """The coupling, or the default one; refused if it does not fit."""
        ...

    def settled(self, contact: Contact, rate: float) -> Contact:
        """The contact with numbers for what was left out, at this rate [Hz]."""
        ...

    def start(self) -> ToolStart:
        """The held link at the start."""
        ...

    def allocate(
        self, asked: Asked, hand: Hand | None, rate: float, ring: int, host: Host | None
    ) -> Prepared:
        """Everything that a tick works on, filled but not compiled."""
        ...

    def kept(self, rows: np.ndarray) -> np.ndarray:
        """Rows as a trace keeps them."""
        ...

    def blow(self, servo: Any) -> float:
        """[ns] by which a collision of 16 contacts lengthens a tick."""
        ...

    def describe(self) -> dict[str, Any]:
        """In plain values, for the head of a trace."""
        ...

    def holding(self, held: str, qpos: np.ndarray, qvel: np.ndarray) -> Subject:
        """The same, held at another link, going on from a configuration."""
        ...
