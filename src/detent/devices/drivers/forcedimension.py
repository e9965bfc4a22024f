"""Force Dimension (omega, delta, sigma, lambda) and Novint Falcon, through the vendor's libdrd.

Its functions are called straight from the tick. The device's own watchdog takes the force away
10 ms after the last command, also when the process is killed.
"""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path
from typing import Any, ClassVar

from detent.devices.drivers.drd_ticks import NAMES, read_drd, write_drd
from detent.devices.drivers.driver import Driver
from detent.devices.drivers.foreign import address_of
from detent.devices.drivers.outside import BEGUN, CLOCK
from detent.devices.port import CALIBRATED, DEAD_MAN, FLAGS, FORCE_ON, VALID
from detent.errors import DeviceMissingError, DeviceNotReadyError

NEEDED = (
    *NAMES, "dhdOpen", "drdIsInitialized", "drdAutoInit", "dhdEnableExpertMode", "dhdSetWatchdog",
    "dhdSetMaxForce", "dhdSetMaxTorque", "dhdSetMaxGripperForce", "dhdHasWrist", "dhdHasGripper",
    "dhdEnableForce", "dhdGetDeviceCount", "dhdGetSystemType",
)  # fmt: skip
WATCHDOG = 80  # [125 µs] 10 ms: `dhdSetWatchdog`
KINDS = {  # of `dhdGetSystemType`, as far as they are known
    33: "omega.3", 34: "omega.6", 36: "omega.6", 35: "omega.7", 37: "omega.7", 60: "falcon",
    63: "delta.3", 104: "sigma.7", 105: "sigma.7", 108: "lambda.7", 109: "lambda.7",
}  # fmt: skip


def library_folders() -> list[Path]:
    """Where the vendor's library is looked for: its SDK, and where libraries are put."""
    machine, sdk = platform.machine(), os.environ.get("FDSDK")
    own = [Path(sdk) / "lib" / "release" / f"lin-{machine}-gcc", Path(sdk) / "lib"] if sdk else []
    return [*own, Path.home() / ".local/lib", Path("/usr/local/lib"), Path("/usr/lib")]


def library_places() -> list[Path]:
    """What is there."""
    return [
        file
        for folder in library_folders()
        for file in sorted(folder.glob("libdrd.so*"), reverse=True)
    ]


def load_library(library: str | None) -> Any:
    """libdrd; refused with what to install."""
    for place in [library] if library else library_places():
        try:
            found = ctypes.CDLL(str(place))
        except OSError as error:
            raise DeviceMissingError("libdrd", f"{place} cannot be loaded: {error}") from error
        lacks = [name for name in NEEDED if not hasattr(found, name)]
        if lacks:
            raise DeviceMissingError("libdrd", f"{place} is another library: it has no {lacks[0]}")
        return found
    looked = ", ".join(str(folder) for folder in library_folders())
    raise DeviceMissingError(
        "libdrd",
        "install the SDK of forcedimension.com (3.16 or newer), and name its folder in FDSDK; "
        "its manual has the udev rule that lets you open the device; looked for libdrd.so in "
        + looked,
    )


class ForceDimension(Driver):
    """A device that libdrd opens."""

    name: ClassVar = "forcedimension"
    needs: ClassVar = "libdrd of the SDK of forcedimension.com, found in FDSDK, or /usr/local/lib"
    watchdog: ClassVar = "in the device: zero 10 ms after the last command"
    stages: ClassVar = (read_drd, write_drd)
    takes: ClassVar = ("library",)

    @classmethod
    def here(cls) -> str:
        """How many the library sees."""
        try:
            count = int(load_library(None).dhdGetDeviceCount())
        except DeviceMissingError as error:
            return "no libdrd" if not library_places() else error.remedy
        return f"{count} plugged in" if count > 0 else "libdrd, and nothing plugged in"

    def open(self, d: Any) -> None:
        """Open, calibrate if need be, set the watchdog, switch the force on."""
        lib = self.library = load_library(self.options.get("library"))
        self.device = int(lib.dhdOpen())
        if self.device < 0:
            raise DeviceNotReadyError(self.name, "libdrd finds none that it can open")
        kind = KINDS.get(int(lib.dhdGetSystemType(self.device)), self.preset.name)
        if kind != self.preset.name:  # caps are those of the preset
            raise DeviceNotReadyError(self.name, f"what is plugged in is a {kind}: name that")
        if lib.drdIsInitialized(self.device) != 1 and lib.drdAutoInit(self.device) < 0:
            raise DeviceNotReadyError(self.name, "it cannot be calibrated; move it by hand once")
        lib.dhdEnableExpertMode()
        if lib.dhdSetWatchdog(WATCHDOG, self.device) < 0:
            raise DeviceNotReadyError(self.name, "its watchdog cannot be set")
        self._cap(lib)
        lib.dhdHasWrist.restype = lib.dhdHasGripper.restype = ctypes.c_bool  # one byte counts
        has = (lib.dhdHasWrist(self.device), lib.dhdHasGripper(self.device))
        d.handles[:4] = self.device, has[0], 0, has[1]
        d.functions[: len(NAMES)] = [address_of(getattr(lib, name)) for name in NAMES]
        d.functions[CLOCK] = address_of(ctypes.CDLL(None).clock_gettime)
        self.push(lib, 0.0)
        if lib.dhdEnableForce(1, self.device) < 0:
            raise DeviceNotReadyError(self.name, "its force cannot be switched on")
        d.counts[FLAGS] = VALID | CALIBRATED | FORCE_ON | DEAD_MAN

    def _cap(self, lib: Any) -> None:
        """Tell the library what is the most; without a number a gripper has 1 N."""
        force, torque = self.preset.safety.length
        most = {"Force": force, "Torque": torque, "GripperForce": self.preset.sheet.get("grip")}
        for what, value in most.items():
            if value is not None and value < 1e6:
                tell = getattr(lib, f"dhdSetMax{what}")
                tell.argtypes = [ctypes.c_double, ctypes.c_char]
                tell(value, bytes([self.device]))

    def push(self, lib: Any, force: float) -> None:
        """The same force on all axes."""
        lib.dhdSetForceAndTorqueAndGripperForce.argtypes = [ctypes.c_double] * 7 + [ctypes.c_int]
        lib.dhdSetForceAndTorqueAndGripperForce(*[force] * 7, self.device)

    def close(self, d: Any) -> None:
        """Zero, force off, closed."""
        if getattr(self, "device", -1) < 0:
            return
        d.status[BEGUN] = 0
        self.push(self.library, 0.0)
        self.library.dhdEnableForce(0, self.device)
        self.library.dhdClose(self.device)
        self.device = -1
