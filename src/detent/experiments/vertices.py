"""A vertex that slides past a vertex: S4 Fig 2 and section 3 (X27)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.devices import IDEAL
from detent.experiments.peg import corners, draw_peg, pose
from detent.experiments.protocol import Claim, Experiment, Metrics, Result, at_most, holds
from detent.hands import Impedance
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, RED, figure, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.world import World

RATE = 1000.0  # [Hz]
CONTACT = Contact(stiffness=10_000.0, damping=100.0)  # S0 5.2; S4 gives none
SECONDS = 1.0
BEFORE = 0.001  # [m] how far before the obstacle's vertex the peg's vertex starts
AHEAD, BELOW = 0.01, 0.02  # [m] where the hand aims: that much further and deeper
SETTLED = 0.1  # [s] after which the pass is quasi-static
LEAST = 1e-7  # [N] smaller steps are drawn as that
NEAR = 0.3e-3  # [m] what counts as the pass
NOTICED = 0.1  # [-] of the force level, about what a hand can tell apart

SCENE = """
<mujoco model="vertex">
  <custom><text name="detent.friction" data="none"/></custom>
  <option gravity="0 0 0"/>
  <worldbody>
    <geom name="obstacle" type="box" size="0.05 0.05 0.02" pos="-0.05 -0.05 0"/>
    <body name="peg">
      <joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 1 0"/>
      <joint type="hinge" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="2" diaginertia="0.005 0.005 0.005"/>
      <geom name="peg" type="box" size="0.021 0.0105 0.01"/>
    </body>
  </worldbody>
</mujoco>
"""

PASSES = {
    "flat": "flat: edge on edge",
    "leading": "tilted onto its edge (S4 Fig 2)",
    "trailing": "tilted off the edge: it falls",
}
COLOURS = {"flat": GREEN, "leading": BLUE, "trailing": RED}


def slide(tilt: float) -> Trace:
    """Drag the peg's lowest vertex slowly to the right over the obstacle's vertex (the origin).

    Tilted clockwise (tilt < 0) the right vertex leads and the obstacle's vertex goes on along
    the peg's lower edge; tilted the other way the left vertex trails and falls off.
    """
    vertex = corners(tilt)[1 if tilt <= 0.0 else 0]
    at = np.array([-BEFORE - vertex[0], -vertex[1], tilt])
    world = World.from_string(SCENE, tool="peg", name="vertex").placed(at)
    hand = Impedance(100.0, 500.0, 50.0, 2.0, target=(at[0] + AHEAD, at[1] - BELOW))
    return Session(world, CONTACT, device=IDEAL, force_path=AT_ONCE, rate=RATE).run(SECONDS, hand)


def vertex_path(trace: Trace, tilt: float) -> np.ndarray:
    """(n, 2) where the peg's vertex is, from the obstacle's [m]."""
    index = 1 if tilt <= 0.0 else 0
    poses = [pose(trace, k) for k in range(len(trace))]
    return np.array([at[:2] + corners(at[2])[index] for at in poses])


def obstacle_depths(trace: Trace) -> np.ndarray:
    """How deep the obstacle's vertex is inside the peg, negative outside [m]."""
    out = np.zeros(len(trace))
    for k in range(len(trace)):
        x, y, angle = pose(trace, k)
        c, s = np.cos(angle), np.sin(angle)
        local = np.abs([-c * x - s * y, s * x - c * y])
        out[k] = (corners(0.0)[2] - local).min()
    return out


def pass_metrics(name: str, trace: Trace, tilt: float) -> Metrics:
    """Force steps and contacts while the vertex passes."""
    vertex, corner = vertex_path(trace, tilt), obstacle_depths(trace)
    force = trace["environment_wrench"][:, :2]
    steps = np.linalg.norm(np.diff(force, axis=0), axis=1)
    near = (trace["time"] > SETTLED) & (np.abs(vertex[:, 0]) < NEAR)
    level = np.linalg.norm(force[near], axis=1).max(initial=0.0)
    both = near & (corner > 0.0) & (vertex < 0.0).all(axis=1)  # each vertex inside the other body
    largest = steps[near[:-1]].max(initial=0.0)
    return {
        f"{name}.force_level": float(level),
        f"{name}.largest_step": float(largest),
        f"{name}.relative_step": float(largest / max(level, 1e-12)),
        f"{name}.ticks_in_pass": float(near.sum()),
        f"{name}.ticks_with_two_vertex_edge_pairs": float(both.sum()),
        f"{name}.fewest_rows": float(trace["contacts"][near].min(initial=99)),
        f"{name}.most_rows": float(trace["contacts"][near].max(initial=0)),
        f"{name}.collisions_in_pass": float((trace["collisions"][near] > 0).sum()),
        f"{name}.speed": float(np.abs(trace["tool_twist"][near, 0]).max(initial=0.0)),
    }


def pass_vertex(tilt: float = 0.05) -> Result:
    """Tilt [rad] of the peg.

    Limitations: S4 lets both vertex-edge pairs push. MuJoCo's box-box test gives a pair of
    boxes one normal, that of least penetration, so a tilted peg has one row, whose normal
    turns from the obstacle's to the peg's within one tick: the step is about the tilt, as a
    share of the force. Flat edges do get two rows. A vertex that trails falls off the edge,
    and then the normal turns by a quarter: no vertex-edge rule makes that a small step.
    """
    angles = {"flat": 0.0, "leading": -abs(tilt), "trailing": abs(tilt)}
    traces = {name: slide(angle) for name, angle in angles.items()}
    metrics = Metrics()
    for name, trace in traces.items():
        metrics |= pass_metrics(name, trace, angles[name])
    draw = partial(draw_pass, traces, angles)
    return Result(metrics, vertex_claims(metrics), traces, draw)


def vertex_claims(m: Metrics) -> list[Claim]:
    """S4 section 3: the force of the second vertex-edge contact is not noticeable."""
    source = "S4 Fig 2"
    two = m["flat.fewest_rows"]
    overlap = m["leading.ticks_with_two_vertex_edge_pairs"]
    return [
        at_most(
            "X27.step",
            source,
            "the largest force step while the vertices pass, over the force",
            m["leading.relative_step"],
            NOTICED,
        ),
        at_most(
            "X27.flat-step",
            source,
            "the same where edge lies on edge",
            m["flat.relative_step"],
            1e-3,
        ),
        holds(
            "X27.flat-rows",
            "S4 section 3",
            "edge on edge is two vertex-edge contacts, also while a vertex passes",
            two,
            "= 2 rows",
            two == 2.0 and m["flat.most_rows"] == 2.0,
        ),
        holds(
            "X27.two-pairs",
            source,
            "both vertices are inside the other body for a moment (ticks)",
            overlap,
            "≥ 1",
            overlap >= 1.0,
        ),
        at_most(
            "X27.no-impulse",
            source,
            "the new vertex-edge contact brings no collision",
            m["leading.collisions_in_pass"],
            0.0,
        ),
    ]


def draw_pass(traces: dict[str, Trace], angles: dict[str, float], path: Path) -> Any:
    """The sequence of S4 Fig 2, and the force during each pass."""
    fig, axes = figure(2, 3, (13, 7), "A vertex slides past a vertex (S4 Fig 2)")
    draw_sequence(axes[0], traces["leading"], angles["leading"])
    size, step, rows = axes[1]
    for name, trace in traces.items():
        style: dict[str, Any] = {"color": COLOURS[name], "label": PASSES[name]}
        x = 1e3 * vertex_path(trace, angles[name])[:, 0]
        late = (trace["time"] > SETTLED) & (np.abs(x) < 1e3 * NEAR)
        force = trace["environment_wrench"][:, :2]
        size.plot(x[late], np.linalg.norm(force[late], axis=1), lw=1.4, **style)
        steps = np.linalg.norm(np.diff(force, axis=0, prepend=force[:1]), axis=1)
        step.plot(x[late], np.maximum(steps[late], LEAST), ".-", lw=0.8, ms=3, **style)
        rows.plot(x[late], trace["contacts"][late], lw=1.4, drawstyle="steps-post", **style)
    size.set(ylabel="contact force [N]", ylim=(0.0, 3.4))
    step.set(ylabel=f"force step per tick [N] (bottom: ≤ {LEAST:g})")
    step.set_yscale("log")
    rows.set(ylabel="rows [-]", ylim=(-0.2, 3.2), yticks=(0, 1, 2))
    state(size, "the force goes on while the vertex passes")
    state(step, "in small steps, unless the peg falls")
    state(rows, "by one row of contact or two, and none once it has fallen")
    for ax in axes[1]:
        ax.set(xlabel="peg's vertex, from the obstacle's [mm]")
        ax.legend(fontsize=8, frameon=False)
    return save(fig, path)


def draw_sequence(axes: Any, trace: Trace, tilt: float) -> None:
    """Before, at and after the pass, much enlarged."""
    vertex = vertex_path(trace, tilt)
    for ax, where, title in zip(
        axes,
        (-0.4e-3, 0.0, 0.6e-3),
        (
            "the peg's vertex on the obstacle's edge",
            "vertex on vertex",
            "the obstacle's vertex on the peg's edge",
        ),
        strict=True,
    ):
        k = int(np.argmax(vertex[:, 0] > where))
        ax.fill([-2, 0, 0, -2], [-2, -2, 0, 0], color="0.85", label="obstacle")
        draw_peg(ax, pose(trace, k), ORANGE, lw=1.8, label="peg")
        force = trace["environment_wrench"][k, :2]
        start = np.minimum(1e3 * vertex[k], 0.0) * [1.0, 0.0]
        ax.annotate(
            "",
            start + 0.3 * force,
            start,
            arrowprops={"arrowstyle": "-|>", "color": BLACK, "lw": 1.5, "shrinkA": 0},
        )
        ax.annotate(f" {np.linalg.norm(force):.2f} N", start + 0.3 * force, fontsize=8)
        ax.set(xlim=(-1.2, 1.2), ylim=(-0.5, 0.9), aspect="equal", xlabel="x [mm]", ylabel="y [mm]")
        state(ax, title)
        ax.legend(fontsize=8, frameon=False, loc="lower right")


EXPERIMENTS = (
    Experiment("vertex-vertex", "X27", "A vertex that slides past a vertex", pass_vertex),
)
