"""A seven-joint arm held at any link, and moved through a singular pose (TH 5.3, 5.4)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from detent import AT_ONCE, ForcePath
from detent.coupling.four_channel import FourChannel
from detent.coupling.linkage import Topology
from detent.devices import Inertial
from detent.experiments.protocol import Claim, Experiment, Metrics, Positive, Result, at_most, holds
from detent.hands import Guided
from detent.record.plots import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    RED,
    SKY,
    figure,
    legend,
    save,
    state,
)
from detent.record.trace import Trace
from detent.session import Session
from detent.world.world import World

RATE = 1000.0  # [Hz]
LINKS = ("link7", "link5", "link4", "link3", "link2")
COLOURS = dict(zip(LINKS, (BLACK, BLUE, GREEN, ORANGE, PINK), strict=True))
MASS, INERTIA = 1.0, 0.01  # [kg] [kg·m²] of the device
STIFFNESS, DAMPING = 20_000.0, 280.0  # [1/s²] [1/s] k_tc and b_tc
HAND = 500.0, 20.0, 5.0, 0.2  # [N/m] [N·s/m] [N·m/rad] [N·m·s/rad]
PULL = np.array([0.0, 0.04, 0.03])  # [m] where each link is pulled
SLEW_FORCE, SLEW_TORQUE = 50.0, 10.0  # [N/s] [N·m/s]
WAIT = 0.3  # [s] before the passage

#: the wrist is bent by q6, from one side through straight to the other; with q5 at 90° straight
#: is singular, because the shoulder and the elbow cannot give the rotation that is lost
BEND = 0.6  # [rad]
BENT = np.array([0.0, 0.1, 0.0, np.pi / 2.0, np.pi / 2.0, BEND, 0.0])  # [rad]


def hand_jacobian(world: World, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(7,) pose of the hand point, and (6, 7) its Jacobian, by MuJoCo."""
    data = mujoco.MjData(world.model)
    data.qpos[:] = q
    mujoco.mj_kinematics(world.model, data)
    mujoco.mj_comPos(world.model, data)
    place = data.xpos[world.held] + data.xmat[world.held].reshape(3, 3) @ world.point
    jac = np.zeros((6, world.model.nv))
    mujoco.mj_jac(world.model, data, jac[:3], jac[3:], place, world.held)
    return np.concatenate([place, data.xquat[world.held]]), jac


def rank(jac: np.ndarray) -> int:
    """The directions in which the hand moves, by the singular values."""
    sigma = np.linalg.svd(jac, compute_uv=False)
    return int((sigma > 1e-9 * sigma[0]).sum())


def session(world: World, guard: ForcePath = AT_ONCE) -> Session:
    """With a stiff penalty on what the joints resist."""
    coupling = FourChannel(topology=Topology(STIFFNESS, DAMPING, ease=0.0))
    return Session(world, None, coupling, Inertial(MASS, INERTIA), guard, rate=RATE)


def pull_link(link: str) -> tuple[Trace, int]:
    """Pull a link sideways and up, and back; the trace and the rank at the start."""
    world = World.builtin("arm-7", tool=link)
    start, jac = hand_jacobian(world, world.qpos)
    away = start + np.concatenate([PULL, np.zeros(4)])
    path = ((0.0, *start), (0.1, *start), (0.6, *away), (1.0, *away), (1.5, *start))
    return session(world).run(2.0, Guided(*HAND, path=path)), rank(jac)


def straighten(speed: float, guard: ForcePath) -> Trace:
    """Lead link 7 through the aligned wrist at a hand speed [m/s]."""
    world = World.builtin("arm-7").placed(BENT)
    rows: list[tuple[float, ...]] = []
    time = WAIT
    for q6 in np.linspace(BEND, -BEND, 41):
        place, _ = hand_jacobian(world, np.array([*BENT[:5], q6, 0.0]))
        if rows:
            time += float(np.linalg.norm(place[:3] - rows[-1][1:4])) / speed
        rows.append((time, *place))
    path = ((0.0, *rows[0][1:]), *rows)
    return session(world, guard).run(time + 0.5, Guided(*HAND, path=path))


def apart(trace: Trace) -> np.ndarray:
    """(n, 6) pose of the device minus that of the held link."""
    out = np.zeros((len(trace), 6))
    out[:, :3] = trace["device_position"] - trace["tool_position"]
    for row, a, b in zip(out, trace["tool_quaternion"], trace["device_quaternion"], strict=True):
        mujoco.mju_subQuat(row[3:], b, a)  # in the frame of the link
        mujoco.mju_rotVecQuat(row[3:], row[3:].copy(), a)
    return out


def off_manifold(trace: Trace) -> np.ndarray:
    r"""How far the device is where the joints cannot go, in the device's inertia as metric [m].

    .. math:: d = |u^T \Delta x| / \sqrt{m \, u^T M_d^{-1} u}

    u is the wrench of the penalty, which spans those directions at rest.
    """
    u, mobility = trace["topology_wrench"], np.repeat([1.0 / MASS, 1.0 / INERTIA], 3)
    size = np.sqrt(MASS * np.sum(u * u * mobility, axis=1))
    return np.abs(np.sum(u * apart(trace), axis=1)) / np.maximum(size, 1e-30)


def allowed(trace: Trace) -> float:
    """F / (k_tc m), in the same metric, of the largest wrench of the hand [m]."""
    mobility = np.repeat([1.0 / MASS, 1.0 / INERTIA], 3)
    push = np.sum(trace["hand_wrench"] ** 2 * mobility, axis=1).max()
    return float(np.sqrt(push / MASS) / STIFFNESS)


def slews(trace: Trace) -> tuple[float, float]:
    """The fastest changes of the device's force [N/s] and torque [N·m/s]."""
    rate = np.diff(trace["device_wrench"], axis=0) * RATE
    force, torque = (np.linalg.norm(rate[:, part], axis=1).max() for part in (np.s_[:3], np.s_[3:]))
    return float(force), float(torque)


def link_metrics(trace: Trace, ranked: int) -> Metrics:
    """Constraints, and how well the held link follows."""
    error = np.linalg.norm(apart(trace)[:, :3], axis=1)
    still = round(0.99 * RATE)
    return {
        "rank": float(ranked),
        "fewest_constraints": float(trace["constraints"].min()),
        "most_constraints": float(trace["constraints"].max()),
        "hand_force": float(np.linalg.norm(trace["hand_wrench"][:, :3], axis=1).max()),
        "moved": float(np.linalg.norm(trace["tool_position"][still] - trace["tool_position"][0])),
        "error": float(error.max()),
        "off_manifold": float(off_manifold(trace)[still]),
        "allowed": allowed(trace),
    }


def passage_metrics(trace: Trace) -> Metrics:
    """Force, count and error of one passage."""
    count = trace["constraints"]
    force, torque = slews(trace)
    error = apart(trace)
    return {
        "finite": float(np.isfinite(trace["device_wrench"]).all()),
        "peak_force": float(np.linalg.norm(trace["device_wrench"][:, :3], axis=1).max()),
        "peak_torque": float(np.linalg.norm(trace["device_wrench"][:, 3:], axis=1).max()),
        "slew_force": force,
        "slew_torque": torque,
        "changes": float((np.diff(count) != 0).sum()),
        "most_constraints": float(count.max()),
        "seconds_constrained": float((count > 0).sum() / RATE),
        "hand_speed": float(np.linalg.norm(trace["tool_twist"][:, :3], axis=1).max()),
        "error": float(np.linalg.norm(error[:, :3], axis=1).max()),
        "error_angle": float(np.linalg.norm(error[:, 3:], axis=1).max()),
        "off_manifold": float(off_manifold(trace)[count > 0].max(initial=0.0)),
        "allowed": allowed(trace),
    }


def hold_any_link(speed: Positive = 0.2) -> Result:
    """Speed [m/s] at which link 7 is led through the singular pose. Our own experiment."""
    traces: dict[str, Trace] = {}
    metrics = Metrics()
    for link in LINKS:
        traces[link], ranked = pull_link(link)
        found = link_metrics(traces[link], ranked)
        metrics |= {f"{link}.{key}": value for key, value in found.items()}
    for name, guard in (
        ("limited", ForcePath(None, SLEW_FORCE, SLEW_TORQUE, ramp=0.0)),
        ("unlimited", AT_ONCE),
    ):
        traces[name] = straighten(speed, guard)
        metrics |= {f"{name}.{k}": v for k, v in passage_metrics(traces[name]).items()}
    _, jac = hand_jacobian(World.builtin("arm-7"), np.array([*BENT[:5], 0.0, 0.0]))
    sigma = np.linalg.svd(jac, compute_uv=False)
    metrics["singular_value"] = float(sigma[-1] / sigma[0])
    return Result(metrics, arm_claims(metrics), traces, partial(draw_arm, traces))


def arm_claims(m: Metrics) -> list[Claim]:
    """TH 5.4: as many constraints as directions are missing, and no jolt where one goes missing."""
    return link_claims(m) + passage_claims(m)


def link_claims(m: Metrics) -> list[Claim]:
    """Every link that can be held."""
    claims = []
    for link in LINKS:
        few, most = m[f"{link}.fewest_constraints"], m[f"{link}.most_constraints"]
        expected = 6.0 - m[f"{link}.rank"]
        claims.append(
            holds(
                f"arm.count-{link}",
                "TH 5.23",
                f"{link} held: constraints at every tick",
                most,
                f"6 − rank = {expected:.0f}",
                few == expected and most == expected,
            )
        )
        if expected > 0.0:
            claims.append(
                at_most(
                    f"arm.follows-{link}",
                    "TH 5.4",
                    f"{link} held: device off what the joints allow, within F / (k_tc m)",
                    m[f"{link}.off_manifold"],
                    m[f"{link}.allowed"],
                    "m",
                )
            )
    return claims


def passage_claims(m: Metrics) -> list[Claim]:
    """A passage through a singular pose."""
    through = m["singular_value"] < 1e-9 and m["limited.most_constraints"] == 1.0
    return [
        holds(
            "arm.singular",
            "TH Fig 5.3(b)",
            "the path leads through a singular pose (σ_min/σ_max), and a constraint is felt there",
            m["singular_value"],
            "< 1e-9, and 1 constraint",
            through,
        ),
        holds(
            "arm.finite",
            "ours",
            "largest force on the device in the passage [N]",
            m["limited.peak_force"],
            "finite at every tick",
            m["limited.finite"] == 1.0,
        ),
        at_most(
            "arm.slew-force",
            "ours",
            "the force does not change faster than the force path allows",
            m["limited.slew_force"],
            SLEW_FORCE * (1.0 + 1e-9),
            "N/s",
        ),
        at_most(
            "arm.slew-torque",
            "ours",
            "nor does the torque",
            m["limited.slew_torque"],
            SLEW_TORQUE * (1.0 + 1e-9),
            "N·m/s",
        ),
        holds(
            "arm.changes",
            "catalogue M33",
            "changes of the number of constraints in the passage",
            m["limited.changes"],
            "≤ 2",
            0.0 < m["limited.changes"] <= 2.0,
        ),
        at_most(
            "arm.follows-passage",
            "TH 5.4",
            "in the passage: device off what the joints allow, within F / (k_tc m)",
            m["limited.off_manifold"],
            m["limited.allowed"],
            "m",
        ),
    ]


def draw_arm(traces: dict[str, Trace], path: Path) -> Any:
    """Each held link, and the passage."""
    title = "A seven-joint arm held at any link, and led through an aligned wrist (after TH 5.4)"
    fig, axes = figure(2, 3, (15, 8), title)
    count, moved, error = axes[0]
    for link in LINKS:
        trace = traces[link]
        style: dict[str, Any] = {"color": COLOURS[link], "lw": 1.5}
        count.step(trace["time"], trace["constraints"], where="post", label=link, **style)
        way = trace["tool_position"] - trace["tool_position"][0]
        moved.plot(trace["time"], 1e3 * np.linalg.norm(way, axis=1), label=link, **style)
        force = np.linalg.norm(trace["hand_wrench"][:, :3], axis=1)
        error.plot(trace["time"], force, label=link, **style)
    count.set(ylabel="constraints [-]", ylim=(-0.4, 6.4))
    state(count, "6 − rank constraints: one more with each link nearer to the base")
    moved.set(ylabel="distance of the held link [mm]", ylim=(0, 80))
    state(moved, "pulled 40 mm sideways and 30 mm up, each link goes as far as it can")
    error.set(ylabel="force of the hand [N]", ylim=(0, 36))
    state(error, "nearer to the base the arm resists more")
    for ax in axes[0]:
        ax.set(xlabel="time [s]", xlim=(0, 2))
        legend(ax, "upper right", ncols=2)
    draw_passage(axes[1], traces)
    return save(fig, path)


def draw_passage(axes: Any, traces: dict[str, Trace]) -> None:
    """Hand and wrench while the wrist goes through straight."""
    limited, unlimited = traces["limited"], traces["unlimited"]
    time = limited["time"]
    error = apart(limited)
    where, wrench, follows = axes
    where.plot(time, 1e3 * limited["tool_position"][:, 1], color=BLACK, lw=1.5, label="link 7, y")
    where.plot(time, 1e3 * limited["device_position"][:, 1], "--", color=SKY, label="device, y")
    where.set(ylabel="position [mm]", ylim=(-90, 110))
    state(where, "led from one side to the other, link 7 goes with the device")
    rate = [np.linalg.norm(np.diff(t["device_wrench"][:, 3:], axis=0), axis=1) * RATE
            for t in (unlimited, limited)]  # fmt: skip
    wrench.plot(time[1:], rate[0], color=RED, lw=1.2, label="without slew limit")
    wrench.plot(time[1:], rate[1], color=BLUE, lw=1.2, label="with slew limit")
    wrench.axhline(SLEW_TORQUE, color="0.5", lw=1, ls=":", label="limit")
    wrench.set_yscale("log")
    wrench.set(ylabel="change of the torque on the device [N·m/s]", ylim=(1e-3, 1e4))
    state(wrench, "the torque jumps where a constraint comes; the slew limit cuts that")
    follows.plot(
        time, 1e3 * np.linalg.norm(error[:, :3], axis=1), color=BLUE, lw=1.4,
        label="device to link 7, all directions",
    )  # fmt: skip
    held = limited["constraints"] > 0
    off = np.where(held, 1e3 * off_manifold(limited), np.nan)
    follows.plot(time, off, color=ORANGE, lw=1.8, label="off what the joints allow")
    follows.axhline(
        1e3 * allowed(limited), color=ORANGE, lw=1, ls=":", label="F / (k_tc m) of the hand"
    )
    follows.set_yscale("log")
    follows.set(ylabel="distance [mm]", ylim=(1e-4, 1e3))
    state(follows, "the joints hold the device within what the hand can bend")
    for ax in axes:
        ax.fill_between(
            time, 0, 1, where=held, transform=ax.get_xaxis_transform(), color="0.87", step="post",
            label="one constraint",
        )  # fmt: skip
        ax.set(xlabel="time [s]", xlim=(0, time[-1]))
        legend(ax, "upper right")


EXPERIMENTS = (
    Experiment("arm-any-link", "M18-M20", "A seven-joint arm held at any link", hold_any_link),
)
