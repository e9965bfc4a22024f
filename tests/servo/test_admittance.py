"""Constrained dynamics on an admittance display: energy, stops, null spaces, sensors, guards."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import detent
from detent import Admittance, Mechanism, Session, Trace, World
from detent.devices import AdmittanceDisplay, Inertial
from detent.errors import ParameterError, ServoFault
from detent.hands import Constant, Impedance, Sinusoid
from detent.mechanism import BodyDamper, BodySpring, Orientation
from detent.mechanism.library import builtin
from detent.servo.loop.loop import run_lockstep
from mechanism_lab import IDEAL, admissible, pendulum, planar_arm, settled
from waiting import wait_for

X, Y, DX, DY, M, G = sp.symbols("x y dx dy m g", real=True)


def ball(restitution: float = 0.0, stops: tuple = (Y,), **more: object) -> Mechanism:
    """A point above a floor, with gravity."""
    fields: dict = {
        "name": "ball", "coordinates": (X, Y), "velocities": (DX, DY),
        "kinetic_energy": M * (DX**2 + DY**2) / 2, "gravity": M * G * Y, "stops": stops,
        "restitution": restitution, "constants": {M: 0.5, G: 9.81}, "start": (0.1, 0.2),
    }  # fmt: skip
    return Mechanism(**(fields | more))


def total(trace: Trace) -> np.ndarray:
    return trace["tool_energy"] + trace["potential_energy"]


def test_a_pendulum_has_the_period_of_the_elliptic_integral_and_keeps_its_energy() -> None:
    trace = Session(pendulum(), device=IDEAL).run(10.0)
    x = trace["coordinates"][:, 0]
    down = np.nonzero((x[:-1] > 0) & (x[1:] <= 0))[0]
    exact = trace["time"][down] + 1e-3 * x[down] / (x[down] - x[down + 1])
    period = 4.0 * np.sqrt(0.4 / 9.81) * ellipk(np.sin(0.5) ** 2)
    np.testing.assert_allclose(np.diff(exact), period, rtol=1e-6)
    assert np.ptp(total(trace)) < 1e-9
    assert trace["closure"].max() < 1e-12 and trace["forbidden_rate"].max() < 1e-12
    tension = 2.0 * 0.4 * trace["multipliers"][:, 0]  # λ times the gradient's length
    swing = (trace["velocities"] ** 2).sum(axis=1) / 0.4
    cosine = -trace["coordinates"][:, 1] / 0.4
    np.testing.assert_allclose(-tension, 0.5 * (9.81 * cosine + swing), atol=1e-6)


def test_damping_takes_energy_at_every_tick() -> None:
    trace = Session(pendulum(damping=0.05), device=IDEAL).run(5.0)
    assert (np.diff(total(trace))[1:] < 0.0).all()


def test_the_documents_own_step_is_of_first_order_and_ours_of_fourth() -> None:
    def change(integrator: str, rate: float) -> float:
        session = Session(
            pendulum(), coupling=Admittance(integrator=integrator), device=IDEAL, rate=rate
        )
        return float(np.ptp(total(session.run(2.0))))

    literal = [change("taylor", rate) for rate in (500.0, 1000.0)]
    ours = [change("runge-kutta", rate) for rate in (125.0, 250.0)]
    assert 0.7 < np.log2(literal[0] / literal[1]) < 1.5
    assert np.log2(ours[0] / ours[1]) > 3.5
    assert ours[1] < 1e-2 * literal[1]


def test_parametrised_and_projected_motion_agree() -> None:
    arm = builtin("two-link-circle")
    hand = Sinusoid(force=(1.0, 2.0), frequency=0.7)
    by_chart = Session(arm, device=IDEAL).run(3.0, hand)
    projected = Session(replace(arm, parametrisation=None), device=IDEAL).run(3.0, hand)
    np.testing.assert_allclose(by_chart["coordinates"], projected["coordinates"], atol=1e-9)
    assert projected["closure"].max() < 1e-11


def test_euler_and_lie_agree_away_from_the_poles() -> None:
    hand = Sinusoid(force=(0.5, 0.2, -0.3), torque=(0.005, 0.0, 0.01), frequency=0.5)
    euler = Session(builtin("disk-on-sphere"), device=IDEAL).run(2.0, hand)
    lie = Session(builtin("lie-disk-on-sphere"), device=IDEAL).run(2.0, hand)
    assert np.ptp(euler["tool_position"], axis=0).max() > 0.01
    np.testing.assert_allclose(euler["tool_position"], lie["tool_position"], atol=1e-10)
    same = np.abs((euler["tool_quaternion"] * lie["tool_quaternion"]).sum(axis=1))
    np.testing.assert_allclose(same, 1.0, atol=1e-10)


def test_a_tumbling_body_keeps_energy_and_angular_momentum() -> None:
    turn = Orientation("a")
    J = sp.symbols("J1:4")
    spin = sum(j * w**2 for j, w in zip(J, turn.rates, strict=True)) / 2
    body = Mechanism(
        name="tumbler", coordinates=(turn,), kinetic_energy=spin, position=(0, 0, 0),
        rotation=turn.matrix, constants=dict(zip(J, (0.001, 0.002, 0.003), strict=True)),
        start=(1, 0, 0, 0), start_velocity=(0.01, 6.0, 0.02),
    )  # fmt: skip
    trace = Session(body, device=IDEAL).run(10.0)
    assert np.abs(trace["tool_energy"] / trace["tool_energy"][0] - 1.0).max() < 1e-9
    w, x, y, z = trace["coordinates"].T
    L = trace["velocities"] * [0.001, 0.002, 0.003]
    vector, turned = np.stack([x, y, z], axis=1), np.zeros_like(L)
    cross = 2.0 * np.cross(vector, L)
    turned = L + w[:, None] * cross + np.cross(vector, cross)
    assert np.abs(turned - turned[0]).max() < 1e-9
    assert trace["velocities"][:, 1].min() < -5.0  # it flips, as Dzhanibekov's nut does


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_stop_never_gives_energy(restitution: float) -> None:
    trace = Session(ball(restitution), device=IDEAL).run(3.0)
    assert np.diff(total(trace)).max() < 1e-12
    assert trace["coordinates"][:, 1].min() > -1e-9
    assert trace["stop_energy"].min() >= -1e-15
    if restitution == 1.0:
        np.testing.assert_allclose(total(trace), total(trace)[0], rtol=1e-9)
    if restitution == 0.0:  # it rests, and is carried
        assert trace["contacts"][-1] == 1 and abs(trace["coordinates"][-1, 1]) < 1e-9
        assert trace["multipliers"][-1, 0] == pytest.approx(0.5 * 9.81)


def polar(restitution: float) -> Mechanism:
    """A mass in polar coordinates that a spring pulls onto a ring: its C u is not zero."""
    r, a, dr, da, m, k = sp.symbols("r a dr da m k", real=True)
    return Mechanism(
        name="polar", coordinates=(r, a), velocities=(dr, da), inertia=sp.diag(m, m * r**2),
        position=(r * sp.cos(a), r * sp.sin(a), 0), springs=(k * r**2 / 2,),
        stops=(r - sp.Rational(1, 10),), restitution=restitution, constants={m: 1.0, k: 60.0},
        start=(0.15, 0.0), start_velocity=(0.0, 3.0),
    )  # fmt: skip


@pytest.mark.parametrize("restitution", [0.0, 0.9, 1.0])
def test_a_stop_gives_no_energy_where_velocities_have_forces(restitution: float) -> None:
    energy = total(trace := Session(polar(restitution), device=IDEAL).run(10.0))
    assert np.diff(energy).max() < 1e-8 * energy[0]
    assert trace["collisions"].sum() >= (2 if restitution == 0.0 else 5)
    if restitution == 1.0:
        np.testing.assert_allclose(energy, energy[0], rtol=1e-8)


def test_a_bounce_has_the_speed_that_restitution_says() -> None:
    trace = Session(ball(0.5), device=IDEAL).run(0.4)
    hit = int(np.argmax(trace["collisions"] > 0))
    before = -trace["velocities"][hit - 1, 1] + 9.81e-3
    assert trace["velocities"][hit, 1] == pytest.approx(0.5 * before, rel=1e-3)
    assert before == pytest.approx(np.sqrt(2 * 9.81 * 0.2), rel=0.01)


def test_a_stop_lets_go_without_a_push() -> None:
    rest = ball(start=(0.1, 0.0))
    trace = Session(rest, device=IDEAL).run(1.0, Sinusoid(force=(0.0, 8.0), frequency=0.5))
    up = int(np.argmax(trace["coordinates"][:, 1] > 1e-9))
    assert 0.2 < trace["time"][up] < 0.4  # 8 sin(πt) = 4.905 at 0.21 s
    assert trace["velocities"][up, 1] < 0.02
    assert trace["coordinates"][-1, 1] > 0.01


def test_two_stops_hold_a_corner_and_a_slope_is_slid_down() -> None:
    corner = Session(ball(stops=(Y, X, X + Y), start=(0.05, 0.02)), device=IDEAL)
    trace = corner.run(2.0, Constant((-3.0, 0.0)))
    np.testing.assert_allclose(trace["coordinates"][-1], 0.0, atol=1e-9)
    assert np.abs(trace["velocities"][-1]).max() < 1e-9
    slope = ball(stops=(Y - X,), start=(0.0, 0.0))
    slid = Session(slope, device=IDEAL).run(0.5)
    exact = -0.5 * 9.81 * slid["time"] ** 2 / 2.0
    np.testing.assert_allclose(slid["coordinates"], np.stack([exact, exact], axis=1), atol=1e-9)


def test_a_redundant_arm_keeps_its_null_space_motion() -> None:
    arm = planar_arm(3, start_velocity=(0.5, -1.0, 0.8))
    free = Session(arm, device=IDEAL).run(2.0)
    assert np.abs(free["tool_energy"] / free["tool_energy"][0] - 1.0).max() < 1e-9
    x = sp.symbols("x1:3", real=True)
    still = planar_arm(3)
    me = settled(still, still.start, (0, 0, 0))
    ends = me.position[:2].tolist()
    pinned = planar_arm(3, holonomic=(x[0] - ends[0], x[1] - ends[1]))
    pinned = replace(pinned, start_velocity=admissible(pinned, (0.5, -1.0, 0.8)))
    held = Session(pinned, device=IDEAL).run(2.0, Constant((5.0, 3.0)))
    np.testing.assert_allclose(held["tool_position"][:, :2], [ends] * len(held), atol=1e-11)
    assert np.abs(held["tool_energy"] / held["tool_energy"][0] - 1.0).max() < 1e-9
    assert np.ptp(held["coordinates"], axis=0).min() > 0.05  # it swings behind a fixed hand


def test_a_redundant_arm_follows_a_parametrised_path() -> None:
    x, z = sp.symbols("x1:3", real=True), sp.Symbol("z", real=True)
    start = settled(planar_arm(3), (0.3, 0.8, -0.5), (0, 0, 0)).position
    height = float(start[1])
    line = planar_arm(
        3, holonomic=(x[1] - height,), parametrisation=((z,), (z, sp.Float(height, 17))),
    )  # fmt: skip
    line = replace(line, start_velocity=admissible(line, (0.4, -0.9, 0.3)))
    hand = Sinusoid(force=(2.0, 9.0), frequency=1.0)
    by_chart = Session(line, device=IDEAL).run(1.0, hand)
    projected = Session(replace(line, parametrisation=None), device=IDEAL).run(1.0, hand)
    assert by_chart["closure"].max() < 1e-10
    np.testing.assert_allclose(by_chart["coordinates"], projected["coordinates"], atol=1e-8)


def test_a_body_spring_restores_on_any_coordinates_and_keeps_energy() -> None:
    spring = BodySpring(40.0, 0.08, (0.02, 0.0, 0.01), (0.9, 0.3, -0.2, 0.1))
    disk = builtin("rolling-disk")
    loose = replace(
        disk, holonomic=(), pfaffian=(), parametrisation=None, dampers=(), springs=(spring,),
        start=(0.05, 0.01, 0.03, 0.4, 0.3, 1.2),
    )  # fmt: skip
    trace = Session(loose, device=IDEAL).run(2.0)
    assert np.ptp(total(trace)) < 1e-8 * total(trace)[0]
    calmed = replace(loose, dampers=(BodyDamper(2.0, 0.02),))
    end = Session(calmed, device=IDEAL).run(5.0)
    np.testing.assert_allclose(end["tool_position"][-1], spring.position, atol=1e-4)
    there = np.asarray(spring.quaternion) / np.linalg.norm(spring.quaternion)
    assert abs(end["tool_quaternion"][-1] @ there) > 1.0 - 1e-6


def test_the_spring_maps_to_the_documents_generalised_forces() -> None:
    """errata B3: τ_q = [R f; E(q)ᵀ n] with body wrenches f and n, and ω_b = E q̇."""
    spring = BodySpring(40.0, 0.08, (0.02, 0.0, 0.01))
    disk = builtin("rolling-disk")
    q = np.array([0.05, 0.01, 0.03, 0.4, 0.3, 1.2])
    loose = replace(
        disk, holonomic=(), pfaffian=(), parametrisation=None, dampers=(), springs=(spring,),
        start=tuple(q),
    )  # fmt: skip
    me = settled(loose, q, np.zeros(6))
    R = me.rotation
    delta = R.T  # R_o = 1
    angle = np.arccos((np.trace(delta) - 1.0) / 2.0)
    axis = np.array([delta[2, 1] - delta[1, 2], delta[0, 2] - delta[2, 0],
                     delta[1, 0] - delta[0, 1]]) / (2.0 * np.sin(angle))  # fmt: skip
    force, turn = 40.0 * R.T @ (np.array([0.02, 0.0, 0.01]) - q[:3]), 0.08 * angle * axis
    s5, c5, s6, c6 = np.sin(q[4]), np.cos(q[4]), np.sin(q[5]), np.cos(q[5])
    E = np.array([[s5 * s6, 0, c5], [c5 * s6, 0, -s5], [c6, 1, 0]])
    np.testing.assert_allclose(me.torque[0], np.concatenate([R @ force, E.T @ turn]), atol=1e-12)


def test_an_unconstrained_disk_agrees_with_scipy() -> None:
    arm = replace(builtin("two-link-circle"), holonomic=(), parametrisation=None)
    e = arm.equations()
    values = {s: sp.Float(v) for s, v in arm.constants.items()}
    rate = (e.M.inv() * (e.load - e.bias + e.J[:2, :].T * sp.Matrix([1.5, -2.0]))).subs(values)
    f = sp.lambdify([e.q, e.u], list(rate))
    trace = Session(arm, device=IDEAL).run(1.0, Constant((1.5, -2.0)))
    start = np.concatenate([arm.start, [0.0, 0.0]])
    exact = solve_ivp(
        lambda t, y: np.concatenate([y[2:], f(y[:2], y[2:])]), (0.0, 1.0), start,
        t_eval=trace["time"], rtol=1e-11, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(trace["coordinates"], exact.y[:2].T, atol=1e-8)


def test_the_display_follows_and_the_seed_decides_the_noise() -> None:
    hand = Sinusoid(force=(2.0, 1.0), frequency=1.0)
    runs = [
        Session(builtin("rolling-disk"), device=AdmittanceDisplay(seed=s)).run(1.0, hand)
        for s in (1, 1, 2)
    ]
    assert runs[0].state_hash() == runs[1].state_hash() != runs[2].state_hash()
    assert np.abs(runs[0]["tracking_error"][:, :3]).max() < 1e-4
    noise = runs[0]["sensed_wrench"] - runs[0]["hand_wrench"]
    assert 0.015 < noise[:, :3].std() < 0.025
    assert np.allclose(np.round(runs[0]["sensed_wrench"][:, :3] / 0.01) * 0.01,
                       runs[0]["sensed_wrench"][:, :3])  # fmt: skip


def test_a_biased_sensor_lets_the_mechanism_drift() -> None:
    free = replace(builtin("two-link-circle"), dampers=())
    still = Session(free, device=IDEAL).run(1.0)
    biased = Session(free, device=replace(IDEAL, bias=(0.0, 0.5, 0, 0, 0, 0))).run(1.0)
    assert np.ptp(still["coordinates"]) < 2.0 and still["tool_energy"].max() < 1e-12
    assert biased["tool_energy"].max() > 1e-4


def test_weight_and_inertia_beyond_the_sensor_are_compensated() -> None:
    heavy = replace(IDEAL, effector=0.8, gravity=(0.0, -9.81, 0.0))
    hand = Sinusoid(force=(1.0, 2.0), frequency=2.0)
    arm = builtin("two-link-circle")
    exact = Session(arm, device=IDEAL).run(1.0, hand)
    helped = Session(arm, device=heavy).run(1.0, hand)
    alone = Session(arm, device=heavy, coupling=Admittance(compensate=False)).run(1.0, hand)
    np.testing.assert_allclose(helped["coordinates"], exact["coordinates"], atol=1e-9)
    assert np.abs(alone["coordinates"] - exact["coordinates"]).max() > 0.1


def test_feedback_in_joint_space_is_that_of_the_joints() -> None:
    joints = np.eye(6)
    joints[0, 1] = joints[4, 0] = 0.5
    display = replace(IDEAL, joints=joints.tolist())
    gains = (4e3, 9e3, 1e4, 1e4, 1e4, 1e4)
    hand = Sinusoid(force=(8.0, 3.0), frequency=4.0)

    def run(space: str) -> Trace:
        coupling = Admittance(stiffness=gains, space=space)
        return Session(builtin("rolling-disk"), coupling=coupling, device=display).run(0.5, hand)

    task, joint = run("task"), run("joint")
    np.testing.assert_allclose(task["tool_position"], joint["tool_position"])
    assert not np.array_equal(task["device_position"], joint["device_position"])
    assert np.abs(joint["tracking_error"]).max() < 1e-3


def test_the_apparent_inertia_is_the_documents() -> None:
    assert AdmittanceDisplay().mass == pytest.approx(11.0)
    assert AdmittanceDisplay(steering=np.pi / 2).mass == pytest.approx(6.0)
    assert AdmittanceDisplay(steering=0.01).mass > 1e4
    for wrong in (
        {"steering": 0.0},
        {"noise": (-1.0, 0.0)},
        {"structure": (0.0, 1.0)},
        {"joints": np.zeros((6, 6))},
        {"limits": (1.0,)},
        {"bandwidth": 0.0},
    ):
        with pytest.raises(detent.DetentError):
            AdmittanceDisplay(**wrong)


def test_the_guard_limits_what_the_actuators_are_asked_for() -> None:
    weak = replace(IDEAL, limits=(3.0,) * 6)
    trace = Session(builtin("rolling-disk"), device=weak).run(0.5, Constant((9.0, 0.0)))
    assert trace["altered"].sum() > 0
    assert np.abs(trace["device_wrench"]).max() <= 3.0
    assert np.abs(trace["raw_wrench"]).max() > 3.0


def test_a_motion_that_is_not_finite_stops_the_servo_with_zero_force() -> None:
    cliff = ball(stops=(), gravity=M * G * sp.sqrt(X))  # not a number beyond x = 0
    with pytest.raises(ServoFault, match="not finite") as caught:
        Session(cliff, device=IDEAL).run(5.0)
    assert not np.any(caught.value.last_rows["device_wrench"][-1])


def test_an_impedance_device_feels_the_constraint_as_a_spring() -> None:
    device = Inertial(mass=0.5, rotational_inertia=0.005, subspace="full", damping=(2.0, 0.02))
    session = Session(builtin("disk-on-sphere"), device=device, coupling=Admittance(2000.0, 60.0))
    out = np.asarray(builtin("disk-on-sphere").start[:3]) / 0.05
    trace = session.run(3.0, Constant(tuple(4.0 * out)))
    give = trace["device_position"][-1] @ out - 0.05
    assert give == pytest.approx(4.0 / 1000.0, rel=1e-3)  # 0.5 kg × 2000 1/s²
    assert trace["closure"].max() < 1e-12


def test_gains_that_the_step_cannot_hold_are_bounded_and_noted() -> None:
    trace = Session(builtin("rolling-disk"), coupling=Admittance(1e7, 1e4)).run(0.01)
    assert any("bounded by the step" in note for note in trace.meta["notes"])


@pytest.mark.parametrize("name", ["four-bar", "crank", "two-link"])
def test_the_constraints_of_a_world_need_no_expressions(name: str) -> None:
    session = Session(World.builtin(name), coupling=Admittance())
    trace = session.run(1.0, Sinusoid(force=(0.5, 0.3, 0.2), frequency=1.0))
    assert isinstance(session.device, AdmittanceDisplay)
    moved = np.ptp(trace["tool_position"], axis=0).max()
    off = np.linalg.norm(trace["device_position"] - trace["tool_position"], axis=1)
    assert moved > 3e-3
    assert off.max() < 1e-4
    assert trace["closure"].max() < 1e-4


def test_a_display_stops_where_a_world_stops() -> None:
    session = Session(World.builtin("corner"), coupling=Admittance())
    trace = session.run(3.0, Constant((2.0, -2.0)))
    assert trace["contacts"][-1] > 0
    assert trace["depth"][-1] < 1e-3
    assert np.abs(trace["device_twist"][-1, :2]).max() < 1e-3
    with pytest.raises(ParameterError, match="None with Admittance"):
        Session(World.builtin("corner"), detent.Contact(material="wood"), coupling=Admittance())


def test_rows_are_as_wide_as_the_mechanism_and_survive_a_file(tmp_path: Path) -> None:
    file = tmp_path / "arm.arrow"
    trace = Session(builtin("two-link-circle")).run(0.5, Constant((1.0, 0.0)), record=file)
    assert trace["coordinates"].shape == (500, 2)
    assert trace["multipliers"].shape == (500, 1)
    assert trace["part_energies"].shape == (500, 2)
    again = Trace.load(file)
    assert again.state_hash() == trace.state_hash()
    assert again.meta["mechanism"]["parts"] == ["link 1", "link 2"]
    trace.plot(tmp_path / "arm.png")
    assert (tmp_path / "arm.png").stat().st_size > 10_000


def test_ticks_allocate_nothing() -> None:
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    for mechanism in (builtin("disk-on-sphere"), ball(0.5)):
        ready = Session(mechanism).prepare(Impedance(), 1000.0, 64)
        run_lockstep(ready.servo, 100)
        before = rtsys.get_allocation_stats().alloc
        run_lockstep(ready.servo, 2000)
        assert rtsys.get_allocation_stats().alloc == before


@pytest.mark.live
def test_a_mechanism_runs_live() -> None:
    session = Session(builtin("lie-disk-on-sphere"))
    with session.live(rate=500.0, hand=Impedance(200.0, 10.0)) as live:
        live.pull((0.03, -0.03, 0.03))
        assert wait_for(lambda: live.status().ticks >= 300)
        poses, row = live.view()
        rows = live.recent()
    assert len(rows) and rows["closure"].max() < 1e-9
    body = session.world.model.body("disk").id
    assert np.linalg.norm(poses[body, :3]) == pytest.approx(0.05, abs=1e-9)
    assert np.linalg.norm(row["track"]) == pytest.approx(0.05, abs=1e-9)


@pytest.mark.slow
def test_plain_python_agrees_with_compiled_code() -> None:
    code = (
        "import numpy as np; from detent import Session, hands;"
        "from detent.mechanism.library import builtin;"
        "t = Session(builtin('two-link-circle')).run(0.02, hands.Constant((3.0, 1.0)));"
        "print(repr(t['coordinates'][-1].tolist() + t['device_position'][-1].tolist()))"
    )
    outputs = []
    for plain in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_DISABLE_JIT": plain,
                 "PYTHONPATH": str(Path(detent.__file__).parents[1])},
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        outputs.append(np.array(eval(done.stdout)))
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-12, atol=1e-15)
