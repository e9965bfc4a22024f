"""Every preset with its default session: a wall is felt where it is, and nothing hums."""

from __future__ import annotations

import numpy as np
import pytest
from feeling import BALL, DEEPEST, GAP, SETTLED, WATCHED, feel, feel_hole, led, lengths, model

from detent import Session
from detent.devices import SHEETS, Pantograph
from detent.devices.limits import stable_stiffness
from detent.devices.pantograph import HOLDS
from detent.kernels.jit import JIT_ENABLED

FEW = ("touch", "omega.3", "moteus-knob", "inverse3")
pytestmark = pytest.mark.skipif(not JIT_ENABLED, reason="seconds of ticks need the compiler")


@pytest.mark.parametrize("rate", [1000.0, 4000.0])
@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.long) for name in SHEETS]
)
def test_a_wall_is_felt_where_it_is_and_at_rest(name: str, rate: float) -> None:
    """A hand of 300 N/m led 8 mm behind it. A display has no friction of its own: 0.1 N."""
    felt = feel(name, rate)
    assert felt.force > felt.own
    assert felt.late <= felt.allowed and felt.early <= felt.allowed
    assert felt.struck <= 1.3 * felt.allowed  # a wheel that answers 4 ms late; others 0.7
    assert felt.swing <= max(2e-5, felt.count)
    assert felt.ripple <= 0.05 * felt.lever
    assert felt.drag <= (0.1 if SHEETS[name].takes_motion else 2.0 * felt.own)
    assert felt.over_cap <= 1.0 + 1e-12
    assert felt.over_slew <= 1.0 + 1e-9


@pytest.mark.parametrize("rate", [1000.0, 4000.0])
@pytest.mark.parametrize("name", ["sigma.7", "premium-1.5", "omega.7"])
def test_a_peg_in_a_hole_rests_in_six_directions(name: str, rate: float) -> None:
    """Pressed into a corner and the bottom, and turned: felt in all directions, no hum."""
    swing, ripple, run = feel_hole(name, rate)
    device, last = model(name), run["device_wrench"][-1]
    assert (np.abs(last[:3]) > 0.3).all() and run["contacts"][-1] >= 4
    assert swing[:3].max() <= 2e-5 and swing[3:].max() <= 1e-3
    assert ripple.max() <= 0.05
    away = np.abs(run["device_position"] - run["tool_position"])[-1]
    assert (away <= 1e-3 + np.abs(last[:3]) / np.array(device.gains()[0][:3])).all()
    for block in range(2):
        sent, most = run["device_wrench"], device.safety.length[block]
        assert lengths(sent, block).max() <= most * (1.0 + 1e-12)
        step = lengths(np.diff(sent, axis=0), block).max()
        assert step <= device.safety.slew[block] / rate * (1.0 + 1e-9)
    free = slice(0, int(np.argmax(run["contacts"] > 0)) - 1)  # rigid contact is felt a tick early
    assert lengths(run["device_wrench"][free], 0).max() <= 2.0 * device.sheet.need("friction")
    assert (last[3:] == 0.0).all() == (name == "omega.7")


@pytest.mark.parametrize("name", [name for name in SHEETS if not SHEETS[name].takes_motion])
def test_a_wall_is_at_least_half_as_stiff_as_the_device_holds(name: str) -> None:
    """As its sheet says, or half of the boundary by eigenvalues, which no sheet knows better."""
    device = model(name)
    sheet, axis = device.sheet, 0 if device.sheet.actuated[:3].any() else 5
    mass, own, most = (
        ("mass", "damping", "stiffness")
        if axis == 0
        else ("rotational_inertia", "turning_damping", "turning_stiffness")
    )
    k, b = (one[axis] for one in device.gains())
    period = 1.0 / sheet.need("rate")
    late = int(np.ceil(round(sheet.need("delay") / period, 6)))
    held = stable_stiffness(sheet.need(mass), sheet.need(own), period, late, b)
    assert k >= 0.49 * min(held, sheet.get(most) or np.inf)


@pytest.mark.parametrize("rate", [512.0, 1000.0, 4000.0])
def test_a_wall_is_felt_on_the_pantograph(rate: float) -> None:
    """8 mm behind it, by default: at rest to a count (47 µm at the first link), where F/K says."""
    hand, arrived = led(GAP, DEEPEST, 1.0, False)
    run = Session(BALL, device=Pantograph(), rate=rate).run(arrived + SETTLED + WATCHED, hand)
    still = run["time"] >= arrived + SETTLED
    place, force = run["device_position"][still, 0], run["device_wrench"][still, 0]
    assert -force.mean() > 2.0
    assert place.mean() - GAP <= 1e-3 - force.mean() / HOLDS[0]
    count = 2.0 * np.pi / Pantograph().counts * Pantograph().proximal
    assert np.ptp(place) < max(2e-5, count) and force.std() < 0.05
    free = (run["time"] < arrived) & (run["device_position"][:, 0] < 0.8 * GAP)
    assert (run["device_wrench"][free] == 0.0).all()
