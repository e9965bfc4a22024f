"""The folder Actuators: what the motors of a scene are told."""

from __future__ import annotations

import mujoco
import numpy as np
import viser

from detent.servo.loop.live import Live
from detent.session import Session

ACTUATORS = 15.0  # where the folder is in the panel
FEW, MOST = 4, 24  # sliders: more than a few are folded away
UNBOUNDED = 1.0  # around what an actuator without a range is told at the start
STEPS = 200  # of a slider


class Actuators:
    """A slider for each actuator of a world that is wholly in the servo."""

    def __init__(self, gui: viser.GuiApi, session: Session, live: Live) -> None:
        self._live = live
        count = len(live.controls)
        if session.local is not None or not count:  # an engine has motors of its own
            return
        with gui.add_folder("Actuators", order=ACTUATORS, expand_by_default=count <= FEW):
            for i in range(min(count, MOST)):
                self._add(gui, session.world.model, i)
            if count > MOST:
                gui.add_html(f"<p style='margin:0 0.75em'>and {count - MOST} more</p>")

    def _add(self, gui: viser.GuiApi, model: mujoco.MjModel, i: int) -> None:
        now = float(self._live.controls[i])
        least, most = control_range(model, i, now)
        step = float(np.round((most - least) / STEPS, 12))
        owned = i == self._live.gripped
        hint = f"u{i}, what the actuator is told; it acts on {acted_on(model, i)}."
        slider = gui.add_slider(
            model.actuator(i).name or f"actuator {i}", least, most, step, now, disabled=owned,
            hint=hint + " The gripper of the device drives it." * owned,
        )  # fmt: skip
        if owned:  # two who tell it would fight, tick by tick
            return

        async def changed(event: viser.GuiEvent[viser.GuiSliderHandle]) -> None:
            self._live.drive(i, float(event.target.value))

        slider.on_update(changed)


def control_range(model: mujoco.MjModel, i: int, now: float) -> tuple[float, float]:
    """Least and largest control: those of the scene, or some room around what it is now."""
    least, most = model.actuator_ctrlrange[i]
    if not model.actuator_ctrllimited[i] or not most > least:
        least, most = now - UNBOUNDED, now + UNBOUNDED
    return float(min(least, now)), float(max(most, now))


def acted_on(model: mujoco.MjModel, i: int) -> str:
    """What an actuator moves, with its unit."""
    kind, target = mujoco.mjtTrn(model.actuator_trntype[i]), int(model.actuator_trnid[i, 0])
    if kind in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
        slides = model.jnt_type[target] == mujoco.mjtJoint.mjJNT_SLIDE
        name = model.joint(target).name or f"joint {target}"
        return f"{name} [{'m, N' if slides else 'rad, N·m'}]"
    if kind == mujoco.mjtTrn.mjTRN_TENDON:
        return f"{model.tendon(target).name or f'tendon {target}'} [m, N]"
    return "a site or a body"
