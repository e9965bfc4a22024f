"""Steps of bodies that turn freely and of loops that swing: exact in a few ticks."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent import World
from detent.servo import places
from detent.servo.constants import ENERGY_STEP
from detent.servo.parameters import IMPULSE, PULLED, RIGID
from detent.servo.structs import Servo
from detent.servo.world.loop_energy import expect_energy, keep_energy, span_energy
from detent.servo.world.spin import spin_bodies, spins
from detent.setup.prepared import Prepared
from lab import advance, full_inertia, loose, run_stage, scene, start

STEP = 1e-3
GHOST = 'contype="0" conaffinity="0"'
BODY = """<body name="t">{}<inertial pos=".01 .02 -.03" mass="2" quat=".8 .1 -.5 .3"
    diaginertia=".01 .02 .03"/><geom size=".01" contype="0" conaffinity="0"/></body>"""
INERTIA = np.diag([0.01, 0.02, 0.03])
MASS, MIDDLE = 2.0, np.array([0.01, 0.02, -0.03])


def turning(joint: str, rates: list[float]) -> Prepared:
    """A body that turns, in a pose that is not special."""
    ready = start(loose(World.from_string(scene(BODY.format(joint)), tool="t")))
    q = ready.servo.scene.qpos
    q[-4:] = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_quat(scalar_first=True)
    ready.servo.scene.qvel[:] = rates
    return ready


def frame(ready: Prepared) -> np.ndarray:
    """R of the body."""
    return Rotation.from_quat(ready.servo.scene.qpos[-4:], scalar_first=True).as_matrix()


def about(ready: Prepared, point: np.ndarray) -> np.ndarray:
    """Its inertia about a point of its own, in its axes; by Steiner."""
    turn = Rotation.from_quat([0.8, 0.1, -0.5, 0.3], scalar_first=True).as_matrix()
    r = point - MIDDLE
    return turn @ INERTIA @ turn.T + MASS * (r @ r * np.eye(3) - np.outer(r, r))


def test_a_free_body_goes_straight_and_keeps_momentum_and_energy_in_every_tick() -> None:
    ready = turning("<freejoint/>", [0.3, -0.2, 0.1, 20.0, 50.0, -30.0])
    sc, inertia = ready.servo.scene, about(turning("<freejoint/>", [0.0] * 6), MIDDLE)

    def now() -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        R, w = frame(ready), sc.qvel[3:6]
        straight = sc.qvel[:3] + R @ np.cross(w, MIDDLE)
        return sc.qpos[:3] + R @ MIDDLE, straight, R @ inertia @ w, float(w @ inertia @ w)

    middle, straight, momentum, energy = now()
    for tick in range(1, 11):
        R, w = frame(ready), sc.qvel[3:6].copy()
        advance(ready, 1)
        place, along, turn, double = now()
        np.testing.assert_allclose(along, straight, atol=1e-9)
        np.testing.assert_allclose(place, middle + tick * STEP * straight, atol=1e-9)
        np.testing.assert_allclose(turn, momentum, atol=1e-9 * np.linalg.norm(momentum))
        assert double == pytest.approx(energy, rel=1e-9)
        mean = Rotation.from_rotvec(0.5 * STEP * (w + sc.qvel[3:6])).as_matrix()
        np.testing.assert_allclose(frame(ready), R @ mean, atol=1e-9)


def test_a_body_on_a_ball_keeps_the_momentum_about_it() -> None:
    ready = turning('<joint type="ball"/>', [20.0, 50.0, -30.0])
    w, inertia = ready.servo.scene.qvel, about(ready, np.zeros(3))
    momentum, energy = frame(ready) @ inertia @ w, float(w @ inertia @ w)
    for _ in range(10):
        advance(ready, 1)
        size = 1e-9 * np.linalg.norm(momentum)
        np.testing.assert_allclose(frame(ready) @ inertia @ w, momentum, atol=size)
        assert w @ inertia @ w == pytest.approx(energy, rel=1e-9)


def strike(s: Servo) -> None:
    s.motion.velocity[4] += 1e-9


def rest_on_something(s: Servo) -> None:
    s.parameters["contact_mode"], s.rows.touched[:] = RIGID, 1


def touch_softly(s: Servo) -> None:
    s.parameters["contact_mode"], s.rows.touched[:] = IMPULSE, 1


def follow(s: Servo) -> None:
    s.parameters["tool"] = PULLED + 1


def sleep(s: Servo) -> None:
    s.scene.tree_awake[:] = 0


def slow_down(s: Servo) -> None:
    s.motion.scratch[3:6] *= 1e-6
    s.motion.velocity[3:6] = s.motion.scratch[3:6]


@pytest.mark.parametrize(
    ("change", "expected"),
    [(touch_softly, True), *((c, False) for c in (strike, rest_on_something, follow, sleep)),
     (slow_down, False)],
)  # fmt: skip
def test_a_body_spins_by_itself_unless_something_else_has_its_say(
    change: Callable[[Servo], None], expected: bool
) -> None:
    s = turning("<freejoint/>", [0.3, -0.2, 0.1, 20.0, 50.0, -30.0]).servo
    run_stage(s, places.SENSE)
    s.motion.velocity[:] = s.motion.scratch[:] = s.scene.qvel
    s.rows.touched[:] = 0
    assert spins(s.scene, s.motion, s.rows, 0, s.parameters)
    change(s)
    assert spins(s.scene, s.motion, s.rows, 0, s.parameters) == expected
    if not expected:  # then it goes where its new velocity leads
        s.scene.qvel[:] = np.arange(1.0, 7.0)
        spin_bodies(s.scene, s.motion, s.rows, s.parameters)
        np.testing.assert_array_equal(s.motion.scratch, s.scene.qvel)
        np.testing.assert_array_equal(s.scene.qvel, np.arange(1.0, 7.0))


# --- loops

SWING = f"""<body name="t" pos="0 0 0"><joint axis="0 0 1"/><geom type="capsule"
    fromto="0 0 0 .1 0 0" size=".005" mass=".1" {GHOST}/>
  <body name="coupler" pos=".1 0 0"><joint axis="0 0 1"/><geom type="capsule"
    fromto="0 0 0 .05 .15 0" size=".005" mass=".1" {GHOST}/></body></body>
  <body name="rocker" pos=".3 0 0"><joint axis="0 0 1"/><geom type="capsule"
    fromto="0 0 0 -.15 .15 0" size=".005" mass=".1" {GHOST}/></body>"""
TIED = '<equality><connect body1="coupler" body2="rocker" anchor=".05 .15 0"/></equality>'


def swinging(rate: float, option: str) -> Prepared:
    """A four-bar in motion; its crank turns at a rate [rad/s]."""
    ready = start(loose(World.from_string(scene(SWING, option, TIED), tool="t"), rate=1000.0))
    model, data = ready.model, mujoco.MjData(ready.model)
    mujoco.mj_forward(model, data)
    W = data.efc_J.reshape(-1, model.nv)[:2]
    ready.servo.scene.qvel[:] = [rate, *np.linalg.solve(W[:, 1:], -W[:, 0] * rate)]
    return ready


def bias(ready: Prepared, qvel: np.ndarray) -> np.ndarray:
    """Coriolis terms and weight, by MuJoCo."""
    data = mujoco.MjData(ready.model)
    data.qpos[:], data.qvel[:] = ready.servo.scene.qpos, qvel
    mujoco.mj_forward(ready.model, data)
    return data.qfrc_bias.copy()


def energies(ready: Prepared) -> tuple[float, float]:
    """Kinetic and potential, by MuJoCo."""
    data = mujoco.MjData(ready.model)
    data.qpos[:], data.qvel[:] = ready.servo.scene.qpos, ready.servo.scene.qvel
    mujoco.mj_forward(ready.model, data)
    mujoco.mj_energyPos(ready.model, data)
    mujoco.mj_energyVel(ready.model, data)
    return float(data.energy[1]), float(data.energy[0])


@pytest.mark.parametrize("gravity", ["0 0 0", "0 -9.81 0"])
def test_a_loop_keeps_its_energy_from_tick_to_tick(gravity: str) -> None:
    ready = swinging(15.0, f'gravity="{gravity}"')
    advance(ready, 1)
    before = sum(energies(ready))
    for _ in range(20):
        advance(ready, 1)
        after = sum(energies(ready))
        assert after == pytest.approx(before, rel=3e-5)
        before = after


@pytest.mark.parametrize("gravity", ["0 0 0", "0 -9.81 0"])
def test_the_energy_that_a_loop_must_have_leaves_out_what_does_no_work(gravity: str) -> None:
    """½ q̇⁺ᵀ D q̇⁺ + T q̄ᵀ(c − Wᵀλ): D and c by MuJoCo, λ along the rows of Q."""
    ready = swinging(15.0, f'gravity="{gravity}"')
    s, rng = ready.servo, np.random.default_rng(5)
    for place in (places.SENSE, places.APPROACH):
        run_stage(s, place)
    D, old = full_inertia(ready), s.scene.qvel.copy()
    moving, still = bias(ready, old), bias(ready, np.zeros(3))
    new = old + rng.standard_normal(3)
    s.motion.scratch[:], s.scene.qvel[:] = old, new
    s.closures.rates[:] = rng.standard_normal(len(s.closures.rates))
    assert span_energy(s.scene, s.motion, 0, 3) == pytest.approx(0.5 * new @ D @ new, rel=1e-12)
    expect_energy(s.scene, s.motion, s.closures, STEP)
    mean, closed = 0.5 * (old + new), int(s.motion.damped.closed[0])
    root = np.linalg.cholesky(D[::-1, ::-1])[::-1, ::-1]  # D = Lᵀ L, as MuJoCo factors it
    assert closed == 2
    worked = s.closures.rates[:closed] @ s.motion.damped.Q[:closed] @ root.T @ mean
    want = 0.5 * new @ D @ new + STEP * (mean @ (moving - still) - worked)
    assert s.closures.energy[0] == pytest.approx(want, rel=1e-10)


def test_velocities_of_a_loop_are_scaled_to_its_energy_by_a_little_at_a_time() -> None:
    ready = swinging(15.0, 'gravity="0 0 0"')
    s = ready.servo
    run_stage(s, places.SENSE)
    v = s.scene.qvel.copy()
    found = span_energy(s.scene, s.motion, 0, 3)
    small = 0.3 * ENERGY_STEP
    for wanted, factor in (
        (found * (1.0 + small) ** 2, 1.0 + small),
        (found * (1.0 - small) ** 2, 1.0 - small),
        (4.0 * found, 1.0 + ENERGY_STEP),
        (0.25 * found, 1.0 - ENERGY_STEP),
        (0.0, 1.0),
        (-found, 1.0),
    ):
        s.scene.qvel[:], s.closures.energy[0] = v, wanted
        keep_energy(s.scene, s.motion, s.closures)
        np.testing.assert_allclose(s.scene.qvel, factor * v, rtol=1e-12)


def test_the_filter_of_an_actuator_is_exact_and_kept_in_its_range() -> None:
    """a⁺ = a + (u − a)(1 − exp(−T/τ)), within what it may be."""
    body = """<body name="t"><joint name="j" axis="0 0 1"/><geom size=".02" mass="1"/></body>"""
    motor = """<actuator><general joint="j" dyntype="filterexact" dynprm="0.02" gainprm="0.1"
        actlimited="true" actrange="-1 0.1"/></actuator>"""
    ready = start(loose(World.from_string(scene(body, more=motor), tool="t")))
    ready.data.ctrl[:] = 2.0
    share = -np.expm1(-STEP / 0.02)
    for tick in range(1, 4):
        advance(ready, 1)
        want = min(2.0 * (1.0 - (1.0 - share) ** tick), 0.1)
        assert ready.data.act[0] == pytest.approx(want, rel=1e-9)
    assert want == 0.1
