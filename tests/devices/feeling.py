"""What a hand feels on a device: led through free space and against a wall, with numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from detent import Session, World
from detent.coupling.base import Coupling
from detent.devices import Preset, known, preset
from detent.hands import Guided
from detent.record.trace import Trace

GAP, SPEED = 0.02, 0.1  # [m, m/s] from the start to the wall
DEEPEST = 8e-3  # [m] behind the wall
HAND = (300.0, 5.0)  # [N/m, N·s/m]
LEVER = 0.05  # [m] at which a turning device meets the wall
SETTLED, WATCHED = 1.0, 0.5  # [s] after the hand has arrived

BALL = World.from_string(
    '<mujoco><option gravity="0 0 0"/><worldbody>'
    f'<geom type="box" pos="{GAP + 0.005 + 0.1} 0 0" size="0.1 0.5 0.5"/>'
    '<body name="ball"><freejoint/><geom size="0.005" mass="0.1"/></body></worldbody></mujoco>'
)
LATCH = World.from_string(
    '<mujoco><option gravity="0 0 0"/><worldbody>'
    f'<geom type="box" pos="{LEVER} {GAP + 0.005 + 0.05} 0" size="0.02 0.05 0.02"/>'
    '<body name="arm"><joint axis="0 0 1"/><inertial pos="0 0 0" mass="0.1" '
    f'diaginertia="1e-4 1e-4 1e-4"/><geom size="0.005" pos="{LEVER} 0 0" mass="0"/>'
    "</body></worldbody></mujoco>"
)


@dataclass(frozen=True)
class Felt:
    """Lengths of a turning device are those of its angle."""

    depth: float  # [m, rad] behind the wall, at rest
    late: float  # [m, rad] behind the wall beyond F/K, at any tick at rest
    struck: float  # [m, rad] the same, at any tick from the first touch on
    early: float  # [m, rad] before the wall, where more is felt than twice its own friction
    allowed: float  # [m, rad] 1 mm, or as much at the lever
    force: float  # [N, N·m] at rest
    swing: float  # [m, rad] of the true position, at rest
    ripple: float  # [N, N·m] rms of the force, at rest
    drag: float  # [N, N·m] the largest command in free space, at any tick
    own: float  # [N, N·m] the device's own friction
    count: float  # [m, rad] one step of its encoder
    over_cap: float  # [-] largest force or torque over its cap, at any tick
    over_slew: float  # [-] largest step over the slew, at any tick
    lever: float  # [m] of what is about forces, for what turns; 1 else


def model(name: str) -> Preset:
    """A preset; a wheel of 2 N·m."""
    return preset(name, **({"torque": known(2.0, "a test")} if name == "wheel" else {}))


def wanted_depth(device: Preset, stiffness: float, hand: float, turns: bool) -> float:
    """[m, rad] behind the wall, so that it presses with 0.7 of what it can hold."""
    sheet, kind = device.sheet, "torque" if turns else "force"
    held = sheet.get(f"{kind}_continuous") or sheet.need(kind)
    return min(0.7 * held * (1.0 / hand + 1.0 / stiffness), DEEPEST / (LEVER if turns else 1.0))


def led(gap: float, depth: float, reach: float, turns: bool) -> tuple[Guided, float]:
    """A hand that rests, goes behind the wall and stays there; when it has arrived [s]."""
    arrived = 0.3 + (gap + depth) * reach / SPEED
    path = np.zeros((4, 8))
    path[:, 0] = 0.0, 0.3, arrived, arrived + SETTLED + WATCHED
    way = np.array([0.0, 0.0, gap + depth, gap + depth])
    path[:, 4] = 1.0
    if turns:
        path[:, 4], path[:, 7] = np.cos(0.5 * way), np.sin(0.5 * way)
    else:
        path[:, 1] = way
    k, b = HAND
    hand = Guided(
        path=path.tolist(), stiffness=k, damping=b,
        rotational_stiffness=k * LEVER**2, rotational_damping=b * LEVER**2,
    )  # fmt: skip
    return hand, arrived


def feel(name: str, rate: float = 1000.0, coupling: Coupling | None = None) -> Felt:
    """The default session of a preset, led at 0.1 m/s against a wall."""
    device = model(name)
    turns = not device.sheet.actuated[:3].any()
    reach = LEVER if turns else 1.0
    axis, gap = (5, GAP / reach) if turns else (0, GAP)
    stiffness = device.sheet.need("stiffness") if device.takes_motion else device.gains()[0][axis]
    depth = wanted_depth(device, stiffness, HAND[0] * reach**2, turns)
    hand, arrived = led(gap, depth, reach, turns)
    session = Session(LATCH if turns else BALL, device=device, coupling=coupling, rate=rate)
    run = session.run(arrived + SETTLED + WATCHED, hand)
    return measured(run, device, axis, gap, arrived, stiffness)


def measured(
    run: Trace, device: Preset, axis: int, gap: float, arrived: float, stiffness: float
) -> Felt:
    """What came of it, sampled at every tick."""
    turns, sheet, safety = axis == 5, device.sheet, device.safety
    q = run["device_quaternion"]
    place = 2.0 * np.arctan2(q[:, 3], q[:, 0]) if turns else run["device_position"][:, 0]
    sent, time = run["device_wrench"], run["time"]
    # what the hand feels of a display is its own wrench: motors of that do what they like
    felt = run["hand_wrench"] if device.takes_motion else sent
    along, still = felt[:, axis], time >= arrived + SETTLED
    touched = int(np.argmax(run["contacts"] > 0))
    own = sheet.need("turning_friction" if turns else "friction")
    strong = np.abs(along) > 2.0 * max(own, 0.05 * (LEVER if turns else 1.0))
    free = np.arange(len(time)) < touched - 1  # rigid contact is felt a tick early
    if device.takes_motion:  # its mass is felt while it gets going
        free &= place > 0.5 * gap
        strong &= place > 0.5 * gap
    behind = place - gap - np.abs(along) / stiffness
    return Felt(
        depth=float(place[still].mean() - gap),
        late=float(behind[still].max()),
        struck=float(behind[touched:].max()),
        early=float((gap - place[strong]).max(initial=0.0)),
        allowed=1e-3 / (LEVER if turns else 1.0),
        force=float(np.abs(along[still]).mean()),
        swing=float(np.ptp(place[still])),
        ripple=float(along[still].std()),
        drag=float(np.abs(along[free]).max()),
        own=own,
        count=sheet.get("turning_resolution" if turns else "resolution") or 0.0,
        over_cap=max(float(lengths(sent, b).max() / safety.length[b]) for b in range(2)),
        over_slew=max(
            float(lengths(np.diff(sent, axis=0), b).max() / (safety.slew[b] * (time[1] - time[0])))
            for b in range(2)
        ),
        lever=LEVER if turns else 1.0,
    )


def lengths(wrenches: np.ndarray, block: int) -> np.ndarray:
    """[N, N·m] of forces (0) or torques (1)."""
    return np.asarray(np.linalg.norm(wrenches[:, 3 * block : 3 * block + 3], axis=1))


# --- a peg in a hole, in six directions

HOLE, PEG, LONG = 0.0101, 0.01, 0.03  # [m] half the hole, half the peg, half its length
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1))
IN_HOLE = World.from_string(
    '<mujoco><default><geom friction="0.3 0 0"/></default><option gravity="0 0 0"/><worldbody>'
    + "".join(
        f'<geom type="box" pos="{x * (HOLE + 0.02)} {y * (HOLE + 0.02)} 0" size="'
        f'{0.02 if x else 0.05} {0.02 if y else 0.05} 0.02"/>'
        for x, y in SIDES
    )
    + f'<geom type="box" pos="0 0 {-0.02 - LONG}" size="0.05 0.05 0.01"/>'
    f'<body name="peg"><freejoint/><geom type="box" size="{PEG} {PEG} {LONG}" mass="0.2"/></body>'
    "</worldbody></mujoco>"
)


def feel_hole(name: str, rate: float = 4000.0) -> tuple[np.ndarray, np.ndarray, Trace]:
    """A peg pressed into a corner of the hole, its bottom and tilted, all at 0.1 m/s or less.

    Returns swings at rest (6,) [m, rad] and ripples (6,) [N, N·m].
    """
    device = model(name)
    force = device.sheet.get("force_continuous") or device.sheet.need("force")
    push = min(DEEPEST, 0.7 * force / HAND[0])
    arrived = 0.3 + push / SPEED * 4.0
    turn = np.array([1.0, 0.03, 0.0, 0.06])
    turn /= np.linalg.norm(turn)
    end = [push, 0.5 * push, -0.02 - 0.5 * push, *turn]
    still = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    times = (0.0, 0.3, arrived, arrived + SETTLED + WATCHED)
    path = [[t, *place] for t, place in zip(times, (still, still, end, end), strict=True)]
    hand = Guided(
        path=path, stiffness=HAND[0], damping=HAND[1], rotational_stiffness=0.3,
        rotational_damping=0.005,
    )  # fmt: skip
    run = Session(IN_HOLE, device=device, rate=rate).run(times[-1], hand)
    rest = run["time"] >= arrived + SETTLED
    turned = 2.0 * run["device_quaternion"][rest][:, 1:]
    swing = np.concatenate([np.ptp(run["device_position"][rest], axis=0), np.ptp(turned, axis=0)])
    return swing, run["device_wrench"][rest].std(axis=0), run
