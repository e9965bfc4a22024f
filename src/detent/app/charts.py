"""Live charts: force, impulses, depth and power, with units and axes that stand still."""

from __future__ import annotations

import numpy as np
import viser
from viser import uplot

from detent.app.readings import CHARTED, Readings
from detent.record.plots import BLACK, BLUE, ORANGE, RED

HEIGHT = 112  # [px]
PALE, DARK_GRID = "#E8E8E8", "#4a4a4a"
#: title, lines with their colours, factor to the unit, the least that the axis shows
CHARTS = (
    ("Force on the hand [N]", {"felt": BLACK, "world": RED, "joints": BLUE}, 1.0, 1.0),
    ("Impulses of collisions [mN·s]", {"impulse": RED}, 1e3, 1.0),
    ("Depth [mm]", {"depth": ORANGE}, 1e3, 0.1),
    ("Power of the hand [mW]", {"given": BLUE, "returned": ORANGE}, 1e3, 1.0),
)
_HEAD = "margin:0.3em 0.75em 0;font-size:0.82em;line-height:1.35"


class Charts:
    """The last seconds: what is felt, collisions, depth, and energy that comes and goes."""

    def __init__(self, server: viser.ViserServer, readings: Readings) -> None:
        self._readings = readings
        time, _ = readings.history()
        self._charts = [
            _chart(server.gui, time, title, lines, floor) for title, lines, _, floor in CHARTS
        ]

    def darken(self, dark: bool) -> None:
        """Colours for a dark page, or for a light one."""
        for chart, (_, lines, _, _) in zip(self._charts, CHARTS, strict=True):
            chart.series = _series(lines, dark)
            chart.axes = _axes(dark)

    def refresh(self) -> None:
        """Show what is new."""
        time, values = self._readings.history()
        signals = dict(zip(CHARTED, values, strict=True))
        for chart, (_, lines, factor, floor) in zip(self._charts, CHARTS, strict=True):
            shown = [factor * signals[name] for name in lines]
            chart.data = (time, *shown)
            top = max(floor, 1.1 * max(float(one.max()) for one in shown))
            if chart.scales != (scales := _scales(top)):
                chart.scales = scales


def _scales(top: float) -> dict[str, uplot.Scale]:
    range_y = uplot.Scale(range=(0.0, round_up(top)))
    return {"x": uplot.Scale(time=False), "y": range_y}


def round_up(top: float) -> float:
    """The next of 1, 2, 5, 10, …: an axis that does not change with every sample."""
    power = 10.0 ** np.floor(np.log10(top))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= top))


def _series(lines: dict[str, str], dark: bool) -> tuple[uplot.Series, ...]:
    series = [uplot.Series(label="time [s]")]
    for i, (name, colour) in enumerate(lines.items()):
        wide, seen = 2.0 if i == 0 else 1.2, PALE if dark and colour == BLACK else colour
        series.append(uplot.Series(label=name, stroke=seen, width=wide, points={"show": False}))
        if name == "impulse":  # stems: from the axis to what one tick gave
            series[-1]["fill"] = colour
    return tuple(series)


def _axes(dark: bool) -> tuple[uplot.Axis, ...]:
    colour, grid = (PALE, DARK_GRID) if dark else ("#333333", "#e6e6e6")
    lines = uplot.Axis_Grid(stroke=grid, width=1)
    return (
        uplot.Axis(size=32, label="time [s]", labelSize=12, stroke=colour, grid=lines),
        uplot.Axis(size=50, stroke=colour, grid=lines),
    )


def _chart(
    gui: viser.GuiApi,
    time: np.ndarray,
    title: str,
    lines: dict[str, str],
    floor: float,
) -> viser.GuiUplotHandle:
    """A chart over the last seconds, with a line of this colour for each name."""
    legend = " ".join(
        f"<span style='color:{'inherit' if c == BLACK else c}'>■</span> {name}"
        for name, c in lines.items()
    )
    gui.add_html(f"<div style='{_HEAD}'>{title} &ensp; {legend}</div>")
    return gui.add_uplot(
        data=(time, *(np.zeros(len(time)) for _ in lines)),
        series=_series(lines, False),
        scales=_scales(floor),
        axes=_axes(False),
        legend=uplot.Legend(show=False),
        height=HEIGHT,
        padding=(8, 16, 0, 0),
    )
