"""Rows and vectors over some of the trees, against dense matrices of these."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
import pytest

from detent.kernels.inertia import Inertia, factor_inertia, make_inertia
from detent.kernels.loops import close_loops
from detent.kernels.spans import (
    add_spans,
    gather_spans,
    momentum_spans,
    project_spans,
    put_spans,
    spans_dot,
    spans_size,
    take_spans,
    unwhiten_spans,
    whiten_force_spans,
    whiten_open_spans,
    whiten_spans,
    whiten_velocity_spans,
)

LINK = '<body pos="{} 0 .1"><joint axis="{}"/><geom size=".05" pos=".1 .02 0" mass=".{}"/>{}</body>'
SPANS = np.array([[0, 2], [5, 3]])  # the first tree and the third of three
DOFS = np.array([0, 1, 5, 6, 7])


def chain(place: float, links: int) -> str:
    """A tree of so many hinges."""
    out = ""
    for i in range(links):
        out = LINK.format(place if i == links - 1 else 0.2, f"{i % 2} 1 {i}", i + 2, out)
    return out


class Case(NamedTuple):
    """The inertia of three trees, and dense matrices of two of them."""

    inertia: Inertia
    M: np.ndarray  # as MuJoCo keeps it
    D: np.ndarray  # (5, 5)
    L: np.ndarray  # (5, 5) lower, D = Lᵀ L
    Q: np.ndarray  # (m, 5) orthonormal: what closures forbid, whitened


def make_case(closures: int) -> Case:
    trees = "".join(chain(x, n) for x, n in ((0, 2), (1, 3), (2, 3)))
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{trees}</worldbody></mujoco>")
    data, rng = mujoco.MjData(model), np.random.default_rng(closures)
    data.qpos[:] = rng.uniform(-1.0, 1.0, model.nq)
    mujoco.mj_forward(model, data)
    whole = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, whole)
    inertia = make_inertia(model.M_rownnz, model.M_rowadr, model.M_colind, closures)
    assert factor_inertia(data.M, inertia)
    D = whole[np.ix_(DOFS, DOFS)]
    L = np.linalg.cholesky(D[::-1, ::-1])[::-1, ::-1].T
    W = np.zeros((closures, model.nv))
    W[:, DOFS] = rng.standard_normal((closures, len(DOFS)))
    if closures:
        assert close_loops(inertia, closures, W, np.zeros(closures)) == closures
    return Case(inertia, data.M.copy(), D, L, inertia.Q[:closures][:, DOFS])


@pytest.fixture(params=[0, 2], ids=["open", "closed"], name="case")
def fixture_case(request: pytest.FixtureRequest) -> Case:
    return make_case(request.param)


def forbidden(case: Case, x: np.ndarray) -> np.ndarray:
    """What is left of whitened rows."""
    return x - x @ case.Q.T @ case.Q


def test_columns_of_spans_are_those_dofs() -> None:
    rng = np.random.default_rng(1)
    row, x, out = rng.standard_normal(5), rng.standard_normal(8), rng.standard_normal(8)
    assert spans_size(SPANS, 2) == 5 and spans_size(SPANS, 1) == 2 and spans_size(SPANS, 0) == 0
    assert spans_dot(SPANS, 2, row, x) == pytest.approx(row @ x[DOFS], rel=1e-14)
    want = out.copy()
    want[DOFS] += 0.7 * row
    add_spans(SPANS, 2, row, 0.7, out)
    np.testing.assert_allclose(out, want, rtol=1e-14)
    taken = np.zeros(5)
    take_spans(SPANS, 2, x, taken)
    np.testing.assert_array_equal(taken, x[DOFS])
    gather_spans(SPANS, 2, x, -0.3, taken)
    np.testing.assert_allclose(taken, 0.7 * x[DOFS], rtol=1e-14)
    want = out.copy()
    want[DOFS] = row
    put_spans(SPANS, 2, row, out)
    np.testing.assert_array_equal(out, want)


def test_rows_are_whitened(case: Case) -> None:
    """J ← J L⁻¹, so that J Jᵀ is J D⁻¹ Jᵀ; then what closures forbid is gone."""
    J = np.random.default_rng(2).standard_normal((4, 5))
    open_, whole = J.copy(), J.copy()
    whiten_open_spans(case.inertia, SPANS, 2, 1, 3, open_)
    np.testing.assert_array_equal(open_[[0, 3]], J[[0, 3]])
    np.testing.assert_allclose(open_[1:3], J[1:3] @ np.linalg.inv(case.L), atol=1e-9)
    whiten_spans(case.inertia, SPANS, 2, 3, whole)
    np.testing.assert_allclose(whole[:3], forbidden(case, J[:3] @ np.linalg.inv(case.L)), atol=1e-9)
    np.testing.assert_array_equal(whole[3], J[3])


def test_what_closures_take_is_counted(case: Case) -> None:
    x = np.random.default_rng(3).standard_normal(5)
    got = x.copy()
    taken = project_spans(case.inertia, SPANS, 2, got)
    np.testing.assert_allclose(got, forbidden(case, x), atol=1e-12)
    assert taken == pytest.approx(float(((case.Q @ x) ** 2).sum()), abs=1e-12)


def test_velocities_and_forces_are_whitened_and_back(case: Case) -> None:
    x = np.random.default_rng(4).standard_normal(5)
    velocity, force, back = x.copy(), x.copy(), x.copy()
    whiten_velocity_spans(case.inertia, SPANS, 2, velocity)
    np.testing.assert_allclose(velocity, case.L @ x, atol=1e-10)
    whiten_force_spans(case.inertia, SPANS, 2, force)
    np.testing.assert_allclose(force, forbidden(case, np.linalg.solve(case.L.T, x)), atol=1e-9)
    unwhiten_spans(case.inertia, SPANS, 2, back)
    np.testing.assert_allclose(case.L @ back, x, atol=1e-10)


def test_momentum_is_of_what_lies_in_the_spans(case: Case) -> None:
    qd, out = np.random.default_rng(5).standard_normal(8), np.zeros(5)
    momentum_spans(case.M, case.inertia, SPANS, 2, qd, out)
    np.testing.assert_allclose(out, case.D @ qd[DOFS], atol=1e-12)
