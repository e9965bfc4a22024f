"""The documents' own device: a twin pantograph with four motors and a crank (TH ch. 3, app. D)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from detent.checks import flag, not_negative, positive, vector
from detent.devices.adapters import Adapter, Placed, behind_port
from detent.devices.constants import MOST_DELAY
from detent.devices.policy import QUICKEST, RAMP_IN, RISE
from detent.devices.protocol import SUBSPACES
from detent.devices.safety import Safety
from detent.devices.simulated_pantograph import (
    AXES,
    Linkage,
    make_linkage,
    read_linkage,
    write_linkage,
)
from detent.errors import ParameterError
from detent.kernels.pantograph import MOTORS, inverse_pantograph, weigh_pantograph

FORCE, TORQUE = 23.0, 1.15  # [N, N·m] peak at the handle, TH D.1
# Stiffness and damping [N/m, N·s/m; N·m/rad, N·m·s/rad] that rest on a wall from 512 Hz to 4 kHz;
# at 6000 N/m its counts hum (23 µm, 0.15 N at 1 kHz).
HOLDS, HOLDS_TURNING = (4000.0, 15.0), (6.4, 0.024)
SWEEP = 24  # directions and angles of the crank over which a workspace is checked


@dataclass(frozen=True)
class Pantograph:
    """Two five-bars whose endpoints a crank joins; the handle is in its middle (M28, M29).

    The documents give the motors (k_t, 2 A, a peak "exceeding 10 A"), 16,000 counts, the peak at
    the handle and the workspace of 100 mm × 100 mm in which the handle turns without end, and
    neither links nor gains. These links are the smallest with the catalogue's base of 60 mm that
    let both endpoints go round everywhere in that workspace; with them the peak of 23 N and
    1.15 N·m, in every direction at the centre, takes 26.4 A. Their masses are the catalogue's.
    Friction is such that an undamped wall still bounces after ten seconds, as in S4 Fig 5.

    It sees only its encoders: the twist, and, with ``observer``, the hand's wrench are those of an
    observer of third order (`devices.simulated_pantograph.observe`). A session that names no
    coupling takes a god object, as for devices of a sheet: the four-channel coupling of the
    documents is asked for by its name.

    Limitations: joints of the motors rub, the others do not; links are rigid.
    """

    proximal: float = 0.12  # [m] links at the motors
    distal: float = 0.17  # [m] links at the crank
    base: float = 0.06  # [m] between the motors of a five-bar
    height: float = 0.16  # [m] from there to the centre of the workspace
    crank: float = 0.1  # [m] between the endpoints
    workspace: float = 0.11  # [m] width between the stops, in x and in y
    proximal_mass: float = 0.05  # [kg]
    distal_mass: float = 0.05  # [kg]
    handle_mass: float = 0.2  # [kg] with the crank
    rotor: float = 7e-6  # [kg·m²] of a motor of 90 W
    torque_constant: float = 0.0525  # [N·m/A]
    continuous_current: float = 2.0  # [A]
    peak_current: float = 26.4  # [A]
    heating: float = 30.0  # [s] time constant of the windings
    counts: int = 16_000  # of an encoder, per turn; 0 = exact
    friction: float = 2e-4  # [N·m] Coulomb, of each motor
    damping: float = 0.0  # [N·m·s/rad] of each motor
    stop: tuple[float, float] = (2e4, 100.0)  # [N/m, N·s/m] of the edge of the workspace
    delay_ticks: int = 1  # [ticks] between a command and its effect
    bandwidth: float = 30.0  # [Hz] of the observer: the catalogue has 30 to 60
    observer: bool = True  # it tells the hand's wrench
    home: Sequence[float] = (0.0, 0.0)  # [m] where in the workspace it starts
    offset: Sequence[float] = (0.0, 0.0, 0.0)  # [m] from the hand point at the start

    def __post_init__(self) -> None:
        for name in (
            *("proximal", "distal", "base", "height", "crank", "workspace", "proximal_mass"),
            *("distal_mass", "handle_mass", "torque_constant", "continuous_current", "heating"),
            "bandwidth",
        ):
            positive(f"pantograph {name}", getattr(self, name))
        for name in ("rotor", "friction", "damping"):
            not_negative(f"pantograph {name}", getattr(self, name))
        if not self.peak_current >= self.continuous_current:
            raise ParameterError("peak_current", self.peak_current, "at least the continuous one")
        if isinstance(self.counts, bool) or self.counts != int(self.counts) or self.counts < 0:
            raise ParameterError("counts", self.counts, "a whole number, 0 for exact encoders")
        if self.delay_ticks not in range(MOST_DELAY + 1):
            allowed = f"a whole number from 0 to {MOST_DELAY}"
            raise ParameterError("delay_ticks", self.delay_ticks, allowed)
        for value in vector("pantograph stop", self.stop, (2,)):
            not_negative("pantograph stop", value)
        flag("observer", self.observer)
        vector("pantograph offset", self.offset, (2, 3))
        if (np.abs(vector("home", self.home, (2,))) >= 0.5 * self.workspace).any():
            raise ParameterError("home", self.home, f"within ± {0.5 * self.workspace:g} m")
        self._check_reach()

    def _check_reach(self) -> None:
        """That both endpoints can go round everywhere between the stops."""
        joints, half = np.zeros(MOTORS), 0.5 * self.workspace
        for x, y in ((i, j) for i in (-half, 0.0, half) for j in (-half, 0.0, half)):
            for angle in np.linspace(0.0, 2.0 * np.pi, SWEEP, endpoint=False):
                inverse_pantograph(np.array([x, y, angle]), self.links, joints)
                if not np.isfinite(joints).all():
                    allowed = f"links that reach ({x:g}, {y:g}) m with the crank at {angle:.3g} rad"
                    raise ParameterError("pantograph", [self.proximal, self.distal], allowed)

    @property
    def links(self) -> np.ndarray:
        """(5,) as kernels/pantograph.py has them."""
        half = 0.5 * self.base, self.height, 0.5 * self.crank
        return np.array([self.proximal, self.distal, *half])

    @property
    def masses(self) -> np.ndarray:
        """(4,) likewise: links are uniform rods, the handle's inertia is that of the crank."""
        swing = self.proximal_mass * self.proximal**2 / 3.0 + self.rotor
        turning = self.handle_mass * self.crank**2 / 12.0
        return np.array([swing, self.distal_mass, self.handle_mass, turning])

    @property
    def subspace(self) -> str:
        """It moves in a plane."""
        return "planar"

    @property
    def takes_motion(self) -> bool:
        """No: it takes a wrench."""
        return False

    def mask(self, tool_mask: np.ndarray) -> np.ndarray:
        """(6,) x, y, and the turning about z."""
        return SUBSPACES["planar"].copy()

    def mass_at(self, pose: Sequence[float]) -> np.ndarray:
        """(3, 3) [kg, kg·m, kg·m²] M_d with the handle at (x, y, ψ) from the centre."""
        at, joints = vector("pose", pose, (3,)), np.zeros(MOTORS)
        J, dJ, M, C = (np.zeros((n, 3)) for n in (MOTORS, MOTORS, 3, 3))
        inverse_pantograph(at, self.links, joints)
        weigh_pantograph(at, np.zeros(3), joints, self.links, self.masses, J, dJ, M, C)
        return M

    def inertia(self, at_hand: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(6, 6) [kg, kg·m²] M_d at the start."""
        out = np.zeros((6, 6))
        out[np.ix_(AXES, AXES)] = self.mass_at((*self.home, 0.0))
        return out

    def gains(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Stiffness and damping of the six axes that hold on it: for a coupling."""
        (k, b), (turning_k, turning_b) = HOLDS, HOLDS_TURNING
        return (k, k, k, *[turning_k] * 3), (b, b, b, *[turning_b] * 3)

    def cap(self) -> np.ndarray:
        """(6,) the peak at the handle [N, N·m]."""
        return np.array([FORCE, FORCE, math.inf, math.inf, math.inf, TORQUE])

    @property
    def safety(self) -> Safety:
        """The documents' peak, held as long as the motors stay cool."""
        held = self.continuous_current / self.peak_current
        return Safety(
            binding=True,
            length=(FORCE, TORQUE),
            continuous=(held, held),
            heating=self.heating,
            slew=(FORCE / RISE, TORQUE / RISE),
            ramp=RAMP_IN,
            actuated=tuple(SUBSPACES["planar"].tolist()),
            speed=QUICKEST,
        )

    def adapter(self, placed: Placed) -> Adapter:
        """The simulated pantograph at the start, behind its port."""
        state, command, hand = placed.begin()
        linkage = make_linkage(state, command, hand)
        linkage.links[:], linkage.masses[:] = self.links, self.masses
        linkage.start[:], linkage.home[:2] = state.true_pose, self.home
        linkage.pose[:] = linkage.guess[0] = linkage.home
        linkage.rate[:] = linkage.guess[1] = placed.twist[list(AXES)]
        linkage.step[:], linkage.delay[:] = placed.step, self.delay_ticks
        linkage.observes[:] = self.observer
        self._fill(linkage, placed.step)
        return behind_port(linkage, read_linkage, write_linkage)

    def _fill(self, linkage: Linkage, step: float) -> None:
        """Its motors, stops and observer."""
        quantum = 2.0 * math.pi / self.counts if self.counts else 0.0
        omega = 2.0 * math.pi * self.bandwidth
        linkage.motor[:] = (
            self.torque_constant, self.continuous_current, self.peak_current,
            -math.expm1(-step / self.heating), quantum, self.friction, self.damping,
        )  # fmt: skip
        linkage.stops[:] = 0.5 * self.workspace, *self.stop
        # a count within the time of the observer: slower motion may be none
        linkage.observing[:] = math.exp(-omega * step), max(quantum * omega, 1e-4)
