"""Live charts of force and energy."""

from __future__ import annotations

import numpy as np
import viser
from viser import uplot

from detent.app.readings import Readings
from detent.record.plots import BLUE, ORANGE, RED

HEIGHT = 118  # [px]
DECADES = (0.0, 10.0, 100.0, 1000.0)  # [N]
_HEAD = "margin:0.3em 0.75em 0;font-size:0.82em;line-height:1.35"


class Charts:
    """Two charts of the last seconds: forces, and kinetic energies."""

    def __init__(self, server: viser.ViserServer, readings: Readings) -> None:
        self._readings = readings
        time, _ = readings.history()
        self._force = _chart(
            server.gui,
            time,
            "Force [N]",
            {"environment": RED, "hand": BLUE},
            # linear up to 1 N and logarithmic above: impulses are a thousand times larger
            uplot.Scale(distr=4, asinh=1.0, range=(0.0, None)),
            uplot.Axis(size=50, splits=DECADES, space=12),
        )
        self._energy = _chart(
            server.gui,
            time,
            "Kinetic energy [mJ]",
            {"device": BLUE, "tool": ORANGE},
            uplot.Scale(range=(0.0, None)),
            uplot.Axis(size=50),
        )

    def refresh(self) -> None:
        """Show what is new."""
        time, values = self._readings.history()
        self._force.data = (time, values[0], values[1])
        self._energy.data = (time, 1e3 * values[3], 1e3 * values[2])


def _chart(
    gui: viser.GuiApi,
    time: np.ndarray,
    title: str,
    lines: dict[str, str],
    scale: uplot.Scale,
    axis: uplot.Axis,
) -> viser.GuiUplotHandle:
    """A chart over the last seconds, with a line of this colour for each name."""
    legend = " ".join(f"<span style='color:{c}'>■</span> {name}" for name, c in lines.items())
    gui.add_html(f"<div style='{_HEAD}'>{title} &ensp; {legend}</div>")
    series = [uplot.Series(label="time [s]")]
    series += [uplot.Series(label=name, stroke=c, width=1.5) for name, c in lines.items()]
    series[-1]["dash"] = (6.0, 3.0)  # it often lies on the other
    return gui.add_uplot(
        data=(time, *(np.zeros(len(time)) for _ in lines)),
        series=tuple(series),
        scales={"x": uplot.Scale(time=False), "y": scale},
        axes=(uplot.Axis(size=30), axis),
        legend=uplot.Legend(show=False),
        height=HEIGHT,
        padding=(8, 16, 0, 0),
    )
