"""Dry friction, in physical terms."""

from __future__ import annotations

from dataclasses import dataclass

from detent.checks import flag, not_negative, one_of, positive
from detent.errors import ParameterError
from detent.kernels.friction import DEADBANDS, LAWS


@dataclass(frozen=True)
class Friction:
    """How surfaces hold and slide: TH 4.3.1, `detent.kernels.friction`.

    ``law`` is ``"reset-integrator"`` [HF91], ``"nahvi"``, ``"dahl"``, ``"classical"`` or
    ``"none"``. ``damping`` is the raw β of TH 4.6 [N·s/m]; left out, β follows from the
    damping ratio, which is 1 unless given. Geoms can override the static coefficient (see
    `World`); the kinetic one keeps its ratio to it. Dahl's law knows no static friction: it
    holds and slides with μ_k, and μ_s is ignored.
    """

    static: float = 0.25  # [-] μ_s
    kinetic: float = 0.2  # [-] μ_k
    law: str = "reset-integrator"
    breakaway: float = 1e-5  # [m] z₀, strain at which the bond breaks
    damping_ratio: float | None = None  # [-] of oscillations while sticking; None = 1
    damping: float | None = None  # [N·s/m] β
    dead_band: float = 1e-4  # [m/s] v_min
    deadband: str = "symmetric"  # "eq4.8" is the document to the letter (errata E7)
    impacts: bool = True  # collisions have Coulomb friction too; False is TH 4.15

    def __post_init__(self) -> None:
        one_of("friction law", self.law, LAWS)
        one_of("dead band", self.deadband, DEADBANDS)
        not_negative("static friction", self.static)
        not_negative("kinetic friction", self.kinetic)
        if self.kinetic > self.static:
            raise ParameterError(
                "kinetic friction", self.kinetic, f"at most the static one, {self.static}"
            )
        positive("breakaway", self.breakaway)
        positive("dead_band", self.dead_band)
        flag("friction impacts", self.impacts)
        if self.damping_ratio is not None:
            not_negative("damping_ratio", self.damping_ratio)
        if self.damping is not None:
            not_negative("friction damping", self.damping)
            if self.damping_ratio is not None:
                allowed = "left out where damping [N·s/m] is given, or damping left out"
                raise ParameterError("damping_ratio", self.damping_ratio, allowed)

    @classmethod
    def from_bond(
        cls,
        stiffness: float,
        gradient: float,
        normal_force: float,
        breakaway: float,
        damping: float,
        dead_band: float = 1e-4,
    ) -> Friction:
        r"""From the papers' raw parameters K_r, a and β at a normal force.

        .. math:: \mu_k = K_r z_0 / f_n, \quad \mu_s = (1 + a) \mu_k
        """
        slip = positive("stiffness", stiffness) * positive("breakaway", breakaway)
        kinetic = slip / positive("normal_force", normal_force)
        static = (1.0 + not_negative("gradient", gradient)) * kinetic
        return cls(static, kinetic, breakaway=breakaway, damping=damping, dead_band=dead_band)

    @property
    def raw_damping(self) -> float:
        """β [N·s/m], or minus the damping ratio: what the kernel takes."""
        if self.damping is not None:
            return self.damping
        return -1.0 if self.damping_ratio is None else -self.damping_ratio


NO_FRICTION = Friction(law="none", static=1.0, kinetic=1.0)
