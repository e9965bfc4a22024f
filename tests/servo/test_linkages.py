"""Linkages through whole ticks (M18-M20), against MuJoCo's Python API and closed forms."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from detent import Baumgarte, Contact, FourChannel, Session, World
from detent.coupling.linkage import Shaping, Topology
from detent.devices import IDEAL, Inertial
from detent.errors import ParameterError, SceneError, UnknownNameError
from detent.hands import Constant, Impedance, Playback, Sinusoid
from detent.servo import places
from detent.servo.structs import COLLIDING
from detent.setup.prepared import Prepared
from lab import (
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
    null_space,
    put_device,
    run_stage,
    scene,
    start,
    tangent_space,
    wander,
)

UNIT = replace(IDEAL, mass=1.0, rotational_inertia=1e-3)


def at(world: World) -> mujoco.MjData:
    """MuJoCo's own view of a world's start."""
    data = mujoco.MjData(world.model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = world.qpos, world.qvel, world.ctrl
    mujoco.mj_forward(world.model, data)
    return data


# --- collisions of a linkage: X7


@pytest.mark.parametrize(("height", "loss"), [(0.7, 7.0 / 24.0), (1.5, 7.0 / 3.0)])
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_the_arm_of_the_thesis_loses_what_the_catalogue_says(
    height: float, loss: float, e: float
) -> None:
    """TH Fig 4.12: 12.5 % and 100 % of 7/3 J at e = 0, and (1 − e²) of that."""
    spec = World.builtin("two-link").spec.copy()
    spec.geom("post").pos = [-0.06, height, 0.0]
    world = World(spec).placed([np.pi / 2 + 1e-11, 0.0])
    ready = start(loose(world, Contact(restitution=e)), qvel=[1.0, 1.0])
    row = advance(ready, 1)[0]
    assert row["state"] == COLLIDING
    assert row["tool_energy"] == pytest.approx(7.0 / 3.0, abs=1e-9)
    assert row["impact_energy"] == pytest.approx(-(1 - e**2) * loss, abs=1e-9)


# --- mapping to the hand (M18)

_HINGES = ("0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "1 0 0")
_ARM = ""
for _i, _axis in reversed(list(enumerate(_HINGES))):
    _ARM = f"""<body name="arm{_i}" pos="{0 if _i == 0 else 0.12} 0 0">
      <joint axis="{_axis}" stiffness="{1 + _i}" springref="{20 * (_i - 2)}"/>
      <geom type="capsule" size=".015" fromto="0 0 0 .12 0 0" mass="{1 / (1 + _i)}"/>
      {_ARM}</body>"""
_ARM_IN_PLANE = link(
    "l1", 0.2,
    link("l2", 0.2, link("l3", 0.1, "", 'stiffness="2" springref="30"', ".2 0 0"),
         'stiffness="1" springref="-40"', ".2 0 0"),
    'stiffness="3"',
)  # fmt: skip
#: Jacobians that are invertible: scene, pose, held link
INVERTIBLE = {
    "spatial": (scene(_ARM), [0.3, -0.5, 0.9, 0.4, 0.8, -0.3], "arm5"),
    "planar": (scene(_ARM_IN_PLANE), [0.4, 0.9, -0.6], "l3"),
}


@pytest.mark.parametrize("name", INVERTIBLE)
def test_an_invertible_jacobian_is_inverted(name: str) -> None:
    """TH 5.2: F_env = J⁻ᵀ T, here T of springs."""
    xml, pose, held = INVERTIBLE[name]
    world = World.from_string(xml, tool=held).placed(pose)
    ready = start(loose(world))
    row, data = advance(ready, 1)[0], at(world)
    axes = ready.servo.device.mask > 0.0
    J = hand_of(world, data)[1][axes]
    assert J.shape == (len(pose), len(pose))
    want = np.linalg.solve(J.T, data.qfrc_passive)
    np.testing.assert_allclose(row["environment_wrench"][axes], want, rtol=1e-9)
    assert not row["environment_wrench"][~axes].any()
    assert row["constraints"] == 0


@pytest.mark.parametrize("name", INVERTIBLE)
def test_a_wrench_at_the_held_link_comes_back_as_that_wrench(name: str) -> None:
    """A contact pushes with K·depth at its point: the hand feels f and r × f, nothing else."""
    xml, pose, held = INVERTIBLE[name]
    spec = World.from_string(xml, tool=held).spec.copy()
    body = spec.body(held)
    data = at(World.from_string(xml, tool=held).placed(pose))
    side = data.body(held).xpos + data.body(held).xmat.reshape(3, 3) @ [0.08, 0.018, 0.0]
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0], pos=side)
    for geom in spec.geoms:
        geom.conaffinity = int(geom.parent.name == "world")
        geom.contype = int(geom.parent.name == body.name)
    for joint in spec.joints:
        joint.stiffness = np.zeros_like(joint.stiffness)
    world = World(spec, tool=held).placed(pose)
    row = advance(start(loose(world, Contact(1000.0, 0.0, mode="penalty"))), 1)[0]
    data = at(world)
    point, _ = hand_of(world, data)
    want = np.zeros(6)
    for contact in data.contact:
        away = 1.0 if world.model.geom_bodyid[contact.geom2] == world.held else -1.0
        f = -1000.0 * contact.dist * away * contact.frame[:3]
        want += np.concatenate([f, np.cross(contact.pos - point, f)])
    assert np.linalg.norm(want) > 1.0
    np.testing.assert_allclose(row["environment_wrench"], want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("angle", np.radians([10.0, 45.0, 80.0]))
def test_a_door_maps_its_torque_to_force_times_lever(angle: float) -> None:
    spec = World.builtin("door").spec.copy()
    hinge = spec.joint("hinge")
    hinge.stiffness, hinge.springref = np.array([2.0, 0, 0])[: np.size(hinge.stiffness)], 0.0
    world = World(spec).placed([angle, 0.2])
    ready = start(loose(world))
    row = advance(ready, 1)[0]
    x, y, _ = row["tool_position"]  # the hinge is at the origin
    tangent = np.array([-y, x]) / np.hypot(x, y)
    want = -2.0 * angle / np.hypot(x, y) * tangent
    np.testing.assert_allclose(row["environment_wrench"][:2], want, rtol=1e-9)
    assert np.abs(row["environment_wrench"][2:]).max() < 1e-12
    assert row["constraints"] == 1


UNBALANCED = scene(
    """<body name="crank"><joint axis="0 1 0"/>
      <inertial pos="0 0 -.03" mass="2" diaginertia=".002 .002 .002"/>
      <body name="handle" pos="0 0 -.08"><joint axis="0 1 0"/>
        <inertial pos="0 0 0" mass=".05" diaginertia="5e-5 5e-5 5e-5"/></body></body>""",
    'gravity="0 0 -9.81"',
)


@pytest.mark.parametrize("angle", [0.3, 1.2, 2.5, -1.0])
def test_the_hand_at_a_crank_feels_m_g_r_sin_over_the_lever(angle: float) -> None:
    world = World.from_string(UNBALANCED, tool="crank", held="handle").placed([angle, 0.0])
    row = advance(start(loose(world)), 1)[0]
    x, _, z = row["tool_position"]
    tangent = np.array([z, 0.0, -x]) / 0.08  # where a positive turn takes the handle
    felt = row["environment_wrench"][:3]
    weight = 2.0 * 0.03 + 0.05 * 0.08  # [kg·m]
    assert felt @ tangent == pytest.approx(-weight * 9.81 * np.sin(angle) / 0.08, rel=1e-9)
    np.testing.assert_allclose(felt - (felt @ tangent) * tangent, 0.0, atol=1e-9)
    assert np.abs(row["environment_wrench"][3:]).max() < 1e-9
    assert row["constraints"] == 4


def test_without_gravity_a_crank_and_its_hand_feel_no_weight() -> None:
    world = World.from_string(UNBALANCED, tool="crank", held="handle", gravity=False)
    run = Session(world.placed([1.0, 0.0])).run(0.5)
    assert np.abs(run["environment_wrench"]).max() < 1e-12
    assert np.ptp(run["tool_position"], axis=0).max() < 1e-12


def test_without_gravity_a_loop_over_two_trees_weighs_nothing() -> None:
    spec = World.builtin("four-bar-grounded").spec.copy()
    spec.option.gravity = [0.0, -9.81, 0.0]
    run = Session(World(spec, tool="link2", gravity=False)).run(0.5)
    assert np.abs(run["environment_wrench"]).max() < 1e-10
    heavy = Session(World(spec, tool="link2")).run(0.01)
    assert np.abs(heavy["environment_wrench"][0]).max() > 1.0


def test_the_weight_of_a_loop_is_felt_as_virtual_work_says() -> None:
    """J_hᵀF balances T on every motion that the loop allows."""
    spec = World.builtin("four-bar").spec.copy()
    spec.option.gravity = [1.0, -9.81, 0.0]
    world = World(spec)
    row, data = advance(start(loose(world)), 1)[0], at(world)
    Z = tangent_space(world.model, data)
    _, J = hand_of(world, data)
    want = -Z.T @ data.qfrc_bias  # at rest: the weight
    np.testing.assert_allclose(Z.T @ J.T @ row["environment_wrench"], want, atol=1e-10)
    assert np.abs(want).max() > 0.01


# --- how many constraints there are, and the device at a linkage


LINK = '<geom type="capsule" fromto="0 0 0 .2 0 0" size=".01"/>'
COUNTS = {
    "a free body": (scene('<body name="t"><freejoint/><geom size=".05"/></body>'), "t", 0),
    "a peg in the plane": (
        scene(
            """<body name="t"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
            <joint axis="0 0 1"/><geom type="box" size=".02 .01 .01"/></body>"""
        ),
        "t",
        0,
    ),
    "a door leaf": (scene(f'<body name="t"><joint axis="0 0 1"/>{LINK}</body>'), "t", 2),
    "a drawer": (
        scene('<body name="t"><joint type="slide" axis="0 1 0"/><geom size=".05"/></body>'), "t", 2,
    ),
    "a slanted drawer": (
        scene('<body name="t"><joint type="slide" axis="1 2 3"/><geom size=".05"/></body>'), "t", 5,
    ),
    "a joystick": (scene(f'<body name="t"><joint type="ball"/>{LINK}</body>'), "t", 3),
    "a slanted hinge": (scene(f'<body name="t"><joint axis="1 2 3"/>{LINK}</body>'), "t", 5),
}  # fmt: skip
BUILT_IN = {
    ("door", "handle"): 1,
    ("crank", "handle"): 4,
    ("laparoscope", "instrument"): 2,
    ("sarrus", "platform"): 5,
    ("three-link", "link1"): 2,
    ("three-link", "link2"): 1,
    ("three-link", "link3"): 0,
    ("four-bar", "link1"): 2,
    ("four-bar", "link2"): 1,
    ("four-bar", "link4"): 2,
    ("gripper", "palm"): 0,
    ("arm-7", "link7"): 0,
}


@pytest.mark.parametrize("name", COUNTS)
def test_constraints_are_counted(name: str) -> None:
    xml, tool, count = COUNTS[name]
    ready = start(Session(World.from_string(xml, tool=tool)))
    assert (advance(ready, 20)["constraints"] == count).all()


@pytest.mark.parametrize(("name", "held"), BUILT_IN)
def test_constraints_of_the_library_are_those_of_mujocos_jacobian(name: str, held: str) -> None:
    world = World.builtin(name, tool=held)
    q = world.qpos + 0.0
    if name == "three-link":
        q = np.array([0.3, 0.8, -0.5])
    elif name == "laparoscope":
        q = np.array([0.2, -0.3, 0.03, 0.4])
    elif name == "arm-7":
        q = q + 0.3 * np.random.default_rng(1).standard_normal(7)
    world = world.placed(q)
    ready = start(Session(world))
    data = at(world)
    _, J = hand_of(world, data)
    moves = (J @ tangent_space(world.model, data))[ready.servo.device.mask > 0.0]
    count = len(moves) - np.linalg.matrix_rank(moves, 1e-9 * np.abs(moves).max())
    assert count == BUILT_IN[name, held]
    assert advance(ready, 1)["constraints"][0] == count


def alone(world: World, data: mujoco.MjData) -> np.ndarray:
    """The inertia of the held link at the hand, from the twist of its centre of mass."""
    model, body = world.model, world.held
    to_centre = np.eye(6)
    arm = data.xipos[body] - hand_of(world, data)[0]
    to_centre[:3, 3:] = np.cross(np.eye(3), arm)  # v + ω × arm
    to_centre[3:, 3:] = data.ximat[body].reshape(3, 3).T
    weights = [*[model.body_mass[body]] * 3, *model.body_inertia[body]]
    return to_centre.T * weights @ to_centre


@pytest.mark.parametrize(("name", "held"), BUILT_IN)
def test_the_device_has_the_linkages_inertia_where_it_moves_and_a_sane_one_elsewhere(
    name: str, held: str
) -> None:
    """Round-off must not become an inertia: a platform that cannot turn has no 1e12 kg·m²."""
    world = World.builtin(name, tool=held)
    ready = start(Session(world, device=Inertial(exact=True)))
    data, axes = at(world), ready.servo.device.mask > 0.0
    W, _ = closures_of(world.model, data)
    J = hand_of(world, data)[1][axes]
    mobility = J @ multiplier_system(inertia_of(world.model, data), W, J.T)
    mass = ready.servo.device.mass[np.ix_(axes, axes)]
    L = np.linalg.cholesky(alone(world, data)[np.ix_(axes, axes)])
    heavy = np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, mass).T))
    assert heavy.min() > 1.0 - 1e-9  # never lighter than the link alone
    assert heavy.max() < 101.0 * heavy.min()
    values, vectors = np.linalg.eigh(L.T @ mobility @ L)
    free = vectors[:, values > 0.011 * values.max()]
    way = np.linalg.solve(L, mass @ mobility @ L @ free)  # Λ Λ⁻¹ = 1 on what is free
    np.testing.assert_allclose(way, free, atol=1e-8)


@pytest.mark.parametrize("resolution", [0.0, 2e-4])
@pytest.mark.parametrize("speed", [0.05, 0.5, 3.0])
def test_a_passage_through_a_singularity_changes_the_count_twice(
    speed: float, resolution: float
) -> None:
    """Also while the position that is measured jumps by 0.2 mm."""
    world = World.builtin("three-link").placed([0.3, 0.15, 0.1])
    device = Inertial(mass=1.0, rotational_inertia=0.005, resolution=resolution)
    coupling = FourChannel(topology=Topology(200.0, 50.0, ease=0.0))
    session = Session(world, coupling=coupling, device=device, rate=1000)
    ready = start(session, qvel=[0.0, -speed, 0.0], ring=8192)
    ready.servo.port.state.true_twist[:] = ready.servo.device.mask * (
        hand_of(world, at(world))[1] @ [0, -speed, 0]
    )
    rows = advance(ready, min(8000, int(600 / speed)))
    bend = ready.servo.scene.qpos[1]
    assert bend < -0.05
    counts = rows["constraints"]
    assert counts[0] == 0 and counts[-1] == 0 and counts.max() == 1
    assert np.abs(np.diff(counts)).sum() == 2


# --- the penalty on topological constraints, and its reaction (M20)


class Held:
    """A linkage and a device beside it: geometry and energy from MuJoCo's Python API alone."""

    def __init__(self, world: World, ready: Prepared) -> None:
        self.world, self.ready, device = world, ready, ready.servo.device
        self.axes = np.nonzero(device.mask)[0]
        self.M = device.mass[np.ix_(self.axes, self.axes)]
        self.k = float(ready.servo.parameters["topology_k"][0])
        self.spring = ready.servo.parameters["coupling_k"][0][self.axes]

    def normals(self, data: mujoco.MjData) -> np.ndarray:
        """N: the wrenches that joints and closures balance."""
        _, J = hand_of(self.world, data)
        return null_space((J @ tangent_space(self.world.model, data))[self.axes].T)

    def apart(self, data: mujoco.MjData) -> np.ndarray:
        """Δx = tool − device."""
        place = self.ready.servo.port.state.true_pose
        point, _ = hand_of(self.world, data)
        tool = Rotation.from_quat(data.xquat[self.world.held], scalar_first=True)
        other = Rotation.from_quat(place[3:], scalar_first=True)
        turn = (tool * other.inv()).as_rotvec()
        return np.concatenate([point - place[:3], turn])[self.axes]

    def wrench(self, data: mujoco.MjData) -> np.ndarray:
        """u of errata B2 on the device, without damping."""
        N = self.normals(data)
        inner = N.T @ np.linalg.solve(self.M, N)
        return self.k * N @ np.linalg.solve(inner, N.T @ self.apart(data))

    def potential(self, data: mujoco.MjData) -> float:
        """½ k_tc of the part of Δx that the linkage cannot follow."""
        return float(0.5 * self.apart(data) @ self.wrench(data))

    def energy(self) -> tuple[float, float]:
        """All of it, and what is in the springs."""
        data, mass = mirror(self.ready), self.ready.servo.device.mass
        twist = self.ready.servo.port.state.true_twist
        gap = self.apart(data)
        springs = self.potential(data) + 0.5 * float(self.spring @ gap**2)
        D = inertia_of(self.world.model, data)
        kinetic = 0.5 * data.qvel @ D @ data.qvel + 0.5 * twist @ mass @ twist
        return float(kinetic) + springs, springs


def topologies(**options: Any) -> FourChannel:
    """No damping anywhere."""
    k = options.pop("stiffness", 0.0)
    return FourChannel(k, 0.0, topology=Topology(200.0, 0.0, ease=0.0, **options))


#: two hinges of which one follows the other, and five whose end is welded to the ground
GEARED = scene(
    link("a", 0.1, link("b", 0.1, at=".1 0 0")),
    more='<equality><joint joint1="b" joint2="a" polycoef="0 .5 .8 -.4 .3"/></equality>',
)
_CHAIN = ""
for _name, _turn in zip("edcba", (60, 40, 70, 50, 0), strict=True):
    _CHAIN = f"""<body name="{_name}" pos="{0 if _name == "a" else 0.06} 0 0" euler="0 0 {_turn}">
      <joint axis="0 0 1"/><geom type="capsule" size=".004" fromto="0 0 0 .06 0 0" mass=".5"
        contype="0" conaffinity="0"/>{_CHAIN}</body>"""
CLAMPED = scene(_CHAIN, more='<equality><weld body1="e"/></equality>')


def closed(xml: str, tool: str, pose: np.ndarray) -> World:
    """A loop of our own, closed near a pose."""
    world = World.from_string(xml, tool=tool)
    return world.placed(closed_pose(world.model, pose))


def at_hand(name: str) -> World:
    """A linkage in a pose that is not special, without friction, limits or weight."""
    if name.startswith("rocker-"):
        return closed(ROCKER, name.removeprefix("rocker-"), ROCKER_POSE)
    if name == "geared":
        return closed(GEARED, "b", np.array([0.7, 0.6]))
    if name == "ring":
        world = World.from_string(WELDED, tool="ring4")
        rng = np.random.default_rng(2)
        return world.placed(wander(world.model, world.qpos, rng, 1.0))
    if name == "clamped":
        return closed(CLAMPED, "d", np.array([0.2, -0.1, 0.1, 0.0, 0.0]))
    poses: dict[str, list[float]] = {
        "three-link": [0.3, 0.8, -0.5], "laparoscope": [0.3, 0.2, 0.02, 0.1], "crank": [0.4, 0.2],
    }  # fmt: skip
    base, _, held = name.partition(":")
    if base == "joystick":
        world = World.from_string(COUNTS["a joystick"][0], tool="t")
        return world.placed(Rotation.from_rotvec([0.3, -0.2, 0.4]).as_quat(scalar_first=True))
    world = World.builtin(base, **({"tool": held} if held else {}))
    spec = world.spec.copy()
    spec.option.gravity = np.zeros(3)
    for joint in spec.joints:
        joint.limited, joint.damping = 0, np.zeros_like(joint.damping)
    other = World(spec, tool=world.body_name(world.held), point=world.point)
    return other.placed(poses.get(base, world.qpos))


def beside(
    world: World, seed: int, tangential: float, normal: float
) -> tuple[Held, mujoco.MjData, np.ndarray]:
    """A device ahead of a linkage by joint displacements y, and off its way; y."""
    rng = np.random.default_rng(seed)
    ready = start(Session(world, coupling=topologies(), device=UNIT))
    held, data = Held(world, ready), mirror(ready)
    point, J = hand_of(world, data)
    W, _ = closures_of(world.model, data)
    push = np.zeros(6)
    push[held.axes] = rng.standard_normal(len(held.axes)) / np.sqrt(np.diag(np.linalg.inv(held.M)))
    y = multiplier_system(inertia_of(world.model, data), W, J.T @ push)
    y *= tangential / np.abs(J @ y).max()
    gap = np.zeros(6)
    gap[held.axes] = (J @ y)[held.axes]
    N = held.normals(data)
    across = np.linalg.solve(held.M, N @ rng.standard_normal(N.shape[1]))
    gap[held.axes] += normal * across / np.abs(across).max()
    tool = Rotation.from_quat(data.xquat[world.held], scalar_first=True)
    turn = (Rotation.from_rotvec(gap[3:]).inv() * tool).as_quat(scalar_first=True)
    put_device(ready, np.concatenate([point - gap[:3], turn]))
    run_stage(ready.servo, places.SENSE)
    run_stage(ready.servo, places.APPROACH)
    return held, data, y


LINKAGES = (
    *("three-link:link1", "three-link:link2", "four-bar", "crank", "laparoscope", "joystick"),
    *("door", "sarrus", "rocker-crank", "rocker-coupler", "rocker-rocker", "geared", "clamped"),
)
LOOPS = tuple(n for n in LINKAGES if n in ("geared", "clamped") or n.startswith("rocker"))


@pytest.mark.parametrize("name", LINKAGES)
def test_the_penalty_is_that_of_the_errata(name: str) -> None:
    """B2: N (Nᵀ M_d⁻¹ N)⁻¹ Nᵀ k Δx, with N from MuJoCo's Jacobians."""
    for seed in range(3):
        held, data, _ = beside(at_hand(name), seed, 1e-3, 1e-3)
        got = held.ready.servo.device.topology[held.axes]
        want = held.wrench(data)
        np.testing.assert_allclose(got, want, atol=1e-7 * np.abs(want).max())


@pytest.mark.parametrize("name", [*LINKAGES, "ring", "four-bar-grounded"])
def test_the_reaction_is_that_of_the_jacobians_where_the_device_is(name: str) -> None:
    """τ = −J_h(q − y)ᵀu + W(q − y)ᵀμ with J_hᵀu = Wᵀμ, by differences of MuJoCo's J and W."""
    for seed in range(3):
        world = at_hand(name)
        held, data, y = beside(world, seed, 1e-3, 1e-7)
        (_, J), (W, _) = hand_of(world, data), closures_of(world.model, data)
        u = np.zeros(6)
        u[held.axes] = held.wrench(data)
        mu = np.linalg.lstsq(W.T, J.T @ u, rcond=1e-9)[0] if len(W) else np.zeros(0)
        size, sides = 1e-2, []
        for sign in (-1.0, 1.0):
            q = world.qpos.copy()
            mujoco.mj_integratePos(world.model, q, y, sign * size)
            there = at(world.placed(closed_pose(world.model, q)))
            W, _ = closures_of(world.model, there)
            sides.append(hand_of(world, there)[1].T @ u - W.T @ mu)
        Z = tangent_space(world.model, data)
        want = Z.T @ (sides[1] - sides[0]) / (2 * size)
        got = Z.T @ held.ready.servo.motion.reaction
        np.testing.assert_allclose(got, want, atol=1e-2 * np.abs(want).max() + 1e-16)


@pytest.mark.parametrize(
    "name", ["three-link:link1", "three-link:link2", "door", "four-bar", *LOOPS]
)
def test_the_reaction_makes_the_penalty_a_potential(name: str) -> None:
    """τ = −∂V/∂q along every motion that loops allow, by differences."""
    for seed in range(3):
        world = at_hand(name)
        held, data, _ = beside(world, seed, 1e-3, 1e-5)
        size, got, want = 1e-5, [], []
        for way in tangent_space(world.model, data).T:
            sides = []
            for sign in (-1.0, 1.0):
                q = world.qpos.copy()
                mujoco.mj_integratePos(world.model, q, way, sign * size)
                sides.append(held.potential(at(world.placed(closed_pose(world.model, q)))))
            want.append((sides[0] - sides[1]) / (2 * size))
            got.append(way @ held.ready.servo.motion.reaction)
        assert np.abs(want).max() > 0.0
        np.testing.assert_allclose(got, want, atol=2e-2 * np.abs(want).max())


@pytest.mark.parametrize("name", ["three-link:link2", "door", "rocker-rocker", "rocker-coupler"])
def test_with_its_reaction_the_penalty_keeps_the_energy(name: str) -> None:
    """Undamped: the thesis's own form, which has none, makes energy out of nothing."""
    drifts = {}
    for metric in ("inertia", "euclidean"):
        world = at_hand(name)
        coupling = topologies(stiffness=(200.0, 200.0, 0.5), n_tc=metric)
        ready = start(Session(world, coupling=coupling, device=UNIT, rate=4000))
        servo, rng = ready.servo, np.random.default_rng(2)
        Z = tangent_space(world.model, at(world))
        way = Z @ rng.standard_normal(Z.shape[1])
        servo.scene.qvel[:] = way / np.abs(way).max()
        servo.port.state.true_pose[:3] += servo.device.mask[:3] * [0.002, 0.001, 0.0]
        held, found = Held(world, ready), []
        for _ in range(160):
            found.append(held.energy())
            advance(ready, 50)
        total, springs = np.array(found).T
        drifts[metric] = np.abs(total - total[0]).max() / springs.max()
    assert drifts["inertia"] < 0.05
    assert drifts["euclidean"] > 10 * drifts["inertia"]


@pytest.mark.parametrize("rate", [500.0, 1000.0])
def test_a_stiff_penalty_on_a_stretched_arm_has_no_limit_cycle(rate: float) -> None:
    xml = scene(
        f'<body name="a"><joint axis="0 0 1"/>{LINK}'
        f'<body name="t" pos=".2 0 0"><joint axis="0 0 1"/>{LINK}</body></body>'
    )
    hand = Impedance(stiffness=50, damping=5, target=(0.25, 0.05, 0.02))
    coupling = FourChannel(topology=Topology(stiffness=2500.0))
    run = Session(World.from_string(xml, tool="t"), coupling=coupling, rate=rate).run(30.0, hand)
    for who in ("tool_twist", "device_twist"):
        speed = np.abs(run[who]).max(axis=1)
        peaks = [speed[(run["time"] > t) & (run["time"] < t + 5.0)].max() for t in range(0, 30, 5)]
        assert all(later < max(0.3 * sooner, 1e-9) for sooner, later in pairwise(peaks))
        assert peaks[-1] < 1e-3 * peaks[0]


@pytest.mark.parametrize(("held", "least"), [("link3", 5.0), ("link2", 5.0)])
def test_the_penalty_bounds_the_drift_of_the_thesis(held: str, least: float) -> None:
    """X12, X13: without the bias the device drifts off; along n_tc the penalty stops that."""
    apart = {}
    for topology in (None, Topology(stiffness=200.0, damping=50.0)):
        pose = np.pi * np.array([1 / 4, 1 / 6, -1 / 6])
        world = World.builtin("three-link", tool=held).placed(pose)
        coupling = FourChannel(0.0, 0.0, topology=topology, shaping=Shaping(bias=False))
        session = Session(world, coupling=coupling, device=UNIT, rate=512)
        run = session.run(2.0, Constant(force=(1.0, 0.0)))
        apart[topology is None] = run["tool_position"][-1] - run["device_position"][-1]
    with_penalty, without = (np.linalg.norm(apart[key]) for key in (False, True))
    assert without > 0.02
    assert with_penalty < without


# --- the linkage's inertia at the hand (M19)


def moving(name: str) -> tuple[World, np.ndarray]:
    """A linkage with springs and weight, and a velocity of it."""
    rng = np.random.default_rng(3)
    if name in INVERTIBLE:
        xml, pose, tool = INVERTIBLE[name]
        xml = xml.replace('gravity="0 0 0"', 'gravity="1 -9.81 -3"')
        world = World.from_string(xml, tool=tool).placed(pose)
    elif name == "arm-7":
        world = World.builtin(name)
        world = world.placed(world.qpos + 0.3 * rng.standard_normal(7))
    else:
        world = at_hand(name)
    Z = tangent_space(world.model, at(world))
    return world, Z @ rng.standard_normal(Z.shape[1])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "name", ["planar", "spatial", "arm-7", "three-link:link2", "four-bar", "rocker-coupler"]
)
def test_the_device_accelerates_as_the_thesis_says(name: str, bias: bool) -> None:
    """TH 5.15 and errata E10: ẍ = Λ⁻¹(F_h + F_env + F_pc − b_d ẋ) + J̇q̇ − J D⁻¹B."""
    world, v = moving(name)
    drag = np.array([0.7, 0.7, 0.7, 1e-5, 1e-5, 1e-5])
    coupling = FourChannel(50.0, 3.0, topology=None, shaping=Shaping(damping=drag, bias=bias))
    hand = Constant(force=(0.3, -0.2, 0.1), torque=(0.02, -0.01, 0.03))
    contact, literal = Contact(0.0, 0.0, mode="penalty"), Baumgarte(projected=False)
    session = Session(world, contact, coupling, UNIT, baumgarte=literal)
    ready = start(session, hand, qvel=v)
    servo, device = ready.servo, ready.servo.device
    axes = np.nonzero(device.mask)[0]
    rng = np.random.default_rng(4)
    state = servo.port.state
    state.true_twist[:] = device.mask * rng.standard_normal(6)
    state.true_pose[:3] += 1e-3 * device.mask[:3] * rng.standard_normal(3)
    before, data, size = state.true_twist.copy(), mirror(ready), 1e-5
    point, J = hand_of(world, data)
    sides = []
    for sign in (-1.0, 1.0):
        q = world.qpos.copy()
        mujoco.mj_integratePos(world.model, q, v, sign * size)
        other = at(world.placed(q))
        sides.append((hand_of(world, other)[1], closures_of(world.model, other)[0]))
    turn, rates = ((b - a) / (2 * size) for a, b in zip(*sides, strict=True))
    D, (W, _) = inertia_of(world.model, data), closures_of(world.model, data)
    still = mujoco.MjData(world.model)
    still.qpos[:] = world.qpos
    mujoco.mj_forward(world.model, still)
    coriolis, weight = data.qfrc_bias - still.qfrc_bias, -still.qfrc_bias
    C = np.diag(world.model.dof_damping)
    eased = C @ v - D @ np.linalg.solve(D + 1e-3 * C, C @ v)  # damping is felt as the step has it
    torque = data.qfrc_passive + data.qfrc_actuator + weight + eased
    k, b = (servo.parameters[f"coupling_{c}"][0] for c in "kb")
    pull = k * np.concatenate([state.true_pose[:3] - point, np.zeros(3)]) + b * (before - J @ v)
    force = device.mask * (np.array([0.3, -0.2, 0.1, 0.02, -0.01, 0.03]) - pull - drag * before)
    want = J @ multiplier_system(D, W, J.T @ force + torque)
    if bias:
        want += J @ multiplier_system(D, W, -coriolis, -rates @ v) + turn @ v
    advance(ready, 1)
    got = (state.true_twist - before) * 1000.0
    np.testing.assert_allclose(got[axes], want[axes], atol=1e-6 * np.abs(want).max())


@pytest.mark.parametrize("name", ["three-link", "four-bar"])
def test_with_the_bias_the_device_stays_on_the_linkage(name: str) -> None:
    """Errata E10: what the documents call numerical drift. Nothing ties the two here."""
    apart = {}
    pose = np.pi * np.array([1 / 4, 1 / 6, -1 / 6])
    world = World.builtin(name) if name == "four-bar" else World.builtin(name).placed(pose)
    for bias in (True, False):
        coupling = FourChannel(0.0, 0.0, topology=None, shaping=Shaping(bias=bias))
        session = Session(world, coupling=coupling, device=UNIT, rate=1000)
        hand = Constant(force=(1.0, 0.0) if name == "three-link" else (-0.5, 0.0))
        run = session.run(2.0, hand)
        apart[bias] = np.linalg.norm(run["tool_position"] - run["device_position"], axis=1)[-1]
        assert np.ptp(run["tool_position"], axis=0).max() > 0.015
    assert apart[True] < 0.05 * apart[False]
    assert apart[True] < 2e-3


def test_a_shaped_device_weighs_what_the_linkage_weighs() -> None:
    """From rest: the hand's force accelerates it by Λ_h⁻¹F, whatever its own mass is."""
    world = World.builtin("three-link").placed([0.3, 0.8, -0.5])
    found = []
    for mass in (0.2, 5.0):
        device = Inertial(mass=mass, rotational_inertia=0.01 * mass)
        coupling = FourChannel(shaping=Shaping())
        session = Session(world, coupling=coupling, device=device)
        found.append(session.run(0.5, Constant(force=(0.5, 0.3)))["device_position"])
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


# --- active tools


SERVO = scene(
    """<body name="base"><joint name="turn" axis="0 1 0" damping=".05" armature=".001"/>
      <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass=".5"/>
      <body name="tool" pos=".2 0 0"><joint name="bend" axis="0 1 0" damping=".01" stiffness="{}"
        springref="-30"/><geom type="capsule" fromto="0 0 0 .15 0 0" size=".02" mass=".3"/>
        <body pos=".15 0 0"><joint name="push" type="slide" axis="1 0 0" stiffness="200"
          damping="2"/><geom size=".02" mass=".1"/></body></body></body>""",
    'gravity="0 0 -9.81" timestep=".001"',
    """<actuator><position joint="turn" kp="20" kv=".3"/><motor joint="push" gear="2"/></actuator>
    <keyframe><key name="start" qpos=".2 .1 0" ctrl=".6 -.5"/></keyframe>""",
)


@pytest.mark.parametrize("stiffness", ["3", "1 0 20"], ids=["linear", "polynomial"])
def test_servos_and_springs_move_a_tool_as_mujoco_does(stiffness: str) -> None:
    xml = SERVO.format(stiffness)
    world = World.from_string(xml, tool="tool")
    ready = start(loose(world))
    advance(ready, 400)
    data = mujoco.MjData(world.model)
    data.qpos[:], data.ctrl[:] = world.qpos, world.ctrl
    world.model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for _ in range(400):
        mujoco.mj_step(world.model, data)
    assert np.abs(data.qpos - world.qpos).max() > 0.3
    np.testing.assert_allclose(ready.servo.scene.qpos, data.qpos, atol=1e-8)
    np.testing.assert_allclose(ready.servo.scene.qvel, data.qvel, atol=1e-7)


def test_a_spring_that_is_a_polynomial_only_acts() -> None:
    """Nothing else in the scene is passive."""
    xml = scene(
        f'<body name="t"><joint axis="0 0 1" stiffness="0 0 5" springref="40"/>{LINK}</body>',
        'gravity="0 0 0" timestep=".001"',
    )
    world = World.from_string(xml)
    ready, data = start(loose(world)), mujoco.MjData(world.model)
    advance(ready, 300)
    for _ in range(300):
        mujoco.mj_step(world.model, data)
    assert abs(data.qpos[0]) > 0.1
    assert ready.servo.scene.qpos[0] == pytest.approx(data.qpos[0], abs=1e-8)


def test_the_hand_feels_servos_and_springs() -> None:
    """F_env does on every motion of the hand the work of actuators, springs and weight."""
    world = World.from_string(SERVO.format("3"), tool="tool")
    row, data = advance(start(loose(world)), 1)[0], at(world)
    _, J = hand_of(world, data)
    D = inertia_of(world.model, data)
    torque = data.qfrc_passive + data.qfrc_actuator - data.qfrc_bias
    assert np.abs(data.qfrc_actuator).min(where=data.qfrc_actuator != 0, initial=9.0) > 0.1
    got = J @ np.linalg.solve(D, J.T @ row["environment_wrench"])
    np.testing.assert_allclose(got, J @ np.linalg.solve(D, torque), atol=1e-9)


def test_the_gripper_grips_with_what_its_servos_push() -> None:
    """400 N/m × 6 mm on either side; inside the tool they cancel, the hand feels neither."""
    ready = start(Session(World.builtin("gripper")), ring=4096)
    rows = advance(ready, 3000)
    pads = [
        r for r in range(int(ready.servo.rows.count[0]))
        if any("pad" in ready.model.geom(int(g)).name for g in ready.servo.rows.geom[r] if g >= 0)
    ]  # fmt: skip
    forces = ready.servo.rows.force[pads] * ready.servo.rows.normal[pads, 0]
    depth = -ready.servo.rows.separation[pads].min()
    squeeze = 400.0 * (0.006 - depth)
    assert forces[forces > 0].sum() == pytest.approx(squeeze, rel=1e-3)
    assert forces[forces < 0].sum() == pytest.approx(-squeeze, rel=1e-3)
    assert np.abs(rows["environment_wrench"][-1]).max() < 1e-3 * squeeze
    assert rows["closure"].max() < 1e-5


# --- contacts that a linkage cannot open


@pytest.mark.parametrize("gap", [-1e-9, -1e-5])
@pytest.mark.parametrize("mode", ["impulse", "penalty", "rigid"])
def test_a_drawer_slides_along_a_wall_that_it_touches(mode: str, gap: float) -> None:
    """Its row is round-off: dividing by that once sent it off at 1e10 m/s."""
    for angle in np.radians([5.0, 21.0, 45.0, 77.0]):
        c, s = np.cos(angle), np.sin(angle)
        axes = f'xyaxes="{c:.17g} {s:.17g} 0 {-s:.17g} {c:.17g} 0"'
        away = 0.07 + gap
        world = World.from_string(
            scene(
                f"""<geom type="box" size="1 .05 .1" {axes} pos="{-s * away} {c * away} 0"/>
                <body name="t"><joint type="slide" axis="{c:.17g} {s:.17g} 0"/>
                  <geom type="box" size=".03 .02 .02" mass="1" {axes}/></body>"""
            )
        )
        ready = start(loose(world, Contact(mode=mode)), Constant(force=(c, s)), qvel=[0.1])
        rows = advance(ready, 300)
        assert (rows["contacts"] > 0).all()
        np.testing.assert_allclose(ready.servo.scene.qvel, 0.1 + 0.3, rtol=1e-9)
        assert np.abs(rows["environment_wrench"]).max() < 1e-9


# --- a linkage with everything on


def test_a_linkage_session_repeats_itself() -> None:
    world = World.builtin("laparoscope").placed([0.2, -0.1, 0.03, 0.0])
    hand = Sinusoid(force=(0.5, -0.4, -0.6), torque=(0.001, 0.0, 1e-5), frequency=0.8)
    coupling = FourChannel(topology=Topology(stiffness=400.0), shaping=Shaping(damping=0.1))
    session = Session(world, Contact(restitution=0.2), coupling)
    runs = [session.run(2.0, hand) for _ in range(2)]
    assert runs[0].state_hash() == runs[1].state_hash()
    assert (runs[0]["contacts"] > 0).any()
    assert np.isfinite(runs[0]["device_wrench"]).all()


# --- bad input


def test_a_held_body_must_be_part_of_the_tool() -> None:
    xml = scene(
        link("a", 0.1, link("b", 0.1, at=".1 0 0")) + link("other", 0.1, at="0 1 0"),
    )
    with pytest.raises(SceneError, match=r"'other' is not part of the tool 'a'; its bodies: a, b"):
        World.from_string(xml, tool="a", held="other")


@pytest.mark.parametrize(
    "inside",
    ["", '<inertial pos="0 0 0" mass="0.1" diaginertia="0 0 0"/>', '<geom size=".01" mass="0"/>'],
    ids=["empty", "a point", "a massless geom"],
)
def test_a_held_body_without_mass_or_inertia_is_refused_by_name(inside: str) -> None:
    xml = scene(link("a", 0.2, f'<body name="tip" pos=".2 0 0">{inside}</body>'))
    with pytest.raises(SceneError, match=r"'tip' has no mass or no inertia; hold one that has: a"):
        World.from_string(xml, tool="a", held="tip")
    with pytest.raises(SceneError, match="'tip' has no mass"):
        World.from_string(xml, tool="a").holding("tip")


def test_a_hand_may_be_at_any_point_of_a_link_that_has_mass() -> None:
    xml = scene(link("a", 0.2, '<body name="tip" pos=".2 0 0"/>'))
    run = Session(World.from_string(xml, tool="a", point=(0.2, 0.0, 0.0))).run(0.1)
    assert np.isfinite(run["device_wrench"]).all()


@pytest.mark.parametrize("field", ["stiffness", "damping", "singular"])
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, "much"])
def test_bad_numbers_for_the_topology_are_refused(field: str, bad: Any) -> None:
    with pytest.raises(ParameterError, match=field):
        Topology(**{field: bad})


@pytest.mark.parametrize("singular", [0.0, 0.5, 1.0])
def test_a_tolerance_for_singularities_is_a_small_number(singular: float) -> None:
    with pytest.raises(ParameterError, match="singular"):
        Topology(singular=singular)


def test_an_unknown_metric_is_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="known: euclidean, inertia"):
        Topology(n_tc="manhattan")


@pytest.mark.parametrize("bad", [-1.0, (1.0, 2.0), np.nan, "soft"])
def test_bad_numbers_for_shaping_are_refused(bad: Any) -> None:
    with pytest.raises(ParameterError, match="shaping damping"):
        Shaping(damping=bad)


def test_gains_above_what_the_step_holds_are_bounded_and_reported() -> None:
    coupling = FourChannel(topology=Topology(stiffness=1e9, damping=1e6))
    run = Session(World.builtin("door"), coupling=coupling).run(1.0, Constant(force=(1.0, 1.0)))
    assert any("topology's gains were bounded" in note for note in run.meta["notes"])
    assert np.abs(run["device_twist"]).max() < 20.0


def test_damping_of_a_shaped_device_is_bounded_by_the_step() -> None:
    """1 N·m·s on a roll inertia of 1e-5 kg·m² is a rate that no step of 1 ms holds."""
    world = World.builtin("laparoscope").placed([0.2, -0.1, 0.03, 0.0])
    coupling = FourChannel(shaping=Shaping(damping=1.0))
    run = Session(world, coupling=coupling).run(1.0, Constant(force=(0.2, 0.1, 0.0)))
    assert any("shaping's damping in rotation was bounded" in note for note in run.meta["notes"])
    assert np.abs(run["device_twist"]).max() < 5.0


# --- defaults


def across_the_hinge(world: World) -> np.ndarray:
    """The direction from the hinge of the door, at the origin, to its handle."""
    place = Session(world).subject.start().position * (1.0, 1.0, 0.0)
    return place / np.linalg.norm(place)


@pytest.mark.parametrize(("device", "gives"), [(None, 0.1e-3), (Inertial(0.14, 1e-4), 0.3e-3)])
def test_a_door_hardly_gives_way_across_its_hinge(device: Inertial | None, gives: float) -> None:
    """It gave way by 4.7 mm under 10 N."""
    world = World.builtin("door")
    push = Constant(tuple(10.0 * across_the_hinge(world)))
    trace = Session(world, device=device).run(2.0, push)
    apart = np.linalg.norm(trace["device_position"] - trace["tool_position"], axis=1)
    assert apart[-200:].max() < gives
    assert np.abs(trace["device_twist"][-200:]).max() < 1e-9
    assert not any("topology" in note for note in trace.meta["notes"])


def test_joints_are_stiff_where_they_hold_the_same_directions_in_every_pose() -> None:
    stiff = {name: Session(World.builtin(name)).coupling.topology for name in ("door", "arm-7")}
    assert stiff["door"].stiffness > 1e9 and stiff["arm-7"].stiffness == 200.0
    assert Topology(stiffness=2500.0).gains == (2500.0, 50.0)


PENDULUM = """<mujoco><worldbody><body name="rod" pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.5" size=".02" mass="1"/></body></worldbody></mujoco>"""


def test_the_device_of_a_hinged_tool_is_a_small_mass_in_all_directions() -> None:
    """Heavy across the joint, it threw the tool about when it had turned: 1,149 N."""
    world = World.from_string(PENDULUM)
    session = Session(world)
    mass = session.prepare(None, 1000.0, 1).servo.device.mass
    np.testing.assert_allclose(mass, np.diag(np.repeat([mass[0, 0], mass[3, 3]], 3)))
    assert mass[0, 0] == pytest.approx(1.37, rel=0.01)  # where it moves
    hand = Playback((0.0, 2.0), ((2.0, 0, 0, 0, 0, 0), (0.0,) * 6))
    trace = session.run(6.0, hand)
    assert np.linalg.norm(trace["device_wrench"][:, :3], axis=1).max() < 3.0 * 2.0 + 9.81
    exact = replace(IDEAL, exact=True).inertia(np.diag([1.0, 9, 9, 1, 1, 1]), np.ones(6))
    np.testing.assert_array_equal(exact, np.diag([1.0, 9, 9, 1, 1, 1]))


def test_joints_do_not_shake_a_late_device_and_chosen_gains_that_do_are_noted() -> None:
    """A door on a device that is two ticks late stopped the servo."""
    device = Inertial(1.0, 1.0, delay_ticks=2, offset=(2e-6, 1e-6))
    door = World.builtin("door")
    firm = Session(door, device=device).run(0.4)
    force = np.abs(firm["topology_wrench"]).max(axis=1)
    assert 0.0 < force[-50:].max() < 0.1 * force[:50].max()
    assert not any("shake" in note for note in firm.meta["notes"])
    chosen = FourChannel(topology=Topology(5e4, 100.0))
    notes = Session(door, coupling=chosen, device=device).run(0.01).meta["notes"]
    assert any("shake a device that is 2 periods late" in note for note in notes)
