"""What ties tool and device, into the parameter record; bounded by what the step can hold."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from detent.coupling.base import Coupling
from detent.coupling.gains import block_inertia, six
from detent.coupling.linkage import EASED, SINGULAR, SOFT, STIFF, Topology
from detent.devices.limits import firm_joint, stable_joint
from detent.servo.observed import Observed
from detent.servo.structs import Device
from detent.servo.world.start import ToolStart, inertia_from, inverse_within
from detent.setup.bounds import bound, unbounded_from
from detent.setup.constants import COUPLING_DAMPING, COUPLING_STIFFNESS, FIRM, HOLD_FREQUENCY
from detent.world.baumgarte import Baumgarte

BLOCKS = (slice(0, 3), slice(3, 6))  # translation, rotation


def weigh_by_springs(
    model: mujoco.MjModel, held: int, p: np.ndarray, mask: np.ndarray, tool_mask: np.ndarray
) -> None:
    r"""The inertia of a god object is that of its coupling, so that contacts move it as springs do.

    .. math:: I / m = K_\theta / K_x

    A god object goes where the device is, as near as contacts let it, in the metric of its
    inertia. In that of the springs the impulses of contacts are what the hand feels, times T²/K
    m, so that friction cones are those of the felt force, and what rolls costs what it costs
    the hand. Where the device does not turn the tool does not either. A linkage stays as it is.
    """
    if int((model.body_treeid == model.body_treeid[held]).sum()) != 1 or not tool_mask[3:].any():
        return
    turns, moves = mask[3:].any(), mask[:3].any()
    if turns and not moves:  # nothing to compare with
        return
    k = p["coupling_k"][0]
    if turns and k[3:].max() > 0.0 and k[:3].max() > 0.0:
        model.body_inertia[held] = model.body_mass[held] * k[3:].max() / k[:3].max()
    elif not turns:
        model.body_inertia[held] *= FIRM
    mujoco.mj_setConst(model, mujoco.MjData(model))  # of simple bodies it keeps the inertia


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
    soft = bound(k, mobility, COUPLING_STIFFNESS / step**2)
    ease = bound(b, mobility, COUPLING_DAMPING / step)
    if soft < 1.0 or ease < 1.0:
        notes.append(
            f"the spring outside the device's subspace was bounded by the step of "
            f"{1e3 * step:.3g} ms: stiffness to {100 * soft:.3g} %, damping to {100 * ease:.3g} %"
            + unbounded_from(step, soft, ease)
        )
    p["hold_k"], p["hold_b"] = soft * k, ease * b


def fill_coupling(
    p: np.ndarray, coupling: Coupling, start: ToolStart, device: Device, notes: list[str]
) -> None:
    """The coupling's gains, bounded by what the step can hold; a bound that acts is noted."""
    coupling.channels.fill(p)
    fill_band(p, coupling.topology)
    mobility = device.mobility.copy()  # of the two against each other
    if coupling.channels.tool != "god-object":  # which has no inertia
        mobility += start.mobility * np.outer(device.mask, device.mask)
    gains = coupling.gains(block_inertia(mobility, device.mask))
    if gains is None:
        return
    k, b = gains
    step = float(p["step"][0])
    for part in BLOCKS:
        inner = mobility[part, part]
        soft = bound(k[part], inner, COUPLING_STIFFNESS / step**2)
        ease = bound(b[part], inner, COUPLING_DAMPING / step)
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
    fill_topology(p, coupling, device.observed, notes)
    fill_shaping(p, coupling, start, notes)
    p["adaptive_damping"] = coupling.adaptive_damping
    fastest = float(np.linalg.eigvalsh(mobility[:3, :3]).max())
    room = COUPLING_DAMPING / (step * fastest) - b[:3].max() if fastest > 0.0 else 0.0
    p["adaptive_most"] = max(room, 0.0)


def fill_band(p: np.ndarray, topology: Topology | None) -> None:
    """Where a direction becomes constrained, and free again; in how many ticks it does."""
    if topology is None and p["singular"][0, 0] > 0.0:  # none any more: the count goes on
        return
    step, ease = float(p["step"][0]), 0.0
    enter = SINGULAR if topology is None else topology.singular
    if topology is not None and topology.n_tc != "euclidean":
        ease = topology.ease
    eased = ease > step
    p["topology_ease"] = step / ease if eased else 1.0
    p["singular"] = enter, min((EASED if eased else 2.0) * enter, 0.9)


def fill_topology(p: np.ndarray, coupling: Coupling, observed: Observed, notes: list[str]) -> None:
    """The penalty on topological constraints; one without gains keeps those that are there.

    Stiff gains that nobody chose are what the device's period and delay hold. Chosen ones are
    bounded by the step; where a delay makes them shake, a note says so.
    """
    period, topology = int(observed.period[0]), coupling.topology
    step, late = period * float(p["step"][0]), math.ceil(observed.delay[0] / period)
    kept = float(p["topology_k"][0]), float(p["topology_b"][0])
    p["topology_k"] = p["topology_b"] = p["topology_literal"] = 0
    if topology is None:
        return
    chosen = topology.gains or (kept if kept[0] else SOFT)
    most = firm_joint(step, late if chosen == STIFF else 0)
    k, b = min(chosen[0], most[0]), min(chosen[1], most[1])
    p["topology_k"], p["topology_b"] = k, b
    p["topology_literal"] = topology.n_tc == "euclidean"
    if chosen == STIFF:
        return
    if (k, b) != chosen:
        notes.append(
            f"the topology's gains were bounded by the step of {1e3 * step:.3g} ms: "
            f"{k:.3g} 1/s², {b:.3g} 1/s"
            + unbounded_from(step, k / max(chosen[0], k), b / max(chosen[1], b))
        )
    if late and k > stable_joint(b, step, late):
        notes.append(
            f"the topology's gains, {k:.3g} 1/s² and {b:.3g} 1/s, shake a device that is {late} "
            f"periods late: beside that damping up to {stable_joint(b, step, late):.3g} 1/s² is "
            f"stable, and {' and '.join(f'{g:.3g}' for g in firm_joint(step, late))} are firm"
        )


def fill_shaping(p: np.ndarray, coupling: Coupling, start: ToolStart, notes: list[str]) -> None:
    """The linkage's inertia at the hand; its damping bounded by what the step can hold."""
    step, shaping = float(p["step"][0]), coupling.shaping
    p["shaping"] = p["shaping_bias"] = 0
    p["shaping_damping"] = 0.0
    if shaping is None:
        return
    p["shaping"] = 1
    p["shaping_bias"] = shaping.bias
    damping = six("shaping damping", shaping.damping)
    for part, what in zip(BLOCKS, ("translation", "rotation"), strict=True):
        ease = bound(damping[part], start.mobility[part, part], COUPLING_DAMPING / step)
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
    p["closure_projected"] = baumgarte.projected
    if rows and not baumgarte.projected and baumgarte.frequency > most:
        notes.append(
            f"Baumgarte's frequency was bounded by the step of {1e3 * step:.3g} ms: {most:.4g} 1/s"
        )
