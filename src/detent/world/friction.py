"""Dry friction, in physical terms."""

from __future__ import annotations

from dataclasses import dataclass

from detent.checks import flag, not_negative, one_of, positive
from detent.errors import ParameterError
from detent.kernels.friction import BRAKE, DEADBANDS, LAWS

DEAD_BAND = 1e-4  # [m/s] TH 4.3.1
BONDS = ("reset-integrator", "nahvi", "dahl")  # laws whose surfaces are tied by a spring


@dataclass(frozen=True)
class Friction:
    """How surfaces hold and slide: TH 4.3.1, `detent.kernels.friction`.

    ``law`` is ``"reset-integrator"`` [HF91], ``"nahvi"``, ``"dahl"``, ``"classical"`` or
    ``"none"``. ``damping`` is the raw β of TH 4.6 [N·s/m]; with a ``damping_ratio`` β follows
    from that (TH's is 1). Without either, a reset integrator that sticks is held at once
    (`servo.contact.brake`), so that a load that comes suddenly slips at μ_s f_n, too. Geoms can
    override the static coefficient (see `World`); the kinetic one keeps its ratio to it. Dahl's
    law knows no static friction: it holds and slides with μ_k, and μ_s is ignored.

    With ``scene`` the coefficients are those that the scene gives each pair of geoms, as MuJoCo
    combines them, and ``static`` and ``kinetic`` multiply them: `SCENE_FRICTION`, the default of
    loaded scenes, has 1 for both. Only so do contacts of ``condim`` 4 and 6 resist turning.
    """

    static: float = 0.25  # [-] μ_s
    kinetic: float = 0.2  # [-] μ_k
    law: str = "reset-integrator"
    breakaway: float = 1e-5  # [m] z₀, strain at which the bond breaks
    damping_ratio: float | None = None  # [-] of oscillations while sticking
    damping: float | None = None  # [N·s/m] β
    dead_band: float = DEAD_BAND  # [m/s] v_min
    deadband: str = "symmetric"  # "eq4.8" is the document to the letter (errata E7)
    impacts: bool = True  # collisions have Coulomb friction too; False is TH 4.15
    scene: bool = False  # static and kinetic multiply what the scene says

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
        flag("friction scene", self.scene)
        if self.damping_ratio is not None:
            not_negative("damping_ratio", self.damping_ratio)
            if self.damping_ratio >= BRAKE:
                raise ParameterError("damping_ratio", self.damping_ratio, f"less than {BRAKE:g}")
        if self.damping is not None:
            not_negative("friction damping", self.damping)
            if self.damping_ratio is not None:
                allowed = "left out where damping [N·s/m] is given, or damping left out"
                raise ParameterError("damping_ratio", self.damping_ratio, allowed)

    @classmethod
    def from_stiffness(
        cls,
        stiffness: float,
        breakaway: float,
        normal_force: float,
        excess: float = 0.0,
        law: str = "reset-integrator",
        damping: float | None = None,
        dead_band: float = DEAD_BAND,
    ) -> Friction:
        r"""From the documents' raw parameters, at the normal force that they are meant for.

        .. math:: \mu_k = K z_0 / f_n, \quad \mu_s = (1 + a) \mu_k

        errata B2. At other normal forces stiffness and limits follow f_n. What K and z₀ are:

        ================== ============================= =====================================
        reset-integrator   K_r, z₀; excess a             TH 4.6-4.8; holds with (1+a) K_r z
        Nahvi              k_f, radius μ_d f_n/k_f; a    TH 4.9-4.10; holds with k_f z to (1+a) z₀
        Dahl               σ, z_max                      TH 4.11-4.12; holds with σ z, no excess
        ================== ============================= =====================================

        Args:
            stiffness: [N/m] K of the bond.
            breakaway: [m] z₀, or z_max.
            normal_force: [N] f_n.
            excess: [-] a, by which static friction exceeds kinetic friction.
            law: one that has a bond.
            damping: [N·s/m] β.
            dead_band: [m/s] v_min.
        """
        one_of("friction law with a bond", law, BONDS)
        slip = positive("bond stiffness", stiffness) * positive("breakaway", breakaway)
        kinetic = slip / positive("normal_force", normal_force)
        if not_negative("excess", excess) > 0.0 and law == "dahl":
            allowed = "0 with Dahl's law, which knows no static friction"
            raise ParameterError("excess", excess, allowed)
        static = (1.0 + excess) * kinetic
        return cls(static, kinetic, law, breakaway, damping=damping, dead_band=dead_band)

    @property
    def raw_damping(self) -> float:
        """β [N·s/m], or minus the damping ratio, or −`BRAKE`: what the kernel takes."""
        if self.damping is not None:
            return self.damping
        return -BRAKE if self.damping_ratio is None else -self.damping_ratio


NO_FRICTION = Friction(law="none", static=1.0, kinetic=1.0)
SCENE_FRICTION = Friction(static=1.0, kinetic=1.0, scene=True)
