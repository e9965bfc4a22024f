"""Virtual walls: a rectangle pushed into undamped walls, S4 section 5 (X25, X26, M36, M37)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from detent import AT_ONCE
from detent.coupling.four_channel import TABLE_4_1
from detent.devices import Inertial, Pantograph
from detent.experiments.on_pantograph import SHAPED
from detent.experiments.protocol import (
    Claim,
    Experiment,
    Metrics,
    Range,
    Result,
    at_most,
    holds,
    within,
)
from detent.hands import Constant
from detent.record.plots import BLACK, BLUE, GREEN, ORANGE, RED, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.wall import Wall
from detent.world.world import World

RATE = 500.0  # [Hz] S4 section 2
MASS, STIFFNESS, FORCE = 2.0, 4000.0, 0.4  # [kg, N/m, N]; S4 gives none
INTEGRAL = 2e4  # [N/(m·s)]
Gap = Annotated[float, Range(0.0, 0.1, above=True)]  # [m] within the enclosure
BLOCKS, BREAKAWAY = 5, 0.5  # [N] of the strongest of five blocks: 0.1 to 0.5 N
VERTICES = 2  # that touch the wall: each has half of the wall
HALF = (0.021, 0.0105)  # [m] half the rectangle
FLOOR = -0.08  # [m] of the world "corner"
SECONDS = 10.0
DEPTH = FORCE / STIFFNESS  # [m] at which the wall balances the hand
RATE_M36 = 512.0  # [Hz] of the spectral radii in the catalogue
ACTIVE = ("zoh", "seh", "pi")  # active or marginal
CALM = ("hysteretic", "pulse")
LABELS = {
    "zoh": "ZOH: sampled spring",
    "seh": "SEH: sample, estimate, hold",
    "pi": "PI: with an integral",
    "hysteretic": "hysteretic: sliding blocks",
    "pulse": "pulse at first contact, e = 0",
}
COLOURS = {"zoh": ORANGE, "seh": BLUE, "pi": RED, "hysteretic": GREEN, "pulse": BLACK}


# --- what the matrices say


def estimate(law: str) -> np.ndarray:
    """Weights of the present depth and the two before it (S4 eq 1)."""
    return np.array([2.0, -1.5, 0.5]) if law == "seh" else np.array([1.0, 0.0, 0.0])


def spectral_radius(law: str, rate: float, integral: float = 0.0) -> float:
    r"""Of a free mass under the held force of a wall, on (d, v, d₋₁, d₋₂, ∫d).

    .. math:: d^+ = d + T v - \tfrac{T^2}{2m} f, \quad v^+ = v - \tfrac{T}{m} f
    """
    step = 1.0 / rate
    e0 = np.eye(5)
    total = e0[4] + step * e0[0]  # ∫d with the present sample
    weights = estimate(law)
    force = STIFFNESS * (weights[0] * e0[0] + weights[1] * e0[2] + weights[2] * e0[3])
    force = force + integral * total
    rows = [
        e0[0] + step * e0[1] - step**2 / (2.0 * MASS) * force,
        e0[1] - step / MASS * force,
        e0[0],
        e0[2],
        total,
    ]
    matrix = np.array(rows)
    return float(np.abs(np.linalg.eigvals(matrix if integral > 0.0 else matrix[:4, :4])).max())


def largest_integral(law: str, rate: float) -> float:
    """The largest K_i [N/(m·s)] with which a PI wall on this estimate does not grow; 0 if none."""
    low, high = 0.0, INTEGRAL
    for _ in range(50):
        middle = 0.5 * (low + high)
        stable = spectral_radius(law, rate, middle) <= 1.0 + 1e-12
        low, high = (middle, high) if stable else (low, middle)
    return low


# --- what sessions do


def contact(law: str) -> Contact:
    """A wall of S4, shared by the two vertices that touch it.

    The pulse is that of S4 section 4 (method of [SV97]): a collision impulse of all vertices
    together, then the sampled spring.
    """
    share = 1.0 / VERTICES
    if law == "pulse":
        return Contact(share * STIFFNESS, 0.0, 0.0, mode="impulse", limit="total")
    wall = Wall(law.removesuffix("-each"), share * INTEGRAL, BLOCKS, share * BREAKAWAY)
    return Contact(share * STIFFNESS, 0.0, 0.0, mode="penalty", wall=wall, limit="total")


def bounce(
    law: str,
    gap: float,
    tilt: float = 0.0,
    device: Pantograph | None = None,
    rate: float = RATE,
    seconds: float = SECONDS,
) -> Trace:
    """Push the rectangle into the floor, from rest at the gap [m] (negative: in the wall)."""
    high = HALF[0] * np.sin(abs(tilt)) + HALF[1] * np.cos(tilt)
    world = World.builtin("corner").placed((0.0, FLOOR + high + gap, tilt))
    if device is None:
        tied = Session(
            world, contact(law), TABLE_4_1, Inertial(), AT_ONCE, rate=rate, integrator="held"
        )
    else:
        tied = Session(
            world, contact(law), SHAPED, device, rate=rate, integrator="held", force_path=AT_ONCE
        )
    return tied.run(seconds, Constant((0.0, -FORCE)))


def lowest(trace: Trace) -> np.ndarray:
    """The height of the lowest vertex of the device's rectangle over the wall [m]."""
    q = trace["device_quaternion"]
    angle = 2.0 * np.arctan2(q[:, 3], q[:, 0])
    high = HALF[0] * np.abs(np.sin(angle)) + HALF[1] * np.abs(np.cos(angle))
    return trace["device_position"][:, 1] - FLOOR - high


def bounce_metrics(law: str, trace: Trace, gap: float) -> Metrics:
    """Of one wall; rebounds are heights after the first hit over the gap."""
    height, v = lowest(trace), trace["device_twist"][:, 1]
    hit = int(np.argmax(trace["contacts"] > 0))
    last = len(trace) // 5
    return {
        f"{law}.rebound": float(max(height[hit:].max(), 0.0) / gap),
        f"{law}.last_rebound": float(max(height[-last:].max(), 0.0) / gap),
        f"{law}.last_rms_speed": float(np.sqrt(np.mean(v[-last:] ** 2))),
        f"{law}.deepest": float(-height.min()),
        f"{law}.flights": float(np.sum(np.diff((height > 0.02 * gap).astype(int)) == 1)),
    }


def growth(law: str, rate: float) -> float:
    """The factor per tick of oscillations that stay in the wall, by the energy of a session."""
    trace = bounce(law, -1.2 * DEPTH, rate=rate, seconds=1.5)
    stretch = trace["depth"] - DEPTH
    energy = trace["tool_energy"] + 0.5 * STIFFNESS * stretch**2
    slope = np.polyfit(np.arange(len(energy)), np.log(energy), 1)[0]
    return float(np.exp(0.5 * slope))


def compare_walls(gap: Gap = 0.02) -> Result:
    """Gap [m] from which the rectangle starts.

    Limitations: S4's PI wall may stand on the SEH estimate; Detent's stands on the plain
    sample, so the SEH one is judged by its matrix only. ``Wall("pulse")`` brakes every vertex
    for itself, as ``pulse-each``: two at once are braked too much and bounce.
    """
    traces, metrics = {}, Metrics()
    for law in (*LABELS, "pulse-each"):
        traces[law] = bounce(law, gap)
        metrics |= bounce_metrics(law, traces[law], gap)
    for law in ("zoh", "seh"):
        metrics[f"{law}.radius"] = spectral_radius(law, RATE_M36)
        metrics[f"{law}.growth"] = growth(law, RATE_M36)
        metrics[f"{law}.largest_integral"] = largest_integral(law, RATE_M36)
    metrics["pi.radius"] = spectral_radius("zoh", RATE_M36, INTEGRAL)
    shown = {law: traces[law] for law in LABELS}
    title = "A rectangle pushed by 0.4 N into undamped walls, simulation (S4 Fig 4)"
    said = (
        "ZOH and PI throw it higher each time, SEH as high as at first",
        "once per bounce: SEH is marginal, level; ZOH and PI are active, they rise",
    )
    draw = partial(draw_walls, shown, title, said, gap)
    return Result(metrics, wall_claims(metrics), traces, draw)


def wall_claims(m: Metrics) -> list[Claim]:
    """S4 section 5, and the spectral radii of the catalogue (M36)."""
    source, claims = "S4 Fig 4", []
    for law in CALM:
        got = m[f"{law}.rebound"]
        text = f"{LABELS[law]}: does not bounce after the first hit (height over the gap)"
        claims.append(at_most(f"X25.settles-{law}", source, text, got, 0.02))
    got = m["seh.last_rebound"]
    text = "SEH is marginal: it bounces on, as high as at first (height over the gap)"
    claims.append(within("X25.marginal", source, text, got, 1.0, 0.05))
    got = m["zoh.last_rebound"]
    text = "ZOH is active: the bounce grows (height over the gap)"
    claims.append(holds("X25.active", source, text, got, "≥ 2", got >= 2.0))
    got = m["pi.last_rebound"]
    text = "PI on the plain sample, K_i = 2e4: grows faster than ZOH (height over the gap)"
    more = m["zoh.last_rebound"]
    claims.append(holds("X25.pi", source, text, got, f"> {more:.3g} (ZOH)", got > more))
    order = [m[f"{law}.last_rms_speed"] for law in ("pulse", "hysteretic", "seh", "zoh", "pi")]
    text = "order of contact stability: pulse, hysteretic, SEH, ZOH, PI (rms speed of the pulse)"
    passed = order == sorted(order)
    claims.append(holds("M37.order", "catalogue M37", text, order[0], "in that order", passed))
    got = m["pulse-each.rebound"]
    text = (
        "the document's pulse settles at the first hit; Wall('pulse') brakes each of the two "
        "vertices with a whole effective mass, so an edge may rebound to (2·1.70/2 − 1)² of the gap"
    )
    claims.append(at_most("X25.each", "limitation", text, got, 0.5))
    got = m["seh.largest_integral"]
    text = "SEH may or may not passivate a PI wall: it does up to a K_i that is below 2e4"
    passed = 0.0 < got < INTEGRAL and m["zoh.largest_integral"] < 1e-3 * got
    claims.append(holds("X25.may", source, text, got, "> 0 N/(m·s), and none for ZOH", passed))
    for law, radius in (("zoh", 1.00191), ("seh", 0.99999)):
        off = abs(m[f"{law}.radius"] - radius)
        text = f"{law.upper()}: spectral radius {radius} at 512 Hz (difference)"
        claims.append(at_most(f"M36.radius-{law}", "catalogue M36", text, off, 1e-5))
        off = abs(m[f"{law}.growth"] - m[f"{law}.radius"])
        text = f"{law.upper()}: the session's energy grows as the matrix says (difference)"
        claims.append(at_most(f"M36.growth-{law}", "catalogue M36", text, off, 2e-5))
    return claims


def bounce_on_device(
    gap: Gap = 0.02, tilt: float = 0.01, device_friction: float = 2e-4, delay_ticks: int = 1
) -> Result:
    """Gap [m], tilt [rad] (S4: the first contact is no edge), friction [N·m] of the joints.

    Limitations: the pantograph is simulated, and the documents do not give its friction, which
    takes energy from every bounce: with 5e-4 N·m the bounce on SEH has fallen to a tenth of
    the gap after 10 s.
    """
    device = Pantograph(friction=device_friction, delay_ticks=delay_ticks)
    traces, metrics = {}, Metrics()
    for law in LABELS:
        traces[law] = bounce(law, gap, tilt, device)
        metrics |= bounce_metrics(law, traces[law], gap)
    title = (
        "A rectangle pushed by 0.4 N into undamped walls, through the twin pantograph (S4 Fig 5–6)"
    )
    said = (
        "ZOH, SEH and PI go on bouncing, PI higher than it fell",
        "once per bounce: the device's friction takes from each",
    )
    draw = partial(draw_walls, traces, title, said, gap)
    return Result(metrics, device_claims(metrics), traces, draw)


def device_claims(m: Metrics) -> list[Claim]:
    """S4 Fig 5-6."""
    claims = []
    for law in ACTIVE:
        got = m[f"{law}.last_rebound"]
        text = f"{LABELS[law]}: still bounces after 8 s (height over the gap)"
        claims.append(holds(f"X26.bounces-{law}", "S4 Fig 5", text, got, "≥ 0.25", got >= 0.25))
    for law in CALM:
        got = m[f"{law}.rebound"]
        text = f"{LABELS[law]}: stays at the wall from the first impact on (height over the gap)"
        claims.append(at_most(f"X26.settles-{law}", "S4 Fig 6", text, got, 0.1))
        got = m[f"{law}.last_rms_speed"] / m["seh.last_rms_speed"]
        text = f"{LABELS[law]}: far calmer than SEH in the end (rms speed, ratio)"
        claims.append(at_most(f"X26.calm-{law}", "S4 Fig 6", text, got, 0.25))
    return claims


def draw_walls(
    traces: dict[str, Trace], title: str, said: tuple[str, str], gap: float, path: Path
) -> Any:
    """Heights over time: active and marginal walls, those that settle, and bounce by bounce."""
    fig, axes = figure(2, 2, (12.5, 7.6), title)
    (active, calm), (first, each) = axes
    for law, trace in traces.items():
        style: dict[str, Any] = {"color": COLOURS[law], "label": LABELS[law], "lw": 1.2}
        height = 1e3 * lowest(trace)
        (active if law in ACTIVE else calm).plot(trace["time"], height, **style)
        hit = trace["time"][int(np.argmax(trace["contacts"] > 0))]
        near = (trace["time"] > hit - 0.05) & (trace["time"] < hit + 0.6)
        first.plot(1e3 * (trace["time"][near] - hit), height[near], **style)
        each.plot(*bounces(trace, gap), "o-", ms=4, **style)
    state(active, said[0])
    state(calm, "hysteretic walls and a pulse take its energy at the first hit")
    state(first, "up to the first rebound: only two walls keep it")
    state(each, said[1])
    for ax in (active, calm):
        ax.set(xlabel="time [s]", ylim=(-15, 6e3 * gap))
    first.set(xlabel="time since the first hit [ms]", ylim=(-12, 1.4e3 * gap))
    each.set(xlabel="bounce", ylabel="height over the gap that it fell [-]", yscale="log")
    each.set(xlim=(-0.5, 12.5), ylim=(1e-3, 30.0), xticks=range(0, 13, 2))
    each.axhline(1.0, color="0.5", lw=1, ls=":", label="as high as at first")
    for ax in (active, calm, first):
        ax.set_ylabel("height over the wall [mm]")
        ax.axhspan(-20, 0.0, color="0.9", lw=0, label="the wall")
    for ax in axes.flat:
        legend(ax, "upper left" if ax in (active, first) else "upper right")
    legend(each, "lower right")
    return save(fig, path)


def bounces(trace: Trace, gap: float) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the flights, and their heights over the gap: one point per bounce.

    The first is the fall itself. What never leaves the wall by 0.1 % of the gap has no flight,
    and is drawn on that line.
    """
    height = lowest(trace)
    above = np.concatenate([[False], height > 1e-3 * gap, [False]])
    starts, ends = np.flatnonzero(np.diff(above.astype(int))).reshape(-1, 2).T
    whole = ends < len(height)  # the last flight may not have come to its top
    tops = [height[i:j].max() / gap for i, j in zip(starts[whole], ends[whole], strict=True)]
    heights = np.array([*tops, 1e-3]) if len(tops) < 2 else np.array(tops)
    return np.arange(len(heights)), heights


EXPERIMENTS = (
    Experiment("walls", "X25, M36, M37", "Five virtual walls", compare_walls),
    Experiment(
        "walls-device", "X26", "Five virtual walls through the pantograph", bounce_on_device
    ),
)
