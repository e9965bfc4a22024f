"""What Detent keeps for every real device, each with its unit and reason: no sheet says it."""

from __future__ import annotations

RISE = 2e-3  # [s] in which force may go from zero to its peak: as fast as the current of a motor
RAMP_IN = 0.25  # [s] in which force comes in when a device is engaged: nobody is startled
HEATING = 5.0  # [s] of windings of small motors; theirs are 5 to 20
QUICKEST = (3.0, 30.0)  # [m/s, rad/s] no hand that works is faster; beyond it there is no force
SILENT_SECONDS, SILENT_SAMPLES = 0.01, 3.0  # [s, -] without a reading, whichever is longer
VELOCITY_HZ = 100.0  # [Hz] of the low pass on differences of encoders
