"""How the joints and the inertia of a linkage reach the hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detent.checks import not_negative, one_of, positive
from detent.coupling.gains import six
from detent.errors import ParameterError

SINGULAR = 1e-2  # [-] default of Topology.singular
METRICS = ("inertia", "euclidean")


@dataclass(frozen=True)
class Topology:
    r"""The joints of a linkage, felt: a penalty where the held link cannot follow the hand.

    .. math:: F_{tc} = N (N^T M_d^{-1} N)^{-1} N^T (k_{tc} \Delta x + b_{tc} \Delta \dot x)

    N spans the wrenches that the joints resist, the null space of Λ_h⁻¹ (TH 5.23, M20;
    errata B2). ``n_tc="euclidean"`` is the thesis's own form, which depends on the units.
    A direction counts as constrained when the held link moves there, in the metric of its
    own inertia, less than *singular* times as much as where it moves most; it becomes free
    again at twice that, so that the count does not chatter.
    """

    stiffness: float = 200.0  # [1/s²] k_tc, per kilogram of the device (TH 5.4.2, S3)
    damping: float = 50.0  # [1/s] b_tc
    n_tc: str = "inertia"
    singular: float = SINGULAR  # [-]

    def __post_init__(self) -> None:
        not_negative("topology stiffness", self.stiffness)
        not_negative("topology damping", self.damping)
        one_of("n_tc", self.n_tc, METRICS)
        if not 0.0 < positive("singular", self.singular) < 0.5:
            raise ParameterError("singular", self.singular, "between 0 and 0.5")


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
