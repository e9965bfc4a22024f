"""A simulated impedance device: an inertia, ideal unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from detent.checks import not_negative, one_of, positive, positives, vector
from detent.devices.adapters import Adapter, Placed, behind_port
from detent.devices.constants import BEARABLE, MOST_DELAY, NOISE_LENGTH
from detent.devices.protocol import SUBSPACES
from detent.devices.safety import NO_LIMITS, Safety
from detent.devices.simulated import held_response, make_mass, read_mass, write_mass
from detent.errors import ParameterError
from detent.kernels.constants import INTEGRATORS

GENTLE = Safety(bearable=BEARABLE)
_THREE = "three are x, y, θ of a planar device, or x, y, z of a translational one"


@dataclass(frozen=True)
class Inertial:
    """A free inertia: no friction, no limits unless given.

    Without ``mass`` it has the inertia of a rigid tool at the hand. Of a linkage it has what the
    held link shows where it moves most easily, in all directions: a device that was as heavy as
    the joints make the link would throw the tool about when it turns. ``exact=True`` takes the
    link's own inertia at the start, as the documents do. Within a tick it moves
    as a mass does under a force that is held, so a sampled wall hums on it as it does on hardware
    (Colgate: undamped from 2b/T on). ``integrator="velocity-first"`` is the ideal inertia of the
    documents (TH 4.5), which hides that.
    """

    mass: float | None = None  # [kg]
    rotational_inertia: float | None = None  # [kg·m²]
    subspace: str | None = None  # planar, translational or full; None = the tool's
    delay_ticks: int = 0  # [ticks]
    limits: Sequence[float] | None = None  # [N, N·m] six; of a plane x, y, θ; translational x, y, z
    friction: tuple[float, float] = (0.0, 0.0)  # [N, N·m] Coulomb, in translation and rotation
    damping: tuple[float, float] = (0.0, 0.0)  # [N·s/m, N·m·s/rad]
    resolution: float = 0.0  # [m] of its encoders
    offset: Sequence[float] = (0.0, 0.0, 0.0)  # [m] from the hand point at the start, two or three
    integrator: str = "held"  # as a mass under a held force, or "velocity-first" (ideal)
    noise: float = 0.0  # [m] rms of its readings, white and the same in every run
    exact: bool = False  # the inertia of a linkage at the start, also where its joints hold it
    reach: float = 0.0  # [m] from its start to its end stop, hard and plastic; 0 = anywhere
    gentle: bool = False  # never more than 500 N but in the tick of an impulse: a session's default

    def __post_init__(self) -> None:
        for name in ("mass", "rotational_inertia"):
            if getattr(self, name) is not None:
                positive(f"device {name}", getattr(self, name))
        if self.subspace is not None:
            one_of("device subspace", self.subspace, SUBSPACES)
        if self.delay_ticks not in range(MOST_DELAY + 1):
            raise ParameterError(
                "delay_ticks", self.delay_ticks, f"a whole number from 0 to {MOST_DELAY}"
            )
        for name in ("friction", "damping"):
            for value in vector(f"device {name}", getattr(self, name), (2,)):
                not_negative(f"device {name}", value)
        not_negative("device resolution", self.resolution)
        not_negative("device noise", self.noise)
        not_negative("device reach", self.reach)
        vector("device offset", self.offset, (2, 3))
        one_of("device integrator", self.integrator, INTEGRATORS)
        self.cap()

    def mask(self, tool_mask: np.ndarray) -> np.ndarray:
        """The device's subspace, given the tool's."""
        if self.subspace is not None:
            return SUBSPACES[self.subspace].copy()
        if self.limits is not None and len(self.limits) == 3 and tool_mask.sum() > 3.0:
            raise ParameterError("limits", self.limits, f"six numbers with this tool; {_THREE}")
        return tool_mask.copy()

    def inertia(self, at_hand: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(6, 6) [kg, kg·m²], zero outside the subspace."""
        out = (at_hand if self.exact else isotropic(at_hand)) * np.outer(mask, mask)
        for value, part in ((self.mass, slice(0, 3)), (self.rotational_inertia, slice(3, 6))):
            if value is not None:
                out[part, :] = 0.0
                out[:, part] = 0.0
                out[part, part] = value * np.diag(mask[part])
        return out

    def cap(self) -> np.ndarray:
        """(6,) the largest wrench [N, N·m]."""
        if self.limits is None:
            return np.full(6, np.inf)
        sizes = (6,) if self.subspace == "full" else (3, 6)
        values = positives("limits", self.limits, sizes, f"six positive numbers; {_THREE}")
        if values.shape == (6,):
            return values
        out = np.full(6, np.inf)
        out[[0, 1, 2] if self.subspace == "translational" else [0, 1, 5]] = values
        return out

    @property
    def safety(self) -> Safety:
        """No limits but the cap, and what a hand bears."""
        return GENTLE if self.gentle else NO_LIMITS

    @property
    def takes_motion(self) -> bool:
        """No: it takes a wrench."""
        return False

    def adapter(self, placed: Placed) -> Adapter:
        """The simulated mass at the start, behind its port."""
        state, command, hand = placed.begin()
        mass = make_mass(state, command, hand, NOISE_LENGTH if self.noise > 0.0 else 1, self.reach)
        if self.noise > 0.0:
            rows = np.random.default_rng(0).standard_normal(mass.noise.shape)
            mass.noise[:] = self.noise * rows * placed.mask[:3]
        mass.mobility[:] = placed.mobility
        mass.friction[:], mass.damping[:] = self.friction, self.damping
        mass.resolution[:], mass.step[:] = self.resolution, placed.step
        mass.delay[:], mass.integrator[:] = self.delay_ticks, INTEGRATORS.index(self.integrator)
        mass.response[:] = held_response(placed.mobility, mass.damping, placed.step)
        mass.differences[:] = placed.leads and self.resolution + self.noise > 0.0
        mass.last[:] = state.true_pose
        return behind_port(mass, read_mass, write_mass)


def isotropic(at_hand: np.ndarray, whole: bool = True) -> np.ndarray:
    """(6, 6) of a rigid body as it is; of a linkage its least mass, and inertia, everywhere.

    What does not move as a *whole*, in all directions, is no rigid body, though it may look like
    one: a wheel on its axle would be a heavy body in the axle.
    """
    inside = np.diag(at_hand) > 0.0
    straight = at_hand[:3, :3][np.ix_(inside[:3], inside[:3])]
    if whole and np.allclose(
        straight, straight[:1, :1] * np.eye(len(straight)), rtol=1e-6, atol=0.0
    ):
        return at_hand
    mobility = np.zeros((6, 6))
    mobility[np.ix_(inside, inside)] = np.linalg.inv(at_hand[np.ix_(inside, inside)])
    most = [np.linalg.eigvalsh(mobility[p, p]).max() for p in (slice(3), slice(3, 6))]
    sizes = [1.0 / one if one > 0.0 else 0.0 for one in most]
    return np.diag(np.repeat(sizes, 3) * inside)


#: the documents' device: the inertia of the tool, velocity first (TH 4.5)
IDEAL = Inertial(integrator="velocity-first", exact=True)
