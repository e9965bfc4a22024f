"""What stands behind the port: a struct, and the two stages that are called with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from detent.devices.port import (
    CALIBRATED,
    DEAD_MAN,
    FLAGS,
    FORCE_ON,
    VALID,
    Command,
    Port,
    State,
    make_command,
    make_state,
)
from detent.kernels.keep import keep_alive
from detent.kernels.struct import Struct


class Adapter(NamedTuple):
    """A device behind its port, which keeps it alive."""

    port: Port
    struct: Struct
    read: Any  # stage: fills the port's state
    write: Any  # stage: takes the port's command
    begin: Callable[[], None] | None = None  # opens a real device, when a live session starts
    end: Callable[[], None] | None = None  # and closes it, with zero force; it may come twice
    inner: Adapter | None = None  # that of the device behind a mapping, kept alive


class Actuator(NamedTuple):
    """An actuator of the scene, as the tick sees it."""

    control: np.ndarray  # (1,) what it is told
    force: np.ndarray  # (1,) [N, N·m] what it does


@dataclass(frozen=True)
class Placed:
    """Where a device starts, and what a session asks of it."""

    pose: np.ndarray  # (7,) of the hand point
    twist: np.ndarray  # (6,)
    mask: np.ndarray  # (6,) its subspace
    mobility: np.ndarray  # (6, 6) M⁻¹ in the subspace
    step: float  # [s]
    leads: bool  # the coupling is an admittance
    compensate: bool  # take away what a force sensor feels of its own effector
    fastest_loop: float  # [rad/s] of an inner motion loop that the step can hold
    notes: list[str] = field(default_factory=list)  # what is to be said about it
    actuators: dict[str, Actuator] = field(default_factory=dict)  # of the scene, by name

    def begin(self) -> tuple[State, Command, np.ndarray]:
        """State, command and the hand's wrench of a simulated device that is ready."""
        state = make_state()
        state.position[:], state.quaternion[:] = self.pose[:3], self.pose[3:]
        state.true_pose[:] = self.pose
        state.twist[:] = state.true_twist[:] = self.twist
        state.counts[FLAGS] = VALID | CALIBRATED | FORCE_ON | DEAD_MAN
        return state, make_command(), np.zeros(6)


def behind_port(struct: Any, read: Any, write: Any) -> Adapter:
    """An adapter whose struct has the fields state, command and hand."""
    port = Port(struct.state, struct.command, struct.hand, struct.address)
    keep_alive(port, struct)
    return Adapter(port, struct, read, write)
