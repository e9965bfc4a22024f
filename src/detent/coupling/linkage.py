"""How the joints and the inertia of a linkage reach the hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detent.checks import not_negative, one_of, positive
from detent.coupling.gains import six
from detent.errors import ParameterError

SINGULAR = 1e-2  # [-] default of Topology.singular
EASED = 6.0  # [-] times that a direction is free again, where constraints come and go slowly
METRICS = ("inertia", "euclidean")
SOFT = 200.0, 50.0  # [1/s², 1/s] of a topology without gains, where constraints come and go
STIFF = 1e12, 1e12  # … and where they do not: the step bounds it, which is no news


@dataclass(frozen=True)
class Topology:
    r"""The joints of a linkage, felt: a penalty where the held link cannot follow the hand.

    .. math:: F_{tc} = N (N^T M_d^{-1} N)^{-1} N^T (k_{tc} \Delta x + b_{tc} \Delta \dot x)

    N spans the wrenches that the joints resist, the null space of Λ_h⁻¹ (TH 5.23, M20;
    errata B2). ``n_tc="euclidean"`` is the thesis's own form, which depends on the units.
    A direction counts as constrained when the held link moves there, in the metric of its
    own inertia, less than *singular* times as much as where it moves most; it becomes free
    again at six times that (twice without *ease*), so that the count does not chatter.

    A constraint comes and goes within *ease*, and without a step in its force: what the device is
    ahead by then is taken back slowly, and joint motion that the hand does not feel is damped.
    ``ease=0`` is the documents' way, and that of ``n_tc="euclidean"``.

    Without gains it is as stiff as the rate allows where the joints hold the same directions in
    every pose, as those of a door do; where they come and go, `SOFT` (TH 5.4.2, S3). One that is
    left out beside the other is that of `SOFT`.
    """

    stiffness: float | None = None  # [1/s²] k_tc, per kilogram of the device
    damping: float | None = None  # [1/s] b_tc
    n_tc: str = "inertia"
    singular: float = SINGULAR  # [-]
    ease: float = 0.05  # [s] in which a constraint comes or goes, at least; 0 = at once

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            if getattr(self, name) is not None:
                not_negative(f"topology {name}", getattr(self, name))
        one_of("n_tc", self.n_tc, METRICS)
        not_negative("topology ease", self.ease)
        if not 0.0 < positive("singular", self.singular) < 0.5:
            raise ParameterError("singular", self.singular, "between 0 and 0.5")

    @property
    def gains(self) -> tuple[float, float] | None:
        """[1/s², 1/s] if any was chosen."""
        if self.stiffness is None and self.damping is None:
            return None
        given = self.stiffness, self.damping
        k, b = (usual if one is None else one for one, usual in zip(given, SOFT, strict=True))
        return k, b


@dataclass(frozen=True)
class Shaping:
    r"""Impedance control: the device accelerates as the linkage does at the hand (M19).

    .. math:: \ddot x = \Lambda_h^{-1} (F_h + F_{env} + F_{pc} - b_d \dot x)
              + \dot J_h \dot q - J_h D^{-1} B

    TH 5.15-5.21. It needs to know F_h. ``bias=False`` leaves out the last two terms, as the
    documents do (errata E10).
    """

    damping: float | Sequence[float] = 0.0  # [N·s/m, N·m·s/rad] b_d
    bias: bool = True

    def __post_init__(self) -> None:
        six("shaping damping", self.damping)
