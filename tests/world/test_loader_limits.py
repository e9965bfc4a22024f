"""What loading a scene may take, what it may read, and the words for what is wrong with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from detent import World
from detent.errors import ParameterError, SceneError
from detent.world import reading, screen
from scene_files import BALL, MESH, MESH_BODY, URDF, bars, mjcf, obj, stl

pytestmark = pytest.mark.slow

SLOW_START = f"""
import runpy, sys, time
began = time.process_time()
while time.process_time() < began + 0.6:
    pass
time.sleep(0.6)
sys.argv[0] = {str(screen.CHILD)!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_only_the_processor_time_of_the_scene_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interpreter that starts slowly, on a machine that is busy, refuses nothing."""
    late = tmp_path / "late.py"
    late.write_text(SLOW_START)
    monkeypatch.setattr(screen, "CHILD", late)
    monkeypatch.setattr(screen, "PATIENCE", 0.5)
    assert World.load(mjcf(tmp_path)).model.nv == 6


def test_a_scene_that_needs_the_processor_for_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = '<replicate count="20000" offset="1 0 0"><geom size=".1"/></replicate>'
    path = mjcf(tmp_path, geom=BALL + many)
    monkeypatch.setattr(screen, "PATIENCE", 0.02)
    with pytest.raises(SceneError, match=r"longer than 0\.02 s of the processor.*trusted=True"):
        World.load(path)
    monkeypatch.setattr(screen, "PATIENCE", 60.0)
    monkeypatch.setattr(screen, "WALL_PATIENCE", 0.01)
    with pytest.raises(SceneError, match=r"longer than 0\.01 s on the clock"):
        World.load(path)


SPACE = """
import resource, runpy, sys
child = runpy.run_path(sys.argv[1])
soft, hard = (int(n) for n in sys.argv[2:])
resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
child["_bound_memory"]()
print(*resource.getrlimit(resource.RLIMIT_AS))
"""


@pytest.mark.parametrize(("soft", "hard"), [(3 << 30, -1), (3 << 30, 3 << 30), (-1, -1)])
def test_a_limit_of_the_shell_is_kept(soft: int, hard: int) -> None:
    command = [sys.executable, "-c", SPACE, str(screen.CHILD), str(soft), str(hard)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    expected = reading.SPACE if soft < 0 else soft
    assert done.stdout.split() == [str(expected)] * 2


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("what", ["mesh", "include", "device"])
def test_a_pipe_or_a_device_is_refused_at_once(
    what: str, trusted: bool, outside: bool, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.stl")
    if what == "device":
        (tmp_path / "pipe.stl").unlink()
        (tmp_path / "pipe.stl").symlink_to("/dev/zero")
    path = mjcf(tmp_path, MESH.format("pipe.stl"), MESH_BODY)
    if what == "include":
        path = mjcf(tmp_path, more='<include file="pipe.stl"/>')
    began = time.process_time()
    words = "outside its folder" if what == "device" and not outside else "a pipe or a device"
    with pytest.raises(SceneError, match=words):
        World.load(path, trusted=trusted, allow_outside=outside)
    assert time.process_time() - began < 2.0


WRONG = {
    "nested": ("<mujoco>" + "<default>" * 700 + "</default>" * 700 + "</mujoco>", "too deeply"),
    "empty": ("", "it is empty$"),
    "blank": (" \n", "it is empty$"),
    "comment": ("<!-- a -->", "no element in it$"),
    "closing tag": (
        f"<mujoco>\n<worldbody>\n{BALL}</worldbdy></mujoco>",
        r"line 3, column \d+ \(<worldbody> of line 2 is not closed there\)$",
    ),
    "end": (f"<mujoco><worldbody>{BALL}", r"<worldbody> of line 1 .* where the text ends\)$"),
    "quotes": ("<mujoco><worldbody><body name=b/></worldbody></mujoco>", r"invalid token\)\)$"),
    "tag": ("<mujoco><worldbody><bdy/></worldbody></mujoco>", "unrecognized element <bdy>, line 1"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said_without_advice_that_does_not_help(
    text: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(text)
    with pytest.raises(SceneError, match=words) as error:
        World.load(path)
    assert "outside" not in str(error.value)


def test_a_mesh_of_a_package_that_is_nowhere_is_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF.replace("FILE", "package://robot/meshes/none.stl"))
    for outside in (False, True):
        with pytest.raises(SceneError, match=r"'package://robot/meshes/none\.stl', neither") as e:
            World.load(path, allow_outside=outside)
        assert "--" not in str(e.value)


def test_a_root_names_the_folder_that_may_be_read(tmp_path: Path) -> None:
    """Scenes of packages are spread over folders: one word opens the package, and nothing else."""
    package = tmp_path / "package"
    inside = package / "scenes"
    inside.mkdir(parents=True)
    stl(package / "m.stl", 4)
    path = mjcf(inside, MESH.format("../m.stl"), MESH_BODY)
    with pytest.raises(SceneError, match=rf"--root {package}\) permits it"):
        World.load(path)
    for trusted in (False, True):
        assert World.load(path, root=package, trusted=trusted).model.nmesh == 1
    stl(tmp_path / "m.stl", 4)
    path = mjcf(inside, MESH.format("../../m.stl"), MESH_BODY)
    with pytest.raises(SceneError, match="outside the folder"):
        World.load(path, root=package)
    for wrong in (package / "none", tmp_path / "other"):
        with pytest.raises(ParameterError, match="a folder that holds the scene's"):
            World.load(path, root=wrong)


def test_the_meshes_of_a_package_are_found_up_to_its_root(tmp_path: Path) -> None:
    obj(tmp_path / "robot/meshes/cube.obj", *bars((0, 0, 0, 0.1, 0.1, 0.1)))
    path = tmp_path / "robot/a/b/urdf/arm.urdf"  # three folders below
    path.parent.mkdir(parents=True)
    path.write_text(URDF.replace("FILE", "package://robot/meshes/cube.obj"))
    assert World.load(path, root=tmp_path).model.nmesh == 1
