"""Why the servo stopped."""

from __future__ import annotations

FAULTS = (
    "none", "the wrench for the device is not finite", "the world's motion is not finite",
    "the wrench for the device is beyond 1e6 N or N·m", "the device was lost",
    "the device is not calibrated", "the device has switched its force off",
    "a reading of the device is not finite", "the device has fallen silent",
    "the device's position jumped",
)  # fmt: skip
NO_FAULT, WRENCH_NOT_FINITE, WORLD_NOT_FINITE, WRENCH_TOO_LARGE = range(4)
DEVICE_LOST, DEVICE_NOT_CALIBRATED, DEVICE_FORCE_OFF, DEVICE_NOT_FINITE = range(4, 8)
DEVICE_SILENT, DEVICE_JUMPED = range(8, 10)
