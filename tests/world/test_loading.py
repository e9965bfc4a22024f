"""Loading what people already have: URDF, keyframes, unnamed bodies, meshes; what is refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pytest

from detent import Contact, Session, World
from detent.errors import MissingExtraError, SceneError, ToolNotNamedError, UnknownNameError
from detent.hands import Constant
from detent.world import decompose
from detent.world.holdable import worth_holding
from detent.world.inspect import inspect_world
from detent.world.stiffness import least_rate, lightest_contact, stiffest
from lab import scene
from scene_files import URDF, bars, obj
from sweeps import LONG
from waiting import wait_for

U_SHAPE = bars(
    (0, 0, 0, 0.1, 0.1, 0.02), (-0.08, 0, 0.1, 0.02, 0.1, 0.08), (0.08, 0, 0.1, 0.02, 0.1, 0.08)
)


@pytest.mark.parametrize(
    "name", ["meshes/cube.obj", "package://meshes/cube.obj", "package://robot/meshes/cube.obj"]
)
def test_meshes_of_a_urdf_are_found_beside_it(name: str, tmp_path: Path) -> None:
    obj(tmp_path / "meshes/cube.obj", *bars((0, 0, 0, 0.1, 0.1, 0.1)))
    path = tmp_path / "arm.urdf"
    path.write_text(URDF.replace("FILE", name))
    world = World.load(path)
    names = [world.body_name(b) for b in range(world.model.nbody)]
    assert names == ["world", "base", "post", "tip"]  # not fused
    assert world.model.nmesh == 1 and world.model.nv == 1
    assert World.load(path, free=True, tool="post").model.nv == 7


def test_a_mesh_of_a_package_above_is_found_where_that_is_allowed(tmp_path: Path) -> None:
    obj(tmp_path / "robot/meshes/cube.obj", *bars((0, 0, 0, 0.1, 0.1, 0.1)))
    path = tmp_path / "robot/urdf/arm.urdf"
    path.parent.mkdir()
    path.write_text(URDF.replace("FILE", "package://robot/meshes/cube.obj"))
    with pytest.raises(SceneError, match=r"cube\.obj"):
        World.load(path)
    assert World.load(path, allow_outside=True).model.nmesh == 1


def test_free_needs_a_root_that_is_fixed() -> None:
    with pytest.raises(SceneError, match="no root that is fixed to the world"):
        World.from_string(scene('<body><freejoint/><geom size=".1"/></body>'), free=True)


TWO_ROOTS = """<body name="post" pos="0 0 1" euler="0 0 90"><geom size=".1"/>
    <body name="arm" pos="1 0 0"><joint name="x"/><geom size=".1"/></body></body>
  <body name="eye"><camera/></body>
  <body name="loose" pos="3 0 0"><freejoint/><geom size=".1"/></body>
  <body name="mast" pos="5 0 0"><geom size=".1"/>
    <body pos="1 0 0"><joint/><geom size=".1"/></body></body>"""
TWO_KEYS = """<keyframe><key name="start" qpos=".3 4 0 0 1 0 0 0 .7" qvel=".1 1 2 3 4 5 6 .2"/>
  <key name="rest"/></keyframe>"""


@pytest.mark.parametrize("keyframe", [None, "rest"])
def test_keyframes_of_a_freed_scene_put_everything_where_they_did(keyframe: str | None) -> None:
    worlds = [
        World.from_string(scene(TWO_ROOTS, more=TWO_KEYS), tool="arm", keyframe=keyframe, free=free)
        for free in (False, True)
    ]
    places, speeds = [], []
    for world in worlds:
        data = mujoco.MjData(world.model)
        data.qpos[:], data.qvel[:] = world.qpos, world.qvel
        mujoco.mj_forward(world.model, data)
        places.append(np.hstack((data.xpos, data.xquat)))
        speeds.append(data.cvel.copy())
    assert [world.model.nv for world in worlds] == [8, 20]  # the camera's mount stays where it is
    np.testing.assert_allclose(places[1], places[0], atol=1e-12)
    np.testing.assert_allclose(speeds[1], speeds[0], atol=1e-12)


def test_a_freed_scene_keeps_its_static_bodies() -> None:
    text = scene(TWO_ROOTS, more="").replace("<mujoco>", '<mujoco><compiler fusestatic="true"/>')
    assert World.from_string(text, tool="post", free=True).model.nv == 20


KEYS = """<keyframe><key name="low" qpos=".1"/><key qpos=".2" qvel="3" ctrl=".4"/></keyframe>
  <actuator><motor joint="x"/></actuator>"""
ROD = '<body><joint name="x" type="slide" axis="1 0 0"/><geom size=".1"/></body>'


def test_a_keyframe_by_name_or_index_is_the_start() -> None:
    text = scene(ROD, more=KEYS)
    assert World.from_string(text).qpos == [0.0]
    assert World.from_string(text, keyframe="low").qpos == [0.1]
    for key in (1, "1"):
        world = World.from_string(text, keyframe=key)
        assert (world.qpos, world.qvel, world.ctrl) == ([0.2], [3.0], [0.4])
    with pytest.raises(UnknownNameError, match="no keyframe 'high'; known: 1, low"):
        World.from_string(text, keyframe="high")
    assert inspect_world(World.from_string(text, keyframe=0))["start"] == "keyframe low"


MANY = """<body name="heavy"><freejoint/><geom size=".2"/></body>
  <body name="arm" pos="1 0 0"><joint axis="0 0 1"/><geom size=".05"/>
    <body name="hand" pos=".2 0 0"><joint axis="0 0 1"/><geom size=".03"/></body></body>
  <body pos="2 0 0"><freejoint/><geom size=".1"/></body>
  <body name="ghost" pos="3 0 0"><freejoint/>
    <geom size=".01" contype="0" conaffinity="0"/></body>"""


def test_what_is_worth_holding_comes_light_and_free_first() -> None:
    with pytest.raises(ToolNotNamedError, match=r"4 things to hold; name one") as found:
        World.from_string(scene(MANY))
    assert found.value.names == ["#4", "heavy", "hand", "ghost"]
    world = World.from_string(scene(MANY), tool="#4")
    assert world.body_name(world.held) == "#4"
    assert "hand (2 degrees of freedom, 0.637 kg)" in inspect_world(world)["worth_holding"]


def test_the_bodies_of_one_mechanism_are_one_thing_to_hold() -> None:
    assert len(worth_holding(World.builtin("four-bar").model)) == 1


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        (
            """<mujoco><worldbody><body><joint/><geom size=".1"/></body>
            <flexcomp name="f" type="grid" count="3 3 1" spacing=".1 .1 .1" mass="1"/>
            </worldbody></mujoco>""",
            "flexible bodies, which Detent does not render",
        ),
        (
            """<mujoco><extension><plugin plugin="mujoco.pid"/></extension>
            <worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
            <actuator><plugin joint="j" plugin="mujoco.pid"/></actuator></mujoco>""",
            "plugin",
        ),
    ],
)
def test_what_is_not_supported_is_refused_in_one_sentence(xml: str, said: str) -> None:
    with pytest.raises(SceneError, match=said) as found:
        World.from_string(xml)
    assert "\n" not in str(found.value)


def test_contact_filters_are_mujocos_own() -> None:
    balls = """<body name="a"><freejoint/><geom name="a" size=".1" {}/></body>
      <body name="b" pos="0 0 .15"><freejoint/><geom name="b" size=".1"/></body>"""
    cases = {
        "": ("", 1),
        'contype="0" conaffinity="0"': ("", 0),
        'contype="2" conaffinity="2"': ("", 0),
        "excluded": ('<contact><exclude body1="a" body2="b"/></contact>', 0),
        'contype="0" conaffinity="0" ': ('<contact><pair geom1="a" geom2="b"/></contact>', 1),
    }
    for attributes, (more, touching) in cases.items():
        own = "" if attributes == "excluded" else attributes
        run = Session(World.from_string(scene(balls.format(own), more=more), tool="a")).run(0.003)
        assert run["contacts"][0] == touching


def test_what_overlaps_at_the_start_can_be_let_through(tmp_path: Path) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(
        scene(
            """<body name="a"><freejoint/><geom size=".1"/>
              <body pos="0 0 .05"><joint/><geom size=".1"/></body>
              <body pos="1 0 0"><joint/><geom size=".1"/></body></body>""",
            more="",
        ).replace("<worldbody>", '<worldbody><geom type="plane" pos="0 0 -.05" size="1 1 1"/>')
    )
    warned = inspect_world(World.load(path))["warnings"][0]
    assert "overlap at the start" in warned and "--ignore-overlaps" in warned
    world = World.load(path, ignore_overlaps=True)
    assert world.model.nexclude == 2  # two of the three bodies and the floor
    assert Session(world).run(0.01)["tool_energy"].max() < 1.0


def test_explicit_pairs_that_overlap_are_let_through_too() -> None:
    geom = '<geom name="{}" size=".1" contype="0" conaffinity="0"/>'
    bodies = "".join(
        f'<body name="{n}" pos="{x} 0 0"><freejoint/>{geom.format(n)}</body>'
        for n, x in (("a", 0.0), ("b", 0.05), ("c", 1.0))
    )
    pairs = '<contact><pair geom1="a" geom2="b"/><pair geom1="a" geom2="c"/></contact>'
    world = World.from_string(scene(bodies, more=pairs), tool="a", ignore_overlaps=True)
    data = mujoco.MjData(world.model)
    mujoco.mj_forward(world.model, data)
    assert (data.ncon, world.model.npair) == (0, 1)


# --- how stiff


def test_the_stiffest_contact_is_that_of_the_lightest_side() -> None:
    text = scene(
        """<body name="rod"><freejoint/>
        <geom name="rod" type="box" size=".1 .01 .02" mass="3"/></body>"""
    )
    world = World.from_string(text)
    data = mujoco.MjData(world.model)
    mujoco.mj_forward(world.model, data)
    light = lightest_contact(world, data)
    assert light is not None and light.mass == pytest.approx(3.0)  # through the centre of mass
    assert stiffest(light.mass, 1000.0) == pytest.approx(0.25 * 3.0 * 1e6)
    assert least_rate(3.0, stiffest(3.0, 1234.0)) == pytest.approx(1234.0)
    assert (
        "7.5e+05 at 1 kHz, 3e+06 at 2 kHz, 1.2e+07 at 4 kHz"
        in inspect_world(world)["stiffest_contact"]
    )


LIGHT_BALL = scene(
    """<geom name="floor" type="plane" size="1 1 .1"/>
    <body name="ball" pos="0 0 .0999"><freejoint/>
      <geom name="ball" size=".1" mass=".02"/></body>"""
)


def test_a_bound_that_acts_is_noted_with_the_rate_at_which_it_would_not() -> None:
    stiff = Contact(mode="penalty", stiffness=20_000.0, damping=1.0)
    hand = Constant(force=(0.0, 0.0, -1.0))

    def notes(rate: float) -> list[str]:
        run = Session(World.from_string(LIGHT_BALL), stiff, rate=rate).run(0.05, hand)
        assert bool(run["bounded"].any()) == bool(run.meta["notes"])
        return list(run.meta["notes"])

    (said,) = notes(1000.0)
    assert "most at floor–ball: stiffness to 25 %" in said  # ¼ 0.02/T² = 5000 N/m
    assert "from 2000 Hz on they would not be" in said
    assert notes(2010.0) == []


@pytest.mark.live
def test_a_live_run_notes_the_same() -> None:
    stiff = Contact(mode="penalty", stiffness=20_000.0, damping=1.0)
    session = Session(World.from_string(LIGHT_BALL), stiff)
    with session.live(rate=1000.0, hand=Constant(force=(0.0, 0.0, -1.0))) as live:
        assert wait_for(lambda: bool(live.notes()))
    (said,) = live.notes()
    assert "most at floor–ball: stiffness to 25 %" in said
    assert "from 2000 Hz on they would not be" in said


# --- what is wrong, in words

BROKEN = {
    '<geom size="-1"/>': "size 0 must be positive in geom (number 0, which has no name), line 1",
    "<bdy/>": "loads: unrecognized element <bdy>, line 1",
    "<body><joint/></body>": "moving bodies must be positive (number 1, which has no name)",
    '<geom size=".1" foo="1"/>': "loads: unrecognized attribute: 'foo' (in <geom>), line 1",
    "<body>": "loads: it is not well-formed XML, line 1",
}


NOT_NUMBERS = {
    '<body name="a" pos="nan 0 0"><joint/><geom size=".1"/></body>': "pos of body 'a'",
    '<body name="a" euler="nan 0 0"><joint/><geom size=".1"/></body>': "quat of body 'a'",
    '<geom name="g" size=".1" pos="0 inf 0"/>': "pos of geom 'g'",
    '<body><joint name="j" damping="nan"/><geom size=".1"/></body>': "damping of joint 'j'",
    '<body><joint name="j" armature="inf"/><geom size=".1"/></body>': "armature of joint 'j'",
    '<body><joint name="j" springref="nan"/><geom size=".1"/></body>': "springref of joint 'j'",
    '</worldbody><option gravity="0 0 nan"/><worldbody>': "gravity",
}


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_numbers_that_are_none_are_named(text: str) -> None:
    ball = '<body name="ball"><freejoint/><geom size=".1"/></body>'
    with pytest.raises(SceneError, match=NOT_NUMBERS[text] + " of the scene 's' must be finite"):
        World.from_string(scene(text + ball), tool="ball", name="s")


def test_limits_may_be_open() -> None:
    rod = ROD.replace("/>", ' range="0 inf" limited="true"/>', 1)
    assert World.from_string(scene(rod)).model.jnt_range[0, 1] == np.inf


@pytest.mark.parametrize("text", BROKEN)
def test_what_mujoco_says_is_put_in_words(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(f"<mujoco><worldbody>{text}</worldbody></mujoco>")
    with pytest.raises(SceneError) as caught:
        World.load(path)
    assert BROKEN[text] in str(caught.value)
    assert "Error" not in str(caught.value)


def test_a_mesh_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "scene.xml"
    geom = '<body><joint/><geom type="mesh" mesh="gone"/></body>'
    mesh = '<asset><mesh file="gone.stl"/></asset>'
    path.write_text(f"<mujoco>{mesh}<worldbody>{geom}</worldbody></mujoco>")
    with pytest.raises(SceneError, match=r"loads: there is no file 'gone.stl' where it looks"):
        World.load(path)


def test_a_folder_is_not_a_scene_but_may_have_some(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="is a folder; scene files in it: none"):
        World.load(tmp_path)
    for name in ("b.urdf", "a.xml", "readme.md"):
        (tmp_path / name).touch()
    with pytest.raises(SceneError, match=r"is a folder; scene files in it: a\.xml, b\.urdf$"):
        World.load(tmp_path)


# --- meshes


def hollow_world(folder: Path, **options: bool) -> World:
    """A U-shaped body that stands on its back, over nothing."""
    obj(folder / "u.obj", *U_SHAPE)
    path = folder / "scene.xml"
    path.write_text(
        """<mujoco><asset><mesh name="u" file="u.obj"/></asset><worldbody>
        <body name="u" pos=".3 0 0" euler="10 20 30"><freejoint/>
          <geom name="u" type="mesh" mesh="u" mass="1"/></body></worldbody></mujoco>"""
    )
    return World.load(path, **options)


def test_a_mesh_that_is_not_convex_is_warned_of(tmp_path: Path) -> None:
    model = hollow_world(tmp_path).model
    assert decompose.hollow_meshes(model) == {0: pytest.approx(0.06, abs=0.02)}  # its gap's sides
    warned = " ".join(inspect_world(hollow_world(tmp_path))["warnings"])
    assert "u (by" in warned and "--decompose" in warned
    cube = scene('<body><freejoint/><geom type="mesh" mesh="c"/></body>').replace(
        "<worldbody>", '<asset><mesh name="c" builtin="sphere" params="3"/></asset><worldbody>'
    )
    assert decompose.hollow_meshes(World.from_string(cube).model) == {}


def ball(count: int, dent: float) -> tuple[np.ndarray, np.ndarray]:
    """A ball of many faces, one small patch of which lies *dent* deeper."""
    from scipy.spatial import ConvexHull

    k = np.arange(count) + 0.5
    down, round_ = np.arccos(1.0 - 2.0 * k / count), np.pi * (1.0 + 5.0**0.5) * k
    points = np.stack(
        (np.cos(round_) * np.sin(down), np.sin(round_) * np.sin(down), np.cos(down)), axis=1
    )
    faces = ConvexHull(points).simplices
    points[points @ (0.6, 0.0, 0.8) > np.cos(0.18)] *= 1.0 - dent
    return points, faces


def by_all(vertices: np.ndarray, faces: np.ndarray) -> float:
    """The same, of all faces and all planes."""
    from scipy.spatial import ConvexHull

    planes = ConvexHull(vertices).equations
    centres = vertices[faces].mean(axis=1)
    return float((-(centres @ planes[:, :3].T + planes[:, 3])).min(axis=1).max())


@pytest.mark.slow
@pytest.mark.parametrize("stretch", [1.0, 10.0])
def test_a_small_dent_of_a_fine_mesh_is_found_with_few_planes(
    stretch: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    vertices, faces = ball(2000, dent=0.3)
    vertices *= (1.0, 1.0, stretch)
    deepest = by_all(vertices, faces)
    tried, depths = [], decompose._depths
    monkeypatch.setattr(
        decompose, "_depths", lambda p, q: tried.append(len(p) * len(q)) or depths(p, q)
    )
    monkeypatch.setattr(decompose, "_PLANES", 96)  # a third of what a mesh three times as fine gets
    monkeypatch.setattr(decompose, "_BLOCK", 256)
    assert deepest > decompose.tolerance(vertices)
    assert decompose.hollow(vertices, faces) == pytest.approx(deepest, rel=1e-9)
    assert sum(tried) < 0.3 * len(faces) ** 2  # not all against all
    whole, faces = ball(2000, dent=0.0)
    assert decompose.hollow(whole * (1.0, 1.0, stretch), faces) <= decompose.tolerance(whole)


def test_without_the_extra_decomposing_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DETENT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(__import__("sys").modules, "coacd", None)
    with pytest.raises(MissingExtraError, match=r"detent\[coacd\]"):
        hollow_world(tmp_path, decompose=True)


#: of CoACD: a fiftieth of the time for a U, whose faces need no repair
COARSE = {
    **{"preprocess_mode": "off", "resolution": 1000},
    **{"mcts_iterations": 60, "mcts_nodes": 10, "mcts_max_depth": 2},
}


def test_parts_leave_the_gap_open_and_come_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coacd = pytest.importorskip("coacd")
    if not LONG:
        monkeypatch.setattr(coacd, "run_coacd", partial(coacd.run_coacd, **COARSE))
    monkeypatch.setenv("DETENT_CACHE_DIR", str(tmp_path / "cache"))
    whole, parted = hollow_world(tmp_path), hollow_world(tmp_path, decompose=True)
    model, data = parted.model, mujoco.MjData(parted.model)
    mujoco.mj_forward(model, data)
    assert model.body_mass == pytest.approx(whole.model.body_mass)
    assert model.body_inertia == pytest.approx(whole.model.body_inertia, rel=1e-6)
    parts = [g for g in range(model.ngeom) if model.geom_contype[g]]
    assert len(parts) >= 3 and model.geom("u").contype == 0
    turn, place = data.xmat[1].reshape(3, 3), data.xpos[1]
    gap, arm = place + turn @ [0.0, 0.0, 0.12], place + turn @ [0.08, 0.0, 0.12]

    def depth(point: np.ndarray) -> float:
        found = []
        for g in parts:
            local = data.geom_xmat[g].reshape(3, 3).T @ (point - data.geom_xpos[g])
            found.append(_inside(model, int(model.geom_dataid[g]), local))
        return max(found)

    assert depth(gap) < -0.03 and depth(arm) > 0.005
    monkeypatch.setattr(decompose, "_run_coacd", None)  # not called again
    assert hollow_world(tmp_path, decompose=True).model.ngeom == model.ngeom


def _inside(model: mujoco.MjModel, mesh: int, point: np.ndarray) -> float:
    """[m] How deep a point, in the frame of its geom, is in a convex mesh; negative outside."""
    from scipy.spatial import ConvexHull

    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    planes = ConvexHull(model.mesh_vert[first : first + count]).equations
    return float(-(planes[:, :3] @ point + planes[:, 3]).max())
