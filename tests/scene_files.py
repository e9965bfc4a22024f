"""Scene files for tests of the loader: MJCF, URDF, meshes."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

BALL = '<body name="ball"><freejoint/><geom size=".1"/></body>'


def mjcf(folder: Path, asset: str = "", geom: str = BALL, more: str = "") -> Path:
    """A scene file in *folder*."""
    path = folder / "scene.xml"
    path.write_text(f"<mujoco>{more}<asset>{asset}</asset><worldbody>{geom}</worldbody></mujoco>")
    return path


def stl(path: Path, triangles: int, claimed: int | None = None) -> Path:
    """A binary STL of a tetrahedron's faces, again and again."""
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    one = b"".join(
        struct.pack("<12fH", 0, 0, 0, *(x for i in face for x in corners[i]), 0) for face in faces
    )
    head = b"\0" * 80 + struct.pack("<I", triangles if claimed is None else claimed)
    path.write_bytes(head + (one * (triangles // 4 + 1))[: 50 * triangles])
    return path


MESH = '<mesh name="m" file="{}"/>'
MESH_BODY = '<body name="ball"><freejoint/><geom type="mesh" mesh="m"/></body>'

INERTIAL = """<inertial><mass value="1"/>
  <inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>"""
URDF = f"""<robot name="arm"><link name="base">{INERTIAL}</link>
<joint name="glue" type="fixed"><parent link="base"/><child link="post"/></joint>
<link name="post">{INERTIAL}
  <collision><geometry><mesh filename="FILE"/></geometry></collision></link>
<joint name="turn" type="continuous"><parent link="post"/><child link="tip"/>
  <axis xyz="0 0 1"/></joint>
<link name="tip">{INERTIAL}</link></robot>"""


def obj(path: Path, vertices: np.ndarray, faces: np.ndarray) -> None:
    """Write a surface as a Wavefront file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"v {x} {y} {z}" for x, y, z in vertices]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    path.write_text("\n".join(lines))


def bars(*boxes: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Boxes (centre, half sizes) as one surface."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    vertices = [np.array(box[:3]) + corners * box[3:] for box in boxes]
    faces = [np.array(triangles) + 8 * i for i in range(len(boxes))]
    return np.vstack(vertices), np.vstack(faces)
