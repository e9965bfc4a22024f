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
RATES = (1000.0, 4000.0)  # [Hz]
BEYOND = (2.0, 4.0, 8.0, 16.0, 32.0)  # times the boundary, tried with the controller
CALM = 1e-3  # [m] of swing
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


def of_preset(name: str, rate: float | None = None) -> WallCase:
    """The device of a sheet along one axis, without the friction that would hide its boundary.

    At another *rate* [Hz] than its own its delay is the same time.
    """
    sheet = SHEETS[name]
    period = 1.0 / (rate or sheet.need("rate"))
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

    At two rates, without the controller of passivity and with it: there, the stiffest of some
    multiples of the boundary on which the device swings by no more than a millimetre.

    Limitations: masses and dampings of the sheets are partly assumed, and their Coulomb friction,
    which hides small motion, is left out.
    """
    metrics, curves = Metrics(), {}
    for name in PRESETS:
        for rate in RATES:
            case, found, key = of_preset(name, rate), [], f"{name}.{rate:.0f}Hz"
            for share in WALLS:
                one = replace(case, damping=float(share * case.own_damping))
                found.append((one.damping, measured_boundary(one), one.boundary))
            curve = curves[name, rate] = np.array(found)
            metrics[f"{key}.stiffest"] = float(curve[:, 1].max())
            metrics[f"{key}.off"] = float(np.abs(curve[:, 1] / curve[:, 2] - 1).max())
            metrics |= {f"{key}.{what}": value for what, value in calmed(case).items()}
    draw = partial(draw_z_width, curves, metrics)
    return Result(metrics, z_claims(metrics), {}, draw)


def calmed(case: WallCase) -> dict[str, float]:
    """Swings [m] at four times the boundary, and up to what [N/m] the controller keeps it calm."""
    hard = replace(case, stiffness=4.0 * case.boundary)
    found = {
        f"swing-{law}": swing(hard.run(1.0, 0.0, 0.05, LAWS[law])) for law in ("off", "damper")
    }
    found["held"] = case.boundary
    for times in BEYOND:
        stiffer = replace(case, stiffness=times * case.boundary)
        if swing(stiffer.run(1.0, 0.0, 0.05, LAWS["damper"])) > CALM:
            break
        found["held"] = stiffer.stiffness
    return found


def z_claims(m: Metrics) -> list[Claim]:
    """Boundary and calm for each preset."""
    claims = []
    for name in PRESETS:
        keys = [f"{name}.{rate:.0f}Hz" for rate in RATES]
        text = (
            f"{name}: boundary against eigenvalues, two rates, four dampings (largest difference)"
        )
        off = max(m[f"{key}.off"] for key in keys)
        claims.append(at_most(f"Z.boundary-{name}", SOURCE, text, off, 0.02))
        gain = min(m[f"{key}.swing-off"] / m[f"{key}.swing-damper"] for key in keys)
        text = f"{name}: at 4 x the boundary the controller takes most of the swing (ratio)"
        claims.append(holds(f"Z.calm-{name}", ISSUE, text, gain, "≥ 10", gain >= 10.0))
    return claims


def draw_z_width(curves: dict[tuple[str, float], np.ndarray], m: Metrics, path: Path) -> Any:
    """Stiffness over damping: measured, by eigenvalues, and what is passive; and with the law."""
    fig, axes = figure(1, 3, (15.0, 4.8), "The largest stable stiffness of a wall (Z-width)")
    for (name, rate), curve in curves.items():
        draw_boundary(axes[0, RATES.index(rate)], name, rate, curve)
    for rate, ax in zip(RATES, axes[0], strict=False):
        ax.plot([], [], color="0.4", lw=1, label="stable, by eigenvalues")
        ax.plot([], [], "--", color="0.4", lw=1, label="passive for every hand")
        ax.set(xlabel="damping of the wall [N·s/m]", ylabel="stiffness of the wall [N/m]")
        ax.set_yscale("log")
        state(ax, f"at {rate:,.0f} Hz")
    legend(axes[0, 0], fontsize=7)
    draw_held(axes[0, 2], m)
    return save(fig, path)


def draw_boundary(ax: Any, name: str, rate: float, curve: np.ndarray) -> None:
    """One device: where it begins to hum."""
    number = PRESETS.index(name)
    case, colour = of_preset(name, rate), COLOURS[number]
    dense = np.linspace(0.0, curve[:, 0].max(), 60)
    size = 9.0 - 1.7 * number  # two devices may be alike
    ax.plot(curve[:, 0], curve[:, 1], "o", ms=size, color=colour, label=f"{name}, measured")
    theory = [replace(case, damping=float(B)).boundary for B in dense]
    ax.plot(dense, theory, color=colour, lw=1)
    device = case.own_damping, case.step, case.delay
    passive = np.array([passive_stiffness(*device, float(B)) for B in dense])
    ax.plot(dense[passive > 0.0], passive[passive > 0.0], "--", color=colour, lw=1)


def draw_held(ax: Any, m: Metrics) -> None:
    """Bars: undamped walls without the controller, and with it."""
    for k, name in enumerate(PRESETS):
        for j, rate in enumerate(RATES):
            key, place = f"{name}.{rate:.0f}Hz", k + 0.4 * j - 0.2
            bare = of_preset(name, rate).boundary
            ax.bar(place - 0.09, bare, 0.17, color=COLOURS[k], alpha=0.4)
            ax.bar(place + 0.09, m[f"{key}.held"], 0.17, color=COLOURS[k])
            ax.text(
                place, m[f"{key}.held"], f"{rate / 1e3:g} kHz", ha="center", va="bottom", size=6
            )
    ax.bar([0], [0], color="0.4", alpha=0.4, label="stable by itself")
    most = f"swings by 1 mm at most with the damper (up to {BEYOND[-1]:.0f} times were tried)"
    ax.bar([0], [0], color="0.4", label=most)
    ax.set_yscale("log")
    ax.set_xticks(range(len(PRESETS)), PRESETS)
    ax.set_ylim(top=20.0 * max(value for name, value in m.items() if name.endswith(".held")))
    ax.set(ylabel="stiffness of an undamped wall [N/m]")
    state(ax, "what the controller holds beyond that, where it does")
    legend(ax, fontsize=7)


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
