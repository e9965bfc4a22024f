"""A planar loop held at its second link: S3 Fig 5 to 7 (X24)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.checks import one_of
from detent.devices import Inertial
from detent.experiments.linkages import LAWS, Law, at, drift_of
from detent.experiments.peg import pose
from detent.experiments.protocol import Claim, Experiment, Metrics, Result, at_most, holds, within
from detent.hands import Constant
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, RED, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.baumgarte import Baumgarte
from detent.world.world import World

RATE = 512.0  # [Hz] TH 3; S3 gives none
SECONDS = 4.0  # [s]
SHOWN = 3.0  # [s] after which S3 ended its second manipulation
FORCE, TORQUE = (-0.5, 0.0), -0.0025  # [N] [N·m] S3 VI
K_J, B_J = 200.0, 50.0  # [1/s²] [1/s] S3 VI
SINGULAR = 0.01  # [-] S3 gives none
LENGTHS = (0.045, 0.045, 0.021, 0.060)  # [m] S3 Table I
PIVOT = np.array([0.10756620126356087, -0.04595056699232853])  # [m] where S3's q0 closes the loop
STRETCHED = 0.99  # [-] of the length of links 3 and 4, from which on a passage counts
READINGS = {"serial": "four-bar", "grounded": "four-bar-grounded"}
WORDS = {
    "literal": "impedance only",
    "literal-penalty": "stiffness",
    "corrected": "impedance only, with the bias",
    "corrected-penalty": "stiffness, with the bias",
}


def manipulate(reading: str, law: Law, rate: float = RATE) -> Trace:
    """S3 VI: a constant wrench on link 2, at rest at the start."""
    session = Session(
        World.builtin(READINGS[reading]),
        coupling=law.coupling(K_J, B_J, SINGULAR),
        device=Inertial(1.0, 1.0, integrator="velocity-first"),
        force_path=AT_ONCE,
        baumgarte=Baumgarte(projected=False),  # S3 eq. 3
        rate=rate,
    )
    return session.run(SECONDS + 1.0 / rate, Constant(FORCE, TORQUE))


def extension(trace: Trace) -> np.ndarray:
    """How far links 3 and 4 are stretched: 1 is straight [-]."""
    ends = np.array([link_end(pose(trace, tick)) for tick in range(len(trace))])
    return np.linalg.norm(ends - PIVOT, axis=1) / (LENGTHS[2] + LENGTHS[3])


def link_end(at_centre: np.ndarray) -> np.ndarray:
    """The far end of link 2, from the pose of its centre."""
    angle = at_centre[2]
    return at_centre[:2] + 0.5 * LENGTHS[1] * np.array([np.cos(angle), np.sin(angle)])


def passages(stretch: np.ndarray) -> list[slice]:
    """Ticks at which the loop is nearly straight, one slice for each time."""
    near = np.concatenate([[False], stretch > STRETCHED, [False]])
    edges = np.nonzero(np.diff(near.astype(int)))[0]
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def loop_metrics(trace: Trace) -> Metrics:
    """Drift [m], constraints, closure [m], and the wrench that holds the constraints [N]."""
    drift, count, stretch = drift_of(trace), trace["constraints"], extension(trace)
    force = np.linalg.norm(trace["topology_wrench"][:, :2], axis=1)
    changes = [int((np.diff(count[one]) != 0).sum()) for one in passages(stretch)]
    two, one = count == 2, count == 1
    return {
        "drift_1s": at(trace, drift, 1.0),
        "drift_2s": at(trace, drift, 2.0),
        "drift_3s": at(trace, drift, SHOWN),
        "drift_4s": at(trace, drift, SECONDS),
        "most_drift": float(drift.max()),
        "most_drift_at": float(trace["time"][int(drift.argmax())]),
        "closure": float(trace["closure"].max()),
        "fewest_constraints": float(count.min()),
        "most_constraints": float(count.max()),
        "passages": float(len(changes)),
        "most_changes": float(max(changes, default=0)),
        "changes_outside": float((np.diff(count) != 0).sum() - sum(changes)),
        "least_stretch_of_two": float(stretch[two].min()) if two.any() else 0.0,
        "first_stretch": float(trace["time"][np.argmax(two)]) if two.any() else np.inf,
        "force_two": float(force[two].mean()) if two.any() else 0.0,
        "force_one": float(force[one].mean()) if one.any() else 0.0,
    }


def hold_loop(reading: str = "serial") -> Result:
    """Which reading of S3 Fig 5 to show: cut at the ground (serial), or between links 3 and 4.

    S3 does not say which; both are run. Its local model is not here: the loop is simulated at
    every tick, with its Coriolis and centrifugal terms, which S3 leaves out.
    """
    one_of("reading of the loop", reading, READINGS)
    every = {name: {key: manipulate(name, law) for key, law in LAWS.items()} for name in READINGS}
    traces = every[reading]
    metrics = {f"{n}.{k}": v for n, t in traces.items() for k, v in loop_metrics(t).items()}
    for key in LAWS:
        a, b = (every[name][key] for name in READINGS)
        for field in ("device_position", "tool_position"):
            apart = np.linalg.norm(a[field] - b[field], axis=1).max()
            metrics[f"{key}.readings_{field}"] = float(apart)
    finer = drift_of(manipulate(reading, LAWS["corrected"], 2.0 * RATE)).max()
    metrics["step_share"] = float(finer) / metrics["corrected.most_drift"]
    return Result(metrics, loop_claims(metrics), traces, partial(draw_loop, traces, reading))


def loop_claims(m: Metrics) -> list[Claim]:
    """S3 VI and the catalogue."""
    claims = count_claims(m)
    for law in ("literal", "corrected"):
        claims += follow_claims(m, law)
    return claims + drift_claims(m)


def count_claims(m: Metrics) -> list[Claim]:
    """The loop is closed, and has one constraint, or two where it is stretched."""
    worst = {
        key: max(m[f"{run}.{key}"] for run in LAWS)
        for key in ("closure", "most_constraints", "most_changes", "changes_outside")
    }
    least = {
        key: min(m[f"{run}.{key}"] for run in LAWS)
        for key in ("fewest_constraints", "least_stretch_of_two", "passages")
    }
    two = worst["most_constraints"] == 2.0 and least["passages"] > 0.0
    return [
        at_most(
            "X24.closure", "catalogue M32", "the loop stays closed", worst["closure"], 1e-4, "m"
        ),
        holds(
            "X24.one",
            "S3 Fig 6(a), 7(a)",
            "at least one constraint at every tick (the fewest)",
            least["fewest_constraints"],
            "= 1",
            least["fewest_constraints"] == 1.0,
        ),
        holds(
            "X24.two",
            "S3 Fig 6(a), 7(a)",
            "two constraints only where the loop is stretched (least length over full length)",
            least["least_stretch_of_two"],
            "two occur, at ≥ 0.999 of the length",
            two and least["least_stretch_of_two"] >= 0.999,
        ),
        holds(
            "X24.changes",
            "catalogue M33",
            "changes of the count while the loop passes its stretched pose (the most)",
            worst["most_changes"],
            "≤ 2, and none elsewhere",
            0.0 < worst["most_changes"] <= 2.0 and worst["changes_outside"] == 0.0,
        ),
    ]


def drift_claims(m: Metrics) -> list[Claim]:
    """Where the device goes beside the linkage, and what that depends on."""
    when = m["literal.most_drift_at"]
    step = "impedance only, with the bias: drift at twice the rate over that at the rate"
    apart = max(m[f"{k}.readings_{f}_position"] for k in LAWS for f in ("device", "tool"))
    alike = "both readings of the loop move alike (largest distance, device and link)"
    return [
        holds(
            "X24.grows-literal",
            "S3 Fig 7(b)",
            f"{WORDS['literal']}: when the drift is largest [s]",
            when,
            f"at the end, ≥ {0.95 * SECONDS:g} s: it grows",
            when >= 0.95 * SECONDS,
        ),
        at_most(
            "X24.follows",
            "S3 Fig 6(b)",
            "stiffness, with the bias: the device follows the linkage (largest distance)",
            m["corrected-penalty.most_drift"],
            1e-4,
            "m",
        ),
        within("X24.step", "our own", step, m["step_share"], 0.5, 0.2),
        at_most("X24.readings", "S3 Fig 5", alike, apart, 1e-4, "m"),
    ]


def follow_claims(m: Metrics, law: str) -> list[Claim]:
    """Stiffness follows better than impedance, with a larger wrench under two constraints."""
    free, held = law, f"{law}-penalty"
    ratio = m[f"{held}.drift_3s"] / m[f"{free}.drift_3s"]
    more = m[f"{held}.force_two"] / max(m[f"{held}.force_one"], 1e-30)
    return [
        holds(
            f"X24.stiffness-{law}",
            "S3 Fig 6(b)",
            f"{WORDS[held]}: drift at 3 s over that of impedance only",
            ratio,
            "< 0.5",
            ratio < 0.5,
        ),
        holds(
            f"X24.wrench-{law}",
            "S3 Fig 6(c)",
            f"{WORDS[held]}: mean constraint force under two constraints over that under one",
            more,
            "> 1",
            more > 1.0,
        ),
    ]


def draw_loop(traces: dict[str, Trace], reading: str, path: Path) -> Any:
    """S3 Fig 5, 6 and 7, and what the bias changes."""
    words = {"serial": "cut at the ground", "grounded": "cut between links 3 and 4"}[reading]
    fig, axes = figure(3, 3, (14, 11.5), f"A planar loop held at link 2 (S3 Fig 5–7), {words}")
    stiff, free, right = (traces[n] for n in ("literal-penalty", "literal", "corrected-penalty"))
    draw_sketch(axes[0, 0], right)
    draw_count(axes[0, 1], stiff, "one constraint, two where the loop is stretched (Fig 6a)")
    draw_count(axes[0, 2], free, "the same with the impedance alone (Fig 7a)")
    draw_plane(axes[1, 0], stiff, "with stiffness, device and link part a little (Fig 6b)")
    draw_plane(axes[1, 1], free, "with the impedance alone they part more (Fig 7b)")
    draw_plane(axes[1, 2], right, "with the bias they do not part (errata E10)")
    draw_wrench(axes[2, 0], axes[2, 1], stiff)
    ax = axes[2, 2]
    for key, style in (("literal", "-"), ("corrected", "--")):
        for name, colour in ((key, RED), (f"{key}-penalty", GREEN)):
            ax.plot(
                traces[name]["time"], 1e3 * drift_of(traces[name]), style, color=colour, lw=1.4,
                label=WORDS[name],
            )  # fmt: skip
    ax.set_yscale("log")
    ax.set(xlabel="time [s]", ylabel="distance, device to link [mm]", ylim=(1e-4, 100))
    state(ax, "the bias takes away a hundredfold of the drift")
    legend(ax, "lower right")
    return save(fig, path)


def draw_count(ax: Any, trace: Trace, title: str) -> None:
    """Number of constraints, and the stretch of the loop."""
    time = trace["time"]
    ax.step(time, trace["constraints"], where="post", color=BLUE, lw=1.4, label="constraints")
    ax.plot(time, extension(trace), color=ORANGE, lw=1.2, label="length of links 3 and 4 / full")
    ax.set(xlabel="time [s]", ylabel="number, ratio [-]", ylim=(0.0, 2.6), xlim=(0.0, SECONDS))
    state(ax, title)
    legend(ax, "upper right")


def draw_plane(ax: Any, trace: Trace, title: str) -> None:
    """Paths of the device (HD) and of the point on the linkage (OP)."""
    device, tool = 1e3 * trace["device_position"], 1e3 * trace["tool_position"]
    ax.plot(device[:, 0], device[:, 1], color=BLUE, lw=1.6, label="device (HD)")
    ax.plot(tool[:, 0], tool[:, 1], "--", color=ORANGE, lw=1.4, label="point on link 2 (OP)")
    ax.plot(tool[0, 0], tool[0, 1], "o", color=BLACK, ms=5, label="start")
    two = trace["constraints"] == 2
    ax.plot(tool[two, 0], tool[two, 1], "s", color=RED, ms=4, mfc="none", label="two constraints")
    ax.set(xlabel="x [mm]", ylabel="y [mm]", xlim=(5, 110), ylim=(-65, 30), aspect="equal")
    state(ax, title)
    legend(ax, "center right")


def draw_wrench(force: Any, torque: Any, trace: Trace) -> None:
    """S3 Fig 6(c): forces and the torque, each on an axis of its own."""
    wrench, time = trace["topology_wrench"], trace["time"]
    for i, name, colour in ((0, "x", BLUE), (1, "y", ORANGE)):
        force.plot(time, wrench[:, i], color=colour, lw=1.3, label=name)
    torque.plot(time, wrench[:, 5], color=GREEN, lw=1.3, label="about z")
    force.set(ylabel="force of the constraints [N]")
    torque.set(ylabel="torque of the constraints [N·m]")
    state(force, "forces jump where the second constraint is met (Fig 6c)")
    state(torque, "and so does the torque (Fig 6c)")
    for ax in (force, torque):
        ax.set_yscale("symlog", linthresh=0.01)
        ax.set(xlabel="time [s]", xlim=(0.0, SECONDS), ylim=(-10, 10))
        ax.set(yticks=(-1, -0.1, -0.01, 0, 0.01, 0.1, 1))
        ax.set_yticklabels(("−1", "−0.1", "−0.01", "0", "0.01", "0.1", "1"))
        legend(ax, "lower right")


def draw_sketch(ax: Any, trace: Trace) -> None:
    """S3 Fig 5, and the loop where it is stretched for the first time."""
    first = int(np.argmax(trace["constraints"] == 2))
    for tick, colour, label in ((0, BLACK, "start"), (first, RED, "stretched: two constraints")):
        joints = 1e3 * loop_joints(pose(trace, tick))
        ax.plot(*joints.T, "o-", color=colour, lw=2.5, ms=6, mfc="white", label=label)
    held = 1e3 * trace["tool_position"][0]
    ax.plot(held[0], held[1], "o", color=BLUE, ms=7, label="held")
    ax.annotate("1", (8, 20), fontsize=9)
    ax.annotate("2", (52, 16), fontsize=9)
    ax.annotate("3", (60, -14), fontsize=9)
    ax.annotate("4", (84, -25), fontsize=9)
    ax.set(xlabel="x [mm]", ylabel="y [mm]", xlim=(-10, 125), ylim=(-65, 50), aspect="equal")
    state(ax, "links 1 to 4; 3 and 4 stretch when link 2 is pulled (Fig 5)")
    legend(ax, "lower left")


def loop_joints(at_centre: np.ndarray) -> np.ndarray:
    """(5, 2) the joints from the ground to the pivot, for a pose of link 2's centre [m]."""
    end = link_end(at_centre)
    start = 2.0 * at_centre[:2] - end
    way = PIVOT - end
    size = min(float(np.linalg.norm(way)), LENGTHS[2] + LENGTHS[3])
    cosine = (size**2 + LENGTHS[2] ** 2 - LENGTHS[3] ** 2) / (2.0 * size * LENGTHS[2])
    turn = np.arctan2(way[1], way[0]) - np.arccos(np.clip(cosine, -1.0, 1.0))
    knee = end + LENGTHS[2] * np.array([np.cos(turn), np.sin(turn)])
    return np.array([np.zeros(2), start, end, knee, PIVOT])


EXPERIMENTS = (Experiment("four-bar", "X24", "A planar loop held at its second link", hold_loop),)
