"""A surgical instrument through an entry point: pivot, lever and stiffness at the hand."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import mujoco
import numpy as np

from detent import AT_ONCE
from detent.coupling.four_channel import FourChannel
from detent.coupling.linkage import Shaping, Topology
from detent.devices import Inertial
from detent.experiments.protocol import (
    Claim,
    Experiment,
    Metrics,
    Range,
    Result,
    at_most,
    holds,
    within,
)
from detent.hands import Guided
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, RED, SKY, figure, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.world import World

RATE = 1000.0  # [Hz]
GRIP = 0.165  # [m] from the entry point to the hand at the start
TIP = 0.15  # [m] from the entry point to the tip at the start
TISSUE = np.array([0.045, 0.01])  # [m] its centre, seen from the entry point
SIDE = TISSUE / np.linalg.norm(TISSUE)  # towards it
STIFFNESS, DAMPING = 20_000.0, 280.0  # [1/s²] [1/s] k_tc and b_tc
MASS, INERTIA = 0.2, 0.004  # [kg] [kg·m²] of the device
HAND = 1000.0, 20.0  # [N/m] [N·s/m]; it leaves the orientation to the instrument
INSERTION = 0.055  # [m]
PRESSED = 2.4  # [s] when the tip has rested in the tissue for a second
SECONDS = 5.2  # [s]

#: without the hand's force the free directions need a stiffer position channel than the default
STIFF = FourChannel(
    stiffness=(400.0, 400.0, 400.0, 2.0, 2.0, 2.0),
    damping=(16.0, 16.0, 16.0, 0.005, 0.005, 0.005),
    topology=Topology(STIFFNESS, DAMPING, ease=0.0),
)
COUPLINGS = {
    "shaped": FourChannel(topology=Topology(STIFFNESS, DAMPING, ease=0.0), shaping=Shaping()),
    "penalty": STIFF,
}
WORDS = {"shaped": "the hand's force is known (shaping)", "penalty": "it is not (penalty only)"}
COLOURS = {"shaped": BLUE, "penalty": ORANGE}


def hand_path(press: float) -> Guided:
    """In, sideways into the tissue, back, to the other side, out, round, and home."""
    low = GRIP - INSERTION
    rows = (
        (0.0, 0.0, 0.0, GRIP),
        (0.2, 0.0, 0.0, GRIP),
        (0.8, 0.0, 0.0, low),
        (1.4, *(-press * SIDE), low),
        (PRESSED, *(-press * SIDE), low),
        (3.0, *(0.02 * SIDE), low),
        (3.6, 0.02, 0.03, GRIP + 0.01),
        (4.4, 0.0, -0.03, GRIP + 0.03),
        (5.0, 0.0, 0.0, GRIP),
    )
    stiffness, damping = HAND
    return Guided(stiffness, damping, 0.0, 0.002, path=rows)


class Lever(NamedTuple):
    """The instrument as a lever, at rest."""

    handle_force: float  # [N] of the hand, across the shaft
    tip_force: float  # [N] of the tissue, across the shaft
    handle_distance: float  # [m] from the entry point
    tip_distance: float  # [m] to where the tissue pushes


def axes_of(quaternions: np.ndarray) -> np.ndarray:
    """(n, 3) the shaft's direction: the third column of the rotation."""
    w, x, y, z = quaternions.T
    return np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)


def across(vectors: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Sizes of the parts of vectors across directions."""
    rest = vectors - np.sum(vectors * along, axis=-1, keepdims=True) * along
    return np.linalg.norm(rest, axis=-1)


def missed(positions: np.ndarray, quaternions: np.ndarray) -> np.ndarray:
    """How far the line of the shaft passes from the entry point [m]."""
    return np.linalg.norm(np.cross(positions, axes_of(quaternions)), axis=1)


def joint_angles(trace: Trace, tick: int) -> np.ndarray:
    """Pitch, yaw [rad], insertion [m] and roll [rad] from the pose of the instrument."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, trace["tool_quaternion"][tick])
    R = matrix.reshape(3, 3)  # R_x(pitch) R_y(yaw) R_z(roll)
    pitch, roll = np.arctan2(-R[1, 2], R[2, 2]), np.arctan2(-R[0, 1], R[0, 0])
    depth = GRIP - trace["tool_position"][tick] @ R[:, 2]
    return np.array([pitch, np.arcsin(R[0, 2]), depth, roll])


def tissue_push(world: World, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force of resting contacts on the instrument, and its torque about the entry point."""
    data = mujoco.MjData(world.model)
    data.qpos[:] = q
    mujoco.mj_forward(world.model, data)
    force, torque = np.zeros(3), np.zeros(3)
    for contact in data.contact[: data.ncon]:
        if contact.dist < 0.0:
            outward = contact.frame[:3]  # from the first geom to the second
            if world.model.geom_bodyid[contact.geom2] == 0:
                outward = -outward
            stiffness = np.nanmin(world.properties[[contact.geom1, contact.geom2], 0])
            push = -stiffness * contact.dist * outward
            force += push
            torque += np.cross(contact.pos, push)
    return force, torque


def lever_at(world: World, trace: Trace, tick: int) -> Lever:
    """Forces and distances at a tick at which nothing moves."""
    along = axes_of(trace["tool_quaternion"])[tick]
    force, torque = tissue_push(world, joint_angles(trace, tick))
    push = float(across(force, along))
    return Lever(
        float(across(trace["hand_wrench"][tick, :3], along)),
        push,
        float(np.linalg.norm(trace["tool_position"][tick])),
        float(across(torque, along)) / max(push, 1e-30),
    )


def entry_force(trace: Trace) -> np.ndarray:
    """What the entry point must bear of hand and environment, across the shaft [N]."""
    load = trace["hand_wrench"][:, :3] + trace["environment_wrench"][:, :3]
    return across(load, axes_of(trace["tool_quaternion"]))


def allowed(trace: Trace) -> np.ndarray:
    """F / (k_tc m): how far the penalty lets the device's shaft pass the entry point [m].

    m is what of the device's inertia resists there, seen over the distance to the grip.
    """
    distance = np.linalg.norm(trace["tool_position"], axis=1)
    mobility = 1.0 / MASS + distance**2 / INERTIA  # [1/kg]
    return entry_force(trace) * mobility / STIFFNESS


def operate(press: Annotated[float, Range(0.0, 0.03, above=True)] = 0.015) -> Result:
    """How far [m] the hand aims to push the grip sideways, the tip against the tissue.

    Once the device knows the hand's force (shaping), once it does not. Our own experiment.
    """
    world = World.builtin("laparoscope")
    device = Inertial(MASS, INERTIA)
    traces = {
        name: Session(world, coupling=coupling, device=device, force_path=AT_ONCE, rate=RATE).run(
            SECONDS, hand_path(press)
        )
        for name, coupling in COUPLINGS.items()
    }
    metrics = Metrics()
    for name, trace in traces.items():
        metrics |= {f"{name}.{key}": value for key, value in lap_metrics(world, trace).items()}
    return Result(metrics, lap_claims(metrics), traces, partial(draw_lap, traces, metrics))


def lap_metrics(world: World, trace: Trace) -> Metrics:
    """Pivot, lever, and how far the device leaves what the entry point allows."""
    rest = round((PRESSED - 0.02) * RATE)
    lever = lever_at(world, trace, rest)
    off = missed(trace["device_position"], trace["device_quaternion"])
    on_tool = missed(trace["tool_position"], trace["tool_quaternion"])
    steady = trace["collisions"] == 0  # an impulse is borne for one tick
    return {
        "fewest_constraints": float(trace["constraints"].min()),
        "most_constraints": float(trace["constraints"].max()),
        "entry_moved": float(on_tool.max()),
        "handle_force": lever.handle_force,
        "tip_force": lever.tip_force,
        "handle_distance": lever.handle_distance,
        "tip_distance": lever.tip_distance,
        "lever_force": lever.tip_force * lever.tip_distance / lever.handle_distance,
        "entry_force": float(entry_force(trace)[rest]),
        "missed_at_rest": float(off[rest]),
        "missed_by_law": float(allowed(trace)[rest]),
        "missed": float(off.max()),
        "missed_allowed": float(allowed(trace)[steady].max()),
        "deepest": float(trace["depth"].max()),
    }


def lap_claims(m: Metrics) -> list[Claim]:
    """What a hand must feel of an entry point."""
    source = "ours, TH 5.4"
    claims = []
    for name, words in WORDS.items():
        few, most = m[f"{name}.fewest_constraints"], m[f"{name}.most_constraints"]
        claims += [
            holds(
                f"laparoscope.pivot-{name}",
                source,
                f"constraints at every tick; {words}",
                few,
                "exactly 2",
                few == 2.0 and most == 2.0,
            ),
            at_most(
                f"laparoscope.entry-{name}",
                source,
                f"the instrument's shaft stays on the entry point; {words}",
                m[f"{name}.entry_moved"],
                1e-12,
                "m",
            ),
            within(
                f"laparoscope.lever-{name}",
                source,
                f"hand's force = tip force × tip distance / handle distance; {words}",
                m[f"{name}.handle_force"],
                m[f"{name}.lever_force"],
                0.02,
                "N",
            ),
            at_most(
                f"laparoscope.stiffness-{name}",
                source,
                f"device's shaft to the entry point, within F / (k_tc m); {words}",
                m[f"{name}.missed"],
                m[f"{name}.missed_allowed"],
                "m",
            ),
        ]
    claims.append(
        within(
            "laparoscope.law",
            source,
            "at rest the penalty alone leaves what the entry bears / (k_tc m)",
            m["penalty.missed_at_rest"],
            m["penalty.missed_by_law"],
            0.06,  # the position channel helps by 400 N/m and 2 N·m/rad
            "m",
        )
    )
    return claims


def draw_lap(traces: dict[str, Trace], m: Metrics, path: Path) -> Any:
    """The instrument, its motion, the lever, and how far the device leaves the entry point."""
    fig, axes = figure(2, 2, (12, 9), "An instrument through an entry point: pivot and lever")
    trace = traces["shaped"]
    draw_poses(axes[0, 0], trace, m)
    draw_motion(axes[0, 1], trace)
    draw_lever(axes[1, 0], traces, m)
    ax = axes[1, 1]
    for name, one in traces.items():
        off = 1e3 * missed(one["device_position"], one["device_quaternion"])
        ax.plot(one["time"], off + 1e-7, color=COLOURS[name], lw=1.4, label=WORDS[name])
        ax.axhline(1e3 * m[f"{name}.missed_allowed"], color=COLOURS[name], lw=1, ls=":")
    ax.plot([], [], color="0.4", lw=1, ls=":", label="largest force on the entry / (k_tc m)")
    ax.set_yscale("log")
    ax.set(xlabel="time [s]", ylabel="device's shaft to the entry point [mm]", ylim=(1e-7, 1e3))
    state(ax, "the shaft stays at the entry point within what the hand can bend")
    ax.legend(fontsize=8, frameon=False, loc="upper right")
    return save(fig, path)


def draw_poses(ax: Any, trace: Trace, m: Metrics) -> None:
    """The instrument in the plane of the tissue and the entry point."""
    turn = np.linspace(0.0, 2.0 * np.pi, 100)
    centre = np.linalg.norm(TISSUE)
    ax.fill(
        1e3 * (centre + 0.04 * np.cos(turn)), 1e3 * (-0.205 + 0.03 * np.sin(turn)),
        color="#E8B4AE", label="tissue (300 N/m)",
    )  # fmt: skip
    moments = (
        (0.0, "0.6", "start"),
        (0.8, SKY, "inserted"),
        (PRESSED - 0.02, BLUE, "tip pressed into the tissue"),
        (3.0, ORANGE, "to the other side"),
    )
    for seconds, colour, words in moments:
        tick = round(seconds * RATE)
        shaft = axes_of(trace["tool_quaternion"])[tick]
        grip = trace["tool_position"][tick]
        ends = np.stack([grip, grip - (GRIP + TIP) * shaft])
        ax.plot(1e3 * ends[:, :2] @ SIDE, 1e3 * ends[:, 2], color=colour, lw=3, label=words)
        ax.plot(1e3 * grip[:2] @ SIDE, 1e3 * grip[2], "o", color=colour, ms=8)
    ax.plot(0, 0, "^", color=GREEN, ms=11, zorder=5, label="entry point")
    ax.set(xlim=(-110, 110), ylim=(-245, 185), aspect="equal")
    ax.set(xlabel="towards the tissue [mm]", ylabel="height [mm]")
    ratio = m["shaped.tip_distance"] / m["shaped.handle_distance"]
    state(ax, f"the tip moves {ratio:.2f} × the grip (dots)")
    ax.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


def draw_motion(ax: Any, trace: Trace) -> None:
    """Grip and tip go opposite ways."""
    time = trace["time"]
    grip = trace["tool_position"]
    tip = grip - (GRIP + TIP) * axes_of(trace["tool_quaternion"])
    ax.plot(time, 1e3 * grip[:, :2] @ SIDE, color=BLACK, lw=1.4, label="grip, towards the tissue")
    ax.plot(time, 1e3 * tip[:, :2] @ SIDE, color=RED, lw=1.4, label="tip, towards the tissue")
    depth = 1e3 * (GRIP - np.linalg.norm(grip, axis=1))
    ax.plot(time, depth, "--", color=GREEN, lw=1.2, label="insertion")
    ax.fill_between(
        time, 0, 1, where=trace["contacts"] > 0, transform=ax.get_xaxis_transform(),
        color="#E8B4AE", alpha=0.5, label="the tip touches the tissue",
    )  # fmt: skip
    ax.set(xlabel="time [s]", ylabel="position [mm]", xlim=(0.0, SECONDS), ylim=(-45, 85))
    state(ax, "the fulcrum: grip and tip go opposite ways")
    ax.legend(fontsize=8, frameon=False, loc="upper right")


def draw_lever(ax: Any, traces: dict[str, Trace], m: Metrics) -> None:
    """The hand's force across the shaft, and what the lever says of the tip's."""
    for name, trace in traces.items():
        size = across(trace["hand_wrench"][:, :3], axes_of(trace["tool_quaternion"]))
        ax.plot(trace["time"], size, color=COLOURS[name], lw=1.4, label=f"hand; {WORDS[name]}")
        ax.plot(
            PRESSED - 0.02, m[f"{name}.lever_force"], "o", ms=8, mfc="none", color=COLOURS[name],
            label=f"tip {m[f'{name}.tip_force']:.2f} N × lever = {m[f'{name}.lever_force']:.2f} N",
        )  # fmt: skip
    ax.set(xlabel="time [s]", ylabel="force across the shaft [N]", xlim=(0.0, SECONDS))
    state(ax, "the lever: what the hand needs to press the tip")
    ax.legend(fontsize=8, frameon=False, loc="upper right")


EXPERIMENTS = (
    Experiment("laparoscope", "M18-M20", "An instrument through an entry point", operate),
)
