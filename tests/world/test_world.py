"""Worlds: what loads, what the tool is, whose contact properties hold, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import detent
from detent import Contact, Direct, FourChannel, Session, World
from detent.devices import Inertial
from detent.errors import DetentError, ParameterError, SceneError, UnknownNameError
from detent.hands import Constant, Guided, Impedance, Sinusoid
from detent.local.proxy import cut_to_tool
from lab import LOOSE, PLANAR, advance, loose, scene, start

URDF = """<robot name="arm">
  <link name="base"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <link name="upper">
    <inertial><origin xyz=".1 0 0"/><mass value="1"/>
      <inertia ixx=".001" iyy=".004" izz=".004" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz=".1 0 0"/><geometry><box size=".2 .02 .02"/></geometry></collision>
  </link>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz=".2 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <link name="lower">
    <inertial><origin xyz=".05 0 0"/><mass value=".5"/>
      <inertia ixx=".001" iyy=".002" izz=".002" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="glue" type="fixed">
    <parent link="lower"/><child link="tip"/><origin xyz=".1 0 0"/>
  </joint>
  <link name="tip">
    <inertial><mass value=".25"/>
      <inertia ixx=".001" iyy=".001" izz=".001" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>"""

TWO = scene(
    """<body name="arm"><joint axis="0 0 1"/><geom name="upper" size=".01" mass="1"/>
         <body name="hand" pos=".2 0 0"><joint axis="0 0 1"/>
           <inertial pos=".03 .01 0" mass=".5" diaginertia=".001 .001 .001"/>
           <geom name="palm" size=".01"/></body></body>
       <body name="ball" pos="0 1 0"><freejoint/><geom name="ball" size=".05" mass="1"/></body>
       <body name="shelf" pos="0 -1 0"><geom name="shelf" size=".05"/></body>"""
)


def peg(height: float, options: str = "", more: str = "") -> str:
    """A planar peg over a floor at y = 0."""
    return scene(
        f"""<geom name="floor" type="plane" size="1 1 .1" zaxis="0 1 0"/>
        <body name="peg" pos="0 {height + 0.01} 0">{PLANAR}
          <geom name="peg" type="box" size=".02 .01 .01"/></body>""",
        options or 'gravity="0 0 0"',
        more,
    )


# --- what loads


def test_every_built_in_world_loads_and_runs() -> None:
    assert {"corner", "corner-3d", "peg-in-hole"} <= set(World.library())
    for name in World.library():
        world = World.builtin(name)
        assert world.name == name
        run = Session(world).run(0.02)
        assert np.isfinite(run["tool_position"]).all()


def test_every_built_in_world_is_described() -> None:
    page = Path(__file__).parents[2] / "docs" / "worlds.md"
    listed = [line.split("`")[1] for line in page.read_text().splitlines() if line[:3] == "| `"]
    assert sorted(listed) == World.library()


def test_a_file_gives_the_same_world_as_its_text(tmp_path: Path) -> None:
    file = tmp_path / "two.xml"
    file.write_text(TWO)
    loaded, parsed = World.load(file, tool="hand"), World.from_string(TWO, tool="hand")
    assert loaded.name == "two"
    assert loaded.tree == parsed.tree
    assert loaded.held == parsed.held
    np.testing.assert_array_equal(loaded.model.body_mass, parsed.model.body_mass)


@pytest.mark.parametrize("gravity", [True, False])
def test_a_urdf_is_a_world(tmp_path: Path, gravity: bool) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(URDF)
    world = World.load(file, tool="lower", gravity=gravity).placed([0.3, 0.5])
    assert world.name == "arm"
    assert world.model.nv == 2
    moving = [world.body_name(b) for b in world.tool_bodies]
    assert moving == ["upper", "lower", "tip"]  # the fixed tip is a body, and can be held
    assert world.model.body_mass[world.held] == pytest.approx(0.5)
    run = Session(world).run(0.1, Constant(force=(0.0, 1.0)))
    assert run["tool_position"][-1, 1] > run["tool_position"][0, 1]


def test_urdf_text_is_a_world_too() -> None:
    assert World.from_string(URDF, tool="upper").model.nv == 2


# --- tool, held link, hand point


def test_the_tool_is_the_whole_tree_of_the_named_body() -> None:
    world = World.from_string(TWO, tool="hand")
    assert [world.body_name(b) for b in world.tool_bodies] == ["arm", "hand"]
    assert list(world.tool_dofs) == [0, 1]
    assert world.body_name(world.held) == "hand"
    np.testing.assert_array_equal(world.point, [0.03, 0.01, 0.0])  # the centre of mass


def test_held_link_and_point_say_where_the_hand_is() -> None:
    world = World.from_string(TWO, tool="arm", held="hand", point=(0.1, 0.0, 0.0))
    assert world.body_name(world.tool) == "arm"
    assert world.body_name(world.held) == "hand"
    run = Session(world).run(0.002)
    np.testing.assert_allclose(run["tool_position"][0], [0.3, 0.0, 0.0], atol=1e-15)


def test_a_body_may_be_named_by_its_number() -> None:
    assert World.from_string(TWO, tool="#2").held == 2


def test_the_scene_itself_may_name_the_tool() -> None:
    text = '<custom><text name="detent.tool" data="ball"/></custom>'
    xml = TWO.replace("</mujoco>", f"{text}</mujoco>")
    world = World.from_string(xml)
    assert world.body_name(world.tool) == "ball"
    assert World.from_string(xml, tool="arm").tree != world.tree


def test_the_only_thing_that_moves_is_the_tool() -> None:
    world = World.from_string(peg(0.1))
    assert world.body_name(world.tool) == "peg"


def test_placing_changes_the_start_of_the_copy_only() -> None:
    world = World.from_string(peg(0.1))
    moved = world.placed([0.1, 0.2, 0.3])
    assert not world.qpos.any()
    run = Session(moved).run(0.002)
    np.testing.assert_allclose(run["tool_position"][0], [0.1, 0.31, 0.0], atol=1e-15)


# --- contact properties per geom: the pair takes the smaller ones


def depth_under(force: float, world: World) -> float:
    """Settled depth of the peg pressed on the floor with two contacts."""
    contact = Contact(stiffness=4000, damping=100, mode="penalty")
    run = loose(world, contact).run(2.0, Constant(force=(0.0, -force)))
    assert run["contacts"][-1] == 2
    return float(run["depth"][-1])


def stiffness_tuple(**values: float) -> str:
    elements = "".join(
        f'<element objtype="geom" objname="{geom}" prm="{value}"/>'
        for geom, value in values.items()
    )
    return f'<custom><tuple name="detent.stiffness">{elements}</tuple></custom>'


@pytest.mark.parametrize(
    ("floor", "tool", "pair"), [(None, None, 4000), (1000, None, 1000), (2000, 500, 500)]
)
@pytest.mark.parametrize("how", ["tuple", "dict"])
def test_a_pair_has_the_smaller_stiffness(
    how: str, floor: float | None, tool: float | None, pair: float
) -> None:
    given = {k: v for k, v in (("floor", floor), ("peg", tool)) if v is not None}
    if how == "tuple":
        world = World.from_string(peg(0.0, more=stiffness_tuple(**given) if given else ""))
    else:
        properties = {geom: {"stiffness": value} for geom, value in given.items()}
        world = World.from_string(peg(0.0), properties=properties)
    assert depth_under(1.0, world) == pytest.approx(1.0 / (2 * pair), rel=1e-3)


def test_a_dict_wins_over_the_scene() -> None:
    xml = peg(0.0, more=stiffness_tuple(floor=1000))
    world = World.from_string(xml, properties={"floor": {"stiffness": 2000}})
    assert depth_under(1.0, world) == pytest.approx(1.0 / 4000, rel=1e-3)


def test_a_pair_has_the_smaller_damping() -> None:
    """At depth d and speed v a tick presses with c (K d + B v)."""
    properties = {"floor": {"damping": 20.0}, "peg": {"damping": 10.0}}
    world = World.from_string(peg(-0.001), properties=properties)
    ready = start(loose(world, Contact(4000, 30, mode="penalty")), qvel=[0, -0.1, 0])
    force = advance(ready, 1)["environment_wrench"][0]
    np.testing.assert_allclose(force[:2], [0, 2 * (4000 * 0.001 + 10 * 0.1)], atol=1e-9)


def test_a_pair_has_the_smaller_restitution() -> None:
    for floor, tool, e in ((0.5, 0.9, 0.5), (0.9, 0.25, 0.25)):
        properties = {"floor": {"restitution": floor}, "peg": {"restitution": tool}}
        world = World.from_string(peg(0.00005), properties=properties)
        ready = start(loose(world, Contact(restitution=1.0)), qvel=[0, -0.1, 0])
        rows = advance(ready, 10)
        assert rows["collisions"].sum() == 2
        np.testing.assert_allclose(rows["tool_twist"][-1, 1], 0.1 * e, atol=1e-12)


def test_each_contact_has_its_own_restitution() -> None:
    """B1: each end of the peg leaves with at least its e times 0.1 m/s, and no energy is won."""
    xml = scene(
        f"""<geom name="hard" type="box" size=".05 .1 .1" pos="-.05 -.1 0"/>
        <geom name="soft" type="box" size=".05 .1 .1" pos=".0501 -.1 0"/>
        <body name="peg" pos="0 .01005 0">{PLANAR}
          <geom type="box" size=".02 .01 .01"/></body>"""
    )
    properties = {"hard": {"restitution": 0.8}, "soft": {"restitution": 0.2}}
    world = World.from_string(xml, properties=properties)
    rows = advance(start(loose(world, Contact(restitution=1.0)), qvel=[0, -0.1, 0]), 10)
    assert rows["collisions"].max() >= 2
    speed, turn = rows["tool_twist"][-1, [1, 5]]
    assert speed - 0.02 * turn >= 0.08 - 1e-12
    assert speed + 0.02 * turn >= 0.02 - 1e-12
    assert rows["impact_energy"].max() <= 0.0 and rows["impact_energy"].min() < 0.0


def test_the_literal_law_takes_the_smallest_restitution_of_a_group() -> None:
    """Errata B1: with equal signs, unequal restitutions would not be passive."""
    xml = scene(
        f"""<geom name="hard" type="box" size=".05 .1 .1" pos="-.05 -.1 0"/>
        <geom name="soft" type="box" size=".05 .1 .1" pos=".0501 -.1 0"/>
        <body name="peg" pos="0 .01005 0">{PLANAR}
          <geom type="box" size=".02 .01 .01"/></body>"""
    )
    properties = {"hard": {"restitution": 0.8}, "soft": {"restitution": 0.2}}
    world = World.from_string(xml, properties=properties)
    contact = Contact(restitution=1.0, method="equality")
    rows = advance(start(loose(world, contact), qvel=[0, -0.1, 0]), 10)
    np.testing.assert_allclose(rows["tool_twist"][-1, 1], 0.02, atol=1e-12)


# --- what is refused: one typed error that names the value and what is allowed

NAN = float("nan")

BAD_SCENES: dict[str, tuple[Callable[[], Any], type[DetentError], str]] = {
    "unknown tool": (
        lambda: World.from_string(TWO, tool="foot"),
        UnknownNameError,
        "'foot'; known: arm, ball, hand",
    ),
    "unknown held body": (
        lambda: World.from_string(TWO, tool="arm", held="elbow"),
        UnknownNameError,
        "'elbow'; known: arm, ball, hand",
    ),
    "number of no body": (
        lambda: World.from_string(TWO, tool="#9"),
        UnknownNameError,
        "'#9'; known: arm, ball, hand",
    ),
    "tool that cannot move": (
        lambda: World.from_string(TWO, tool="shelf"),
        SceneError,
        "'shelf' cannot move; those that can: arm, hand, ball",
    ),
    "held body of another tool": (
        lambda: World.from_string(TWO, tool="arm", held="ball"),
        SceneError,
        "'ball' is not part of the tool 'arm'; its bodies: arm, hand",
    ),
    "several tools, none named": (
        lambda: World.from_string(TWO),
        SceneError,
        "2 things to hold; name one .*: ball .*, hand",
    ),
    "unknown built-in": (
        lambda: World.builtin("cornr"),
        UnknownNameError,
        "'cornr'; known: arm-7, bolt-and-nut, corner",
    ),
    "nothing moves": (
        lambda: World.from_string(scene('<geom size=".1"/>')),
        SceneError,
        "nothing in the scene",
    ),
    "a scene that MuJoCo refuses": (
        lambda: World.from_string(scene('<body><freejoint/><geom type="blob" size="1"/></body>')),
        SceneError,
        "blob",
    ),
    "text that is no scene": (
        lambda: World.from_string("once upon a time"),
        SceneError,
        "not a scene",
    ),
    "zero mass": (
        lambda: World.from_string(
            scene('<body name="ghost"><freejoint/><geom size=".1" mass="0"/></body>')
        ),
        SceneError,
        "mass",
    ),
    "property of an unknown geom": (
        lambda: World.from_string(TWO, "arm", properties={"wall": {"stiffness": 1.0}}),
        UnknownNameError,
        "'wall'; known: ball, palm, shelf, upper",
    ),
    "unknown property": (
        lambda: World.from_string(TWO, "arm", properties={"palm": {"colour": 1.0}}),
        UnknownNameError,
        "'colour'; known: damping, friction, restitution, stiffness",
    ),
    "unknown property in the scene": (
        lambda: World.from_string(peg(0, more=stiffness_tuple(peg=1).replace("stiff", "fluffi"))),
        UnknownNameError,
        "'fluffiness'; known: damping, friction, restitution, stiffness",
    ),
    "negative stiffness in the scene": (
        lambda: World.from_string(peg(0, more=stiffness_tuple(peg=-5))),
        ParameterError,
        "stiffness of geom 'peg' = .*-5.* not negative",
    ),
}


@pytest.mark.parametrize("case", BAD_SCENES)
def test_a_bad_scene_is_refused_by_name(case: str) -> None:
    act, kind, message = BAD_SCENES[case]
    with pytest.raises(kind, match=message):
        act()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"no scene file .*nowhere\.xml"):
        World.load(tmp_path / "nowhere.xml")


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n\0\0", b"{}", b"<html></html>"])
def test_a_file_that_is_no_scene_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "picture.xml"
    file.write_bytes(content)
    with pytest.raises(SceneError, match=r"picture"):
        World.load(file)


BAD_NUMBERS: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...], str]] = {
    "contact stiffness": (lambda v: Contact(stiffness=v), (-1.0, NAN, np.inf, "hard"), "negative"),
    "contact damping": (lambda v: Contact(damping=v), (-1.0, NAN, np.inf, "soft"), "negative"),
    "restitution": (lambda v: Contact(restitution=v), (-0.1, 1.1, NAN), "between 0 and 1"),
    "geom stiffness": (
        lambda v: World.from_string(peg(0), properties={"peg": {"stiffness": v}}),
        (-1.0, NAN, np.inf, "hard", None),
        "negative",
    ),
    "geom restitution": (
        lambda v: World.from_string(peg(0), properties={"peg": {"restitution": v}}),
        (-0.1, 1.1, NAN),
        "between 0 and 1",
    ),
    "hand point": (
        lambda v: World.from_string(peg(0), point=v),
        ((NAN, 0, 0), (0, 0), "here"),
        "3 finite numbers",
    ),
    "start": (
        lambda v: World.from_string(peg(0)).placed(v),
        ((NAN, 0, 0), (0, 0), "here"),
        "3 finite numbers",
    ),
    "rate": (lambda v: Session(World.builtin("corner"), rate=v), (0, -1, NAN, np.inf), "positive"),
    "seconds": (
        lambda v: Session(World.builtin("corner")).run(v),
        (0, -1, NAN, np.inf),
        "positive",
    ),
    "force": (lambda v: Constant(force=v), ((NAN, 0), (0, np.inf), (1,), 1.0, "up"), "finite"),
    "torque": (lambda v: Constant(torque=v), (NAN, np.inf, (0, 0), "left"), "finite"),
    "amplitude": (lambda v: Sinusoid(force=v), ((NAN, 0),), "finite"),
    "amplitude of the torque": (lambda v: Sinusoid(torque=v), (NAN,), "finite"),
    "bias": (lambda v: Sinusoid(bias_force=v), ((NAN, 0),), "finite"),
    "bias of the torque": (lambda v: Sinusoid(bias_torque=v), (NAN,), "finite"),
    "frequency": (lambda v: Sinusoid(frequency=v), (NAN, -1.0), "negative"),
    "phase": (lambda v: Sinusoid(phase=v), (NAN,), "finite"),
    "hand stiffness": (lambda v: Impedance(stiffness=v), (NAN, -1.0), "negative"),
    "hand damping": (lambda v: Impedance(damping=v), (NAN, -1.0), "negative"),
    "hand rotation": (lambda v: Impedance(rotational_stiffness=v), (NAN, -1.0), "negative"),
    "hand rotation damping": (lambda v: Impedance(rotational_damping=v), (NAN, -1.0), "negative"),
    "hand target": (lambda v: Impedance(target=v), ((NAN, 0), (1,)), "finite"),
    # a quaternion of length zero has no direction: it must not become NaN in the servo
    "hand orientation": (
        lambda v: Impedance(target_quaternion=v),
        ((NAN, 0, 0, 0), (1, 0, 0), (0.0, 0.0, 0.0, 0.0)),
        "finite|length|zero",
    ),
    "device mass": (lambda v: Inertial(mass=v), (0.0, -1.0, NAN), "positive"),
    "device inertia": (lambda v: Inertial(rotational_inertia=v), (0.0, -1.0, NAN), "positive"),
    "device delay": (lambda v: Inertial(delay_ticks=v), (-1, 1.5, 65, NAN, "two"), "whole number"),
    "device limits": (
        lambda v: Inertial(limits=v),
        ((NAN, 1, 1), (0, 1, 1), (1,), "low"),
        "positive",
    ),
    "device offset": (
        lambda v: Inertial(offset=v),
        ((NAN, 0, 0), (1,), (0, 0, 0, 0), "left"),
        "2 or 3 finite numbers",
    ),
    "hand path": (
        lambda v: Guided(path=v),
        (
            (),
            ((0, 0, 0),),
            ((0, 0, 0, NAN),),
            ((1, 0, 0, 0), (1, 0, 0, 0)),
            ((0, 0, 0, 0), (1, 0, 0)),
            "round",
        ),
        "times rising",
    ),
    "hand path orientation": (
        lambda v: Guided(path=((0, 0, 0, 0, *v),)),
        ((0.0, 0.0, 0.0, 0.0),),
        "zero",
    ),
    "hand path and target": (lambda v: Guided(path=((0, 0, 0, 0),), target=v), ((1, 2),), "path"),
    "coupling stiffness": (
        lambda v: FourChannel(stiffness=v),
        (NAN, -1.0, (1, 2), "hard"),
        "negative",
    ),
    "coupling damping": (lambda v: FourChannel(damping=v), (NAN, -1.0, (1, 2)), "negative"),
    "adaptive damping": (lambda v: FourChannel(adaptive_damping=v), (NAN, -1.0), "negative"),
    "filter": (lambda v: detent.ForcePath(filter_hz=v), (NAN, 0.0), "positive"),
    "slew": (lambda v: detent.ForcePath(slew_force=v), (NAN, 0.0), "positive"),
    "slew of torque": (lambda v: detent.ForcePath(slew_torque=v), (NAN, 0.0), "positive"),
}


@pytest.mark.parametrize(
    ("case", "value"), [(case, value) for case, row in BAD_NUMBERS.items() for value in row[1]]
)
def test_a_bad_number_is_refused_by_name(case: str, value: Any) -> None:
    act, _, allowed = BAD_NUMBERS[case]
    with pytest.raises(ParameterError, match=allowed) as caught:
        act(value)
    assert str(caught.value).startswith(caught.value.name)
    shown = np.atleast_1d(np.asarray(value, object)).ravel()
    assert all(str(one).strip("()") in str(caught.value) for one in shown[:1])


def test_a_run_shorter_than_a_tick_is_one_tick() -> None:
    assert len(Session(World.builtin("corner")).run(1e-5)) == 1


@pytest.mark.parametrize("rate", [0, -1, NAN])
def test_a_bad_live_rate_is_refused(rate: float) -> None:
    session = Session(World.builtin("corner"))
    with pytest.raises(ParameterError, match="rate"), session.live(rate=rate):
        pass


def test_unknown_choices_are_listed() -> None:
    corner = World.builtin("corner")
    with pytest.raises(UnknownNameError, match="'soft'; known: impulse, penalty, rigid"):
        Contact(mode="soft")
    with pytest.raises(UnknownNameError, match="'glue'; known: complementarity, equality"):
        Contact(method="glue")
    with pytest.raises(UnknownNameError, match="'twice'; known: relative, split"):
        Contact(self_collision="twice")
    with pytest.raises(UnknownNameError, match="'bent'; known: flat, full, planar, rotary, "):
        Inertial(subspace="bent")
    with pytest.raises(UnknownNameError, match="'fall'; known: free, hold"):
        Session(corner, outside="fall")


def test_things_that_are_no_hand_are_refused() -> None:
    with pytest.raises(ParameterError, match="hand"):
        Session(World.builtin("corner")).run(0.1, hand=(1.0, 0.0))  # type: ignore[arg-type]


def test_a_device_that_the_tool_cannot_follow_is_refused() -> None:
    """A planar tool has no inertia in z: a full device needs one of its own."""
    world = World.builtin("corner")
    with pytest.raises(ParameterError, match="device subspace = 'full'"):
        Session(world, device=Inertial(subspace="full")).run(0.01)
    own = Inertial(subspace="full", mass=1.0, rotational_inertia=0.01)
    Session(world, device=own).run(0.01)
    Session(world, coupling=Direct()).run(0.01)


def test_a_flexible_body_is_refused() -> None:
    xml = scene(
        '<body name="ball"><freejoint/><geom size=".1"/></body>'
        '<flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" mass="1" dim="2"/>'
    )
    with pytest.raises(SceneError, match="flexible"):
        World.from_string(xml, tool="ball")


def test_the_world_given_is_not_changed_by_a_run() -> None:
    world = World.from_string(peg(0.01))
    before = world.model.geom_gap.copy(), world.qpos.copy(), mujoco.MjData(world.model).qpos.copy()
    Session(world, Contact(mode="rigid"), coupling=LOOSE).run(0.1, Constant(force=(0, -1)))
    after = world.model.geom_gap, world.qpos, mujoco.MjData(world.model).qpos
    assert all(map(np.array_equal, before, after))


def test_a_world_that_was_placed_can_still_be_cut_to_its_tool() -> None:
    world = World.builtin("three-link").placed((0.1, 0.2, 0.3)).holding("link2")
    cut = cut_to_tool(world).world
    assert cut.model.nv == 3
    np.testing.assert_array_equal(cut.qpos, (0.1, 0.2, 0.3))
    assert cut.body_name(cut.held) == "link2"


def test_a_weight_is_taken_away_and_given_back() -> None:
    """Also by a trace: what was not felt is not felt when it runs again."""
    world = World.builtin("corner-3d").placed([0.1, 0.1, 0.2, 1, 0, 0, 0])
    light = world.weighed(False)
    assert light.model.body_gravcomp[world.tool] == 1.0 and not world.model.body_gravcomp.any()
    np.testing.assert_array_equal(light.qpos, world.qpos)
    again = light.weighed(True)
    assert again.gravity and not again.model.body_gravcomp.any()
    for made in (light, World.builtin("corner-3d", gravity=False)):
        trace = Session(made).run(0.01)
        assert not Session.of_trace(trace).world.gravity
    assert Session.of_trace(Session(again).run(0.01)).world.gravity
