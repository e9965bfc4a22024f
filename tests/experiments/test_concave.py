"""Concave meshes: every claim holds, and can fail; what is exact is exact."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from claims import check_figure, failed
from detent.experiments import concave, find
from detent.experiments.concave_scenes import exact_apart, noise_ball
from detent.experiments.protocol import Metrics, Result


@pytest.fixture(scope="module", params=["concave-fidelity", "concave-cost"])
def result(request: pytest.FixtureRequest) -> Result:
    return find(request.param)()


@pytest.mark.slow
def test_every_claim_holds_and_is_drawn(result: Result, tmp_path: Path) -> None:
    assert failed(result.claims) == set()
    check_figure(result, tmp_path)


def good() -> Metrics:
    return {
        f"{mesh}.{method}.{what}": 1e-3 if method == "hull" else 1e-5
        for mesh in concave.MESHES
        for method in ("hull", "ours")
        for what in ("p90", "most")
    }


@pytest.mark.parametrize(
    ("spoiled", "expected"),
    [
        ({}, set()),
        ({"gear.ours.p90": 21e-6}, {"B6.p90-gear"}),
        ({"nut.ours.most": 61e-6}, {"B6.most-nut"}),
        ({"tooth.hull.most": 9e-5}, {"B6.hull-tooth"}),
    ],
)
def test_claims_fail_on_wrong_numbers(spoiled: Metrics, expected: set[str]) -> None:
    assert failed(concave.fidelity_claims(good() | spoiled)) == expected


def test_claims_on_work_fail_where_it_grows() -> None:
    sizes = [1000, 8000, 131_000]
    grown: Metrics = {f"{n}.lookups": 30.0 for n in sizes} | {f"{n}.refinements": 4 for n in sizes}
    assert failed(concave.cost_claims(grown, sizes)) == set()
    assert failed(concave.cost_claims(grown | {"131000.lookups": 40.0}, sizes)) == {"B6.lookups"}
    many = grown | {"8000.refinements": 25.0}
    assert failed(concave.cost_claims(many, sizes)) == {"B6.refinements"}


def test_the_exact_distance_is_that_of_every_triangle(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = noise_ball(400)
    places = np.random.default_rng(0).normal(0.0, 0.06, (40, 3))
    by_any, _ = exact_apart(mesh)
    monkeypatch.setitem(sys.modules, "fcl", None)
    by_tree, who = exact_apart(mesh)
    assert who == "a tree of triangles"
    corners = mesh[0][mesh[1]]
    shares = np.random.default_rng(1).dirichlet((1, 1, 1), 4000)
    for place in places:
        nearest = corners[np.argsort(np.linalg.norm(corners.mean(axis=1) - place, axis=1))[:12]]
        points = np.einsum("sk,tkj->stj", shares, nearest).reshape(-1, 3)
        sampled = np.linalg.norm(points - place, axis=1).min() - 0.5e-3
        assert by_tree(place) <= sampled + 1e-8
        assert by_tree(place) == pytest.approx(sampled, abs=3e-4)
        assert by_any(place) == pytest.approx(by_tree(place), abs=1e-6)
