"""Many bodies: a tick costs what contacts move, none is dropped, nobody disturbs another."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from detent import Contact, Friction, Session, World
from detent.bench.boxes import HALF
from detent.bench.boxes import free_boxes as boxes
from detent.kernels.constants import MOST_DAMPING, MOST_STIFFNESS
from detent.servo import places
from detent.servo.world.spans import load_places, load_size, row_width, tree_spans
from detent.setup import world as setup_world
from detent.setup.capacity import collision_capacity, moving_geoms, row_capacity, row_size
from detent.setup.constants import CONTACTS_PER_GEOM, LEAST_ROWS, MOST_MEMORY
from detent.setup.notes import run_notes
from detent.setup.prepared import Prepared
from detent.world.loops import closure_rows
from lab import PLANAR, advance, full_inertia, full_rows, loose, run_stage, scene, start

BOX = '<freejoint/><geom type="box" size=".02 .02 .02" mass="{}"/>'


def box(name: str, place: str, mass: float = 0.2, more: str = "") -> str:
    """A free box of 4 cm."""
    return f'<body name="{name}" pos="{place}">{BOX.format(mass)}{more}</body>'


def energy_of(ready: Prepared) -> float:
    """[J] kinetic and of weight, by MuJoCo."""
    data = mujoco.MjData(ready.model)
    data.qpos[:], data.qvel[:] = ready.data.qpos, ready.data.qvel
    mujoco.mj_forward(ready.model, data)
    mujoco.mj_energyPos(ready.model, data)
    mujoco.mj_energyVel(ready.model, data)
    return float(data.energy.sum())


def notes_of(ready: Prepared) -> list[str]:
    """What the run says of itself, at 1 kHz."""
    return run_notes(ready.servo, ready.model, ready.data, 1000.0)


# --- at rest


@pytest.mark.parametrize(
    "others",
    [20, pytest.param(50, marks=pytest.mark.long), pytest.param(200, marks=pytest.mark.long)],
)
def test_boxes_come_to_rest_and_none_is_lost(others: int) -> None:
    ready = start(Session(boxes(others), Contact(4000.0, 30.0), sleep=False), ring=2000)
    rows = advance(ready, 2000)
    tops = ready.servo.scene.qpos.reshape(-1, 7)[:, 2] + HALF
    assert ready.servo.rows.count[0] == 4 * (others + 1)
    assert rows["dropped"].max() == 0
    assert rows["collisions"][-1000:].max() == 0
    assert np.ptp(tops) < 1e-6
    assert not any("did not fit" in note for note in notes_of(ready))


# --- nobody disturbs another

MODES = {
    "impulse": Contact(4000.0, 30.0, restitution=0.3),
    "equality": Contact(4000.0, 30.0, method="equality", restitution=0.3),
    "friction": Contact(4000.0, 30.0, friction=Friction(), restitution=0.3),
    "resultant": Contact(4000.0, 30.0, resultant=True),
    "stiff": Contact(stiffness=1e7, damping=1e4),
    "rigid": Contact(mode="rigid"),
    "rigid, friction": Contact(mode="rigid", friction=Friction()),
}


def thrown(others: int) -> World:
    """Boxes that fall on a floor, turned and turning, the held one last."""
    bodies = [
        f'<body name="b{i}" pos="{0.1 * (i % 5)} {0.1 * (i // 5)} .04" euler="{7 * i % 40} 20 {i}">'
        f"{BOX.format(0.1 + 0.01 * i)}</body>"
        for i in range(others)
    ]
    held = f'<body name="held" pos="-.2 -.2 .04" euler="20 30 0">{BOX.format(0.2)}</body>'
    return World.from_string(
        scene('<geom type="plane" size="2 2 .1"/>' + "".join(bodies) + held, 'gravity="0 0 -9.81"'),
        tool="held",
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_box_among_others_moves_as_if_it_were_alone(mode: str) -> None:
    alone, among = (loose(thrown(n), MODES[mode]).run(0.4) for n in (0, 12))
    assert alone["contacts"].max() >= 3
    tolerance = 1e-6 if mode == "rigid, friction" else 1e-9  # its sweeps end by a tolerance
    for column in ("tool_position", "tool_quaternion", "environment_wrench"):
        scale = np.abs(alone[column]).max()
        np.testing.assert_allclose(among[column], alone[column], atol=tolerance * scale)


# --- what the step can hold

PILE = scene(
    '<geom type="plane" size="2 2 .1"/>'
    + box("held", "0 0 .0195", 0.05)
    + box("middle", ".005 0 .059", 0.02)
    + box("top", "0 .005 .0985", 0.01)
    + box("left", ".2 0 .0195", 0.03)
    + box("right", ".26 0 .0195", 0.03)
    + box("light", "-.2 0 .0195", 0.01)
    + '<body pos="-.3 0 .0195"><joint type="slide" axis="0 0 1" range="0 1" limited="true"/>'
    '<geom type="box" size=".02 .02 .02" mass=".05"/></body>',
    'gravity="0 0 -9.81"',
    '<equality><weld body1="left" body2="right"/></equality>',
)


def bounded_by_formula(ready: Prepared) -> tuple[np.ndarray, np.ndarray]:
    """K and B of all rows as they are before `react`, bounded in dense NumPy."""
    rows, step = ready.servo.rows, ready.servo.parameters["step"][0]
    J, D = full_rows(ready, rows.jac), full_inertia(ready)
    data = mujoco.MjData(ready.model)
    data.qpos[:], data.qvel[:] = ready.servo.scene.qpos, ready.servo.scene.qvel
    mujoco.mj_fwdPosition(ready.model, data)
    W, _ = closure_rows(ready.model, data)
    _, values, V = np.linalg.svd(W)
    Z = V[(values > 1e-9).sum() :].T  # what the loops leave
    G = J @ Z @ np.linalg.solve(Z.T @ D @ Z, Z.T @ J.T)
    K, B = rows.stiffness[: len(J)].copy(), rows.damping[: len(J)].copy()
    kappa, beta = (G**2 @ K) / np.diag(G), (G**2 @ B) / np.diag(G)
    soft = np.minimum(1.0, MOST_STIFFNESS / (kappa * step**2))
    ease = np.minimum(1.0, MOST_DAMPING / (beta * step))
    return K * soft, B * ease


@pytest.mark.parametrize("gains", [(4000.0, 30.0), (3e4, 30.0), (1e6, 3000.0)])
def test_gains_are_bounded_as_by_dense_matrices(gains: tuple[float, float]) -> None:
    """κ = Σ K_j G_ij² / G_ii, over a pile, a welded pair, a limit and boxes of their own."""
    ready = start(loose(World.from_string(PILE, tool="held"), Contact(*gains)))
    for place in (places.SENSE, places.APPROACH):
        run_stage(ready.servo, place)
    rows, count = ready.servo.rows, int(ready.servo.rows.count[0])
    assert count > 20
    assert (rows.span[:count, 1, 1] > 0).any()  # between two boxes
    stiffness, damping = bounded_by_formula(ready)
    run_stage(ready.servo, places.REACT)
    np.testing.assert_allclose(rows.stiffness[:count], stiffness, rtol=1e-9)
    np.testing.assert_allclose(rows.damping[:count], damping, rtol=1e-9)
    assert rows.bounded[0] > 0


# --- copies


def contacts_of(body: str) -> int:
    """How many contacts a body has with a floor, just inside it."""
    floor = '<geom type="box" size="1 .1 1" pos="0 -.1 0"/>'
    world = World.from_string(scene(f'{floor}<body name="tool" pos="0 .0099 0">{body}</body>'))
    ready = start(loose(world))
    advance(ready, 1)
    return int(ready.servo.rows.count[0])


def test_copies_are_looked_for_within_one_pair_of_geoms() -> None:
    geom = '<geom type="box" size=".02 .01 .01"/>'
    assert contacts_of(PLANAR + geom) == 2  # of four: those behind each other count once
    assert contacts_of(PLANAR + geom + geom) == 4  # two geoms are two


# --- capacity


def test_there_is_room_for_what_a_scene_may_touch() -> None:
    for others in (1, 50, 200, 1000):
        model = boxes(others).model
        assert moving_geoms(model) == others + 1
        assert row_capacity(model) == max(LEAST_ROWS, CONTACTS_PER_GEOM * (others + 1))
        assert row_capacity(model) * row_size(model) <= MOST_MEMORY


def test_a_collision_has_room_for_all_rows_or_for_what_fits() -> None:
    model = boxes(50).model
    assert collision_capacity(model, row_capacity(model)) == 2 * row_capacity(model)
    model = boxes(1000).model
    most = collision_capacity(model, row_capacity(model))
    assert 4000 < most < 2 * row_capacity(model)
    assert 8 * (5 * most * model.nv + 3 * model.nv**2) <= MOST_MEMORY


@pytest.mark.parametrize("mode", ["impulse", "rigid", "rigid, friction"])
def test_a_collision_that_does_not_fit_is_cut_and_noted(
    monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Eight contacts of a box on another, on the floor; two rows of a collision have room."""
    monkeypatch.setattr(setup_world, "collision_capacity", lambda model, rows: 3)
    floor = '<geom type="plane" size="2 2 .1"/>'
    low, high = box("low", "0 0 .0199"), box("high", "0 0 .0597")
    world = World.from_string(scene(floor + low + high, 'gravity="0 0 -9.81"'), tool="low")
    ready = start(loose(world, MODES[mode]), qvel=[0.0, 0.0, -0.2, 0, 0, 0] * 2)
    before = energy_of(ready)
    rows = advance(ready, 50)
    assert rows["dropped"].max() >= 5
    assert np.isfinite(ready.data.qpos).all()
    assert energy_of(ready) < before
    assert "did not fit" in " ".join(notes_of(ready))


def test_what_does_not_fit_is_counted_and_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool's group is kept, then the deepest."""
    monkeypatch.setattr(setup_world, "row_capacity", lambda model, felt: 12)
    ready = start(loose(boxes(8)))
    rows = advance(ready, 10)
    assert (rows["dropped"] == 4 * 9 - 12).all()
    assert (rows["contacts"] == 4).all()
    assert notes_of(ready)[0].startswith(
        "240 contacts did not fit in 10 ticks, up to 24 in one: there is"
    )
    trace = loose(boxes(8)).run(0.01)
    assert "did not fit" in trace.meta["notes"][0]


def test_the_deepest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_world, "row_capacity", lambda model, felt: 8)
    floor = '<geom type="plane" size="2 2 .1"/>'
    bodies = "".join(box(f"b{i}", f"{0.1 * i} 0 {0.0199 - 1e-5 * (i % 4)}") for i in range(6))
    ready = start(loose(World.from_string(scene(floor + bodies), tool="b0")))
    run_stage(ready.servo, places.SENSE)
    kept = ready.servo.rows.tree[: int(ready.servo.rows.count[0])].max(axis=1)
    assert kept.tolist() == [0] * 4 + [3] * 4


# --- spans


def test_trees_that_loops_or_tendons_tie_share_a_span() -> None:
    chain = "".join(
        f'<body name="b{i}" pos="{i} 0 0"><joint name="j{i}"/><geom size=".1"/>'
        f'<body pos="0 0 .3"><joint axis="1 0 0"/><geom size=".1"/></body></body>'
        for i in range(7)
    )
    more = """<equality><connect body1="b1" body2="b3" anchor="0 0 0"/></equality>
    <tendon><fixed><joint joint="j5" coef="1"/><joint joint="j6" coef="1"/></fixed></tendon>"""
    spans = tree_spans(mujoco.MjModel.from_xml_string(scene(chain, more=more)))
    tied, pulled = [2, 6], [10, 4]  # b2 lies between b1 and b3
    assert spans.tolist() == [[0, 2], tied, tied, tied, [8, 2], pulled, pulled]
    assert row_width(spans) == 10
    assert load_size(spans) == 4 + 36 + 4 + 16
    assert load_places(spans).tolist() == [0, 4, 4, 4, 40, 44, 44]
