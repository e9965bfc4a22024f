"""How figures look: one style, one colour per method, units on every axis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from detent.record.trace import Trace

# Okabe and Ito's colours, which colour-blind readers can tell apart
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip

#: the same colour for the same method in every figure
METHOD_COLOURS = {
    "ideal": BLACK,
    "iapb": BLUE,
    "pb": ORANGE,
    "cb_uc": GREEN,
    "pb_limited": YELLOW,
    "iapb_spread": SKY,
    "iapb_scaled": PINK,
    "iapb_saturated": RED,
    "iapb_spread_literal": PINK,
    "iapb_spread_rezeroed": GREEN,
    "sync": BLACK,
    "ir": RED,
    "ir_prompt": PINK,
    "lm0": ORANGE,
    "lm5": BLUE,
    "lm5_literal": SKY,
    "lm5_direct": GREEN,
    "lm_kc": GREEN,
    "lm_inertial": SKY,
}
AXES = ("x", "y", "z")
STATEMENT = "statement"  # the gid of what `state` wrote
_UNIT = re.compile(r"\s*\[[^]]*\]")


def figure(rows: int, columns: int, size: tuple[float, float], title: str) -> tuple[Any, Any]:
    """A figure without a screen, with Detent's style; a notebook shows it as any other."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig: Any = Figure(size, layout="constrained", dpi=120)
    FigureCanvasAgg(fig)
    fig._repr_png_ = partial(_as_png, fig)
    axes = fig.subplots(rows, columns, squeeze=False)
    fig.suptitle(title, fontsize=11)
    for ax in axes.flat:
        ax.grid(True, color="0.9", linewidth=0.6)
        ax.set_axisbelow(True)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    return fig, axes


def _as_png(fig: Any) -> bytes:
    """What a notebook shows of a figure."""
    written = BytesIO()
    fig.savefig(written, format="png")
    return written.getvalue()


def state(ax: Any, words: str) -> None:
    """Write what a panel shows over it, as a statement."""
    ax.set_title(words, fontsize=9, loc="left", gid=STATEMENT)


def withhold(fig: Any) -> None:
    """Say over each panel what is drawn, instead of what it was found to show on record."""
    for ax in fig.axes:
        stated = ax._left_title
        if stated.get_gid() == STATEMENT:
            up, across = (_UNIT.sub("", text) for text in (ax.get_ylabel(), ax.get_xlabel()))
            stated.set_text(f"{up} over {across}" if up and across else up or across)


def legend(ax: Any, loc: str = "best", **options: Any) -> None:
    """A legend in Detent's style."""
    ax.legend(**({"fontsize": 8, "frameon": False, "loc": loc} | options))


def draw_envelope(
    ax: Any, time: np.ndarray, values: np.ndarray, parts: int, colour: str, label: str
) -> None:
    """A noisy curve as the range from its least to its largest value, and its median.

    The time is cut into *parts* of equal length, so that no noise is drawn as a solid block.
    """
    cuts = np.array_split(np.arange(len(time)), min(parts, len(time)))
    middle = np.array([time[cut].mean() for cut in cuts])
    low, high = (np.array([pick(values[cut]) for cut in cuts]) for pick in (np.min, np.max))
    ax.fill_between(middle, low, high, color=colour, alpha=0.3, lw=0, label=f"{label}: range")
    half = np.array([np.median(values[cut]) for cut in cuts])
    ax.plot(middle, half, color=colour, lw=1.2, label=f"{label}: median")


def letter(fig: Any) -> None:
    """Letter the panels of a figure that has several: a, b, c …"""
    panels = [ax for ax in fig.axes if ax.get_subplotspec() is not None and ax.get_visible()]
    panels.sort(key=lambda ax: (ax.get_subplotspec().rowspan.start, ax.get_subplotspec().num1))
    for ax, name in zip(panels, "abcdefghijklmnop", strict=False):
        if len(panels) > 1:
            ax.annotate(
                name, (0, 1), (-22, 5), xycoords="axes fraction", textcoords="offset points",
                fontsize=11, fontweight="bold", gid="letter",
            )  # fmt: skip


def save(fig: Any, path: str | Path | None) -> Any:
    """Letter the panels and write the figure, if there is a path."""
    letter(fig)
    if path is not None:
        save_as(fig, path)
    return fig


#: what a format would otherwise write of the time: the same figure is the same file
_TIMELESS = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def save_as(fig: Any, path: str | Path) -> None:
    """Write the figure in the format that the name ends with: png, svg or pdf."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "detent"}):
        fig.savefig(path, metadata=_TIMELESS.get(Path(path).suffix))


def plot_trace(trace: Trace, path: str | Path | None = None) -> Any:
    """Position, force, energy and depth of one run."""
    fig, axes = figure(2, 2, (10, 6.5), f"Detent: {trace.meta.get('world', 'trace')}")
    time = trace["time"]
    moved = [
        i
        for i in range(3)
        if np.ptp(trace["device_position"][:, i]) > 0 or np.any(trace["device_wrench"][:, i])
    ]
    for i, colour in zip(moved, (BLUE, ORANGE, GREEN), strict=False):
        axes[0, 0].plot(
            time, 1e3 * trace["device_position"][:, i], color=colour, label=f"device {AXES[i]}"
        )
        axes[0, 0].plot(
            time,
            1e3 * trace["tool_position"][:, i],
            "--",
            color=colour,
            lw=1,
            label=f"tool {AXES[i]}",
        )
        axes[0, 1].plot(time, trace["device_wrench"][:, i], color=colour, label=f"force {AXES[i]}")
    axes[0, 0].set_ylabel("position [mm]")
    axes[0, 1].set_ylabel("force on the device [N]")
    axes[0, 1].set_yscale("symlog", linthresh=1.0)
    axes[1, 0].plot(time, 1e3 * trace["device_energy"], color=BLUE, label="device")
    axes[1, 0].plot(time, 1e3 * trace["tool_energy"], "--", color=ORANGE, label="tool")
    axes[1, 0].set_ylabel("kinetic energy [mJ]")
    watched = "port_energy" in trace.columns and np.any(trace["port_energy"])
    if watched:
        port = 1e3 * trace["port_energy"]
        axes[1, 0].plot(time, port, color=GREEN, lw=1, label="W: from the hand")
        axes[1, 0].set_ylabel("energy [mJ]")
    if "tracking_error" in trace.columns:  # a mechanism: nothing penetrates
        off = np.linalg.norm(trace["tracking_error"][:, :3], axis=1)
        axes[1, 1].plot(time, 1e6 * off, color=RED, label="display, as measured")
        axes[1, 1].set_ylabel("distance from the mechanism [µm]")
    else:
        axes[1, 1].plot(time, 1e3 * trace["depth"], color=RED, label="deepest contact")
        axes[1, 1].set_ylabel("penetration [mm]")
    energy = "energy of motion, and from the hand" if watched else "energy of motion"
    titles = ("where device and tool are", "the force that the hand feels", energy)
    off = "how far the display is off" if "tracking_error" in trace.columns else "how deep it is"
    for ax, title in zip(axes.flat, (*titles, off), strict=True):
        state(ax, title)
        ax.set_xlabel("time [s]")
        if ax.has_data():
            legend(ax)
    return save(fig, path)


def plot_comparison(labels: Sequence[str], traces: Sequence[Trace], path: str | Path | None) -> Any:
    """Runs of one hand, over each other: way, force on the hand, depth, energy."""
    fig, axes = figure(2, 2, (11, 7), f"Detent: {traces[0].meta.get('world', 'traces')}")
    ways = np.concatenate([trace["tool_position"] for trace in traces])
    across, up = np.sort(np.argsort(np.ptp(ways, axis=0))[1:])
    for label, trace, colour in zip(labels, traces, (BLUE, ORANGE, GREEN, RED), strict=False):
        time, place = trace["time"], 1e3 * trace["tool_position"]
        axes[0, 0].plot(place[:, across], place[:, up], color=colour, lw=1.2, label=label)
        force = np.linalg.norm(trace["device_wrench"][:, :3], axis=1)
        axes[0, 1].plot(time, force, color=colour, lw=1, label=label)
        axes[1, 0].plot(time, 1e3 * trace["depth"], color=colour, lw=1, label=label)
        axes[1, 1].plot(time, 1e3 * trace["tool_energy"], color=colour, lw=1, label=label)
    axes[0, 0].set(xlabel=f"{AXES[across]} [mm]", ylabel=f"{AXES[up]} [mm]")
    axes[0, 0].set_aspect("equal", adjustable="datalim")
    titles = ("way of the tool", "force on the hand", "depth of the deepest contact")
    for ax, title in zip(axes.flat, (*titles, "kinetic energy of the tool"), strict=True):
        state(ax, title)
        legend(ax)
    for ax, label in zip(axes.flat[1:], ("force [N]", "depth [mm]", "energy [mJ]"), strict=True):
        ax.set(xlabel="time [s]", ylabel=label)
    return save(fig, path)
