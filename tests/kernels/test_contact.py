"""Contact: the penalty force, what is new, groups, gains that a step can hold, seams."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from detent import Contact, World
from detent.kernels.contact import (
    exit_of_bounds,
    exit_of_box,
    exit_of_plane,
    group_root,
    in_box,
    is_new,
    join_groups,
    penalty_force,
    within,
)
from detent.kernels.inertia import whiten_rows
from detent.servo import places
from detent.setup.prepared import Prepared
from lab import PLANAR, full_inertia, loose, run_stage, scene, start

RNG = np.random.default_rng(6)


def test_penalty_is_k_times_depth_plus_b_times_approach() -> None:
    """TH 4.5: s < 0 inside, v < 0 approaching."""
    assert penalty_force(-0.001, 0.0, 4000.0, 30.0, 1) == pytest.approx(4.0)
    assert penalty_force(-0.001, -0.1, 4000.0, 30.0, 1) == pytest.approx(7.0)
    assert penalty_force(-0.001, 0.1, 4000.0, 30.0, 1) == pytest.approx(1.0)


def test_only_the_unclamped_penalty_pulls() -> None:
    """Errata B2, TH 4.5."""
    assert penalty_force(-0.001, 0.5, 4000.0, 30.0, 1) == 0.0
    assert penalty_force(-0.001, 0.5, 4000.0, 30.0, 0) == pytest.approx(-11.0)


def test_new_means_inside_now_and_outside_one_step_ago() -> None:
    step = 1e-3
    for s, v in zip(RNG.uniform(-1e-3, 1e-3, 1000), RNG.uniform(-1.0, 1.0, 1000), strict=True):
        before = s - step * v
        assert is_new(s, v, step) == (s < 0.0 and v < 0.0 and before >= 0.0)


def test_a_missed_collision_is_not_new() -> None:
    """TH Fig 4.4: it was outside before and is inside now, but already separates."""
    assert not is_new(-1e-4, 0.2, 1e-3)
    assert not is_new(-1e-4, 0.0, 1e-3)


def test_a_contact_that_presses_deeper_is_not_new() -> None:
    assert not is_new(-1e-3, -0.1, 1e-3)
    assert is_new(-1e-5, -0.1, 1e-3)
    assert is_new(0.0, -0.1, 1e-3)


def test_groups_are_the_connected_components() -> None:
    for _ in range(100):
        n = int(RNG.integers(1, 12))
        edges = RNG.integers(-1, n, (int(RNG.integers(0, 12)), 2))
        parent = np.arange(n)
        for a, b in edges:
            join_groups(parent, a, b)
        roots = [group_root(parent, t) for t in range(n)]
        real = edges[(edges >= 0).all(axis=1)]
        graph = coo_array((np.ones(len(real)), (real[:, 0], real[:, 1])), shape=(n, n))
        labels = connected_components(graph, directed=False)[1]
        for a in range(n):
            for b in range(n):
                assert (roots[a] == roots[b]) == (labels[a] == labels[b])


def test_the_static_world_joins_nothing() -> None:
    parent = np.arange(3)
    join_groups(parent, 0, -1)
    join_groups(parent, -1, 1)
    assert list(parent) == [0, 1, 2]


# --- gains that a fixed step can hold

PEGS = "".join(
    f'<body name="peg{i}" pos="{i} 0 0">{PLANAR}<geom type="box" size=".02 .01 .01"/></body>'
    for i in range(3)
)
BOX = """<body name="box"><freejoint/>
  <inertial pos="0 0 0" mass="2" diaginertia="0.002 0.004 0.005"/>
  <geom type="box" size=".02 .015 .01"/></body>"""
CHAIN = """<body name="base"><joint axis="0 0 1"/>
  <geom type="capsule" fromto="0 0 0 .2 0 0" size=".01"/>
  <body pos=".2 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".01"/>
  <body pos=".2 0 0"><joint axis="0 0 1"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".01"/>
  </body></body></body>"""


def discrete_loop(
    J: np.ndarray, D: np.ndarray, K: np.ndarray, B: np.ndarray, T: float
) -> np.ndarray:
    """(q, q̇) → one step later, velocity first, under forces −K s − B v of the rows J."""
    inverse = np.linalg.inv(D)
    A = inverse @ J.T @ np.diag(K) @ J
    C = inverse @ J.T @ np.diag(B) @ J
    one = np.eye(len(D))
    velocity = np.hstack([-T * A, one - T * C])
    return np.vstack([np.hstack([one, np.zeros_like(one)]) + T * velocity, velocity])


def of_two_trees(ready: Prepared, count: int) -> np.ndarray:
    """(count, nv) 1 in the dofs of the first tree, which all rows move, and of another."""
    other = RNG.integers(0, ready.model.ntree, count)
    tree = ready.model.dof_treeid
    return ((tree == 0) | (tree == other[:, None])).astype(float)


def put_rows(ready: Prepared, J: np.ndarray, white: np.ndarray) -> None:
    """Rows over all dofs, as the tick has them: in the columns of the trees that they move."""
    rows, spans = ready.servo.rows, ready.servo.scene.tree_span
    for r, row in enumerate(J):
        rows.span[r], column = 0, 0
        moved = [(first, size) for first, size in spans if row[first : first + size].any()]
        for part, (first, size) in enumerate(moved):
            rows.span[r, part] = first, size
            rows.jac[r, column : column + size] = row[first : first + size]
            rows.white[r, column : column + size] = white[r, first : first + size]
            column += size


@pytest.mark.parametrize(
    ("bodies", "tool"),
    [(PEGS, "peg0"), (BOX, "box"), (CHAIN, "base")],
    ids=["pegs", "box", "chain"],
)
def test_bounded_gains_are_stable_for_a_fixed_step(bodies: str, tool: str) -> None:
    """Random contact sets with gains far above any step: no mode of the loop may grow."""
    world = World.from_string(scene(bodies), tool=tool)
    contact = Contact(mode="penalty", clamp=False, stiffness=1e9, damping=1e6)
    ready = start(loose(world, contact))
    servo, rows, nv = ready.servo, ready.servo.rows, ready.model.nv
    step = servo.parameters["step"][0]
    run_stage(servo, places.SENSE)
    D = full_inertia(ready)
    worst = 0.0
    for trial in range(150):
        count = int(RNG.integers(1, 33))
        kind = trial % 3
        J = RNG.standard_normal((count, nv)) @ np.linalg.cholesky(D).T
        if kind == 1:  # a face: many rows that nearly agree
            J = J[:1] + 0.2 * J
        if kind == 2:  # a sparse set, as contacts between neighbours are
            J *= RNG.random(J.shape) < 0.4
            J[:, 0] += 1e-3
        J *= of_two_trees(ready, count)
        J /= np.linalg.norm(J, axis=1)[:, None]
        rows.count[0] = count
        white = J.copy()
        whiten_rows(servo.motion.inertia, count, white)
        put_rows(ready, J, white)
        rows.separation[:count] = -1e-4
        rows.velocity[:count] = 0.0
        rows.stiffness[:count] = 10.0 ** RNG.uniform(1, 9, count)
        rows.damping[:count] = 10.0 ** RNG.uniform(-1, 6, count)
        rows.geom[:count], rows.tree[:count] = 0, 0
        run_stage(servo, places.REACT)
        loop = discrete_loop(J, D, rows.stiffness[:count], rows.damping[:count], step)
        worst = max(worst, np.abs(np.linalg.eigvals(loop)).max())
    assert worst <= 1.0 + 1e-6  # a double eigenvalue of 1 (drifting freely) splits by ~1e-8


def test_gains_that_a_step_holds_are_left_alone() -> None:
    """Inactive in all the documents' experiments: 2 kg, K = 15 kN/m and B = 100 at 1/512 s."""
    world = World.builtin("corner").placed([0.0591, -0.0696, 0.0])
    run = loose(world, Contact(mode="penalty", stiffness=15_000, damping=100), rate=512).run(0.05)
    assert run["contacts"][0] == 4
    assert (run["bounded"] == 0).all()


def test_stiffer_than_the_step_is_bounded_counted_and_stays_quiet() -> None:
    world = World.builtin("corner").placed([0.0591, -0.0696, 0.0])
    contact = Contact(mode="penalty", stiffness=1e8, damping=1e5)
    run = loose(world, contact, rate=512).run(1.0)
    assert run["bounded"][0] == 4
    assert np.linalg.norm(run["tool_twist"], axis=1).max() < 1.0
    np.testing.assert_allclose(run["tool_position"][-1, :2], [0.059, -0.0695], atol=0.2)


# --- the way out of a box and of a half-space


def random_rotation() -> np.ndarray:
    q, _ = np.linalg.qr(RNG.standard_normal((3, 3)))
    return q * np.sign(np.linalg.det(q))


def test_inside_a_box_is_what_its_local_coordinates_say() -> None:
    for _ in range(300):
        R, centre, half = random_rotation(), RNG.standard_normal(3), RNG.uniform(0.1, 1, 3)
        local = RNG.uniform(-1.5, 1.5, 3) * half
        inside = bool((np.abs(local) <= half).all())
        assert in_box(tuple(centre + R @ local), centre, R.ravel(), half) == inside


def test_the_way_out_of_a_box_is_the_nearest_face_not_against_the_normal() -> None:
    for trial in range(600):
        R, centre, half = random_rotation(), RNG.standard_normal(3), RNG.uniform(0.1, 1, 3)
        local = RNG.uniform(-0.99, 0.99, 3) * half
        way = np.eye(3)[RNG.integers(3)] * RNG.choice([-1.0, 1.0])
        if trial % 2:
            p, along = tuple(centre + R @ local), R @ way
            depth, out = exit_of_box(p, tuple(along), centre, R.ravel(), half, 1e-6)
        else:  # an upright one
            R, along, p = np.eye(3), way, tuple(centre + local)
            bounds = np.concatenate([centre - half, centre + half])
            depth, out = exit_of_bounds(p, tuple(along), bounds)
        ways = {
            (axis, sign): half[axis] - sign * local[axis]
            for axis in range(3)
            for sign in (-1.0, 1.0)
            if sign * (R[:, axis] @ along) > -0.5
        }
        axis, sign = min(ways, key=lambda way: ways[way])
        assert depth == pytest.approx(ways[axis, sign], abs=1e-12)
        np.testing.assert_allclose(out, sign * R[:, axis], atol=1e-12)
        left = np.array(p) + (depth + 1e-9) * np.array(out)
        assert not in_box(tuple(left), centre, R.ravel(), half)


def test_outside_there_is_no_way_out() -> None:
    R, up = np.eye(3).ravel(), (0.0, 0.0, 1.0)
    assert exit_of_box((0.0, 0.0, 1.1), up, np.zeros(3), R, np.ones(3), 1e-6)[0] < 0
    assert exit_of_plane((0.0, 0.0, 0.1), np.zeros(3), R, 1e-6)[0] < 0
    depth, way = exit_of_plane((5.0, 5.0, -0.1), np.zeros(3), R, 1e-6)
    assert depth == pytest.approx(0.1)
    assert way == up


def test_bounds_are_met_within_their_tolerance_on_all_six_sides() -> None:
    low, high = np.array([-0.3, 0.1, 0.5]), np.array([0.2, 0.4, 1.5])
    bounds, middle = np.concatenate([low, high]), 0.5 * (low + high)
    assert within(tuple(middle), bounds, 0.0)
    for axis in range(3):
        for end, sign in ((low, -1.0), (high, 1.0)):
            for beyond in (-0.5, 0.5, 2.0):
                point = middle.copy()
                point[axis] = end[axis] + sign * beyond * 1e-3
                assert within(tuple(point), bounds, 1e-3) == (beyond < 1.0)
                assert within(tuple(point), bounds, 0.0) == (beyond < 0.0)
