"""The documents' experiments, one module per family."""

from __future__ import annotations

from detent.errors import UnknownNameError
from detent.experiments import (
    arm,
    capped,
    concave,
    corner,
    corner_3d,
    corner_device,
    delay,
    disk_on_sphere,
    euler_lie,
    four_bar,
    friction,
    friction_device,
    incline,
    laparoscope,
    limits,
    linkage_async,
    linkage_collisions,
    linkages,
    local_hole,
    local_wall,
    paradigms,
    passive_walls,
    push_linkage,
    reactivation,
    rolling_disk,
    slow_engine,
    taps,
    tight_hole,
    topology_gains,
    two_link,
    two_link_circle,
    updates,
    vertices,
    walls,
)
from detent.experiments.protocol import Experiment

_FAMILIES = (
    arm,
    capped,
    concave,
    corner,
    corner_3d,
    corner_device,
    delay,
    disk_on_sphere,
    euler_lie,
    four_bar,
    friction,
    friction_device,
    incline,
    laparoscope,
    limits,
    local_hole,
    local_wall,
    linkage_async,
    linkage_collisions,
    linkages,
    paradigms,
    passive_walls,
    push_linkage,
    reactivation,
    rolling_disk,
    slow_engine,
    taps,
    tight_hole,
    topology_gains,
    two_link,
    two_link_circle,
    updates,
    vertices,
    walls,
)

EXPERIMENTS: dict[str, Experiment] = {e.name: e for family in _FAMILIES for e in family.EXPERIMENTS}


def find(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise UnknownNameError("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
