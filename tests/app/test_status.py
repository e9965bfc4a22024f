"""What the terminal and the page say of a servo that holds its rate, and of one that does not."""

from __future__ import annotations

import io
import math
from types import SimpleNamespace
from typing import Any

import pytest

from detent.app.panel import noted, table
from detent.app.readings import Readings
from detent.app.status import StatusLine, advice, late_text, lower_rate
from detent.servo.loop.status import Status

GOOD = Status(8000, 0, 0, 4000.0, 4000.0, 4000.0, 1.0, 20.0, 3.0, 9.0, "SCHED_FIFO")
SLOW = GOOD._replace(skips=6538, rate=1200.0, recent=731.0, lateness_p99=math.inf)
RED = "\x1b[31m731 of 4000 Hz\x1b[0m"


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def live(status: Status, **other: Any) -> Any:
    """A servo that is doing like this."""
    usual = {
        "status": lambda: status,
        "engine": None,
        "settings": SimpleNamespace(contact=object()),
        "promises": SimpleNamespace(refused=False),
    }
    return SimpleNamespace(**(usual | other))


def shown(out: io.StringIO, status: Status, times: int = 1) -> str:
    """What is written of a servo."""
    line, readings = StatusLine(out), Readings(live(status))
    line.refresh(live(status), readings)
    for _ in range(times):
        line._due = 1e-9
        line.refresh(live(status), readings)
    return out.getvalue()


def test_a_rate_that_is_held_is_one_number() -> None:
    said = shown(Screen(), GOOD)
    assert "4000 Hz · p99 20 µs late · 0 skipped" in said
    assert "\x1b[31m" not in said and "help" not in said


def test_a_rate_that_is_not_held_is_red_with_advice_once() -> None:
    said = shown(Screen(), SLOW, times=3)
    assert said.count(f"{RED} · p99 > 4 ms late · 6538 skipped") == 3
    assert said.count("--rate 500") == said.count("--local") == 1


def test_a_file_gets_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in shown(io.StringIO(), SLOW)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in shown(Screen(), SLOW)


def test_the_last_line_judges_the_whole_run() -> None:
    out = Screen()
    StatusLine(out).end(SLOW, Readings(live(SLOW)))
    assert "\x1b[31m1200 of 4000 Hz\x1b[0m" in out.getvalue()
    assert "stopped after 6.7 s" in out.getvalue()


def test_advice_fits_the_session() -> None:
    assert advice(live(GOOD), GOOD) == ""
    assert "--local" not in advice(live(SLOW, engine=object()), SLOW)
    assert "--local" not in advice(live(SLOW, settings=SimpleNamespace(contact=None)), SLOW)
    refused = live(SLOW, promises=SimpleNamespace(refused=True))
    assert "detent doctor" in advice(refused, SLOW)
    assert "detent doctor" not in advice(live(SLOW), SLOW)


@pytest.mark.parametrize(
    ("reached", "lower"), [(731.0, 500.0), (3900.0, 2000.0), (1250.0, 1000.0), (0.0, 1.0)]
)
def test_the_rate_to_try_is_round_and_lower(reached: float, lower: float) -> None:
    assert lower_rate(reached) == lower


def test_lateness_is_a_number_as_long_as_it_is_known() -> None:
    assert late_text(4095.0) == "4095 µs"
    assert late_text(math.inf) == "> 4 ms"


def test_the_page_shows_the_same_in_red() -> None:
    readings = Readings(live(SLOW))
    cells = table(SLOW, readings)
    rate = cells[cells.index("data-name='rate'") :]
    assert "color:" in rate[: rate.index("</td>")] and ">731 of 4000 Hz<" in rate
    assert ">&gt; 4 ms<" in cells
    assert "color:" not in table(GOOD, readings)


def test_the_page_warns_before_it_notes() -> None:
    text = noted(["a <note>"], ["slow & late"])
    assert text.index("slow &amp; late") < text.index("a &lt;note&gt;")
    assert "color:" in text[: text.index("slow")]
    assert "warning" not in noted(["a note"])
