"""Random sessions, and how much energy each gives to its hand that nobody put in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from detent import (
    Contact,
    Direct,
    FourChannel,
    Friction,
    LocalModel,
    Passivity,
    Session,
    UnilateralCoupler,
    VirtualCoupler,
    World,
)
from detent.coupling import Coupling
from detent.devices import Inertial, Mapped, preset
from detent.devices.protocol import Device
from detent.hands import Constant, Hand, Impedance, Sinusoid
from detent.record.trace import Trace
from detent.setup.sheets import sheet_of

#: by their names: rigid tools, linkages, loops; none has weights or motors
WORLDS = ("corner", "corner-3d", "peg-in-hole", "linkage-enclosure", "two-link", "four-bar",
          "four-bar-grounded", "three-link", "tight-hole")  # fmt: skip
SECONDS = 0.6
OTHERS = (*WORLDS, "door", "crank", "push-linkage", "corner-boxes", "linkage-enclosure")
SHEETED = (
    *("touch", "premium-1.5", "premium-3.0", "omega.3", "omega.6", "omega.7", "delta.3", "delta.6"),
    *("sigma.7", "lambda.7", "falcon", "inverse3", "virtuose-6d"),
)


@dataclass(frozen=True)
class Case:
    """What a session of the sweep is made of."""

    world: str
    contact: Contact
    coupling: Coupling | None
    device: Device
    rate: float
    hand: Hand
    local: bool

    def run(self, passivity: Passivity) -> Trace:
        """In lockstep, with somebody who watches, or acts."""
        session = Session(
            World.builtin(self.world), self.contact, self.coupling, self.device, rate=self.rate,
            local=LocalModel() if self.local else None, passivity=passivity,
        )  # fmt: skip
        return session.run(SECONDS, self.hand)


def random_case(number: int, seed: int = 18) -> Case:
    """One of a sequence that is always the same."""
    rng = np.random.default_rng((seed, number))
    rate = float(rng.choice([500.0, 1000.0, 2000.0, 4000.0]))
    stiffness = float(10.0 ** rng.uniform(2.7, 4.5))
    damping = float(rng.uniform(0.0, 20.0))
    mass = float(10.0 ** rng.uniform(-1.2, 0.0))
    device = Inertial(
        mass=mass,
        rotational_inertia=mass * 0.03**2,
        delay_ticks=int(rng.integers(0, 4)),
        damping=(float(rng.uniform(0.0, 1.0)), float(rng.uniform(0.0, 1e-3))),
        friction=(float(rng.choice([0.0, 0.05])), 0.0),
        resolution=float(rng.choice([0.0, 1e-5, 5e-5])),
        limits=(20.0, 20.0, 20.0, 1.0, 1.0, 1.0),
    )
    mode = str(rng.choice(["impulse", "penalty"]))
    rubs = bool(rng.random() < 0.3)
    contact = Contact(
        stiffness, damping, mode=mode, strategy="saturate",
        **({"friction": Friction()} if rubs else {}),
    )  # fmt: skip
    world = str(rng.choice(WORLDS))
    local = world in ("corner", "peg-in-hole", "corner-3d") and bool(rng.random() < 0.3)
    tied = _coupling(rng, stiffness, world, mode, rubs, local)
    return Case(world, contact, tied, device, rate, _hand(rng), local)


def _coupling(rng: Any, stiffness: float, world: str, mode: str, rubs: bool, local: bool) -> Any:
    rigid = world in ("corner", "corner-3d", "peg-in-hole", "tight-hole")
    spring = VirtualCoupler(stiffness=stiffness, damping=float(rng.uniform(0.0, 5.0)))
    kinds: list[Any] = [FourChannel(), spring, spring]
    if rigid and not local and mode == "penalty":
        kinds.append(Direct())
    elif rigid and not local and not rubs:
        kinds.append(UnilateralCoupler())
    return kinds[int(rng.integers(len(kinds)))]


def _hand(rng: Any) -> Hand:
    force = rng.uniform(-4.0, 4.0, 3)
    kind = int(rng.integers(3))
    if kind == 0:
        return Constant(force=tuple(force), torque=(0.0, 0.0, float(rng.uniform(-0.05, 0.05))))
    if kind == 1:
        return Sinusoid(force=tuple(force), frequency=float(rng.uniform(1.0, 20.0)))
    target = rng.uniform(-0.08, 0.08, 2)
    stiffness, damping = float(rng.uniform(50.0, 800.0)), float(rng.uniform(0.5, 8.0))
    return Impedance(target=tuple(target), stiffness=stiffness, damping=damping)


def sheet_case(number: int, seed: int) -> Case:
    """A device of a data sheet, mapped or not, slower than the servo or not, in other worlds."""
    rng = np.random.default_rng((seed, number))
    device: Any = preset(str(rng.choice(SHEETED)))
    if rng.random() < 0.3:
        device = Mapped(device, scale=float(rng.uniform(0.5, 3.0)))
    stiffness, mode = float(10.0 ** rng.uniform(3.0, 4.7)), str(rng.choice(["impulse", "penalty"]))
    contact = Contact(stiffness, float(rng.uniform(0.0, 30.0)), mode=mode, strategy="saturate")
    tied: Any = None
    if rng.random() < 0.4:
        tied = VirtualCoupler(float(10.0 ** rng.uniform(2.5, 4.3)), float(rng.uniform(0.0, 5.0)))
    rate, world = float(rng.choice([1000.0, 2000.0, 4000.0])), str(rng.choice(OTHERS))
    return Case(world, contact, tied, device, rate, _hand(rng), False)


def lateness(case: Case) -> float:
    """[s] from a sample of the device to when the force acts that answers it."""
    device: Any = case.device
    if isinstance(device, Inertial):
        return (1.0 + device.delay_ticks) / case.rate
    sheet = sheet_of(device)
    assert sheet is not None
    return sheet.sheet.need("delay") + max(1.0 / case.rate, 1.0 / sheet.sheet.need("rate"))


def fallen(trace: Trace, world: World) -> float:
    """[J] that the weight of the tool has given by then, at most."""
    mass = float(world.model.body_subtreemass[world.tool])
    gave = mass * (trace["tool_position"] - trace["tool_position"][0]) @ world.model.opt.gravity
    return float(max(gave.max(), 0.0))


def worst_gift(trace: Trace, late: float | None = None) -> tuple[float, float]:
    """[J] that the hand had received by some tick beyond what it gave, and what is allowed.

    By the hand's own wrench, held for each tick, and the true way of the device; not by what the
    observer says. Allowed are 2 mJ and what comes out before anybody can act, *late* [s].
    """
    hand, pose = trace["hand_wrench"], trace["device_position"]
    way = np.hstack([np.diff(pose, axis=0), _turns(trace["device_quaternion"])])
    received = -np.cumsum((hand[:-1] * way).sum(axis=1))
    wrench, twist = trace["device_wrench"], trace["device_twist"]
    if late is None:
        late = (1.0 + trace.meta["device"]["delay_ticks"]) / trace.meta["rate"]
    power = sum(
        np.linalg.norm(wrench[:, part], axis=1).max() * np.linalg.norm(twist[:, part], axis=1).max()
        for part in (slice(0, 3), slice(3, 6))
    )
    return float(received.max()), float(2e-3 + power * late)


def _turns(quaternions: np.ndarray) -> np.ndarray:
    out = np.zeros((len(quaternions) - 1, 3))
    back, between = np.zeros(4), np.zeros(4)
    for i in range(len(out)):
        mujoco.mju_negQuat(back, quaternions[i])
        mujoco.mju_mulQuat(between, quaternions[i + 1], back)
        mujoco.mju_quat2Vel(out[i], between, 1.0)
    return out
