"""A kinematic tree of a compiled MuJoCo model as URDF text, for engines that read that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np

from detent.errors import SceneError

TINY = 1e-7  # [kg, kg·m²] of the links that a body with several joints needs
_HINGE, _SLIDE, _FREE = (
    int(kind) for kind in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE,
                           mujoco.mjtJoint.mjJNT_FREE)
)  # fmt: skip
_GEOM = mujoco.mjtGeom


def tree_urdf(model: mujoco.MjModel, bodies: list[int], folder: Path) -> str:
    """The bodies of a tree, root first, as one robot.

    A free root is the base; any other hangs on a link ``world``. The link of body b is ``b<b>``,
    its joints are ``j<joint>``, and its frame is where the body's last joint is anchored.
    """
    lines = ['<robot name="tree">']
    if not is_free(model, bodies[0]):
        lines.append('<link name="world"/>')
    for body in bodies:
        lines += _body_lines(model, body, body == bodies[0], folder)
    return "\n".join([*lines, "</robot>"])


def is_free(model: mujoco.MjModel, body: int) -> bool:
    """Whether a body moves by a free joint."""
    first = model.body_jntadr[body]
    return first >= 0 and model.jnt_type[first] == _FREE


def anchor(model: mujoco.MjModel, body: int) -> np.ndarray:
    """Where the frame of the body's URDF link is, in the body's frame."""
    count = model.body_jntnum[body]
    if count == 0 or is_free(model, body):
        return np.zeros(3)
    return model.jnt_pos[model.body_jntadr[body] + count - 1]


def _body_lines(model: mujoco.MjModel, body: int, root: bool, folder: Path) -> Iterator[str]:
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    if not is_free(model, body):
        parent = int(model.body_parentid[body])
        above = "world" if root else f"b{parent}"
        shift = np.zeros(3) if root else -anchor(model, parent)
        at, turn = model.body_pos[body] + shift, model.body_quat[body]
        if root:
            at, turn = _placed(model, body)
        if count == 0:
            yield _joint(f"f{body}", "fixed", above, f"b{body}", at, turn)
        before = np.zeros(3)
        for k in range(count):
            joint = first + k
            last = k == count - 1
            link = f"b{body}" if last else f"i{joint}"
            offset = model.jnt_pos[joint] - before
            if k == 0:
                offset = at + rotate(turn, model.jnt_pos[joint])
            yield _moving_joint(
                model, joint, above, link, offset, turn if k == 0 else np.array([1.0, 0, 0, 0])
            )
            if not last:
                yield _link(link, TINY, np.full(3, TINY), np.zeros(3), np.array([1.0, 0, 0, 0]))
            above, before = link, model.jnt_pos[joint]
    shift = -anchor(model, body)
    geoms = range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body])
    shapes = "".join(
        _shape(model, geom, shift, folder)
        for geom in geoms
        if model.geom_contype[geom] or model.geom_conaffinity[geom]
    )
    yield _link(
        f"b{body}", model.body_mass[body], model.body_inertia[body],
        model.body_ipos[body] + shift, model.body_iquat[body], shapes,
    )  # fmt: skip


def _placed(model: mujoco.MjModel, body: int) -> tuple[np.ndarray, np.ndarray]:
    """Pose of a root body in the world before its joints: static bodies may carry it."""
    data = mujoco.MjData(model)
    data.qpos[:] = model.qpos0
    mujoco.mj_kinematics(model, data)
    return data.xpos[body].copy(), data.xquat[body].copy()


def _moving_joint(
    model: mujoco.MjModel, joint: int, parent: str, child: str, at: np.ndarray, turn: np.ndarray
) -> str:
    kinds = {_HINGE: "revolute", _SLIDE: "prismatic"}
    kind = kinds.get(int(model.jnt_type[joint]))
    if kind is None:
        raise SceneError(f"joint {joint} is a ball: this engine knows hinges, slides and free ones")
    low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-1e6, 1e6)
    damping = model.dof_damping[model.jnt_dofadr[joint]]
    return _joint(
        f"j{joint}", kind, parent, child, at, turn,
        f'<axis xyz="{_text(model.jnt_axis[joint])}"/>'
        f'<limit lower="{low}" upper="{high}" effort="1e9" velocity="1e9"/>'
        f'<dynamics damping="{damping}"/>',
    )  # fmt: skip


def _joint(
    name: str, kind: str, parent: str, child: str, at: np.ndarray, turn: np.ndarray, more: str = ""
) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f"{_origin(at, turn)}{more}</joint>"
    )


def _link(
    name: str, mass: float, inertia: np.ndarray, at: np.ndarray, turn: np.ndarray, shapes: str = ""
) -> str:
    x, y, z = inertia
    return (
        f'<link name="{name}"><inertial>{_origin(at, turn)}<mass value="{mass}"/>'
        f'<inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial>'
        f"{shapes}</link>"
    )


def _shape(model: mujoco.MjModel, geom: int, shift: np.ndarray, folder: Path) -> str:
    size, kind = model.geom_size[geom], _GEOM(int(model.geom_type[geom]))
    if kind == _GEOM.mjGEOM_BOX:
        text = f'<box size="{_text(2.0 * size)}"/>'
    elif kind == _GEOM.mjGEOM_SPHERE:
        text = f'<sphere radius="{size[0]}"/>'
    elif kind == _GEOM.mjGEOM_CAPSULE:
        text = f'<capsule radius="{size[0]}" length="{2.0 * size[1]}"/>'
    elif kind == _GEOM.mjGEOM_CYLINDER:
        text = f'<cylinder radius="{size[0]}" length="{2.0 * size[1]}"/>'
    elif kind == _GEOM.mjGEOM_MESH:
        text = f'<mesh filename="{hull_file(model, geom, folder)}"/>'
    else:
        raise SceneError(f"geom {geom} is of a shape that this engine does not know")
    origin = _origin(model.geom_pos[geom] + shift, model.geom_quat[geom])
    return f"<collision>{origin}<geometry>{text}</geometry></collision>"


def hull_file(model: mujoco.MjModel, geom: int, folder: Path) -> Path:
    """The vertices of a mesh as a file; engines take their convex hull."""
    mesh = int(model.geom_dataid[geom])
    path = folder / f"mesh{mesh}.obj"
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    faces = model.mesh_face[model.mesh_faceadr[mesh] :][: model.mesh_facenum[mesh]]
    lines = [f"v {_text(v)}" for v in model.mesh_vert[first : first + count]]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    path.write_text("\n".join(lines) + "\n")
    return path


def rotate(quaternion: np.ndarray, v: np.ndarray) -> np.ndarray:
    """R v."""
    out = np.zeros(3)
    mujoco.mju_rotVecQuat(out, np.asarray(v, float), np.asarray(quaternion, float))
    return out


def _text(values: np.ndarray) -> str:
    return " ".join(repr(float(v)) for v in values)


def _origin(at: np.ndarray, turn: np.ndarray) -> str:
    w, x, y, z = turn
    roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return f'<origin xyz="{_text(at)}" rpy="{_text(np.array([roll, pitch, yaw]))}"/>'
