"""From the parts of a session to the parameter record and the device arrays of the tick."""

from __future__ import annotations

import numpy as np

from detent.checks import unit_quaternion, wrench
from detent.coupling import (
    Admittance,
    Coupling,
    Direct,
    FourChannel,
    UnilateralCoupler,
    VirtualCoupler,
)
from detent.coupling.gains import block_inertia, six
from detent.coupling.linkage import SINGULAR
from detent.devices.protocol import ImpedanceDevice
from detent.errors import ParameterError
from detent.hands import Constant, Hand, Impedance, Playback, Sinusoid
from detent.kernels.friction import DEADBANDS, LAWS
from detent.kernels.shaping import MATERIALS
from detent.kernels.walls import WALLS
from detent.servo import records
from detent.servo.start import ToolStart, inertia_from, inverse_within
from detent.world.baumgarte import Baumgarte
from detent.world.contact import METHODS, MODES, SELF_COLLISIONS, STRATEGIES, Contact

HOLD_FREQUENCY = 30.0  # [rad/s] of the spring outside the device's subspace
LIMIT_FREQUENCY = 100.0  # [rad/s] of the penalty of a joint limit
MOST_STIFFNESS, MOST_DAMPING = 0.125, 0.25  # K T²/m, B T/m of translation and of rotation
SAMPLES_PER_PERIOD = 3.0  # of a material's vibration, at least
_BLOCKS = (slice(0, 3), slice(3, 6))

_COUPLINGS = {
    FourChannel: records.FOUR_CHANNEL,
    Direct: records.DIRECT,
    VirtualCoupler: records.VIRTUAL,
    UnilateralCoupler: records.UNILATERAL,
    Admittance: records.ADMITTANCE,
}


def fill_device(out: records.Device, device: ImpedanceDevice, start: ToolStart) -> None:
    """A simulated device at the hand point, or beside it."""
    offset = np.asarray(getattr(device, "offset", ()), float)
    out.position[:] = start.position
    out.position[: len(offset)] += offset
    out.seen[:] = out.position
    out.quaternion[:] = start.quaternion
    out.mask[:] = device.mask(start.mask)
    if (offset[out.mask[: len(offset)] == 0.0] != 0.0).any():
        raise ParameterError(
            "device offset", offset.tolist(), "zero where the device does not move"
        )
    out.mass[:] = device.inertia(inertia_from(start), out.mask)
    if (np.diag(out.mass)[out.mask > 0.0] <= 0.0).any():
        raise ParameterError(
            "device subspace",
            getattr(device, "subspace", None),
            "one in which the tool moves, or the device needs a mass and an inertia of its own",
        )
    out.mobility[:] = inverse_within(out.mass, out.mask)
    axes = np.nonzero(out.mask)[0]
    out.dimension[0] = len(axes)
    out.axes[: len(axes)] = axes
    out.packed[0, : len(axes), : len(axes)] = out.mass[np.ix_(axes, axes)]
    out.packed[1, : len(axes), : len(axes)] = out.mobility[np.ix_(axes, axes)]
    out.twist[:] = out.mask * start.twist


def fill_limits(p: np.ndarray, contact: Contact, device: ImpedanceDevice) -> None:
    """What the device can render, and what is done about it."""
    limits = device.cap()
    limited = bool(np.isfinite(limits).any())
    p["strategy"] = STRATEGIES.index(contact.strategy) if limited else records.FULL
    p["limit"] = limits
    p["cap"] = np.inf if contact.strategy == "full" else limits
    p["delay_ticks"] = device.delay_ticks
    for name in ("friction", "damping"):
        p[f"device_{name}"] = getattr(device, name, (0.0, 0.0))
    p["device_resolution"] = np.ravel(getattr(device, "resolution", 0.0))[0]


def least_rate(material: str) -> float:
    """[Hz] at which the servo must run, at least, for a material's vibration."""
    return SAMPLES_PER_PERIOD * MATERIALS[material].frequency / (2.0 * np.pi)


def check_material(contact: Contact, rate: float) -> None:
    """Refuse a material whose vibration a servo of this rate [Hz] cannot follow."""
    if contact.material is None or rate >= least_rate(contact.material) * (1.0 - 1e-9):
        return
    least = least_rate(contact.material)
    allowed = f"one that rings more slowly, or the rate at least {least:g} Hz (it is {rate:g})"
    raise ParameterError("material", contact.material, allowed)


def fill_material(p: np.ndarray, contact: Contact) -> None:
    """How impulses ring at the device, into a parameter record whose step is set."""
    p["material"] = contact.material is not None
    p["material_omega"] = p["material_decay"] = 0.0
    if contact.material is None:
        return
    check_material(contact, 1.0 / float(p["step"][0]))
    p["material_omega"], p["material_decay"] = MATERIALS[contact.material]


def fill_contact(p: np.ndarray, contact: Contact) -> None:
    """Contact properties into a parameter record whose step is set."""
    fill_material(p, contact)
    p["contact_mode"] = MODES.index(contact.mode)
    p["restitution_law"] = METHODS.index(contact.method)
    p["self_collision"] = SELF_COLLISIONS.index(contact.self_collision)
    p["clamp"] = contact.clamp
    p["collisions_only"] = contact.limit == "collision_only"
    p["rezero"] = contact.limit == "rezero"
    p["stiffness"] = contact.stiffness
    p["damping"] = contact.damping
    p["resultant"] = contact.resultant
    p["restitution"] = contact.restitution
    p["limit_frequency"] = LIMIT_FREQUENCY
    wall, friction = contact.wall, contact.friction
    p["wall"] = WALLS.index(wall.law)
    p["wall_integral"] = wall.integral
    p["wall_blocks"] = wall.blocks
    p["wall_breakaway"] = wall.breakaway
    p["friction"] = LAWS.index(friction.law)
    p["friction_static"] = friction.static
    p["friction_kinetic"] = friction.kinetic
    p["friction_breakaway"] = friction.breakaway
    p["friction_damping"] = friction.raw_damping
    p["friction_dead_band"] = friction.dead_band
    sliding = friction.law != "none" and friction.impacts and contact.method != "equality"
    p["friction_impacts"] = sliding and contact.mode == "impulse"
    p["friction_literal"] = DEADBANDS.index(friction.deadband)


def fill_hand(p: np.ndarray, hand: Hand | None) -> None:
    """A hand into a parameter record."""
    p["hand"] = records.NO_HAND
    if isinstance(hand, Constant):
        p["hand"] = records.SINUSOID_HAND
        p["hand_bias"] = wrench(hand.force, hand.torque)
    elif isinstance(hand, Sinusoid):
        p["hand"] = records.SINUSOID_HAND
        p["hand_bias"] = wrench(hand.bias_force, hand.bias_torque)
        p["hand_amplitude"] = wrench(hand.force, hand.torque)
        p["hand_omega"] = 2.0 * np.pi * hand.frequency
        p["hand_phase"] = hand.phase
    elif isinstance(hand, Impedance):
        p["hand"] = records.IMPEDANCE_HAND
        p["hand_k"], p["hand_b"] = hand.gains()
    elif isinstance(hand, Playback):
        p["hand"] = records.PLAYBACK_HAND
    elif hand is not None:
        raise ParameterError(
            "hand", hand, "a detent.hands.Constant, Sinusoid, Impedance or Playback"
        )


def aim(target: np.ndarray, hand: Hand | None) -> None:
    """The pose that an impedance hand wants."""
    if isinstance(hand, Impedance) and hand.target is not None:
        target[: len(hand.target)] = hand.target
    if isinstance(hand, Impedance) and hand.target_quaternion is not None:
        target[3:] = unit_quaternion("hand target", hand.target_quaternion)


def fill_hold(
    p: np.ndarray, outside: str, start: ToolStart, mask: np.ndarray, notes: list[str]
) -> None:
    """The spring that holds the tool in directions that the device cannot move in.

    Its gains are bounded by the held link's own inertia: no pose makes the hand lighter.
    """
    beyond = start.mask * (1.0 - mask)
    if outside != "hold" or not beyond.any():
        return
    step = float(p["step"][0])
    size = np.diag(inertia_from(start)) * beyond
    k, b = size * HOLD_FREQUENCY**2, size * 2.0 * HOLD_FREQUENCY
    mobility = inverse_within(start.link, start.mask)
    soft = bound(k, mobility, MOST_STIFFNESS / step**2)
    ease = bound(b, mobility, MOST_DAMPING / step)
    if soft < 1.0 or ease < 1.0:
        notes.append(
            f"the spring outside the device's subspace was bounded by the step of "
            f"{1e3 * step:.3g} ms: stiffness to {100 * soft:.3g} %, damping to {100 * ease:.3g} %"
            + unbounded_from(step, soft, ease)
        )
    p["hold_k"], p["hold_b"] = soft * k, ease * b


def fill_coupling(
    p: np.ndarray, coupling: Coupling, start: ToolStart, device: records.Device, notes: list[str]
) -> None:
    """The coupling's gains, bounded by what the step can hold; a bound that acts is noted."""
    p["coupling"] = _COUPLINGS[type(coupling)]
    enter = getattr(getattr(coupling, "topology", None), "singular", SINGULAR)
    p["singular"] = enter, 2.0 * enter
    if isinstance(coupling, Direct | Admittance):
        return
    mobility = device.mobility.copy()  # of the two against each other
    if not isinstance(coupling, UnilateralCoupler):  # a god object has no inertia
        mobility += start.mobility * np.outer(device.mask, device.mask)
    k, b = coupling.gains(block_inertia(mobility, device.mask))
    step = float(p["step"][0])
    for part in _BLOCKS:
        inner = mobility[part, part]
        soft = bound(k[part], inner, MOST_STIFFNESS / step**2)
        ease = bound(b[part], inner, MOST_DAMPING / step)
        if soft < 1.0 or ease < 1.0:
            what = "translation" if part.start == 0 else "rotation"
            notes.append(
                f"the coupling's gains in {what} were bounded, for the start pose, by the step "
                f"of {1e3 * step:.3g} ms: "
                f"stiffness to {100 * soft:.3g} %, damping to {100 * ease:.3g} %"
                + unbounded_from(step, soft, ease)
            )
        k[part] *= soft
        b[part] *= ease
    p["coupling_k"], p["coupling_b"] = k, b
    fill_topology(p, coupling, notes)
    fill_shaping(p, coupling, start, notes)
    p["adaptive_damping"] = getattr(coupling, "adaptive_damping", 0.0)
    fastest = float(np.linalg.eigvalsh(mobility[:3, :3]).max())
    room = MOST_DAMPING / (step * fastest) - b[:3].max() if fastest > 0.0 else 0.0
    p["adaptive_most"] = max(room, 0.0)


def fill_topology(p: np.ndarray, coupling: Coupling, notes: list[str]) -> None:
    """The penalty on topological constraints."""
    step, topology = float(p["step"][0]), getattr(coupling, "topology", None)
    if topology is not None:
        p["topology_k"] = min(topology.stiffness, 2.0 * MOST_STIFFNESS / step**2)
        p["topology_b"] = min(topology.damping, 2.0 * MOST_DAMPING / step)
        p["topology_literal"] = topology.n_tc == "euclidean"
        if p["topology_k"] < topology.stiffness or p["topology_b"] < topology.damping:
            notes.append(
                f"the topology's gains were bounded by the step of {1e3 * step:.3g} ms: "
                f"{float(p['topology_k'][0]):.3g} 1/s², {float(p['topology_b'][0]):.3g} 1/s"
                + unbounded_from(
                    step,
                    float(p["topology_k"][0]) / max(topology.stiffness, 1e-300),
                    float(p["topology_b"][0]) / max(topology.damping, 1e-300),
                )
            )


def fill_shaping(p: np.ndarray, coupling: Coupling, start: ToolStart, notes: list[str]) -> None:
    """The linkage's inertia at the hand; its damping bounded by what the step can hold."""
    step, shaping = float(p["step"][0]), getattr(coupling, "shaping", None)
    if shaping is None:
        return
    p["shaping"] = 1
    p["shaping_bias"] = shaping.bias
    damping = six("shaping damping", shaping.damping)
    for part, what in zip(_BLOCKS, ("translation", "rotation"), strict=True):
        ease = bound(damping[part], start.mobility[part, part], MOST_DAMPING / step)
        damping[part] *= ease
        if ease < 1.0:
            notes.append(
                f"the shaping's damping in {what} was bounded by the step of {1e3 * step:.3g} ms: "
                f"to {100 * ease:.3g} %" + unbounded_from(step, 1.0, ease)
            )
    p["shaping_damping"] = damping


def fill_closures(p: np.ndarray, baumgarte: Baumgarte, rows: int, notes: list[str]) -> None:
    """Baumgarte's terms, at half the frequency from which on a step overshoots for ever."""
    step, ratio = float(p["step"][0]), baumgarte.ratio
    most = 1.0 / (step * (ratio + np.hypot(ratio, 1.0)))
    p["closure_alpha"] = min(baumgarte.frequency, most)
    p["closure_beta"] = ratio
    if rows and baumgarte.frequency > most:
        notes.append(
            f"Baumgarte's frequency was bounded by the step of {1e3 * step:.3g} ms: {most:.4g} 1/s"
        )


def unbounded_from(step: float, soft: float, ease: float) -> str:
    """From which rate on stiffness and damping, now scaled by these, would be what was asked for.

    The bound of a stiffness grows with the square of the rate, that of a damping with the rate.
    """
    return f"; from {1.0 / (step * min(np.sqrt(soft), ease, 1.0)):.4g} Hz on they would not be"


def bound(gain: np.ndarray, mobility: np.ndarray, most: float) -> float:
    """By what to multiply gains so that their largest rate with this mobility is *most*."""
    root = np.sqrt(gain)
    rate = float(np.linalg.eigvalsh(mobility * np.outer(root, root)).max(initial=0.0))
    return min(1.0, most / rate) if rate > 0.0 else 1.0
