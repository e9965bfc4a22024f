"""Scenes from the wild: every MJCF of gymnasium and dm_control, held and pushed.

``python tests/wild.py FOLDER`` runs them all, each in a process of its own, and prints the
table; `make test-scenes` installs the packages and calls it.
"""

from __future__ import annotations

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

SECONDS, RATE = 2.0, 1000.0
MOST_SPEED, MOST_SPIN = 100.0, 1000.0  # [m/s, rad/s]
PATIENCE = 300.0  # [s] for one scene, compilation included
AT_ONCE = 2
REQUIRED = 0.95

#: what `make test` runs: hands, arms, loops, tendons, muscles, fluids, several trees, no names
SAMPLE = (
    "dm_control/suite/manipulator.xml",
    "dm_control/suite/quadruped.xml",
    "dm_control/suite/ball_in_cup.xml",
    "dm_control/suite/fish.xml",
    "dm_control/suite/humanoid_CMU.xml",
    "dm_control/third_party/kinova/jaco_arm.xml",
    "dm_control/mujoco/testing/assets/cartpole_no_names.xml",
    "gymnasium/envs/mujoco/assets/ant.xml",
    "gymnasium/envs/mujoco/assets/pusher_v5.xml",
    "gymnasium/envs/mujoco/assets/walker2d_v5.xml",
)


def package_folder() -> Path | None:
    """Where `make` has put the packages, or where this interpreter has them."""
    own = Path(__file__).parents[1] / ".venv-scenes"
    for found in (*own.glob("lib/python*/site-packages"), *map(Path, sys.path)):
        if (found / "dm_control").is_dir() and (found / "gymnasium").is_dir():
            return found
    return None


def moving_scenes(folder: Path) -> Iterator[Path]:
    """MJCF files of both packages that MuJoCo loads and in which something moves."""
    for package in ("dm_control", "gymnasium"):
        for path in sorted((folder / package).rglob("*.xml")):
            try:
                model = mujoco.MjModel.from_xml_path(str(path))
            except ValueError:
                continue
            if model.nv:
                yield path


def held_bodies(model: mujoco.MjModel) -> list[str]:
    """What is held in turn: what `detent play` would propose first and last, and a root."""
    from detent.world.holdable import worth_holding

    found = worth_holding(model)
    names = [found[0].name, found[-1].name] if found else []
    root = int(model.tree_bodyadr[np.argmax(model.tree_bodynum)])
    if min(model.body_mass[root], *model.body_inertia[root]) > 0.0:
        names.append(model.body(root).name or f"#{root}")
    return list(dict.fromkeys(names))


def push(model: mujoco.MjModel, trees: set[int]) -> np.ndarray:
    """[N] Half of what the tool weighs on earth, or of what it has in inertia per second."""
    mass = float(model.body_mass[np.isin(model.body_treeid, list(trees))].sum())
    return 0.5 * 9.81 * mass * np.array([0.8, 0.5, 0.33])


class Speeds:
    """The fastest that any body of a scene has been."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model, self.most = model, np.zeros(2)
        self.moving = np.nonzero(model.body_treeid >= 0)[0]

    def look(self, data: mujoco.MjData) -> None:
        """Note the speeds of the present state."""
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_comPos(self.model, data)
        mujoco.mj_comVel(self.model, data)
        twist = np.zeros(6)
        for body in self.moving:
            mujoco.mj_objectVelocity(
                self.model, data, mujoco.mjtObj.mjOBJ_BODY, int(body), twist, 0
            )
            now = np.linalg.norm(twist[3:]), np.linalg.norm(twist[:3])
            self.most = np.where(np.isfinite(now), np.maximum(self.most, now), np.inf)


def by_mujoco(world: Any, force: np.ndarray) -> np.ndarray:
    """The fastest speeds in MuJoCo's own simulation of the same push, as its owner set it up."""
    model = world.model
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = world.qpos, world.qvel
    data.ctrl[:], data.act[:] = world.ctrl, world.act
    speeds, every = Speeds(model), max(1, round(0.01 / model.opt.timestep))
    for step in range(round(SECONDS / model.opt.timestep)):
        sway = np.sin(2.0 * np.pi * step * model.opt.timestep)
        data.qfrc_applied[:] = 0.0
        turn = data.xmat[world.held].reshape(3, 3)
        point = data.xpos[world.held] + turn @ world.point
        mujoco.mj_applyFT(
            model, data, sway * force, np.zeros(3), point, world.held, data.qfrc_applied
        )
        mujoco.mj_step(model, data)
        if step % every == 0:
            speeds.look(data)
    return speeds.most


def by_detent(world: Any, force: np.ndarray) -> tuple[np.ndarray, str]:
    """The fastest speeds in a session with the defaults, and what MuJoCo warned of."""
    from detent import Session
    from detent.hands import Sinusoid
    from detent.servo.loop.loop import run_lockstep
    from detent.setup.notes import physics_warnings
    from detent.setup.prepared import raise_fault

    session = Session(world, rate=RATE)
    ready = session.prepare(Sinusoid(force=force, frequency=1.0), RATE, ring=16)
    speeds = Speeds(ready.model)
    look = mujoco.MjData(ready.model)
    for _ in range(round(SECONDS * RATE / 10)):
        run_lockstep(ready.servo, 10)
        raise_fault(ready.servo, ready.servo.ring)
        look.qpos[:], look.qvel[:] = ready.data.qpos, ready.data.qvel
        speeds.look(look)
    return speeds.most, "; ".join(physics_warnings(ready.data))


def try_scene(path: Path) -> dict[str, Any]:
    """Hold one scene by each of a few bodies and push; what came of it."""
    from detent import World
    from detent.errors import DetentError, ServoFault

    model = mujoco.MjModel.from_xml_path(str(path))
    out: dict[str, Any] = {"freedom": int(model.nv), "held": [], "result": "runs", "why": ""}
    for name in held_bodies(model):
        try:
            world = World.load(path, tool=name, allow_outside=True, trusted=True)
            force = push(world.model, world.trees)
            most, warned = by_detent(world, force)
        except ServoFault as error:
            return out | {"result": "stops", "why": f"{name}: {error}"}
        except DetentError as error:
            return out | {"result": "refused", "why": f"{name}: {error}"}
        out["held"].append(name)
        out["speed"], out["spin"] = map(
            float, np.maximum(most, (out.get("speed", 0), out.get("spin", 0)))
        )
        if warned:
            out |= {"result": "warned", "why": f"{name}: {warned}"}
        if (most > (MOST_SPEED, MOST_SPIN)).any() or not np.isfinite(most).all():
            own = by_mujoco(world, force)
            if not (own > (MOST_SPEED, MOST_SPIN))[most > (MOST_SPEED, MOST_SPIN)].all():
                why = f"{name}: {most[0]:.3g} m/s, {most[1]:.3g} rad/s"
                why += f"; MuJoCo {own[0]:.3g}, {own[1]:.3g}"
                return out | {"result": "diverges", "why": why}
    if not out["held"]:
        out |= {"result": "refused", "why": "no body has a mass and an inertia"}
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
    return out | {"scene": str(path.relative_to(folder)), "seconds": time.monotonic() - began}


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
        fastest = f"{one.get('speed', 0.0):8.3g} m/s {one.get('spin', 0.0):8.3g} rad/s"
        head = f"{one['result']:9} {one['scene']:76} {one.get('freedom', 0):4}"
        print(f"{head} {fastest}  {', '.join(one.get('held', []))} {one['why']}")
    count = Counter(one["result"] for one in results)
    print(f"{len(results)} scenes:", ", ".join(f"{n} {result}" for result, n in count.items()))
    gracious = count["runs"] + count["refused"]  # in one sentence, at load
    return count["runs"] >= REQUIRED * len(results) and gracious == len(results)


def main() -> None:
    """Run all scenes of a folder, or one scene."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(try_scene(Path(sys.argv[2]))))
        return
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else package_folder()
    if folder is None:
        sys.exit("gymnasium and dm_control are not installed: make test-scenes")
    from detent.cli.common import compile_first, working

    compile_first()
    paths = list(moving_scenes(folder))
    with working(f"{len(paths)} scenes") as progress:
        results = run_all(paths, folder, progress)
    sys.exit(0 if print_table(results) else 1)


if __name__ == "__main__":
    main()
