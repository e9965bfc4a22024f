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
from scene_files import BALL, MESH, MESH_BODY, mjcf, stl

pytestmark = pytest.mark.slow


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
began = time.process_time()
try:
    World.load("scene.xml")
except SceneError as error:
    # of the child that looks first: the own ru_maxrss begins with that of whoever started this
    child = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() - began + child.ru_utime + child.ru_stime
    print(seconds, child.ru_maxrss << 10, error)
"""

HARMFUL = (
    include_cycle, truncated_mesh, garbage_mesh, nan_mesh, gigabyte_mesh, endless_copies,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("make", HARMFUL, ids=lambda make: make.__name__)
def test_a_harmful_file_ends_in_a_sentence_within_five_seconds_and_a_gigabyte(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    """Seconds of the processor, which a busy machine makes no more of."""
    make(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", LOADING],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    seconds, memory, said = done.stdout.split(maxsplit=2)
    assert float(seconds) < 5.0
    assert int(memory) < screen.MOST_MEMORY
    assert said.startswith("scene.xml is not a scene that Detent loads: ")
    assert len(said.splitlines()) == 1


def test_a_crash_of_the_loader_is_a_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = tmp_path / "crash.py"
    crash.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setattr(screen, "CHILD", crash)
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


def part(inside: Path, text: str) -> Path:
    """A scene with a mesh that includes another file."""
    (inside / "part.xml").write_text(text)
    return mjcf(inside, geom=MESH_BODY, more='<include file="part.xml"/>')


OUTSIDE = "<asset>" + MESH.format("../m.stl") + "</asset>"


def outside_behind_a_comment(inside: Path) -> Path:
    return mjcf(inside, MESH.format("../m.stl"), MESH_BODY, "<!-- a -- b -->")


def outside_behind_a_comment_of_an_include(inside: Path) -> Path:
    return part(inside, f"<mujoco><!-- a -- b -->{OUTSIDE}</mujoco>")


def outside_by_backslashes(inside: Path) -> Path:
    return mjcf(inside, MESH.format("..\\m.stl"), MESH_BODY)


def outside_by_a_folder_that_is_not_there(inside: Path) -> Path:
    return mjcf(inside, MESH.format("none/../../m.stl"), MESH_BODY)


def outside_by_a_mesh_folder_that_is_not_there(inside: Path) -> Path:
    return mjcf(inside, MESH.format("m.stl"), MESH_BODY, '<compiler meshdir="none/../.."/>')


def outside_by_an_included_folder(inside: Path) -> Path:
    (inside / "part.xml").write_text('<mujoco><compiler meshdir=".."/></mujoco>')
    return mjcf(inside, MESH.format("m.stl"), MESH_BODY, '<include file="part.xml"/>')


def outside_by_an_included_mesh(inside: Path) -> Path:
    path = part(inside, f"<mujoco><asset>{MESH.format('m.stl')}</asset></mujoco>")
    path.write_text(path.read_text().replace("<mujoco>", '<mujoco><compiler meshdir=".."/>'))
    return path


def outside_by_a_namespace(inside: Path) -> Path:
    asset = f"<asset>{MESH.format('m.stl')}</asset>"
    return part(inside, f'<mujoco xmlns="q"><compiler meshdir=".."/>{asset}</mujoco>')


def outside_by_a_model(inside: Path) -> Path:
    (inside / "part.xml").write_text(
        f"<mujoco><!-- a -- b -->{OUTSIDE}<worldbody>{MESH_BODY}</worldbody></mujoco>"
    )
    attach = '<frame><attach model="o" body="ball" prefix="x"/></frame>'
    return mjcf(inside, '<model name="o" file="part.xml"/>', attach)


def urdf(inside: Path, mesh: str) -> Path:
    """A hinged link whose base has a mesh."""
    inertial = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    shape = f'<collision><geometry><mesh filename="{mesh}"/></geometry></collision>'
    path = inside / "scene.urdf"
    path.write_text(
        f"""<!-- a -- b --><robot name="r"><link name="base">{inertial}{shape}</link>
        <link name="tip">{inertial}</link><joint name="j" type="continuous">
        <parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>"""
    )
    return path


def outside_by_a_package(inside: Path) -> Path:
    return urdf(inside, "package://none/../m.stl")


def outside_by_a_way_back(inside: Path) -> Path:
    return urdf(inside, "package://x/../../scene/../m.stl")


def outside_by_a_link_of_a_package(inside: Path) -> Path:
    (inside / "link").symlink_to(inside.parent)
    return urdf(inside, "package://x/link/m.stl")


WAYS = [make for name, make in sorted(globals().items()) if name.startswith("outside_")]


@pytest.mark.parametrize("make", WAYS, ids=lambda make: make.__name__)
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


UNCLEAR = {
    "an entity": '<mujoco model="&foo;">',
    "a comment in a name": '<mujoco model="<!--"><include file="../other.xml"/><text name="-->"/>',
    "two roots": "<mujoco/><mujoco>",
}


@pytest.mark.parametrize("head", UNCLEAR.values(), ids=UNCLEAR.keys())
def test_what_is_not_xml_is_refused_where_mujoco_would_read_it(head: str, tmp_path: Path) -> None:
    path = mjcf(tmp_path)
    path.write_text(path.read_text().replace("<mujoco>", head))
    with pytest.raises(
        SceneError, match=r"not well-formed XML, line 1, column .*allow_outside=True"
    ):
        World.load(path)


def test_names_that_xml_would_alter_and_types_are_refused(tmp_path: Path) -> None:
    path = mjcf(tmp_path, more='<include file="a\nb.xml"/>')
    with pytest.raises(SceneError, match="line break"):
        World.load(path)
    path.write_text("<!DOCTYPE mujoco>" + mjcf(tmp_path).read_text())
    with pytest.raises(SceneError, match="document type"):
        World.load(path)
    path = mjcf(tmp_path, more='<include file="LoadModelFromString:&lt;mujoco/>"/>')
    with pytest.raises(SceneError, match="no plain file name"):
        World.load(path)


def test_an_include_in_capitals_is_read_by_mujoco_before_it_refuses_it(tmp_path: Path) -> None:
    (tmp_path / "scene").mkdir()
    (tmp_path / "other.xml").write_text("<mujoco><option/></mujoco>")
    path = mjcf(tmp_path / "scene", more='<INCLUDE file="../other.xml"/>')
    with pytest.raises(SceneError, match="outside its folder"):
        World.load(path)


def test_a_comment_may_have_dashes(tmp_path: Path) -> None:
    stl(tmp_path / "m.stl", 4)
    path = mjcf(tmp_path, MESH.format("m.stl"), MESH_BODY, "<!-- a -- b -->")
    assert World.load(path).model.nmesh == 1
    path = urdf(tmp_path, "package://r/m.stl")
    assert World.load(path).model.nbody == 3  # not fused


def test_text_with_many_open_quotes_is_looked_through_once() -> None:
    with pytest.raises(SceneError, match="not well-formed"):
        World.from_string("<mujoco>" + '<a "' * 200_000)  # for each of them again: minutes


HUGE = {
    "user data": '<size nuserdata="2000000000"/>',
    "a sensor": '<sensor><user dim="2000000000"/></sensor>',
}


@pytest.mark.parametrize("more", HUGE.values(), ids=HUGE.keys())
def test_text_that_asks_for_too_much_is_screened(more: str) -> None:
    text = f"<mujoco>{more}<worldbody>{BALL}</worldbody></mujoco>"
    with pytest.raises(SceneError, match=r"GiB of memory.*--trusted|exceed"):
        World.from_string(text)


def test_memory_that_is_asked_for_but_not_used_is_no_harm(tmp_path: Path) -> None:
    assert World.load(mjcf(tmp_path, more='<size memory="2G"/>')).model.nv == 6


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
    monkeypatch.setattr(screen.subprocess, "Popen", None)
    World.builtin("corner")
    World.from_string(f"<mujoco><worldbody>{BALL}</worldbody></mujoco>")
