"""Kinematic loops through whole ticks (M32, M33), against MuJoCo, NumPy and SciPy."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python as nrt
from numba.core.runtime import rtsys
from scipy.integrate import solve_ivp

from detent import Contact, FourChannel, Session, World
from detent.coupling.linkage import Shaping
from detent.errors import ParameterError, SceneError
from detent.hands import Constant, Hand, Sinusoid
from detent.kernels.jit import JIT_ENABLED
from detent.servo import places
from detent.servo.loop.loop import run_lockstep
from detent.servo.structs import (
    COLLIDING,
    FAULT,
)
from detent.setup.prepared import Prepared
from detent.world.baumgarte import Baumgarte
from lab import (
    LOOSE,
    ROCKER,
    ROCKER_POSE,
    WELDED,
    advance,
    closed_pose,
    closures_of,
    hand_of,
    inertia_of,
    link,
    loose,
    mirror,
    multiplier_system,
    run_stage,
    scene,
    start,
    tangent_space,
    unlimited,
    wander,
)
from waiting import wait_for

SOFT = FourChannel((100, 100, 0.5), (70, 70, 0.375))  # K_pc and B_pc of X24
PUSH = Constant(force=(-0.5, 0.0), torque=-0.0025)  # X24

# --- loops that the library does not have

#: S3 eq. 3 to the letter, and without its terms
LITERAL = Baumgarte(projected=False)
NOTHING = Baumgarte(0.0, 0.0, projected=False)


#: two arms of a base that is free in space, one pinned to a third that turns on a ball
_ARM = '<geom type="capsule" size=".01" fromto="0 0 0 .1 0 0" mass=".4" contype="0"/>'
FLOATING = scene(
    f"""<body name="base"><freejoint/><geom type="box" size=".03 .02 .01" mass="1" contype="0"/>
      <body name="left"><joint axis="0 0 1"/>{_ARM}
        <body name="left-end" pos=".1 0 0"><joint axis="0 0 1"/>{_ARM}<site name="a" pos=".1 0 0"
          euler="10 20 30"/></body></body>
      <body name="right" pos=".02 .05 0"><joint axis="0 0 1"/>{_ARM}</body></body>
    <body name="other" pos=".2 0 .1"><joint type="ball"/>{_ARM}<site name="b" pos="0 0 -.1"
      euler="10 20 30"/></body>""",
    more='<equality><connect name="cut" site1="a" site2="b"/></equality>',
)
_POLYNOMIAL = (0.1, 0.5, 0.3, -0.2, 0.1)
#: two couplings of joints, one of them to nothing
COUPLED = scene(
    link("a", 0.1, link("b", 0.1, link("c", 0.1, link("d", 0.08, at=".1 0 0"), at=".1 0 0"),
         'ref="20"', at=".1 0 0"), 'ref="-10" damping=".002"'),
    more=f"""<equality>
      <joint name="gear" joint1="b" joint2="a" polycoef="{" ".join(map(str, _POLYNOMIAL))}"/>
      <joint name="stop" joint1="d" polycoef="-.3 0 0 0 0"/></equality>""",
)  # fmt: skip

OWN = {
    "rocker": (ROCKER, "coupler"),
    "welded": (WELDED, "ring3"),
    "floating": (FLOATING, "left-end"),
    "coupled": (COUPLED, "c"),
}
LIBRARY = ("four-bar", "four-bar-grounded", "sarrus", "gripper")
ALL = (*LIBRARY, *OWN)


def loop(name: str, tool: str | None = None) -> World:
    """A world with loops, closed at its start."""
    if name in LIBRARY:
        return World.builtin(name)
    xml, held = OWN[name]
    world = World.from_string(xml, tool=tool or held)
    q = ROCKER_POSE if name == "rocker" else world.qpos
    return world.placed(closed_pose(world.model, q))


def moved(world: World, seed: int) -> World:
    """The same world in another pose, its loops closed."""
    rng = np.random.default_rng(seed)
    return world.placed(wander(world.model, world.qpos, rng, 0.3))


def sensed(world: World, qvel: np.ndarray | None = None, **options: object) -> Prepared:
    """A servo that has sensed the world's start."""
    ready = start(Session(world, coupling=LOOSE, **options), qvel=qvel)  # type: ignore[arg-type]
    run_stage(ready.servo, places.SENSE)
    run_stage(ready.servo, places.APPROACH)
    return ready


def along_loops(world: World, seed: int, size: float = 1.0) -> np.ndarray:
    """A random velocity that keeps the loops closed."""
    data = mujoco.MjData(world.model)
    data.qpos[:] = world.qpos
    mujoco.mj_forward(world.model, data)
    Z = tangent_space(world.model, data)
    return size * Z @ np.random.default_rng(seed).standard_normal(Z.shape[1])


# --- inertia at the hand (S3 eq. 9, M33)


@pytest.mark.parametrize("name", ALL)
def test_mobility_is_the_response_of_the_full_system_to_unit_wrenches(name: str) -> None:
    world = loop(name)
    for seed in range(4):
        there = moved(world, seed) if seed else world
        ready = sensed(there)
        data = mirror(ready)
        W, h = closures_of(ready.model, data)
        assert np.abs(h).max() < 1e-12
        _, J = hand_of(there, data)
        want = J @ multiplier_system(inertia_of(ready.model, data), W, J.T)
        got = ready.servo.motion.mobility
        np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(want).max())
        assert np.linalg.eigvalsh(got).min() > -1e-12 * np.abs(want).max()


@pytest.mark.parametrize("name", ALL)
def test_mobility_is_the_limit_of_mujocos_constrained_dynamics(name: str) -> None:
    """MuJoCo's closures give way in proportion to (1 − d)/d and to weights: make those small."""
    world = moved(loop(name), 1)
    ready = sensed(world)
    model = ready.model
    flags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.opt.disableflags |= int(flags)
    model.opt.tolerance, model.opt.iterations = 0.0, 200
    model.eq_solimp[:, :2] = 0.9999
    model.body_invweight0[:] *= 1e-5
    model.dof_invweight0[:] *= 1e-5
    data = mujoco.MjData(model)
    data.qpos[:] = ready.servo.scene.qpos
    mujoco.mj_forward(model, data)
    at_rest = data.qacc.copy()
    point, J = hand_of(world, data)
    columns = []
    for wrench in np.eye(6):
        data.qfrc_applied[:] = 0.0
        mujoco.mj_applyFT(model, data, wrench[:3], wrench[3:], point, world.held, data.qfrc_applied)
        mujoco.mj_forward(model, data)
        columns.append(J @ (data.qacc - at_rest))
    got = ready.servo.motion.mobility
    np.testing.assert_allclose(np.column_stack(columns), got, atol=1e-4 * np.abs(got).max())


def test_a_pin_on_the_ground_is_the_door_that_it_makes() -> None:
    """A free link pinned at its end, held at the other: Λ⁻¹ across it is L²/I about the pin."""
    xml = scene(
        """<body name="bar"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
        <joint axis="0 0 1"/><geom type="capsule" size=".01" fromto="0 0 0 .3 0 0" mass="2"/>
        <site name="end"/></body><site name="pin"/>""",
        more='<equality><connect site1="end" site2="pin"/></equality>',
    )
    world = World.from_string(xml, point=(0.3, 0.0, 0.0))
    ready = sensed(world)
    bar = world.model.body("bar")
    about = float(bar.inertia.max() + 2.0 * 0.15**2)
    want = np.zeros((6, 6))
    want[1, 1], want[1, 5], want[5, 1], want[5, 5] = (
        0.09 / about,
        0.3 / about,
        0.3 / about,
        1 / about,
    )
    np.testing.assert_allclose(ready.servo.motion.mobility, want, atol=1e-12)
    assert advance(ready, 1)["constraints"][0] == 2


# --- closures: W, h and the rate term


def residual(model: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray, time: float) -> np.ndarray:
    """MuJoCo's h after moving with a velocity for a time."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_integratePos(model, data.qpos, qvel, time)
    mujoco.mj_forward(model, data)
    return closures_of(model, data)[1]


def as_mujoco(ready: Prepared, rows: np.ndarray) -> np.ndarray:
    """Rows of Detent's closures as MuJoCo has them: half the angle of a weld, in its own axes."""
    out, cl = rows.copy(), ready.servo.closures
    for i, kind in enumerate(cl.kind):
        if kind == 1:
            turn = np.zeros(9)
            mujoco.mju_quat2Mat(turn, ready.data.xquat[cl.body[i, 1]])
            part = slice(cl.first[i] + 3, cl.first[i + 1])
            out[part] = 0.5 * turn.reshape(3, 3).T @ rows[part]
    return out


@pytest.mark.parametrize("name", ALL)
def test_closures_are_mujocos_and_their_finite_differences(name: str) -> None:
    for seed in (1, 2):
        ready = sensed(moved(loop(name), seed))
        model, cl, size = ready.model, ready.servo.closures, 1e-6
        W, h = closures_of(model, mirror(ready))
        np.testing.assert_allclose(as_mujoco(ready, cl.W), W, atol=1e-12)
        np.testing.assert_allclose(as_mujoco(ready, cl.h), h, atol=1e-12)
        q = ready.servo.scene.qpos
        for j, way in enumerate(np.eye(model.nv)):
            slope = (residual(model, q, way, size) - residual(model, q, way, -size)) / (2 * size)
            np.testing.assert_allclose(as_mujoco(ready, cl.W[:, j]), slope, atol=1e-8)


@pytest.mark.parametrize("name", ALL)
def test_open_closures_are_measured_as_mujoco_does(name: str) -> None:
    """Off the manifold; the rows of a weld are then those of the rate of its rotation vector."""
    world = moved(loop(name), 3)
    ready = sensed(world)
    model, rng = ready.model, np.random.default_rng(0)
    mujoco.mj_integratePos(model, ready.servo.scene.qpos, 1e-4 * rng.standard_normal(model.nv), 1)
    run_stage(ready.servo, places.SENSE)
    W, h = closures_of(model, mirror(ready))
    assert np.abs(h).max() > 1e-6
    np.testing.assert_allclose(as_mujoco(ready, ready.servo.closures.h), h, atol=1e-10)
    np.testing.assert_allclose(as_mujoco(ready, ready.servo.closures.W), W, atol=2e-4)


@pytest.mark.parametrize("name", ALL)
def test_the_rate_term_is_the_second_difference_of_mujocos_residual(name: str) -> None:
    r"""With q̈ = 0, ḧ = Ẇq̇: what closures ask for, without Baumgarte's terms."""
    for seed in (1, 2):
        world = moved(loop(name), seed)
        v, size = along_loops(world, seed), 1e-4
        ready = sensed(world, v, baumgarte=NOTHING)
        q, model = ready.servo.scene.qpos, ready.model
        ahead, here, behind = (residual(model, q, v, t) for t in (size, 0.0, -size))
        want = (ahead - 2 * here + behind) / size**2
        got = -as_mujoco(ready, ready.servo.closures.wanted)
        np.testing.assert_allclose(got, want, atol=1e-5 * max(1.0, np.abs(want).max()))
        assert name in ("gripper", "sarrus") or np.abs(want).max() > 1e-4  # those are linear


def test_baumgartes_terms_are_those_of_the_errata() -> None:
    """Errata E14: W q̈ = −(Ẇq̇ + 2αβ W q̇ + α² h)."""
    world, v = loop("four-bar"), np.array([0.4, -0.3, 0.7, 0.2])
    off = world.placed(world.qpos + np.array([1e-4, 0, -1e-4, 0]))
    plain = sensed(off, v, baumgarte=NOTHING).servo.closures.wanted.copy()
    ready = sensed(off, v, baumgarte=Baumgarte(30.0, 0.7, projected=False))
    W, h = closures_of(ready.model, mirror(ready))
    want = plain - 2 * 30.0 * 0.7 * W @ v - 30.0**2 * h
    np.testing.assert_allclose(ready.servo.closures.wanted, want, atol=1e-12)
    assert np.abs(h).max() > 1e-6 and np.abs(W @ v).max() > 1e-3


@pytest.mark.parametrize("name", ALL)
def test_a_step_is_that_of_the_full_system(name: str) -> None:
    """q̇⁺ = q̇ + T q̈, with MuJoCo's torques, damping implicit, and Ẇq̇ by differences."""
    world = moved(unlimited(loop(name)), 4)
    v, size = along_loops(world, 4), 1e-4
    for joint in np.nonzero(world.model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)[0]:
        v[world.model.jnt_dofadr[joint] + 3 :][:3] = (
            0.0  # bodies that spin have a step of their own
        )
    contact = Contact(stiffness=0.0, damping=0.0, mode="penalty")
    ready = start(Session(world, contact, LOOSE, baumgarte=NOTHING), qvel=v)
    model, data = ready.model, mirror(ready)
    D = inertia_of(model, data) + 1e-3 * np.diag(model.dof_damping)
    W, _ = closures_of(model, data)
    torque = data.qfrc_passive + data.qfrc_actuator - data.qfrc_bias
    rates = sum(f * residual(model, world.qpos, v, t) for f, t in ((1, size), (-2, 0), (1, -size)))
    want = v + 1e-3 * multiplier_system(D, W, torque, -rates / size**2)
    advance(ready, 1)
    np.testing.assert_allclose(ready.servo.scene.qvel, want, atol=1e-8 * np.abs(want).max())


# --- drift


@pytest.mark.parametrize("name", ["four-bar", "four-bar-grounded"])
def test_a_loop_stays_closed_under_the_hand_for_a_minute(name: str) -> None:
    """M32, X24: ‖h‖ < 0.1 mm."""
    world = loop(name)
    ready = start(Session(world, coupling=SOFT, rate=512), PUSH, ring=60 * 512)
    rows = advance(ready, 60 * 512)
    assert np.ptp(rows["tool_position"], axis=0)[:2].min() > 0.02
    assert np.sqrt(3) * rows["closure"].max() < 1e-4
    _, h = closures_of(ready.model, mirror(ready))
    run_stage(ready.servo, places.SENSE)
    assert np.abs(h).max() == pytest.approx(np.abs(ready.servo.closures.h).max(), abs=1e-12)


def test_the_sarrus_linkage_goes_up_and_down_for_a_minute() -> None:
    hand = Sinusoid(force=(0.3, 0.2, 0.15), torque=(0.01, 0.02, 0.0), frequency=0.5)
    run = Session(loop("sarrus")).run(60.0, hand)
    assert np.ptp(run["tool_position"][:, 2]) > 0.05
    assert np.abs(run["tool_position"][:, :2]).max() < 1e-6
    assert np.sqrt(3) * run["closure"].max() < 1e-4
    assert (run["constraints"] == 5).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["sarrus", "four-bar"])
def test_a_loop_that_starts_slightly_open_closes(name: str, seed: int) -> None:
    """Redundant closures agree only on the manifold: off it they must not lock the linkage."""
    world = loop(name)
    off = 1e-4 * np.random.default_rng(seed).standard_normal(world.model.nv)
    run = Session(world.placed(world.qpos + off)).run(2.0, Constant(force=(-0.02, 0.0, -0.05)))
    assert 1e-6 < run["closure"][0] < 1e-4
    assert run["closure"][-1] < (1e-12 if name == "sarrus" else 1e-6)
    assert np.linalg.norm(run["tool_position"][-1] - run["tool_position"][0]) > 1e-3
    assert np.linalg.norm(run["tool_position"][-1] - run["device_position"][-1]) < 2e-3


@pytest.mark.slow
def test_ten_minutes_do_not_tear_a_loop_apart() -> None:
    ready = start(Session(loop("four-bar"), coupling=SOFT, rate=512), PUSH, ring=8192)
    energy, open_by = 0.0, 0.0
    for _ in range(37):
        assert run_lockstep(ready.servo, 8192) == 8192
        rows = ready.servo.ring
        assert np.isfinite(rows["tool_position"]).all()
        energy = max(energy, float(rows["tool_energy"].max()))
        open_by = max(open_by, float(rows["closure"].max()))
    assert ready.servo.clock.counts[FAULT] == 0
    assert np.sqrt(3) * open_by < 1e-4
    assert energy < 0.03  # the hand moves less than 60 mm along 0.5 N


def test_a_stronger_baumgarte_is_bounded_by_the_step() -> None:
    hard = Session(
        loop("four-bar"), coupling=SOFT, rate=512, baumgarte=replace(LITERAL, frequency=1e4)
    )
    run = hard.run(4.0, PUSH)
    assert any("Baumgarte" in note for note in run.meta["notes"])
    assert run.meta["baumgarte"]["frequency"] == 1e4
    usual = Session(loop("four-bar"), coupling=SOFT, rate=512, baumgarte=LITERAL).run(4.0, PUSH)
    assert not any("Baumgarte" in note for note in usual.meta["notes"])
    assert run["closure"].max() < 0.2 * usual["closure"].max()


def test_a_loop_may_drift_if_nothing_takes_it_back() -> None:
    session = Session(loop("four-bar"), coupling=SOFT, rate=512, baumgarte=NOTHING)
    assert session.run(20.0, PUSH)["closure"].max() > 1e-4


@pytest.mark.parametrize("speed", [0.5, 5.0, 30.0])
def test_a_parallelogram_passes_its_change_points(speed: float) -> None:
    """Where all links are in line the closures lose a rank, and the loop could fold."""
    xml = scene(
        link("a", 0.05, link("b", 0.1, link("c", 0.05, '<site name="end" pos=".05 0 0"/>',
             at=".1 0 0"), at=".05 0 0")) + '<site name="pivot" pos=".1 0 0"/>',
        more='<equality><connect site1="end" site2="pivot"/></equality>',
    )  # fmt: skip
    q, v = np.array([1.0, -1.0, 1.0 - np.pi]), speed * np.array([1.0, -1.0, 1.0])
    ready = start(loose(World.from_string(xml, tool="b").placed(q)), qvel=v)
    rows = advance(ready, 15_000)
    assert ready.servo.scene.qpos[0] - 1.0 == pytest.approx(15.0 * speed, rel=1e-6)
    assert rows["closure"].max() < 1e-9
    np.testing.assert_allclose(rows["tool_energy"], rows["tool_energy"][0], rtol=1e-9)


# --- energy, and the trajectory of another integrator


@pytest.mark.parametrize("name", ["three-link", "four-bar", "four-bar-grounded", "rocker"])
def test_free_motion_keeps_the_energy(name: str) -> None:
    """An open chain to the order of its integrator, closed loops to round-off."""
    if name == "three-link":
        world, v = World.builtin(name).placed([0.3, 0.8, -0.5]), np.array([2.0, -1.0, 0.5])
    else:
        world = loop(name)
        v = along_loops(world, 5, 2.0)
    errors = []
    for rate in (500, 1000, 2000, 4000):
        run = Session(world.placed(world.qpos, v), coupling=LOOSE, rate=rate).run(3.0)
        energy = run["tool_energy"]
        errors.append(np.abs(energy / energy[0] - 1.0).max())
    assert np.ptp(run["tool_position"], axis=0)[:2].min() > 0.01
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert (ratios > 1.9).all() if name == "three-link" else max(errors) < 1e-11, errors
    assert errors[-1] < 2e-3


def flow(model: mujoco.MjModel) -> object:
    """The closed mechanism's ODE from MuJoCo's D, W and bias, Ẇ by differences."""
    data = mujoco.MjData(model)

    def rows_at(q: np.ndarray) -> np.ndarray:
        data.qpos[:], data.qvel[:] = q, 0.0
        mujoco.mj_forward(model, data)
        return closures_of(model, data)[0]

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        q, v = np.split(state, 2)
        turning = (rows_at(q + 1e-6 * v) - rows_at(q - 1e-6 * v)) / 2e-6
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        W, _ = closures_of(model, data)
        D = inertia_of(model, data)
        return np.concatenate([v, multiplier_system(D, W, -data.qfrc_bias, -turning @ v)])

    return rate


@pytest.mark.parametrize("name", ["four-bar", "rocker"])
def test_free_motion_is_that_of_an_independent_integrator(name: str) -> None:
    world = loop(name)
    v = along_loops(world, 6, 2.0)
    want = solve_ivp(
        flow(world.model), (0.0, 1.0), np.concatenate([world.qpos, v]), rtol=1e-8, atol=1e-9
    ).y[:, -1]
    errors = []
    for rate in (1000, 4000):
        ready = start(loose(world, rate=rate), qvel=v)
        advance(ready, rate)
        errors.append(np.abs(ready.servo.scene.qpos - want[: world.model.nv]).max())
    assert errors[1] < 0.3 * errors[0]  # first order in the step
    assert errors[1] < 2e-3
    assert np.abs(want[: world.model.nv] - world.qpos).max() > 0.5


# --- collisions


def with_post(world: World, where: np.ndarray, **options: object) -> World:
    """The world with a post of 10 mm there, which does not move."""
    spec = world.spec.copy()
    post = spec.worldbody.add_geom(
        name="post", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.01, 0, 0], pos=where
    )
    post.contype, post.conaffinity = 0, 1
    other = World(spec, tool=world.body_name(world.tool), **options)  # type: ignore[arg-type]
    return other.placed(world.qpos)


def struck(name: str, body: str, e: float, **contact: object) -> tuple[Prepared, np.ndarray]:
    """A loop that moves into a post beside one of its links, after the stage of impulses."""
    world = loop(name)
    v = along_loops(world, 7, 3.0)
    data = mujoco.MjData(world.model)
    data.qpos[:], data.qvel[:] = world.qpos, v
    mujoco.mj_forward(world.model, data)
    geom = next(
        g for g in range(world.model.ngeom)
        if world.model.geom_bodyid[g] == world.model.body(body).id and world.model.geom_contype[g]
    )  # fmt: skip
    middle, radius = data.geom_xpos[geom], world.model.geom_size[geom, 0]
    jac = np.zeros((3, world.model.nv))
    mujoco.mj_jac(world.model, data, jac, None, middle, world.model.body(body).id)
    side = np.cross([0.0, 0.0, 1.0], data.geom_xmat[geom].reshape(3, 3)[:, 2])
    speed = side @ jac @ v
    n = side * np.sign(speed)  # across the capsule, the way it moves
    v *= 0.3 / abs(speed)
    session = Session(
        with_post(world, middle + (0.01 + radius - 1e-6) * n),
        Contact(restitution=e, **contact),  # type: ignore[arg-type]
        LOOSE,
    )
    ready = start(session, qvel=v)
    for stage in (places.SENSE, places.APPROACH, places.REACT):
        run_stage(ready.servo, stage)
    return ready, v


@pytest.mark.parametrize("method", ["complementarity", "equality"])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    ("name", "body"), [("four-bar", "link2"), ("four-bar-grounded", "link4"), ("rocker", "rocker")]
)
def test_a_loop_that_strikes_a_post_obeys_newton(
    name: str, body: str, e: float, method: str
) -> None:
    ready, v = struck(name, body, e, method=method)
    data = mirror(ready)
    assert ready.servo.rows.struck[0] == 1
    W, _ = closures_of(ready.model, data)
    D = inertia_of(ready.model, data)
    contact = data.contact[0]
    jac = np.zeros((3, ready.model.nv))
    moving = int(ready.model.geom_bodyid[contact.geom].max())
    mujoco.mj_jac(ready.model, data, jac, None, contact.pos, moving)
    sign = 1.0 if ready.model.geom_bodyid[contact.geom2] == moving else -1.0
    j = sign * contact.frame[:3] @ jac
    assert j @ v == pytest.approx(-0.3, rel=1e-3)
    answer = multiplier_system(D, W, j)
    want = v - (1 + e) * answer * (j @ v) / (j @ answer)
    got = ready.servo.motion.velocity
    np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(v).max())
    assert np.abs(W @ got).max() < 1e-12 * np.abs(v).max()
    before, after = 0.5 * v @ D @ v, 0.5 * got @ D @ got
    lost = 0.5 * (1 - e**2) * (j @ v) ** 2 / (j @ answer)
    assert after - before == pytest.approx(-lost, abs=1e-9 * before)
    assert ready.servo.rows.impact[0] == pytest.approx(-lost, abs=1e-9 * before)


def test_a_loop_bounces_between_posts_without_gaining() -> None:
    """e = 1: the energy changes by what free motion in between makes of it, no more."""
    world = loop("four-bar")
    v = along_loops(world, 8, 2.0)
    data = mujoco.MjData(world.model)
    data.qpos[:] = world.qpos
    mujoco.mj_forward(world.model, data)
    middle = data.xipos[2]
    world = with_post(world, middle + np.array([0.0, 0.02, 0.0]))
    ready = start(loose(world, Contact(restitution=1.0), rate=4000), qvel=v, ring=20_000)
    rows = advance(ready, 20_000)
    hits = rows["collisions"] > 0
    assert hits.sum() >= 3
    np.testing.assert_allclose(rows["impact_energy"][hits], 0.0, atol=1e-9 * rows["tool_energy"][0])
    np.testing.assert_allclose(rows["tool_energy"], rows["tool_energy"][0], rtol=2e-2)
    assert np.sqrt(3) * rows["closure"].max() < 1e-4


def ball_world(gap: float) -> World:
    """four-bar-grounded, and a loose ball of 0.2 kg beside link 4, which is in the other tree."""
    world = World.builtin("four-bar-grounded")
    data = mujoco.MjData(world.model)
    data.qpos[:] = world.qpos
    mujoco.mj_forward(world.model, data)
    geom = world.model.geom("link4").id
    across = np.cross([0.0, 0.0, 1.0], data.geom_xmat[geom].reshape(3, 3)[:, 2])
    spec = world.spec.copy()
    ball = spec.worldbody.add_body(
        name="ball", pos=data.geom_xpos[geom] + (0.01 + 0.004 + gap) * across
    )
    ball.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=across)
    made = ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.01, 0, 0], mass=0.2)
    made.contype, made.conaffinity = 0, 1
    spec.delete(spec.keys[0])  # it has one joint too few
    return World(spec, tool="link2").placed([*world.qpos, 0.0])


def test_a_loop_over_two_trees_is_one_contact_group() -> None:
    """The ball hits link 4; the hand is at link 2, in another tree, and feels it."""
    world = ball_world(-1e-6)
    ready = start(loose(world), qvel=[0, 0, 0, 0, -0.3])
    row = advance(ready, 1)[0]
    assert row["state"] == COLLIDING
    assert row["contacts"] == 1
    assert row["collisions"] == 1
    ready = start(loose(world), qvel=[0, 0, 0, 0, -0.3])
    data = mirror(ready)
    W, _ = closures_of(ready.model, data)
    D = inertia_of(ready.model, data)
    contact = data.contact[0]
    j = np.zeros(5)
    for geom, sign in ((contact.geom1, -1.0), (contact.geom2, 1.0)):
        jac = np.zeros((3, 5))
        mujoco.mj_jac(ready.model, data, jac, None, contact.pos, int(ready.model.geom_bodyid[geom]))
        j += sign * contact.frame[:3] @ jac
    answer = multiplier_system(D, W, j)
    v = np.array([0, 0, 0, 0, -0.3])
    impulse = -(j @ v) / (j @ answer)
    for stage in (places.SENSE, places.APPROACH, places.REACT):
        run_stage(ready.servo, stage)
    np.testing.assert_allclose(ready.servo.motion.velocity, v + impulse * answer, atol=1e-12)
    _, J = hand_of(world, data)
    felt = row["environment_wrench"] * 1e-3  # the link moves as if that wrench had acted on it
    np.testing.assert_allclose(
        J @ multiplier_system(D, W, J.T @ felt), J @ answer * impulse, atol=1e-9
    )
    assert np.linalg.norm(felt) > 1e-3


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_rigid_loop_does_not_penetrate_and_stays_closed(e: float) -> None:
    world = loop("four-bar")
    data = mujoco.MjData(world.model)
    data.qpos[:] = world.qpos
    mujoco.mj_forward(world.model, data)
    world = with_post(world, data.xipos[2] - np.array([0.01, 0.01, 0.0]))
    session = Session(world, Contact(mode="rigid", restitution=e), SOFT, rate=512)
    run = session.run(8.0, PUSH)
    touched = run["contacts"] > 0
    assert touched.sum() > 100
    assert run["depth"].max() < 1e-6  # the normal turns within a step: second order of it
    assert np.sqrt(3) * run["closure"].max() < 1e-4
    assert np.isfinite(run["environment_wrench"]).all()
    assert np.abs(run["environment_wrench"]).max() < 1e3


# --- joint limits


@pytest.mark.parametrize("mode", ["impulse", "penalty", "rigid"])
def test_a_limit_stops_a_loop_under_load(mode: str) -> None:
    """The limit of one joint holds the platform; a penalty yields by τ/K = τ m⁻¹/ω².

    m is that of the open mechanism: near a singular pose closures come and go.
    """
    world = loop("sarrus")
    force = 0.5
    ready = start(loose(world, Contact(mode=mode)), Constant(force=(0.0, 0.0, force)))
    rows = advance(ready, 4000)
    top = world.model.joint("a-lower").range[1]
    data = mirror(ready)
    D = inertia_of(ready.model, data)
    _, J = hand_of(world, data)
    way = tangent_space(ready.model, data)[:, 0]
    j = np.zeros(ready.model.nv)
    j[ready.model.joint("a-lower").dofadr[0]] = -1.0
    mobility = j @ np.linalg.solve(D, j)
    torque = -force * (J[2] @ way) / (j @ way)  # virtual work
    yielding = 0.0 if mode == "rigid" else torque * mobility / 100.0**2
    assert ready.servo.scene.qpos[0] == pytest.approx(top + yielding, abs=1e-8)
    assert np.abs(rows["tool_twist"][-1]).max() < 1e-8
    assert rows["environment_wrench"][-1, 2] == pytest.approx(-force, abs=1e-6)
    assert rows["closure"].max() < 1e-12
    if mode == "rigid":
        assert rows["tool_position"][:, 2].max() < rows["tool_position"][-1, 2] + 1e-9


@pytest.mark.parametrize("mode", ["impulse", "penalty", "rigid"])
def test_a_limit_that_a_loop_keeps_reached_does_nothing(mode: str) -> None:
    """Its joint cannot move at all, so no gain belongs to it."""
    xml = scene(
        link("a", 0.2, link("b", 0.2, at=".2 0 0"), 'limited="true" range="-10 -1"'),
        more='<equality><joint joint1="a" polycoef="0 0 0 0 0"/></equality>',
    )
    world = World.from_string(xml, tool="b")
    run = Session(world, Contact(mode=mode)).run(1.0, Constant(force=(0.0, 0.5)))
    free = World.from_string(xml.replace('limited="true"', 'limited="false"'), tool="b")
    want = Session(free, Contact(mode=mode)).run(1.0, Constant(force=(0.0, 0.5)))
    np.testing.assert_allclose(run["tool_position"], want["tool_position"], atol=1e-12)
    assert not run["environment_wrench"].any()
    assert run["closure"].max() < 1e-12


@pytest.mark.parametrize("off", [0.0, 1e-4])
@pytest.mark.parametrize("mode", ["impulse", "penalty", "rigid"])
def test_a_wall_in_a_direction_that_the_loop_forbids_does_not_disturb(
    mode: str, off: float
) -> None:
    """The platform only moves up: a wall beside it, a little too near, is the loop's business."""
    spec = World.builtin("sarrus").spec.copy()
    for joint in spec.joints:
        joint.limited = 0
    wall = spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.01, 0.1, 0.2], pos=[0.029 + 0.01 - 1e-5, 0, 0.08]
    )
    wall.contype, wall.conaffinity = 0, 1
    world = World(spec)
    kick = off * np.random.default_rng(1).standard_normal(5)
    session = Session(world.placed(world.qpos + kick), Contact(mode=mode))
    run = session.run(1.0, Sinusoid(force=(1.0, 0.0, 0.03), frequency=1.0))
    assert run["contacts"].max() > 0
    assert run["closure"].max() < 1e-4
    assert np.ptp(run["tool_position"][:, 2]) == pytest.approx(0.02, abs=1e-4)
    assert np.abs(run["environment_wrench"]).max() < 1e-6
    assert np.abs(run["tool_twist"]).max() < 0.1


# --- determinism, live, memory


HAND = Sinusoid(force=(1.0, 0.7), torque=0.004, frequency=1.3, bias_force=(-0.3, 0.0))


def four_bar(**options: object) -> Session:
    return Session(loop("four-bar"), coupling=SOFT, rate=1000, **options)  # type: ignore[arg-type]


def test_equal_runs_have_equal_hashes() -> None:
    hashes = {four_bar().run(1.0, HAND).state_hash() for _ in range(3)}
    assert len(hashes) == 1
    assert (
        four_bar(baumgarte=replace(LITERAL, frequency=10.0)).run(1.0, HAND).state_hash()
        not in hashes
    )


@pytest.mark.live
def test_a_live_loop_is_lockstep_tick_for_tick() -> None:
    session = four_bar()
    with session.live(rate=1000, hand=HAND) as live:
        assert wait_for(lambda: live.status().ticks >= 500)
    rows = live.recent()
    assert len(rows) == live.status().ticks >= 500
    want = session.run(len(rows) / 1000, HAND).rows
    for column in want.dtype.names:
        if column not in ("lateness_ns", "compute_ns"):
            np.testing.assert_array_equal(rows[column], want[column], err_msg=column)


@numba.njit
def allocate() -> np.ndarray:
    """What a tick must not do."""
    return np.zeros(3)


SHAPED = FourChannel((100, 100, 0.5), (70, 70, 0.375), shaping=Shaping(damping=0.5))


@pytest.mark.skipif(not JIT_ENABLED, reason="plain Python allocates")
@pytest.mark.parametrize(
    ("name", "mode", "coupling", "hand"),
    [
        ("four-bar", "impulse", SOFT, HAND),
        ("four-bar", "rigid", SHAPED, HAND),
        ("coupled", "impulse", FourChannel(), HAND),
        ("welded", "impulse", FourChannel(), HAND),
        ("gripper", "rigid", FourChannel(), None),
        ("sarrus", "impulse", FourChannel(shaping=Shaping()), Sinusoid((0, 0, 0.2), frequency=1.0)),
    ],
)
def test_ticks_of_loops_allocate_nothing(
    name: str, mode: str, coupling: FourChannel, hand: Hand | None
) -> None:
    before = nrt.memsys_stats_enabled()
    nrt.memsys_enable_stats()
    try:
        ready = start(Session(loop(name), Contact(mode=mode), coupling), hand, ring=256)
        run_lockstep(ready.servo, 200)
        allocate()
        first = rtsys.get_allocation_stats()
        assert run_lockstep(ready.servo, 10_000) == 10_000
        assert rtsys.get_allocation_stats() == first
        allocate()
        assert rtsys.get_allocation_stats().alloc == first.alloc + 1
    finally:
        if not before:
            nrt.memsys_disable_stats()
    assert np.isfinite(ready.servo.ring["tool_position"]).all()


# --- bad input


def test_a_loop_that_is_open_at_the_start_is_refused() -> None:
    world = World.builtin("four-bar")
    off = world.placed(world.qpos + np.array([0.01, 0.0, 0.0, 0.0]))
    data = mujoco.MjData(world.model)
    data.qpos[:] = off.qpos
    mujoco.mj_forward(world.model, data)
    gap = float(np.linalg.norm(closures_of(world.model, data)[1]))
    with pytest.raises(SceneError, match=rf"the loop 'cut' is open by {gap:.3g} m.*0\.0001"):
        Session(off).run(0.01)


def test_a_coupling_of_joints_that_is_open_is_refused() -> None:
    world = World.from_string(COUPLED, tool="c")  # at qpos0 the polynomial is not met
    with pytest.raises(SceneError, match=r"the loop 'gear' is open by 0 m and 0\.1 rad"):
        Session(world).run(0.01)


def test_a_tendon_that_is_longer_than_its_equality_says_is_refused() -> None:
    xml = scene(
        """<site name="s0" pos="0 0 .3"/>
        <body name="a"><joint type="slide" axis="1 0 0"/><geom size=".02"/>
          <site name="s1"/></body>""",
        more="""<tendon><spatial name="t"><site site="s0"/><site site="s1"/></spatial></tendon>
        <equality><tendon name="string" tendon1="t"/></equality>""",
    )
    with pytest.raises(SceneError, match=r"the loop 'string' is open by 0\.0162 m"):
        Session(World.from_string(xml).placed([0.1])).run(0.01)


@pytest.mark.parametrize("how", ["inactive", "disabled"])
def test_an_equality_that_is_not_active_closes_nothing(how: str) -> None:
    xml = ROCKER.replace('<connect name="cut"', '<connect name="cut" active="false"')
    if how == "disabled":
        xml = ROCKER.replace(
            "<worldbody>", '<option><flag equality="disable"/></option><worldbody>'
        )
    ready = sensed(World.from_string(xml, tool="rocker"))
    assert len(ready.servo.closures.kind) == 0
    assert ready.servo.motion.inertia.closed[0] == 0


@pytest.mark.parametrize(("field", "value"), [("frequency", -1.0), ("ratio", -0.1)])
@pytest.mark.parametrize("bad", [None, np.nan, np.inf, "fast"])
def test_bad_numbers_for_baumgarte_are_refused(field: str, value: float, bad: object) -> None:
    given = value if bad is None else bad
    with pytest.raises(ParameterError, match=f"Baumgarte {field}"):
        Baumgarte(**{field: given})  # type: ignore[arg-type]


LOCKED = """<body name="base"><joint name="turn" type="hinge" axis="0 0 1" damping="1"/>
  <geom type="capsule" fromto="0 0 0 0 0 .1" size=".03" mass="5"/>
  <geom type="box" size=".02 .03 .02" pos=".02 0 .05" mass=".3"/>
  <body name="upper" pos="0 0 .1"><joint name="lift" type="hinge" axis="0 1 0" damping="1"/>
    <geom type="capsule" fromto="0 0 0 {lean} 0 .4" size=".03" mass="4"/>
    <body pos="{lean} 0 .4"><joint name="bend" type="hinge" axis="0 1 0" damping="1"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03" mass="3"/>
      <body name="tip" pos=".4 0 0"><joint name="roll" type="hinge" axis="1 .02 0" damping=".5"/>
        <geom size=".04" mass="1"/></body></body></body></body>"""
WELD = '<equality><connect body1="tip" anchor="0 .002 0"/></equality>'


@pytest.mark.parametrize("lean", [0.0, 0.01])
def test_a_link_that_loops_all_but_lock_asks_for_no_meganewtons(lean: float) -> None:
    """Its rank went from 0 to 1 at a mobility of 1e-12, and a few N·m became 8 MN at the hand."""
    world = World.from_string(
        scene(LOCKED.format(lean=lean), 'gravity="0 0 -9.81"', more=WELD), tool="base"
    )
    trace = Session(world).run(1.0, Constant((20.0, 5.0, 0.0)))
    assert np.abs(trace["raw_wrench"][:, :3]).max() < 500.0
    assert np.abs(trace["tool_twist"][:, :3]).max() < 3.0
