"""The documents that the experiments reproduce, and which figure each experiment is."""

from __future__ import annotations

from typing import NamedTuple


class Document(NamedTuple):
    """One document, or what stands beside them."""

    key: str  # by which claims and comments cite it
    name: str  # short, for headings
    citation: str


class Place(NamedTuple):
    """Where an experiment belongs."""

    document: str
    figures: str  # or the section that says it


DOCUMENTS = (
    Document("S0", "Rigid-body collisions",
             "D. Constantinescu, S. E. Salcudean, E. A. Croft. Haptic rendering of rigid body "
             "collisions. Haptic Interfaces for Virtual Environment and Teleoperator Systems, "
             "2004"),
    Document("TH", "The thesis",
             "D. Constantinescu. Efficient and Transparent Haptic Rendering of Rigid Body Motion "
             "with Constraints. PhD thesis, The University of British Columbia, 2004"),
    Document("S2", "Admittance displays",
             "E. L. Faulring, K. M. Lynch, J. E. Colgate, M. A. Peshkin. Haptic Display of "
             "Constrained Dynamic Systems via Admittance Displays. IEEE Transactions on Robotics "
             "23(1), 2007"),
    Document("S3", "Linkages with loops",
             "M. Beenackers, D. Constantinescu, M. Steinbuch. Haptic Manipulation of Virtual "
             "Linkages with Kinematic Loops"),
    Document("S4", "Planar rigid-body motion",
             "D. Constantinescu, I. Chau, S. P. DiMaio, L. Filipozzi, S. E. Salcudean. Haptic "
             "Rendering of Planar Rigid-Body Motion using a Redundant Parallel Mechanism. ICRA, "
             "2000"),
    Document("beyond", "Beyond the documents",
             "What the documents leave to future work, or do not ask, with claims of our own"),
)  # fmt: skip

#: in the order of the documents' figures; what is not here is beyond the documents
PLACES = {
    "reactivation": Place("S0", "Fig 1"),
    "peg-in-hole-impulses": Place("S0", "Fig 3–5"),
    "friction-damping": Place("TH", "Fig 4.7"),
    "friction-models": Place("TH", "Fig 4.9, S4 Fig 7"),
    "friction-device": Place("TH", "Fig 4.10, S4 Fig 8–11"),
    "two-link-impact": Place("TH", "Fig 4.12"),
    "corner-push": Place("TH", "Fig 4.15–4.21"),
    "limit-sweep": Place("TH", "section 4.5.2"),
    "corner-device": Place("TH", "Fig 4.22–4.24"),
    "linkage-distal": Place("TH", "Fig 5.7"),
    "linkage-middle": Place("TH", "Fig 5.8"),
    "linkage-async": Place("TH", "Fig 5.9–5.11"),
    "tight-hole-1d": Place("TH", "Fig 6.10–6.11"),
    "linkage-collisions": Place("TH", "Fig 6.14–6.17"),
    "static-wall": Place("TH", "Fig 6.18–6.19"),
    "tight-hole": Place("TH", "Fig 6.20–6.21"),
    "stiff-hole": Place("TH", "Fig 6.22"),
    "push-linkage": Place("TH", "Fig 6.23–6.24"),
    "rolling-disk": Place("S2", "Fig 8–9"),
    "disk-on-sphere": Place("S2", "Fig 10–11"),
    "two-link-circle": Place("S2", "Fig 12"),
    "admittance-versus-impedance": Place("S2", "section I"),
    "four-bar": Place("S3", "Fig 5–7"),
    "vertex-vertex": Place("S4", "Fig 2"),
    "walls": Place("S4", "Fig 4"),
    "walls-device": Place("S4", "Fig 5–6"),
}
BEYOND = Place("beyond", "")


def place_of(experiment: str) -> Place:
    """The document and the figures that an experiment reproduces."""
    return PLACES.get(experiment, BEYOND)


def in_order(experiments: list[str]) -> list[str]:
    """The same names in the order of documents and figures; ours come last."""
    known = list(PLACES)
    return sorted(experiments, key=lambda n: (known.index(n) if n in PLACES else len(known), n))
