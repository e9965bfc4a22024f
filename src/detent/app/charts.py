"""Live charts: force, impulses, depth, energy, with units and axes that stand still."""

from __future__ import annotations

import numpy as np
import viser
from viser import uplot

from detent.app.readings import CHARTED, SPAN, Readings
from detent.record.plots import BLACK, BLUE, ORANGE, RED

Folder = viser.GuiFolderHandle
HEIGHT = 112  # [px]
PALE, DARK_GRID = "#E8E8E8", "#4a4a4a"
#: title, lines with their colours, factor to the unit, the least that the axis shows
FORCE = ("Force on the hand [N]", {"felt": BLACK, "world": RED, "joints": BLUE}, 1.0, 1.0)
ENERGY = ("Energy of the hand [mJ]", {"given": BLUE, "returned": ORANGE}, 1e3, 1.0)
#: of what touches something, and of a mechanism, which touches nothing
CHARTS = (
    FORCE,
    ("Impulses of collisions [mN·s]", {"impulse": RED}, 1e3, 1.0),
    ("Depth [mm]", {"depth": ORANGE}, 1e3, 0.1),
    ENERGY,
)
CHARTS_OF_MECHANISM = (FORCE, ("Display off [µm]", {"off": ORANGE}, 1e6, 1.0), ENERGY)
#: where somebody watches over passivity
LEDGER = (
    "Energy at the hand port [mJ]", {"left": BLUE, "came out": ORANGE, "owed": RED}, 1e3, 1.0
)  # fmt: skip
_HEAD = "margin:0.3em 0.75em 0;font-size:0.82em;line-height:1.35"


class Charts:
    """The last seconds: what is felt, collisions, depth, and energy that comes and goes."""

    def __init__(
        self,
        server: viser.ViserServer,
        readings: Readings,
        folder: Folder,
        touchable: bool,
        watched: bool,
    ) -> None:
        self._gui, self._readings, self._folder = server.gui, readings, folder
        kinds = CHARTS if touchable else CHARTS_OF_MECHANISM
        self._kinds = (*kinds, LEDGER) if watched else kinds
        self._heads: list[viser.GuiHtmlHandle] = []
        self._charts: list[viser.GuiUplotHandle] = []
        self.draw(False)

    def draw(self, dark: bool) -> None:
        """Draw them, for a dark page or a light one: a chart keeps the colours it began with."""
        for old in (*self._heads, *self._charts):
            old.remove()
        self._heads, self._charts = [], []
        time = before_now(self._readings.history()[0])
        with self._folder:
            for title, lines, _, floor in self._kinds:
                self._heads.append(self._gui.add_html(_head(title, lines)))
                self._charts.append(_chart(self._gui, time, lines, floor, dark))

    def refresh(self) -> None:
        """Show what is new."""
        time, values = self._readings.history()
        signals = dict(zip(CHARTED, values, strict=True))
        for chart, (_, lines, factor, floor) in zip(self._charts, self._kinds, strict=True):
            shown = [factor * signals[name] for name in lines]
            chart.data = (before_now(time), *shown)
            top = max(floor, 1.1 * max(float(one.max()) for one in shown))
            if chart.scales != (scales := _scales(top)):
                chart.scales = scales


def _scales(top: float) -> dict[str, uplot.Scale]:
    range_y = uplot.Scale(range=(0.0, round_up(top)))
    return {"x": uplot.Scale(time=False, range=(-SPAN, 0.0)), "y": range_y}


def before_now(time: np.ndarray) -> np.ndarray:
    """Times [s] (n,) as how long ago they were: an axis that stands still."""
    return np.asarray(time - time[-1])


def round_up(top: float) -> float:
    """The next of 1, 2, 5, 10, …: an axis that does not change with every sample."""
    power = 10.0 ** np.floor(np.log10(top))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= top))


def _series(lines: dict[str, str], dark: bool) -> tuple[uplot.Series, ...]:
    series = [uplot.Series(label="time before now [s]")]
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
        uplot.Axis(size=32, label="time before now [s]", labelSize=12, stroke=colour, grid=lines),
        uplot.Axis(size=50, stroke=colour, grid=lines),
    )


def _head(title: str, lines: dict[str, str]) -> str:
    legend = " ".join(
        f"<span style='color:{'inherit' if colour == BLACK else colour}'>■</span> {name}"
        for name, colour in lines.items()
    )
    return f"<div style='{_HEAD}'>{title} &ensp; {legend}</div>"


def _chart(
    gui: viser.GuiApi, time: np.ndarray, lines: dict[str, str], floor: float, dark: bool
) -> viser.GuiUplotHandle:
    """A chart over the last seconds, with a line of this colour for each name."""
    return gui.add_uplot(
        data=(time, *(np.zeros(len(time)) for _ in lines)),
        series=_series(lines, dark),
        scales=_scales(floor),
        axes=_axes(dark),
        legend=uplot.Legend(show=False),
        height=HEIGHT,
        padding=(8, 16, 0, 0),
    )
