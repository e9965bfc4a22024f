"""The documents' experiments, one module per family."""

from __future__ import annotations

from detent.errors import UnknownNameError
from detent.experiments import corner
from detent.experiments.protocol import Experiment

EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (*corner.EXPERIMENTS,)}


def find(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise UnknownNameError("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
