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


def test_cluster_takes_least_separation_and_mean_normal() -> None:
    one, _ = cluster(near(((0, 0, 0), UP, -0.001), ((0.001, 0, 0), ASIDE, -0.003)), 0.002)
    assert len(one) == 1
    assert one["separation"][0] == -0.003
    mean = np.array(UP) + np.array(ASIDE)
    np.testing.assert_allclose(one["normal"][0], mean / np.linalg.norm(mean))


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


@pytest.mark.parametrize("depths", [(0.001, 0.001), (0.004, 0.001, 0.003), (0.002, -0.001)])
def test_a_cluster_presses_as_its_members_do(depths: tuple[float, ...]) -> None:
    """M24 changes no force: K Σ d_j of what is touched, from the one depth that is left."""
    members = near(*(((1e-4 * k, 0, 0), UP, -d) for k, d in enumerate(depths)))
    (one,), (weight,) = cluster(members, 0.002)
    force = sum(max(d, 0.0) for d in depths)
    assert -weight * one["separation"] == pytest.approx(force)


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
