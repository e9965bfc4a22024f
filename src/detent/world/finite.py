"""Numbers of a scene that are none: found at the edge, before they spread through a session."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.errors import SceneError

_KINDS = {
    "body": mujoco.mjtObj.mjOBJ_BODY, "jnt": mujoco.mjtObj.mjOBJ_JOINT,
    "geom": mujoco.mjtObj.mjOBJ_GEOM, "site": mujoco.mjtObj.mjOBJ_SITE,
    "tendon": mujoco.mjtObj.mjOBJ_TENDON, "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
    "eq": mujoco.mjtObj.mjOBJ_EQUALITY, "pair": mujoco.mjtObj.mjOBJ_PAIR,
}  # fmt: skip
_OPTIONS = ("gravity", "wind", "magnetic", "timestep", "density", "viscosity")
_WORDS = {"jnt": "joint", "eq": "equality"}
_OF_JOINTS = ("dof", "qpos", "qpos0")  # one row for each coordinate
_DERIVED = ("invweight", "subtree", "M0", "acc0")  # MuJoCo's own, from the others
_OPEN = ("range", "margin", "gap", "user", "length", "sol")  # may be infinite: no limit, no margin


def check_finite(model: mujoco.MjModel, name: str) -> None:
    """`SceneError` that names the first element of a model with a number that is not finite."""
    for option in _OPTIONS:
        if not np.isfinite(getattr(model.opt, option)).all():
            raise SceneError(f"{option} of the scene {name!r} must be finite")
    for field in _fields(model):
        values = getattr(model, field)
        bad = np.isnan(values) if any(word in field for word in _OPEN) else ~np.isfinite(values)
        if bad.any():
            where = _element(model, field, int(np.nonzero(bad)[0][0]))
            raise SceneError(f"{where} of the scene {name!r} must be finite")


def _fields(model: mujoco.MjModel) -> list[str]:
    """What a scene says of its elements, their places first: others may follow from these."""
    fields = [
        field
        for field in dir(model)
        if field.split("_")[0] in (*_KINDS, *_OF_JOINTS)
        and not any(word in field for word in _DERIVED)
        and getattr(getattr(model, field), "dtype", np.dtype(int)).kind == "f"
    ]
    return sorted(fields, key=lambda field: (not field.endswith(("_pos", "_quat")), field))


def _element(model: mujoco.MjModel, field: str, row: int) -> str:
    """What its owner would look for: ``pos of body 'cup'``."""
    kind, _, what = field.partition("_")
    if kind == "dof":
        kind, row = "jnt", int(model.dof_jntid[row])
    elif kind in _OF_JOINTS:
        kind, row = "jnt", int(np.searchsorted(model.jnt_qposadr, row, "right")) - 1
        what = "springref" if what else "ref"
    named = mujoco.mj_id2name(model, _KINDS[kind], row)
    return f"{what} of {_WORDS.get(kind, kind)} {named or f'#{row}'!r}"
