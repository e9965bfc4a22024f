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
BLOWS = "blows"  # the gid of an axis for impulses, on the right of one for forces
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
    panels = [
        ax
        for ax in fig.axes
        if ax.get_subplotspec() is not None and ax.get_visible() and ax.get_gid() != BLOWS
    ]
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


#: titles by the unit of what `aside` gives
ASIDE = {"mm": "how deep the deepest contact is", "µm": "how far the display is off"}


def aside(trace: Trace) -> tuple[str, str, np.ndarray]:
    """The depth, or of a mechanism, which nothing penetrates, how far its display is off."""
    if "tracking_error" in trace.columns:
        off = np.linalg.norm(trace["tracking_error"][:, :3], axis=1)
        return "distance from the mechanism", "µm", 1e6 * off
    return "depth", "mm", 1e3 * trace["depth"]


def calm(trace: Trace, force: np.ndarray) -> np.ndarray:
    """A force (n,) [N] without ticks of collisions, which are impulses."""
    return np.where(trace["collisions"] > 0, np.nan, force)


def draw_blows(ax: Any, traces: Sequence[Trace], colours: Sequence[str]) -> None:
    """The impulses of collisions as stems, with an axis of their own on the right, if any."""
    if not any(trace["collisions"].any() for trace in traces):
        return
    right = ax.twinx()
    right.set_gid(BLOWS)
    right.spines["top"].set_visible(False)
    for trace, colour in zip(traces, colours, strict=False):
        hits = trace["collisions"] > 0
        step = float(np.median(np.diff(trace["time"]))) if len(trace) > 1 else 0.0
        size = 1e3 * step * np.linalg.norm(trace.felt[hits, :3], axis=1)
        right.vlines(trace["time"][hits], 0.0, size, color=colour, lw=1.0, alpha=0.6)
        right.plot(trace["time"][hits], size, "o", color=colour, ms=3)
    right.set(ylabel="impulse of a collision, ● [mN·s]", ylim=(0.0, None))


def plot_trace(trace: Trace, path: str | Path | None = None) -> Any:
    """Position, force, energy and depth of one run."""
    fig, axes = figure(2, 2, (10, 6.5), f"Detent: {trace.meta.get('world', 'trace')}")
    time = trace["time"]
    moved = [
        i
        for i in range(3)
        if np.ptp(trace["device_position"][:, i]) > 0 or np.any(trace.felt[:, i])
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
        axes[0, 1].plot(time, calm(trace, trace.felt[:, i]), color=colour, label=f"force {AXES[i]}")
    draw_blows(axes[0, 1], [trace], [RED])
    axes[0, 0].set_ylabel("position [mm]")
    axes[0, 1].set_ylabel("force on the hand [N]")
    axes[1, 0].plot(time, 1e3 * trace["device_energy"], color=BLUE, label="device")
    axes[1, 0].plot(time, 1e3 * trace["tool_energy"], "--", color=ORANGE, label="tool")
    axes[1, 0].set_ylabel("kinetic energy [mJ]")
    watched = "port_energy" in trace.columns and np.any(trace["port_energy"])
    if watched:
        port = 1e3 * trace["port_energy"]
        axes[1, 0].plot(time, port, color=GREEN, lw=1, label="W: from the hand")
        axes[1, 0].set_ylabel("energy [mJ]")
    name, unit, values = aside(trace)
    axes[1, 1].plot(time, values, color=RED, label=name)
    axes[1, 1].set_ylabel(f"{name} [{unit}]")
    energy = "energy of motion, and from the hand" if watched else "energy of motion"
    titles = ("where device and tool are", "the force that the hand feels", energy)
    for ax, title in zip(axes.flat, (*titles, ASIDE[unit]), strict=True):
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
        force = calm(trace, np.linalg.norm(trace.felt[:, :3], axis=1))
        axes[0, 1].plot(time, force, color=colour, lw=1, label=label)
        name, unit, values = aside(trace)
        axes[1, 0].plot(time, values, color=colour, lw=1, label=label)
        axes[1, 1].plot(time, 1e3 * trace["tool_energy"], color=colour, lw=1, label=label)
    axes[0, 0].set(xlabel=f"{AXES[across]} [mm]", ylabel=f"{AXES[up]} [mm]")
    axes[0, 0].set_aspect("equal", adjustable="datalim")
    axes[0, 1].set_ylim(bottom=0.0)
    draw_blows(axes[0, 1], traces, (BLUE, ORANGE, GREEN, RED))
    titles = ("way of the tool", "force on the hand", ASIDE[unit])
    for ax, title in zip(axes.flat, (*titles, "kinetic energy of the tool"), strict=True):
        state(ax, title)
        legend(ax)
    labels = ("force [N]", f"{name} [{unit}]", "energy [mJ]")
    for ax, label in zip(axes.flat[1:], labels, strict=True):
        ax.set(xlabel="time [s]", ylabel=label)
    return save(fig, path)
