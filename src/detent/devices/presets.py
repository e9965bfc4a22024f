"""Devices that can be bought, as far as their sheets are known.

Numbers marked *unchecked* were written down from memory of a vendor's sheet. Where sources
disagree about a cap, the smaller one counts. No hardware was at hand.
"""

from __future__ import annotations

import math
from typing import Any

from detent.devices.facts import Fact, assumed, known, smallest
from detent.devices.sheet import Sheet

CHAI = "CHAI3D 3.x, its table of devices"
HAPTIPEDIA = "Haptipedia, 2018"
UNCHECKED = "the vendor's sheet, from memory, unchecked"
FIRMWARE = "what Detent's driver tells the firmware"


def _chai(value: float) -> Fact:
    return known(value, CHAI)


def _table(value: float) -> Fact:
    return known(value, HAPTIPEDIA)


def _sheet(value: float) -> Fact:
    return known(value, UNCHECKED)


_DEGREE = math.pi / 180.0
_ARM = "as of a stylus on a light arm"
_DELTA = "as of a parallel arm of this size"
_STYLUS: dict[str, Any] = {
    "rotational_inertia": assumed(2e-5, "a stylus of 20 g, 10 cm long"),
    "turning_friction": assumed(1e-3, "a passive gimbal"),
    "turning_damping": assumed(1e-4, "a passive gimbal"),
}
_PHANTOM: dict[str, Any] = {
    "damping": assumed(0.3, _ARM),
    "delay": assumed(1e-3, "one period of its loop"),
    "rate": known(1000.0, "OpenHaptics' scheduler"),
    "driver": "touch",
    **_STYLUS,
}
_DESK: dict[str, Any] = {  # the smaller machines of Force Dimension
    "mass": assumed(0.2, _DELTA),
    "friction": assumed(0.3, _DELTA),
    "damping": assumed(2.0, _DELTA),
    "delay": assumed(2.5e-4, "one period of its loop"),
    "rate": _table(4000.0),
    "driver": "forcedimension",
    **_STYLUS,
}
_OMEGA: dict[str, Any] = {
    **_DESK,
    "force": smallest(_chai(12.0), _table(12.0)),
    "stiffness": smallest(_chai(5000.0), _table(14_500.0)),
    "stiffness_damping": _chai(30.0),
    "resolution": _table(1e-5),
    "reach": known(0.08, f"{HAPTIPEDIA}: 160 mm across, 110 mm high"),
}

_PHANTOMS = (
    Sheet(
        "touch", "3D Systems Touch", "full", "translational",
        force=_chai(3.3), force_continuous=_sheet(0.88), resolution=_sheet(5.5e-5),
        mass=_sheet(0.045), friction=_sheet(0.26), stiffness=_chai(400.0),
        stiffness_damping=_chai(4.0), reach=_chai(0.075), **_PHANTOM,
    ),
    Sheet(
        "touch-x", "3D Systems Touch X", "full", "translational",
        force=_chai(7.9), force_continuous=_sheet(1.75), resolution=_sheet(2.3e-5),
        mass=_sheet(0.045), friction=_sheet(0.06), stiffness=_chai(1000.0),
        stiffness_damping=_chai(5.0), reach=_chai(0.1), **_PHANTOM,
    ),
    Sheet(
        "premium-1.5", "Phantom Premium 1.5 6DOF", "full", "full",
        force=_chai(8.5), force_continuous=_sheet(1.4),
        torque=smallest(_chai(0.188), _sheet(0.17)), resolution=_sheet(3e-5),
        mass=_sheet(0.136), friction=_sheet(0.04), stiffness=smallest(_chai(800.0), _sheet(3500.0)),
        turning_stiffness=_chai(0.3), reach=_chai(0.12), **_PHANTOM,
    ),
    Sheet(
        "premium-3.0", "Phantom Premium 3.0 6DOF", "full", "full",
        force=_chai(22.0), force_continuous=_sheet(3.0), torque=_chai(0.188),
        resolution=_sheet(2e-5), mass=_sheet(0.159), friction=_sheet(0.2),
        stiffness=_chai(1000.0), reach=_chai(0.25), **_PHANTOM,
    ),
)  # fmt: skip

_FORCE_DIMENSION = (
    Sheet("omega.3", "Force Dimension omega.3", "translational", "translational", **_OMEGA),
    Sheet(
        "omega.6", "Force Dimension omega.6", "full", "translational",
        turning_resolution=_table(0.09 * _DEGREE), **_OMEGA,
    ),
    Sheet(
        "omega.7", "Force Dimension omega.7", "full", "translational",
        grip=smallest(_chai(8.0), _table(8.0)), turning_resolution=_table(0.09 * _DEGREE), **_OMEGA,
    ),
    Sheet(
        "delta.3", "Force Dimension delta.3", "translational", "translational",
        force=smallest(_chai(20.0), _table(20.0)), resolution=_table(2e-5),
        stiffness=_chai(5000.0), stiffness_damping=_chai(30.0),
        reach=known(0.2, f"{HAPTIPEDIA}: 400 mm across, 260 mm high"), **_DESK,
    ),
    Sheet(
        "delta.6", "Force Dimension delta.6", "full", "full",
        force=_table(20.0), torque=_table(0.15), resolution=_table(2e-5),
        turning_resolution=_table(0.04 * _DEGREE), stiffness=_chai(5000.0),
        stiffness_damping=_chai(30.0),
        reach=known(0.2, f"{HAPTIPEDIA}: 400 mm across, 260 mm high"), **_DESK,
    ),
    Sheet(
        "sigma.7", "Force Dimension sigma.7", "full", "full",
        force=smallest(_chai(12.0), _table(20.0)), torque=smallest(_chai(0.2), _table(0.4)),
        grip=smallest(_chai(8.0), _table(8.0)), resolution=_table(1.5e-6),
        turning_resolution=_table(0.013 * _DEGREE), stiffness=_chai(4000.0),
        turning_stiffness=_chai(1.0), reach=known(0.095, f"{HAPTIPEDIA}: 190 mm across"), **_DESK,
    ),
    Sheet(
        "lambda.7", "Force Dimension lambda.7", "full", "full",
        force=smallest(_chai(12.0), _sheet(20.0)), torque=_chai(0.2), stiffness=_chai(8000.0),
        reach=_chai(0.1125), **_DESK,
    ),
    Sheet(
        "falcon", "Novint Falcon", "translational", "translational",
        force=smallest(_chai(8.0), _table(9.0)),
        resolution=known(6.25e-5, f"160 counts per cm; {HAPTIPEDIA} prints ten times that"),
        stiffness=_chai(3000.0), stiffness_damping=_chai(20.0), reach=_chai(0.04),
        **{**_DESK, "rate": known(1000.0, "libnifalcon"),
           "delay": assumed(1e-3, "one period of its loop")},
    ),
)  # fmt: skip

_OTHERS = (
    Sheet(
        "inverse3", "Haply Inverse3", "translational", "translational", driver="inverse3",
        force=known(2.0, "the cap of another client (Isaac Lab); the vendor's was not found"),
        mass=assumed(0.15, _DELTA), friction=assumed(0.1, _DELTA), damping=assumed(1.0, _DELTA),
        delay=assumed(5e-3, "one message of its service"),
        rate=known(200.0, "Isaac Lab's client; the vendor says several kHz"),
    ),
    Sheet(
        "virtuose-6d", "Haption Virtuose 6D Desktop", "full", "translational",
        force=_table(10.0), force_continuous=_table(3.0), resolution=_table(1e-5),
        mass=_table(0.15), friction=assumed(0.2, _ARM), damping=assumed(1.0, _ARM),
        delay=assumed(1e-3, "one period of its loop"), stiffness=_table(1000.0),
        reach=known(0.185, f"{HAPTIPEDIA}: 521 x 370 x 400 mm"), rate=_sheet(1000.0), **_STYLUS,
    ),
    Sheet(
        "hapticmaster", "MOOG HapticMaster", "translational", "translational", takes_motion=True,
        force=smallest(_table(250.0), _sheet(100.0)), resolution=_table(1.2e-5),
        mass=known(2.0, f"{HAPTIPEDIA}: the least that it renders"),
        stiffness=_table(10_000.0), reach=known(0.18, f"{HAPTIPEDIA}: 360 x 400 mm x 1 rad"),
        friction=assumed(0.0, "its inner loop hides it"),
        damping=assumed(0.0, "its inner loop hides it"),
        delay=assumed(0.0, "its inner loop hides it"), rate=_table(2500.0),
    ),
    Sheet(
        "2diy", "Haply 2diy", "flat", "flat", driver="2diy",
        force=known(8.0, f"{HAPTIPEDIA}, at the centre"),
        resolution=known(4.1e-5, f"{HAPTIPEDIA}: 0.0259 degrees, on arms of 90 mm"),
        mass=assumed(0.1, "links of plastic, 70 and 90 mm"), friction=assumed(0.1, _ARM),
        damping=assumed(0.5, _ARM), delay=assumed(1e-3, "one exchange on its serial line"),
        reach=known(0.07, "its links, 70 and 90 mm"), rate=_sheet(1000.0),
    ),
    Sheet(
        "moteus-knob", "A knob on a moteus controller", "rotary", "rotary", driver="moteus",
        torque=known(0.3, FIRMWARE), turning_resolution=known(2 * math.pi / 2**14, "its encoder"),
        rotational_inertia=assumed(1e-4, "a rotor and a knob of 60 mm"),
        turning_friction=assumed(0.01, "a motor without gears"),
        turning_damping=assumed(1e-3, "a motor without gears"),
        delay=assumed(1e-3, "one exchange on its bus"),
        rate=known(1000.0, "one exchange of 0.3 ms, with room to spare"),
    ),
    Sheet(
        "wheel", "A steering wheel with force feedback", "rotary", "rotary", driver="wheel",
        turning_resolution=known(900.0 * _DEGREE / 2**16, "900 degrees in 16 bits"),
        rotational_inertia=assumed(0.02, "a rim of 1 kg, 28 cm across"),
        turning_friction=assumed(0.1, "gears or a belt"),
        turning_damping=assumed(0.05, "gears or a belt"),
        delay=assumed(4e-3, "USB and the driver"),
        rate=known(250.0, "the kernel's force-feedback timer, and most firmwares"),
    ),
)  # fmt: skip

#: all sheets by their names
SHEETS: dict[str, Sheet] = {s.name: s for s in (*_PHANTOMS, *_FORCE_DIMENSION, *_OTHERS)}
