"""A tick allocates nothing: not from Numba's runtime, not from MuJoCo, not from Python."""

from __future__ import annotations

from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python as nrt
from numba.core.runtime import rtsys

from detent import Contact, Friction, Passivity, Session, VirtualCoupler, World
from detent.devices import Inertial
from detent.hands import Sinusoid
from detent.kernels.jit import JIT_ENABLED
from detent.servo.loop.loop import run_lockstep
from detent.setup.prepared import Prepared
from lab import advance, start

TICKS = 100_000
HANDS = {
    "corner": Sinusoid(force=(2.0, 3.0), torque=0.02, frequency=2.0),
    "corner-3d": Sinusoid(force=(2.0, 3.0, 1.0), torque=(0.02, 0.01, 0.0), frequency=2.0),
    "peg-in-hole": Sinusoid(force=(2.0, 3.0), torque=0.02, frequency=2.0, bias_force=(0, -0.5)),
}


def resident() -> int:
    """Resident memory [bytes]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@numba.njit
def allocate() -> np.ndarray:
    """What a tick must not do."""
    return np.zeros(3)


@pytest.fixture
def counting() -> object:
    """Numba's allocation counters, switched on."""
    before = nrt.memsys_stats_enabled()
    nrt.memsys_enable_stats()
    yield None
    if not before:
        nrt.memsys_disable_stats()


CONTACTS = {
    "impulse": Contact(restitution=0.3),
    "material": Contact(restitution=0.3, material="wood", friction=Friction()),
    "rigid": Contact(restitution=0.3, mode="rigid"),
    "rigid with friction": Contact(restitution=0.3, mode="rigid", friction=Friction()),
}


def ready_in(name: str, contact: str) -> Prepared:
    session = Session(World.builtin(name), CONTACTS[contact])
    ready = start(session, HANDS[name], ring=256)
    rows = advance(ready, 200)
    assert len(rows) == 200
    return ready


@pytest.mark.skipif(not JIT_ENABLED, reason="plain Python allocates")
@pytest.mark.parametrize("contact", CONTACTS)
@pytest.mark.parametrize("name", HANDS)
def test_ticks_allocate_nothing(name: str, contact: str, counting: object) -> None:
    ready = ready_in(name, contact)
    allocate()
    before = rtsys.get_allocation_stats()
    done = run_lockstep(ready.servo, TICKS)
    after = rtsys.get_allocation_stats()
    assert done == TICKS
    assert after == before
    allocate()
    assert rtsys.get_allocation_stats().alloc == after.alloc + 1  # the counter counts
    rows = ready.servo.ring
    assert np.isfinite(rows["tool_position"]).all()


@pytest.mark.skipif(not JIT_ENABLED, reason="plain Python allocates")
@pytest.mark.parametrize("law", ["damper", "reference", "tank"])
def test_the_watch_over_passivity_allocates_nothing(law: str, counting: object) -> None:
    """On a device that its springs shake, so that the controller acts."""
    device = Inertial(mass=0.05, rotational_inertia=1e-4, delay_ticks=2, resolution=1e-5)
    coupling = VirtualCoupler(3000.0, 1.0)
    session = Session(
        World.builtin("corner-3d"), coupling=coupling, device=device, passivity=Passivity(law)
    )
    ready = start(session, HANDS["corner-3d"], ring=256)
    advance(ready, 200)
    before = rtsys.get_allocation_stats()
    run_lockstep(ready.servo, TICKS // 10)
    assert rtsys.get_allocation_stats() == before
    assert ready.servo.ring["passive"].any()


@pytest.mark.skipif(not JIT_ENABLED, reason="plain Python allocates")
def test_memory_stays_flat() -> None:
    ready = ready_in("corner-3d", "impulse")
    run_lockstep(ready.servo, TICKS // 10)
    before = resident()
    run_lockstep(ready.servo, 2 * TICKS)
    assert resident() - before < 256 * 1024


def test_preparing_again_and_again_gives_its_memory_back() -> None:
    """A session may be run thousands of times in a sweep."""
    session = Session(World.builtin("corner"))
    for _ in range(20):
        session.run(0.01)
    before = resident()
    for _ in range(100):
        session.run(0.01)
    assert resident() - before < 8 * 2**20
