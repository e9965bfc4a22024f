"""Concave meshes: how near to its triangles a surface is felt, and what that costs (B6)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from detent.experiments.concave_scenes import (
    RADIUS,
    Felt,
    Mesh,
    ball_over,
    exact_apart,
    felt_onset,
    library_mesh,
    mujoco_apart,
    noise_ball,
    parts_of,
    trace_onset,
)
from detent.experiments.protocol import (
    Claim,
    Count,
    Experiment,
    Metrics,
    Range,
    Result,
    at_most,
    holds,
)
from detent.record.plots import BLUE, GREEN, ORANGE, figure, legend, save, state

SOURCE = "what Detent promises"
METHODS = {"hull": ORANGE, "parts": BLUE, "ours": GREEN}
WORDS = {"hull": "convex hull (MuJoCo)", "parts": "convex parts (CoACD)", "ours": "as it is"}
MESHES = {"tooth": "tooth", "gear": "gears", "nut": "bolt-and-nut"}  # and the world of each
OFF, MOST = 20e-6, 60e-6  # [m] 90th percentile and largest
SIZES = (1000, 8000, 131_000, 524_000, 1_000_000)  # triangles
Errors = dict[str, np.ndarray]


def approaches(mesh: Mesh, count: int, parts: bool, rng: np.random.Generator) -> Errors:
    """[m] How far a ball is from the triangles where each method first feels it."""
    apart, _ = exact_apart(mesh)
    felt, methods = Felt(mesh), {"hull": mujoco_apart(ball_over(mesh))}
    if parts and (cut := parts_of(mesh)) is not None:
        methods["parts"] = mujoco_apart(cut)
    found: dict[str, list[float]] = {name: [] for name in (*methods, "ours")}
    size = float(np.abs(mesh[0]).max())
    while len(found["ours"]) < count:
        way, aim = rng.standard_normal(3), rng.uniform(-0.6, 0.6, 3) * np.abs(mesh[0]).max(axis=0)
        way /= np.linalg.norm(way)
        start = aim - 2.5 * size * way
        true = trace_onset(apart, start, way, 5.0 * size)
        if true is None:
            continue
        for name, method in methods.items():
            at = trace_onset(method, start, way, 5.0 * size)
            if at is not None:
                found[name].append(abs(apart(start + at * way)))
        at = felt_onset(felt, start, way, true)
        found["ours"].append(np.inf if at is None else abs(apart(start + at * way)))
    return {name: np.array(values) for name, values in found.items()}


def concave_fidelity(
    meshes: Annotated[int, Range(1, len(MESHES))] = 2,
    approaches_each: Count = 12,
    parts: int = 0,
    seed: int = 0,
) -> Result:
    """Random approaches to so many meshes; *parts* = 1 adds CoACD, which cuts for minutes."""
    rng, errors = np.random.default_rng(seed), dict[str, Errors]()
    for name, world in list(MESHES.items())[:meshes]:
        mesh = library_mesh(world, name)
        errors[name] = approaches(mesh, approaches_each, bool(parts), rng)
    metrics = Metrics()
    for name, by in errors.items():
        for method, values in by.items():
            metrics[f"{name}.{method}.p90"] = float(np.quantile(values, 0.9))
            metrics[f"{name}.{method}.most"] = float(values.max())
    return Result(metrics, fidelity_claims(metrics), figure=partial(draw_fidelity, errors))


def fidelity_claims(m: Metrics) -> list[Claim]:
    """Felt where it is, and by hulls not."""
    claims = []
    for name in dict.fromkeys(key.split(".")[0] for key in m):
        text = f"{name}: distance of the triangles where a ball is first felt"
        for what, limit in (("p90", OFF), ("most", MOST)):
            value = m[f"{name}.ours.{what}"]
            claims.append(
                at_most(f"B6.{what}-{name}", SOURCE, f"{text}, {what}", value, limit, "m")
            )
        ratio = m[f"{name}.hull.most"] / m[f"{name}.ours.most"]
        words = f"{name}: the hull is farther off at most (ratio)"
        claims.append(holds(f"B6.hull-{name}", SOURCE, words, ratio, "> 10", ratio > 10.0))
    return claims


def draw_fidelity(errors: dict[str, Errors], path: Path) -> Any:
    """The errors of all approaches, sorted, for each mesh and method."""
    title = f"Concave shapes: where a ball of {2e3 * RADIUS:g} mm is first felt"
    fig, axes = figure(1, len(errors), (12, 4), title)
    for ax, (name, by) in zip(axes.flat, errors.items(), strict=True):
        for method, values in by.items():
            share = 100.0 * (np.arange(len(values)) + 1) / len(values)
            ax.plot(1e6 * np.sort(np.maximum(values, 1e-8)), share, "o-", ms=3,
                    color=METHODS[method], label=WORDS[method])  # fmt: skip
        ax.axvline(1e6 * MOST, color="0.5", ls="--", lw=0.8)
        ax.set(xscale="log", xlabel="off the triangles [µm]", ylabel="approaches [%]")
        off, ours = 1e3 * by["hull"].max(), 1e6 * by["ours"].max()
        state(ax, f"{name}: the hull is up to {off:.2g} mm off, the shape {ours:.2g} µm")
    legend(axes[0, 0], "lower right")
    return save(fig, path)


def slide_work(felt: Felt, apart: Any) -> np.ndarray:
    """Lookups and refinements in ticks of a ball that slides in touch, 20 µm each."""
    work = []
    for angle in np.arange(150) * 20e-6 / 0.05:
        way = np.array([np.sin(angle), 0.0, np.cos(angle)])
        far = 0.055
        for _ in range(6):  # 50 µm deep
            far -= apart(far * way) + 50e-6
        if felt.touches(far * way):
            work.append(felt.work)
    return np.array(work, float)


def concave_cost(largest: Count = 8000) -> Result:
    """Dented balls of 1,000 triangles up to the *largest*; 1,000,000 takes some minutes."""
    metrics, sizes = Metrics(), [n for n in SIZES if n <= largest]
    for size in sizes:
        mesh = noise_ball(size)
        work = slide_work(Felt(mesh), exact_apart(mesh)[0])
        metrics[f"{size}.triangles"] = float(len(mesh[1]))
        metrics[f"{size}.lookups"] = float(np.mean(work[1:, 0]))
        metrics[f"{size}.refinements"] = float(np.mean(work[1:, 1]))
    return Result(metrics, cost_claims(metrics, sizes), figure=partial(draw_cost, metrics, sizes))


def cost_claims(m: Metrics, sizes: list[int]) -> list[Claim]:
    """The work of a tick does not grow with the number of triangles."""
    first = 8000 if sizes[-1] > 8000 else sizes[0]
    ratio = m[f"{sizes[-1]}.lookups"] / m[f"{first}.lookups"]
    text = f"lookups of a tick: {sizes[-1]} triangles over {first} (ratio)"
    most = max(m[f"{n}.refinements"] for n in sizes)
    words = "samples that are measured to triangles in a tick"
    return [
        at_most("B6.lookups", SOURCE, text, ratio, 1.3),
        at_most("B6.refinements", SOURCE, words, most, 24.0),
    ]


def draw_cost(m: Metrics, sizes: list[int], path: Path) -> Any:
    """Lookups and refinements against triangles."""
    fig, axes = figure(1, 1, (6, 4), "Concave shapes: the work of a tick in touch")
    triangles = [m[f"{n}.triangles"] for n in sizes]
    for what, colour in (("lookups", GREEN), ("refinements", ORANGE)):
        axes[0, 0].plot(
            triangles, [m[f"{n}.{what}"] for n in sizes], "o-", color=colour, label=what
        )
    axes[0, 0].set(xscale="log", xlabel="triangles", ylabel="in one tick", ylim=(0, None))
    few, many = (m[f"{n}.lookups"] for n in (sizes[0], sizes[-1]))
    state(
        axes[0, 0],
        f"a sliding ball: {few:.0f} lookups on {sizes[0]:,} triangles, {many:.0f} on {sizes[-1]:,}",
    )
    legend(axes[0, 0])
    return save(fig, path)


EXPERIMENTS = (
    Experiment("concave-fidelity", "B6", "Concave meshes felt where they are", concave_fidelity),
    Experiment("concave-cost", "B6", "Cost of a concave mesh against its triangles", concave_cost),
)
