"""The factored inertia against MuJoCo's."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from detent.kernels.inertia import (
    add_momentum,
    factor_inertia,
    make_inertia,
    respond_to,
    unwhiten,
    whiten,
    whiten_rows,
    whiten_velocity,
)

LEG = """
  <body pos="0 {side} -.1">
    <joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 0 1"/>
    <geom type="capsule" fromto="0 0 0 0 .05 -.4" size=".05"/>
    <body pos="0 .05 -.4"><joint axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04"/>
      <body pos="0 0 -.4"><joint type="ball"/><geom type="box" size=".1 .05 .02" pos=".05 0 0"/>
      </body></body></body>"""
HUMANOID = (
    "<body><freejoint/><geom type='box' size='.1 .2 .3' pos='.03 .01 .1'/>"
    + LEG.format(side=-0.1)
    + LEG.format(side=0.1)
    + "<body pos='0 0 .4'><joint axis='0 1 0'/><geom size='.1' pos='.01 0 .1'/></body></body>"
)
FREE = "<body><freejoint/><geom type='box' size='.1 .2 .3' pos='.1 .2 0'/></body>"
SIMPLE = "<body><freejoint/><geom type='box' size='.1 .2 .3'/></body>"
PLANAR = """<body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
  <joint axis="0 0 1"/><geom type="box" size=".021 .0105 .01" pos=".01 0 0"/></body>"""
SCENES = {"humanoid": HUMANOID, "free": FREE, "simple": SIMPLE, "planar": PLANAR}
SCENES["all"] = HUMANOID + SIMPLE + PLANAR + FREE


class Scene:
    """A scene's inertia: MuJoCo's dense and factored form, and ours."""

    def __init__(self, bodies: str) -> None:
        self.model = mujoco.MjModel.from_xml_string(
            f"<mujoco><worldbody>{bodies}</worldbody></mujoco>"
        )
        self.data = mujoco.MjData(self.model)
        rng = np.random.default_rng(7)
        self.nv = self.model.nv
        mujoco.mj_integratePos(self.model, self.data.qpos, rng.normal(size=self.nv), 1.0)
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_factorM(self.model, self.data)
        self.dense = np.zeros((self.nv, self.nv))
        mujoco.mj_fullM(self.model, self.data, self.dense)
        m = self.model
        self.factor = make_inertia(m.M_rownnz, m.M_rowadr, m.M_colind)
        self.definite = factor_inertia(self.data.M, self.factor)


@pytest.fixture(params=SCENES)
def inertia(request: pytest.FixtureRequest) -> Scene:
    return Scene(SCENES[request.param])


def test_factor_is_mujocos(inertia: Scene) -> None:
    assert inertia.definite
    np.testing.assert_allclose(inertia.factor.LD, inertia.data.qLD, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(inertia.factor.diaginv, inertia.data.qLDiagInv, rtol=1e-12)


def test_response_is_mujocos(inertia: Scene) -> None:
    y = np.random.default_rng(0).normal(size=(1, inertia.nv))
    theirs, ours = np.zeros_like(y), y[0].copy()
    mujoco.mj_solveM(inertia.model, inertia.data, theirs, y)
    respond_to(inertia.factor, ours)
    np.testing.assert_allclose(ours, theirs[0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(inertia.dense @ ours, y[0], atol=1e-11)


def test_momentum_is_added_to_what_is_there(inertia: Scene) -> None:
    qd, there = np.random.default_rng(4).normal(size=(2, inertia.nv))
    found = there.copy()
    add_momentum(inertia.data.M, inertia.factor, qd, found)
    np.testing.assert_allclose(found, there + inertia.dense @ qd, atol=1e-11)


def test_whitening_makes_the_inertia_the_identity(inertia: Scene) -> None:
    rng = np.random.default_rng(1)
    J, v = rng.normal(size=(5, inertia.nv)), rng.normal(size=inertia.nv)
    N, u = J.copy(), v.copy()
    for row in N:
        whiten(inertia.factor, row)
    whiten_velocity(inertia.factor, u)
    np.testing.assert_allclose(N @ N.T, J @ np.linalg.solve(inertia.dense, J.T), rtol=1e-9)
    np.testing.assert_allclose(u @ u, v @ inertia.dense @ v, rtol=1e-12)
    np.testing.assert_allclose(N @ u, J @ v, rtol=1e-10, atol=1e-12)


def test_whitening_of_many_rows_is_that_of_one_by_one(inertia: Scene) -> None:
    N = np.random.default_rng(2).normal(size=(7, inertia.nv))
    single = N[3].copy()
    whiten_rows(inertia.factor, 7, N)
    whiten(inertia.factor, single)
    np.testing.assert_array_equal(N[3], single)


def test_unwhitening_goes_back(inertia: Scene) -> None:
    j = np.random.default_rng(3).normal(size=inertia.nv)
    response, velocity, expected = j.copy(), j.copy(), j.copy()
    whiten(inertia.factor, response)
    unwhiten(inertia.factor, response)
    respond_to(inertia.factor, expected)
    np.testing.assert_allclose(response, expected, rtol=1e-10, atol=1e-12)
    whiten_velocity(inertia.factor, velocity)
    unwhiten(inertia.factor, velocity)
    np.testing.assert_allclose(velocity, j, rtol=1e-10, atol=1e-12)


def test_factor_refuses_what_is_not_positive_definite() -> None:
    one = np.ones(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    for mass in (0.0, -1.0, np.nan):
        assert not factor_inertia(np.array([mass]), make_inertia(*one))
