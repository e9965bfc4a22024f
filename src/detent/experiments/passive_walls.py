"""Walls at and beyond what a sampled device holds: Z-width and passivity (B9)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from detent import Passivity
from detent.devices import SHEETS
from detent.devices.limits import passive_stiffness
from detent.experiments.protocol import (
    Claim,
    Experiment,
    Metrics,
    Positive,
    Range,
    Result,
    at_most,
    holds,
)
from detent.experiments.sampled_wall import (
    WallCase,
    given,
    height,
    measured_boundary,
    roughness,
    swing,
)
from detent.record.plots import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    RED,
    SKY,
    figure,
    legend,
    save,
    state,
)
from detent.record.trace import Trace

SOURCE = "Colgate and Schenkel 1994; Hulin 2006"
ISSUE = "what Detent promises"
PRESETS = ("touch", "omega.3", "falcon", "virtuose-6d")
COLOURS = (BLUE, ORANGE, GREEN, RED, PINK, SKY)
WALLS = np.array([0.0, 0.5, 1.0, 2.0])  # [-] damping of the wall over the device's own
LAWS = {
    "off": Passivity("observe"),
    "unbounded": Passivity(bound=math.inf),
    "damper": Passivity(),
    "reference": Passivity("reference"),
    "tank": Passivity("tank"),
}
WORDS = {
    "off": "off",
    "unbounded": "damper without a bound",
    "damper": "bounded damper",
    "reference": "with a reference energy",
    "tank": "energy tank",
}


def of_preset(name: str) -> WallCase:
    """The device of a sheet along one axis, without the friction that would hide its boundary."""
    sheet = SHEETS[name]
    period = 1.0 / sheet.need("rate")
    return WallCase(
        1.0,
        step=period,
        delay=math.ceil(round(sheet.need("delay") / period, 6)),
        mass=sheet.need("mass"),
        own_damping=sheet.need("damping"),
        cap=sheet.need("force"),
        push=0.2 * sheet.need("force"),
    )


# --- Z-width


def z_width() -> Result:
    """The largest stable stiffness against the damping of the wall, for devices of data sheets.

    Limitations: masses and dampings of the sheets are partly assumed, and their Coulomb friction,
    which hides small motion, is left out.
    """
    metrics, curves = Metrics(), {}
    for name in PRESETS:
        case, found = of_preset(name), []
        for share in WALLS:
            one = replace(case, damping=float(share * case.own_damping))
            found.append((one.damping, measured_boundary(one), one.boundary))
        curves[name] = np.array(found)
        metrics[f"{name}.stiffest"] = float(curves[name][:, 1].max())
        metrics[f"{name}.off"] = float(np.abs(curves[name][:, 1] / curves[name][:, 2] - 1).max())
        hard = replace(case, stiffness=4.0 * case.boundary)
        for law in ("off", "damper"):
            trace = hard.run(2.0, 0.0, 0.05, LAWS[law])
            metrics[f"{name}.swing-{law}"] = swing(trace)
    return Result(metrics, z_claims(metrics), {}, partial(draw_z_width, curves))


def z_claims(m: Metrics) -> list[Claim]:
    """Boundary and calm for each preset."""
    claims = []
    for name in PRESETS:
        text = f"{name}: boundary against eigenvalues, at four dampings (largest difference)"
        claims.append(at_most(f"Z.boundary-{name}", SOURCE, text, m[f"{name}.off"], 0.02))
        gain = m[f"{name}.swing-off"] / m[f"{name}.swing-damper"]
        text = f"{name}: at 4 x the boundary the controller takes most of the swing (ratio)"
        claims.append(holds(f"Z.calm-{name}", ISSUE, text, gain, "≥ 10", gain >= 10.0))
    return claims


def draw_z_width(curves: dict[str, np.ndarray], path: Path) -> Any:
    """Stiffness over damping: measured, by eigenvalues, and what is passive."""
    fig, axes = figure(1, 1, (7.5, 5.0), "The largest stable stiffness of a wall (Z-width)")
    ax = axes[0, 0]
    for (name, curve), colour in zip(curves.items(), COLOURS, strict=False):
        case = of_preset(name)
        dense = np.linspace(0.0, curve[:, 0].max(), 60)
        ax.plot(curve[:, 0], curve[:, 1], "o", color=colour, label=f"{name}, measured")
        theory = [replace(case, damping=float(B)).boundary for B in dense]
        ax.plot(dense, theory, color=colour, lw=1)
        passive = [
            passive_stiffness(case.own_damping, case.step, case.delay, float(B)) for B in dense
        ]
        ax.plot(dense, passive, "--", color=colour, lw=1)
    ax.plot([], [], color="0.4", lw=1, label="stable, by eigenvalues")
    ax.plot([], [], "--", color="0.4", lw=1, label="passive for every hand")
    ax.set(xlabel="damping of the wall [N·s/m]", ylabel="stiffness of the wall [N/m]")
    ax.legend(fontsize=8, frameon=False)
    return save(fig, path)


# --- passivity


def beyond_boundary(times: Positive = 4.0, delay: Annotated[int, Range(0, 6)] = 1) -> Result:
    """A wall that is too stiff by *times*, hit at 0.05 m/s by a hand of 2 N, at 1 kHz."""
    case = WallCase(1.0, delay=delay)
    case = replace(case, stiffness=times * case.boundary)
    traces, metrics = {}, Metrics()
    for name, law in LAWS.items():
        trace = traces[name] = case.run(2.0, 0.0, 0.05, law)
        metrics |= {
            f"{name}.swing": swing(trace),
            f"{name}.given": given(trace),
            f"{name}.roughness": roughness(trace),
            f"{name}.acted": float(trace["passive"].sum()),
        }
    limit = passive_stiffness(case.own_damping, case.step, case.delay)
    calm = replace(case, stiffness=0.99 * limit)
    metrics["felt.acted"] = float(calm.run(2.0, 0.003, 0.3, LAWS["damper"])["passive"].sum())
    draw = partial(draw_laws, traces, case)
    return Result(metrics, law_claims(metrics), traces, draw)


def law_claims(m: Metrics) -> list[Claim]:
    """Without a controller it shakes the hand; with one it does not."""
    off, claims = m["off.swing"], []
    text = "off: the hand is shaken (from crest to trough)"
    claims.append(holds("P.shakes", ISSUE, text, off, "> 0.03 m", off > 0.03))
    text = "off: the motors give energy"
    claims.append(holds("P.gives", ISSUE, text, m["off.given"], "> 0.3 J", m["off.given"] > 0.3))
    for law in ("damper", "reference", "tank"):
        words = WORDS[law]
        swings, gifts = m[f"{law}.swing"], m[f"{law}.given"]
        claims.append(at_most(f"P.swing-{law}", ISSUE, f"{words}: swing", swings, 1e-3, "m"))
        claims.append(at_most(f"P.given-{law}", ISSUE, f"{words}: energy", gifts, 2e-3, "J"))
    for law in ("damper", "reference"):
        text = f"{WORDS[law]}: rms change of the force in a tick"
        claims.append(at_most(f"P.rough-{law}", ISSUE, text, m[f"{law}.roughness"], 0.3, "N"))
    ratio = m["unbounded.roughness"] / m["damper.roughness"]
    text = "the damper of the first papers rattles (roughness over that of the bounded one)"
    claims.append(holds("P.rattles", "Hannaford and Ryu 2002", text, ratio, "≥ 10", ratio >= 10.0))
    text = "at 0.99 of the passive stiffness it alters no tick (ticks)"
    claims.append(at_most("P.unfelt", ISSUE, text, m["felt.acted"], 0.0))
    return claims


def draw_laws(traces: dict[str, Trace], case: WallCase, path: Path) -> Any:
    """Height, force and energy over time, for each law."""
    title = (
        f"A wall of {case.stiffness:.0f} N/m, {case.stiffness / case.boundary:.3g} x the boundary"
    )
    fig, axes = figure(1, 3, (13, 4.2), title)
    for (name, trace), colour in zip(
        traces.items(), (BLACK, RED, BLUE, GREEN, ORANGE), strict=True
    ):
        time, style = trace["time"], {"color": colour, "lw": 1.0}
        if name != "off":
            axes[0, 0].plot(time, 1e3 * height(trace), label=WORDS[name], **style)
            shown = (time > 1.0) & (time < 1.1)
            felt = trace["device_wrench"][shown, 1]
            axes[0, 1].plot(time[shown], felt, label=WORDS[name], **style)
        gift = np.maximum.accumulate(-1e3 * np.asarray(trace["port_energy"]))
        axes[0, 2].semilogy(time, np.maximum(gift, 1e-2), label=WORDS[name], **style)
    axes[0, 0].set(xlabel="time [s]", ylabel="height over the wall [mm]")
    axes[0, 1].set(xlabel="time [s]", ylabel="force on the device [N]")
    axes[0, 2].set(xlabel="time [s]", ylabel="given by the motors so far, −W [mJ]")
    state(axes[0, 0], "each law keeps the tool in the wall")
    state(axes[0, 1], "a damper without a bound kicks, the others do not")
    state(axes[0, 2], "without a law the motors give energy without end")
    for ax in axes.flat:
        legend(ax, fontsize=7)
    return save(fig, path)


EXPERIMENTS = (
    Experiment("z-width", "B9", "The stiffest walls that devices hold", z_width),
    Experiment("passivity", "B9", "A wall at four times the boundary", beyond_boundary),
)
