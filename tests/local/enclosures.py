"""Random tools in random enclosures, led along walls and pressed: cases of the local model."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

from detent import Contact, LocalModel, Pace, Session, World
from detent.hands import Guided
from detent.local.constants import HEALING
from detent.servo.world.corners import corners_of
from detent.setup.prepared import advance
from detent.world.friction import NO_FRICTION
from lab import PLANAR, scene

RATE = 1000.0  # [Hz]
STEP = 1.0 / RATE
WIDTH = 0.032  # [m] from the middle to the walls
RADIUS = 0.016  # [m] of tools
STEPS_OUT = 0.008  # [m] by which cylinders stand out of the walls
EPSILON = 0.005  # [m]
CONTACT = Contact(4000.0, 30.0, friction=NO_FRICTION)
LED = 2.0  # [s] along walls
AWAY = 0.8  # [s] then in the middle, where what was deformed by 30 mm has healed
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
    depths: np.ndarray  # (ticks, walls) in each wall; negative apart
    age: np.ndarray

    @property
    def depth(self) -> np.ndarray:
        """In the deepest wall."""
        return np.maximum(self.depths.max(axis=1), 0.0)


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
    """Geoms of an enclosure: planes or boxes, also with boxes or cylinders standing out of them."""
    out = ""
    for angle in 0.5 * np.pi * np.arange(4):
        x, y = WIDTH * np.cos(angle), WIDTH * np.sin(angle)
        turn = f'euler="0 0 {np.degrees(angle)}"'
        if kind == "planes":
            out += f'<geom type="plane" size="1 1 .1" pos="{x} {y} 0" zaxis="{-x} {-y} 0"/>'
        else:
            out += f'<geom type="box" size=".02 .1 .1" pos="{x * 1.625} {y * 1.625} 0" {turn}/>'
        if kind == "steps":
            half = rng.uniform(0.006, 0.012)
            far = 1.0 + (0.02 - STEPS_OUT) / WIDTH
            out += f'<geom type="box" size=".02 {half} .1" pos="{x * far} {y * far} 0" {turn}/>'
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


TOOLS = ("prism", "prism", "sphere", "capsule", "box", "mesh")
WALLS = ("planes", "boxes", "steps", "cylinders")


def make_case(
    seed: int,
    pace: Pace | None = None,
    tools: tuple[str, ...] = TOOLS,
    enclosures: tuple[str, ...] = WALLS,
) -> Case:
    """The case of a seed, with its own pace or another."""
    rng = np.random.default_rng(seed)
    kind, around = str(rng.choice(tools)), str(rng.choice(enclosures))
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


def feel(case: Case, local: LocalModel | None) -> Felt:
    """Run a case in lockstep, until the hand has been away for a while."""
    seconds = case.hand.path[-1][0] + AWAY
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
    """(ticks, walls) [m] How deep the tool is in each wall, by plane geometry.

    Every enclosure goes on along z, so a tool is as deep as its shadow on the plane: a convex
    polygon, rounded by the radius of a sphere or a capsule. Nothing of MuJoCo's is used for it.
    """
    model, data = world.model, mujoco.MjData(world.model)
    mujoco.mj_kinematics(model, data)
    fixed = [g for g in range(model.ngeom) if model.geom_bodyid[g] == 0]
    core, radius = tool_core(model, int(model.body_geomadr[world.tool]))
    outlines = shadows(core, rows)
    out = np.zeros((len(rows), len(fixed)))
    for k, wall in enumerate(fixed):
        around, bulge = wall_core(model, data, wall)
        out[:, k] = radius + bulge - apart(outlines, around[None])
    return out


def tool_core(model: mujoco.MjModel, geom: int) -> tuple[np.ndarray, float]:
    """(n, 3) corners in the frame of the tool, and the radius of what is around them."""
    size, turn = model.geom_size[geom], np.zeros(9)
    kind = model.geom_type[geom]
    points = corners_of(model, geom)
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        points = np.zeros((1, 3))
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        points = np.array([(0.0, 0.0, -size[1]), (0.0, 0.0, size[1])])
    mujoco.mju_quat2Mat(turn, model.geom_quat[geom])
    rounded = len(points) <= 2
    return points @ turn.reshape(3, 3).T + model.geom_pos[geom], size[0] if rounded else 0.0


def shadows(core: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(ticks, m, 2) the outlines of a tool, in order; the last corner may be there many times."""
    w, x, y, z = rows["tool_quaternion"].T
    first = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=1)
    second = np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=1)
    points = np.stack([first @ core.T, second @ core.T], axis=2)
    points += rows["tool_position"][:, None, :2]
    if len(core) < 3:
        return points
    hulls = [one[ConvexHull(one).vertices] for one in points]
    most = max(map(len, hulls))
    return np.array([np.concatenate([h, h[-1:].repeat(most - len(h), axis=0)]) for h in hulls])


def wall_core(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> tuple[np.ndarray, float]:
    """Outline of a wall on the plane, and the radius of what is around it."""
    at, turn = data.geom_xpos[geom], data.geom_xmat[geom].reshape(3, 3)
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return at[:2][None, :], float(model.geom_size[geom, 0])
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:  # a thick slab behind it
        out = turn[:2, 2]
        along, back = np.array([-out[1], out[0]]), at[:2] - out
        return np.array([at[:2] - along, at[:2] + along, back + along, back - along]), 0.0
    corners = (corners_of(model, geom) @ turn.T + at)[:, :2]
    return corners[ConvexHull(corners).vertices], 0.0


def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(ticks,) [m] Distances of convex outlines, negative where they overlap: separating axes.

    Corners go round against the clock.
    """
    best = np.full(len(a), -np.inf)
    for one, two in ((a, b), (b, a)):
        edges = np.roll(one, -1, axis=1) - one
        long = np.linalg.norm(edges, axis=2, keepdims=True)
        normals = np.stack([edges[..., 1], -edges[..., 0]], axis=2) / np.where(long > 0, long, 1)
        heights = (two @ np.swapaxes(normals, 1, 2)).min(axis=1) - np.sum(one * normals, axis=2)
        if one.shape[1] > 1:
            best = np.maximum(best, np.where(long[..., 0] > 0, heights, -np.inf).max(axis=1))
    return np.where(best < 0.0, np.where(np.isinf(best), corner_distance(a, b), best),
                    corner_distance(a, b))  # fmt: skip


def corner_distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(ticks,) [m] From the corners of each outline to the edges of the other."""
    best = np.full(len(a), np.inf)
    for one, two in ((a, b), (b, a)):
        ways = np.roll(two, -1, axis=1) - two
        from_edge = one[:, :, None] - two[:, None]
        share = np.sum(from_edge * ways[:, None], axis=3)
        share = np.clip(share / np.maximum(np.sum(ways**2, axis=2), 1e-30)[:, None], 0.0, 1.0)
        left = np.linalg.norm(from_edge - share[..., None] * ways[:, None], axis=3)
        best = np.minimum(best, left.min(axis=(1, 2)))
    return best


def fastest(felt: Felt) -> np.ndarray:
    """[m/s] The speed of the fastest point of the tool."""
    twist = felt.rows["tool_twist"]
    return np.linalg.norm(twist[:, :3], axis=1) + RADIUS * np.linalg.norm(twist[:, 3:], axis=1)


def ways(felt: Felt) -> np.ndarray:
    """[m] v a: how far the tool may have gone since it was as the update in force saw it."""
    speed, ticks = fastest(felt), np.round(felt.age * RATE).astype(int)
    most = [speed[max(t - n, 0) : t + 1].max() for t, n in enumerate(ticks)]
    return np.array(most) * felt.age


def too_deep(felt: Felt, exact: Felt) -> np.ndarray:
    """(ticks, walls) [m] By how much depths exceed what is allowed beside the synchronous session.

    v a − ε + 0.3 mm where that is positive, 0.3 mm elsewhere: a is the age of the frame behind the
    update in force, v the speed of the fastest point of the tool within that time. The largest
    since the tool came to this wall counts: corner after corner may touch it, and what came late
    stays until it has healed, which may wait until the contact is unloaded. The synchronous depth
    is the largest within 0.1 s, since the two do not touch at the same time; and where a late
    landing has led the two apart, so that there is no such depth, what counts is what the springs
    of the tool do not resist.
    """
    late = np.maximum(ways(felt) - EPSILON, 0.0)
    allowed = np.zeros_like(felt.depths)
    for k in range(felt.depths.shape[1]):
        most = 0.0
        for t, inside in enumerate(felt.depths[:, k] > 0.0):
            most = max(most, late[t]) if inside else late[t]
            allowed[t, k] = most
    beside = np.maximum(recent(exact.depth, 0.1, ahead=0.1), felt.rows["depth"])
    return felt.depths - beside[:, None] - allowed - 3e-4


def in_time(felt: Felt) -> bool:
    """Whether every constraint came before it could be touched: v a ≤ ε throughout."""
    return bool(ways(felt).max() <= EPSILON)


def overdue(case: Case, felt: Felt) -> float:
    """[s] By how much a deformation outlives 0.2 s + d / (50 mm/s), once the hand is led away.

    A tool that swings into another wall lands anew: each time that it is deformed by more than
    0.1 mm counts for itself, from the end of the way or from when it was deepest.
    """
    end = round(case.hand.path[-1][0] * RATE)
    deformed = felt.rows["deformation"][end:]
    bounds = np.flatnonzero(np.diff(np.concatenate([[0], deformed >= 1e-4, [0]])))
    late = 0.0
    for begin, gone in bounds.reshape(-1, 2):
        deepest = begin + int(np.argmax(deformed[begin:gone]))
        late = max(late, (gone - deepest) / RATE - 0.2 - deformed[deepest] / HEALING)
    return late


def recent(values: np.ndarray, seconds: float, ahead: float = 0.0) -> np.ndarray:
    """The largest value of the last seconds, and of some to come."""
    back, on = round(seconds * RATE), round(ahead * RATE)
    padded = np.concatenate([np.zeros(back), values, np.zeros(on)])
    return np.lib.stride_tricks.sliding_window_view(padded, back + on + 1).max(axis=1)
