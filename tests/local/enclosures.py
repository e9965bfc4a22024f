"""Random tools in random enclosures, led along walls and pressed: cases of the local model."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from detent import Contact, LocalModel, Pace, Session, World
from detent.hands import Guided
from detent.setup.prepared import advance
from lab import PLANAR, scene

RATE = 1000.0  # [Hz]
STEP = 1.0 / RATE
WIDTH = 0.032  # [m] from the middle to the walls
RADIUS = 0.016  # [m] of tools
STEPS_OUT = 0.008  # [m] by which cylinders stand out of the walls
EPSILON = 0.005  # [m]
CONTACT = Contact(4000.0, 30.0)
LED = 2.0  # [s] along walls
AWAY = 0.8  # [s] then in the middle
FREE = '<freejoint/><inertial pos="0 0 0" mass="2" diaginertia="0.005 0.005 0.005"/>'


class Case(NamedTuple):
    """What is felt, how, and how fast the engine is."""

    world: World
    hand: Guided
    pace: Pace
    name: str


class Felt(NamedTuple):
    """One run: rows of the trace, true depths [m], and the ages of frames in force [s]."""

    rows: np.ndarray
    depth: np.ndarray
    age: np.ndarray


def prism(rng: np.random.Generator, corners: int) -> str:
    """MJCF of an asset: a prism over points of a circle, from a sliver to a disc."""
    angles = np.sort(rng.uniform(0.0, 2.0 * np.pi, 1)) + 2.0 * np.pi * np.arange(corners) / corners
    sides = np.stack([np.cos(angles), np.sin(angles)], axis=1) * RADIUS
    if corners == 2:  # a sliver: two edges, a millimetre thick
        sides = np.concatenate([sides, sides + np.array([0.0, 0.001])])
    points = [(*side, z) for side in sides for z in (-0.01, 0.01)]
    return mesh(np.array(points))


def mesh(points: np.ndarray) -> str:
    """An asset of these points."""
    numbers = " ".join(f"{value:.7f}" for value in points.reshape(-1))
    return f'<asset><mesh name="tool" vertex="{numbers}"/></asset>'


def tool(rng: np.random.Generator, kind: str) -> tuple[str, str]:
    """Geom and asset of a tool."""
    if kind == "sphere":
        return f'<geom type="sphere" size="{RADIUS}"/>', ""
    if kind == "capsule":
        return '<geom type="capsule" size=".006 .012" euler="90 0 0"/>', ""
    if kind == "box":
        return '<geom type="box" size=".006 .014 .01"/>', ""
    if kind == "mesh":
        points = rng.normal(size=(int(rng.integers(8, 30)), 3))
        return '<geom type="mesh" mesh="tool"/>', mesh(
            RADIUS * points / np.linalg.norm(points, axis=1, keepdims=True)
        )
    return '<geom type="mesh" mesh="tool"/>', prism(rng, int(rng.integers(2, 13)))


def walls(rng: np.random.Generator, kind: str) -> str:
    """Geoms of an enclosure: planes, boxes, or boxes with cylinders before them."""
    out = ""
    for angle in 0.5 * np.pi * np.arange(4):
        x, y = WIDTH * np.cos(angle), WIDTH * np.sin(angle)
        turn = f'euler="0 0 {np.degrees(angle)}"'
        if kind == "planes":
            out += f'<geom type="plane" size="1 1 .1" pos="{x} {y} 0" zaxis="{-x} {-y} 0"/>'
        else:
            out += f'<geom type="box" size=".02 .1 .1" pos="{x * 1.625} {y * 1.625} 0" {turn}/>'
        if kind == "cylinders":
            radius = rng.uniform(0.01, 0.02)
            far = 1.0 + (radius - STEPS_OUT) / WIDTH
            out += f'<geom type="cylinder" size="{radius} .1" pos="{x * far} {y * far} 0"/>'
    return out


def path(rng: np.random.Generator, speed: float) -> list[tuple[float, float, float, float]]:
    """Against a wall, to and fro along it and round the corners, then away to the middle."""
    rows, time, side = [(0.0, 0.0, 0.0, 0.0)], 0.0, int(rng.integers(4))
    while time < LED:
        angle = 0.5 * np.pi * side
        out, along = WIDTH - RADIUS + rng.uniform(0.004, 0.018), rng.uniform(-0.012, 0.012)
        x = out * np.cos(angle) - along * np.sin(angle)
        y = out * np.sin(angle) + along * np.cos(angle)
        way = float(np.hypot(x - rows[-1][1], y - rows[-1][2]))
        time += max(way / speed, 0.02)
        rows.append((time, x, y, 0.0))
        side += int(rng.choice([0, 0, 0, 1]))
    rows.append((time + 0.05, 0.0, 0.0, 0.0))
    return rows


def make_case(seed: int, pace: Pace | None = None) -> Case:
    """The case of a seed, with its own pace or another."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["prism", "prism", "sphere", "capsule", "box", "mesh"]))
    around = str(rng.choice(["planes", "boxes", "cylinders"]))
    geom, asset = tool(rng, kind)
    joints = PLANAR if kind != "mesh" else FREE
    text = scene(f'{walls(rng, around)}<body name="tool">{joints}{geom}</body>', more=asset)
    speed = rng.uniform(0.02, 0.5)
    own = Pace(
        float(np.exp(rng.uniform(np.log(0.001), np.log(0.1)))),
        latency=float(rng.uniform(0.0, 0.05)),
        jitter=float(rng.uniform()),
        loss=float(rng.uniform(0.0, 0.3)),
        seed=seed,
    )
    hand = Guided(400.0, 10.0, float(rng.choice([0.02, 1.0])), 0.02, path=path(rng, speed))
    name = f"{seed}: {kind} among {around}, {speed:.2f} m/s, {1e3 * own.period:.0f} ms"
    return Case(World.from_string(text, tool="tool"), hand, pace or own, name)


def feel(case: Case, local: LocalModel | None, seconds: float = LED + AWAY) -> Felt:
    """Run a case in lockstep."""
    pace = case.pace if local is not None else None
    session = Session(case.world, CONTACT, rate=RATE, local=local, pace=pace)
    ticks = round(seconds * RATE)
    ready = session.prepare(case.hand, RATE, ticks)
    times = {0: 0.0}
    engine = None
    if local is not None:
        engine = session.play_engine(ready)
        note_frames(engine, times)
    advance(ready, case.hand, 0, ticks, engine)
    rows = ready.servo.ring[:ticks].copy()
    seen = np.array([times.get(int(n), 0.0) for n in rows["update"]])
    return Felt(rows, true_depths(case.world, rows), rows["time"] - seen)


def note_frames(engine: object, times: dict[int, float]) -> None:
    """times ← when the tool was as an update saw it, by the number of the update."""
    frames = engine._frames  # type: ignore[attr-defined]
    make = frames.make

    def noted(state: np.ndarray) -> np.ndarray:
        out = make(state)
        times[frames.sequence] = float(state[0])
        return np.asarray(out)

    frames.make = noted


def true_depths(world: World, rows: np.ndarray) -> np.ndarray:
    """[m] How deep the tool is in the world at each row, by MuJoCo."""
    model, out = world.model, np.zeros(len(rows))
    data = mujoco.MjData(model)
    for t, row in enumerate(rows):
        place, turn = row["tool_position"], row["tool_quaternion"]
        if model.nq == 7:
            data.qpos[:3], data.qpos[3:] = place, turn
        else:
            data.qpos[:] = place[0], place[1], 2.0 * np.arctan2(turn[3], turn[0])
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        out[t] = max(-data.contact.dist.min(), 0.0) if data.ncon else 0.0
    return out


def too_deep(case: Case, felt: Felt, exact: Felt) -> np.ndarray:
    """[m] By how much depths exceed what is allowed beside the synchronous session.

    v a − ε + 0.3 mm where that is positive, 0.3 mm elsewhere: v is the speed of the fastest point
    of the tool, a the age of the frame behind the update in force, both the largest of the last
    half second, within which a late landing heals; the synchronous depth likewise.
    """
    twist = felt.rows["tool_twist"]
    speed = np.linalg.norm(twist[:, :3], axis=1) + RADIUS * np.linalg.norm(twist[:, 3:], axis=1)
    late = recent(speed * felt.age, 0.5) - EPSILON
    return felt.depth - recent(exact.depth, 0.1, ahead=0.1) - np.maximum(late, 0.0) - 3e-4


def recent(values: np.ndarray, seconds: float, ahead: float = 0.0) -> np.ndarray:
    """The largest value of the last seconds, and of some to come."""
    back, on = round(seconds * RATE), round(ahead * RATE)
    padded = np.concatenate([np.zeros(back), values, np.zeros(on)])
    return np.lib.stride_tricks.sliding_window_view(padded, back + on + 1).max(axis=1)
