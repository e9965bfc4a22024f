"""Where two solids touch: against exact triangles, against brute force, and from tick to tick."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from detent.kernels.jit import kernel
from detent.shapes.constants import LEVELS, PATCHES
from detent.shapes.contacts import unit
from detent.shapes.distance import distance, exact_distance
from detent.shapes.structs import CONTACTS, LEFT_OUT, LOOKUPS, Solid
from detent.shapes.surface import Surface, bake
from detent.shapes.touch import patches_of, placed
from detent.shapes.triangles import STACK
from shapes_lab import Touching, ball, channel, cuboid, meet, onset, star, turned

pytestmark = pytest.mark.slow

CELLS = 96  # of the fields here: coarser than those of a session, so that they are baked quickly
MESHES = {
    "star": star(),
    "slot": channel(),
    "dents": ball(4, 0.05, 0.001),
    "noise": ball(3, 0.03, 0.006),
    "box": cuboid((0.015, 0.01, 0.008)),
}
BOX, SPHERE = 6, 2
EYE = np.eye(3)


@cache
def baked(name: str) -> Surface:
    return bake(*MESHES[name], name, cells=CELLS)


def approaches(one: str, two: str, count: int) -> np.ndarray:
    """[m] How late a touch is noticed, along the normal, in random approaches."""
    rng, touching = np.random.default_rng(0), Touching(baked(one), baked(two))
    late = []
    for _ in range(count):
        turn, way = turned(rng), rng.standard_normal(3)
        way /= np.linalg.norm(way)
        aside = rng.normal(0.0, 0.012, 3)
        felt = lambda far: len(touching.at(aside - way * far, turn)) > 0  # noqa: E731, B023
        true = lambda far: meet(MESHES[one], MESHES[two], aside - way * far, turn)  # noqa: E731, B023
        for step in (1e-3, 1e-4):  # finely, if one of them stepped over a corner
            found, exact = onset(felt, 0.13, step), onset(true, 0.13, step)
            if found is None or exact is None or abs(found - exact) < 2e-4:
                break
        if exact is None:
            assert found is None or found < 1e-3
            continue
        assert found is not None
        contacts = touching.at(aside - way * found, turn)
        deepest = contacts[np.argmin(contacts["dist"])]
        late.append(abs(found - exact) * abs(deepest["frame"][:3] @ way))
    return np.array(late)


@pytest.mark.parametrize(("one", "two"), [("star", "star"), ("slot", "star"), ("slot", "box")])
def test_a_touch_is_noticed_where_it_is(one: str, two: str) -> None:
    late = approaches(one, two, 40)  # of 20 two decide about the percentile
    assert np.percentile(late, 90) <= 20e-6
    assert late.max() <= 60e-6


@pytest.mark.long
@pytest.mark.parametrize(("one", "two"), [("star", "star"), ("slot", "star"), ("slot", "box")])
def test_a_touch_is_noticed_where_it_is_200_times(one: str, two: str) -> None:
    late = approaches(one, two, 200)
    assert np.percentile(late, 90) <= 20e-6
    assert late.max() <= 60e-6


def walk(seed: int, start: np.ndarray, ticks: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Poses of a body that moves and turns a little each tick, and now and then jumps."""
    rng = np.random.default_rng(seed)
    place, turn, out = start, turned(rng), []
    for i in range(ticks):
        if i % 40 == 0:
            place, turn = start + rng.normal(0.0, 0.006, 3), turned(rng)
        place, turn = place + rng.normal(0.0, 1e-4, 3), turned(rng, 0.004) @ turn
        out.append((place, turn))
    return out


@pytest.mark.parametrize(
    ("one", "two", "start"),
    [("slot", "star", (0.03, 0.0, 0.05)), ("dents", "noise", (0.0, 0.0, 0.076))],
)
def test_what_is_remembered_changes_nothing(
    one: str, two: str, start: tuple[float, float, float]
) -> None:
    remembers, forgets = (Touching(baked(one), baked(two)) for _ in range(2))
    remembers.felt.budget[:] = forgets.felt.budget[:] = 1 << 20
    touched = 0
    for place, turn in walk(3, np.array(start), 120):
        a, b = remembers.at(place, turn), forgets.at(place, turn, fresh=True)
        np.testing.assert_array_equal(a["dist"], b["dist"])
        np.testing.assert_array_equal(a["frame"], b["frame"])
        assert remembers.felt.counts[LOOKUPS] <= forgets.felt.counts[LOOKUPS]
        touched += len(a)
    assert touched > 100


def test_what_is_near_but_free_costs_little() -> None:
    touching = Touching(baked("slot"), (BOX, (0.018, 0.02, 0.01)))  # 2 mm beside and below it
    looked = []
    for x in np.arange(0.0, 2e-4, 4e-6):
        assert len(touching.at(np.array([x, 0.0, 0.012]), EYE)) == 0
        looked.append(touching.felt.counts[LOOKUPS])
    touching.at(np.array([0.0, 0.0, 0.012]), EYE, fresh=True)
    assert np.mean(looked[1:]) < 0.4 * touching.felt.counts[LOOKUPS]


@kernel
def least_distance(
    own: Solid, other: Solid, pose: np.ndarray, patch: int, stack: np.ndarray
) -> float:
    """Of all samples of a patch, by exact triangles."""
    best, i = np.inf, own.roots[LEVELS * patch]
    while i < own.roots[LEVELS * (patch + 1)]:
        for n in range(own.links[i, 1], own.links[i, 1] + own.links[i, 2]):
            p = placed(pose, own.points[n, 0], own.points[n, 1], own.points[n, 2])
            d, low, high = distance(other, p[0], p[1], p[2])
            if d - low < 0.0:
                best = min(best, exact_distance(other, p, d, low, high, stack))
        i += 1
    return best


def missed(one: str, two: str, start: np.ndarray, ticks: int) -> tuple[int, float]:
    """Patches that touch by brute force, and the deepest [m] that is not among the contacts."""
    touching, stack = Touching(baked(one), baked(two)), np.zeros(STACK, np.int64)
    pair, count, worst = touching.pair, 0, 0.0
    touching.felt.budget[:] = 1 << 20  # what is searched at all is another test's
    for place, turn in walk(5, start, ticks):
        contacts = touching.at(place, turn)
        if touching.felt.counts[LEFT_OUT] > 0:
            continue
        found = set(contacts["vert"][:, 0].tolist())
        for side, (own, other) in enumerate(((pair.one, pair.two), (pair.two, pair.one))):
            for patch in range(patches_of(own)):
                d = least_distance(own, other, pair.pose[side], patch, stack)
                count += int(d < 0.0)
                if d < 0.0 and side * PATCHES + patch not in found:
                    worst = max(worst, -d)
    return count, worst


@pytest.mark.parametrize(
    ("one", "two", "start"),
    [("slot", "star", (0.03, 0.0, 0.05)), ("dents", "noise", (0.0, 0.0, 0.076))],
)
def test_no_patch_is_missed(one: str, two: str, start: tuple[float, float, float]) -> None:
    count, worst = missed(one, two, np.array(start), 120)
    assert count > 300 and worst <= 20e-6


@pytest.mark.long
@pytest.mark.parametrize(
    ("one", "two", "start"),
    [
        ("slot", "star", (0.03, 0.0, 0.05)),
        ("star", "star", (0.05, 0.03, 0.0)),
        ("dents", "noise", (0.0, 0.0, 0.076)),
    ],
)
def test_none_of_many_patches_is_missed(
    one: str, two: str, start: tuple[float, float, float]
) -> None:
    count, worst = missed(one, two, np.array(start), 10_000)
    assert count > 33_000 and worst <= 20e-6


def largest_jump(
    touching: Touching, path: Callable[[float], np.ndarray], turn: np.ndarray, step: float
) -> float:
    """[-] Change of the summed force per step, of the largest force, over 3 mm."""
    forces = []
    for x in np.arange(0.0, 3e-3, step):
        contacts = touching.at(path(x), turn)
        forces.append(-(contacts["dist"][:, None] * contacts["frame"][:, :3]).sum(axis=0))
    steps = np.linalg.norm(np.diff(forces, axis=0), axis=1)
    return float(steps.max() / np.linalg.norm(forces, axis=1).max())


def test_the_force_of_what_slides_over_dents_is_continuous() -> None:
    cases = [
        (Touching(baked("dents"), (BOX, (0.008, 0.008, 0.005))), 0.0542, EYE),
        (Touching(baked("dents"), (SPHERE, (0.006, 0.0, 0.0))), 0.0552, EYE),
        (Touching(baked("dents"), baked("star")), 0.0585, turned(np.random.default_rng(4), 0.2)),
    ]
    for touching, height, turn in cases:
        path = lambda x: np.array([x, 0.001, height])  # noqa: E731, B023
        coarse, fine = (largest_jump(touching, path, turn, step) for step in (2e-5, 2e-6))
        assert 0.0 < 7.0 * fine <= coarse < 0.03


def test_the_force_of_what_slides_over_a_rim_is_continuous() -> None:
    tilt = np.array([[np.cos(0.1), 0, np.sin(0.1)], [0, 1, 0], [-np.sin(0.1), 0, np.cos(0.1)]])
    cases = [
        (Touching(baked("slot"), (SPHERE, (0.006, 0.0, 0.0))), (0.0185, 0.0457), EYE),
        (Touching(baked("slot"), (BOX, (0.012, 0.012, 0.008))), (0.0135, 0.0475), tilt),
        (Touching(baked("slot"), (BOX, (0.012, 0.012, 0.008))), (0.0295, 0.0479), EYE),
        (Touching(baked("slot"), baked("star")), (0.0185, 0.0495),
         turned(np.random.default_rng(4), 0.2)),
    ]  # fmt: skip
    for touching, (aside, height), turn in cases:
        path = lambda x: np.array([aside + x, 0.001, height])  # noqa: E731, B023
        coarse, fine = (largest_jump(touching, path, turn, step) for step in (2e-5, 2e-6))
        assert 0.0 < 7.0 * fine <= coarse < 0.1


def test_a_small_budget_keeps_the_deepest_and_counts_the_rest() -> None:
    touching = Touching(baked("dents"), (BOX, (0.02, 0.02, 0.01)))
    place = np.array([0.0, 0.0, 0.0585])
    whole = touching.at(place, EYE)
    assert touching.felt.counts[LEFT_OUT] == 0
    deepest = whole["dist"].min()
    touching.felt.budget[0] = 40
    few = touching.at(place, EYE)
    assert touching.felt.counts[LEFT_OUT] > 0
    assert touching.felt.counts[CONTACTS] == len(few)
    assert few["dist"].min() == pytest.approx(deepest, abs=2e-5)


def test_normals_of_a_smooth_surface_are_within_5_degrees() -> None:
    touching = Touching(baked("dents"), (SPHERE, (0.004, 0.0, 0.0)))
    ways = np.random.default_rng(2).standard_normal((60, 3))
    x = ball(4, 0.05, 0.001)
    from detent.shapes.mesh import clean
    from detent.shapes.samples import vertex_normals

    mesh = clean(*x, "dents")
    normals = vertex_normals(mesh)
    for way in ways / np.linalg.norm(ways, axis=1, keepdims=True):
        at = int(np.argmax(mesh.vertices @ way))
        contacts = touching.at(mesh.vertices[at] + 0.0039 * normals[at], EYE)
        total = (contacts["dist"][:, None] * contacts["frame"][:, :3]).sum(axis=0)
        felt = np.array(unit(tuple(-total)))
        assert np.degrees(np.arccos(min(felt @ normals[at], 1.0))) < 5.0
