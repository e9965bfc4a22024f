"""A disk that slides on a sphere and stays tangent to it: S2 Fig 10-11 (X22)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from detent.coupling import Admittance
from detent.devices import AdmittanceDisplay
from detent.experiments.manifold import constraint_errors
from detent.experiments.protocol import (
    Claim,
    Experiment,
    Metrics,
    Positive,
    Result,
    at_most,
    holds,
    within,
)
from detent.hands import Constant, Guided
from detent.mechanism.library import COIN, DAMPING, INERTIA, SPHERE, builtin
from detent.record.plots import BLUE, GREEN, ORANGE, RED, draw_envelope, figure, legend, save, state
from detent.record.trace import Trace
from detent.session import Session

RATE = 1000.0  # [Hz]
GRIP = 2000.0  # [N/m] of the hand that leads the disk
DEPTH = 0.024  # [m] how far the hand wants to be inside, or outside, of the sphere
SHOWN = 20.0  # [s] of the figure
TORQUE, SPIN_SECONDS = 0.02, 1.0  # [N·m, s] about the normal


def session(name: str, display: AdmittanceDisplay | None = None) -> Session:
    """The disk, with Euler angles or on SO(3)."""
    return Session(builtin(name), coupling=Admittance(), device=display, rate=RATE)


def path_over(seconds: float) -> list[tuple[float, ...]]:
    """Where the hand wants to be: around the sphere, in and out of it in turns."""
    times = np.arange(0.0, seconds, 0.02)
    azimuth = -np.pi / 2 + 2.0 * np.pi * 0.07 * times
    polar = 0.9 + 0.35 * np.sin(2.0 * np.pi * 0.11 * times)
    radius = SPHERE - DEPTH * np.sin(2.0 * np.pi * 0.23 * times)
    rows = np.stack([
        times,
        radius * np.sin(polar) * np.cos(azimuth),
        radius * np.sin(polar) * np.sin(azimuth),
        radius * np.cos(polar),
    ], axis=1)  # fmt: skip
    return [tuple(row) for row in rows.tolist()]


def leader(seconds: float) -> Guided:
    """A hand that leads the disk and lets it turn as it likes."""
    return Guided(GRIP, 25.0, 0.0, 0.0, path=path_over(seconds))


def normal_of(quaternion: np.ndarray) -> np.ndarray:
    """(n, 3) the third column of R."""
    w, x, y, z = quaternion.T
    columns = [2 * (x * z + w * y), 2 * (y * z - w * x), w**2 - x**2 - y**2 + z**2]
    return np.stack(columns, axis=1)


def measured(trace: Trace) -> dict[str, np.ndarray]:
    """The subplots of S2 Fig 11, from what the display measured of itself."""
    place = trace["seen_position"]
    distance = np.linalg.norm(place, axis=1)
    out = place / distance[:, None]
    off = np.linalg.norm(np.cross(out, normal_of(trace["seen_quaternion"])), axis=1)
    force = (trace["hand_wrench"][:, :3] * out).sum(axis=1)
    return {"radial": distance - SPHERE, "angle": np.arcsin(np.minimum(off, 1.0)), "force": force}


def press(force: float, display: AdmittanceDisplay) -> Trace:
    """Pull the disk straight away from the sphere [N]: pushed, it would slide off to a side."""
    start = np.asarray(builtin("disk-on-sphere").start[:3]) / SPHERE
    return session("disk-on-sphere", display).run(2.0, Constant(tuple(force * start)))


def spin_up() -> tuple[float, float]:
    """The spin after a torque about the normal [rad/s], and what a free one would be."""
    start = np.asarray(builtin("disk-on-sphere").start[:3]) / SPHERE
    hand = Constant(torque=tuple(TORQUE * start))
    trace = session("disk-on-sphere", AdmittanceDisplay.ideal()).run(SPIN_SECONDS, hand)
    time = trace["time"][-1]
    drag = DAMPING.rotational_damping
    free = TORQUE / drag * (1.0 - np.exp(-drag * time / INERTIA))
    return float(trace["velocities"][-1, 4]), float(free)


def slide(seconds: Positive = 60.0, force: Positive = 50.0, seed: int = 0) -> Result:
    """Lead the disk over the sphere [s]; press with a force [N]; the seed of the sensor."""
    display = AdmittanceDisplay(seed=seed)
    trace = session("disk-on-sphere", display).run(seconds, leader(seconds))
    lie = session("lie-disk-on-sphere", display).run(seconds, leader(seconds))
    pressed = press(force, display)
    shown, still = measured(trace), measured(pressed)
    deflection = force * float(display.compliance()[0])
    rest = pressed["time"] > 1.0
    handle = np.linalg.norm(pressed["device_position"][rest], axis=1) - SPHERE
    errors = constraint_errors(builtin("disk-on-sphere"), trace)
    lie_errors = constraint_errors(builtin("lie-disk-on-sphere"), lie)
    spin, free = spin_up()
    metrics = Metrics(
        seconds=seconds,
        holonomic_error=errors[0],
        holonomic_error_projected=lie_errors[0],
        forbidden_rate=max(errors[1], lie_errors[1]),
        largest_force=float(np.abs(shown["force"]).max()),
        radial_error=float(np.abs(shown["radial"]).max()),
        angle_error=float(np.abs(shown["angle"]).max()),
        force=force,
        pressed_reference=constraint_errors(builtin("disk-on-sphere"), pressed)[0],
        pressed_radial=float(np.abs(still["radial"]).max()),
        pressed_handle=float(handle.mean()),
        deflection=deflection,
        resolution=display.resolution[0],
        turn_resolution=display.resolution[1],
        spin=spin,
        free_spin=free,
    )
    return Result(
        metrics,
        sphere_claims(metrics),
        {"display": trace, "lie": lie, "pressed": pressed},
        partial(draw_sphere, trace, shown, deflection / force),
    )


def sphere_claims(m: Metrics) -> list[Claim]:
    """S2 III-B and IV-B, with errata E12."""
    return [
        at_most("X22.holonomic", "S2 II-G", f"reference over {m['seconds']:.0f} s: on the sphere "
                "and tangent to it (largest error, ψ)", m["holonomic_error"], 1e-9, "m"),
        at_most("X22.projected", "our own", "the same without ψ, orientation on SO(3), projected",
                m["holonomic_error_projected"], 1e-9, "m"),
        at_most("X22.rate", "S2 eq. 4", "reference: A q̇ of both", m["forbidden_rate"], 1e-9, "m/s"),
        at_most("X22.radial", "S2 Fig 11A, C", f"display: radial error under up to "
                f"{m['largest_force']:.0f} N along the normal, at most two steps of its position",
                m["radial_error"], 2.0 * m["resolution"], "m"),
        at_most("X22.angle", "S2 Fig 11B", "display: angle between the normals, at most four "
                "steps of its position", m["angle_error"], 4.0 * m["turn_resolution"], "rad"),
        at_most("X22.pressed-reference", "S2 IV-B", f"{m['force']:.0f} N straight along the "
                "normal: error of the reference", m["pressed_reference"], 1e-12, "m"),
        holds("X22.pressed", "S2 IV-B", "… error of the display, as measured",
              m["pressed_radial"], f"< {m['deflection']:.4g} m, the structure's deflection",
              m["pressed_radial"] < m["deflection"]),
        within("X22.structure", "our own", "… the handle gives way as the structure of the model "
               "does, and no more", m["pressed_handle"],
               m["deflection"], 0.02, "m"),
        within("X22.spin", "S2 III-B, errata E12", "spin about the normal is free: what a torque "
               "about it leads to", m["spin"], m["free_spin"], 1e-3, "rad/s"),
    ]  # fmt: skip


def draw_sphere(trace: Trace, shown: dict[str, np.ndarray], compliance: float, path: Path) -> Any:
    """S2 Fig 10 and 11."""
    title = "A disk slides on a sphere (S2 Fig 10–11); what the display measures of itself"
    fig, axes = figure(2, 2, (12, 8), title)
    axes[0, 0].remove()
    draw_ball(fig.add_subplot(2, 2, 1, projection="3d"), trace)
    early = trace["time"] < SHOWN
    bent = 1e6 * compliance * np.abs(shown["force"]).max()
    time = trace["time"][early]
    draw_envelope(axes[0, 1], time, 1e6 * shown["radial"][early], 160, RED, "error")
    axes[0, 1].set(ylabel="radial error [µm]")
    state(axes[0, 1], f"micrometres off, where the structure bends by {bent:.0f} µm (Fig 11A)")
    draw_envelope(axes[1, 0], time, 1e3 * shown["angle"][early], 160, ORANGE, "angle")
    axes[1, 0].set(ylabel="angle between normals [mrad]")
    state(axes[1, 0], "the disk stays tangent to a tenth of a milliradian (Fig 11B)")
    axes[1, 1].plot(time, shown["force"][early], color=GREEN, lw=1.2, label="hand")
    axes[1, 1].set(ylabel="force along the normal [N]")
    state(axes[1, 1], "meanwhile the hand pushes and pulls with 46 N (Fig 11C)")
    for ax in axes.flat[1:]:
        ax.set(xlabel="time [s]", ylim=np.array(ax.get_ylim()) * (1.0, 1.25))
        legend(ax, "upper right", ncols=2)
    return save(fig, path)


def rim(place: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """(3, n) a disk and one radius of it, which shows how it turned."""
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, quaternion)
    angle = np.linspace(0.0, 2.0 * np.pi, 40)
    flat = COIN * np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)])
    return place[:, None] + turn.reshape(3, 3) @ np.hstack([np.zeros((3, 1)), flat])


def draw_ball(ax: Any, trace: Trace) -> None:
    """S2 Fig 10."""
    a, b = np.mgrid[0 : 2 * np.pi : 40j, 0 : np.pi : 20j]
    ball = SPHERE * 1e3 * np.stack([np.cos(a) * np.sin(b), np.sin(a) * np.sin(b), np.cos(b)])
    ax.plot_surface(*ball, color="#dfe6ee", alpha=0.35, linewidth=0)
    early = trace["time"] < SHOWN
    ax.plot(*(1e3 * trace["tool_position"][early]).T, color=BLUE, lw=1.2)
    second = np.nonzero(early)[0][:: round(RATE)]
    for place, quaternion in zip(
        trace["tool_position"][second], trace["tool_quaternion"][second], strict=True
    ):
        ax.plot(*(1e3 * rim(place, quaternion)), color=RED, lw=1.1)
    ax.set_box_aspect((1, 1, 1))
    ax.view_init(40, -60)
    for axis in "xyz":
        getattr(ax, f"set_{axis}label")(f"{axis} [mm]", fontsize=8)
    ax.tick_params(labelsize=7)
    state(ax, f"the disk slides over the sphere, each second for {SHOWN:.0f} s (Fig 10)")


EXPERIMENTS = (
    Experiment("disk-on-sphere", "X22", "A disk slides on a sphere, tangent to it", slide),
)
