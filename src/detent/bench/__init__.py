"""Speed and memory: everything that is compared in one run, alternated, as ratios."""

from __future__ import annotations

from detent.bench.admittance import bench_admittance, bench_mechanism
from detent.bench.bodies import bench_bodies
from detent.bench.concave import bench_concave
from detent.bench.contacts import bench_contacts, bench_friction
from detent.bench.driver import bench_driver
from detent.bench.fair import bench_fair
from detent.bench.hits import bench_hits
from detent.bench.impulse import bench_impulses
from detent.bench.linkage import bench_linkage
from detent.bench.live import bench_live
from detent.bench.local import bench_local
from detent.bench.map import bench_map
from detent.bench.memory import bench_memory
from detent.bench.page_load import bench_page
from detent.bench.passive import bench_passivity
from detent.bench.rounds import Numbers, Progress
from detent.bench.size import bench_size
from detent.bench.slow import bench_slow_engine
from detent.bench.start import bench_start
from detent.bench.static import bench_static
from detent.bench.tick import bench_lockstep, bench_tick

__all__ = ["run_bench"]

# The live part comes last: it locks the memory, and then growth could not be seen.
PARTS = (
    *(bench_tick, bench_contacts, bench_friction, bench_bodies, bench_static, bench_hits),
    *(bench_impulses, bench_linkage, bench_local, bench_size, bench_admittance, bench_mechanism),
    *(bench_driver, bench_passivity, bench_concave, bench_lockstep, bench_start, bench_memory),
    bench_map,
)
LIVE_SHARE = 0.6  # of the time that all measurements take


def run_bench(quick: bool, progress: Progress) -> Numbers:
    """All measurements by name; *quick* makes them shorter."""
    numbers: Numbers = {}
    for done, part in enumerate(PARTS):
        numbers |= part(quick)
        progress((1.0 - LIVE_SHARE) * (done + 1) / len(PARTS))
    numbers |= bench_fair(quick) | bench_slow_engine(quick) | bench_page(quick)
    return numbers | bench_live(quick, lambda done: progress(1.0 - LIVE_SHARE * (1.0 - done)))
