"""The adapter of the documentation works as it stands."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import detent

FILE = Path(__file__).resolve().parents[2] / "examples" / "planar_engine.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("planar_engine", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_short() -> None:
    assert len(FILE.read_text().splitlines()) < 110
    source = FILE.read_text()
    adapter = source[source.index("class PlanarEngine") : source.index("if __name__")]
    assert len(adapter.strip().splitlines()) < 100


def test_the_floor_is_felt_where_it_is(example) -> None:
    world = detent.World.from_string(example.SCENE, tool="disc")
    local = detent.LocalModel(epsilon=0.01, constraints="inertial")
    session = detent.Session(world, local=local, engine=example.PlanarEngine)
    trace = session.run(2.0, detent.hands.Constant((0.0, -0.3)))
    low = trace["tool_position"][:, 1].min()
    assert low == pytest.approx(example.FLOOR + example.RADIUS, abs=1e-3)


def test_momentum_is_kept_when_a_ball_is_struck(example) -> None:
    """A disc of 1 kg meets a ball of 0.5 kg head on, plastically: ⅔ of its speed is left."""
    world = detent.World.from_string(example.SCENE, tool="disc")
    world = world.placed((0.1, 0.0, 0.0), (0.1, 0.0, 0.0))
    local = detent.LocalModel(epsilon=0.02, constraints="inertial")
    coupling = detent.FourChannel(stiffness=0.0, damping=0.0)
    session = detent.Session(world, coupling=coupling, local=local, engine=example.PlanarEngine)
    trace = session.run(1.0)
    speed = trace["tool_twist"][:, 0]
    assert speed[-1] == pytest.approx(0.1 * 2.0 / 3.0, rel=0.03)
    assert np.all(np.diff(trace["tool_energy"]) <= 1e-12)
