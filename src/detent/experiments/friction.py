"""Dry friction: a peg in a hole (TH Fig 4.6-4.9, S4 Fig 7: X4, X5)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import IDEAL
from detent.experiments.protocol import (
    Claim,
    Experiment,
    Metrics,
    Positive,
    Result,
    at_most,
    holds,
    within,
)
from detent.hands import Sinusoid
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.friction import Friction
from detent.world.world import World

RATE = 512.0  # [Hz] TH 4.3.1
STIFFNESS, DAMPING = 4000.0, 30.0  # [N/m, N·s/m] of a contact: TH 4.5
MU_S, MU_K = 0.25, 0.2  # [-] TH 4.3.1
PRESSED = 0.175  # [N] f_n of each contact, TH 4.3.1
WIDE, LONG = 0.0105, 0.021  # [m] half the peg
HOLE = 0.0106  # [m] half the hole of the world "long-hole"
START = 0.1  # [m] S4 Fig 7
SECONDS = 20.0
RESTING, MOVING = 1e-3, 5e-3  # [m/s] slower than the one is rest, faster than the other is not
REST = 0.5  # [s] what counts as a stick phase
WINDOW = 1.5  # [s] "the first 1.5 seconds of the first stiction period"
DRIFT_LOAD, DRIFT_SECONDS = 0.03, 10.0  # [N, s] below breakaway

BETAS = {"undamped": 0.0, "critical": 118.0, "overdamped": 1180.0}  # [N·s/m] TH 4.3.1
BETA_LABELS = {
    "undamped": "no damping, β = 0",
    "critical": "critical damping, β = 118",
    "overdamped": "overdamping, β = 1180",
}
BETA_COLOURS = {"undamped": ORANGE, "critical": BLUE, "overdamped": GREEN}

LAWS = {"reset": "reset-integrator", "nahvi": "nahvi", "dahl": "dahl", "classical": "classical"}
LAW_LABELS = {
    "reset": "reset-integrator, β = 118",
    "nahvi": "Nahvi et al. (finger pad)",
    "dahl": "modified Dahl",
    "classical": "classical",
}
LAW_COLOURS = {"reset": BLUE, "nahvi": GREEN, "dahl": ORANGE, "classical": BLACK}


# --- the peg in the hole


def jammed(pressed: float) -> tuple[float, float]:
    """Tilt [rad] of the peg and torque [N·m] with which both its vertices are pressed so.

    Two vertices on opposite walls, so that their friction turns nothing and f_n stays.
    """
    depth = pressed / STIFFNESS
    tilt = np.arcsin((HOLE + depth) / np.hypot(WIDE, LONG)) - np.arctan2(WIDE, LONG)
    return float(tilt), float(2.0 * pressed * (LONG * np.cos(tilt) - WIDE * np.sin(tilt)))


def push_peg(
    friction: Friction,
    force: float,
    wave: float,
    seconds: float = SECONDS,
) -> Trace:
    """A jammed peg under force + wave sin t [N] along the hole."""
    tilt, torque = jammed(PRESSED)
    world = World.builtin("long-hole").placed((0.0, START, tilt))
    contact = Contact(STIFFNESS, DAMPING, friction=friction)
    hand = Sinusoid((0.0, wave), 0.0, 0.5 / np.pi, 0.0, (0.0, force), torque)
    return Session(world, contact, TABLE_4_1, IDEAL, AT_ONCE, rate=RATE).run(seconds, hand)


def rests(speed: np.ndarray) -> list[tuple[int, int]]:
    """First and last tick of every rest of at least half a second that follows a slip."""
    slipped = np.abs(speed) > MOVING
    if not slipped.any():
        return []
    moves = np.flatnonzero(np.abs(speed) > RESTING)
    moves = moves[moves >= np.argmax(slipped)]
    ends = np.append(moves[1:], len(speed))
    return [(int(a), int(b)) for a, b in zip(moves, ends, strict=True) if b - a > REST * RATE]


def first_stick(speed: np.ndarray) -> slice:
    """1.5 s from when it first comes to rest again: slower than 1 mm/s (TH Fig 4.7)."""
    moving = int(np.argmax(np.abs(speed) > MOVING))
    start = moving + int(np.argmax(np.abs(speed[moving:]) < RESTING))
    return slice(start, start + round(WINDOW * RATE))


def rms(values: np.ndarray) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(values**2)))


def peg_metrics(name: str, trace: Trace) -> Metrics:
    """Of the peg along the hole."""
    y, v = trace["tool_position"][:, 1], trace["tool_twist"][:, 1]
    normal = STIFFNESS * trace["depth"]
    return {
        f"{name}.end": float(y[-1]),
        f"{name}.stick_phases": float(len(rests(v))),
        f"{name}.rms_speed_in_stick": rms(v[first_stick(v)]),
        f"{name}.largest_friction": float(np.abs(trace["environment_wrench"][:, 1]).max()),
        f"{name}.normal_force_ripple": float(np.ptp(normal) / normal.mean()),
        f"{name}.contacts": float(trace["contacts"].mean()),
    }


def vary_damping(force: Positive = 0.06) -> Result:
    """F = force (1 + sin t) [N]; the thesis does not give it."""
    traces, metrics = {}, Metrics()
    for name, beta in BETAS.items():
        friction = Friction(MU_S, MU_K, damping=beta)
        traces[name] = push_peg(friction, force, force)
        metrics |= peg_metrics(name, traces[name])
    title = f"Peg in a hole (TH Fig 4.7): reset-integrator friction, F = {force:g}(1 + sin t) N"
    draw = partial(draw_pegs, traces, BETA_LABELS, BETA_COLOURS, title)
    return Result(metrics, damping_claims(metrics, force), traces, draw)


def set_up_claims(m: Metrics, names: Mapping[str, Any], row: str) -> list[Claim]:
    """That this is the document's set-up: two contacts, a constant normal force."""
    contacts = [m[f"{name}.contacts"] for name in names]
    ripple = max(m[f"{name}.normal_force_ripple"] for name in names)
    text = "two contacts, always (β = 118 is critical for two)"
    return [
        holds(f"{row}.contacts", "TH 4.3.1", text, contacts[0], "2", set(contacts) == {2.0}),
        at_most(f"{row}.normal", "TH 4.3.1", "f_n is constant (relative ripple)", ripple, 1e-6),
    ]


def damping_claims(m: Metrics, force: float) -> list[Claim]:
    """TH 4.3.1, and the independent numbers of the catalogue."""
    claims = set_up_claims(m, BETAS, "X4")
    for name in BETAS:
        n = m[f"{name}.stick_phases"]
        text = f"{BETA_LABELS[name]}: sticks and slips, once per period"
        claims.append(holds(f"X4.stick-{name}", "TH Fig 4.7a", text, n, "3 stick phases", n == 3))
    for name in ("critical", "overdamped"):
        ratio = m[f"{name}.rms_speed_in_stick"] / m["undamped.rms_speed_in_stick"]
        text = f"{BETA_LABELS[name]} removes the ringing of β = 0 in stiction (rms speed, ratio)"
        claims.append(at_most(f"X4.calm-{name}", "TH Fig 4.7b", text, ratio, 1 / 3))
    most = max(m[f"{name}.largest_friction"] for name in BETAS)
    limit = 2.0 * MU_S * PRESSED * (1.0 + 1e-9)
    text = "friction never exceeds 2 μ_s f_n"
    claims.append(at_most("X4.limit", "TH Fig 4.7c", text, most, limit, "N"))
    if force == 0.06:
        text = "the peg fills the axis of S4 Fig 7, from 0.10 to 0.44 m"
        end = m["critical.end"]
        claims.append(within("X4.end", "catalogue X4, S4 Fig 7", text, end, 0.44, 0.02, "m"))
    if force == 0.05:
        for name, speed in (("undamped", 4.3e-4), ("critical", 9e-5)):
            got = m[f"{name}.rms_speed_in_stick"]
            text = f"{BETA_LABELS[name]}: rms speed in stiction"
            claims.append(within(f"X4.ring-{name}", "catalogue X4", text, got, speed, 0.05, "m/s"))
    return claims


def compare_laws(force: Positive = 0.06) -> Result:
    """F = force (1 + sin t) [N], and a constant load of 0.03 N."""
    traces, metrics = {}, Metrics()
    for name, law in LAWS.items():
        friction = Friction(MU_S, MU_K, law=law, damping=118.0)
        traces[name] = push_peg(friction, force, force)
        metrics |= peg_metrics(name, traces[name])
        held = push_peg(friction, DRIFT_LOAD, 0.0, DRIFT_SECONDS)
        metrics |= drift_metrics(name, held)
        traces[f"{name}-held"] = held
    title = f"Peg in a hole (TH Fig 4.9, S4 Fig 7): four friction laws, F = {force:g}(1 + sin t) N"
    shown = {name: traces[name] for name in LAWS}
    held_traces = {name: traces[f"{name}-held"] for name in LAWS}
    draw = partial(draw_pegs, shown, LAW_LABELS, LAW_COLOURS, title, held=held_traces)
    return Result(metrics, law_claims(metrics, force), traces, draw)


def drift_metrics(name: str, trace: Trace) -> Metrics:
    """How far a held load went, and how far between the third second and the last."""
    y = trace["tool_position"][:, 1] - START
    second = round(RATE)
    return {
        f"{name}.moved": float(y[-1]),
        f"{name}.drift": float(y[-second:].mean() - y[2 * second : 3 * second].mean()),
    }


def law_claims(m: Metrics, force: float) -> list[Claim]:
    """TH 4.3.1, S4 section 5, and the independent numbers of the catalogue."""
    claims = set_up_claims(m, LAWS, "X5")
    for name, label in LAW_LABELS.items():
        n = m[f"{name}.stick_phases"]
        text = f"{label}: sticks and slips, once per period"
        claims.append(holds(f"X5.stick-{name}", "TH Fig 4.9", text, n, "3 stick phases", n == 3))
    for name in ("nahvi", "dahl"):
        ratio = m[f"{name}.rms_speed_in_stick"] / m["reset.rms_speed_in_stick"]
        text = f"{LAW_LABELS[name]} rings in stiction (rms speed, times the reset-integrator's)"
        claims.append(holds(f"X5.ring-{name}", "TH Fig 4.9", text, ratio, "≥ 2.5", ratio >= 2.5))
    if force == 0.05:
        for name, speed in (("nahvi", 3.4e-4), ("dahl", 3.7e-4), ("reset", 9.3e-5)):
            got = m[f"{name}.rms_speed_in_stick"]
            text = f"{LAW_LABELS[name]}: rms speed in stiction"
            claims.append(within(f"X5.rms-{name}", "catalogue X5", text, got, speed, 0.1, "m/s"))
    predicted = DRIFT_LOAD / (2.0 * MU_S * PRESSED) * 1e-4 * DRIFT_SECONDS
    text = "classical friction drifts at (F/2μ_s f_n) v_min under 0.03 N"
    got = m["classical.moved"]
    claims.append(within("M12.drift", "S4 section 5", text, got, predicted, 0.01, "m"))
    for name in ("reset", "nahvi", "dahl"):
        got = abs(m[f"{name}.drift"])
        text = f"{LAW_LABELS[name]}: the same load does not drift"
        claims.append(at_most(f"X5.hold-{name}", "TH 4.3.1", text, got, 1e-7, "m"))
    return claims


def draw_pegs(
    traces: dict[str, Trace],
    labels: Mapping[str, str],
    colours: Mapping[str, str],
    title: str,
    path: Path,
    held: dict[str, Trace] | None = None,
) -> Any:
    """Position, and speed and friction in the first stiction (TH Fig 4.7, 4.9)."""
    fig, axes = figure(2, 2, (12, 8), title)
    (place, held_ax), (speed_ax, force_ax) = axes
    for name, trace in traces.items():
        style: dict[str, Any] = {"color": colours[name], "label": labels[name], "lw": 1.1}
        v = trace["tool_twist"][:, 1]
        place.plot(trace["time"], 1e3 * trace["tool_position"][:, 1], **style)
        part = first_stick(v)
        time = trace["time"][part] - trace["time"][part.start]
        speed_ax.plot(time, 1e3 * v[part], **style)
        force_ax.plot(time, 1e3 * trace["environment_wrench"][part, 1], **style)
        if held is None:
            held_ax.plot(trace["time"], 1e3 * v, **style)
        else:
            moved = 1e3 * (held[name]["tool_position"][:, 1] - START)
            held_ax.plot(held[name]["time"], moved, **style)
    after = "time since the peg first came to rest [s]"
    place.set(xlabel="time [s]", ylabel="position of the centre of mass y [mm]")
    held_ax.set(xlabel="time [s]", ylabel="sliding speed [mm/s]" if held is None else "moved [mm]")
    speed_ax.set(xlabel=after, ylabel="sliding speed [mm/s]")
    force_ax.set(xlabel=after, ylabel="friction force on the peg [mN]")
    state(place, "the peg sticks and slips, once per period")
    if held is None:
        state(held_ax, "it comes to rest and breaks away")
        state(speed_ax, "coming to rest: with too little damping the bond rings")
    else:
        state(held_ax, f"under a constant {DRIFT_LOAD:g} N the classical law creeps, others hold")
        state(speed_ax, "coming to rest: finger pad and Dahl ring, the others do not")
    state(force_ax, "the same in the force of friction")
    for ax in axes.flat:
        legend(ax, "upper left" if ax in (place, held_ax) else "upper right")
    return save(fig, path)


EXPERIMENTS = (
    Experiment("friction-damping", "X4", "Stick and slip with three dampings", vary_damping),
    Experiment("friction-models", "X5", "Four friction laws", compare_laws),
)
