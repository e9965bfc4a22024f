"""The figure of a map: what came of every cell, with theory drawn in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from detent.devices.limits import passive_stiffness, sampled_device, spectral_radius
from detent.maps.cells import PARAMETERS, WALL, Setting, wall_case
from detent.maps.grid import Axis, Grid
from detent.record.plots import BLACK, GREEN, figure, save

FINE = 80  # values of an axis at which theory is looked at, however few cells there are
#: column, what a figure calls it, and the ends of its colours
SHOWN = {
    "swing": ("swing in the second half [m]", 1e-6, 1e-1),
    "given": ("energy that came out [J]", 1e-6, 1.0),
}
WORDS = {"swing": "how far it still swings", "given": "what the motors gave the hand"}
GROWTH = "growth of a small motion [1/s]"


def draw_map(grid: Grid, rows: list[dict[str, Any]], path: Path) -> Path:
    """Whether a small motion grows, and what became of the session; failed cells are white."""
    wall = grid.base.world == WALL
    fig, axes = figure(1, 2, (12.5, 5.4), titled(grid))
    values = {name: cell_values(grid, rows, name) for name in ("growth", "swing", "given")}
    if wall:
        draw_growth(fig, axes[0, 0], grid, values["growth"])
    for ax, name in zip(axes[0, 1 if wall else 0 :], SHOWN, strict=False):
        draw_size(fig, ax, grid, values[name], name)
    theory = theory_of(grid) if wall else None
    for ax in axes[0]:
        ax.set(xlabel=grid.second.label, ylabel=grid.first.label)
        scale(ax, ax.xaxis, grid.second)
        scale(ax, ax.yaxis, grid.first)
        shown = {"xlim": ends(grid.second, ax.get_xlim()), "ylim": ends(grid.first, ax.get_ylim())}
        if theory is not None:
            draw_theory(ax, grid, theory)
        ax.set(**shown)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    if handles:
        fig.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=2)
    save(fig, path)
    return path


def ends(axis: Axis, drawn: tuple[float, float]) -> tuple[float, float]:
    """Where a side of the figure ends: not below zero, but for the half of a cell without delay."""
    return drawn if axis.name == "delay" else (max(drawn[0], 0.0), drawn[1])


def titled(grid: Grid) -> str:
    """What all cells share."""
    base, axes = grid.base.filled(), (grid.first.name, grid.second.name)
    shared = [
        f"{name.replace('_', ' ')} {getattr(base, name):g} {unit}"
        for name, unit in PARAMETERS.items()
        if name not in axes and getattr(base, name) > 0.0
    ]
    head = f"{base.world}, {base.device}, {base.coupling} coupling, passivity {base.passivity}"
    return f"{head}\n{', '.join(shared)}"


def scale(ax: Any, side: Any, axis: Axis) -> None:
    """Ratios where its values are spaced by them, with numbers that one can read."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    if axis.logarithmic:
        (ax.set_xscale if side is ax.xaxis else ax.set_yscale)("log")
        side.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        side.set_minor_locator(NullLocator())
        side.set_major_formatter("{x:g}")
    elif axis.name == "delay":
        side.set_major_locator(MaxNLocator(integer=True))


def cell_values(grid: Grid, rows: list[dict[str, Any]], name: str) -> np.ndarray:
    """(first, second) a column, as the cells lie."""
    shape = len(grid.first.values), len(grid.second.values)
    return np.array([row[name] for row in rows], float).reshape(shape)


def draw_growth(fig: Any, ax: Any, grid: Grid, growth: np.ndarray) -> None:
    """Blue dies out, red grows; white is the boundary."""
    from matplotlib.colors import SymLogNorm

    most = max(float(np.nanmax(np.abs(growth), initial=1.0)), 1.0)
    drawn = ax.pcolormesh(
        *sides(grid), growth, shading="nearest", cmap="RdBu_r",
        norm=SymLogNorm(1.0, vmin=-most, vmax=most),
    )  # fmt: skip
    fig.colorbar(drawn, label=GROWTH)
    ax.set_title("red: it grows, not stable; blue: it dies out", fontsize=9)


def draw_size(fig: Any, ax: Any, grid: Grid, values: np.ndarray, name: str) -> None:
    """A column of sizes, on a scale of ratios."""
    from matplotlib.colors import LogNorm

    label, least, most = SHOWN[name]
    least = min(max(least, float(np.nanmin(values, initial=most))), 0.1 * most)
    most = max(float(np.nanmax(values, initial=least)), 10.0 * least)
    ax.set_title(f"{WORDS[name]}", fontsize=9)
    drawn = ax.pcolormesh(
        *sides(grid), np.clip(values, least, most),
        norm=LogNorm(least, most), cmap="cividis", shading="nearest",
    )  # fmt: skip
    fig.colorbar(drawn, label=label)


def sides(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Values along x and y, as a figure has them."""
    one, two = grid.second, grid.first
    return one.factor * np.array(one.values), two.factor * np.array(two.values)


def finer(axis: Axis) -> np.ndarray:
    """The range of an axis, in steps that do not depend on its cells."""
    low, high = axis.values[0], axis.values[-1]
    if axis.name == "delay":
        return np.linspace(low - 0.5, high + 0.5, FINE)  # `theory_of` takes the nearest
    return (np.geomspace if axis.logarithmic else np.linspace)(low, high, FINE)


def margins(setting: Setting) -> tuple[float, float]:
    """How far eigenvalues are within the circle, and how much stiffer a passive wall could be."""
    case = wall_case(setting)
    device = case.mass, case.own_damping, case.step, case.delay
    sampled = sampled_device(*device, case.stiffness, case.damping)
    passive = passive_stiffness(*device[1:], case.damping)
    return 1.0 - spectral_radius(sampled), passive - case.stiffness


def theory_of(grid: Grid) -> np.ndarray:
    """(FINE, FINE, 2) margins over the finer axes."""

    def at(axis: Axis, value: float) -> dict[str, float]:
        return {axis.name: max(round(value), 0) if axis.name == "delay" else value}

    return np.array([
        [margins(grid.base.at(**at(grid.first, a), **at(grid.second, b)))
         for b in finer(grid.second)]
        for a in finer(grid.first)
    ])  # fmt: skip


def draw_theory(ax: Any, grid: Grid, both: np.ndarray) -> None:
    """Lines where the eigenvalues leave the circle, and where Colgate's condition ends."""
    first = grid.first.factor * finer(grid.first)
    second = grid.second.factor * finer(grid.second)
    lines = (
        ("stable to here (eigenvalues)", BLACK, "-"),
        ("passive to here (Colgate)", GREEN, "--"),
    )
    for k, (label, colour, style) in enumerate(lines):
        if both[..., k].min() < 0.0 < both[..., k].max():
            ax.contour(
                second, first, both[..., k], levels=[0.0], colors=[colour], linestyles=[style]
            )
            ax.plot([], [], color=colour, ls=style, label=label)
