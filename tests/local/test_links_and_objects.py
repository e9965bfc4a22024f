"""Links of the tool that touch each other, bonds of friction, objects in traces, late answers."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Friction, LocalModel, Pace, Session, World
from detent.coupling.four_channel import TABLE_4_1
from detent.engines.frame import Frames
from detent.engines.mujoco_engine import MuJoCoEngine
from detent.engines.protocol import Task
from detent.errors import EngineError
from detent.hands import Constant, Guided
from detent.local.proxy import cut_to_tool
from detent.local.records import HEALTH, SEQUENCE, TIME, update_views
from detent.local.update import check_near
from detent.setup.prepared import advance
from lab import PLANAR, scene

CONTACT = Contact(4000.0, 30.0)
SLIDE = (
    '<joint type="slide" axis="{axis}"/><inertial pos="0 0 0" mass="{mass}" diaginertia="1 1 1"/>'
)
NESTED = scene(
    f'<body name="a">{SLIDE.format(axis="1 0 0", mass=1)}<geom type="box" size=".01 .01 .01"/>'
    f'<body name="b">{SLIDE.format(axis="0 1 0", mass=0.1)}'
    f'<body name="c" pos=".04 0 0">{SLIDE.format(axis="1 0 0", mass=1)}'
    '<geom type="sphere" size=".01"/></body></body></body>'
)
BLOCKS = scene(
    f'<body name="peg">{PLANAR}<geom type="box" size=".02 .02 .01" friction="0"/></body>'
    f'<body name="block" pos=".05 0 0">{PLANAR}'
    '<geom type="box" size=".02 .02 .01" friction="0"/></body>',
)


def test_links_of_the_tool_push_each_other() -> None:
    """A finger that is pushed against its own base takes it along, as in the whole world."""
    world = World.from_string(NESTED, tool="c")
    hand = Constant((-1.0, 0.0))
    exact = Session(world, CONTACT, TABLE_4_1, rate=1000.0).run(1.2, hand)
    session = Session(world, CONTACT, TABLE_4_1, rate=1000.0, local=LocalModel(), pace=Pace(1 / 60))
    felt = session.run(1.2, hand)
    assert exact["contacts"][-1] > 0 and felt["contacts"][-1] > 0
    apart = np.linalg.norm(felt["tool_position"] - exact["tool_position"], axis=1)
    assert apart.max() < 3e-4
    np.testing.assert_allclose(felt["tool_twist"][-1], exact["tool_twist"][-1], atol=2e-3)
    through = NESTED.replace('type="sphere"', 'type="sphere" contype="0" conaffinity="0"')
    alone = Session(World.from_string(through, tool="c"), CONTACT, TABLE_4_1, rate=1000.0)
    alone = alone.run(1.2, hand)
    assert np.abs(alone["tool_position"] - exact["tool_position"]).max() > 0.01


def test_a_plane_on_a_link_is_flat_and_of_the_tool() -> None:
    world = World.from_string(NESTED, tool="c")
    task = Task(world, cut_to_tool(world), LocalModel(epsilon=0.05), CONTACT)
    near = MuJoCoEngine(task).near()
    assert len(near) == 1 and sorted((near["link"][0], near["base"][0])) == [1, 3]
    near["base"] = 7
    with pytest.raises(EngineError, match="base"):
        check_near(near, 4)


def test_bonds_of_friction_survive_updates() -> None:
    """A box that is pressed on a wall and pulled along it below the limit stays where it is."""
    floor = '<geom type="plane" size="1 1 .1" pos="0 -.05 0" zaxis="0 1 0"/>'
    body = f'<body name="tool">{PLANAR}<geom type="box" size=".02 .02 .01"/></body>'
    world = World.from_string(scene(floor + body), tool="tool").placed((0.0, -0.03, 0.0))
    contact = Contact(4000.0, 30.0, friction=Friction(0.5, damping_ratio=1.0))
    path = [(0.0, 0.0, -0.03), (0.5, 0.0, -0.05), (0.8, 0.006, -0.05), (3.0, 0.006, -0.05)]
    hand = Guided(400.0, 10.0, 1.0, 0.02, path=[(*row, 0.0) for row in path])
    ways = {}
    for name, local, pace in (("whole", None, None), ("local", LocalModel(), Pace(1 / 60))):
        trace = Session(world, contact, rate=1000.0, local=local, pace=pace).run(3.0, hand)
        ways[name] = trace["tool_position"][:, 0]
        pulled = np.abs(trace["environment_wrench"][-1, 0])
        assert pulled > 1.0  # it is held by friction, and by nothing else
        assert abs(ways[name][-1] - ways[name][1500]) < 5e-6  # 90 updates later
    np.testing.assert_allclose(ways["local"][-1], ways["whole"][-1], atol=5e-5)


def test_a_trace_tells_where_objects_near_the_tool_were() -> None:
    world = World.from_string(BLOCKS, tool="peg")
    session = Session(world, CONTACT, TABLE_4_1, rate=1000.0, pace=Pace(0.02, latency=0.0),
                      local=LocalModel(constraints="inertial"))  # fmt: skip
    ready = session.prepare(Constant((0.5, 0.0)), 1000.0, 2048)
    engine = session.play_engine(ready)
    advance(ready, None, 0, 2000, engine)
    rows, block = ready.servo.ring[:2000], world.model.body("block").id
    seen = rows["near_body"][:, 0] == block
    assert seen[-1] and not seen[0]  # 10 mm away at first
    assert set(rows["near_body"][:, 1:].reshape(-1)) == {0}
    pose = rows["near_pose"][-1, :7]
    assert pose[0] > 0.06 and pose[3] == pytest.approx(1.0)
    last = engine._frames.engine.bodies()[block]
    np.testing.assert_allclose(pose[:3], last[:3], atol=0.02 * 0.5)  # at most a frame older
    whole = Session(world, CONTACT, TABLE_4_1, rate=1000.0).run(0.01)
    assert "near_body" not in whole.columns


class Answer:
    """What `near` found, ready when somebody has asked a few times."""

    def __init__(self, near: np.ndarray, asks: int) -> None:
        self.near, self.asks = near, asks

    def done(self) -> bool:
        self.asks -= 1
        return self.asks < 0

    def result(self) -> np.ndarray:
        return self.near


class Pondering(MuJoCoEngine):
    """Answers two frames late."""

    def near(self) -> Answer:
        return Answer(super().near(), 2)


def test_a_late_answer_is_of_the_state_it_was_asked_for() -> None:
    world = World.from_string(BLOCKS, tool="peg")
    task = Task(world, cut_to_tool(world), LocalModel(epsilon=0.02), CONTACT)
    frames, cut = Frames(Pondering(task), task), task.cut.world
    answers = []
    for k in range(6):
        state = np.concatenate([[0.01 * k], cut.qpos, cut.qvel, np.zeros(cut.model.nv)])
        state[1] = 0.001 * k
        answers.append(frames.make(state))
    assert answers[0] is None and answers[1] is None and frames.waits
    for k in range(2, 6):
        head, near = update_views(answers[k])
        assert head[HEALTH] == 0 and head[SEQUENCE] == k - 1
        assert head[TIME] == pytest.approx(0.01 * (k - 2))
        assert near["separation"][0] == pytest.approx(0.01 - 0.001 * (k - 2))


def test_a_late_answer_is_felt_as_a_late_frame_is() -> None:
    """Two frames late is the same as a latency of two periods."""
    world = World.builtin("corner").placed((0.0, -0.06, 0.0))
    hand = Constant((0.3, -1.0))
    runs = [
        Session(world, CONTACT, TABLE_4_1, rate=1000.0, local=LocalModel(), engine=engine,
                pace=Pace(0.01, latency=latency)).run(0.8, hand)
        for engine, latency in ((Pondering, 0.0), ("mujoco", 0.02))
    ]  # fmt: skip
    assert runs[0]["contacts"][-1] > 0
    np.testing.assert_allclose(runs[0]["tool_position"], runs[1]["tool_position"], atol=1e-9)
