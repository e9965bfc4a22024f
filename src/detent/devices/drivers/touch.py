"""3D Systems Touch, Touch X and Premium, through the vendor's libHD (OpenHaptics).

Its scheduler calls a compiled function of ours 1000 times a second, on its own thread and without
Python; that exchanges messages with the tick, and sends zero when the tick's last one is older
than 10 of its periods. The vendor documents no watchdog: when the process is killed, libHD closes
the device with it, and nothing more is claimed.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import time
from typing import Any, ClassVar

import numpy as np

from detent.devices.drivers.driver import Driver
from detent.devices.drivers.foreign import address_of, callback_address
from detent.devices.drivers.mailbox import connect
from detent.devices.drivers.mailbox_ticks import read_mailbox, write_mailbox
from detent.devices.drivers.outside import BEGUN
from detent.devices.drivers.touch_frames import ENDING, NAMES, STALE, make_frame, serve_frame
from detent.errors import DeviceMissingError, DeviceNotReadyError

FORCE_OUTPUT, MOST_FORCE = 0x4000, 0x2603
INVALID, HIGHEST = 0xFFFFFFFF, 65535
CALIBRATION_OK, NEEDS_UPDATE, AUTOMATIC = 0x5000, 0x5001, 2


def load_library(library: str | None) -> Any:
    """libHD; refused with what to install."""
    found = library or ctypes.util.find_library("HD")
    remedy = (
        "install OpenHaptics and the device's driver from 3dsystems.com; with them comes libHD.so"
    )
    if found is None:
        raise DeviceMissingError("libHD", remedy)
    try:
        out = ctypes.CDLL(found)
    except OSError as error:
        raise DeviceMissingError("libHD", f"{found} cannot be loaded: {error}; {remedy}") from error
    if not hasattr(out, "hdInitDevice"):
        raise DeviceMissingError("libHD", f"{found} is another library: it has no hdInitDevice")
    return out


class Touch(Driver):
    """A device that libHD opens."""

    name: ClassVar = "touch"
    needs: ClassVar = "libHD.so of OpenHaptics and the device's driver, from 3dsystems.com"
    watchdog: ClassVar = "zero after 10 ms without a command; none is documented for a kill"
    stages: ClassVar = (read_mailbox, write_mailbox)
    takes: ClassVar = ("library",)
    device = INVALID

    @classmethod
    def here(cls) -> str:
        """Whether there is a library; what is plugged in it says to those who open it."""
        found = ctypes.util.find_library("HD")
        return f"{found}; what is plugged in is seen when it is opened" if found else "no libHD"

    def open(self, d: Any) -> None:
        """Open, check calibration and caps, start the scheduler."""
        lib = self.library = load_library(self.options.get("library"))
        lib.hdInitDevice.restype = lib.hdScheduleAsynchronous.restype = ctypes.c_uint32
        self.device = int(lib.hdInitDevice(None))
        if self.device == INVALID or lib.hdGetError() != 0:
            self.device = INVALID
            raise DeviceNotReadyError(self.name, "libHD finds none: is it plugged in, and yours?")
        if lib.hdCheckCalibration() == NEEDS_UPDATE:
            lib.hdUpdateCalibration(AUTOMATIC)
        if lib.hdCheckCalibration() != CALIBRATION_OK:
            raise DeviceNotReadyError(self.name, "it is not calibrated: put the stylus in its well")
        most = np.zeros(1)
        lib.hdGetDoublev(MOST_FORCE, most.ctypes.data_as(ctypes.c_void_p))
        if 0.0 < most[0] < self.preset.peak()[0]:  # the device knows better than a table
            d.cap[:3] = most[0]
        frame = self.frame_struct = make_frame()
        self.link, self.other = connect(d)
        frame.functions[:7] = [address_of(getattr(lib, name)) for name in NAMES]
        libc = ctypes.CDLL(None)
        frame.functions[7:] = [address_of(f) for f in (libc.recv, libc.send, libc.clock_gettime)]
        turns = bool(self.preset.sheet.actuated[3:].any())
        frame.words[:5] = self.device, self.other.fileno(), STALE + 1, 0, turns
        address, self.kept = callback_address(serve_frame, frame)
        lib.hdEnable(FORCE_OUTPUT)
        lib.hdScheduleAsynchronous(
            ctypes.c_void_p(address), ctypes.c_void_p(frame.address), ctypes.c_ushort(HIGHEST)
        )
        lib.hdStartScheduler()

    def close(self, d: Any) -> None:
        """A few periods of zero, then the scheduler stops."""
        d.status[BEGUN] = 0
        if self.device == INVALID:
            return
        if hasattr(self, "frame_struct"):
            self.frame_struct.words[ENDING] = 1
            time.sleep(5e-3)
            self.library.hdStopScheduler()
            self.link.close()
            self.other.close()
        self.library.hdDisable(FORCE_OUTPUT)
        self.library.hdDisableDevice(self.device)
        self.device = INVALID
