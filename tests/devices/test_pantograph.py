"""The twin pantograph: kinematics, inertia, motors, encoders and the observer."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

from detent import FourChannel, Session, World
from detent.devices import Pantograph
from detent.devices.adapters import Adapter, Placed
from detent.devices.pantograph import FORCE, TORQUE
from detent.devices.port import SEQUENCE, STAMP
from detent.devices.simulated_pantograph import read_linkage, write_linkage
from detent.errors import ParameterError
from detent.hands import Constant
from detent.kernels.pantograph import (
    endpoint_forces,
    forward_pantograph,
    handle_wrench,
    inverse_pantograph,
    motor_torques,
    weigh_pantograph,
)
from sweeps import sweep

DEVICE = Pantograph()
HALF = 0.5 * DEVICE.workspace


def joints_at(pose: np.ndarray, device: Pantograph = DEVICE) -> np.ndarray:
    out = np.zeros(4)
    inverse_pantograph(pose, device.links, out)
    return out


def weighed(
    pose: np.ndarray, rate: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """J, its rate, M_d and C_d."""
    J, dJ, M, C = (np.zeros((n, 3)) for n in (4, 4, 3, 3))
    joints = joints_at(pose)
    weigh_pantograph(pose, rate, joints, DEVICE.links, DEVICE.masses, J, dJ, M, C)
    return J, dJ, M, C


def poses(count: int, seed: int = 0) -> np.ndarray:
    """All over the workspace, turned by any angle."""
    high = np.array([HALF, HALF, np.pi])
    return np.random.default_rng(seed).uniform(-high, high, (count, 3))


def differences(function: Any, pose: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """∂function/∂pose, the derivative's index last."""
    ways = step * np.eye(3)
    return np.stack([(function(pose + w) - function(pose - w)) / (2 * step) for w in ways], -1)


def test_forward_undoes_inverse_all_over_the_workspace() -> None:
    back = np.zeros(3)
    for pose in poses(sweep(5000, 200)):
        forward_pantograph(joints_at(pose), DEVICE.links, back)
        assert np.abs(back - pose).max() < 1e-9


def test_it_turns_without_end() -> None:
    """Ten turns in a corner of the workspace: every joint comes back, none runs away."""
    angles = np.linspace(0.0, 20.0 * np.pi, 2001)
    found = np.array([joints_at(np.array([HALF, -HALF, a])) for a in angles])
    assert np.isfinite(found).all()
    assert np.abs(np.diff(found, axis=0)).max() < 0.1
    assert np.abs(found[-1] - found[0]).max() < 1e-9


def test_jacobians_are_those_of_differences() -> None:
    rng = np.random.default_rng(1)
    for pose in poses(sweep(500, 20)):
        rate = rng.normal(size=3) * (1.0, 1.0, 10.0)
        J, dJ, *_ = weighed(pose, rate)
        assert np.allclose(J, differences(joints_at, pose), rtol=1e-5, atol=1e-6 * np.abs(J).max())
        step = 1e-6
        ahead = weighed(pose + step * rate, rate)[0] - weighed(pose - step * rate, rate)[0]
        assert np.allclose(dJ, ahead / (2 * step), rtol=1e-4, atol=1e-6 * np.abs(dJ).max())


def test_power_at_the_motors_is_power_at_the_handle_and_nothing_stretches_the_crank() -> None:
    rng = np.random.default_rng(2)
    for pose in poses(sweep(2000, 50)):
        J, *_ = weighed(pose, np.zeros(3))
        u, rate = rng.normal(size=3) * (10.0, 10.0, 1.0), rng.normal(size=3)
        f, torques, back = np.zeros(4), np.zeros(4), np.zeros(3)
        motor_torques(u, pose[2], J, DEVICE.links, f, torques)
        handle_wrench(torques, J, back)
        assert np.abs(back - u).max() < 1e-9
        assert abs(torques @ (J @ rate) - u @ rate) < 1e-9
        along = np.array([np.cos(pose[2]), np.sin(pose[2])])
        assert abs((f[:2] - f[2:]) @ along) < 1e-12


def test_the_forces_of_the_endpoints_are_the_pseudo_inverse() -> None:
    rng = np.random.default_rng(3)
    for angle in rng.uniform(-np.pi, np.pi, 20):
        half = 0.5 * DEVICE.crank
        arm = half * np.array([np.cos(angle), np.sin(angle)])
        rows = [[[1, 0, -s * arm[1]], [0, 1, s * arm[0]]] for s in (-1.0, 1.0)]
        u, f = rng.normal(size=3), np.zeros(4)
        endpoint_forces(u, angle, DEVICE.links, f)
        assert np.allclose(f, np.linalg.pinv(np.vstack(rows).T) @ u, rtol=0.0, atol=1e-12)


def rod(name: str, length: float, mass: float, more: str = "", rotor: float = 0.0) -> str:
    """MJCF of a uniform link from its joint on; it turns about z."""
    across = mass * length**2 / 12.0
    return (
        f'<joint name="{name}" axis="0 0 1" armature="{rotor}"/>'
        f'<inertial pos="{length / 2} 0 0" mass="{mass}" diaginertia="1e-9 {across} {across}"/>'
        + more
    )


def tree() -> mujoco.MjModel:
    """Eight links and a handle, not closed, in MuJoCo's own words."""
    d, arms = DEVICE, ""
    for k in range(4):
        side = 2 * (k % 2) - 1
        far = f'<body pos="{d.proximal} 0 0">{rod(f"far{k}", d.distal, d.distal_mass)}</body>'
        place = f"{side * d.base / 2} {-d.height} 0"
        near = rod(f"near{k}", d.proximal, d.proximal_mass, far, d.rotor)
        arms += f'<body pos="{place}">{near}</body>'
    turning = d.handle_mass * d.crank**2 / 12
    handle = (
        '<body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>'
        f'<joint axis="0 0 1"/><inertial pos="0 0 0" mass="{d.handle_mass}" '
        f'diaginertia="1e-3 1e-3 {turning}"/></body>'
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler balanceinertia="true"/><option gravity="0 0 0"/>'
        f"<worldbody>{arms}{handle}</worldbody></mujoco>"
    )


def tree_coordinates(pose: np.ndarray) -> np.ndarray:
    """Angles of all links in the order of `tree`, the handle's pose last."""
    near, d, out = joints_at(pose), DEVICE, []
    for k in range(4):
        side, end = 2 * (k % 2) - 1, 2 * (k // 2) - 1
        elbow = np.array([side * d.base / 2, -d.height])
        elbow = elbow + d.proximal * np.array([np.cos(near[k]), np.sin(near[k])])
        tip = pose[:2] + end * d.crank / 2 * np.array([np.cos(pose[2]), np.sin(pose[2])])
        dx, dy = tip - elbow
        assert np.hypot(dx, dy) == pytest.approx(d.distal, abs=1e-9)
        out += [near[k], np.arctan2(dy, dx) - near[k]]
    return np.array([*out, *pose])


def test_inertia_and_gyration_are_those_of_mujoco() -> None:
    """M_d = GᵀDG and C_d ẋ = Gᵀ(bias + D Ġẋ), D and bias MuJoCo's, of the links as an open tree."""
    model = tree()
    data, dense = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    rng, step = np.random.default_rng(4), 1e-5
    for pose in 0.9 * poses(sweep(100, 5), 4):
        rate = rng.normal(size=3) * (0.5, 0.5, 5.0)
        G = differences(tree_coordinates, pose)
        before, here, after = (tree_coordinates(pose + s * step * rate) for s in (-1, 0, 1))
        bent = (after - 2.0 * here + before) / step**2  # Ġẋ
        data.qpos[:], data.qvel[:] = here, G @ rate
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, dense)
        _, _, M, C = weighed(pose, rate)
        assert np.allclose(M, G.T @ dense @ G, rtol=1e-6, atol=1e-6 * np.abs(M).max())
        push = G.T @ (data.qfrc_bias + dense @ bent)
        assert np.allclose(C @ rate, push, rtol=1e-3, atol=1e-3 * np.abs(push).max())


def test_the_rate_of_its_inertia_less_twice_c_is_skew() -> None:
    rng = np.random.default_rng(5)
    for pose in 0.9 * poses(20, 5):
        rate = rng.normal(size=3) * (1.0, 1.0, 10.0)
        change = differences(lambda at: weighed(at, np.zeros(3))[2], pose) @ rate
        _, _, _, C = weighed(pose, rate)
        rest = change - 2.0 * C
        assert np.abs(rest + rest.T).max() < 1e-6 * max(np.abs(C).max(), 1.0)


def test_the_stated_current_gives_23_newtons_and_115_newton_centimetres() -> None:
    """At the centre, in every direction and at every angle of the crank; and no current less."""
    f, torques, most = np.zeros(4), np.zeros(4), 0.0
    for angle in np.linspace(0.0, 2.0 * np.pi, 72, endpoint=False):
        J, *_ = weighed(np.array([0.0, 0.0, angle]), np.zeros(3))
        ways = np.linspace(0.0, 2.0 * np.pi, 72, endpoint=False)
        asked = [(FORCE * np.cos(w), FORCE * np.sin(w), 0.0) for w in ways]
        for u in np.array([*asked, (0.0, 0.0, TORQUE)]):
            motor_torques(u, angle, J, DEVICE.links, f, torques)
            most = max(most, np.abs(torques).max() / DEVICE.torque_constant)
    assert 0.99 * DEVICE.peak_current < most <= DEVICE.peak_current


# --- as it moves


def behind(
    device: Pantograph, rate: float = 1000.0, twist: tuple[float, ...] = (0,) * 6
) -> Adapter:
    """The simulated device, without a servo."""
    placed = Placed(
        pose=np.array([0.3, -0.2, 0.1, 1.0, 0.0, 0.0, 0.0]), twist=np.array(twist, float),
        mask=device.mask(np.ones(6)), mobility=np.eye(6), step=1.0 / rate, leads=False,
        compensate=False, fastest_loop=1.0,
    )  # fmt: skip
    return device.adapter(placed)


def tick(adapter: Adapter, wrench: np.ndarray | None = None) -> None:
    """Read, command, write."""
    read_linkage(adapter.struct)
    adapter.port.command.wrench[:] = 0.0 if wrench is None else wrench
    write_linkage(adapter.struct)


def energy(linkage: Any) -> float:
    _, _, M, _ = weighed(linkage.pose, linkage.rate)
    return float(0.5 * linkage.rate @ M @ linkage.rate)


def test_what_a_session_runs_can_be_called_from_python_too() -> None:
    """A stage has its own copies of what it calls: the loader once took them for the originals."""
    Session(World.builtin("corner"), device=Pantograph()).run(0.005)
    adapter = behind(Pantograph(), 1000.0, (0.0,) * 6)
    for _ in range(5):
        tick(adapter)
    assert np.isfinite(adapter.struct.pose).all()  # type: ignore[attr-defined]


def test_energy_is_conserved_without_friction() -> None:
    """It spins and drifts through all its inertia: a second, or most of a turn, at 25 rad/s."""
    adapter = behind(Pantograph(friction=0.0), 1000.0, (0.03, -0.02, 0, 0, 0, 25.0))
    linkage: Any = adapter.struct
    before = energy(linkage)
    for _ in range(sweep(1000, 200)):
        tick(adapter)
    assert abs(energy(linkage) / before - 1.0) < 1e-6
    assert linkage.pose[2] > 4.0


def test_friction_takes_what_the_joints_slide_and_holds_what_it_can() -> None:
    """What it holds is a linear program: JᵀT = −F with |T| ≤ c."""
    from scipy.optimize import linprog

    J, *_ = weighed(np.zeros(3), np.zeros(3))
    balance = np.hstack([J.T, [[-1.0], [0.0], [0.0]]])
    bounds = [(-2e-3, 2e-3)] * 4 + [(0.0, None)]
    most = -linprog([0, 0, 0, 0, -1.0], A_eq=balance, b_eq=np.zeros(3), bounds=bounds).fun
    for share, moves in ((0.97, False), (1.05, True)):
        held: Any = (adapter := behind(Pantograph(friction=2e-3), 1000.0)).struct
        adapter.port.hand[0] = share * most
        for _ in range(100):
            tick(adapter)
        assert (np.abs(held.pose).max() > 1e-9) == moves
    sliding: Any = (
        adapter := behind(Pantograph(friction=2e-3), 1000.0, (0.1, 0, 0, 0, 0, 0))
    ).struct
    lost, before = 0.0, energy(sliding)
    for _ in range(20):
        start = joints_at(sliding.pose)
        tick(adapter)
        lost += 2e-3 * np.abs(joints_at(sliding.pose) - start).sum()
    assert energy(sliding) < before
    assert before - energy(sliding) == pytest.approx(lost, rel=0.05)


def test_encoders_have_sixteen_thousand_counts() -> None:
    adapter = behind(DEVICE, 1000.0, (0.05, 0.0, 0, 0, 0, 0))
    linkage: Any = adapter.struct
    count, worst = 2.0 * np.pi / 16_000, 0.0
    for _ in range(50):
        tick(adapter)
        read_linkage(linkage)
        seen = joints_at(linkage.seen) / count
        shown = linkage.state.position[:2] - linkage.state.true_pose[:2]
        worst = max(worst, np.abs(shown).max())
        assert np.abs(seen - joints_at(linkage.pose) / count).max() < 1.5
    assert 1e-6 < worst < 1e-4


def test_stops_hold_the_handle_and_only_push() -> None:
    adapter = behind(Pantograph(friction=0.0), 1000.0)
    linkage: Any = adapter.struct
    adapter.port.hand[:2] = 20.0, -20.0
    for _ in range(400):
        tick(adapter)
    assert np.abs(np.abs(linkage.pose[:2]) - HALF).max() < 2e-3
    adapter.port.hand[:2] = -0.5, 0.5
    for _ in range(20):
        tick(adapter)
    assert (np.abs(linkage.pose[:2]) < HALF).all()


def test_motors_keep_their_currents_and_give_up_the_peak_when_hot() -> None:
    """Half a second of time constant instead of thirty; a stop holds the handle meanwhile."""
    device = Pantograph(heating=0.5)
    adapter = behind(device, 1000.0)
    linkage: Any = adapter.struct
    asked, currents = np.array([30.0, 0, 0, 0, 0, 0]), []
    for _ in range(3000):
        tick(adapter, asked)
        currents.append(np.abs(linkage.torque).max() / device.torque_constant)
    assert max(currents) <= device.peak_current * (1 + 1e-12)
    assert max(currents) > 0.6 * device.peak_current
    assert currents[-1] < 1.2 * device.continuous_current
    assert linkage.heat.max() <= 1.001


def test_a_command_acts_after_its_delay() -> None:
    for delay in (0, 1, 3):
        adapter = behind(Pantograph(delay_ticks=delay), 1000.0)
        linkage: Any = adapter.struct
        felt = []
        for _ in range(6):
            tick(adapter, np.array([1.0, 0, 0, 0, 0, 0]))
            felt.append(np.abs(linkage.torque).max() > 0.0)
        assert felt == [k >= delay for k in range(6)]


def observed(push: tuple[float, float, float], rate: float) -> np.ndarray:
    """What the observer says of a push from 20 ms on, while a command pushes back half of it."""
    adapter = behind(DEVICE, rate)
    said, axes, first = [], [0, 1, 5], int(0.02 * rate)
    for k in range(int(0.12 * rate)):
        back = np.zeros(6)
        adapter.port.hand[axes] = push if k >= first else 0.0
        back[axes] = -0.5 * np.array(push) if k >= first else 0.0
        tick(adapter, back)
        said.append(adapter.port.state.wrench[axes].copy())
    assert np.abs(said[:first]).max() < 1e-9
    return np.array(said)


@pytest.mark.parametrize("push", [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.6, 0.8, 0.01)])
def test_the_observer_knows_a_step_of_a_newton_after_50_ms(
    push: tuple[float, float, float],
) -> None:
    """Within 5 % from counts alone, with friction: at 4 kHz in every tick, at 1 kHz rms."""
    for rate in (4000.0, 1000.0):
        off = np.linalg.norm((observed(push, rate) - push)[int(0.07 * rate) :, :2], axis=1)
        assert np.sqrt(np.mean(off**2)) < 0.05
        assert rate == 1000.0 or off.max() < 0.05


def test_it_is_a_device_of_a_session_and_knows_no_more_than_its_encoders() -> None:
    world = World.builtin("corner")
    run = Session(world, device=Pantograph(), coupling=FourChannel(), rate=1000.0).run(
        0.5, Constant(force=(1.0, -0.5))
    )
    assert np.isfinite(run["device_position"]).all()
    assert np.linalg.norm(run["device_wrench"][:, :3], axis=1).max() <= FORCE
    blind = behind(Pantograph(observer=False))
    blind.port.hand[0] = 1.0
    for _ in range(100):
        tick(blind)
    assert (blind.port.state.wrench == 0.0).all()
    assert np.abs(blind.port.state.twist[0] - blind.port.state.true_twist[0]) < 0.02


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"proximal": 0.05}, "links that reach"),
        ({"friction": -1.0}, "friction"),
        ({"peak_current": 1.0}, "at least the continuous"),
        ({"counts": 0.5}, "whole number"),
        ({"delay_ticks": 65}, "0 to 64"),
        ({"home": (0.1, 0.0)}, "within"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Pantograph(**given)


def test_motors_give_what_is_asked_below_their_limits() -> None:
    """At the handle, in any direction and with a torque."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        adapter = behind(Pantograph(delay_ticks=0), 1000.0)
        linkage: Any = adapter.struct
        asked = rng.normal(size=3) * (2.0, 2.0, 0.05)
        wrench, back = np.zeros(6), np.zeros(3)
        wrench[[0, 1, 5]] = asked
        tick(adapter, wrench)
        J, *_ = weighed(linkage.seen, np.zeros(3))
        handle_wrench(linkage.torque, J, back)
        np.testing.assert_allclose(back, asked, atol=1e-9)


def test_readings_are_numbered_one_by_one_and_stamped_by_the_clock() -> None:
    adapter = behind(DEVICE, 2000.0)
    for number in range(1, 5):
        before = int(adapter.port.state.counts[SEQUENCE])
        tick(adapter)
        assert adapter.port.state.counts[SEQUENCE] == before + 1
        assert adapter.port.state.counts[STAMP] == number * 500_000
