"""One constraint, two kinds of device: what each can render (S2's motivation)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent.coupling import Admittance
from detent.devices import AdmittanceDisplay, Inertial
from detent.errors import ServoFault
from detent.experiments.protocol import Claim, Experiment, Metrics, Positive, Result, holds, within
from detent.hands import Constant, Sinusoid
from detent.mechanism.library import INERTIA, MASS, SPHERE, builtin
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session

RATE = 1000.0  # [Hz]
#: a light, backdrivable device: one tick of delay, encoders of 20 µm, some friction
LIGHT = Inertial(
    mass=0.15, rotational_inertia=1.5e-4, subspace="full", delay_ticks=1, resolution=2e-5,
    damping=(0.1, 1e-4), friction=(0.04, 1e-4),
)  # fmt: skip
STIFFNESSES = 250.0 * 2.0 ** np.arange(0.0, 9.5, 0.5)  # [N/m]
RATIO = 0.7  # [-] damping of the impedance device's spring
QUIET = 0.003  # [m/s] rms: above it, it hums
WOBBLE, FREQUENCY = 0.5, 2.0  # [N, Hz] along the surface
VIRTUAL = MASS + INERTIA / SPHERE**2  # [kg] of the disk along the sphere
OWN = 0.15 + 1.5e-4 / SPHERE**2  # [kg] of the light device there: it turns with the disk


def normal() -> np.ndarray:
    """Out of the sphere, where the disk starts."""
    return np.asarray(builtin("disk-on-sphere").start[:3]) / SPHERE


def along() -> np.ndarray:
    """Along the sphere there."""
    return np.array([1.0, 0.0, 0.0])


def spring(stiffness: float) -> Admittance:
    """The coupling with which the light device has this stiffness [N/m]."""
    per_kg = stiffness / float(LIGHT.mass or 1.0)
    return Admittance(per_kg, 2.0 * RATIO * np.sqrt(per_kg))


def pull(device: Any, coupling: Admittance, force: float) -> Trace | None:
    """Pull straight out of the sphere [N]; None if the servo stopped."""
    session = Session(builtin("disk-on-sphere"), coupling=coupling, device=device, rate=RATE)
    try:
        return session.run(1.5, Constant(tuple(force * normal())))
    except ServoFault:
        return None


def felt(trace: Trace | None, force: float) -> tuple[float, float]:
    """Stiffness along the normal [N/m], and how much the handle moves at the end [m/s, rms]."""
    if trace is None:
        return 0.0, np.inf
    end = trace["time"] > 1.0
    out = trace["device_position"][end] @ normal() - SPHERE
    hum = np.sqrt((trace["device_twist"][end, :3] ** 2).sum(axis=1).mean())
    return float(force / out.mean()), float(hum)


def controlled(trace: Trace | None, force: float) -> float:
    """[N/m] of the controller: by what the display measures of itself, without its structure."""
    if trace is None:
        return 0.0
    end = trace["time"] > 1.0
    out = trace["seen_position"][end] @ normal() - SPHERE
    return float(force / np.abs(out).max())


def apparent_inertia(device: Any, coupling: Admittance) -> float:
    """[kg] what the hand feels along the surface: force over acceleration of the handle."""
    free = replace(builtin("disk-on-sphere"), dampers=())
    session = Session(free, coupling=coupling, device=device, rate=RATE)
    phase = np.pi / 2.0  # from rest at the end of its way: no drift
    hand = Sinusoid(tuple(WOBBLE * along()), frequency=FREQUENCY, phase=phase)
    trace = session.run(4.0 / FREQUENCY, hand)
    way = trace["device_position"] @ along()
    time, omega = trace["time"], 2.0 * np.pi * FREQUENCY
    waves = np.stack([np.cos(omega * time), np.sin(omega * time), np.ones_like(time), time], axis=1)
    size = np.linalg.lstsq(waves, way, rcond=None)[0]
    return float(WOBBLE / (omega**2 * np.hypot(size[0], size[1])))


def compare(force: Positive = 50.0, light_force: Positive = 5.0, seed: int = 0) -> Result:
    """Forces along the normal [N] on either device; the seed of the force sensor."""
    display = AdmittanceDisplay(seed=seed)
    pulled = pull(display, Admittance(), force)
    stiff, hum = felt(pulled, force)
    runs = [felt(pull(LIGHT, spring(k), light_force), light_force) for k in STIFFNESSES]
    quiet = [h < QUIET for _, h in runs]
    count = quiet.index(False) if False in quiet else len(quiet)  # all softer ones are quiet too
    best = STIFFNESSES[count - 1] if count else 0.0
    light = runs[count - 1][0] if count else 0.0
    light_trace = pull(LIGHT, spring(best), light_force)
    metrics = Metrics(
        admittance_stiffness=stiff,
        structure=display.structure[0],
        controlled_stiffness=controlled(pulled, force),
        admittance_hum=hum,
        impedance_stiffness=light,
        impedance_stiffest_spring=float(best),
        ratio=controlled(pulled, force) / light if light else np.inf,
        virtual_inertia=VIRTUAL,
        admittance_inertia=apparent_inertia(display, Admittance()),
        display_mass=display.mass,
        impedance_inertia=apparent_inertia(LIGHT, spring(best)),
        device_mass=float(LIGHT.mass or 0.0),
        device_inertia=OWN,
    )
    traces = {n: t for n, t in (("admittance", pulled), ("impedance", light_trace)) if t}
    return Result(
        metrics,
        paradigm_claims(metrics),
        traces,
        partial(draw_paradigms, metrics, runs, traces, (force, light_force)),
    )


def paradigm_claims(m: Metrics) -> list[Claim]:
    """S2 I: each excels elsewhere."""
    return [
        holds("S2.stiff", "S2 abstract", "admittance display: the controller is stiffer than the "
              "structure, which is a parameter", m["controlled_stiffness"],
              f"> 10 × {m['structure']:.4g} N/m", m["controlled_stiffness"] > 10 * m["structure"]),
        holds("S2.few", "S2 IV-A", "impedance device, one tick of delay: the stiffest constraint "
              "that stays quiet is some kN/m", m["impedance_stiffness"], "500 to 10 000 N/m",
              500.0 <= m["impedance_stiffness"] <= 1e4),
        holds("S2.ratio", "S2 I", "what the controllers hold, admittance over impedance",
              m["ratio"], "≥ 5",
              m["ratio"] >= 5.0),
        within("S2.masked", "S2 I", f"admittance display of {m['display_mass']:.0f} kg: the hand "
               "feels the disk's inertia along the surface", m["admittance_inertia"],
               m["virtual_inertia"], 0.05, "kg"),
        within("S2.added", "S2 I", "impedance device: the hand feels the disk's and its own",
               m["impedance_inertia"], m["virtual_inertia"] + m["device_inertia"], 0.05, "kg"),
    ]  # fmt: skip


def draw_paradigms(
    m: Metrics,
    runs: list[tuple[float, float]],
    traces: dict[str, Trace],
    forces: tuple[float, float],
    path: Path,
) -> Any:
    """Stiffness that each renders, and how the handle gives way."""
    fig, axes = figure(1, 3, (13, 4.2), "One constraint, two kinds of device (S2 I)")
    sweep, give, bars = axes[0]
    hum = np.minimum([1e3 * h for _, h in runs], 20.0)  # a servo that stopped hums for ever
    sweep.plot(STIFFNESSES, hum, "o-", color=ORANGE, label="impedance device")
    sweep.set_xscale("log")
    sweep.set_yscale("symlog", linthresh=0.1)
    sweep.set_ylim(-0.01, 30.0)
    sweep.axhline(1e3 * QUIET, color=BLACK, ls=":", lw=1, label="quiet below")
    sweep.axhline(1e3 * m["admittance_hum"], color=BLUE, lw=1, label="admittance display")
    sweep.axvline(m["structure"], color=BLUE, ls="--", lw=1, label="… its structure")
    sweep.set(xlabel="stiffness of the constraint [N/m]", ylabel="hum of the handle [mm/s, rms]")
    colours = {"admittance": BLUE, "impedance": ORANGE}
    for (name, trace), force in zip(traces.items(), forces, strict=False):
        out = trace["device_position"] @ normal() - SPHERE
        label = f"{name}, pulled with {force:.0f} N"
        give.plot(trace["time"], 1e6 * out / force, color=colours[name], label=label, lw=1)
    give.set(xlabel="time [s]", ylabel="handle gives way along the normal [µm/N]")
    values = [m["virtual_inertia"], m["admittance_inertia"], m["impedance_inertia"]]
    names = ["virtual disk", f"admittance\n({m['display_mass']:.0f} kg device)",
             f"impedance\n({m['device_mass']:.2f} kg device)"]  # fmt: skip
    bars.bar(names, values, color=[GREEN, BLUE, ORANGE], width=0.6)
    bars.set_ylabel("inertia felt along the surface [kg]")
    state(sweep, "an impedance device hums where the constraint is stiff")
    state(give, "an admittance display gives way less")
    state(bars, "the display hides its 11 kg, the other adds its own mass")
    for ax in (sweep, give):
        legend(ax)
    return save(fig, path)


EXPERIMENTS = (
    Experiment(
        "admittance-versus-impedance", "S2", "One constraint, rendered by either kind of device",
        compare,
    ),
)  # fmt: skip
