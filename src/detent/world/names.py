"""What to call the parts of a scene, which need not have names."""

from __future__ import annotations

import mujoco


def body_name(model: mujoco.MjModel, body: int) -> str:
    """The name of a body, ``#id`` if it has none."""
    return model.body(body).name or f"#{body}"


def geom_name(model: mujoco.MjModel, geom: int) -> str:
    """The name of a geom; without one that of its body with the geom's id, ``thigh#12``."""
    body = model.body(int(model.geom_bodyid[geom])).name
    nameless = f"{body}#{geom}" if body else f"geom {geom} of #{model.geom_bodyid[geom]}"
    return model.geom(geom).name or nameless


def joint_name(model: mujoco.MjModel, joint: int) -> str:
    """The name of a joint, ``#id`` if it has none."""
    return model.joint(joint).name or f"#{joint}"
