"""What the rows of the servo say: numbers of this moment, and the last seconds for the charts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detent.record.trace import felt_in
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
    *("left", "came out", "owed", "off"),
)
SUMMED = [CHARTED.index("given"), CHARTED.index("returned")]
DEEP = 0.2  # of the tool's size: a contact that deep is softer than the pull


class Moment(NamedTuple):
    """The last tenth of a second."""

    environment: np.ndarray  # (3,) [N] mean force of the world on the tool
    hand: np.ndarray  # (3,) [N] mean force of the hand on the device
    felt: np.ndarray  # (3,) [N] mean force of the device on the hand
    parts: np.ndarray  # (4, 3) [N] of it: contacts, weight, joints and loops, and the rest
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

    def __init__(self, live: Live, size: float = np.inf, display: bool = False) -> None:
        self._live = live
        self.display = display  # whether the device is told a motion, and senses the hand
        self._deepest = DEEP * size  # [m] before it is told
        self._seen = -1.0  # [s] time of the newest row seen
        self._bins = np.zeros((len(CHARTED), round(SPAN / BIN)))
        self._work = np.zeros(2)  # [J] that the hand gave and got back since the start
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
        weight = weight_in(self._live.shown())
        self.moment = summary(newest, 1.0 / self._live.rate, weight, self.display)
        self.arrows = drawn(rows[rows["time"] > rows["time"][-1] - ARROW_MOMENT], self.display)
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
        values = charted(rows, 1.0 / self._live.rate, self.display)
        before = np.zeros(len(CHARTED))
        before[SUMMED] = self._work
        values[SUMMED] = self._work[:, None] + np.cumsum(values[SUMMED], axis=1)
        self._work = values[SUMMED, -1]
        self.felt = max(self.felt, float(values[0].max()))
        self.fresh = float(values[3].max())
        self.impulse = max(self.impulse, self.fresh)
        number = np.floor(rows["time"] / BIN).astype(int)
        count = self._bins.shape[1]
        fresh = np.arange(max(self._newest + 1, number[-1] - count + 1), number[-1] + 1)
        self._bins[:, fresh % count] = before[:, None]
        self._newest = int(number[-1])
        kept = number > self._newest - count
        for signal, value in zip(self._bins, values, strict=True):  # one tick's impulse must show
            np.maximum.at(signal, number[kept] % count, value[kept])

    def history(self) -> tuple[np.ndarray, np.ndarray]:
        """Time [s] (n,), and the largest value in each bin of the signals (11, n).

        What the hand gave and got back is counted from the first of these times.
        """
        count = self._bins.shape[1]
        whole = np.arange(self._newest - count + 1, self._newest)  # without the unfinished one
        values = self._bins[:, whole % count]
        values[SUMMED] -= values[SUMMED, :1]
        return BIN * whole, values


def weight_in(shown: np.ndarray) -> np.ndarray:
    """(3,) [N] of the tool, as it is felt, by `Live.shown`."""
    weight = shown[shown["kind"] == WEIGHT]
    return np.asarray((weight["force"][:, None] * weight["normal"]).sum(axis=0))


def drawn(rows: np.ndarray, display: bool) -> np.ndarray:
    """(4, 3) [N] means over rows: felt, of the hand, of the world, of joints and loops."""
    names = ("hand_wrench", "environment_wrench", "topology_wrench")
    each = [felt_in(rows, display), *(rows[name] for name in names)]
    return np.array([one[:, :3].mean(axis=0) for one in each])


def summary(
    rows: np.ndarray, step: float, weight: np.ndarray = NO_FORCE, display: bool = False
) -> Moment:
    """Numbers of a few rows, which are *step* [s] apart, with the weight (3,) [N] in them."""
    felt, hand, world, joints = drawn(rows, display)
    return Moment(
        environment=world,
        hand=hand,
        felt=felt,
        parts=np.array([world - weight, weight, joints, felt - world - joints]),
        impulse=float(impulses(rows, step).max()),
        contacts=int(rows["contacts"][-1]),
        constraints=int(rows["constraints"][-1]),
        state=state_of(rows),
        depth=float(max(rows["depth"][-1], 0.0)),
        bounded=bool(rows["bounded"].any()),
        lag=None if (lag := lags(rows)) is None else float(lag.max()),
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


def lags(rows: np.ndarray) -> np.ndarray | None:
    """(n,) [m] how far a display is from its mechanism; None where there is no mechanism."""
    if "tracking_error" not in (rows.dtype.names or ()):
        return None
    return length(rows["tracking_error"][:, :3])


def charted(rows: np.ndarray, step: float, display: bool = False) -> np.ndarray:
    """The signals of the charts (11, n): forces [N], impulses [N·s], depth [m], what the hand
    gives and gets back in each tick [J], energies [J]: E that is left at the hand port, −W that
    came out, −E that is owed; and how far a display is off [m].

    A collision is an impulse, no force: the forces leave its ticks out.
    """
    calm = rows["collisions"] == 0
    parts = [rows[name] for name in ("environment_wrench", "topology_wrench")]
    forces = [np.where(calm, length(one[:, :3]), 0.0) for one in (felt_in(rows, display), *parts)]
    work = step * np.einsum("ij,ij->i", rows["hand_wrench"], rows["device_twist"])
    deep = np.maximum(rows["depth"], 0.0)
    works = [np.maximum(work, 0.0), np.maximum(-work, 0.0)]
    left, port = rows["passive_energy"], rows["port_energy"]
    energies = [np.maximum(one, 0.0) for one in (left, -port, -left)]
    off = np.zeros(len(rows)) if (lag := lags(rows)) is None else lag
    return np.array([*forces, impulses(rows, step), deep, *works, *energies, off])


def length(vectors: np.ndarray) -> np.ndarray:
    """The lengths of vectors (…, 3)."""
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))
