"""A tool that is held by something else: said, and let go."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from detent import Session, World
from detent.cli import app
from detent.errors import UnknownNameError
from detent.hands import Constant
from detent.world.inspect import inspect_world

GRIPPER = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="target" mocap="true" pos="0 0 1"/>
  <body name="arm"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
    <joint type="slide" axis="0 0 1"/><geom size=".05" mass="1"/>
    <body name="gripper" pos="0 0 1"><geom size=".02" mass=".1"/></body></body>
  <body name="ball" pos="3 0 0"><freejoint/><geom size=".1"/></body>
  </worldbody><equality>TIE</equality></mujoco>"""
WELD = '<weld body1="target" body2="gripper"/>'
SENTENCE = "gripper, of the tool, is welded to the mocap body target"


def moved(world: World) -> float:
    """[m] under 20 N for half a second."""
    trace = Session(world).run(0.5, Constant((20.0, 0.0, 0.0)))
    return float(np.ptp(trace["tool_position"][:, 0]))


def test_what_holds_the_tool_is_said_and_lets_go() -> None:
    text = GRIPPER.replace("TIE", WELD)
    held = World.from_string(text, tool="gripper")
    (note,) = Session(held).run(0.01).meta["notes"]
    assert note.startswith(SENTENCE) and "--release target" in note
    assert any(warning.startswith(SENTENCE) for warning in inspect_world(held)["warnings"])
    loose = World.from_string(text, tool="gripper", release=("target",))
    assert not any(SENTENCE in warning for warning in inspect_world(loose)["warnings"])
    assert moved(held) < 1e-4
    assert moved(loose) > 0.5  # ½ (20 N / 2.2 kg) (0.5 s)² = 1.1 m with the device's mass


def test_only_what_holds_the_tool_is_said() -> None:
    world = World.from_string(GRIPPER.replace("TIE", WELD), tool="ball")
    assert not any("mocap" in warning for warning in inspect_world(world)["warnings"])


def test_a_connect_is_called_so_and_other_names_are_refused() -> None:
    tie = WELD.replace("weld", "connect").replace("/>", ' anchor="0 0 0"/>')
    text = GRIPPER.replace("TIE", tie)
    warnings = inspect_world(World.from_string(text, tool="gripper"))["warnings"]
    assert any("is connected to the mocap body target" in warning for warning in warnings)
    with pytest.raises(UnknownNameError, match="that holds something 'arm'; known: target"):
        World.from_string(text, tool="gripper", release=("arm",))


def test_the_command_line_lets_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detent.cli.try_ticks", lambda world, quiet: {})
    scene = tmp_path / "scene.xml"
    scene.write_text(GRIPPER.replace("TIE", WELD))
    for more, said in (([], True), (["--release", "target"], False)):
        command = ["check", str(scene), "--tool", "gripper", "--json", *more]
        warnings = json.loads(CliRunner().invoke(app, command).stdout)["warnings"]
        assert any(SENTENCE in warning for warning in warnings) == said
