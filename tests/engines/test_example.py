"""The adapters of the documentation work as they stand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import detent
from detent.setup.prepared import advance

FOLDER = Path(__file__).resolve().parents[2] / "examples"
FILE, PYMUNK = FOLDER / "planar_engine.py", FOLDER / "pymunk_engine.py"


def load(file: Path):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def example():
    return load(FILE)


@pytest.fixture(scope="module")
def crates():
    pytest.importorskip("pymunk")
    return load(PYMUNK)


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


def push_crate(crates, height: float, force: float, seconds: float):
    """The disc beside the first crate, at a height above the floor; where the crate ended."""
    world = detent.World.from_string(crates.SCENE, tool="disc")
    world = world.placed((0.03, crates.FLOOR + height))
    local = detent.LocalModel(constraints="inertial")
    session = detent.Session(world, local=local, engine=crates.PymunkEngine)
    hand = detent.hands.Constant((force, 0.0))
    ready = session.prepare(hand, session.rate, round(seconds * session.rate))
    engine = session.play_engine(ready)
    advance(ready, hand, 0, len(ready.servo.ring), engine)
    return ready.servo.ring, engine._frames.engine.shapes[1].body


def test_pymunk_in_few_lines(crates) -> None:
    assert len(PYMUNK.read_text().splitlines()) < 80


def test_a_crate_that_is_pushed_with_less_than_friction_stays(crates) -> None:
    """0.3 · 0.5 kg · 9.81 m/s² = 1.47 N hold it."""
    rows, crate = push_crate(crates, crates.HALF, 1.0, 1.5)
    assert rows["contacts"][-1] > 0
    assert crate.position.x == pytest.approx(0.08, abs=8e-3)  # it was struck at 0.1 m/s
    assert abs(crate.velocity.x) < 1e-4
    assert rows["environment_wrench"][-1, 0] == pytest.approx(-1.0, abs=0.02)


def test_a_crate_is_pushed_as_newton_says(crates) -> None:
    """It takes the next one along: (4 − 2 · 1.47) N / (1 + 2 · 0.5) kg, disc and crates as one."""
    rows, crate = push_crate(crates, crates.HALF, 4.0, 0.8)
    late = rows["time"] > 0.5
    slope = np.polyfit(rows["time"][late], rows["tool_twist"][late, 0], 1)[0]
    assert slope == pytest.approx((4.0 - 2.0 * 0.3 * 0.5 * 9.81) / 2.0, rel=0.05)
    assert crate.velocity.x == pytest.approx(rows["tool_twist"][-1, 0], rel=0.05)
    assert abs(crate.angle) < 0.02
