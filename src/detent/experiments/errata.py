"""Where the documents are wrong, what is right, and how to ask for the document to the letter."""

from __future__ import annotations

import re
from typing import NamedTuple


class Erratum(NamedTuple):
    """One mistake of a document."""

    key: str
    document: str  # as in documents.py
    where: str
    wrong: str
    right: str  # what Detent does
    literal: str = ""  # the setting that gives the document to the letter, if there is one


ERRATA = (
    Erratum("E1", "S0", "eq 1", "the torque of a contact force has the wrong sign",
            "torque = r × f"),
    Erratum("E2", "S0", "eq 13–14", "J M Jᵀ: wrong units, and collisions that raise the energy",
            "(J M⁻¹ Jᵀ)⁻¹"),
    Erratum("E3", "S0", "eq 11; TH 4.22–4.23", "a contact of two moving bodies is split: each "
            "meets the other as if it were fixed, and momentum is lost",
            "one row of the relative velocity, equal and opposite impulses",
            'Contact(self_collision="split")'),
    Erratum("E4", "TH", "4.24, 4.36", "restitution as an equality lets impulses pull, in half of "
            "the cases with several contacts", "complementarity: 0 ≤ p ⊥ J q̇⁺ + e J q̇₀ ≥ 0",
            'Contact(method="equality")'),
    Erratum("E5", "TH", "4.27, 4.33, 4.40, 4.43", "the energy that is lost lacks the factor ½; to "
            "the letter, the arm of Fig 4.12(b) is left with −2.33 J",
            "½ (1 − e²) q̇₀ᵀJᵀ(J D⁻¹Jᵀ)†J q̇₀"),
    Erratum("E6", "TH", "4.6, 4.9, 4.11; S4 eq 2", "friction pushes along the motion",
            "friction opposes it"),
    Erratum("E7", "TH", "4.8", "sliding in one direction never leaves the dead band, and the bond "
            "grows without limit", "a dead band that is the same in both directions",
            'Friction(deadband="eq4.8")'),
    Erratum("E8", "TH", "4.5.2", "scaling a wrench is passive only if all of it is scaled alike; "
            "clamping each axis is not", "uniform scaling"),
    Erratum("E9", "TH", "4.5.2", "spread impulses stop a body deep in the wall, and then switch on "
            "a loaded spring: above 0.16 m/s they penetrate more than penalties do, and rebound",
            "all contact forces are limited, or the spring is zeroed again (limit=\"rezero\")",
            'Contact(limit="collision_only")'),
    Erratum("E10", "TH", "5.14–5.15, 5.22; S3 eq 5", "the bias J̇q̇ − J D⁻¹B is left out; it, and "
            "no numerical drift, moves the device away in Fig 5.7–5.8", "with the bias",
            "Shaping(bias=False)"),
    Erratum("E11", "TH", "6.6–6.7", "the separation of the inflated tool is taken for the true "
            "one with the wrong sign: 3 mm away is felt as 7 mm deep", "σ = s + ε"),
    Erratum("E12", "S2", "eq 27–32", "a row of the rotation is taken for its column: the disk is "
            "not tangent to the sphere", "the disk's normal is the third column"),
    Erratum("E13", "TH", "Fig 6.19", "36 mm of drift cannot come from the delay that is stated, "
            "and the force has the wrong sign", "orderings are checked, and drift against "
            "v (T + latency)"),
    Erratum("E14", "S3", "eq 3", "the stabilised acceleration adds terms of different units",
            "2αβ W q̇"),
    Erratum("E15", "S3", "eq 7", "the sign of the loop's force", "λ = +(W D⁻¹Wᵀ)⁻¹ W D⁻¹J_hᵀF_h"),
)  # fmt: skip

_BY_KEY = {erratum.key: erratum for erratum in ERRATA}


def mentioned(*texts: str) -> list[Erratum]:
    """The errata that texts name (``errata E9``), in their order."""
    keys = dict.fromkeys(key for text in texts for key in re.findall(r"\bE\d+\b", text))
    return [_BY_KEY[key] for key in keys if key in _BY_KEY]
