"""From what an engine reports to an update."""

from __future__ import annotations

import numpy as np
import pytest

from detent.errors import EngineError, ParameterError, UnknownNameError
from detent.local.constants import MOST_CONSTRAINTS
from detent.local.model import LocalModel
from detent.local.records import COUNT, DROPPED, NEAR, SEQUENCE, TIME, update_views
from detent.local.update import check_links, check_near, choose, cluster, pack_update, tool_points

ORIGIN = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
STILL = np.zeros((1, 6))


def near(*contacts: tuple[tuple[float, float, float], tuple[float, float, float], float]):
    out = np.zeros(len(contacts), NEAR)
    for one, (place, normal, separation) in zip(out, contacts, strict=True):
        one["place"], one["normal"], one["separation"] = place, normal, separation
        one["group"] = -1
    return out


UP, DOWN, ASIDE = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (0.0, 0.6, 0.8)


def pressing(contacts: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force and moment about the origin, of springs of 1 N/m."""
    forces = (weights * np.maximum(-contacts["separation"], 0.0))[:, None] * contacts["normal"]
    return forces.sum(axis=0), np.cross(contacts["place"], forces).sum(axis=0)


@pytest.mark.parametrize("seed", range(20))
def test_a_cluster_has_the_wrench_of_its_members(seed: int) -> None:
    """However unequally they are loaded; but for the moment about the force itself."""
    rng = np.random.default_rng(seed)
    normals = np.array(UP) + rng.uniform(-0.4, 0.4, (5, 3)) * (seed % 2)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    places, depths = 0.3 + rng.uniform(0.0, 0.001, (5, 3)), rng.uniform(-0.003, 0.003, 5)
    members = near(*zip(places, normals, depths, strict=True))
    members["separation"][0] = -0.001  # one presses at least
    one, weight = cluster(members, 0.002)
    assert len(one) == 1
    (force, moment), (had, turned) = pressing(one, weight), pressing(members, np.ones(5))
    np.testing.assert_allclose(force, had, rtol=1e-12, atol=1e-15)
    lost = turned - moment
    np.testing.assert_allclose(np.cross(lost, had), 0.0, atol=1e-18)
    if seed % 2 == 0:  # faces that look the same way lose nothing
        np.testing.assert_allclose(lost, 0.0, atol=1e-15)
    nearer = members.copy()  # and the force grows as theirs does
    step = 1e-9 * one["normal"][0]
    nearer["separation"] -= members["normal"] @ step
    one["separation"] -= 1e-9
    more, theirs = pressing(one, weight)[0], pressing(nearer, np.ones(5))[0]
    assert (more - theirs) @ one["normal"][0] == pytest.approx(0.0, abs=1e-14)


def test_a_cluster_of_what_is_not_touched_is_where_its_nearest_member_is() -> None:
    (one,), (weight,) = cluster(near(((0, 0, 0), UP, 0.002), ((0.001, 0, 0), UP, 0.003)), 0.002)
    assert one["separation"] == pytest.approx(0.002) and weight == 1.0
    (one,), (weight,) = cluster(near(((0, 0, 0), UP, 0.002), ((0.001, 0, 0), UP, 0.002)), 0.002)
    assert one["separation"] == pytest.approx(0.002) and weight == 2.0
    assert one["place"][0] == pytest.approx(0.0005)


def test_cluster_keeps_apart_what_is_far_or_opposed_or_of_another_body() -> None:
    contacts = near(((0, 0, 0), UP, 0.0), ((0.003, 0, 0), UP, 0.0), ((0, 0, 0.001), DOWN, 0.0))
    assert len(cluster(contacts, 0.002)[0]) == 3
    contacts = near(((0, 0, 0), UP, 0.0), ((0.001, 0, 0), UP, 0.0))
    contacts["other"][1] = 7
    assert len(cluster(contacts, 0.002)[0]) == 2
    contacts["other"][1], contacts["shapes"][1] = contacts["other"][0], (0, 3)
    assert len(cluster(contacts, 0.002)[0]) == 2


def test_every_member_of_a_cluster_is_near_every_other() -> None:
    """TH 6.8: within the threshold of all others, not of one."""
    chain = near(*(((0.0015 * k, 0, 0), UP, 0.001 * k) for k in range(4)))
    for one in (cluster(chain, 0.002), cluster(chain[::-1], 0.002)):
        assert len(one[0]) == 2


def test_contacts_are_one_only_where_they_are_too_many() -> None:
    few = near(*(((1e-5 * k, 0, 0), UP, -0.001) for k in range(MOST_CONSTRAINTS)))
    for count, kept in ((MOST_CONSTRAINTS, MOST_CONSTRAINTS), (MOST_CONSTRAINTS + 1, 1)):
        many = np.concatenate([few, few])[:count]
        head, constraints = update_views(pack_update(many, ORIGIN, STILL, LocalModel(), 1, 0.0))
        assert (head[COUNT], head[DROPPED]) == (kept, 0)
        assert constraints["weight"][:kept].sum() == pytest.approx(count)


def test_updates_keep_the_nearest_and_say_how_many_did_not_fit() -> None:
    many = near(*(((0.01 * k, 0, 0), UP, 0.001 * (100 - k)) for k in range(100)))
    memory = pack_update(many, ORIGIN, STILL, LocalModel(epsilon=1.0), 5, 0.25)
    head, constraints = update_views(memory)
    assert (head[SEQUENCE], head[TIME], head[COUNT], head[DROPPED]) == (
        5,
        0.25,
        MOST_CONSTRAINTS,
        100 - MOST_CONSTRAINTS,
    )
    np.testing.assert_allclose(
        constraints["separation"], 0.001 * np.arange(1, MOST_CONSTRAINTS + 1)
    )


def test_only_what_is_within_epsilon_is_sent() -> None:
    contacts = near(((0, 0, 0), UP, 0.004), ((0.1, 0, 0), UP, 0.006))
    kept = choose(contacts, ORIGIN, STILL, LocalModel(epsilon=0.005))
    np.testing.assert_allclose(kept["separation"], [0.004])


def test_intent_reaches_farther_in_the_direction_of_motion() -> None:
    """B5: what the tool would reach within the horizon, and nothing behind it."""
    contacts = near(((0, 0, 0), UP, 0.02), ((0, 0, 0.1), DOWN, 0.02))
    down = np.array([[0.0, 0.0, -0.5, 0.0, 0.0, 0.0]])
    kept = choose(contacts, ORIGIN, down, LocalModel(epsilon=0.001, horizon=0.05))
    np.testing.assert_allclose(kept["normal"], [UP])
    turning = np.array([[0.0, 0.0, 0.0, 0.0, -5.0, 0.0]])  # the end at x = 0.1 goes up
    contacts = near(((0.1, 0, 0), UP, 0.02), ((0.1, 0, 0.1), DOWN, 0.02))
    kept = choose(contacts, ORIGIN, turning, LocalModel(epsilon=0.001, horizon=0.05))
    np.testing.assert_allclose(kept["normal"], [DOWN])


def test_points_are_in_the_frames_of_the_links() -> None:
    turned = np.array([[1.0, 2.0, 3.0, np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]])  # 90° about z
    ball = near(((1.0, 2.5, 3.0), UP, 0.25))
    point = tool_points(ball, turned)
    np.testing.assert_allclose(point, [[0.5, 0.0, 0.25]], atol=1e-15)
    ball["bulge"] = 0.1  # its centre
    np.testing.assert_allclose(tool_points(ball, turned), [[0.5, 0.0, 0.35]], atol=1e-15)


@pytest.mark.parametrize("name", ["place", "normal", "separation", "velocity", "give"])
def test_what_is_not_finite_is_refused_by_name(name: str) -> None:
    contacts = near(((0, 0, 0), UP, 0.0))
    contacts[name] = np.nan
    with pytest.raises(EngineError, match=name):
        check_near(contacts, 1)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("stiffness", np.inf, "stiffness"),
        ("stiffness", -1.0, "stiffness"),
        ("restitution", 3.0, "restitution"),
        ("normal", 0.0, "normal of length 0"),
        ("place", 1e300, "beyond"),
        ("radius", -0.1, "curved"),
        ("curve", 9, "curved"),
    ],
)
def test_impossible_values_are_refused(name: str, value: float, words: str) -> None:
    contacts = near(((0, 0, 0), UP, 0.0))
    contacts[name] = value
    with pytest.raises(EngineError, match=words):
        check_near(contacts, 1)


@pytest.mark.parametrize("poses", [np.zeros((2, 7)), np.full((1, 7), np.nan), np.zeros((1, 6))])
def test_links_that_are_none_are_refused(poses: np.ndarray) -> None:
    with pytest.raises(EngineError, match="links"):
        check_links(poses, np.zeros((1, 6)), 1)


def test_unknown_links_are_refused() -> None:
    contacts = near(((0, 0, 0), UP, 0.0))
    contacts["link"] = 3
    with pytest.raises(EngineError, match="link 3"):
        check_near(contacts, 3)


def test_records_of_another_kind_are_refused() -> None:
    with pytest.raises(EngineError, match="NEAR"):
        check_near(np.zeros(3), 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", -1e-3),
        ("age_limit", 0.0),
        ("recovery", 0.0),
        ("slew_force", -1.0),
        ("constraints", "rubber"),
        ("reference", "world"),
        ("angle", 2.0),
    ],
)
def test_local_models_refuse_what_they_cannot_be(field: str, value: object) -> None:
    with pytest.raises((ParameterError, UnknownNameError)):
        LocalModel(**{field: value})
