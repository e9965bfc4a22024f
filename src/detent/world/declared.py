"""What a scene says of itself: the held link, the hand point, keyframes."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from detent.checks import vector
from detent.errors import SceneError, UnknownNameError
from detent.world.friction import NO_FRICTION, SCENE_FRICTION, Friction
from detent.world.names import body_name


def declared_text(model: mujoco.MjModel, name: str) -> str | None:
    """A text of the scene's custom section, if it is there."""
    text = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_TEXT, name)
    if text < 0:
        return None
    start, size = model.text_adr[text], model.text_size[text]
    return bytes(model.text_data[start : start + size]).split(b"\0")[0].decode()


def declared_held(model: mujoco.MjModel, tool_bodies: Sequence[int]) -> str | None:
    """The body that the scene says is held, if it says so."""
    held = declared_text(model, "detent.held")
    known = [body_name(model, b) for b in tool_bodies]
    if held is not None and held not in known:
        raise SceneError(
            f"detent.held names {held!r}, which is not part of the tool; "
            f"its bodies: {', '.join(known)}"
        )
    return held


def declared_point(model: mujoco.MjModel) -> list[float] | None:
    """[m] The hand point that the scene gives in the held body's frame, if it gives one."""
    point = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_NUMERIC, "detent.point")
    if point < 0:
        return None
    start, size = model.numeric_adr[point], model.numeric_size[point]
    values = model.numeric_data[start : start + size].tolist()
    if size != 3 or not np.isfinite(values).all():
        raise SceneError(
            f"detent.point is {values}: it must be 3 finite numbers, "
            "in metres, in the held body's frame"
        )
    return values


def declared_friction(model: mujoco.MjModel) -> Friction:
    """The scene's own friction: that of its geoms and pairs, unless it says none."""
    said = declared_text(model, "detent.friction")
    if said not in (None, "none"):
        raise SceneError(f"detent.friction is {said!r}: it must be 'none', or left out")
    rubs = (model.geom_condim > 1).any() or (model.pair_dim > 1).any()
    return SCENE_FRICTION if said is None and rubs else NO_FRICTION


def keyframe_name(model: mujoco.MjModel, key: int) -> str:
    """The name of a keyframe, or its index."""
    return model.key(key).name or str(key)


def find_keyframe(model: mujoco.MjModel, keyframe: str | int | None) -> int:
    """The keyframe of that name or index; without either ``start``, or -1."""
    wanted = "start" if keyframe is None else str(keyframe)
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, wanted)
    if key < 0 and wanted.isdigit() and int(wanted) < model.nkey:
        key = int(wanted)
    if key < 0 and keyframe is not None:
        known = (keyframe_name(model, k) for k in range(model.nkey))
        raise UnknownNameError("keyframe", str(keyframe), known)
    return key


def hand_point(point: Sequence[float] | None, default: np.ndarray) -> np.ndarray:
    if point is None:
        return default.copy()
    return vector("point", point, (3,))
