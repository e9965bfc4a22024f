"""Derived equations: the document's closed forms, identities, MuJoCo, an independent KKT solve."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import sympy as sp

from detent.kernels.constrained import find_multipliers
from detent.kernels.stages import run_stage
from detent.mechanism.library import (
    BASE,
    CIRCLE,
    LINK,
    LINK_MASS,
    MECHANISMS,
    SPHERE,
    WHEEL,
    body_rates,
    builtin,
    euler,
)
from detent.setup.plan import dense_inertia
from mechanism_lab import compiled, evaluated, kkt, pendulum, planar_arm, settled

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(7)
EXACT = 1e-12


def random_state(name: str) -> tuple[np.ndarray, np.ndarray]:
    m = builtin(name)
    q = RNG.uniform(-1.0, 1.0, len(m.q))
    if m.orientations:
        q[3:] /= np.linalg.norm(q[3:])
    return q, RNG.uniform(-1.0, 1.0, len(m.u))


def test_the_inertia_of_the_disk_is_equation_20() -> None:
    m = builtin("rolling-disk").with_constants(J_xx=0.002, J_yy=0.003, J_zz=0.0045)
    for _ in range(20):
        q, u = random_state("rolling-disk")
        s5, c5, s6, c6 = np.sin(q[4]), np.cos(q[4]), np.sin(q[5]), np.cos(q[5])
        xx, yy, zz = 0.002, 0.003, 0.0045
        M = np.diag([0.25, 0.25, 0.25, (xx * s5**2 + yy * c5**2) * s6**2 + zz * c6**2, zz,
                     c5**2 * xx + s5**2 * yy])  # fmt: skip
        M[3, 4] = M[4, 3] = c6 * zz
        M[3, 5] = M[5, 3] = c5 * (xx - yy) * s5 * s6
        np.testing.assert_allclose(dense_inertia(evaluated(m, q, u)), M, atol=EXACT)


def test_inertia_and_coriolis_of_the_arm_are_equations_34_and_35() -> None:
    m = builtin("two-link-circle")
    C = compiled(m.equations().C, m)
    k = LINK_MASS * LINK**2
    for _ in range(20):
        q, u = random_state("two-link-circle")
        c2, s2 = np.cos(q[1]), np.sin(q[1])
        M = k * np.array([[(5 + 3 * c2) / 3, (2 + 3 * c2) / 6], [(2 + 3 * c2) / 6, 1 / 3]])
        paper = k / 2 * s2 * np.array([[-u[1], -(u[0] + u[1])], [u[0], 0.0]])
        me = evaluated(m, q, u)
        np.testing.assert_allclose(dense_inertia(me), M, atol=EXACT)
        np.testing.assert_allclose(C(q, u), paper, atol=EXACT)
        np.testing.assert_allclose(me.bias, paper @ u, atol=EXACT)


def test_constraint_rows_are_equations_25_and_39_and_errata_e12() -> None:
    q, u = random_state("rolling-disk")
    A = np.zeros((4, 6))
    A[0, 2] = A[1, 5] = A[2, 0] = A[3, 1] = 1.0
    A[2, 4], A[3, 4] = WHEEL * np.cos(q[3]), WHEEL * np.sin(q[3])
    np.testing.assert_allclose(evaluated(builtin("rolling-disk"), q, u).A, A, atol=EXACT)
    s4, c4, s6, c6 = np.sin(q[3]), np.cos(q[3]), np.sin(q[5]), np.cos(q[5])
    r = SPHERE
    E12 = np.hstack([np.eye(3), r * np.array([
        [-c4 * s6, 0, -s4 * c6], [-s4 * s6, 0, c4 * c6], [0, 0, s6]])])  # fmt: skip
    np.testing.assert_allclose(evaluated(builtin("disk-on-sphere"), q, u).A, E12, atol=EXACT)
    q, u = random_state("two-link-circle")
    both, s1, s2 = q[0] + q[1], -BASE, 0.0
    A39 = 2 * LINK * np.array([
        (np.cos(both) + np.cos(q[0])) * s2 - (np.sin(both) + np.sin(q[0])) * s1,
        np.cos(both) * s2 - np.sin(both) * s1 - LINK * np.sin(q[1]),
    ])  # fmt: skip
    np.testing.assert_allclose(evaluated(builtin("two-link-circle"), q, u).A[0], A39, atol=EXACT)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_rate_of_the_inertia_minus_twice_coriolis_is_skew(name: str) -> None:
    m = builtin(name)
    if not m.orientations:
        m = m.with_constants(**{"J_xx": 0.002, "J_yy": 0.003} if "disk" in name else {})
    e = m.equations()
    rate = e.M.applyfunc(
        lambda f: sum(f.diff(s) * v for s, v in zip(e.q, e.N * sp.Matrix(e.u), strict=True))
    )
    skew = compiled(rate - 2 * e.C, m)
    for _ in range(5):
        S = skew(*random_state(name))
        np.testing.assert_allclose(S, -np.asarray(S).T, atol=EXACT)


def test_coriolis_of_body_rates_is_eulers_equation() -> None:
    m = builtin("lie-disk-on-sphere").with_constants(J_xx=0.002, J_yy=0.003, J_zz=0.0045)
    J = np.diag([0.002, 0.003, 0.0045])
    for _ in range(5):
        q, u = random_state("lie-disk-on-sphere")
        bias = evaluated(m, q, u).bias
        np.testing.assert_allclose(bias[:3], 0.0, atol=EXACT)
        np.testing.assert_allclose(bias[3:], np.cross(u[3:], J @ u[3:]), atol=EXACT)


def test_body_rates_are_those_of_the_rotation_matrix() -> None:
    q, dq = sp.symbols("q1:7", real=True), sp.symbols("dq1:7", real=True)
    R = euler(q)
    spin = R.T * sum((R.diff(a) * v for a, v in zip(q[3:], dq[3:], strict=True)), R * 0)
    expected = sp.Matrix([spin[2, 1], spin[0, 2], spin[1, 0]])
    at = dict(zip((*q, *dq), RNG.uniform(-1, 1, 12), strict=True))
    difference = (expected - sp.Matrix(body_rates(q, dq))).subs(at)
    assert max(abs(float(v)) for v in difference) < EXACT


@pytest.mark.parametrize("name", MECHANISMS)
def test_rates_of_rows_and_jacobians_agree_with_finite_differences(name: str) -> None:
    m = builtin(name)
    q, u = random_state(name)
    N = sp.lambdify([m.q], m.equations().N)(q)
    h = 1e-6
    ahead, behind, here = (evaluated(m, q + s * h * (N @ u), u) for s in (1, -1, 0))
    for field, drift in (("A", "drift"), ("J", "J_drift"), ("J_phi", "phi_drift")):
        rate = (getattr(ahead, field) - getattr(behind, field)) @ u / (2 * h)
        np.testing.assert_allclose(getattr(here, drift), rate, atol=1e-8)
    moved = (ahead.position - behind.position) / (2 * h)
    np.testing.assert_allclose(here.J[:3] @ u, moved, atol=1e-8)
    spin = (ahead.rotation - behind.rotation) / (2 * h) @ here.rotation.T
    np.testing.assert_allclose(here.J[3:] @ u, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)


@pytest.mark.parametrize("name", MECHANISMS)
def test_gram_matrices_are_those_of_the_jacobians(name: str) -> None:
    m = builtin(name)
    me = evaluated(m, *random_state(name))
    me.z[:] = RNG.uniform(-1.0, 1.0, len(me.z))
    run_stage(me.chart, me)
    for J, entries, metric in (
        (me.J, me.J_gram, me.J_metric),
        (me.J_psi, me.psi_gram, me.psi_metric),
    ):
        stored = np.zeros((J.shape[1], J.shape[1]))
        stored[np.repeat(np.arange(len(stored)), metric.rownnz), metric.colind] = entries
        np.testing.assert_allclose(stored, np.tril(J.T @ J), atol=EXACT)


@pytest.mark.parametrize("name", MECHANISMS)
def test_accelerations_and_multipliers_solve_the_kkt_system(name: str) -> None:
    m = builtin(name)
    for _ in range(5):
        me = settled(m, m.start, RNG.uniform(-1.0, 1.0, len(m.u)), wrench := RNG.normal(size=6))
        rate, multipliers = kkt(me, m, wrench)
        np.testing.assert_allclose(me.rate, rate, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(me.A @ me.rate, -me.drift, atol=1e-10)
        find_multipliers(me)
        np.testing.assert_allclose(me.multipliers, multipliers, rtol=1e-9, atol=1e-9)


def mujoco_acceleration(xml: str, q: np.ndarray, u: np.ndarray, push: dict) -> np.ndarray:
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, u
    mujoco.mj_forward(model, data)
    for body, wrench in push.items():
        where = data.body(body).xpos
        mujoco.mj_applyFT(
            model, data, wrench[:3], wrench[3:], where, model.body(body).id, data.qfrc_applied
        )
    mujoco.mj_forward(model, data)
    return data.qacc.copy()


def test_the_free_arm_accelerates_as_mujocos() -> None:
    rods = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint axis="0 0 1"/>
      <inertial pos="0.05 0 0" mass="1.2" diaginertia="1e-9 0.001 0.001"/>
      <body pos="0.1 0 0"><joint axis="0 0 1"/>
      <inertial pos="0.05 0 0" mass="1.2" diaginertia="1e-9 0.001 0.001"/>
      <body name="end" pos="0.1 0 0"/></body></body></worldbody></mujoco>"""
    m = planar_arm(2)
    for _ in range(10):
        q, u = RNG.uniform(-2, 2, 2), RNG.uniform(-3, 3, 2)
        force = np.array([*RNG.normal(size=2), 0, 0, 0, 0])
        theirs = mujoco_acceleration(rods, q, u, {"end": force})
        np.testing.assert_allclose(settled(m, q, u, force).rate, theirs, rtol=1e-9, atol=1e-9)


def test_a_constrained_pendulum_accelerates_as_mujocos_hinge() -> None:
    hinge = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body><joint axis="0 -1 0"/>
      <inertial pos="0 0 -0.4" mass="0.5" diaginertia="1e-12 1e-12 1e-12"/>
      </body></worldbody></mujoco>"""
    m = pendulum()
    for angle, spin in ((0.3, 0.0), (1.0, 2.0), (-2.5, -4.0)):
        out = np.array([np.sin(angle), -np.cos(angle)])
        along = np.array([np.cos(angle), np.sin(angle)])
        a = mujoco_acceleration(hinge, np.array([angle]), np.array([spin]), {})[0]
        ours = settled(m, 0.4 * out, 0.4 * spin * along).rate
        np.testing.assert_allclose(ours, 0.4 * (a * along - spin**2 * out), atol=1e-8)


def test_the_circle_is_where_the_arm_starts() -> None:
    m = builtin("two-link-circle")
    me = evaluated(m, m.start, (0.0, 0.0))
    np.testing.assert_allclose(me.position, [CIRCLE, 0, 0], atol=EXACT)
    np.testing.assert_allclose(me.body_position[2] - me.body_position[1],
                               LINK * me.body_rotation[1][:, 0], atol=EXACT)  # fmt: skip
