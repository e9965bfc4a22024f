"""Scene files from outside: what they may read, and what happens to those that do harm."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from detent import World
from detent.errors import SceneError
from detent.world import screen

BALL = '<body name="ball"><freejoint/><geom size=".1"/></body>'


def mjcf(folder: Path, asset: str = "", geom: str = BALL, more: str = "") -> Path:
    """A scene file in *folder*."""
    path = folder / "scene.xml"
    path.write_text(f"<mujoco>{more}<asset>{asset}</asset><worldbody>{geom}</worldbody></mujoco>")
    return path


def stl(path: Path, triangles: int, claimed: int | None = None) -> Path:
    """A binary STL of a tetrahedron's faces, again and again."""
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    one = b"".join(
        struct.pack("<12fH", 0, 0, 0, *(x for i in face for x in corners[i]), 0) for face in faces
    )
    head = b"\0" * 80 + struct.pack("<I", triangles if claimed is None else claimed)
    path.write_bytes(head + (one * (triangles // 4 + 1))[: 50 * triangles])
    return path


MESH = '<mesh name="m" file="{}"/>'
MESH_BODY = '<body name="ball"><freejoint/><geom type="mesh" mesh="m"/></body>'


def include_cycle(folder: Path) -> Path:
    (folder / "b.xml").write_text('<mujoco><include file="scene.xml"/></mujoco>')
    return mjcf(folder, more='<include file="b.xml"/>')


def truncated_mesh(folder: Path) -> Path:
    stl(folder / "m.stl", 4, claimed=100_000)
    return mjcf(folder, MESH.format("m.stl"), MESH_BODY)


def garbage_mesh(folder: Path) -> Path:
    (folder / "m.msh").write_bytes(bytes(range(256)) * 40)
    return mjcf(folder, MESH.format("m.msh"), MESH_BODY)


def nan_mesh(folder: Path) -> Path:
    path = stl(folder / "m.stl", 4)
    raw = bytearray(path.read_bytes())
    raw[96:100] = struct.pack("<f", float("nan"))
    path.write_bytes(raw)
    return mjcf(folder, MESH.format("m.stl"), MESH_BODY)


def gigabyte_mesh(folder: Path) -> Path:
    path = folder / "m.stl"
    with path.open("wb") as file:
        file.write(b"\0" * 80 + struct.pack("<I", (1 << 30) // 50))
        file.truncate(84 + 50 * ((1 << 30) // 50))  # sparse: it costs no disk
    return mjcf(folder, MESH.format("m.stl"), MESH_BODY)


def endless_copies(folder: Path) -> Path:
    many = '<replicate count="100000000" offset="1 0 0"><geom size=".1"/></replicate>'
    return mjcf(folder, geom=BALL + many)


LOADING = """
import resource, time
from detent import World
from detent.errors import SceneError
began = time.monotonic()
try:
    World.load("scene.xml")
except SceneError as error:
    # of the child that looks first: the own ru_maxrss begins with that of whoever started this
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(time.monotonic() - began, memory << 10, error)
"""

HARMFUL = (
    include_cycle, truncated_mesh, garbage_mesh, nan_mesh, gigabyte_mesh, endless_copies,
)  # fmt: skip


@pytest.mark.parametrize("make", HARMFUL, ids=lambda make: make.__name__)
def test_a_harmful_file_ends_in_a_sentence_within_five_seconds_and_a_gigabyte(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    make(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", LOADING], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    seconds, memory, said = done.stdout.split(maxsplit=2)
    assert float(seconds) < 5.0
    assert int(memory) < screen.MEMORY
    assert said.startswith("scene.xml is not a scene that Detent loads: ")
    assert len(said.splitlines()) == 1


def test_a_crash_of_the_loader_is_a_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = tmp_path / "crash.py"
    crash.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setattr(screen, "__file__", str(crash))
    with pytest.raises(SceneError, match=r"crashes MuJoCo's loader \(signal 11\)"):
        World.load(mjcf(tmp_path))


def test_no_file_outside_the_folder_is_read_unless_allowed(tmp_path: Path) -> None:
    inside = tmp_path / "scene"
    inside.mkdir()
    stl(tmp_path / "m.stl", 4)
    path = mjcf(inside, MESH.format("../m.stl"), MESH_BODY)
    with pytest.raises(SceneError, match=r"'\.\./m\.stl', which is outside its folder"):
        World.load(path)
    assert World.load(path, allow_outside=True).model.nmesh == 1


def outside_by_folder(inside: Path) -> Path:
    return mjcf(inside, MESH.format("m.stl"), MESH_BODY, '<compiler meshdir=".."/>')


def outside_by_absolute_name(inside: Path) -> Path:
    return mjcf(inside, MESH.format(inside.parent / "m.stl"), MESH_BODY)


def outside_by_link(inside: Path) -> Path:
    (inside / "m.stl").symlink_to(inside.parent / "m.stl")
    return mjcf(inside, MESH.format("m.stl"), MESH_BODY)


def outside_by_include(inside: Path) -> Path:
    (inside / "part.xml").write_text('<mujoco><include file="../other.xml"/></mujoco>')
    return mjcf(inside, more='<include file="part.xml"/>')


@pytest.mark.parametrize(
    "make",
    [outside_by_folder, outside_by_absolute_name, outside_by_link, outside_by_include],
    ids=lambda make: make.__name__,
)
@pytest.mark.parametrize("trusted", [False, True])
def test_there_is_no_way_round(make: Callable[[Path], Path], trusted: bool, tmp_path: Path) -> None:
    inside = tmp_path / "scene"
    inside.mkdir()
    stl(tmp_path / "m.stl", 4)
    (tmp_path / "other.xml").write_text("<mujoco><option/></mujoco>")
    path = make(inside)
    with pytest.raises(SceneError, match="outside its folder"):
        World.load(path, trusted=trusted)
    World.load(path, trusted=trusted, allow_outside=True)


def test_text_is_screened_where_it_refers_to_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "here"
    inside.mkdir()
    monkeypatch.chdir(inside)
    stl(inside / "m.stl", 4)
    text = mjcf(inside, MESH.format("m.stl"), MESH_BODY).read_text()
    assert World.from_string(text).model.nmesh == 1
    stl(tmp_path / "m.stl", 4)
    with pytest.raises(SceneError, match="outside its folder"):
        World.from_string(text.replace("m.stl", "../m.stl"))


def test_built_in_worlds_and_plain_text_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen.subprocess, "run", None)
    World.builtin("corner")
    World.from_string(f"<mujoco><worldbody>{BALL}</worldbody></mujoco>")


def test_a_scene_that_takes_long_is_loaded_if_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "PATIENCE", 0.01)
    path = mjcf(tmp_path)
    with pytest.raises(SceneError, match=r"longer than 0\.01 s to load; trusted=True waits"):
        World.load(path)
    assert World.load(path, trusted=True).model.nv == 6
