"""A simulated admittance display: senses force, moves as it is told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from detent.checks import not_negative, one_of, positive, positives, vector
from detent.devices.adapters import Adapter, Placed, behind_port
from detent.devices.constants import NOISE_LENGTH
from detent.devices.protocol import SUBSPACES
from detent.devices.safety import NO_LIMITS, Safety
from detent.devices.simulated_display import Display, make_display, read_display, write_display
from detent.errors import ParameterError

OPEN, DRIVE = 6.0, 5.0  # [kg] at a steering angle of 90°, and what a ratio of 1:1 adds (S2 note 5)
Pair = tuple[float, float]


@dataclass(frozen=True)
class AdmittanceDisplay:
    r"""A stiff, geared or cobotic, device with a force sensor at its handle (S2, notes 4 and 5).

    .. math:: m = 6 + 5 \cot^2 \alpha \; [kg]

    is its apparent inertia at a steering angle α: 11 kg at 45° (a ratio of 1:1), 6 kg at 90°,
    infinite at 0. Backdrive friction is the document's 7.2 N. What the document does not give
    (rotations, structure, sensors, inner loop) has plausible values. Pairs are (translation,
    rotation).

    Limitations: the structure gives way to the hand but does not vibrate, and the inner loop
    runs at the rate of the servo.
    """

    steering: float = math.pi / 4.0  # [rad] α
    rotational_inertia: float = 0.05  # [kg·m²] at 1:1
    friction: Pair = (7.2, 0.2)  # [N, N·m] backdrive
    structure: Pair = (5e4, 500.0)  # [N/m, N·m/rad] stiffness; infinite is allowed
    resolution: Pair = (5e-6, 5e-5)  # [m, rad] of the position
    noise: Pair = (0.02, 0.001)  # [N, N·m] of the force sensor, rms
    bias: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # [N, N·m]
    quantum: Pair = (0.01, 0.0005)  # [N, N·m]
    effector: float = 0.0  # [kg] beyond the force sensor
    gravity: Sequence[float] = (0.0, 0.0, -9.81)  # [m/s²] that the effector feels
    bandwidth: float = 250.0  # [rad/s] of the inner motion loop
    damping_ratio: float = 1.0  # [-] of it
    joints: Sequence[Sequence[float]] | None = None  # (6, 6) joint rates over the twist
    limits: Sequence[float] | None = None  # (6,) [N, N·m] of the actuators
    subspace: str | None = None  # planar, translational or full; None = the mechanism's
    seed: int = 0  # of the noise
    reach: float = 0.0  # [m] from its start to its end stop; 0 = anywhere

    def __post_init__(self) -> None:
        if not 0.0 < positive("steering", self.steering) <= math.pi / 2.0:
            raise ParameterError("steering", self.steering, "above 0 and at most π/2")
        positive("rotational_inertia", self.rotational_inertia)
        for name in ("friction", "resolution", "noise", "quantum"):
            for value in vector(f"display {name}", getattr(self, name), (2,)):
                not_negative(f"display {name}", value)
        positives("structure", self.structure, (2,), "two positive numbers")
        vector("display bias", self.bias, (6,))
        not_negative("effector", self.effector)
        not_negative("reach", self.reach)
        vector("display gravity", self.gravity, (3,))
        positive("bandwidth", self.bandwidth)
        positive("damping_ratio", self.damping_ratio)
        if self.subspace is not None:
            one_of("device subspace", self.subspace, SUBSPACES)
        self.joint_map()
        self.cap()

    @classmethod
    def ideal(cls) -> AdmittanceDisplay:
        """The same inertia and inner loop without any imperfection."""
        none = (0.0, 0.0)
        perfect = (math.inf, math.inf)
        return cls(friction=none, structure=perfect, resolution=none, noise=none, quantum=none)

    @property
    def mass(self) -> float:
        """[kg] apparent, at this steering angle."""
        return OPEN + DRIVE / math.tan(self.steering) ** 2

    @property
    def safety(self) -> Safety:
        """No limits but the cap."""
        return NO_LIMITS

    @property
    def takes_motion(self) -> bool:
        """Yes: it has a force sensor, and moves as it is told."""
        return True

    @property
    def offset(self) -> Sequence[float]:
        """None: it starts at the hand point."""
        return (0.0, 0.0, 0.0)

    def mask(self, tool_mask: np.ndarray) -> np.ndarray:
        """The display's subspace, given the mechanism's."""
        return tool_mask.copy() if self.subspace is None else SUBSPACES[self.subspace].copy()

    def inertia(self, at_hand: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(6, 6) [kg, kg·m²] apparent inertia."""
        turning = self.rotational_inertia * self.mass / (OPEN + DRIVE)
        return np.diag(np.repeat([self.mass, turning], 3) * mask)

    def cap(self) -> np.ndarray:
        """(6,) the largest wrench of the actuators [N, N·m]."""
        if self.limits is None:
            return np.full(6, np.inf)
        return positives("limits", self.limits, (6,), "six positive numbers")

    def joint_map(self) -> np.ndarray:
        """(6, 6) from the twist of the handle to the rates of the joints."""
        if self.joints is None:
            return np.eye(6)
        try:
            values = np.asarray(self.joints, float)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.shape != (6, 6) or abs(np.linalg.det(values)) < 1e-12:
            raise ParameterError("joints", self.joints, "an invertible (6, 6) matrix")
        return values

    def noises(self, length: int) -> np.ndarray:
        """(length, 6) of the force sensor, from the seed [N, N·m]."""
        rng = np.random.default_rng(self.seed)
        return rng.standard_normal((length, 6)) * np.repeat(self.noise, 3)

    def compliance(self) -> np.ndarray:
        """(2,) [m/N, rad/(N·m)] of the structure."""
        return 1.0 / np.asarray(self.structure)

    def adapter(self, placed: Placed) -> Adapter:
        """The simulated display at the start, behind its port."""
        state, command, hand = placed.begin()
        display = make_display(state, command, hand, NOISE_LENGTH, self.reach)
        display.mobility[:], display.mask[:] = placed.mobility, placed.mask
        display.step[:] = placed.step
        display.origin[:] = display.pose[:] = state.true_pose
        display.speed[:] = state.true_twist
        display.resolution[:] = self.resolution
        self._fill(display, placed)
        return behind_port(display, read_display, write_display)

    def _fill(self, display: Display, placed: Placed) -> None:
        """Its imperfections; the inner loop is bounded by what the step can hold."""
        bandwidth = min(self.bandwidth, placed.fastest_loop / self.damping_ratio)
        if bandwidth < self.bandwidth:
            placed.notes.append(
                f"the inner loop was bounded by the step of {1e3 * placed.step:.3g} ms: "
                f"{bandwidth:.3g} rad/s"
            )
        display.loop[:] = bandwidth, self.damping_ratio
        display.compliance[:] = self.compliance()
        display.friction[:] = self.friction
        display.noise[:] = self.noises(len(display.noise))
        display.bias[:] = self.bias
        display.quantum[:] = self.quantum
        display.effector[:] = self.effector, *self.gravity, placed.compensate
