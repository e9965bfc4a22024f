"""Charts of a whole run, with what has passed shaded."""

from __future__ import annotations

import numpy as np
import viser
from viser import uplot

from detent.app.rehearsal import Run
from detent.record.plots import BLUE, ORANGE

POINTS = 400  # of a chart: the largest value of each piece
HEIGHT = 130  # [px]
SHADE = "rgba(120,130,140,0.18)"
COLOURS = (BLUE, ORANGE)
_HEAD = "margin:0.3em 0.75em 0;font-size:0.82em;line-height:1.35"

#: what is charted: title, column, what to do with it, unit per SI unit
SIGNALS = (
    ("Force on the hand [N]", "device_wrench", 1.0),
    ("Depth [mm]", "depth", 1e3),
    ("Kinetic energy of the tool [mJ]", "tool_energy", 1e3),
    ("Energy at the hand port, |W| [mJ]", "port_energy", 1e3),
)


class Timeline:
    """One chart per signal, one line per run."""

    def __init__(self, server: viser.ViserServer, runs: list[Run]) -> None:
        self._end = max(float(run.trace["time"][-1]) for run in runs)
        self._times = np.linspace(0.0, self._end, POINTS)
        self._charts: list[tuple[viser.GuiUplotHandle, list[np.ndarray], float]] = []
        for title, column, scale in SIGNALS:
            if all(column in run.trace.columns for run in runs):
                self._add(server, title, runs, [self._sampled(run, column, scale) for run in runs])

    def _sampled(self, run: Run, column: str, scale: float) -> np.ndarray:
        values = run.trace[column]
        size = np.abs(values) if values.ndim == 1 else np.linalg.norm(values[:, :3], axis=1)
        piece = np.minimum((POINTS * run.trace["time"] / self._end).astype(int), POINTS - 1)
        most = np.zeros(POINTS)
        np.maximum.at(most, piece, scale * size)  # one tick's impulse must show
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
