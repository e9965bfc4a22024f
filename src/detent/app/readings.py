"""What the rows of the servo say: numbers of this moment, and the last seconds for the charts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detent.servo.loop.live import Live
from detent.servo.shown import WEIGHT
from detent.servo.structs import COLLIDING, FREE

MOMENT = 0.1  # [s] over which numbers are averaged, so that they can be read
ARROW_MOMENT = 0.03  # [s] over which arrows are
BIN = 0.025  # [s]
SPAN = 6.0  # [s] of the charts

STATES = ("free", "colliding", "resting")
NO_FORCE = np.zeros(3)
CONSTRAINED = "constrained"  # free, but for joints and loops
CHARTED = (
    *("felt", "world", "joints", "impulse", "depth", "given", "returned"),
    *("left", "came out", "owed"),
)
DEEP = 0.2  # of the tool's size: a contact that deep is softer than the pull


class Moment(NamedTuple):
    """The last tenth of a second."""

    environment: np.ndarray  # (3,) [N] mean force of the world on the tool
    hand: np.ndarray  # (3,) [N] mean force of the hand on the device
    felt: np.ndarray  # (3,) [N] mean force of the device on the hand
    parts: np.ndarray  # (4, 3) [N] of it: contacts, weight, joints and loops, the coupling
    impulse: float  # [N·s] largest of a collision
    contacts: int
    constraints: int  # directions in which the held link cannot follow the hand
    state: str
    depth: float  # [m]
    bounded: bool  # whether the step bounded a contact's gains
    lag: float | None = None  # [m] how far a display is from its mechanism, as it sees it
    near: int = 0  # constraints of a local model
    age: float = 0.0  # [s] of its newest update, at most
    trust: float = 1.0  # [-] how much of it is rendered, at least


class Readings:
    """Follows the rows of a running servo. Call `refresh` often; it looks at new rows only."""

    def __init__(self, live: Live, size: float = np.inf) -> None:
        self._live = live
        self._deepest = DEEP * size  # [m] before it is told
        self._seen = -1.0  # [s] time of the newest row seen
        self._bins = np.zeros((len(CHARTED), round(SPAN / BIN)))
        self._newest = 0  # number of the bin that is being filled
        self.altered = 0  # ticks that the force path changed
        self.passive = 0  # ticks in which the controller of passivity acted
        self.energy = 0.0  # [J] at the hand port now: W
        self.left = 0.0  # [J] that may still come out: E
        self.bounded = 0  # ticks in which the step bounded a contact's gains
        self.felt = 0.0  # [N] largest force on the hand since the start, but for collisions
        self.impulse = 0.0  # [N·s] largest of a collision since the start
        self.fresh = 0.0  # [N·s] largest of those since the last refresh
        self.travel = 0.0  # [m] of the hand point since the start
        none = np.zeros(3)
        parts = np.zeros((4, 3))
        self.moment = Moment(none, none, none, parts, 0.0, 0, 0, STATES[FREE], 0.0, False)
        self.arrows = np.zeros((4, 3))  # [N] felt, hand, world, joints and loops

    @property
    def deep(self) -> bool:
        """Whether the tool is so deep in something that the contact is softer than the pull."""
        return self.moment.depth > self._deepest

    @property
    def warning(self) -> str:
        """What to say then."""
        if not self.deep:
            return ""
        deep = f"{1e3 * self.moment.depth:.0f} mm deep"
        return f"{deep}: the contact is softer than your pull; pull less, or make it stiffer"

    def refresh(self, since: float) -> None:
        """Take the rows of the last *since* seconds and a little more."""
        rows = self._live.recent(since + MOMENT)
        self.fresh = 0.0
        if not len(rows):
            return
        newest = rows[rows["time"] > rows["time"][-1] - MOMENT]
        self.moment = summary(newest, 1.0 / self._live.rate, weight_in(self._live.shown()))
        last = rows[rows["time"] > rows["time"][-1] - ARROW_MOMENT]
        names = ("device_wrench", "hand_wrench", "environment_wrench", "topology_wrench")
        self.arrows = np.array([last[name][:, :3].mean(axis=0) for name in names])
        new = rows[rows["time"] > self._seen]
        if len(new):
            self._take(new)

    def _take(self, rows: np.ndarray) -> None:
        self._seen = float(rows["time"][-1])
        self.altered += int(rows["altered"].sum())
        self.passive += int(rows["passive"].sum())
        self.energy = float(rows["port_energy"][-1])
        self.left = float(rows["passive_energy"][-1])
        self.bounded += int(np.count_nonzero(rows["bounded"]))
        self.travel += float(length(np.diff(rows["tool_position"], axis=0)).sum())
        values = charted(rows, 1.0 / self._live.rate)
        self.felt = max(self.felt, float(values[0].max()))
        self.fresh = float(values[3].max())
        self.impulse = max(self.impulse, self.fresh)
        number = np.floor(rows["time"] / BIN).astype(int)
        count = self._bins.shape[1]
        fresh = np.arange(max(self._newest + 1, number[-1] - count + 1), number[-1] + 1)
        self._bins[:, fresh % count] = 0.0
        self._newest = int(number[-1])
        kept = number > self._newest - count
        for signal, value in zip(self._bins, values, strict=True):  # one tick's impulse must show
            np.maximum.at(signal, number[kept] % count, value[kept])

    def history(self) -> tuple[np.ndarray, np.ndarray]:
        """Time [s] (n,), and the largest value in each bin of the signals (10, n)."""
        count = self._bins.shape[1]
        whole = np.arange(self._newest - count + 1, self._newest)  # without the unfinished one
        return BIN * whole, self._bins[:, whole % count]


def weight_in(shown: np.ndarray) -> np.ndarray:
    """(3,) [N] of the tool, as it is felt, by `Live.shown`."""
    weight = shown[shown["kind"] == WEIGHT]
    return np.asarray((weight["force"][:, None] * weight["normal"]).sum(axis=0))


def summary(rows: np.ndarray, step: float, weight: np.ndarray = NO_FORCE) -> Moment:
    """Numbers of a few rows, which are *step* [s] apart, with the weight (3,) [N] in them."""
    felt = rows["device_wrench"][:, :3].mean(axis=0)
    world = rows["environment_wrench"][:, :3].mean(axis=0)
    joints = rows["topology_wrench"][:, :3].mean(axis=0)
    return Moment(
        environment=world,
        hand=rows["hand_wrench"][:, :3].mean(axis=0),
        felt=felt,
        parts=np.array([world - weight, weight, joints, felt - world - joints]),
        impulse=float(impulses(rows, step).max()),
        contacts=int(rows["contacts"][-1]),
        constraints=int(rows["constraints"][-1]),
        state=state_of(rows),
        depth=float(max(rows["depth"][-1], 0.0)),
        bounded=bool(rows["bounded"].any()),
        lag=lag_of(rows),
        near=int(rows["local"][-1]),
        age=float(rows["age"].max()),
        trust=float(rows["trust"].min()),
    )


def state_of(rows: np.ndarray) -> str:
    """What holds the tool back: a collision, a contact, joints and loops, or nothing."""
    if rows["collisions"].any():
        return STATES[COLLIDING]
    state = int(rows["state"][-1])
    return CONSTRAINED if state == FREE and rows["constraints"][-1] > 0 else STATES[state]


def impulses(rows: np.ndarray, step: float) -> np.ndarray:
    """[N·s] of the collisions in each tick of *step* [s]: what no rate changes."""
    return np.where(rows["collisions"] > 0, length(rows["environment_wrench"][:, :3]) * step, 0.0)


def lag_of(rows: np.ndarray) -> float | None:
    """[m] how far a display is from its mechanism at most; None where there is no mechanism."""
    if "tracking_error" not in (rows.dtype.names or ()):
        return None
    return float(length(rows["tracking_error"][:, :3]).max())


def charted(rows: np.ndarray, step: float) -> np.ndarray:
    """The signals of the charts (10, n): forces [N], impulses [N·s], depth [m], powers [W],
    and energies [J]: E that is left at the hand port, −W that came out, −E that is owed.

    A collision is an impulse, no force: the forces leave its ticks out.
    """
    calm = rows["collisions"] == 0
    forces = [
        np.where(calm, length(rows[name][:, :3]), 0.0)
        for name in ("device_wrench", "environment_wrench", "topology_wrench")
    ]
    power = np.einsum("ij,ij->i", rows["hand_wrench"], rows["device_twist"])
    deep = np.maximum(rows["depth"], 0.0)
    powers = [np.maximum(power, 0.0), np.maximum(-power, 0.0)]
    left, port = rows["passive_energy"], rows["port_energy"]
    energies = [np.maximum(one, 0.0) for one in (left, -port, -left)]
    return np.array([*forces, impulses(rows, step), deep, *powers, *energies])


def length(vectors: np.ndarray) -> np.ndarray:
    """The lengths of vectors (…, 3)."""
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))
