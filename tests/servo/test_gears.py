"""Tendons that an equality couples: residual, rows and rate as MuJoCo measures them."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Baumgarte, Session, World
from detent.servo import places
from detent.setup.prepared import Prepared
from lab import LOOSE, closures_of, mirror, run_stage, scene, start

GEOM = '<geom size=".01" pos=".05 0 0" mass=".5" contype="0" conaffinity="0"/>'
TENDONS = """<tendon>
  <fixed name="one"><joint joint="a" coef="1"/><joint joint="b" coef="-.7"/></fixed>
  <fixed name="two"><joint joint="b" coef=".4"/><joint joint="s" coef="2"/></fixed>
</tendon><equality><tendon tendon1="one" {second} polycoef="0 {slope} .6 -.8 0"/></equality>"""
BODIES = f"""<body name="tool"><joint name="a" axis="0 0 1"/>{GEOM}
    <body pos=".1 0 0"><joint name="b" axis="0 1 0"/>{GEOM}</body></body>
  <body pos="0 .5 0"><joint name="s" type="slide" axis="1 0 0"/>{GEOM}</body>"""


def geared(second: bool) -> Prepared:
    """One tendon as a function of another, or a tendon that stays as long as it is."""
    named = 'tendon2="two"' if second else ""
    more = TENDONS.format(second=named, slope=0.5 if second else 0.0)
    world = World.from_string(scene(BODIES, more=more), tool="tool")
    plain = Baumgarte(0.0, 0.0, projected=False)  # no terms of h and its rate
    return start(Session(world, coupling=LOOSE, baumgarte=plain))


def at(ready: Prepared, qpos: np.ndarray, qvel: np.ndarray) -> None:
    ready.servo.scene.qpos[:], ready.servo.scene.qvel[:] = qpos, qvel
    run_stage(ready.servo, places.SENSE)


@pytest.mark.parametrize("second", [True, False])
def test_rows_and_residuals_are_those_of_mujoco(second: bool) -> None:
    ready, rng = geared(second), np.random.default_rng(0)
    for _ in range(5):
        at(ready, 0.3 * rng.standard_normal(3), np.zeros(3))
        W, h = closures_of(ready.model, mirror(ready))
        assert np.abs(h).max() > 1e-3
        np.testing.assert_allclose(ready.servo.closures.h, h, atol=1e-12)
        np.testing.assert_allclose(ready.servo.closures.W, W, atol=1e-12)


def residual(ready: Prepared, qpos: np.ndarray) -> float:
    """Of MuJoCo."""
    at(ready, qpos, np.zeros(3))
    return float(closures_of(ready.model, mirror(ready))[1][0])


def test_what_it_asks_for_has_the_curve_of_the_polynomial() -> None:
    """W q̈ that keeps ḣ as it is: −p'' ẋ²."""
    ready, rng, size = geared(True), np.random.default_rng(1), 1e-4
    for _ in range(5):
        q, v = 0.2 * rng.standard_normal(3), rng.standard_normal(3)
        at(ready, q, v)
        wanted = float(ready.servo.closures.wanted[0])
        ahead, here, behind = (residual(ready, q + t * size * v) for t in (1, 0, -1))
        curve = (ahead - 2.0 * here + behind) / size**2
        assert wanted == pytest.approx(-curve, abs=1e-5)
