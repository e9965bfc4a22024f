"""The passive integrator (S4 section 4, M38) beside that of a force which is held."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, Session, World
from detent.hands import Constant
from detent.record.trace import Trace
from lab import LOOSE, PLANAR, scene

MASS, STIFFNESS, FORCE, DEPTH = 2.0, 4000.0, 8.0, 0.003  # [kg, N/m, N, m]
SECONDS = 60.0
HALF = 0.0105  # [m] the peg's height
FLOOR = '<geom name="floor" type="box" size="1 .1 1" pos="0 -.1 0"/>'
PEG = f'<body name="peg">{PLANAR}<geom type="box" size=".021 {HALF} .01"/></body>'


def press(rate: float, integrator: str) -> Trace:
    """A peg that is pressed into an undamped wall, and let go where it will oscillate."""
    world = World.from_string(scene(FLOOR + PEG)).placed((0, HALF - DEPTH, 0))
    contact = Contact(STIFFNESS / 2, 0.0, mode="penalty")
    session = Session(world, contact, LOOSE, rate=rate, integrator=integrator)
    return session.run(SECONDS, Constant(force=(0.0, -FORCE)))


def energy(trace: Trace) -> np.ndarray:
    """[J] above that of rest, second by second: (seconds, ticks)."""
    depth, v = HALF - trace["tool_position"][:, 1], trace["tool_twist"][:, 1]
    out = 0.5 * MASS * v**2 + 0.5 * STIFFNESS * np.maximum(depth, 0.0) ** 2 - FORCE * depth
    return (out + FORCE**2 / (2.0 * STIFFNESS)).reshape(round(SECONDS), -1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "ripple", "leaves", "grows"),
    [(512.0, 0.044, 0.77, 5.8e10), (1000.0, 0.022, 1.47, 5424.0), (4000.0, 0.0055, 5.55, 87.4)],
)
def test_an_undamped_wall_for_a_minute(
    rate: float, ripple: float, leaves: float, grows: float
) -> None:
    """The table of docs/physics.md."""
    calm = energy(press(rate, "velocity-first"))
    assert np.ptp(calm, axis=1).max() / (2.0 * calm.mean()) == pytest.approx(ripple, rel=0.05)
    assert calm[-1].mean() == pytest.approx(calm[0].mean(), rel=3e-4)
    trace = press(rate, "held")
    active = energy(trace)
    outside = np.argmax(trace["tool_position"][:, 1] > HALF)
    assert trace["time"][outside] == pytest.approx(leaves, rel=0.02)
    assert active[-1].mean() / active[0].mean() == pytest.approx(grows, rel=0.05)
