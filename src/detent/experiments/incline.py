"""A block on a slope: it sticks and slips at the right angles, in plane and space (M9, M16)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from detent import AT_ONCE
from detent.experiments.friction import DAMPING, MU_K, MU_S, STIFFNESS
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
from detent.hands import Sinusoid
from detent.record.plots import BLUE, GREEN, ORANGE, figure, save, state
from detent.record.trace import Trace
from detent.session import Session
from detent.world.contact import Contact
from detent.world.friction import Friction
from detent.world.world import World

SLOPE_RATE = 1000.0  # [Hz]
GRAVITY = 9.81  # [m/s²]
SIDE = 0.021  # [m] half the block's sides
ANGLE = float(np.arctan(MU_S))  # [rad] at which it slips
EASE = 0.5  # [s] in which the hand lets go
SLID = 5e-4  # [m] further than any bond stretches
TALL = SIDE / 2.0  # [m] half the height of a tall block
STANDS = 10.0  # [s] for which a rigid block must not creep
SCENE = """
<mujoco>
  <option gravity="{gravity}"/>
  <worldbody>
    <geom name="slope" type="plane" size="1 1 0.01" zaxis="{normal}"/>
    <body name="block">
      {joints}
      <inertial pos="0 0 0" mass="2" diaginertia="0.005 0.005 0.005"/>
      <geom name="block" type="box" size="{size}"/>
    </body>
  </worldbody>
</mujoco>
"""
PLANAR_JOINTS = """<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="hinge" axis="0 0 1"/>"""


def slope_world(
    angle: float, height: float, space: bool, heading: float, stiffness: float = STIFFNESS
) -> World:
    """A block of half *height* on a slope of *angle* that falls towards *heading*.

    The slope stays level in the file; gravity turns. The block has sunk as far as springs of
    that *stiffness* at its corners let it.
    """
    along, down = GRAVITY * np.sin(angle), GRAVITY * np.cos(angle)
    depth = 2.0 * down / (4 if space else 2) / stiffness
    start: tuple[float, ...]
    if space:
        gravity = (along * np.cos(heading), along * np.sin(heading), -down)
        turn = (np.cos(heading / 2.0), 0.0, 0.0, np.sin(heading / 2.0))
        start, size = (0.0, 0.0, height - depth, *turn), (SIDE, SIDE, height)
    else:
        gravity = (along, -down, 0.0)
        start, size = (0.0, height - depth, 0.0), (SIDE, height, SIDE)
    text = SCENE.format(
        gravity=" ".join(f"{g:.17g}" for g in gravity),
        normal="0 0 1" if space else "0 1 0",
        joints="<freejoint/>" if space else PLANAR_JOINTS,
        size=" ".join(map(str, size)),
    )
    return World.from_string(text, tool="block", name="slope").placed(start)


def release(
    angle: float,
    height: float = 0.001,
    space: bool = False,
    heading: float = 0.0,
    eased: bool = True,
    seconds: float = 1.5 * EASE,
    rate: float = SLOPE_RATE,
    rigid: bool = False,
) -> Trace:
    """Let the block go on the slope: eased, by a hand that gives way as 1 − sin, or at once."""
    world = slope_world(angle, height, space, heading, np.inf if rigid else STIFFNESS)
    held = 2.0 * GRAVITY * np.sin(angle) * np.array([np.cos(heading), np.sin(heading), 0.0])
    hand = Sinusoid(held, 0.0, 0.25 / EASE, 0.0, -held) if eased else None
    mode = "rigid" if rigid else "impulse"
    contact = Contact(
        STIFFNESS, DAMPING, mode=mode, friction=Friction(MU_S, MU_K, damping_ratio=1.0)
    )
    return Session(world, contact, force_path=AT_ONCE, rate=rate).run(seconds, hand)


def slid(trace: Trace) -> bool:
    """Whether it slid further than a bond stretches."""
    place = trace["tool_position"]
    return bool(np.linalg.norm(place[-1] - place[0]) > SLID)


def acceleration(trace: Trace, heading: float = 0.0) -> float:
    """Along the slope, in the second half of a run [m/s²]."""
    half = len(trace) // 2
    v = trace["tool_twist"][half:, :2] @ np.array([np.cos(heading), np.sin(heading)])
    return float(np.polyfit(trace["time"][half:], v, 1)[0])


def breakaway_angle(**options: Any) -> float:
    """The angle at which it starts to slide, over arctan μ_s, by bisection."""
    low, high = 0.5, 1.2
    while high - low > 0.002:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slid(release(middle * ANGLE, **options)) else (middle, high)
    return 0.5 * (low + high)


def turned_difference(angle: float) -> float:
    """How much the run differs when slope and block are turned about the normal, relative."""
    first = release(angle, space=True)
    straight = first["tool_position"][:, :2] @ np.eye(2)
    worst = 0.0
    for heading in np.linspace(0.0, 2.0 * np.pi, 8)[1:-1]:
        c, s = np.cos(heading), np.sin(heading)
        trace = release(angle, space=True, heading=heading)
        back = trace["tool_position"][:, :2] @ np.array([[c, -s], [s, c]])
        worst = max(worst, float(np.abs(back - straight).max()))
    return worst / float(np.abs(straight).max())


def incline(
    below: Annotated[float, Range(0.0, 1.0, above=True)] = 0.98,
    above: Annotated[float, Range(1.0)] = 1.02,
) -> Result:
    """Angles, over arctan μ_s, at which the block must stick and must slip.

    Limitations: every contact has a bond of its own that keeps its force when its normal force
    falls, so on a tall block the uphill contacts, which friction's own torque relieves, break
    first and the others follow: it slips early. The block of the claims is a plate. A block
    that is let go at once slips early too, since its bonds overshoot. In rigid contact, where
    no bond stretches, neither happens.
    """
    metrics, traces = Metrics(), {}
    for name, space in (("plane", False), ("space", True)):
        for side, ratio in (("below", below), ("above", above)):
            trace = traces[f"{name}-{side}"] = release(ratio * ANGLE, space=space)
            metrics[f"{name}.slid_{side}"] = float(slid(trace))
        free = traces[f"{name}-free"] = release(above * ANGLE, space=space, eased=False)
        metrics[f"{name}.acceleration"] = acceleration(free)
        metrics[f"{name}.breakaway"] = breakaway_angle(space=space)
        metrics[f"{name}.breakaway_tall"] = breakaway_angle(space=space, height=SIDE / 2.0)
        metrics[f"{name}.breakaway_sudden"] = breakaway_angle(space=space, eased=False)
    metrics["space.turned_difference"] = turned_difference(above * ANGLE)
    metrics |= rigid_metrics(below, above)
    sweep = np.linspace(0.8, 1.6, 9)
    found = {
        name: [acceleration(release(r * ANGLE, eased=False, **how)) for r in sweep]
        for name, how in (
            ("plane", {"space": False}),
            ("space", {"space": True}),
            ("rigid", {"space": True, "rigid": True, "height": TALL}),
        )
    }
    claims = slope_claims(metrics, below, above)
    return Result(metrics, claims, traces, partial(draw_slope, traces, metrics, sweep, found))


def rigid_metrics(below: float, above: float) -> Metrics:
    """A tall block in rigid contact that is let go at once."""
    out = Metrics()
    for name, space in (("plane", False), ("space", True)):
        how: dict[str, Any] = {"space": space, "height": TALL, "eased": False, "rigid": True}
        place = release(below * ANGLE, seconds=STANDS, **how)["tool_position"]
        out[f"{name}.rigid_creep"] = float(np.linalg.norm(place[-1] - place[0]))
        out[f"{name}.rigid_acceleration"] = acceleration(release(above * ANGLE, **how))
        out[f"{name}.rigid_breakaway"] = breakaway_angle(**how)
    return out


def sliding(angle: float) -> float:
    """g (sin θ − μ_k cos θ) [m/s²]."""
    return float(GRAVITY * (np.sin(angle) - MU_K * np.cos(angle)))


def slope_claims(m: Metrics, below: float, above: float) -> list[Claim]:
    """Coulomb's law, which TH 4.3.1 stands for."""
    claims = []
    for name in ("plane", "space"):
        source = "Coulomb, TH 4.3.1"
        got = m[f"{name}.slid_below"]
        text = f"{name}: sticks at {below:g} arctan μ_s (1: slid)"
        claims.append(holds(f"incline.stick-{name}", source, text, got, "0", got == 0.0))
        got = m[f"{name}.slid_above"]
        text = f"{name}: slips at {above:g} arctan μ_s (1: slid)"
        claims.append(holds(f"incline.slip-{name}", source, text, got, "1", got == 1.0))
        got, expected = m[f"{name}.acceleration"], sliding(above * ANGLE)
        text = f"{name}: slides with g(sin θ − μ_k cos θ)"
        claims.append(within(f"incline.slide-{name}", source, text, got, expected, 0.02, "m/s²"))
        source = "Coulomb, TH 4.5 (M16)"
        got = m[f"{name}.rigid_creep"]
        text = f"{name}: a tall rigid block at {below:g} arctan μ_s does not creep in {STANDS:g} s"
        claims.append(at_most(f"incline.rigid-stick-{name}", source, text, got, 1e-6, "m"))
        got = m[f"{name}.rigid_acceleration"]
        text = f"{name}: a tall rigid block slides with g(sin θ − μ_k cos θ)"
        id_ = f"incline.rigid-slide-{name}"
        claims.append(within(id_, source, text, got, expected, 0.01, "m/s²"))
        got = m[f"{name}.rigid_breakaway"]
        text = f"{name}: let go at once, it slips from arctan μ_s on (angle over that)"
        claims.append(within(f"incline.rigid-slip-{name}", source, text, got, 1.0, 0.005))
    source = "Coulomb, TH 4.3.1"
    got = m["space.turned_difference"]
    text = "turning slope and block about the normal changes nothing (relative)"
    claims.append(at_most("incline.isotropy", source, text, got, 1e-9))
    got = max(m["plane.breakaway_tall"], m["space.breakaway_tall"])
    text = (
        "a rigid block would slip at arctan μ_s whatever its height; with a bond per contact "
        "one as tall as half its side slips earlier (angle over arctan μ_s)"
    )
    claims.append(holds("incline.tall", "limitation", text, got, "0.9 to 1", 0.9 <= got <= 1.0))
    return claims


def draw_slope(
    traces: dict[str, Trace],
    m: Metrics,
    sweep: np.ndarray,
    found: dict[str, list[float]],
    path: Path,
) -> Any:
    """What it does at the two angles, and the acceleration over the angle."""
    title = r"A block on a slope (Coulomb's law by TH 4.6): $\mu_s$ = 0.25"
    fig, axes = figure(1, 2, (11, 4.5), title)
    left, right = axes[0]
    colours = {"plane": BLUE, "space": ORANGE}
    for name, colour in colours.items():
        for side, line in (("below", "--"), ("above", "-")):
            trace = traces[f"{name}-{side}"]
            moved = 1e3 * np.linalg.norm(trace["tool_position"] - trace["tool_position"][0], axis=1)
            label = f"{name}, just {side} arctan $\\mu_s$"
            left.plot(trace["time"], moved, line, color=colour, label=label)
        marker = "o" if name == "plane" else "x"
        right.plot(sweep, found[name], marker, color=colour, label=f"{name}, let go at once")
        right.axvline(m[f"{name}.breakaway"], color=colour, ls=":", lw=1)
    label = "space, rigid and tall, let go at once"
    right.plot(sweep, found["rigid"], "s", mfc="none", color=GREEN, label=label)
    fine = np.linspace(sweep[0], sweep[-1], 200)
    theory = [sliding(r * ANGLE) for r in fine]
    right.plot(fine, theory, color="0.5", lw=1, label=r"g(sin θ − $\mu_k$ cos θ)")
    left.axvline(EASE, color="0.7", lw=1)
    left.annotate("the hand has let go ", (EASE, 12.0), fontsize=8, ha="right")
    left.set(xlabel="time [s]", ylabel="moved [mm]")
    right.set(
        xlabel=r"angle over arctan $\mu_s$ [-] (dotted: slips, if let go slowly)",
        ylabel="acceleration [m/s²]",
    )
    state(left, "just below arctan μ it stays, just above it slides")
    state(right, "let go at once, it accelerates as Coulomb says")
    left.legend(fontsize=8, frameon=False, loc="upper left")
    right.legend(fontsize=8, frameon=False, loc="lower right")
    return save(fig, path)


EXPERIMENTS = (
    Experiment("incline", "M9, M16", "A block on a slope, in the plane and in space", incline),
)
