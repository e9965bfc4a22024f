"""Charts of a whole run, with what has passed shaded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import viser
from viser import uplot

from detent.app.readings import impulses, length
from detent.app.rehearsal import Run
from detent.record.plots import BLUE, ORANGE

POINTS = 400  # of a chart: the largest value of each piece
HEIGHT = 130  # [px]
SHADE = "rgba(120,130,140,0.18)"
COLOURS = (BLUE, ORANGE)
_HEAD = "margin:0.3em 0.75em 0;font-size:0.82em;line-height:1.35"

Signal = Callable[[Run], np.ndarray | None]


def _column(name: str) -> Signal:
    return lambda run: np.abs(run.trace[name]) if name in run.trace.columns else None


def _felt(run: Run) -> np.ndarray:
    calm = run.trace.rows["collisions"] == 0  # a collision is an impulse, no force
    return np.where(calm, length(run.trace.felt[:, :3]), 0.0)


def _blows(run: Run) -> np.ndarray | None:
    rows = run.trace.rows
    return impulses(rows, 1.0 / run.session.rate) if run.session.subject.touchable else None


#: what is charted: title, how it is had from a run that has it, unit per SI unit
SIGNALS: tuple[tuple[str, Signal, float], ...] = (
    ("Force on the hand [N]", _felt, 1.0),
    ("Impulses of collisions [mN·s]", _blows, 1e3),
    ("Depth [mm]", _column("depth"), 1e3),
    ("Kinetic energy of the tool [mJ]", _column("tool_energy"), 1e3),
    ("Energy at the hand port, |W| [mJ]", _column("port_energy"), 1e3),
)


class Timeline:
    """One chart per signal, one line per run."""

    def __init__(self, server: viser.ViserServer, runs: list[Run]) -> None:
        self._end = max(float(run.trace["time"][-1]) for run in runs)
        self._times = np.linspace(0.0, self._end, POINTS)
        self._charts: list[tuple[viser.GuiUplotHandle, list[np.ndarray], float]] = []
        for title, signal, scale in SIGNALS:
            values = [(run, signal(run)) for run in runs]
            lines = [self._sampled(run, scale * one) for run, one in values if one is not None]
            if len(lines) == len(runs):
                self._add(server, title, runs, lines)

    def _sampled(self, run: Run, values: np.ndarray) -> np.ndarray:
        piece = np.minimum((POINTS * run.trace["time"] / self._end).astype(int), POINTS - 1)
        most = np.zeros(POINTS)
        np.maximum.at(most, piece, values)  # one tick's impulse must show
        return most

    def _add(
        self, server: viser.ViserServer, title: str, runs: list[Run], lines: list[np.ndarray]
    ) -> None:
        legend = " ".join(
            f"<span style='color:{colour}'>■</span> {run.label}"
            for run, colour in zip(runs, COLOURS, strict=False)
        )
        server.gui.add_html(f"<div style='{_HEAD}'>{title} &ensp; {legend}</div>")
        top = max(1e-3, max(float(line.max()) for line in lines))
        series = [uplot.Series(label="time [s]")]
        series.append(uplot.Series(label="seen", fill=SHADE, width=0, points={"show": False}))
        series += [
            uplot.Series(label=run.label, stroke=colour, width=1.5)
            for run, colour in zip(runs, COLOURS, strict=False)
        ]
        chart = server.gui.add_uplot(
            data=(self._times, np.zeros(POINTS), *lines),
            series=tuple(series),
            scales={"x": uplot.Scale(time=False), "y": uplot.Scale(range=(0.0, 1.05 * top))},
            axes=(uplot.Axis(size=34, label="time [s]", labelSize=14), uplot.Axis(size=50)),
            legend=uplot.Legend(show=False),
            height=HEIGHT,
            padding=(8, 16, 0, 0),
        )
        self._charts.append((chart, lines, 1.05 * top))

    def refresh(self, time: float) -> None:
        """Shade what has passed at a time [s]."""
        for chart, lines, top in self._charts:
            seen = np.where(self._times <= time, top, 0.0)
            chart.data = (self._times, seen, *lines)
