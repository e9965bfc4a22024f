"""What `detent play` is told, as a live session does it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from detent.cli import app
from detent.cli.play import parse_friction
from detent.errors import ParameterError
from detent.record.trace import Trace
from detent.world.friction import NO_FRICTION


def played(file: Path, *options: str) -> dict[str, Any]:
    """The head of the trace of a second of `detent play corner` with these options."""
    command = [sys.executable, "-m", "detent", "play", "corner", "--rate", "1000", "--port", "0"]
    command += ["--seconds", "1", "--record", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    trace = Trace.load(file)
    assert len(trace) > 0
    return trace.meta


@pytest.mark.live
def test_how_bodies_meet_can_be_chosen(tmp_path: Path) -> None:
    options = ("--mode", "penalty", "--wall", "seh", "--friction", "0.4,0.3", "--law", "dahl")
    meta = played(tmp_path / "a.arrow", *options, "--coupling", "virtual")
    contact = meta["contact"]
    assert (contact["mode"], contact["wall"]["law"]) == ("penalty", "seh")
    friction = contact["friction"]
    assert (friction["static"], friction["kinetic"], friction["law"]) == (0.4, 0.3, "dahl")
    assert meta["coupling"]["type"] == "VirtualCoupler"


@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "kind", "mode"),
    [
        ("four-channel", "FourChannel", "impulse"),
        ("unilateral", "UnilateralCoupler", "rigid"),
        ("direct", "Direct", "impulse"),
    ],
)
def test_every_coupling_can_be_felt(name: str, kind: str, mode: str, tmp_path: Path) -> None:
    meta = played(tmp_path / "a.arrow", "--coupling", name)
    assert (meta["coupling"]["type"], meta["contact"]["mode"]) == (kind, mode)
    assert meta["contact"]["friction"]["law"] == "none"


def test_friction_as_text() -> None:
    alone = parse_friction("0.5", None)
    assert alone is not None
    assert (alone.static, alone.kinetic, alone.law) == (0.5, 0.4, "reset-integrator")
    assert parse_friction(None, None) is None  # the world's own
    assert parse_friction("none", None) is NO_FRICTION
    for text in ("", "0.3,", "0.3,0.2,0.1", "a,b"):
        with pytest.raises(ParameterError, match="MU_S,MU_K"):
            parse_friction(text, None)


@pytest.mark.parametrize("option", ["--stiffness", "--damping"])
def test_rigid_contact_takes_no_stiffness(option: str) -> None:
    asked = ["play", "corner", "--mode", "rigid", option, "500", "--seconds", "1"]
    refused = CliRunner().invoke(app, asked)
    assert "left out with --mode rigid" in str(refused.exception)
