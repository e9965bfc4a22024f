"""The figure of a map: what came of every cell, with theory drawn in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from detent.devices.limits import stiffness_limits
from detent.maps.cells import WALL, Setting
from detent.maps.grid import Grid
from detent.record.plots import BLACK, GREEN, figure, save

LEAST, MOST = 1e-6, 1e-1  # [m] of the colours


def draw_map(grid: Grid, rows: list[dict[str, Any]], path: Path) -> Path:
    """How far the device swings in each cell; cells that failed are left white."""
    from matplotlib.colors import LogNorm

    shape = len(grid.first.values), len(grid.second.values)
    swing = np.array([row["swing"] for row in rows]).reshape(shape)
    base = grid.base
    title = f"{base.world}, {base.device}, {base.coupling} coupling, passivity {base.passivity}"
    fig, axes = figure(1, 1, (7.5, 5.5), title)
    ax = axes[0, 0]
    drawn = ax.pcolormesh(
        grid.second.values, grid.first.values, np.clip(swing, LEAST, MOST),
        norm=LogNorm(LEAST, MOST), cmap="cividis", shading="nearest",
    )  # fmt: skip
    fig.colorbar(drawn, label="swing in the second half [m]")
    if base.world == WALL and base.device == "inertial":
        draw_theory(ax, grid)
    ax.set(xlabel=grid.second.label, ylabel=grid.first.label)
    ax.set_xscale("log" if grid.second.logarithmic else "linear")
    ax.set_yscale("log" if grid.first.logarithmic else "linear")
    save(fig, path)
    return path


def margins(setting: Setting) -> tuple[float, float]:
    """The stiffness that is stable, and that which is passive, over the one of a cell."""
    found = stiffness_limits(
        setting.mass, setting.own_damping, setting.coulomb, setting.resolution,
        1.0 / setting.rate, round(setting.delay), setting.damping,
    )  # fmt: skip
    return found.stable / setting.stiffness, found.passive / setting.stiffness


def draw_theory(ax: Any, grid: Grid) -> None:
    """Lines where the eigenvalues leave the circle, and where Colgate's condition ends."""
    shape = len(grid.first.values), len(grid.second.values)
    both = np.array([margins(one) for one in grid.settings()]).reshape(*shape, 2)
    lines = (("stable (eigenvalues)", BLACK, "-"), ("passive (Colgate)", GREEN, "--"))
    for k, (label, colour, style) in enumerate(lines):
        if both[..., k].min() < 1.0 < both[..., k].max():
            ax.contour(
                grid.second.values, grid.first.values, both[..., k], levels=[1.0],
                colors=[colour], linestyles=[style],
            )  # fmt: skip
            ax.plot([], [], color=colour, ls=style, label=label)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=8)
