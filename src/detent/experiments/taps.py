"""A stylus taps a wall of rubber, wood or metal: shaped impulses, TH chapter 7 (B7)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.devices import Inertial
from detent.experiments.protocol import (
    Claim,
    Experiment,
    Metrics,
    Positive,
    Result,
    at_most,
    within,
)
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, figure, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import MATERIALS, Contact
from detent.world.world import World

RATE = 4000.0  # [Hz]
MASS = 0.1  # [kg] of the stylus, and of the device
RESTITUTION = 0.3  # it leaves the wall, so that all the wall does is the impulse
CAP = 15.0  # [N] TH 4.5.2
SECONDS = 0.4
HARD = 0.5  # [m/s] a tap of which no vibration fits under the cap
NAMES = ("none", *MATERIALS)
COLOURS = {"none": BLACK, "rubber": GREEN, "wood": ORANGE, "metal": BLUE}
SIZE = 1 << 16  # of the spectra, padded with zeros
SCENE = f"""
<mujoco>
  <custom><text name="detent.friction" data="none"/></custom>
  <option gravity="0 0 0"/>
  <worldbody>
    <geom name="wall" type="plane" size="1 1 0.01" zaxis="0 1 0"/>
    <body name="stylus">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="hinge" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="{MASS}" diaginertia="1e-5 1e-5 1e-5"/>
      <geom name="tip" type="sphere" size="0.01"/>
    </body>
  </worldbody>
</mujoco>
"""


def tap(material: str, speed: float) -> Trace:
    """The stylus meets the wall after a millisecond."""
    start = (0.0, 0.01 + (4.0 - 0.5) * speed / RATE, 0.0)
    world = World.from_string(SCENE, tool="stylus", name="tap").placed(start, (0.0, -speed, 0.0))
    rings = None if material == "none" else material
    contact = Contact(restitution=RESTITUTION, limit="total", material=rings)
    device = Inertial(limits=(CAP, CAP, 1.0))
    return Session(world, contact, device=device, force_path=AT_ONCE, rate=RATE).run(SECONDS)


def felt(trace: Trace) -> np.ndarray:
    """The force on the device, away from the wall [N]."""
    return trace["device_wrench"][:, 1]


def ring_of(force: np.ndarray) -> tuple[float, float]:
    r"""Frequency [rad/s] and decay [1/s] of a decaying sinusoid, by linear prediction.

    .. math:: f_k = 2 \rho \cos(\omega T) f_{k-1} - \rho^2 f_{k-2}, \quad \rho = e^{-b T}
    """
    ringing = force[int(np.argmax(np.abs(force))) :]  # a spread impulse feeds it until then
    past = np.stack([ringing[1:-1], ringing[:-2]], axis=1)
    (twice, minus), *_ = np.linalg.lstsq(past, ringing[2:], rcond=None)
    shrink = float(np.sqrt(max(-minus, 1e-300)))
    turn = float(np.arccos(np.clip(twice / (2.0 * shrink), -1.0, 1.0)))
    return turn * RATE, -np.log(shrink) * RATE


def spectrum(force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz], and the momentum density there [N·s]."""
    return np.fft.rfftfreq(SIZE, 1.0 / RATE), np.abs(np.fft.rfft(force, SIZE)) / RATE


def tap_metrics(name: str, trace: Trace, hard: Trace) -> Metrics:
    """Of one material, in SI units; frequencies in Hz."""
    force, hit = felt(trace), int(np.argmax(trace["collisions"] > 0))
    last = int(np.nonzero(trace["collisions"])[0][-1])
    out = {
        f"{name}.momentum": float(force.sum() / RATE),
        f"{name}.peak": float(np.abs(force).max()),
        f"{name}.hard_momentum": float(felt(hard).sum() / RATE),
        f"{name}.hard_peak": float(np.abs(felt(hard)).max()),
        f"{name}.tool_speed_after": float(trace["tool_twist"][last + 1, 1]),
        f"{name}.deepest_device": float(0.01 - trace["device_position"][hit:, 1].min()),
    }
    if name != "none":
        frequencies, density = spectrum(force)
        omega, decay = ring_of(force)
        out[f"{name}.frequency"] = omega / (2.0 * np.pi)
        out[f"{name}.decay"] = decay
        out[f"{name}.spectral_peak"] = float(frequencies[np.argmax(density)])
    return out


def shape_impulses(speed: Positive = 0.05) -> Result:
    """Speed [m/s] of the tap; a hard one follows whose vibration does not fit under the cap."""
    traces, metrics = {}, Metrics()
    for name in NAMES:
        traces[name], traces[f"{name}-hard"] = tap(name, speed), tap(name, HARD)
        metrics |= tap_metrics(name, traces[name], traces[f"{name}-hard"])
    return Result(metrics, tap_claims(metrics), traces, partial(draw_taps, traces))


def tap_claims(m: Metrics) -> list[Claim]:
    """The same momentum, another spectrum, within the cap."""
    source, claims = "TH 7, catalogue B7", []
    for name, (omega, decay) in MATERIALS.items():
        for kind, word, part in (("", "a tap", 0.01), ("hard_", "a hard tap", 0.02)):
            got, wanted = m[f"{name}.{kind}momentum"], m[f"none.{kind}momentum"]
            text = f"{name}: {word} gives the device the momentum that it gives without a material"
            id_ = f"B7.{kind}momentum-{name}".replace("_", "-")
            claims.append(within(id_, source, text, got, wanted, part, "N·s"))
        got = max(m[f"{name}.peak"], m[f"{name}.hard_peak"])
        text = f"{name}: the device's cap is kept, however hard the tap"
        claims.append(at_most(f"B7.cap-{name}", "TH 4.5.2", text, got, CAP, "N"))
        for what, value, unit in (
            ("frequency", omega / (2.0 * np.pi), "Hz"),
            ("decay", decay, "1/s"),
            ("spectral_peak", np.sqrt(omega**2 - decay**2) / (2.0 * np.pi), "Hz"),
        ):
            text = f"{name}: {what.replace('_', ' ')} of the vibration that is felt"
            id_ = f"B7.{what}-{name}".replace("_", "-")
            got = m[f"{name}.{what}"]
            claims.append(within(id_, "[Okamura01]", text, got, value, 0.05, unit))
        text = f"{name}: the tool leaves the wall as without a material"
        got, wanted = m[f"{name}.tool_speed_after"], m["none.tool_speed_after"]
        claims.append(within(f"B7.tool-{name}", source, text, got, wanted, 1e-3, "m/s"))
    return claims


def draw_taps(traces: dict[str, Trace], path: Path) -> Any:
    """Force, momentum and spectrum of a tap, and the force of a hard one."""
    title = "Shaped impulses (TH 7): a 0.1 kg stylus taps a wall, on a device that can render 15 N"
    fig, axes = figure(2, 2, (12, 8), title)
    for name in NAMES:
        style: dict[str, Any] = {"color": COLOURS[name], "lw": 1.2, "label": _label(name)}
        soft, hard = felt(traces[name]), felt(traces[f"{name}-hard"])
        time = 1e3 * traces[name]["time"]
        axes[0, 0].step(time, soft, where="post", **style)
        axes[0, 1].plot(time, 1e3 * np.cumsum(soft) / RATE, **style)
        frequencies, density = spectrum(soft)
        axes[1, 0].loglog(frequencies[1:], 1e3 * density[1:], **style)
        axes[1, 1].step(time, hard, where="post", **style)
    axes[0, 0].set(ylabel="force on the device [N]", xlim=(0, 40), xlabel="time [ms]")
    axes[0, 1].set(ylabel="momentum received [mN·s]", xlim=(0, 100), xlabel="time [ms]")
    axes[1, 0].set(ylabel="spectrum [mN·s]", xlabel="frequency [Hz]")
    axes[1, 0].set(xlim=(1, RATE / 2), ylim=(0.05, 60))
    axes[1, 1].set(ylabel="force on the device [N]", xlim=(0, 60), xlabel="time [ms]")
    for level in (-CAP, CAP):
        axes[1, 1].axhline(level, color="0.5", ls="--", lw=0.8)
    state(axes[0, 0], "a tap rings like the material")
    state(axes[0, 1], "the momentum is the same in the end")
    state(axes[1, 0], "materials differ by where their spectrum peaks")
    state(axes[1, 1], f"a hard tap, {HARD:g} m/s, is stretched under the cap (dashed)")
    for ax in axes.flat:
        ax.legend(fontsize=8, frameon=False, loc="best" if ax is not axes[1, 1] else "lower right")
    return save(fig, path)


def _label(name: str) -> str:
    if name == "none":
        return "no material: an impulse"
    omega, decay = MATERIALS[name]
    return f"{name}: {omega / (2.0 * np.pi):.0f} Hz, {decay:.0f} 1/s"


EXPERIMENTS = (
    Experiment("shaped-impulses", "B7", "Taps on rubber, wood and metal", shape_impulses),
)
