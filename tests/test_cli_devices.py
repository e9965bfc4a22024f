"""`detent devices`: what is known of each, what is missing, and what `detent play` makes of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from faking import FAKED, Library
from typer.testing import CliRunner

from detent.cli import app
from detent.cli.devices import chosen_device, list_devices
from detent.cli.mapping import map_device
from detent.devices import SHEETS, Desktop, Gripper, Inertial, Mapped, Preset, known
from detent.devices.drivers import DRIVERS, inverse3, twodiy, wheel
from detent.devices.drivers.driver import Driver
from detent.devices.file import save_device
from detent.errors import DeviceMissingError, ParameterError, UnknownNameError


def said(*words: str) -> str:
    done = CliRunner().invoke(app, ["devices", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_list_has_every_preset_and_what_every_driver_needs() -> None:
    found = json.loads(said("--json"))
    assert set(found["presets"]) == set(SHEETS)
    assert set(found["drivers"]) == set(DRIVERS)
    assert "0.88" in found["presets"]["touch"]["force_continuous"]
    assert "assumed: " in found["presets"]["touch"]["damping"]
    assert "torque" not in found["presets"]["wheel"]
    text = said()
    assert all(name in text for name in SHEETS)
    assert "unknown" in text  # the torque of a wheel


def test_the_list_says_what_is_plugged_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By files, by a service, and by the vendor's library, where it is."""
    monkeypatch.setenv("FDSDK", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    here = {name: one["here"] for name, one in json.loads(said("--json"))["drivers"].items()}
    assert here["forcedimension"] == "no libdrd" and here["touch"] == "no libHD"
    line = tmp_path / "ttyACM7"
    line.touch()
    monkeypatch.setattr(twodiy, "LINES", (str(tmp_path / "tty*"),))
    monkeypatch.setattr(wheel, "LINES", (str(tmp_path / "tty*"),))
    folder = tmp_path / "lib"
    folder.mkdir()
    library = Library("libdrd")
    shutil.copy(library.path, folder / "libdrd.so.3")
    with FAKED["inverse3"](tmp_path) as faked:
        monkeypatch.setattr(inverse3, "ADDRESS", faked.fake.address)
        here = {name: one["here"] for name, one in json.loads(said("--json"))["drivers"].items()}
        assert here["inverse3"] == "049D"
        faked.fake.unplug()
        assert "nothing plugged in" in said()
    assert here["2diy"] == here["wheel"] == f"{line} may be it"
    assert here["forcedimension"] == "1 plugged in"


@pytest.mark.live
def test_a_driver_of_the_page_can_be_copied_and_keeps_the_contract(tmp_path: Path) -> None:
    """Both forms, as they stand there, each in less than 100 lines."""
    page = Path(__file__).parents[1] / "docs" / "your-device.md"
    for code in re.findall(r"```(?:python|c)\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        if named := re.match(r'(?:"""|/\* )(\w+\.\w+)', code):
            (tmp_path / named[1]).write_text(code, encoding="utf-8")
            assert code.count("\n") < 100
    compiler = shutil.which("gcc") or shutil.which("cc")
    build = [compiler, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", "mine.so", "mine.c"]
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if compiler:
        subprocess.run(build, cwd=tmp_path, check=True)
    for module in ("my_device", "my_native") if compiler else ("my_device",):
        command = [sys.executable, "-m", "detent", "devices", "test", f"{module}:device", "--json"]
        tried = subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, text=True)
        assert tried.returncode == 0, tried.stdout + tried.stderr
        assert [one["passed"] for one in json.loads(tried.stdout)].count(True) >= 6


@pytest.mark.parametrize("name", ["no_such_module:device", "json:device", "json:loads", ":x"])
def test_what_is_no_driver_of_ones_own_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="device"):
        CliRunner().invoke(app, ["devices", "test", name], catch_exceptions=False)


def test_show_has_the_sources_and_the_assumptions() -> None:
    text = said("show", "sigma.7")
    assert "says 20" in " ".join(text.split())
    assert json.loads(said("show", "sigma.7", "--json"))["force"].startswith("12 ")
    with pytest.raises(UnknownNameError, match="omega"):
        CliRunner().invoke(app, ["devices", "show", "omega"], catch_exceptions=False)


def test_the_test_of_a_device_without_its_library_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FDSDK", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    done = CliRunner().invoke(app, ["devices", "test", "omega.3"])
    assert done.exit_code == 1
    assert "forcedimension.com" in " ".join(done.output.split())
    assert DeviceMissingError("libdrd", "x").remedy == "x"


def test_play_has_a_device_with_limits_unless_an_ideal_one_is_asked_for(tmp_path: Path) -> None:
    assert isinstance(chosen_device(None), Desktop)
    assert type(chosen_device("ideal")) is Inertial
    touch = chosen_device("touch")
    assert isinstance(touch, Preset) and touch.name == "touch"
    assert isinstance(chosen_device("real:touch"), Driver)
    path = tmp_path / "mine.json"
    save_device(path, "touch", {"mass": known(0.06, "a chirp")})
    mine = chosen_device(str(path))
    assert isinstance(mine, Preset) and mine.sheet.need("mass") == 0.06
    itself = chosen_device(f"real:{path}")
    assert isinstance(itself, Driver) and itself.preset.sheet.need("mass") == 0.06
    with pytest.raises(UnknownNameError, match="touch"):
        chosen_device("tuch")


def test_a_device_is_mapped_in_a_line() -> None:
    plain = chosen_device("falcon")
    assert map_device(plain, None) is plain
    text = "scale=3, clutch=1,engage=0,grab=2,rate_zone=0.05:2,rotation=1:0:0:0,force=1.5"
    assert map_device(plain, text) == Mapped(
        plain, scale=3.0, clutch=1, engage=0, grab=2, rate_zone=(0.05, 2.0), force=1.5
    )
    gripped = map_device(chosen_device("omega.7"), "gripper=claw:0.03:0:0:0.02")
    assert isinstance(gripped, Mapped)
    assert gripped.gripper == Gripper("claw", (0.03, 0.0), (0.0, 0.02))


@pytest.mark.parametrize(
    "text", ["", "scale", "scale=x", "skale=2", "clutch=1.5", "rate_zone=1", "gripper=claw", "a=1"]
)
def test_a_mapping_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="mapping"):
        map_device(chosen_device("falcon"), text)


def test_the_list_of_all_things_has_a_line_about_each_device() -> None:
    assert {"Inertial", "AdmittanceDisplay", "touch"} <= set(list_devices())
    assert all(list_devices().values())
