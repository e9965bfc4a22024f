"""Scenes from the wild: MJCF and URDF of packages that Detent has never seen, held and pushed.

``python tests/wild.py FOLDER`` runs them all, each in a process of its own, and prints the
table; `make test-scenes` installs the packages and calls it. Each scene is held at up to three
bodies, pushed with 2 N and with 20 N for two seconds, and let go for two seconds. It passes if

- nothing stops, and no body is faster than 3 m/s and three times what `mj_step` has;
- the hand never gets more than 500 N; and, since a default device is bound to that, the device is
  not asked for more than 500 N either where `mj_step` has no such force at the hand (weight,
  contacts, joints), but in the single tick of an impulse: one in which something arrives, or
  the first of a row (scenes of whose device more is asked are counted beside);
- the tool is at most 5 mm deep, or 1.5 v T with the fastest v of the last 0.2 s, from one second
  on if it starts deeper;
- after the release the energy of scene, device, coupling and contacts, less what the device has
  from the force that it is told to render, rises by at most 0.1 J more than that of the scene in
  `mj_step`.

A URDF that MuJoCo does not load, or in which nothing has a mass, is left out.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import json
import re
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

PUSH, REST, RATE, EVERY = 2.0, 2.0, 1000.0, 10  # [s, s, Hz, ticks]
RAMP = 0.2  # [s] of a session
FORCES = (2.0, 20.0)  # [N]
ALONG = np.array([0.8, 0.5, 0.33]) / np.linalg.norm([0.8, 0.5, 0.33])
MOST_SPEED, TIMES = 3.0, 3.0  # [m/s, -]
MOST_FORCE, MOST_HITS = 500.0, 1  # [N, ticks in a row that have an impulse, and no arrival]
MOST_ARRIVALS = 3  # ticks in a row in which something arrives: heel, sole, toe
MOST_DEPTH, DEEPER, BACK = 0.005, 1.5, 1.0  # [m, -, s]
MOST_RISE = 0.1  # [J]
STRUCK = 0.2  # [s] within which what strikes must be back: v is the speed with which it came
PATIENCE = 600.0  # [s] for one scene, compilation included
AT_ONCE = 2
REQUIRED = 0.98
PACKAGES = ("dm_control", "gymnasium", "gymnasium_robotics", "metaworld")
RANDOM_ONES = 45  # of pybullet's random objects, of which there are a thousand, every so-manieth

#: what `make test` runs: hands, arms, loops, tendons, several trees, a gripper on a mocap body
SAMPLE = (
    "dm_control/suite/manipulator.xml",
    "dm_control/suite/ball_in_cup.xml",
    "dm_control/mujoco/testing/assets/cartpole_no_names.xml",
    "gymnasium/envs/mujoco/assets/walker2d_v5.xml",
    "gymnasium_robotics/envs/assets/fetch/push.xml",
)


def package_folder() -> Path | None:
    """Where `make` has put the packages, or where this interpreter has them."""
    own = Path(__file__).parents[1] / ".venv-scenes"
    for found in (*own.glob("lib/python*/site-packages"), *map(Path, sys.path)):
        if (found / "dm_control").is_dir() and (found / "gymnasium").is_dir():
            return found
    return None


def moving_scenes(folder: Path) -> Iterator[Path]:
    """MJCF files of the packages that MuJoCo loads and in which something moves."""
    for package in PACKAGES:
        for path in sorted((folder / package).rglob("*.xml")):
            try:
                model = mujoco.MjModel.from_xml_path(str(path))
            except ValueError:
                continue
            if model.nv:
                yield path


def robots(folder: Path) -> Iterator[Path]:
    """URDF files of packages in a folder, and those of pybullet's data if it is there."""
    yield from sorted(folder.rglob("*.urdf"))
    yield from sorted((folder.parents[2] / "share").rglob("*.urdf"))
    spec = importlib.util.find_spec("pybullet_data")
    if spec is not None and spec.origin is not None:
        found = sorted(Path(spec.origin).parent.rglob("*.urdf"))
        many = [path for path in found if "random_urdfs" in path.parts]
        yield from (path for path in found if path not in set(many))
        yield from many[::RANDOM_ONES]


def open_scene(path: Path, tool: str | None) -> Any:
    """The world of a scene; an object on nothing is free."""
    from detent import World
    from detent.errors import SceneError

    try:
        return World.load(path, tool=tool, allow_outside=True, trusted=True)
    except SceneError:
        if path.suffix != ".urdf":
            raise
        return World.load(path, tool=tool, allow_outside=True, trusted=True, free=True)


def held_bodies(path: Path) -> list[str]:
    """What is held in turn: what `detent play` would propose first and last, and a root."""
    from detent.errors import ToolNotNamedError
    from detent.world.holdable import worth_holding

    try:
        model = open_scene(path, None).model
    except ToolNotNamedError:
        model = mujoco.MjModel.from_xml_path(str(path))
    found = worth_holding(model)
    names = [found[0].name, found[-1].name] if found else []
    root = int(model.tree_bodyadr[np.argmax(model.tree_bodynum)])
    if min(model.body_mass[root], *model.body_inertia[root]) > 0.0:
        names.append(model.body(root).name or f"#{root}")
    return list(dict.fromkeys(names))


class Look:
    """The fastest that any body has been, how much the energy rose since the release, a force."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        self.moving = np.nonzero(model.body_treeid >= 0)[0]
        self.speed, self.now, self.force = 0.0, 0.0, 0.0
        self.least, self.rises = np.full(2, np.inf), np.zeros(2)

    @property
    def rise(self) -> float:
        """[J] With what springs of contacts hold, or without: what comes from nowhere is in both.

        A spring gives back what it held, and a bound by the step changes what it holds.
        """
        return float(self.rises.min())

    def at(
        self,
        qpos: np.ndarray,
        qvel: np.ndarray,
        released: bool,
        more: float = 0.0,
        held: float = 0.0,
    ) -> None:
        """Note a state; *more* [J] is energy that is not the scene's, *held* that of contacts."""
        model, data = self.model, self.data
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        arms = data.xpos - data.subtree_com[model.body_rootid]
        speeds = data.cvel[:, 3:] + np.cross(data.cvel[:, :3], arms)
        self.now = float(np.linalg.norm(speeds[self.moving], axis=1).max())
        self.now = self.now if np.isfinite(self.now) else np.inf
        self.speed = max(self.speed, self.now)
        if released:
            mujoco.mj_tendon(model, data)
            mujoco.mj_makeM(model, data)
            mujoco.mj_energyPos(model, data)
            mujoco.mj_energyVel(model, data)
            energy = float(data.energy.sum()) + more + np.array([0.0, held])
            self.least = np.minimum(self.least, energy)
            self.rises = np.maximum(self.rises, energy - self.least)


def by_mujoco(world: Any, force: np.ndarray, forces: bool) -> tuple[float, float, float]:
    """MuJoCo's own simulation of the same push: fastest speed, rise of energy, largest force.

    As its owner set it up, and as the session has it: with its step, and a hand that takes hold
    within the ramp. What tumbles goes another way in each; the larger counts.
    """
    same = copy.copy(world.model)
    same.opt.timestep = 1.0 / RATE
    looks = [
        by_steps(world, model, force, ramp, forces)
        for model, ramp in ((world.model, 0.0), (same, RAMP))
    ]
    return tuple(max(getattr(one, what) for one in looks) for what in ("speed", "rise", "force"))


class AtHand:
    """[N] What stands at the hand for all that acts on the tool: F = Λ_h J D⁻¹ T (TH 5.2)."""

    def __init__(self, world: Any, model: mujoco.MjModel) -> None:
        self.world, self.model, self.still = world, model, mujoco.MjData(model)
        self.others = ~np.isin(model.dof_treeid, list(world.trees))

    def weight(self, qpos: np.ndarray) -> np.ndarray:
        """Torques of gravity."""
        out = np.zeros(self.model.nv)
        self.still.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, self.still)
        mujoco.mj_comPos(self.model, self.still)
        mujoco.mj_comVel(self.model, self.still)  # at rest: without Coriolis terms
        mujoco.mj_rne(self.model, self.still, 0, out)
        return -out

    def force(self, qpos: np.ndarray, data: mujoco.MjData) -> float:
        """In a step that has just been made from there."""
        model, held = self.model, self.world.held
        torque = data.qfrc_passive + data.qfrc_actuator + data.qfrc_constraint + self.weight(qpos)
        torque[self.others] = 0.0
        jac, white = np.zeros((6, model.nv)), np.zeros((7, model.nv))
        point = data.xpos[held] + data.xmat[held].reshape(3, 3) @ self.world.point
        mujoco.mj_jac(model, data, jac[:3], jac[3:], point, held)
        mujoco.mj_solveM(model, data, white, np.vstack([jac, torque]))
        felt = np.linalg.pinv(jac @ white[:6].T, 1e-9, hermitian=True) @ (jac @ white[6])
        return float(np.linalg.norm(felt[:3]))


def by_steps(
    world: Any, model: mujoco.MjModel, force: np.ndarray, ramp: float, forces: bool
) -> Look:
    """One of these: the push comes in within *ramp* [s]; with *forces*, what is at the hand."""
    data, look, hand = mujoco.MjData(model), Look(model), AtHand(world, model)
    data.qpos[:], data.qvel[:] = world.qpos, world.qvel
    data.ctrl[:], data.act[:] = world.ctrl, world.act
    step = model.opt.timestep
    every = max(1, round(EVERY / RATE / step))
    for i in range(round((PUSH + REST) / step)):
        data.qfrc_applied[:] = 0.0
        if i * step < PUSH:
            point = data.xpos[world.held] + data.xmat[world.held].reshape(3, 3) @ world.point
            push = force * (min(i * step / ramp, 1.0) if ramp > 0.0 else 1.0)
            mujoco.mj_applyFT(model, data, push, np.zeros(3), point, world.held, data.qfrc_applied)
        before = data.qpos.copy()
        mujoco.mj_step(model, data)
        if forces:
            look.force = max(look.force, hand.force(before, data))
        if i % every == 0:
            look.at(data.qpos, data.qvel, i * step > PUSH)
    return look


def apart(rows: np.ndarray) -> np.ndarray:
    """(n, 6) pose of the device minus that of the tool."""
    w, v = rows["device_quaternion"][:, :1], rows["device_quaternion"][:, 1:]
    a, u = rows["tool_quaternion"][:, :1], rows["tool_quaternion"][:, 1:]
    turn = a * v - w * u - np.cross(v, u)
    size = np.linalg.norm(turn, axis=1, keepdims=True)
    cosine = w * a + (v * u).sum(1, keepdims=True)
    angle = 2.0 * np.arctan2(size, np.abs(cosine)) * np.where(cosine < 0.0, -1.0, 1.0)
    straight = rows["device_position"] - rows["tool_position"]
    return np.hstack([straight, turn * angle / np.maximum(size, 1e-12)])


class Given:
    """[J] What the device and the coupling have, less what the force channel gave the device.

    A device that is told the tool's weight falls as the tool does, from a height of its own that
    no scene knows of: its kinetic energy and the work of what it renders of F_env are left out
    together, and what remains is the work of coupling and constraints on it. Forces are held for a
    tick, in which the device moves by its mean velocity.
    """

    def __init__(self, p: np.void) -> None:
        self.k, self.b = p["coupling_k"].copy(), p["coupling_b"].copy()
        self.work, self.force, self.twist = 0.0, np.zeros(6), np.zeros(6)

    def count(self, rows: np.ndarray) -> float:
        """Until the last of these rows."""
        error = apart(rows)
        pull = self.k * error + self.b * (rows["device_twist"] - rows["tool_twist"])
        forces = rows["topology_wrench"] - pull
        twists = np.vstack([self.twist, rows["device_twist"]])
        held = np.vstack([self.force, forces[:-1]])
        self.work += float((held * (twists[1:] + twists[:-1])).sum()) / (2.0 * RATE)
        self.force, self.twist = forces[-1], twists[-1]
        return self.work + 0.5 * float(self.k @ error[-1] ** 2)


class Springs:
    """[J] What contacts and limits hold; and what limits gave that take a joint back.

    One that starts outside its range is brought back at a bounded speed, and pushed for that.
    """

    def __init__(self) -> None:
        self.given = 0.0

    def hold(self, rows: Any) -> float:
        """Now, ticks after the last time."""
        n = int(rows.count[0])
        depth, contact = np.maximum(-rows.separation[:n], 0.0), rows.geom[:n, 0] >= 0
        if rows.slack_left[0] != 0:
            power = rows.force[:n] * rows.velocity[:n]
            self.given += float(power[~contact].sum()) * EVERY / RATE
            depth = np.where(contact, depth, 0.0)
        return 0.5 * float(np.maximum(rows.stiffness[:n], 0.0) @ depth**2)


def something_arrives(servo: Any) -> bool:
    """Whether a contact of the last tick came from outside within it: its impulse is its first."""
    rows, n = servo.rows, int(servo.rows.count[0])
    s, v = rows.separation[:n], rows.velocity[:n]
    return bool(((s <= 0.0) & (v < 0.0) & (s - v / RATE >= 0.0)).any())


class Hard:
    """The largest forces but for impulses of a single tick: asked of the device, and rendered."""

    def __init__(self) -> None:
        self.asked, self.felt = 0.0, 0.0
        self.hits, self.arrivals = 0, 0

    def count(self, rows: np.ndarray, arrived: list[bool]) -> None:
        """Look at all of these rows."""
        ramp = np.minimum(rows["time"] / RAMP, 1.0)  # as a session begins
        asked = ramp * np.linalg.norm(rows["raw_wrench"][:, :3], axis=1)
        felt = np.linalg.norm(rows["device_wrench"][:, :3], axis=1)
        struck = rows["collisions"] > 0
        for i in range(len(rows)):
            hard = bool(struck[i]) and asked[i] > MOST_FORCE
            self.arrivals = self.arrivals + 1 if hard and arrived[i] else 0
            self.hits = self.hits + 1 if hard and not arrived[i] else 0
            if hard and self.hits <= MOST_HITS and self.arrivals <= MOST_ARRIVALS:
                continue
            self.asked = max(self.asked, float(asked[i]))
            self.felt = max(self.felt, float(felt[i]))


def by_detent(world: Any, force: np.ndarray) -> tuple[Look, Hard, list[str]]:
    """A session with the defaults; what was wrong but for speed, force and energy."""
    from detent import Session
    from detent.hands import Constant
    from detent.servo.loop.loop import run_lockstep
    from detent.setup.notes import physics_warnings
    from detent.setup.prepared import raise_fault

    ready = Session(world, rate=RATE).prepare(Constant(force=force), RATE, ring=EVERY)
    servo, look, hard, springs = ready.servo, Look(world.model), Hard(), Springs()
    given = Given(servo.parameters[0])
    rows, starts_deep, deepest = servo.ring, False, 0.0
    speeds = deque([0.0], maxlen=round(STRUCK * RATE) // EVERY)
    for i in range(round((PUSH + REST) * RATE) // EVERY):
        released = i * EVERY >= PUSH * RATE
        if released:
            servo.parameters["hand_bias"] = 0.0
        arrived = []
        for _ in range(EVERY):
            before = ready.data.qpos.copy(), ready.data.qvel.copy()  # as the last row has them
            run_lockstep(servo, 1)
            arrived.append(something_arrives(servo))
        raise_fault(servo, rows)
        held = springs.hold(servo.rows)
        more = given.count(rows) - springs.given
        look.at(*before, released, more, held)
        hard.count(rows, arrived)
        starts_deep = starts_deep or (i == 0 and rows["depth"][0] > MOST_DEPTH)
        depth = float(rows["depth"].max())
        speeds.append(look.now)  # with which it came
        allowed = max(MOST_DEPTH, DEEPER * max(speeds) / RATE)
        if depth > allowed and not (starts_deep and i * EVERY < BACK * RATE):
            deepest = max(deepest, depth)
    wrong = [f"depth [mm] {1e3 * deepest:.3g}"] if deepest else []
    return look, hard, wrong + physics_warnings(ready.data)


def try_one(path: Path, name: str, size: float) -> tuple[str, str, float]:
    """One body of a scene, pushed: what came of it, and why; the force that was asked for [N]."""
    from detent.errors import DetentError, ServoFault

    try:
        world = open_scene(path, name)
        look, hard, wrong = by_detent(world, size * ALONG)
    except ServoFault as error:
        return "stops", str(error), 0.0
    except DetentError as error:
        return "refused", str(error), 0.0
    if hard.felt > MOST_FORCE * (1.0 + 1e-9):
        wrong.append(f"force that is felt [N] {hard.felt:.3g}")
    if look.speed > MOST_SPEED or look.rise > MOST_RISE or hard.asked > MOST_FORCE:
        speed, rise, most = by_mujoco(world, size * ALONG, hard.asked > MOST_FORCE)
        if look.speed > MOST_SPEED + TIMES * speed:
            wrong.append(f"speed [m/s] {look.speed:.3g}, of mj_step {speed:.3g}")
        if look.rise > MOST_RISE + rise:
            wrong.append(f"energy [J] {look.rise:.3g}, of mj_step {rise:.3g}")
        if hard.asked > max(MOST_FORCE, most):
            wrong.append(f"force [N] {hard.asked:.3g}, of mj_step {most:.3g}")
    return ("fails" if wrong else "runs"), "; ".join(wrong), hard.asked


def not_a_scene(path: Path, said: str) -> bool:
    """Whether a file that was refused is none that MuJoCo runs, or has nothing that could move."""
    if "has no root that is fixed to the world and has a mass" in said:
        return True
    try:
        mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return True
    return False


def try_scene(path: Path) -> dict[str, Any]:
    """Hold one scene by each of a few bodies and push; the worst that came of it."""
    from detent.errors import DetentError

    out: dict[str, Any] = {"held": [], "result": "runs", "why": "", "asked": 0.0}
    try:
        names = held_bodies(path)
    except (DetentError, ValueError) as error:
        result = "left out" if not_a_scene(path, str(error)) else "refused"
        return out | {"result": result, "why": str(error)}
    if not names:
        return out | {"result": "refused", "why": "no body has a mass and an inertia"}
    for name in names:
        out["held"].append(name)
        for size in FORCES:
            result, why, asked = try_one(path, name, size)
            out["asked"] = max(out["asked"], asked)
            if result != "runs":
                said = f"{name}, {size:g} N: {why}"
                out |= {"result": result, "why": f"{out['why']}; {said}" if out["why"] else said}
                if result != "fails":
                    return out
    return out


def scene_name(path: Path, folder: Path) -> str:
    """What a scene is called in the table."""
    return str(path.relative_to(folder) if path.is_relative_to(folder) else Path(*path.parts[-3:]))


def run_one(path: Path, folder: Path) -> dict[str, Any]:
    """One scene in a process of its own: a crash is a result."""
    began = time.monotonic()
    command = [sys.executable, __file__, "--one", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode == 0:
            out = json.loads(done.stdout.splitlines()[-1])
        else:
            said = (done.stderr.splitlines() or ["nothing"])[-1]
            out = {"result": "crashes", "why": f"exit {done.returncode}: {said}"}
    except subprocess.TimeoutExpired:
        out = {"result": "hangs", "why": f"more than {PATIENCE:g} s"}
    return out | {"scene": scene_name(path, folder), "seconds": time.monotonic() - began}


def run_all(
    paths: list[Path], folder: Path, progress: Any = None, kept: Path | None = None
) -> list[dict[str, Any]]:
    """All scenes, two at a time, in the order given; what *kept* has is not run again."""
    known: dict[str, dict[str, Any]] = {}
    if kept is not None and kept.exists():
        known = {one["scene"]: one for one in map(json.loads, kept.read_text().splitlines())}
    results = []

    def result_of(path: Path) -> dict[str, Any]:
        found = known.get(scene_name(path, folder))
        return found if found is not None else run_one(path, folder)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done, result in enumerate(pool.map(result_of, paths)):
            results.append(result)
            if kept is not None and result["scene"] not in known:
                with kept.open("a") as file:
                    file.write(json.dumps(result) + "\n")
            if progress is not None:
                progress((done + 1) / len(paths))
    return results


def print_table(results: list[dict[str, Any]]) -> bool:
    """The table, and whether enough of the scenes run; files that are none do not count."""
    for one in results:
        print(f"{one['result']:8} {one['scene']:76} {', '.join(one.get('held', []))} {one['why']}")
    count = Counter(one["result"] for one in results)
    print(f"{len(results)} scenes:", ", ".join(f"{n} {result}" for result, n in count.items()))
    counted = len(results) - count["left out"]
    print(f"{count['runs']} of {counted} run: {100.0 * count['runs'] / max(counted, 1):.1f} %")
    heavy = sum(one["result"] == "runs" and one["asked"] > MOST_FORCE for one in results)
    print(f"of {heavy} of those the device is asked for more than {MOST_FORCE:g} N, as in mj_step")
    return count["runs"] >= REQUIRED * counted


def main() -> None:
    """Run all scenes of a folder, or one scene."""
    read = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    read.add_argument("folder", nargs="?", type=Path, default=package_folder())
    read.add_argument("--one", type=Path, help="this scene alone, as one line of JSON")
    read.add_argument("--only", default="", help="scenes whose name matches this expression")
    read.add_argument("--kept", type=Path, help="results as lines of JSON: those in it stand")
    asked = read.parse_args()
    if asked.one is not None:
        print(json.dumps(try_scene(asked.one)))
        return
    folder = asked.folder
    if folder is None:
        sys.exit("the packages are not installed: make test-scenes")
    from detent.cli.common import compile_first, working

    compile_first()
    passed = True
    for kind, found in (("scenes", moving_scenes(folder)), ("robots", robots(folder))):
        paths = [path for path in found if re.search(asked.only, scene_name(path, folder))]
        with working(f"{len(paths)} {kind}") as progress:
            results = run_all(paths, folder, progress, asked.kept)
        passed = print_table(results) and passed
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
