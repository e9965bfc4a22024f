"""The built-in linkages: the documents' numbers, closed loops, freedom, and where they start."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

from detent import Session, World
from detent.errors import SceneError, UnknownNameError
from detent.hands import Constant
from detent.world.inspect import inspect_world
from lab import scene

LINKAGES = (
    *("arm-7", "crank", "door", "four-bar", "four-bar-grounded"),
    *("gripper", "laparoscope", "sarrus", "three-link"),
)
LOOPS = ("four-bar", "four-bar-grounded", "gripper", "sarrus")

THREE_LINK = {"l": (0.042, 0.042, 0.03), "m": (3, 3, 1), "I": (0.015, 0.015, 0.005)}  # TH Table 5.1
FOUR_BAR = {  # S3 Table I
    "l": (0.045, 0.045, 0.021, 0.060),
    "m": (1, 1, 1, 0.5),
    "I": (0.0021, 0.0021, 0.0021, 0.00105),
}
Q0 = np.pi * np.array([0.25, -0.5, -0.4, 0.5])  # S3 VI, relative angles


def at_start(world: World) -> mujoco.MjData:
    """MuJoCo's own view of the start."""
    data = mujoco.MjData(world.model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = world.qpos, world.qvel, world.ctrl
    mujoco.mj_forward(world.model, data)
    return data


def closure(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """Residuals and Jacobian of all equality constraints."""
    rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    return data.efc_pos[rows], data.efc_J.reshape(-1, model.nv)[rows]


def freedom(model: mujoco.MjModel, data: mujoco.MjData) -> int:
    """Degrees of freedom that the loops leave."""
    values = np.linalg.svd(closure(model, data)[1], compute_uv=False)
    assert not ((values > 1e-9) & (values < 1e-3)).any()  # the rank is beyond doubt
    return int(model.nv - (values > 1e-6).sum())


def chain(angles: np.ndarray, lengths: tuple[float, ...]) -> np.ndarray:
    """Ends of the links of a planar chain of relative angles."""
    turned = np.cumsum(angles)
    steps = np.array(lengths)[:, None] * np.column_stack([np.cos(turned), np.sin(turned)])
    return np.vstack([np.zeros(2), np.cumsum(steps, axis=0)])


# --- the documents' numbers, as compiled


@pytest.mark.parametrize(
    ("name", "table"),
    [("three-link", THREE_LINK), ("four-bar", FOUR_BAR), ("four-bar-grounded", FOUR_BAR)],
)
def test_links_have_the_numbers_of_the_table(
    name: str, table: dict[str, tuple[float, ...]]
) -> None:
    model = World.builtin(name).model
    assert model.nv == len(table["l"])
    assert not model.opt.gravity.any()
    for i, (length, mass, inertia) in enumerate(
        zip(table["l"], table["m"], table["I"], strict=True)
    ):
        link = model.body(f"link{i + 1}").id
        axes = np.zeros(9)
        mujoco.mju_quat2Mat(axes, model.body_iquat[link])
        about_z = axes.reshape(3, 3)[2] ** 2 @ model.body_inertia[link]
        assert model.body_mass[link] == mass
        assert about_z == pytest.approx(inertia, rel=1e-14)
        np.testing.assert_array_equal(model.body_ipos[link], [length / 2, 0, 0])
        joint = model.joint(f"q{i + 1}")
        np.testing.assert_array_equal(joint.axis, [0, 0, 1])
        assert joint.bodyid[0] == link


def test_links_are_as_long_as_the_table_says() -> None:
    three, four = World.builtin("three-link").model, World.builtin("four-bar").model
    np.testing.assert_array_equal(three.body_pos[2:, 0], THREE_LINK["l"][:2])
    np.testing.assert_array_equal(four.body_pos[2:, 0], FOUR_BAR["l"][:3])
    assert four.site("end").pos[0] == FOUR_BAR["l"][3]
    shown = [2 * m.geom(f"link{i + 1}").size[1] for m in (three, four) for i in range(m.nv)]
    np.testing.assert_allclose(shown, THREE_LINK["l"] + FOUR_BAR["l"], rtol=1e-12)


def test_three_links_lie_along_x_at_zero() -> None:
    world = World.builtin("three-link")
    data = at_start(world)
    np.testing.assert_array_equal(world.qpos, np.zeros(3))
    np.testing.assert_allclose(data.xipos[1:, 0], [0.021, 0.063, 0.099], rtol=1e-14)
    assert world.body_name(world.held) == "link3"


def test_angles_are_relative() -> None:
    world = World.builtin("three-link")
    angles = np.array([0.3, -0.8, 1.1])
    data = at_start(world.placed(angles))
    np.testing.assert_allclose(data.xpos[1:, :2], chain(angles, THREE_LINK["l"])[:3], atol=1e-15)


def test_the_loop_starts_where_the_document_says() -> None:
    """S3's q0 is relative: only so the cut joint is at (0.1076, −0.0460) m."""
    world = World.builtin("four-bar")
    np.testing.assert_allclose(world.qpos, Q0, rtol=1e-15)
    pivot = chain(Q0, FOUR_BAR["l"])[-1]
    np.testing.assert_allclose(pivot, [0.1076, -0.0460], atol=1e-4)
    np.testing.assert_allclose(world.model.site("pivot").pos[:2], pivot, atol=1e-16)


def test_both_readings_of_the_document_start_alike() -> None:
    serial, grounded = World.builtin("four-bar"), World.builtin("four-bar-grounded")
    a, b = at_start(serial), at_start(grounded)
    np.testing.assert_allclose(a.xipos, b.xipos, atol=1e-15)
    np.testing.assert_allclose(
        a.xpos[4], b.site("end4").xpos, atol=1e-15
    )  # link 4 begins where the other ends
    np.testing.assert_array_equal(serial.model.body_inertia, grounded.model.body_inertia)
    for world in (serial, grounded):
        assert world.body_name(world.held) == "link2"
        np.testing.assert_array_equal(world.point, [0.0225, 0, 0])
    assert (serial.model.ntree, grounded.model.ntree) == (1, 2)


# --- loops


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_closed_at_the_start(name: str) -> None:
    world = World.builtin(name)
    residual, _ = closure(world.model, at_start(world))
    assert residual.size
    assert np.abs(residual).max() < 1e-12


@pytest.mark.parametrize(
    ("name", "left"),
    [("four-bar", 4 - 2), ("four-bar-grounded", 4 - 2), ("sarrus", 1), ("gripper", 15 - 1)],
)
def test_loops_leave_this_freedom(name: str, left: int) -> None:
    world = World.builtin(name)
    assert freedom(world.model, at_start(world)) == left
    assert inspect_world(world)["left_by_loops"] == left


@pytest.mark.parametrize("delta", np.radians(np.linspace(-38, 22, 13)))
def test_the_platform_moves_straight_up_although_the_count_says_zero(delta: float) -> None:
    world = World.builtin("sarrus")
    links, hinges = 5, world.model.njnt + 1  # the cut is the sixth hinge
    assert 6 * links - 5 * hinges == 0
    data = at_start(world.placed(delta * np.array([1, -2, 1, 1, -2])))
    residual, jac = closure(world.model, data)
    assert np.abs(residual).max() < 1e-12
    assert jac.shape[0] == 6
    assert freedom(world.model, data) == 1
    platform = world.model.body("platform").id
    height = 0.1 * np.sin(np.arctan2(4, 3) + delta)
    np.testing.assert_allclose(data.xpos[platform], [0, 0, height], atol=1e-15)
    np.testing.assert_allclose(data.xmat[platform], np.eye(3).ravel(), atol=1e-15)
    way = np.linalg.svd(jac)[2][-1]
    speed = np.zeros((6, world.model.nv))
    mujoco.mj_jacBody(world.model, data, speed[:3], speed[3:], platform)
    np.testing.assert_allclose(np.delete(speed @ way, 2), 0, atol=1e-14)
    assert abs(speed[2] @ way) > 1e-3


def test_the_sarrus_linkage_is_limited_off_its_stretched_pose() -> None:
    model = World.builtin("sarrus").model
    low, high = model.joint("a-lower").range + np.arctan2(4, 3)
    assert 0.2 < low < high < np.pi / 2 - 0.2


def test_inspection_names_what_a_loop_ties() -> None:
    assert inspect_world(World.builtin("four-bar"))["loops"] == ["connect cut: link4–the world"]
    grounded = inspect_world(World.builtin("four-bar-grounded"))
    assert grounded["loops"] == ["connect cut: link3–link4"]
    assert grounded["start"] == "keyframe start"
    assert inspect_world(World.builtin("gripper"))["loops"] == ["joint mirror: left–right"]


def test_inspection_warns_of_a_loop_that_is_open() -> None:
    world = World.builtin("four-bar")
    assert not any("is open by" in one for one in inspect_world(world)["warnings"])
    moved = inspect_world(world.placed(Q0 + np.array([0.01, 0, 0, 0])))
    assert any("the loop cut is open by" in one for one in moved["warnings"])
    assert moved["start"] == "placed"


def test_inspection_names_servos_and_springs() -> None:
    found = inspect_world(World.builtin("gripper"))
    assert found["actuators"] == [
        "left: position servo on left, told 0.006",
        "right: position servo on right, told 0.006",
    ]
    assert found["springs"] == ["wrist"]
    motors = """<actuator><motor joint="j"/><velocity name="v" joint="j" kv="3"/>
      <general name="g" joint="j" gainprm="2" biastype="affine" biasprm="1 -1 0"/></actuator>"""
    body = '<body><joint name="j"/><geom size=".1"/></body>'
    found = inspect_world(World.from_string(scene(body, more=motors)))
    assert found["actuators"] == [
        "#0: motor on j, told 0",
        "v: velocity servo on j, told 0",
        "g: actuator on j, told 0",
    ]


# --- the worlds of our own numbers


@pytest.mark.parametrize("name", LINKAGES)
def test_inspection_finds_nothing_else_to_warn_of(name: str) -> None:
    warned = inspect_world(World.builtin(name))["warnings"]
    assert warned == []


@pytest.mark.parametrize("name", LINKAGES)
def test_a_second_in_plain_mujoco_goes_well(name: str) -> None:
    world = World.builtin(name)
    data = at_start(world)
    rng = np.random.default_rng(0)
    data.qvel[:] = rng.uniform(-0.1, 0.1, world.model.nv)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while data.time < 1.0:
            mujoco.mj_step(world.model, data)
    assert np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()
    assert not any(warning.number for warning in data.warning)
    assert np.abs(data.qvel).max() < 10.0
    residual, _ = closure(world.model, data)
    assert np.abs(residual).max(initial=0.0) < 1e-4


def test_where_the_hand_is() -> None:
    points = {
        "door": ("handle", (0.35 * np.cos(np.pi / 6) + 0.025, 0.35 * 0.5 - 0.05 * 0.75**0.5, 0)),
        "crank": ("handle", (0, -0.04, -0.06)),
        "laparoscope": ("instrument", (0, 0, 0.165)),
        "sarrus": ("platform", (0, 0, 0.1)),
        "gripper": ("palm", (0, 0, 0.14)),
    }
    for name, (held, there) in points.items():
        world = World.builtin(name)
        data = at_start(world)
        assert world.body_name(world.held) == held
        here = data.xpos[world.held] + data.xmat[world.held].reshape(3, 3) @ world.point
        np.testing.assert_allclose(here, there, atol=1e-15)


def test_the_crank_is_a_flywheel_with_an_unbalanced_handle() -> None:
    world = World.builtin("crank")
    data = at_start(world.placed([np.pi / 2, -np.pi / 2]))  # the handle level with the axis
    mass = np.zeros((2, 2))
    mujoco.mj_fullM(world.model, data, mass)
    keeps_its_attitude = np.array([1.0, -1.0])
    at_crank = keeps_its_attitude @ mass @ keeps_its_attitude
    assert at_crank == pytest.approx(2e-3 + 0.1 * 0.06**2, rel=1e-9)
    assert abs(data.qfrc_bias[0]) == pytest.approx(0.1 * 9.81 * 0.06, rel=1e-9)
    level = at_start(world)
    np.testing.assert_allclose(level.qacc, 0, atol=1e-12)  # at rest with the handle below


def test_the_instrument_passes_its_entry_point_in_every_pose() -> None:
    world = World.builtin("laparoscope")
    joints = [world.model.joint(j).name for j in range(world.model.njnt)]
    assert joints == ["pitch", "yaw", "insertion", "roll"]
    rng = np.random.default_rng(1)
    low, high = world.model.jnt_range.T.copy()
    assert high[2] == 0.1 and not world.model.jnt_limited[3]
    low[3], high[3] = -np.pi, np.pi
    for _ in range(20):
        data = at_start(world.placed(rng.uniform(low, high)))
        axis = data.body("instrument").xmat.reshape(3, 3)[:, 2]
        np.testing.assert_allclose(np.cross(data.body("instrument").xpos, axis), 0, atol=1e-15)
    tip = np.array([0, 0, -0.15])
    deeper = at_start(world.placed([0, 0, 0.05, 0])).body("instrument").xpos + tip
    np.testing.assert_allclose(deeper, [0, 0, -0.2], atol=1e-15)


def test_the_instrument_reaches_tissue_and_wall() -> None:
    world = World.builtin("laparoscope")
    for pose, geom in (([0, -0.25, 0.04, 0], "tissue"), ([0, 0.27, 0.04, 0], "wall")):
        data = at_start(world.placed(pose))
        touched = {world.model.geom(g).name for g in data.contact.geom.ravel()}
        assert geom in touched


def test_the_arm_moves_its_tip_in_every_direction() -> None:
    world = World.builtin("arm-7")
    data = at_start(world)
    assert world.qpos[3] == np.pi / 2
    jac = np.zeros((6, 7))
    mujoco.mj_jacBody(world.model, data, jac[:3], jac[3:], world.held)
    assert np.linalg.svd(jac, compute_uv=False)[-1] > 0.05
    tip = data.body("link7").xpos + 0.13 * data.body("link7").xmat.reshape(3, 3)[:, 2]
    np.testing.assert_allclose(tip[1:], [0, 0.1979], atol=1e-4)  # the table's top is at 0.15
    axes = [world.model.joint(f"q{i}").axis for i in range(1, 8)]
    np.testing.assert_array_equal(axes, [[0, 0, 1], [0, 1, 0]] * 3 + [[0, 0, 1]])


def test_the_gripper_grips() -> None:
    world = World.builtin("gripper")
    model, data = world.model, at_start(world)
    assert data.joint("left").qpos == data.joint("right").qpos == 0.022
    while data.time < 1.0:
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(data.actuator_force, -400 * (0.012 - 0.006), rtol=0.1)
    while data.time < 3.0:  # lifted by a force, the box comes along
        data.qfrc_applied[2] = 40 * (0.17 - data.qpos[2]) - 20 * data.qvel[2]
        mujoco.mj_step(model, data)
    assert data.body("palm").xpos[2] > 0.15
    assert data.body("box").xpos[2] > 0.05


# --- what a scene may say of itself: start, held body, hand point

TWO = """<body name="arm"><joint name="a" axis="0 0 1"/><geom size=".01" mass="1"/>
  <body name="hand" pos=".2 0 0"><joint name="b" axis="0 0 1"/>
    <inertial pos=".03 .01 0" mass=".5" diaginertia=".001 .001 .001"/></body></body>
  <body name="ball" pos="0 1 0"><freejoint/><geom size=".05" mass="1"/></body>"""


def declared(*items: str, tool: str = "arm") -> str:
    text = f'<text name="detent.tool" data="{tool}"/>' if tool else ""
    return scene(TWO, more=f"<custom>{text}{''.join(items)}</custom>")


HELD = '<text name="detent.held" data="hand"/>'
POINT = '<numeric name="detent.point" data=".1 .2 .3"/>'


def test_the_scene_may_say_where_it_is_held() -> None:
    world = World.from_string(declared(HELD, POINT))
    assert world.body_name(world.tool) == "arm"
    assert world.body_name(world.held) == "hand"
    np.testing.assert_array_equal(world.point, [0.1, 0.2, 0.3])
    light = World.from_string(declared(HELD, POINT), gravity=False)
    np.testing.assert_array_equal(light.point, world.point)
    alone = World.from_string(declared(HELD))
    np.testing.assert_array_equal(alone.point, [0.03, 0.01, 0.0])  # its centre of mass
    unheld = World.from_string(declared(POINT))
    assert unheld.held == unheld.tool
    np.testing.assert_array_equal(unheld.point, [0.1, 0.2, 0.3])


def test_what_the_caller_says_wins_over_the_scene() -> None:
    xml = declared(HELD, POINT)
    moved = World.from_string(xml, point=(0, 0, 0))
    assert moved.body_name(moved.held) == "hand"
    assert not moved.point.any()
    other = World.from_string(xml, held="arm")
    assert other.body_name(other.held) == "arm"
    np.testing.assert_array_equal(other.point, [0, 0, 0])  # the scene's is the hand's
    ball = World.from_string(xml, tool="ball")
    assert ball.body_name(ball.held) == "ball"
    assert not ball.point.any()


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ('<text name="detent.held" data="ball"/>', "'ball'.* not part.*bodies: arm, hand"),
        ('<text name="detent.held" data="foot"/>', "'foot'.* not part.*bodies: arm, hand"),
        ('<numeric name="detent.point" data="1 2"/>', r"\[1\.0, 2\.0\].* 3 finite numbers"),
        ('<numeric name="detent.point" data="1 2 nan"/>', r"nan\].* 3 finite numbers"),
    ],
)
def test_a_bad_declaration_is_refused_by_name(
    item: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # MuJoCo logs a NaN in the working directory
    with pytest.raises(SceneError, match=message):
        World.from_string(declared(item))


def test_an_unknown_tool_in_the_scene_is_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="'leg'; known: arm, ball, hand"):
        World.from_string(declared(tool="leg"))


def keyed(key: str) -> str:
    return scene(TWO, more=f"<keyframe>{key}</keyframe>")


def test_the_world_starts_at_the_keyframe_named_start() -> None:
    qpos, qvel = np.arange(9.0), np.arange(8.0)
    qpos[2:] = [0, 0, 0, 1, 0, 0, 0]
    values = f'qpos="{" ".join(map(str, qpos))}" qvel="{" ".join(map(str, qvel))}"'
    world = World.from_string(keyed(f'<key name="start" {values}/>'), "arm", gravity=False)
    np.testing.assert_array_equal(world.qpos, qpos)
    np.testing.assert_array_equal(world.qvel, qvel)
    other = World.from_string(keyed(f'<key name="home" {values}/>'), "arm")
    np.testing.assert_array_equal(other.qpos, other.model.qpos0)
    assert not other.qvel.any()


def test_the_keyframe_says_what_actuators_are_told() -> None:
    np.testing.assert_array_equal(World.builtin("gripper").ctrl, [0.006, 0.006])


def test_a_start_that_is_not_finite_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SceneError, match="keyframe 'start' must have finite numbers"):
        World.from_string(keyed('<key name="start" qpos="nan 0 0 0 0 1 0 0 0"/>'), "arm")


WELDED = """<mujoco><worldbody>
  <body name="a"><joint axis="0 0 1"/><geom size=".01" mass="1" pos=".1 0 0"/>
    <body name="b" pos=".1 0 0"><joint axis="0 0 1"/><geom size=".01" mass="1" pos=".1 0 0"/></body>
  </body></worldbody>
  <equality><weld name="lock" body1="a" body2="b" {scale}/></equality></mujoco>"""


def test_an_open_weld_is_measured_in_radians() -> None:
    world = World.from_string(WELDED.format(scale=""), tool="b").placed([0.0, 0.5])
    with pytest.raises(SceneError, match=r"'lock' is open by 0 m and 0\.5 rad"):
        Session(world).run(0.01)


def test_a_weld_without_torque_lets_its_bodies_turn() -> None:
    world = World.from_string(WELDED.format(scale='torquescale="0"'), tool="b")
    run = Session(world).run(0.2, Constant(torque=(0.0, 0.0, 0.01)))
    assert abs(run["tool_twist"][-1, 5]) > 0.01
