"""Scenes from the wild: MJCF and URDF of packages that Detent has never seen, held and pushed.

``python tests/wild.py FOLDER`` runs them all, each in a process of its own, and prints the
table; `make test-scenes` installs the packages and calls it. Each scene is held at up to three
bodies, pushed with 2 N and with 20 N for two seconds, and let go for two seconds. It passes if

- nothing stops, and no body is faster than 3 m/s and three times what `mj_step` has;
- the device is never told more than 500 N in two ticks that follow each other;
- the tool is at most 5 mm deep, or 1.5 v T, from one second on if it starts deeper;
- after the release the energy of scene, device and coupling rises by at most 0.1 J more than
  that of the scene does in `mj_step`.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

PUSH, REST, RATE, EVERY = 2.0, 2.0, 1000.0, 10  # [s, s, Hz, ticks]
FORCES = (2.0, 20.0)  # [N]
ALONG = np.array([0.8, 0.5, 0.33]) / np.linalg.norm([0.8, 0.5, 0.33])
MOST_SPEED, TIMES = 3.0, 3.0  # [m/s, -]
MOST_FORCE = 500.0  # [N]
MOST_DEPTH, DEEPER, BACK = 0.005, 1.5, 1.0  # [m, -, s]
MOST_RISE = 0.1  # [J]
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
    """The fastest that any body has been, and by how much the energy rose since the release."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        self.moving = np.nonzero(model.body_treeid >= 0)[0]
        self.speed, self.now, self.least, self.rise = 0.0, 0.0, np.inf, 0.0

    def at(self, qpos: np.ndarray, qvel: np.ndarray, more: float, released: bool) -> None:
        """Note a state; *more* [J] is energy that is not the scene's."""
        model, data = self.model, self.data
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_comVel(model, data)
        twist, self.now = np.zeros(6), 0.0
        for body in self.moving:
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, int(body), twist, 0)
            size = float(np.linalg.norm(twist[3:]))
            self.now = max(self.now, size if np.isfinite(size) else np.inf)
        self.speed = max(self.speed, self.now)
        if released:
            mujoco.mj_energyPos(model, data)
            mujoco.mj_energyVel(model, data)
            energy = float(data.energy.sum()) + more
            self.least = min(self.least, energy)
            self.rise = max(self.rise, energy - self.least)


def by_mujoco(world: Any, force: np.ndarray) -> Look:
    """MuJoCo's own simulation of the same push, as its owner set it up."""
    model = world.model
    data, look = mujoco.MjData(model), Look(model)
    data.qpos[:], data.qvel[:] = world.qpos, world.qvel
    data.ctrl[:], data.act[:] = world.ctrl, world.act
    step = model.opt.timestep
    every = max(1, round(EVERY / RATE / step))
    for i in range(round((PUSH + REST) / step)):
        data.qfrc_applied[:] = 0.0
        if i * step < PUSH:
            point = data.xpos[world.held] + data.xmat[world.held].reshape(3, 3) @ world.point
            mujoco.mj_applyFT(model, data, force, np.zeros(3), point, world.held, data.qfrc_applied)
        mujoco.mj_step(model, data)
        if i % every == 0:
            look.at(data.qpos, data.qvel, 0.0, i * step > PUSH)
    return look


def stored(row: np.void, p: np.void) -> float:
    """[J] Kinetic energy of the device, and what the coupling holds."""
    apart = row["device_position"] - row["tool_position"]
    turned, back = np.zeros(4), np.zeros(4)
    mujoco.mju_negQuat(back, row["tool_quaternion"])
    mujoco.mju_mulQuat(turned, row["device_quaternion"], back)
    angle = np.zeros(3)
    mujoco.mju_quat2Vel(angle, turned, 1.0)
    k = p["coupling_k"]
    spring = float(k[:3] @ apart**2 + k[3:] @ angle**2)
    return float(row["device_energy"]) + 0.5 * spring


def by_detent(world: Any, force: np.ndarray) -> tuple[Look, list[str], str]:
    """A session with the defaults; what was wrong but for speed and energy; warnings."""
    from detent import Session
    from detent.hands import Constant
    from detent.servo.loop.loop import run_lockstep
    from detent.setup.notes import physics_warnings
    from detent.setup.prepared import raise_fault

    ready = Session(world, rate=RATE).prepare(Constant(force=force), RATE, ring=EVERY)
    servo, look, wrong = ready.servo, Look(world.model), dict[str, float]()
    hard, deep = 0, False
    for i in range(round((PUSH + REST) * RATE) // EVERY):
        released = i * EVERY >= PUSH * RATE
        if released:
            servo.parameters["hand_bias"] = 0.0
        run_lockstep(servo, EVERY)
        raise_fault(servo, servo.ring)
        rows = servo.ring
        look.at(ready.data.qpos, ready.data.qvel, stored(rows[-1], servo.parameters[0]), released)
        deep = deep or (i == 0 and rows["depth"][0] > MOST_DEPTH)
        depth = float(rows["depth"].max())
        allowed = max(MOST_DEPTH, DEEPER * look.now / RATE)
        if depth > allowed and not (deep and i * EVERY < BACK * RATE):
            wrong["depth [mm]"] = max(wrong.get("depth [mm]", 0.0), 1e3 * depth)
        for size in np.linalg.norm(rows["device_wrench"][:, :3], axis=1):
            hard = hard + 1 if size > MOST_FORCE else 0
            if hard > 1:
                wrong["force [N]"] = max(wrong.get("force [N]", 0.0), float(size))
    said = [f"{name} {value:.3g}" for name, value in wrong.items()]
    return look, said, "; ".join(physics_warnings(ready.data))


def try_one(path: Path, name: str, size: float) -> tuple[str, str]:
    """One body of a scene, pushed with so many newtons: what came of it, and why."""
    from detent.errors import DetentError, ServoFault

    try:
        world = open_scene(path, name)
        look, wrong, warned = by_detent(world, size * ALONG)
    except ServoFault as error:
        return "stops", str(error)
    except DetentError as error:
        return "refused", str(error)
    if look.speed > MOST_SPEED or look.rise > MOST_RISE:
        own = by_mujoco(world, size * ALONG)
        if look.speed > MOST_SPEED + TIMES * own.speed:
            wrong.append(f"speed [m/s] {look.speed:.3g}, of mj_step {own.speed:.3g}")
        if look.rise > MOST_RISE + own.rise:
            wrong.append(f"energy [J] {look.rise:.3g}, of mj_step {own.rise:.3g}")
    if warned:
        wrong.append(warned)
    return ("fails", "; ".join(wrong)) if wrong else ("runs", "")


def try_scene(path: Path) -> dict[str, Any]:
    """Hold one scene by each of a few bodies and push; the worst that came of it."""
    from detent.errors import DetentError

    out: dict[str, Any] = {"held": [], "result": "runs", "why": ""}
    try:
        names = held_bodies(path)
    except (DetentError, ValueError) as error:
        return out | {"result": "refused", "why": str(error)}
    if not names:
        return out | {"result": "refused", "why": "no body has a mass and an inertia"}
    for name in names:
        out["held"].append(name)
        for size in FORCES:
            result, why = try_one(path, name, size)
            if result != "runs":
                said = f"{name}, {size:g} N: {why}"
                out |= {"result": result, "why": f"{out['why']}; {said}" if out["why"] else said}
                if result != "fails":
                    return out
    return out


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
    name = path.relative_to(folder) if path.is_relative_to(folder) else Path(*path.parts[-3:])
    return out | {"scene": str(name), "seconds": time.monotonic() - began}


def run_all(paths: list[Path], folder: Path, progress: Any = None) -> list[dict[str, Any]]:
    """All scenes, two at a time, in the order given."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = []
        for done, result in enumerate(pool.map(lambda p: run_one(p, folder), paths)):
            results.append(result)
            if progress is not None:
                progress((done + 1) / len(paths))
    return results


def print_table(results: list[dict[str, Any]]) -> bool:
    """The table, and whether enough of the scenes run."""
    for one in results:
        print(f"{one['result']:8} {one['scene']:76} {', '.join(one.get('held', []))} {one['why']}")
    count = Counter(one["result"] for one in results)
    print(f"{len(results)} scenes:", ", ".join(f"{n} {result}" for result, n in count.items()))
    return count["runs"] >= REQUIRED * len(results)


def main() -> None:
    """Run all scenes of a folder, or one scene."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(try_scene(Path(sys.argv[2]))))
        return
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else package_folder()
    if folder is None:
        sys.exit("the packages are not installed: make test-scenes")
    from detent.cli.common import compile_first, working

    compile_first()
    passed = True
    for kind, found in (("scenes", moving_scenes(folder)), ("robots", robots(folder))):
        paths = list(found)
        with working(f"{len(paths)} {kind}") as progress:
            results = run_all(paths, folder, progress)
        passed = print_table(results) and passed
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
