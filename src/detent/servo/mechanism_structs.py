"""The structs of a mechanism's tick: what it does not share with a world's (servo/structs.py)."""

from __future__ import annotations

import numpy as np

from detent.devices.port import Port
from detent.kernels.mechanics import Mechanics
from detent.kernels.struct import Struct
from detent.servo.loop.exchange import Slot
from detent.servo.structs import Clock, Device, Lead


class Drawn(Struct):
    """What the page shows: poses of the bodies of the mechanism's scene."""

    xpos: np.ndarray  # (nbody, 3)
    xquat: np.ndarray  # (nbody, 4)
    qpos: np.ndarray  # q and u of the mechanism
    qvel: np.ndarray
    body: np.ndarray  # (bodies,) which bodies the mechanism moves
    control: np.ndarray  # (0,)


class MechanismServo(Struct):
    """All that the loop works on; names that mean the same are those of `Servo`."""

    scene: Drawn
    mechanics: Mechanics
    port: Port
    device: Device
    lead: Lead
    clock: Clock
    parameters: np.ndarray
    parameter_bytes: np.ndarray
    target: np.ndarray
    target_bytes: np.ndarray
    script: np.ndarray
    poses: np.ndarray
    shown: np.ndarray  # (0,)
    pose_bytes: np.ndarray
    commands: Slot
    targets: Slot
    views: Slot
    ring: np.ndarray  # (n,) MECHANISM_ROW
    ring_bytes: np.ndarray
    written: np.ndarray
    stages: np.ndarray
    work: np.ndarray  # (4, 6, 6) scratch
