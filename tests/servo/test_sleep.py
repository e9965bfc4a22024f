"""Bodies at rest sleep, wake in the tick in which something reaches them, and nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Friction, Session, Wall, World
from detent.errors import ParameterError
from detent.servo.constants import SLEEP_SPEED
from detent.servo.loop.exchange import publish
from detent.setup.prepared import Prepared
from lab import LOOSE, advance, scene, start

FLOOR = '<geom name="floor" type="plane" size="3 3 .1"/>'
BOX = '<freejoint/><geom type="box" size=".02 .02 .02" mass=".2"/>'
HELD = f'<body name="held" pos="-1 -1 .0199">{BOX}</body>'
DOWN = 'gravity="0 0 -9.81"'
SETTLED = 600  # [ticks] until what is put on a floor sleeps
ROUGH = Friction(static=0.6, kinetic=0.5)
TOLERANCE = 1e-6  # [m, -] of a state against that of a run without sleep
LEVER = 2 * 0.03  # [m] by which a change of a quaternion moves the surface of the largest body

CONTACTS = {
    "impulse": Contact(),
    "bouncing": Contact(restitution=0.4),
    "friction": Contact(friction=Friction()),
    "hysteretic": Contact(wall=Wall("hysteretic")),
    "rigid": Contact(mode="rigid"),
    "rigid, friction": Contact(mode="rigid", friction=Friction()),
}


def ready_for(
    bodies: str, contact: Contact | None = None, sleep: bool = True, more: str = ""
) -> Prepared:
    """A prepared session of a floor, a held box far away, and these bodies."""
    world = World.from_string(scene(FLOOR + HELD + bodies, DOWN, more), tool="held")
    return start(Session(world, contact or Contact(), LOOSE, sleep=sleep))


def place(ready: Prepared, name: str) -> np.ndarray:
    """Position and velocity of a body, as views on the state."""
    joint = int(ready.model.body(name).jntadr[0])
    return ready.data.qpos[ready.model.jnt_qposadr[joint] :][:3]


def push(ready: Prepared, name: str, velocity: tuple[float, float, float]) -> None:
    """Give a body a velocity."""
    first = int(ready.model.body(name).dofadr[0])
    ready.data.qvel[first : first + 3] = velocity


def asleep(ready: Prepared) -> set[str]:
    """Root bodies of the trees that sleep."""
    trees = np.nonzero(ready.servo.sleep.dozing)[0]
    return {ready.model.body(int(ready.model.tree_bodyadr[t])).name for t in trees}


def row_of(count: int) -> str:
    """Boxes in a row, a millimetre between them, and a ball that waits in front."""
    boxes = (f'<body name="b{i}" pos="{0.041 * i} 0 .0199">{BOX}</body>' for i in range(count))
    ball = '<body name="ball" pos="-.2 0 .0299"><freejoint/><geom size=".03" mass=".3"/></body>'
    return "".join(boxes) + ball


# --- the same as without


@pytest.mark.parametrize("contact", CONTACTS.values(), ids=CONTACTS)
def test_a_ball_rolls_into_a_row_of_boxes(contact: Contact) -> None:
    """Each sleeps until it is reached, and goes where it would have gone."""
    states = {}
    for sleep in (True, False):
        ready = ready_for(row_of(4), contact, sleep)
        advance(ready, SETTLED)
        if sleep:
            assert asleep(ready) >= {"b0", "b1", "b2", "b3"}
        push(ready, "ball", (0.6, 0.0, 0.0))
        advance(ready, 350)
        if sleep:
            assert "b0" not in asleep(ready)
        advance(ready, 350)
        states[sleep] = ready.data.qpos.copy()
        assert place(ready, "b0")[0] > 2e-3  # it was hit
    apart = np.abs(states[True] - states[False]).reshape(-1, 7)
    apart[:, 3:] *= LEVER
    assert apart.max() < TOLERANCE


def test_what_lies_on_a_slope_keeps_its_bonds() -> None:
    """Friction holds a box on a slope by bonds; it wakes with them, and does not slip."""
    slope = '<geom type="box" size=".3 .3 .05" pos="0 0 .2" euler="0 15 0"/>'
    turn = 'euler="0 15 0"'
    box = f'<body name="box" pos="0 0 .2722" {turn}>{BOX}</body>'
    ball = '<body name="ball" pos="0 0 .6"><freejoint/><geom size=".01" mass=".01"/></body>'
    states = {}
    for sleep in (True, False):
        ready = ready_for(slope + box + ball, Contact(friction=ROUGH), sleep)
        home = place(ready, "ball").copy()
        for _ in range(10):  # it hangs in the air until the box sleeps
            advance(ready, 100)
            place(ready, "ball")[:] = home
            push(ready, "ball", (0.0, 0.0, 0.0))
        assert asleep(ready) == ({"box"} if sleep else set())
        before = place(ready, "box").copy()
        advance(ready, 1500)  # the ball has hit it and rolled off
        assert place(ready, "ball")[2] < 0.2
        assert np.linalg.norm(place(ready, "box") - before) < 1e-3
        states[sleep] = place(ready, "box").copy()
    np.testing.assert_allclose(states[True], states[False], atol=TOLERANCE)


# --- what wakes


def test_a_pile_falls_when_its_support_goes() -> None:
    support = f'<body name="low" pos="0 0 .0199">{BOX}</body>'
    pile = "".join(
        f'<body name="b{i}" pos="0 0 {0.0597 + 0.0398 * i}">{BOX}</body>' for i in range(2)
    )
    fallen = {}
    for sleep in (True, False):
        ready = ready_for(support + pile, Contact(4000.0, 30.0), sleep)
        advance(ready, 3 * SETTLED)
        assert asleep(ready) == ({"low", "b0", "b1"} if sleep else set())
        height = place(ready, "b0")[2]
        place(ready, "low")[0] += 0.5
        advance(ready, 50)
        assert height - place(ready, "b0")[2] > 0.01  # from the first tick on
        fallen[sleep] = ready.data.qpos.copy()
    np.testing.assert_allclose(fallen[True], fallen[False], atol=TOLERANCE)


def test_what_lies_on_a_platform_wakes_with_it() -> None:
    """Nothing touches the box but the platform, which the held body tilts."""
    bodies = f"""<body name="platform" pos="0 0 .3">
          <joint axis="0 1 0" damping=".3" stiffness="2"/>
          <geom type="box" size=".2 .1 .01" mass="1"/></body>
        <body name="box" pos=".03 0 .3299">{BOX}</body>
        <body name="held" pos="-.15 0 .5"><freejoint/><geom size=".02" mass=".3"/></body>"""
    world = World.from_string(scene(bodies, DOWN), tool="held")
    found = {}
    for sleep in (True, False):
        ready = start(
            Session(
                world,
                Contact(4000.0, 30.0, mode="penalty", friction=Friction()),
                LOOSE,
                sleep=sleep,
            )
        )
        home = place(ready, "held").copy()
        for _ in range(200):
            advance(ready, 10)
            place(ready, "held")[:] = home
            push(ready, "held", (0.0, 0.0, 0.0))
        assert asleep(ready) == ({"platform", "box"} if sleep else set())
        advance(ready, 260)  # longer, and round-off would grow in both runs
        assert asleep(ready) == set()
        found[sleep] = ready.data.qpos.copy()
    np.testing.assert_allclose(found[True], found[False], atol=TOLERANCE)


def test_what_loops_tie_sleeps_and_wakes_together() -> None:
    pair = f"""<body name="one" pos="0 0 .0199">{BOX}</body>
        <body name="two" pos=".1 0 .0199">{BOX}</body>"""
    weld = '<equality><connect body1="one" body2="two" anchor=".05 0 0"/></equality>'
    ready = ready_for(pair, more=weld)
    for _ in range(20):
        advance(ready, 50)
        assert asleep(ready) in (set(), {"one", "two"})
    assert asleep(ready) == {"one", "two"}
    push(ready, "two", (0.0, 0.2, 0.0))
    advance(ready, 100)
    assert asleep(ready) == set()
    assert place(ready, "one")[1] != 0.0


@pytest.mark.parametrize("what", ["gravity", "parameters", "velocity", "place"])
def test_a_change_wakes_in_the_same_tick(what: str) -> None:
    ready = ready_for(f'<body name="box" pos="0 0 .0199">{BOX}</body>')
    advance(ready, SETTLED)
    assert asleep(ready) == {"box"}
    if what == "gravity":
        ready.model.opt.gravity[0] = 1.0
    elif what == "parameters":
        p = ready.servo.parameters.copy()
        p["stiffness"] *= 0.5
        publish(ready.servo.commands, p.view(np.uint8))
    elif what == "velocity":
        push(ready, "box", (0.0, 0.1, 0.0))
    else:
        place(ready, "box")[2] += 0.01
    before = ready.data.qpos.copy()
    advance(ready, 1)
    assert asleep(ready) == set()
    assert (ready.data.qpos != before)[7:].any()


# --- who does not


def test_the_tool_and_what_has_a_motor_never_sleep() -> None:
    motor = """<body name="fan" pos="0 0 1"><joint name="spin"/><geom size=".1"/></body>
        <body name="door" pos="0 1 1"><joint/><geom size=".1"/></body>"""
    ready = ready_for(motor, more='<actuator><motor joint="spin"/></actuator>')
    advance(ready, SETTLED)
    assert asleep(ready) == {"door"}


def test_what_creeps_faster_than_the_tolerance_goes_on() -> None:
    ready = ready_for(f'<body name="box" pos="0 0 .0199">{BOX}</body>')
    advance(ready, 80)
    push(ready, "box", (3.0 * SLEEP_SPEED, 0.0, 0.0))
    before = place(ready, "box")[0]
    advance(ready, 2000)
    assert asleep(ready) == set()
    assert place(ready, "box")[0] - before == pytest.approx(6.0 * SLEEP_SPEED, rel=0.01)


def test_sleep_can_be_left_out() -> None:
    ready = ready_for(f'<body name="box" pos="0 0 .0199">{BOX}</body>', sleep=False)
    advance(ready, SETTLED)
    assert asleep(ready) == set()
    assert ready.servo.rows.count[0] == 8
    with pytest.raises(ParameterError, match="True or False"):
        Session(World.builtin("corner"), sleep=1)  # type: ignore[arg-type]


# --- what it costs


def test_what_sleeps_is_not_looked_at() -> None:
    """No rows, no contacts, and a state that keeps its last bit."""
    ready = ready_for(row_of(4))
    advance(ready, SETTLED)
    assert ready.servo.rows.count[0] == 4  # of the held box
    before = ready.data.qpos.copy()
    advance(ready, 200)
    assert (ready.data.qpos[7:] == before[7:]).all()


def test_sleeping_and_waking_allocates_nothing() -> None:
    from numba.core.runtime import _nrt_python, rtsys

    ready = ready_for(row_of(4), Contact(friction=Friction()))
    _nrt_python.memsys_enable_stats()
    advance(ready, SETTLED)
    counts = []
    for _ in range(2):
        before = rtsys.get_allocation_stats().alloc
        push(ready, "b0", (0.0, 0.1, 0.0))
        advance(ready, 20)
        woken = asleep(ready)
        advance(ready, SETTLED)
        counts.append(rtsys.get_allocation_stats().alloc - before)
        assert woken != asleep(ready)
    assert counts[-1] == 0


def test_static_geoms_are_where_they_were_put() -> None:
    """They are not computed again, also if nothing but the tool moves."""
    world = World.from_string(
        scene(FLOOR + HELD + '<body name="wall" pos="1 2 3"><geom pos=".5 0 0" size=".1"/></body>'),
        tool="held",
    )
    ready = start(Session(world))
    advance(ready, 5)
    geom = int(world.model.body("wall").geomadr[0])
    np.testing.assert_allclose(ready.data.geom_xpos[geom], (1.5, 2.0, 3.0))
    ready.data.geom_xpos[geom] = 7.0
    advance(ready, 1)
    np.testing.assert_allclose(ready.data.geom_xpos[geom], 7.0)


def test_only_contacts_of_what_fell_asleep_are_kept() -> None:
    """A ball that rolls on beside it has its own."""
    box = f'<body name="b" pos="0 0 .0199">{BOX}</body>'
    ball = '<body name="ball" pos="1 0 .0299"><freejoint/><geom size=".03" mass=".3"/></body>'
    ready = ready_for(box + ball, Contact(friction=ROUGH))
    for _ in range(300):
        push(ready, "ball", (0.1, 0.0, 0.0))
        advance(ready, 1)
        if asleep(ready):
            break
    assert asleep(ready) == {"b"}
    sl = ready.servo.sleep
    kept = {int(t) for t in sl.kept_tree[: sl.kept[0]]}
    assert kept == {int(t) for t in np.nonzero(sl.dozing)[0]}
    assert sl.kept[0] == 4  # vertices
