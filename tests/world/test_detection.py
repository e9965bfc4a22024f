"""Collision detection (M35): the broad phase loses nothing, and contacts keep their identity."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import mujoco
import numpy as np
import pytest

from detent import Contact, Friction, Session, Wall, World
from detent.devices import Inertial
from detent.kernels.friction import LAWS
from detent.servo import places
from detent.servo.contact.identity import keeps_memory, move_memories, recall, remember
from detent.setup.prepared import Prepared
from lab import PLANAR, loose, run_stage, scene, start

PLANAR_SHAPES = ("box", "sphere", "cylinder")
SPATIAL_SHAPES = ("box", "sphere", "capsule", "cylinder", "ellipsoid")
BOX, CYLINDER, MESH = (
    int(mujoco.mjtGeom.mjGEOM_BOX),
    int(mujoco.mjtGeom.mjGEOM_CYLINDER),
    int(mujoco.mjtGeom.mjGEOM_MESH),
)
SIZE = 0.02  # [m]
TOUCHING = 1e-6  # [m] nearer than this the two distance algorithms may disagree

#: by the names of two geoms: distance, point and normal of their contacts (n, 7)
Found = dict[tuple[str, str], np.ndarray]


# --- scenes


def shape(name: str, kind: str, rng: np.random.Generator) -> str:
    """A geom of random size."""
    x, y, z = SIZE * rng.uniform(0.3, 1.0, 3)
    size = {"sphere": f"{x}", "capsule": f"{x} {y}", "cylinder": f"{x} {y}"}.get(
        kind, f"{x} {y} {z}"
    )
    return f'<geom name="{name}" type="{kind}" size="{size}"/>'


def planar_scene(rng: np.random.Generator, count: int) -> tuple[list[str], np.ndarray]:
    """Bodies that move in the plane, upright cylinders among them, and where they are."""
    bodies, qpos = [], []
    for i in range(count):
        geom = shape(f"g{i}", PLANAR_SHAPES[i % len(PLANAR_SHAPES)], rng)
        bodies.append(f'<body name="b{i}">{PLANAR}{geom}</body>')
        qpos += [*rng.uniform(-0.06, 0.06, 2), rng.uniform(-3, 3)]
    return bodies, np.array(qpos)


def spatial_scene(rng: np.random.Generator, count: int) -> tuple[list[str], np.ndarray]:
    """Free bodies, and where they are."""
    bodies, qpos = [], []
    for i in range(count):
        geom = shape(f"g{i}", SPATIAL_SHAPES[i % len(SPATIAL_SHAPES)], rng)
        bodies.append(f'<body name="b{i}"><freejoint/>{geom}</body>')
        turn = rng.standard_normal(4)
        qpos += [*rng.uniform(-0.05, 0.05, 3), *(turn / np.linalg.norm(turn))]
    return bodies, np.array(qpos)


WALLS = (
    f'<geom name="floor" type="plane" size="1 1 .1" pos="0 -0.05 0" zaxis="0 1 0"/>'
    f'<geom name="wall" type="box" size="{SIZE} .1 .1" pos="{0.05 + SIZE} 0 0"/>'
)
SCENES = {"planar": (planar_scene, 3), "spatial": (spatial_scene, 7)}


def contacts(bodies: Sequence[str], qpos: np.ndarray) -> Found:
    """MuJoCo's contacts by pair of geoms, sorted by point."""
    model = mujoco.MjModel.from_xml_string(scene(WALLS + "".join(bodies)))
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    out: dict[tuple[str, str], list[np.ndarray]] = {}
    for c in data.contact:
        pair = (model.geom(c.geom1).name, model.geom(c.geom2).name)
        out.setdefault(pair, []).append(np.concatenate([[c.dist], c.pos, c.frame[:3]]))
    return {pair: np.array(sorted(map(tuple, rows))) for pair, rows in out.items()}


def brute_force(bodies: Sequence[str], qpos: np.ndarray, size: int) -> Found:
    """Every pair of bodies alone in the world: there is nothing that could be filtered out."""
    out: Found = {}
    for i, j in itertools.combinations(range(len(bodies)), 2):
        own = np.concatenate([qpos[size * k : size * (k + 1)] for k in (i, j)])
        out |= contacts([bodies[i], bodies[j]], own)
    for i, body in enumerate(bodies):
        out |= contacts([body], qpos[size * i : size * (i + 1)])
    return out


@pytest.mark.parametrize("kind", SCENES)
@pytest.mark.parametrize("seed", range(4))
def test_the_same_contacts_as_brute_force(kind: str, seed: int) -> None:
    make, size = SCENES[kind]
    bodies, qpos = make(np.random.default_rng(seed), 14)
    found, expected = contacts(bodies, qpos), brute_force(bodies, qpos, size)
    assert len(expected) > 10
    assert found.keys() == expected.keys()
    for pair, rows in found.items():
        np.testing.assert_allclose(rows, expected[pair], atol=1e-12, err_msg=str(pair))


@pytest.mark.parametrize("kind", SCENES)
@pytest.mark.parametrize("seed", range(4))
def test_pairs_touch_where_their_distance_is_negative(kind: str, seed: int) -> None:
    """Against another algorithm: `mj_geomDistance` (GJK and EPA), pair by pair."""
    make, _ = SCENES[kind]
    bodies, qpos = make(np.random.default_rng(100 + seed), 14)
    model = mujoco.MjModel.from_xml_string(scene("".join(bodies)))
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    touching = {tuple(sorted(c.geom)) for c in data.contact}
    decided = 0
    for pair in itertools.combinations(range(model.ngeom), 2):
        apart = mujoco.mj_geomDistance(model, data, *pair, 1.0, None)
        if abs(apart) > TOUCHING:
            decided += 1
            assert (pair in touching) == (apart < 0.0), (pair, apart)
    assert decided > 80


@pytest.mark.parametrize("kind", SCENES)
@pytest.mark.parametrize("seed", range(3))
def test_the_servo_has_a_row_for_every_touching_pair(kind: str, seed: int) -> None:
    """And each row is one of MuJoCo's contacts."""
    make, size = SCENES[kind]
    bodies, qpos = make(np.random.default_rng(200 + seed), 12)
    world = World.from_string(scene(WALLS + "".join(bodies)), tool="b0").placed(qpos)
    ready = start(loose(world), ring=8)
    ready.servo.rows.slack_left[0] = 0  # overlaps of the start are not forgiven
    run_stage(ready.servo, places.SENSE)
    rows = ready.servo.rows
    expected = brute_force(bodies, qpos, size)
    assert rows.dropped[0] == 0, "none dropped"
    seen = set()
    for r in range(rows.count[0]):
        pair = tuple(world.model.geom(int(g)).name for g in rows.geom[r])
        own = np.concatenate([[rows.separation[r]], rows.point[r], rows.normal[r]])
        seen.add(pair)
        kinds = {int(world.model.geom_type[g]) for g in rows.geom[r]}
        if kinds & {BOX, MESH} and CYLINDER in kinds:
            continue  # seen more truly than MuJoCo does (tests/kernels/test_shadow.py)
        assert np.abs(expected[pair] - own).max(axis=1).min() < 1e-12, pair
    assert seen == expected.keys()


# --- identity: the history of a contact, as S4's god object per contact has it


PEG = '<geom name="peg" type="box" size=".02 .01 .01"/>'
FLOOR = '<geom name="floor" type="plane" size="1 1 .1" zaxis="0 1 0"/>'
STEP = '<geom name="step" type="box" size=".05 .05 .02" pos="-.05 -.05 0"/>'  # corner at 0, 0
TAG = -1  # column of the memory


def prepared(static: str, geom: str = PEG) -> Prepared:
    world = World.from_string(scene(f'{static}<body name="peg">{PLANAR}{geom}</body>'))
    return start(loose(world, Contact()), ring=8)


def look(ready: Prepared, qpos: Sequence[float]) -> dict[float, float]:
    """Move the peg, detect, recall: the memory of each contact by its x in the peg [mm]."""
    servo = ready.servo
    servo.scene.qpos[:] = qpos
    run_stage(servo, places.SENSE)
    recall(servo.scene, servo.rows)
    out = {}
    for r in range(servo.rows.count[0]):
        side = 1 if servo.rows.tree[r, 1] >= 0 else 0
        out[round(1e3 * float(servo.rows.local[r, side, 0]), 1)] = float(servo.rows.memory[r, TAG])
    return out


def tag(ready: Prepared) -> None:
    """Give each contact without a memory one of its own, and keep it for the next look."""
    rows = ready.servo.rows
    taken = rows.memory[: rows.count[0], TAG].max(initial=0.0)
    for r in range(rows.count[0]):
        if rows.memory[r, TAG] == 0.0:
            taken += 1.0
            rows.memory[r, TAG] = taken
    remember(rows, 0.0)


def remembers(session: Session) -> bool:
    servo = start(session).servo
    return bool(keeps_memory(servo.parameters, servo.rows))


def test_contacts_are_recognised_where_something_has_a_history() -> None:
    """All laws of friction, walls, and springs that start anew; else it would cost for nothing."""
    kept = [Contact(friction=Friction(law=law)) for law in LAWS if law != "none"]
    kept += [Contact(wall=Wall(kind)) for kind in ("seh", "pi", "pulse", "hysteretic")]
    kept += [Contact(strategy="scale", limit="rezero"), Contact()]
    device = Inertial(limits=(15.0, 15.0, 1.0))
    for contact in (*kept, Contact(limit="total")):
        session = Session(World.builtin("corner"), contact, device=device)
        assert remembers(session) == (contact in kept), contact
    assert not remembers(Session(World.builtin("corner")))  # nothing yields without a limit


def test_a_new_contact_has_no_history() -> None:
    ready = prepared(FLOOR)
    first = look(ready, (0.0, 0.0099, 0.0))
    assert len(first) == 2  # one per vertex
    assert set(first.values()) == {0.0}
    tag(ready)
    assert sorted(look(ready, (0.0, 0.0099, 0.0)).values()) == [1.0, 2.0]


def test_a_tick_recalls_and_remembers() -> None:
    """A contact keeps its memory from tick to tick, and one that comes back has none."""
    world = World.from_string(scene(f'{FLOOR}<body name="peg">{PLANAR}{PEG}</body>'))
    ready = start(loose(world, Contact(friction=Friction())), ring=8)
    servo, rows = ready.servo, ready.servo.rows

    def tags(height: float) -> list[float]:
        servo.scene.qpos[:], servo.scene.qvel[:] = (0.0, height, 0.0), 0.0
        for place in (places.SENSE, places.APPROACH, places.REACT):
            run_stage(servo, place)
        return rows.memory[: rows.count[0], TAG].tolist()

    assert tags(0.0099) == [0.0, 0.0]
    rows.memory[:2, TAG] = (1.0, 2.0)
    assert tags(0.0099) == [1.0, 2.0]
    assert tags(0.02) == []
    assert tags(0.0099) == [0.0, 0.0]


def test_every_memory_follows_its_contact_to_another_row() -> None:
    """The first and the last, too; a contact without a past has none."""
    rows = start(
        loose(World.from_string(scene(f'{FLOOR}<body name="p">{PLANAR}{PEG}</body>')))
    ).servo.rows
    for new in ([2, 1, 0], [1, 2, 0], [2, -1, 1], [-1, 0, 2]):
        rows.memory[:] = 0.0
        rows.memory[:3] = np.array([[1.0], [2.0], [3.0]])
        rows.old_count[0], rows.old_row[:3], rows.count[0] = 3, range(3), 3
        rows.recalled[:3] = new
        move_memories(rows)
        want = [0.0 if old < 0 else old + 1.0 for old in new]
        np.testing.assert_array_equal(rows.memory[:3, 0], want)
        np.testing.assert_array_equal(rows.memory[:3, -1], want)


def test_vertices_that_slide_keep_their_history() -> None:
    ready = prepared(FLOOR)
    look(ready, (0.0, 0.0099, 0.0))
    tag(ready)
    left = look(ready, (0.0, 0.0099, 0.0))[-20.0]
    rng = np.random.default_rng(0)
    for x in np.linspace(0.0, 0.3, 200):
        tilt = rng.uniform(-1e-3, 1e-3)  # changes the order of MuJoCo's contacts
        seen = look(ready, (x, 0.0099, tilt))
        assert len(seen) == 2
        for place, memory in seen.items():
            assert memory == (left if place < 0.0 else 3.0 - left), x
        tag(ready)


def test_an_edge_that_slides_over_a_vertex_keeps_its_history() -> None:
    """The point stays put in the obstacle's frame and moves in the peg's."""
    ready = prepared(STEP)
    tilt, depth = -0.1, 1e-4
    turn = np.array([[np.cos(tilt), -np.sin(tilt)], [np.sin(tilt), np.cos(tilt)]])
    places = []
    for along in np.linspace(0.015, -0.015, 150):  # where the obstacle's vertex is, in the peg
        qpos = -turn @ np.array([along, -0.01 + depth])
        seen = look(ready, (*qpos, tilt))
        assert len(seen) == 1
        assert set(seen.values()) == ({1.0} if places else {0.0})
        places.append(next(iter(seen)))
        tag(ready)
    assert max(places) - min(places) == pytest.approx(30.0, abs=0.5)


def test_a_contact_that_parts_starts_anew() -> None:
    ready = prepared(FLOOR)
    look(ready, (0.0, 0.0099, 0.0))
    tag(ready)
    lifted = look(ready, (0.0, 0.0105, 0.05))  # only the left vertex stays
    assert len(lifted) == 1
    kept = next(iter(lifted.values()))
    tag(ready)
    again = look(ready, (0.0, 0.0099, 0.0))
    assert sorted(again.values()) == [0.0, kept]
    assert again[-20.0] == kept


def test_a_contact_whose_normal_turns_is_another_one() -> None:
    """A peg that goes from the top of a step to its side."""
    ready = prepared(STEP)
    look(ready, (-0.01, 0.0099, 0.0))
    tag(ready)
    beside = look(ready, (0.0199, -0.02, 0.0))
    assert ready.servo.rows.count[0] == 2
    assert set(beside.values()) == {0.0}


def test_a_rolling_ball_does_not_confuse_two_walls() -> None:
    """In a corner each wall keeps its contact while the ball turns on the spot."""
    corner = FLOOR + '<geom name="side" type="plane" size="1 1 .1" pos=".1 0 0" zaxis="-1 0 0"/>'
    ready = prepared(corner, '<geom name="ball" type="sphere" size=".01"/>')
    memories: dict[str, float] = {}
    for angle in np.linspace(0.0, 6.0, 100):
        look(ready, (0.0901, 0.0099, angle))
        rows, model = ready.servo.rows, ready.model
        assert rows.count[0] == 2
        if memories:
            for r in range(2):
                wall = model.geom(int(rows.geom[r, 0])).name
                assert rows.memory[r, TAG] == memories[wall]
        tag(ready)
        memories = {
            model.geom(int(rows.geom[r, 0])).name: float(rows.memory[r, TAG]) for r in range(2)
        }
    assert sorted(memories.values()) == [1.0, 2.0]


# --- the search for contacts


@pytest.mark.parametrize(("studs", "direct"), [(1, True), (64, True), (65, False)])
def test_few_geoms_are_tested_pair_by_pair_with_the_same_contacts(studs: int, direct: bool) -> None:
    rng = np.random.default_rng(studs)
    places = rng.uniform(-0.1, 0.1, (studs, 2))
    floor = "".join(f'<geom type="sphere" size=".05" pos="{x} {y} 0"/>' for x, y in places)
    body = '<body name="slab" pos="0 0 .055"><freejoint/><geom type="box" size=".1 .1 .01"/></body>'
    world = World.from_string(scene(floor + body))
    model, data = (ready := start(loose(world))).model, ready.data
    flag = int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    assert bool(model.opt.disableflags & flag) == direct
    assert not world.model.opt.disableflags & flag
    found = []
    for _ in range(2):
        mujoco.mj_forward(model, data)
        contacts = np.column_stack([data.contact.geom, data.contact.dist])
        found.append(sorted(contacts.tolist()))
        model.opt.disableflags ^= flag
    assert len(found[0]) >= studs
    assert found[0] == found[1]
