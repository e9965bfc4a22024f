"""What the numbers must be, and how they are shown."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from detent.bench.rounds import Numbers

if TYPE_CHECKING:
    from rich.console import Console

RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "≤": operator.le,
    "=": operator.eq,
    "≥": operator.ge,
}

MECHANISMS = ("rolling_disk", "disk_on_sphere", "two_link_circle")
HITS = ("4", "4_friction", "12", "12_friction")

# Bars that once were times are ratios to what is measured beside them, converted with the numbers
# of the day on which they were set. That day's machine took 6.8 µs for `mj_step` of twelve contacts
# at rest and 5.3 µs for Detent's tick; the one on which the others were taken 5.8 µs, so 1.17 times
# what was measured there counts.
#
# - a run at twice the 158 to 231 × real time of that day: at 462 × four seconds take 8.7 ms, and
#   MuJoCo's steps of the same push 1.17 · 7.7 = 9.0 ms: 0.96, so no more than those;
# - a cold start in half of that day's 36 to 49 s: 24.5 s at most, 31 times what plain Numba takes
#   for a small function in two forms (1.17 · 0.67 s of processor time), rounded down;
# - a mechanism's p99 ≤ 15 µs: 2.8 of the box's ticks; twice the p99 of the box is stricter;
# - a mechanism that is new, or in the cache: no time was asked for from which to derive a ratio;
# - no growth in a million ticks: pages of the process come and go, a byte a tick would be 977 KiB.
#
# A ratio to another tick of Detent is the harder to keep the faster that one becomes.

#: what a measurement must be; those without a bar are for orientation
BARS: dict[str, tuple[str, float]] = {
    # the protocol of the design
    "tick_over_mj_step": ("≤", 1.0),
    "tick_over_bullet_step": ("≤", 0.3),
    "contact_exponent": ("≤", 1.3),
    "contact_exponent_tail": ("≤", 1.3),
    "friction_over_smooth": ("≤", 1.25),
    "impulse_over_resting_p99": ("<", 3.0),
    "linkage_over_box": ("≤", 2.0),
    "driver_over_tick": ("≤", 0.05),
    "passivity_over_tick": ("≤", 0.05),
    # cost follows what is touched: free boxes at rest, awake, heaped up
    "among_10_boxes_over_mj_step": ("≤", 0.7),
    "among_50_boxes_over_mj_step": ("≤", 0.7),
    "among_200_boxes_over_mj_step": ("≤", 0.7),
    "dropped_among_200_boxes": ("=", 0.0),
    "impulses_at_rest_among_200_boxes": ("=", 0.0),
    "tops_apart_um_among_200_boxes": ("≤", 1.0),
    "body_exponent": ("≤", 1.1),
    "among_50_awake_over_mj_step": ("≤", 1.0),
    "among_200_awake_over_mj_step": ("≤", 1.0),
    "stirred_heap_over_mj_step": ("≤", 1.0),
    "sleep_allocations": ("=", 0.0),
    # static ones
    "among_1000_static_over_mj_step": ("≤", 0.7),
    "local_among_1000_over_10_static": ("≤", 1.2),
    # contacts at rest, and hits
    "rest_12_over_mj_step": ("≤", 0.6),
    "rest_12_friction_over_mj_step": ("≤", 0.6),
    "hit_4_over_mj_step": ("≤", 0.55),
    "hit_4_friction_over_mj_step": ("≤", 0.8),
    "hit_12_over_mj_step": ("≤", 0.72),
    "hit_12_friction_over_mj_step": ("≤", 0.75),
    **{f"hit_over_rest_{case}": ("≤", 1.5) for case in HITS},
    # mechanisms
    **{f"{name}_over_box_p99": ("≤", 2.0) for name in MECHANISMS},
    "mechanism_allocations": ("=", 0.0),
    "mechanism_new_over_small_compile": ("≤", 40.0),
    "mechanism_cached_over_imports": ("≤", 2.0),
    # concave shapes: with up to 50 and up to 500 samples that may touch, and many triangles
    "concave_50_over_mj_step": ("≤", 2.5),
    "concave_500_over_mj_step": ("≤", 5.0),
    "concave_524k_over_8k": ("≤", 1.3),
    "concave_allocations": ("=", 0.0),
    # the local model
    "local_over_whole": ("≤", 0.6),
    "merge_over_tick": ("≤", 1.0),
    "local_among_arms_over_alone": ("≤", 1.25),
    "page_updates_hz": ("≥", 30.0),
    # two cores for the cells of a map
    "map_efficiency": ("≥", 0.9),
    # the start
    "run_over_mj_step": ("≤", 1.0),
    "import_over_theirs": ("≤", 1.0),
    "warm_beyond_imports_s": ("≤", 0.5),
    "prepared_again_over_1000_ticks": ("≤", 1.0),
    "cold_over_small_compile": ("≤", 30.0),
    # memory
    "allocations": ("=", 0.0),
    "merge_allocations": ("=", 0.0),
    "resident_growth_kib": ("≤", 256.0),
    # the wall clock, beside `cyclictest`
    "slow_engine_over_baseline_p99": ("≤", 1.5),
    "slow_engine_drift_periods": ("≤", 1.0),
    "live_fair_over_baseline_p99": ("≤", 1.3),
    "live_fair_skips_over_late": ("≤", 2.0),
    "live_fair_drift_periods": ("≤", 1.0),
    **{f"live_{k}khz_over_baseline_p99": ("≤", 1.1) for k in (1, 4, 8)},
    **{f"live_{k}khz_drift_periods": ("≤", 1.0) for k in (1, 4, 8)},
}


class Bar(NamedTuple):
    """What a measurement must be, and whether it is."""

    name: str
    value: float
    required: str
    passed: bool


def judge(numbers: Numbers) -> list[Bar]:
    """The bars of what was measured."""
    return [
        Bar(name, value, f"{relation} {limit:g}", RELATIONS[relation](value, limit))
        for name, (relation, limit) in BARS.items()
        if isinstance(value := numbers.get(name), int | float)
    ]


def print_bench(numbers: Numbers, bars: Sequence[Bar], console: Console) -> None:
    """The numbers as a table with their bars, and below it the bars that were missed."""
    from rich.table import Table

    judged = {bar.name: bar for bar in bars}
    table = Table("", "measurement", "value", "must be")
    for name, value in numbers.items():
        bar = judged.get(name)
        mark, required = (_mark(bar), bar.required) if bar else ("", "")
        table.add_row(mark, name, _shown(value), required)
    console.print(table)
    for bar in bars:
        if not bar.passed:
            console.print(f"{_mark(bar)} {bar.name}: {_shown(bar.value)}, must be {bar.required}")


def _mark(bar: Bar) -> str:
    return "[green]✓[/]" if bar.passed else "[red]✗[/]"


def _shown(value: float | int | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
