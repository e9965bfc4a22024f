"""What the rows of the servo say: numbers of this moment, and the last seconds for the charts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detent.servo.loop.live import Live
from detent.servo.structs import COLLIDING, FREE

MOMENT = 0.1  # [s] over which numbers are averaged, so that they can be read
ARROW_MOMENT = 0.03  # [s] over which arrows are
BIN = 0.025  # [s]
SPAN = 6.0  # [s] of the charts

STATES = ("free", "colliding", "resting")
CHARTED = ("environment_force", "hand_force", "tool_energy", "device_energy")


class Moment(NamedTuple):
    """The last tenth of a second."""

    environment: np.ndarray  # (3,) [N] mean force of the world on the tool
    hand: np.ndarray  # (3,) [N] mean force of the hand on the device
    felt: np.ndarray  # (3,) [N] mean force of the device on the hand
    peak: float  # [N] largest force of the world in one tick: an impulse over a tick
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

    def __init__(self, live: Live) -> None:
        self._live = live
        self._seen = -1.0  # [s] time of the newest row seen
        self._bins = np.zeros((len(CHARTED), round(SPAN / BIN)))
        self._newest = 0  # number of the bin that is being filled
        self.altered = 0  # ticks that the force path changed
        self.passive = 0  # ticks in which the controller of passivity acted
        self.energy = 0.0  # [J] at the hand port now: W
        self.bounded = 0  # ticks in which the step bounded a contact's gains
        self.peak = 0.0  # [N] since the start: an impulse is a large force for one tick
        self.resting = 0.0  # [N] likewise, without the ticks in which the tool collides
        self.travel = 0.0  # [m] of the hand point since the start
        none = np.zeros(3)
        self.moment = Moment(none, none, none, 0.0, 0, 0, STATES[FREE], 0.0, False)
        self.arrows = np.zeros((2, 3))  # [N] environment, hand

    def refresh(self, since: float) -> None:
        """Take the rows of the last *since* seconds and a little more."""
        rows = self._live.recent(since + MOMENT)
        if not len(rows):
            return
        self.moment = summary(rows[rows["time"] > rows["time"][-1] - MOMENT])
        last = rows[rows["time"] > rows["time"][-1] - ARROW_MOMENT]
        wrenches = (last["environment_wrench"], last["hand_wrench"])
        self.arrows = np.array([wrench[:, :3].mean(axis=0) for wrench in wrenches])
        new = rows[rows["time"] > self._seen]
        if len(new):
            self._take(new)

    def _take(self, rows: np.ndarray) -> None:
        self._seen = float(rows["time"][-1])
        self.altered += int(rows["altered"].sum())
        self.passive += int(rows["passive"].sum())
        self.energy = float(rows["port_energy"][-1])
        self.bounded += int(np.count_nonzero(rows["bounded"]))
        self.travel += float(length(np.diff(rows["tool_position"], axis=0)).sum())
        values = charted(rows)
        self.peak = max(self.peak, float(values[0].max()))
        calm = rows["state"] != COLLIDING
        self.resting = max(self.resting, float(values[0][calm].max(initial=0.0)))
        number = np.floor(rows["time"] / BIN).astype(int)
        count = self._bins.shape[1]
        fresh = np.arange(max(self._newest + 1, number[-1] - count + 1), number[-1] + 1)
        self._bins[:, fresh % count] = 0.0
        self._newest = int(number[-1])
        kept = number > self._newest - count
        for signal, value in zip(self._bins, values, strict=True):  # one tick's impulse must show
            np.maximum.at(signal, number[kept] % count, value[kept])

    def history(self) -> tuple[np.ndarray, np.ndarray]:
        """Time [s] (n,), and the largest value in each bin of the signals (4, n)."""
        count = self._bins.shape[1]
        whole = np.arange(self._newest - count + 1, self._newest)  # without the unfinished one
        return BIN * whole, self._bins[:, whole % count]


def summary(rows: np.ndarray) -> Moment:
    """Numbers of a few rows."""
    environment = rows["environment_wrench"][:, :3]
    return Moment(
        environment=environment.mean(axis=0),
        hand=rows["hand_wrench"][:, :3].mean(axis=0),
        felt=rows["device_wrench"][:, :3].mean(axis=0),
        peak=float(length(environment).max()),
        contacts=int(rows["contacts"][-1]),
        constraints=int(rows["constraints"][-1]),
        state=STATES[1] if rows["collisions"].any() else STATES[int(rows["state"][-1])],
        depth=float(max(rows["depth"][-1], 0.0)),
        bounded=bool(rows["bounded"].any()),
        lag=lag_of(rows),
        near=int(rows["local"][-1]),
        age=float(rows["age"].max()),
        trust=float(rows["trust"].min()),
    )


def lag_of(rows: np.ndarray) -> float | None:
    """[m] how far a display is from its mechanism at most; None where there is no mechanism."""
    if "tracking_error" not in (rows.dtype.names or ()):
        return None
    return float(length(rows["tracking_error"][:, :3]).max())


def charted(rows: np.ndarray) -> np.ndarray:
    """The signals of the charts (4, n): forces [N], energies [J]."""
    return np.array(
        [
            length(rows["environment_wrench"][:, :3]),
            length(rows["hand_wrench"][:, :3]),
            rows["tool_energy"],
            rows["device_energy"],
        ]
    )


def length(vectors: np.ndarray) -> np.ndarray:
    """The lengths of vectors (…, 3)."""
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))
