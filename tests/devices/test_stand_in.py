"""What ticks cost is measured before a session begins: a real device must not notice."""

from __future__ import annotations

import numpy as np

from detent import Session, World
from detent.devices import Inertial
from detent.devices.adapters import Adapter, Placed, behind_port
from detent.devices.port import Command, State
from detent.devices.stand_in import StandIn
from detent.kernels.jit import kernel
from detent.kernels.struct import Struct


class Counting(Struct):
    """A device that counts who touches it."""

    state: State
    command: Command
    hand: np.ndarray
    calls: np.ndarray  # (2,) reads, writes


@kernel
def read_counting(d: Counting) -> None:
    """Stage: a read."""
    d.calls[0] += 1


@kernel
def write_counting(d: Counting) -> None:
    """Stage: a write."""
    d.calls[1] += 1


class Touchy(Inertial):
    """A real device: it has to be begun."""

    def adapter(self, placed: Placed) -> Adapter:
        calls = np.zeros(2, np.int64)
        one = behind_port(Counting(*placed.begin(), calls), read_counting, write_counting)
        touched.append((calls, opened := [0]))
        return one._replace(begin=lambda: opened.append(1), end=lambda: opened.append(1))


touched: list[tuple[np.ndarray, list[int]]] = []


def test_what_ticks_cost_is_found_without_touching_a_real_device() -> None:
    touched.clear()
    session = Session(World.builtin("corner"), device=Touchy(mass=0.3, rotational_inertia=1e-3))
    assert session.tick_cost(None, 1000.0) > 0.0
    assert touched  # it was asked for an adapter
    for calls, opened in touched:
        assert calls.tolist() == [0, 0]
        assert opened == [0]


def test_a_stand_in_declares_what_the_device_does() -> None:
    limits = (3.0, 3.0, 0.2)
    device = Inertial(mass=0.3, rotational_inertia=1e-3, limits=limits, subspace="planar")
    stand_in, tool = StandIn(device), np.ones(6)
    mask = device.mask(tool)
    np.testing.assert_array_equal(stand_in.mask(tool), mask)
    np.testing.assert_array_equal(stand_in.cap(), device.cap())
    np.testing.assert_array_equal(
        stand_in.inertia(np.eye(6), mask), device.inertia(np.eye(6), mask)
    )
    for name in ("subspace", "offset", "takes_motion", "safety"):
        assert getattr(stand_in, name) == getattr(device, name)
