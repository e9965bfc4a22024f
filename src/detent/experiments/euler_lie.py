"""Through what is gimbal lock for Euler angles: a disk over the pole of a sphere (B12)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent.devices import AdmittanceDisplay
from detent.errors import ServoFault
from detent.experiments.protocol import Claim, Experiment, Metrics, Positive, Result, at_most, holds
from detent.mechanism import Mechanism
from detent.mechanism.library import INERTIA, MASS, SPHERE, builtin
from detent.record.plots import BLACK, BLUE, ORANGE, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session

RATE = 1000.0  # [Hz]
START = 0.9  # [rad] from the pole
SPEED = 2.0  # [rad/s] around the centre
SPIN = 6.0  # [rad/s] about its normal, in one of the runs
SECONDS = 1.2  # [s]
PASSES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0)  # [rad] nearest to the pole
FORMS = {"euler": "disk-on-sphere", "lie": "lie-disk-on-sphere"}
LOST = 1e3  # an error that stands for a run that broke off


def way(nearest: float) -> tuple[np.ndarray, np.ndarray]:
    """Where the disk starts on the unit sphere, and in which direction, to pass so near."""
    place = np.array([0.0, -np.sin(START), np.cos(START)])
    to_pole = np.array([0.0, np.cos(START), np.sin(START)])
    aside = np.sin(nearest) / np.sin(START)
    return place, np.sqrt(1.0 - aside**2) * to_pole + aside * np.array([1.0, 0.0, 0.0])


def thrown(form: str, nearest: float, spin: float = 0.0) -> Mechanism:
    """The disk without damping, thrown over the pole; spin [rad/s] about its normal."""
    m = replace(builtin(FORMS[form]), dampers=())
    place, along = way(nearest)
    velocity = SPEED * SPHERE * along
    omega = SPEED * np.cross(place, along) + spin * place
    c, s = np.cos(START), np.sin(START)
    body = np.array([[1, 0, 0], [0, c, s], [0, -s, c]]) @ omega  # R = Rx(START)
    if form == "lie":
        return m.starting(m.start, np.concatenate([velocity, body]))
    # body rates of Rz(q4) Rx(q6) Rz(q5) at q4 = q5 = 0
    q4 = body[1] / s
    return m.starting(m.start, np.concatenate([velocity, [q4, body[2] - c * q4, body[0]]]))


def throw(form: str, nearest: float, rate: float = RATE) -> Trace | None:
    """The run, or None if it broke off."""
    session = Session(thrown(form, nearest), device=AdmittanceDisplay.ideal(), rate=rate)
    try:
        return session.run(SECONDS)
    except ServoFault:
        return None


def errors(trace: Trace | None, nearest: float) -> tuple[float, float, float]:
    """Relative energy, place [m] against the great circle, and constraint (largest)."""
    if trace is None:
        return LOST, LOST, LOST
    place, along = way(nearest)
    angle = SPEED * trace["time"][:, None]
    exact = SPHERE * (np.cos(angle) * place + np.sin(angle) * along)
    energy = trace["tool_energy"] / trace["tool_energy"][0] - 1.0
    off = np.linalg.norm(trace["tool_position"] - exact, axis=1)
    worst = (np.abs(energy).max(), off.max(), trace["closure"].max())
    return tuple(min(float(e), LOST) if np.isfinite(e) else LOST for e in worst)  # type: ignore[return-value]


def spinning_error(rate: float) -> float:
    """How far the disk is off when it also spins [m]: its normal then circles around L."""
    session = Session(thrown("lie", 0.0, SPIN), device=AdmittanceDisplay.ideal(), rate=rate)
    trace = session.run(SECONDS)
    place, along = way(0.0)
    heavy = INERTIA + MASS * SPHERE**2  # about an axis across the normal
    L = heavy * SPEED * np.cross(place, along) + INERTIA * SPIN * place
    axis, angle = L / np.linalg.norm(L), np.linalg.norm(L) / heavy * trace["time"][:, None]
    across = place - axis * (axis @ place)
    exact = axis * (axis @ place) + np.cos(angle) * across
    exact = SPHERE * (exact + np.sin(angle) * np.cross(axis, across))
    return float(np.linalg.norm(trace["tool_position"] - exact, axis=1).max())


def over_the_pole(rate: Positive = RATE) -> Result:
    """The rate of the servo [Hz]."""
    found: dict[str, np.ndarray] = {}
    traces: dict[str, Trace] = {}
    for form in FORMS:
        rows = []
        for nearest in PASSES:
            trace = throw(form, nearest, rate)
            rows.append(errors(trace, nearest))
            if trace is not None and nearest in (PASSES[0], PASSES[-1]):
                traces[f"{form}-{nearest}"] = trace
        found[form] = np.array(rows)
    metrics = Metrics(
        lie_energy=float(found["lie"][:, 0].max()),
        lie_place=float(found["lie"][:, 1].max()),
        lie_constraint=float(found["lie"][:, 2].max()),
        euler_energy_far=float(found["euler"][0, 0]),
        euler_energy_near=float(found["euler"][:, 0].max()),
        euler_place_far=float(found["euler"][0, 1]),
        euler_place_near=float(found["euler"][:, 1].max()),
        spinning=spinning_error(rate),
        order=float(np.log2(spinning_error(0.1 * rate) / spinning_error(0.2 * rate))),
    )
    return Result(metrics, pole_claims(metrics), traces, partial(draw_pole, found))


def pole_claims(m: Metrics) -> list[Claim]:
    """What SO(3) is for."""
    return [
        at_most("B12.energy", "S2 V (future work)", "on SO(3), over and near the pole: energy "
                "(largest relative change)", m["lie_energy"], 1e-9),
        at_most("B12.constraint", "S2 II-G", "… constraint", m["lie_constraint"], 1e-9, "m"),
        at_most("B12.place", "closed form: a great circle", "… place", m["lie_place"], 1e-9, "m"),
        at_most("B12.spinning", "closed form: a symmetric top", "… place when it spins, too",
                m["spinning"], 1e-9, "m"),
        holds("B12.order", "our own", "order of the integrator on SO(3) (halving the step)",
              m["order"], "≥ 3.7", m["order"] >= 3.7),
        at_most("B12.euler", "S2 III-A", "Euler angles, 0.3 rad from the pole: place",
                m["euler_place_far"], 1e-7, "m"),
        holds("B12.lock", "S2 III-A", "Euler angles near the pole: how much worse their place is",
              m["euler_place_near"] / max(m["euler_place_far"], 1e-16), "≥ 1000 times",
              m["euler_place_near"] >= 1e3 * m["euler_place_far"]),
    ]  # fmt: skip


def draw_pole(found: dict[str, np.ndarray], path: Path) -> Any:
    """Errors against the distance from the pole."""
    fig, axes = figure(1, 3, (13, 4.4), "A disk is thrown over the pole of a sphere: Euler or Lie")
    titles = ("energy, relative change [-]", "distance from the great circle [m]",
              "constraint error [m]")  # fmt: skip
    shown = np.maximum(PASSES, 3e-4)
    for column, (ax, title) in enumerate(zip(axes[0], titles, strict=True)):
        for form, colour, label in (
            ("euler", ORANGE, "Euler angles, ψ(z)"),
            ("lie", BLUE, "SO(3), projected"),
        ):
            values = np.clip(found[form][:, column], 1e-17, 10.0)
            last = -1 if form == "euler" else None  # straight over it, no angle has to turn
            ax.loglog(shown[:last], values[:last], "o-", color=colour, label=label)
        ax.axhline(1e-9, color=BLACK, ls=":", lw=1, label="required of SO(3)")
        ax.set(xlabel="nearest to the pole [rad] (leftmost: over it)", ylabel=title)
    state(axes[0, 0], "Euler angles gain energy near the pole")
    state(axes[0, 1], "… and leave the great circle")
    state(axes[0, 2], "both keep to the constraint")
    for ax in axes.flat:
        ax.set_ylim(1e-18, 1e3)
        legend(ax, "upper right")
    return save(fig, path)


EXPERIMENTS = (
    Experiment("euler-versus-lie", "B12", "Orientation without gimbal lock", over_the_pole),
)
