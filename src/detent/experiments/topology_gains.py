"""The range of k_j and b_j: how stiffly joints may be held on a sampled device (B13)."""

from __future__ import annotations

import math
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from detent import AT_ONCE
from detent.coupling.four_channel import FourChannel
from detent.coupling.linkage import Topology
from detent.devices import Inertial
from detent.devices.limits import firm_joint, stable_joint
from detent.experiments.four_bar import B_J, K_J
from detent.experiments.four_bar import RATE as S3_RATE
from detent.experiments.protocol import Claim, Experiment, Metrics, Positive, Result, at_most, holds
from detent.record.plots import BLUE, GREEN, ORANGE, RED, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.world import World

SOURCE = "S3 VI"
DELAYS = (0, 1, 2)
LATEST = 3  # [ticks] of delay, for gains that nobody chose
SHARES = (0.25, 0.5, 0.9)  # of the stiffness of joints that nobody chose
OFF = (2e-6, 1e-6)  # [m] of the device beside the tool at the start
COLOURS = (BLUE, ORANGE, GREEN)
MARKS = {"three-link": "o", "four-bar": "s", "door": "^", "sarrus": "x"}
WORDS = {
    "three-link": "linkage in a plane",
    "four-bar": "loop in a plane",
    "door": "door",
    "sarrus": "loop in space",
}


@cache
def tool(name: str) -> World:
    """A linkage or a loop, in a pose that is not singular."""
    if name == "three-link":
        start = (np.pi / 4.0, np.pi / 6.0, -np.pi / 6.0)
        return World.builtin(name, tool="link2").placed(start)
    return World.builtin(name)


def run(name: str, coupling: FourChannel, delay: int, rate: float, ticks: int) -> Trace:
    """Nobody holds the device; it begins micrometres beside the tool."""
    device = Inertial(1.0, 1.0, delay_ticks=delay, offset=OFF)
    session = Session(tool(name), coupling=coupling, device=device, force_path=AT_ONCE, rate=rate)
    return session.run(ticks / rate)


def growth(name: str, k: float, b: float, delay: int, rate: float, periods: float = 8.0) -> float:
    """[1/s] at which the energy of the device grows along what the joints hold."""
    omega = math.sqrt(k)
    skipped = 2.0 * 2.0 * math.pi / omega  # [s] in which delayed forces arrive
    ticks = math.ceil((periods + 2.0) * rate * 2.0 * math.pi / omega)
    trace = run(name, FourChannel(0.0, 0.0, topology=Topology(k, b, ease=0.0)), delay, rate, ticks)
    force, counts = trace["topology_wrench"], trace["time"] > skipped
    change = np.gradient(force, 1.0 / rate, axis=0) / omega
    energy = (force**2 + change**2).sum(axis=1)
    return float(np.polyfit(trace["time"][counts], np.log(energy[counts]), 1)[0])


def boundary(name: str, b: float, delay: int, rate: float) -> float:
    """[1/s²] the k_j at which growth crosses zero, between two runs beside the theory."""
    theory = stable_joint(b, 1.0 / rate, delay)
    below, above = (growth(name, share * theory, b, delay, rate) for share in (0.97, 1.03))
    return theory * (0.97 + 0.06 * below / (below - above))


def dampings(delay: int, rate: float) -> list[float]:
    """[1/s] b_j whose boundary lies below the stiffness that a session chooses."""
    return [share * firm_joint(1.0 / rate, delay)[0] * (0.5 + delay) / rate for share in SHARES]


def unrest(name: str, delay: int, rate: float) -> float:
    """Of gains that nobody chose: change of the force at the end of 0.5 s over that at first."""
    trace = run(name, FourChannel(topology=Topology()), delay, rate, round(0.5 * rate))
    step = np.abs(np.diff(trace["topology_wrench"], axis=0)).max(axis=1)
    tenth = len(step) // 10
    return float(step[-tenth:].max() / step[:tenth].max())


def joint_gains(rate: Positive = 1000.0) -> Result:
    """Rate of the servo [Hz].

    Limitations: the device is an inertia without friction, which nobody holds; the linkage is not
    near a singular pose, where constraints come and go.
    """
    metrics, found = Metrics(), {}
    for name in MARKS:
        for delay in DELAYS:
            some = dampings(delay, rate)
            for b in some if name == "three-link" else some[1:2]:
                theory = stable_joint(b, 1.0 / rate, delay)
                found[name, delay, b] = boundary(name, b, delay, rate)
                key = f"{name}.{delay}.{b / rate:.3g}"
                metrics[f"{key}.boundary"] = found[name, delay, b] / rate**2
                metrics[f"{key}.off"] = abs(found[name, delay, b] / theory - 1.0)
        for delay in range(LATEST + 1):
            metrics[f"{name}.{delay}.unrest"] = unrest(name, delay, rate)
    for delay in DELAYS:
        step = 1.0 / S3_RATE
        metrics[f"S3.{delay}.stiffer"] = stable_joint(B_J, step, delay) / K_J
        metrics[f"S3.{delay}.growth"] = growth("four-bar", K_J, B_J, delay, S3_RATE, periods=2.0)
        held = stable_joint(firm_joint(1.0 / rate, delay)[1], 1.0 / rate, delay)
        metrics[f"bound.{delay}.margin"] = held / firm_joint(1.0 / rate, delay)[0]
    return Result(metrics, range_claims(metrics), {}, partial(draw_range, found, rate))


def range_claims(m: Metrics) -> list[Claim]:
    """What is stable, where S3's gains are in it, and that gains that nobody chose are, too."""
    worst = {name: max(v for k, v in m.items() if k.startswith(name) and k.endswith(".off"))
             for name in MARKS}  # fmt: skip
    claims = []
    for name, off in worst.items():
        text = f"{WORDS[name]}: largest stable k_j against eigenvalues, three delays (difference)"
        claims.append(at_most(f"B13.boundary-{name}", "our own", text, off, 0.02))
    spread = 0.0
    for delay in DELAYS:
        same = [k for k in m if k.startswith(f"door.{delay}.") and k.endswith(".boundary")]
        for key in same:
            values = [m[key.replace("door", name)] for name in MARKS]
            spread = max(spread, max(values) / min(values) - 1.0)
    text = "the range is that of the device, whatever the joints are (spread over four tools)"
    claims.append(at_most("B13.alike", "our own", text, spread, 0.01))
    least = min(m[f"S3.{delay}.stiffer"] for delay in DELAYS)
    calm = max(m[f"S3.{delay}.growth"] for delay in DELAYS)
    text = "S3's k_j could be larger by a factor, at 512 Hz and up to two ticks of delay (least)"
    claims.append(
        holds("B13.S3", SOURCE, text, least, "≥ 10, and motion dies out", least >= 10 and calm < 0)
    )
    margin = min(m[f"bound.{delay}.margin"] for delay in DELAYS)
    text = "stable stiffness over that of joints that nobody chose, beside their damping (least)"
    claims.append(holds("B13.bound", "our own", text, margin, "≥ 2", margin >= 2.0))
    rest = max(v for k, v in m.items() if k.endswith(".unrest"))
    text = f"gains that nobody chose come to rest, up to {LATEST} ticks of delay (late over early)"
    claims.append(at_most("B13.default", "our own", text, rest, 0.1))
    return claims


def draw_range(found: dict[tuple[str, int, float], float], rate: float, path: Path) -> Any:
    """The plane of b_j T and k_j T²: what is stable, measured, and what a session chooses."""
    fig, axes = figure(1, 2, (12.5, 4.8), "How stiffly joints may be held (S3: k_j, b_j)")
    plane, apart = axes[0]
    for delay, colour in zip(DELAYS, COLOURS, strict=True):
        draw_stable(plane, delay, colour)
        for name, mark in MARKS.items():
            own = np.array([(b, k) for (n, d, b), k in found.items() if (n, d) == (name, delay)])
            style: dict[str, Any] = {"color": colour, "mfc": "none", "ms": 5}
            plane.plot(own[:, 0] / rate, own[:, 1] / rate**2, mark, **style)
            theory = np.array([stable_joint(b, 1.0 / rate, delay) for b in own[:, 0]])
            off = 100.0 * (own[:, 1] / theory - 1.0)
            label = WORDS[name] if delay == 0 else None
            apart.plot(own[:, 0] / rate, off, mark, label=label, **style)
    plane.plot([], [], ":", color="0.4", lw=1, label="what a session chooses at most")
    plane.plot([], [], "o", color="0.4", mfc="none", label="measured, four tools")
    here = B_J / S3_RATE, K_J / S3_RATE**2
    plane.plot(*here, "*", color=RED, ms=11, label="S3: 200, 50 at 512 Hz")
    plane.set(xlabel="damping b_j T [-]", ylabel="stiffness k_j T² [-]", ylim=(1e-4, 5.0))
    apart.axhline(0.0, color="0.6", lw=0.8)
    apart.set(xlabel="damping b_j T [-]", ylabel="measured over eigenvalues − 1 [%]", ylim=(-2, 2))
    state(plane, "delay takes most of the range; what is chosen stays within it")
    state(apart, "every linkage and loop has the range of its device")
    for ax in (plane, apart):
        legend(ax, fontsize=7)
    return save(fig, path)


def draw_stable(ax: Any, delay: int, colour: str) -> None:
    """Where motion dies out, by eigenvalues, and the gains that a session chooses."""
    b = np.geomspace(1e-3, 2.0, 120)
    k = np.array([stable_joint(one, 1.0, delay) for one in b])
    label = f"stable below: {delay} ticks of delay"
    ax.loglog(b[k > 0], k[k > 0], color=colour, lw=1.2, label=label)
    most_k, most_b = firm_joint(1.0, delay)
    ax.plot([b[0], most_b, most_b], [most_k, most_k, 1e-7], ":", color=colour, lw=1)


EXPERIMENTS = (Experiment("topology-gains", "B13", "How stiffly joints may be held", joint_gains),)
