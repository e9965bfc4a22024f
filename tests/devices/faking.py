"""Drivers on their fakes, for the tests: built with the C compiler, or served by a thread."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from detent import World
from detent.devices import known, preset
from detent.devices.drivers import real
from detent.devices.drivers.driver import Driver
from detent.devices.drivers.foreign import address_of
from detent.devices.drivers.native import Native
from detent.devices.drivers.wheel import Wheel

#: a wall at 3 mm
WALL = World.from_string(
    '<mujoco><option gravity="0 0 0"/><worldbody>'
    '<geom type="box" pos="0.108 0 0" size="0.1 0.5 0.5"/>'
    '<body name="ball"><freejoint/><geom size="0.005" mass="0.1"/></body></worldbody></mujoco>'
)
PATIENCE = 5.0  # [s] for a fake on a busy machine to answer
FAKES = Path(__file__).parent / "fakes"
sys.path.insert(0, str(FAKES))  # also of the processes that serve a fake

#: places of `value` in body.h
ERROR_CODE, FROZEN, JUMP, SLOW, UNPLUGGED, CALIBRATED, TIMEGUARD, FORCE_OFF = range(8)
HAND, FORCE, TRIPS, CALLS, MASS, OPENED, CLOSED, POSITION, STIFFNESS, STEP = range(8, 18)
LARGEST, BAD, WATCHDOG, DEAD, GAP, GRIP, KIND = range(18, 25)


@cache
def built(name: str) -> Path:
    """A fake library, built once."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    out = Path(tempfile.mkdtemp(prefix="detent-fakes-")) / f"{name}.so"
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-o", str(out)]
    subprocess.run([*command, str(FAKES / f"{name}.c"), "-lm", "-lpthread"], check=True)
    return out


class Library:
    """A fake that is a library in this process."""

    def __init__(self, name: str) -> None:
        self.path = built(name)
        self.c = ctypes.CDLL(str(self.path))
        self.c.fake_set.argtypes = [ctypes.c_int, ctypes.c_double]
        self.c.fake_get.restype = ctypes.c_double
        self.c.fake_reset()

    def set(self, what: int, value: float) -> None:
        self.c.fake_set(what, value)

    def get(self, what: int) -> float:
        return float(self.c.fake_get(what))

    def force(self) -> float:
        return self.get(FORCE)

    def unplug(self) -> None:
        self.set(UNPLUGGED, 1)

    def plug(self) -> None:
        self.set(UNPLUGGED, 0)

    @property
    def bad(self) -> int:
        return int(self.get(BAD))


@dataclass
class Faked:
    """A driver, and the fake behind it."""

    driver: Driver
    fake: Any


@contextmanager
def force_dimension(folder: Path) -> Iterator[Faked]:
    fake = Library("libdrd")
    yield Faked(real("omega.3", library=str(fake.path), silence=PATIENCE), fake)


@contextmanager
def touch(folder: Path) -> Iterator[Faked]:
    fake = Library("libHD")
    yield Faked(real("touch", library=str(fake.path), silence=PATIENCE), fake)


@contextmanager
def native(folder: Path) -> Iterator[Faked]:
    fake = Library("native")
    read, write = (address_of(getattr(fake.c, f"device_{what}")) for what in ("read", "write"))
    model, watched = preset("omega.3"), lambda: fake.set(WATCHDOG, 0.01)
    yield Faked(Native(model, read, write, opened=watched, silence=PATIENCE), fake)


@contextmanager
def served(make: Callable[[Path], Any], driver: Callable[[Any], Driver], folder: Path) -> Any:
    fake = make(folder)
    try:
        yield Faked(driver(fake), fake)
    finally:
        fake.close()


class FakedWheel(Wheel):
    """A wheel whose kernel is a fake."""

    serves = "faked:Served"


def on_line(name: str, fake: Any) -> Driver:
    return real(name, port=str(fake.path), patience=PATIENCE, silence=PATIENCE)


def two_diy(folder: Path) -> Any:
    from lines import FakeTwoDiy

    return served(FakeTwoDiy, lambda fake: on_line("2diy", fake), folder)


def moteus(folder: Path) -> Any:
    from lines import FakeMoteus

    return served(FakeMoteus, lambda fake: on_line("moteus-knob", fake), folder)


def wheel(folder: Path) -> Any:
    from lines import FakeWheel

    model = preset("wheel", torque=known(2.0, "the fake"))

    def driver(fake: Any) -> Driver:
        return FakedWheel(model, port=str(fake.path), silence=PATIENCE)

    return served(FakeWheel, driver, folder)


def inverse3(folder: Path) -> Any:
    from service import FakeService

    return served(
        lambda _: FakeService(),
        lambda fake: real("inverse3", address=fake.address, patience=PATIENCE, silence=PATIENCE),
        folder,
    )


FAKED: dict[str, Callable[[Path], Any]] = {
    "forcedimension": force_dimension, "touch": touch, "native": native, "2diy": two_diy,
    "moteus": moteus, "wheel": wheel, "inverse3": inverse3,
}  # fmt: skip
