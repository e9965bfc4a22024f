"""A two-link arm whose end point is kept on a circle: S2 Fig 12 (X23)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent.coupling import Admittance
from detent.devices import AdmittanceDisplay
from detent.experiments.manifold import constraint_errors
from detent.experiments.protocol import Claim, Experiment, Metrics, Positive, Result, at_most, holds
from detent.hands import Guided, Playback
from detent.mechanism.library import CIRCLE, builtin
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, RED, SKY, figure, save, state
from detent.record.trace import Trace
from detent.session import Session

RATE = 1000.0  # [Hz]
GRIP, GRIP_DAMPING = 400.0, 12.0  # [N/m, N·s/m] of the hand


def session(rate: float, display: AdmittanceDisplay, damped: bool = True) -> Session:
    """The arm on a display."""
    mechanism = builtin("two-link-circle")
    if not damped:
        mechanism = mechanism.with_constants(b=0.0)
    return Session(mechanism, coupling=Admittance(), device=display, rate=rate)


def around(speed: float, seconds: float) -> Guided:
    """A hand that tries to go around the circle at a constant speed [m/s]."""
    times = np.arange(0.0, seconds + 0.01, 0.01)
    eased = np.where(times < 1.0, 0.5 * times**2, times - 0.5)
    angle = speed / CIRCLE * eased
    zero = np.zeros_like(times)
    rows = np.stack([times, CIRCLE * np.cos(angle), CIRCLE * np.sin(angle), zero], axis=1)
    return Guided(GRIP, GRIP_DAMPING, path=rows.tolist())


def lead_and_release(
    display: AdmittanceDisplay, speed: float, held: float, free: float
) -> tuple[Trace, float]:
    """Lead the arm, let go where it was fastest in the last second; the trace, and when [s].

    The wrenches of the first part are played again, and end there.
    """
    one = session(RATE, display)
    led = one.run(held, around(speed, held))
    last = len(led) - round(RATE)
    release = last + int(led["tool_energy"][last:].argmax())
    times, wrenches = led["time"][:release], led["hand_wrench"][:release]
    return one.run(held + free, Playback(times, wrenches)), float(led["time"][release])


def speed_of(trace: Trace) -> np.ndarray:
    """[m/s] of the end point along the circle."""
    return np.linalg.norm(trace["tool_twist"][:, :2], axis=1)


def errors_on_circle(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Reference minus display [m], along the circle and across it."""
    out = trace["tool_position"][:, :2] / CIRCLE
    error = trace["tracking_error"][:, :2]
    across = (error * out).sum(axis=1)
    return error[:, 1] * out[:, 0] - error[:, 0] * out[:, 1], across


def released(trace: Trace, release: float) -> dict[str, np.ndarray]:
    """Rows after the release."""
    after = trace["time"] >= release
    return {
        "total": trace["tool_energy"][after],
        "parts": trace["part_energies"][after],
        "base_rate": trace["velocities"][after, 0],
        "speed": speed_of(trace)[after],
    }


def drift(rate: float, seconds: float = 5.0) -> float:
    """The relative change of energy without damping and without a hand."""
    mechanism = builtin("two-link-circle").with_constants(b=0.0)
    start = np.asarray(mechanism.start)
    direction = tangent(start)
    moving = mechanism.starting(start, 3.0 * direction)
    trace = Session(moving, device=AdmittanceDisplay.ideal(), rate=rate).run(seconds)
    energy = trace["tool_energy"]
    return float(np.abs(energy / energy[0] - 1.0).max())


def tangent(q: np.ndarray) -> np.ndarray:
    """Joint rates that move the end point along y, as the circle does at its start."""
    both, l = q[0] + q[1], 0.15
    J = l * np.array([
        [-np.sin(q[0]) - np.sin(both), -np.sin(both)],
        [np.cos(q[0]) + np.cos(both), np.cos(both)],
    ])  # fmt: skip
    rates = np.linalg.solve(J, [0.0, 1.0])
    return rates / np.linalg.norm(rates)


def circle(
    speed: Positive = 0.3, held: Positive = 3.5, free: Positive = 8.0, seed: int = 0
) -> Result:
    """Lead at a speed [m/s] for about *held* seconds, let go for *free* ones; the sensor's seed."""
    trace, let_go = lead_and_release(AdmittanceDisplay(seed=seed), speed, held, free)
    silent = AdmittanceDisplay(seed=seed, noise=(0.0, 0.0))  # noise pushes, a little, both ways
    still, release = lead_and_release(silent, speed, held, free)
    long = session(RATE, AdmittanceDisplay(seed=seed)).run(60.0, around(speed, 60.0))
    errors = constraint_errors(builtin("two-link-circle"), long)
    after, noisy = released(still, release), released(trace, let_go)
    falls, noisy_falls = np.diff(after["total"]), np.diff(noisy["total"])
    turns = np.nonzero(np.diff(np.sign(after["base_rate"])))[0]
    at_turn = np.minimum(after["parts"][turns, 0], after["parts"][turns + 1, 0])
    rising = np.diff(after["speed"]) > 0.0
    along, radial = errors_on_circle(trace)
    coarse, fine = drift(500.0), drift(1000.0)
    metrics = Metrics(
        holonomic_error=errors[0],
        forbidden_rate=errors[1],
        largest_rise=float(falls.max()),
        rises_with_noise=float((noisy_falls > 0.0).mean()),
        largest_rise_with_noise=float(noisy_falls.max()),
        energy_lost=float(after["total"][0] - after["total"][-1]),
        reversals=float(len(turns)),
        base_energy_at_reversal=float((at_turn / after["total"][turns]).max(initial=0.0)),
        distal_share_least=float((after["parts"][:, 1] / after["total"]).min()),
        speed_rises=float(rising.mean()),
        parts_error=float(np.abs(after["parts"].sum(axis=1) - after["total"]).max()),
        error_along=float(np.abs(along).max()),
        error_radial=float(np.abs(radial).max()),
        drift=fine,
        order=float(np.log2(coarse / fine)),
    )
    return Result(
        metrics,
        circle_claims(metrics),
        {"display": trace, "silent": still},
        partial(draw_circle, trace, let_go),
    )


def circle_claims(m: Metrics) -> list[Claim]:
    """S2 III-C and IV-C."""
    return [
        at_most("X23.holonomic", "S2 eq. 37", "reference over 60 s: error of the constraint",
                m["holonomic_error"], 1e-9, "m²"),
        at_most("X23.rate", "S2 eq. 4", "reference over 60 s: A q̇", m["forbidden_rate"], 1e-9,
                "m²/s"),
        holds("X23.falls", "S2 Fig 12A", "display, without noise of the force sensor: after the "
              "release the energy falls at every tick (largest change; with noise it rises in "
              f"{100 * m['rises_with_noise']:.0f} % of them, by {m['largest_rise_with_noise']:.1g}"
              " J at most)", m["largest_rise"], "< 0 J", m["largest_rise"] < 0.0),
        holds("X23.reversals", "S2 Fig 12A", "the base link reverses (times)", m["reversals"],
              "≥ 2", m["reversals"] >= 2),
        at_most("X23.base", "S2 Fig 12A", "its energy goes to zero at each reversal (share of the "
                "total)", m["base_energy_at_reversal"], 1e-3),
        holds("X23.distal", "S2 Fig 12A", "the energy of the distal link never does (least share)",
              m["distal_share_least"], "> 0.05", m["distal_share_least"] > 0.05),
        holds("X23.speed", "S2 Fig 12B", "the end point's speed rises at times while the energy "
              "falls (share of the ticks)", m["speed_rises"], "> 0.05", m["speed_rises"] > 0.05),
        at_most("X23.tracking", "S2 Fig 12C", "display: error along the path", m["error_along"],
                1e-4, "m"),
        at_most("X23.radial", "S2 Fig 12C", "display: error across it", m["error_radial"], 1e-4,
                "m"),
        at_most("X23.energy", "our own", "without damping and hand the energy is kept over 5 s "
                "(relative change)", m["drift"], 1e-6),
        holds("X23.order", "our own", "… to the integrator's order (halving the step)", m["order"],
              "≥ 3.5", m["order"] >= 3.5),
    ]  # fmt: skip


def draw_circle(trace: Trace, release: float, path: Path) -> Any:
    """S2 Fig 7 and 12."""
    fig, axes = figure(2, 2, (11, 7), "A two-link arm on a circle (S2 Fig 12)")
    sketch, energy, speed, error = axes.flat
    time = trace["time"]
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    sketch.plot(1e3 * CIRCLE * np.cos(angle), 1e3 * CIRCLE * np.sin(angle), color=BLACK, lw=1)
    for tick in range(0, round(1.4 * RATE), 140):
        q1, q2 = trace["coordinates"][tick + round(1.5 * RATE)]
        ways = 150.0 * np.array(
            [[0, np.cos(q1), np.cos(q1 + q2)], [0, np.sin(q1), np.sin(q1 + q2)]]
        )
        points = np.cumsum(ways, axis=1) + np.array([[-210.0], [0.0]])
        sketch.plot(*points, "o-", color=SKY, ms=3, lw=1.5, alpha=0.6)
    sketch.set_aspect("equal", adjustable="datalim")
    sketch.set(xlabel="x [mm]", ylabel="y [mm]")
    state(sketch, "the end point stays on the circle, shown every 0.14 s (Fig 7)")
    energy.plot(time, 1e3 * trace["tool_energy"], color=BLACK, label="total")
    energy.plot(time, 1e3 * trace["part_energies"][:, 0], color=ORANGE, label="link 1 (base)")
    energy.plot(time, 1e3 * trace["part_energies"][:, 1], color=BLUE, label="link 2 (distal)")
    energy.set(ylabel="kinetic energy [mJ]")
    speed.plot(time, 1e3 * speed_of(trace), color=GREEN, label="end point along the circle")
    speed.set(ylabel="speed [mm/s]")
    along, radial = errors_on_circle(trace)
    error.plot(time, 1e6 * along, color=RED, lw=0.7, label="along the circle, as measured")
    error.plot(time, 1e6 * radial, color=SKY, lw=0.7, label="across it")
    error.set(ylabel="position error [µm]")
    state(energy, "driven until the dashed line, released it slows down (Fig 12A)")
    state(speed, "the speed along the circle changes with the arm (Fig 12B)")
    state(error, "the measured error stays below a tenth of a millimetre (Fig 12C)")
    for ax in (energy, speed, error):
        ax.axvline(release, color="0.5", ls="--", lw=1)
        ax.set_xlabel("time [s]")
        ax.legend(fontsize=7, frameon=False)
    return save(fig, path)


EXPERIMENTS = (
    Experiment("two-link-circle", "X23", "A two-link arm whose end point is on a circle", circle),
)
