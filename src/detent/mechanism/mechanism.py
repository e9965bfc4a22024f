"""The description of a mechanism: what moves, what it weighs, what it must not leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from detent.checks import not_negative, unit_quaternion, vector
from detent.errors import ParameterError
from detent.mechanism.rotations import Orientation

Expression = Any  # a SymPy expression, or a number
MOST = 16  # coordinates, velocities, constraints: as many as a row of the trace has room for
MOST_ENERGIES = 4  # parts of the energy there


@dataclass(frozen=True)
class BodySpring:
    """A spring in SE(3) from the handle to an origin (S2 App. II, M31)."""

    stiffness: float  # [N/m] k_t
    rotational_stiffness: float  # [N·m/rad] k_r
    position: Sequence[float] = (0.0, 0.0, 0.0)  # [m] p_o
    quaternion: Sequence[float] = (1.0, 0.0, 0.0, 0.0)  # R_o (w, x, y, z)

    def __post_init__(self) -> None:
        not_negative("stiffness", self.stiffness)
        not_negative("rotational_stiffness", self.rotational_stiffness)
        vector("position of a spring", self.position, (3,))
        unit_quaternion("quaternion of a spring", self.quaternion)


@dataclass(frozen=True)
class BodyDamper:
    """Damping in SE(3) at the handle (S2 App. I, M31)."""

    damping: float  # [N·s/m] b_t
    rotational_damping: float  # [N·m·s/rad] b_r

    def __post_init__(self) -> None:
        not_negative("damping", self.damping)
        not_negative("rotational_damping", self.rotational_damping)


@dataclass(frozen=True)
class Mechanism:
    r"""A virtual inertia and its constraints, as SymPy expressions (S2 eq. 1-10).

    .. math:: M(q) \ddot q + C(q, \dot q) \dot q = \tau + A(q)^T \lambda, \qquad A(q) \dot q = 0

    Args:
        name: what to call it.
        coordinates: the symbols q; an `Orientation` stands for a rotation without singularity.
        inertia: M(q), a square matrix; or give *kinetic_energy*.
        kinetic_energy: T(q, q̇), with the symbols of *velocities* [J].
        velocities: symbols q̇, one per ordinary coordinate in order (an orientation has its own
            `rates`); ``d`` and the coordinate's name by default.
        task: symbols x of the task space; by default x = q.
        kinematics: φ(q), one expression per symbol of *task*.
        position: of the handle [m], three expressions of x or q; by default the first three of x.
        rotation: of the handle, (3, 3); by default none.
        holonomic: expressions of x or q that are zero, H′(x) = 0.
        pfaffian: rows A′(x), with A′(x) ẋ = 0: one element per task coordinate (or, where
            x = q, per velocity).
        parametrisation: symbols z, and ψ(z) with x = ψ(z) on the constraint manifold. Without
            it the motion is projected onto the manifold.
        springs: potential energies [J], or `BodySpring`.
        dampers: Rayleigh's functions ½ b q̇² [W], or `BodyDamper`; they must take energy.
        gravity: its potential energy [J].
        stops: expressions of x or q that must not become negative.
        restitution: [-] of all stops.
        constants: the values of all other symbols; another value needs no new derivation.
        start: q at the start (a quaternion for an orientation, made one of unit length), as one
            flat sequence or array; so are the next two.
        start_velocity: velocities at the start, at rest by default.
        start_parameters: z at the start, near enough for Newton's method; zeros by default.
        energies: parts of the kinetic energy to record, by name.
        scene: MJCF text for the page: the held body, then any others, and the surfaces.
        bodies: position and rotation of each moving body of *scene*, by its name; the first
            is held.
        track: a point that leaves a track [m], three expressions.
        lead: where a hand is led that nobody moves: a symbol for the time [s], position (3,)
            and rotation (3, 3).
    """

    name: str
    coordinates: Sequence[Any]
    inertia: Any = None
    kinetic_energy: Expression = None
    velocities: Sequence[Any] = ()
    task: Sequence[Any] = ()
    kinematics: Sequence[Expression] = ()
    position: Sequence[Expression] | None = None
    rotation: Any = None
    holonomic: Sequence[Expression] = ()
    pfaffian: Sequence[Sequence[Expression]] = ()
    parametrisation: tuple[Sequence[Any], Sequence[Expression]] | None = None
    springs: Sequence[Any] = ()
    dampers: Sequence[Any] = ()
    gravity: Expression = 0
    stops: Sequence[Expression] = ()
    restitution: float = 0.0
    constants: Mapping[Any, float] = field(default_factory=dict)
    start: Sequence[float] = ()
    start_velocity: Sequence[float] = ()
    start_parameters: Sequence[float] = ()
    energies: Mapping[str, Expression] = field(default_factory=dict)
    scene: str | None = None
    bodies: Mapping[str, tuple[Sequence[Expression], Any]] = field(default_factory=dict)
    track: Sequence[Expression] | None = None
    lead: tuple[Any, Sequence[Expression], Any] | None = None

    def __post_init__(self) -> None:
        from detent.mechanism.check import check_description, numbers, with_unit_quaternions

        for name in ("start", "start_velocity", "start_parameters"):
            object.__setattr__(self, name, numbers(name, getattr(self, name)))
        check_description(self)
        object.__setattr__(self, "start", with_unit_quaternions(self))

    def with_constants(self, **values: float) -> Mechanism:
        """The same mechanism with other values of some constants, named as their symbols."""
        known = {str(symbol): symbol for symbol in self.constants}
        for name in values:
            if name not in known:
                raise ParameterError("constant", name, f"one of {', '.join(sorted(known))}")
        changed = {known[name]: float(value) for name, value in values.items()}
        return replace(self, constants={**self.constants, **changed})

    def starting(
        self, start: Sequence[float] | np.ndarray, velocity: Sequence[float] | np.ndarray = ()
    ) -> Mechanism:
        """The same mechanism with another start."""
        return replace(
            self,
            start=tuple(np.asarray(start, float).tolist()),
            start_velocity=tuple(np.asarray(velocity, float).tolist()),
        )

    @property
    def orientations(self) -> list[Orientation]:
        """Those among the coordinates."""
        return [c for c in self.coordinates if isinstance(c, Orientation)]

    @property
    def q(self) -> list[Any]:
        """The symbols of all coordinates, four for an orientation."""
        return [s for c in self.coordinates for s in _symbols_of(c)]

    @property
    def u(self) -> list[Any]:
        """The symbols of all velocities, three body rates for an orientation."""
        given = iter(self.velocities or self._named_velocities())
        out: list[Any] = []
        for c in self.coordinates:
            out += c.rates if isinstance(c, Orientation) else [next(given)]
        return out

    @property
    def x(self) -> list[Any]:
        """The symbols of the task space: those of the coordinates by default."""
        return list(self.task) or self.q

    @property
    def phi(self) -> list[Expression]:
        """φ(q)."""
        return list(self.kinematics) or self.q

    @property
    def z(self) -> list[Any]:
        """The symbols of the parametrisation, if there is one."""
        return [] if self.parametrisation is None else list(self.parametrisation[0])

    @property
    def psi(self) -> list[Expression]:
        """ψ(z), if there is one."""
        return [] if self.parametrisation is None else list(self.parametrisation[1])

    @property
    def handle(self) -> list[Expression]:
        """The position of the handle [m], in x or q."""
        if self.position is not None:
            return list(self.position)
        return [*self.x[:3], 0, 0, 0][:3]

    @property
    def body_springs(self) -> list[BodySpring]:
        """Springs in SE(3)."""
        return [s for s in self.springs if isinstance(s, BodySpring)]

    @property
    def body_dampers(self) -> list[BodyDamper]:
        """Dampers in SE(3)."""
        return [d for d in self.dampers if isinstance(d, BodyDamper)]

    @property
    def potential(self) -> Expression:
        """The potential energy of springs and gravity, without springs in SE(3) [J]."""
        return sum((s for s in self.springs if not isinstance(s, BodySpring)), self.gravity)

    @property
    def rayleigh(self) -> Expression:
        """Rayleigh's function of the dampers, without those in SE(3) [W]."""
        return sum((d for d in self.dampers if not isinstance(d, BodyDamper)), 0)

    def equations(self) -> Any:
        """M, C, A and the rest as SymPy matrices: see `derive.Equations`."""
        from detent.mechanism.derive import derive

        return derive(self)

    def _named_velocities(self) -> list[Any]:
        import sympy as sp

        plain = [c for c in self.coordinates if not isinstance(c, Orientation)]
        return [sp.Symbol(f"d{c}", real=True) for c in plain]


def _symbols_of(coordinate: Any) -> Iterable[Any]:
    return coordinate.symbols if isinstance(coordinate, Orientation) else [coordinate]
