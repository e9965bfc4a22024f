"""Make the meshes of the built-in worlds that are felt as they are: python tools/make_meshes.py.

All numbers are our own, in metres. The files are binary STL in src/detent/world/library/meshes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

MESHES = Path(__file__).parents[1] / "src/detent/world/library/meshes"
CLEARANCE = 0.15e-3  # of thread and dovetail; 0.2 mm of the jigsaw
Surface = tuple[np.ndarray, np.ndarray]


def prism(outline: np.ndarray, low: float, high: float) -> Surface:
    """An outline, counter-clockwise, drawn out along z."""
    count = len(outline)
    triangles = ears(outline)
    vertices = np.concatenate([np.column_stack([outline, np.full(count, z)]) for z in (low, high)])
    i = np.arange(count)
    j = (i + 1) % count
    sides = [np.stack([i, j, j + count], 1), np.stack([i, j + count, i + count], 1)]
    return vertices, np.concatenate([triangles[:, ::-1], triangles + count, *sides])


def ears(outline: np.ndarray) -> np.ndarray:
    """Triangles of a polygon, cut off one by one."""
    left, found = list(range(len(outline))), []
    while len(left) > 3:
        for i in range(len(left)):
            a, b, c = left[i - 1], left[i], left[(i + 1) % len(left)]
            others = outline[[p for p in left if p not in (a, b, c)]]
            if is_ear(outline[a], outline[b], outline[c], others):
                found.append((a, b, c))
                left.pop(i)
                break
        else:
            raise ValueError("the outline crosses itself")
    return np.array([*found, tuple(left)])


def is_ear(a: np.ndarray, b: np.ndarray, c: np.ndarray, others: np.ndarray) -> bool:
    """Whether a corner is convex and has nobody inside."""

    def turns(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
        return (q[0] - p[0]) * (r[..., 1] - p[1]) - (q[1] - p[1]) * (r[..., 0] - p[0])

    if turns(a, b, c) <= 1e-15:
        return False
    inside = (turns(a, b, others) >= 0) & (turns(b, c, others) >= 0) & (turns(c, a, others) >= 0)
    return not inside.any()


def shell(rings: np.ndarray) -> Surface:
    """Rings of as many points (k, n, 3), each joined to the next, the last to the first."""
    count, size = rings.shape[:2]
    place = np.arange(count * size).reshape(count, size)
    up, along = np.roll(place, -1, axis=0), np.roll(place, -1, axis=1)
    both = np.roll(up, -1, axis=1)
    quads = [np.stack([place, along, both], -1), np.stack([place, both, up], -1)]
    return rings.reshape(-1, 3), np.concatenate([q.reshape(-1, 3) for q in quads])


def thread_radius(turn: np.ndarray, z: np.ndarray, widened: float = 0.0) -> np.ndarray:
    """[m] of a thread of 24 mm, 4 mm pitch and 2 mm depth, its crests cut flat."""
    phase = (z / 0.004 - turn / (2.0 * np.pi)) % 1.0
    crest = np.clip(1.35 - 2.7 * np.abs(phase - 0.5) * 1.0, 0.0, 1.0)
    return 0.010 + 0.002 * np.minimum(crest, 0.8) + widened


def bolt(turns: int = 64, layers: int = 81, length: float = 0.028) -> Surface:
    """A threaded rod along z, its ends in the middle of both axes."""
    turn = 2.0 * np.pi * np.arange(turns) / turns
    heights = np.linspace(0.0, length, layers)
    rings = []
    for z in heights:
        r = thread_radius(turn, np.full(turns, z))
        rings.append(np.stack([r * np.cos(turn), r * np.sin(turn), np.full(turns, z)], 1))
    vertices = np.concatenate([*rings, [[0.0, 0.0, 0.0], [0.0, 0.0, length]]])
    place = np.arange(turns * layers).reshape(layers, turns)
    along, foot, head = np.roll(place, -1, axis=1), turns * layers, turns * layers + 1
    faces = [
        np.stack([place[:-1], along[:-1], along[1:]], -1).reshape(-1, 3),
        np.stack([place[:-1], along[1:], place[1:]], -1).reshape(-1, 3),
        np.stack([along[0], place[0], np.full(turns, foot)], 1),
        np.stack([place[-1], along[-1], np.full(turns, head)], 1),
    ]
    return vertices, np.concatenate(faces)


def nut(turns: int = 64, layers: int = 31, height: float = 0.010) -> Surface:
    """A hexagonal nut for that rod, which has `CLEARANCE` all round."""
    turn = 2.0 * np.pi * np.arange(turns) / turns
    flat = 0.018 / np.cos((turn + np.pi / 6) % (np.pi / 3) - np.pi / 6)
    rings = []
    for z in np.linspace(height, 0.0, layers):  # down the hole, so that it faces inwards
        r = thread_radius(turn, np.full(turns, z), 2.0 * CLEARANCE)
        rings.append(np.stack([r * np.cos(turn), r * np.sin(turn), np.full(turns, z)], 1))
    for z in (0.0, height):
        rings.append(np.stack([flat * np.cos(turn), flat * np.sin(turn), np.full(turns, z)], 1))
    return shell(np.array(rings))


def gear(teeth: int = 16, module: float = 0.005, backlash: float = 0.3e-3) -> Surface:
    """A spur gear with involute flanks, 20° pressure angle, 12 mm wide, with a tooth along x."""
    pitch, base = 0.5 * module * teeth, 0.5 * module * teeth * np.cos(np.radians(20.0))
    root, tip = pitch - 1.2 * module, pitch + 0.95 * module
    radii = np.linspace(max(base, root), tip, 8)
    bend = np.sqrt(np.maximum((radii / base) ** 2 - 1.0, 0.0))
    unwound = bend - np.arctan(bend)
    angle = np.radians(20.0)
    half = np.pi / (2 * teeth) - 0.5 * backlash / pitch + np.tan(angle) - angle - unwound
    outline = []
    for tooth in range(teeth):
        middle = 2.0 * np.pi * tooth / teeth
        flank = [(root, -half[0] - 0.02), *zip(radii, -half, strict=True)]
        flank += [*zip(radii[::-1], half[::-1], strict=True), (root, half[0] + 0.02)]
        outline += [(r * np.cos(middle + a), r * np.sin(middle + a)) for r, a in flank]
    return prism(np.array(outline), -0.006, 0.006)


def dovetail() -> tuple[Surface, Surface]:
    """A rail with a groove along y, and a tongue that slides in it."""
    c = CLEARANCE
    groove = [(-0.03, -0.02), (0.03, -0.02), (0.03, 0.0), (0.01, 0.0), (0.016, -0.012)]
    groove += [(-0.016, -0.012), (-0.01, 0.0), (-0.03, 0.0)]
    tongue = [(-0.016 + 1.6 * c, -0.012 + c), (0.016 - 1.6 * c, -0.012 + c), (0.01 - 1.2 * c, 0.0)]
    tongue += [(0.01 - 1.2 * c, 0.012), (-0.01 + 1.2 * c, 0.012), (-0.01 + 1.2 * c, 0.0)]
    parts = [prism(np.array(groove), -0.05, 0.05), prism(np.array(tongue), -0.02, 0.02)]
    return tuple(upright(part) for part in parts)  # type: ignore[return-value]


def upright(surface: Surface) -> Surface:
    """What was drawn out along z lies along y."""
    vertices, faces = surface
    return vertices[:, [0, 2, 1]], faces[:, ::-1]


def jigsaw(clearance: float = 0.2e-3) -> tuple[Surface, Surface]:
    """A piece with a socket, and one whose knob fits it, 8 mm thick."""

    def knob(radius: float) -> list[tuple[float, float]]:
        turn = np.radians(np.linspace(-140.0, 140.0, 33))
        return [(0.010 + radius * np.cos(t), radius * np.sin(t)) for t in turn]

    socket = [(0.0, -0.03), (0.04, -0.03), (0.04, 0.03), (0.0, 0.03)]
    hole = np.array(socket + knob(0.008 + clearance)[::-1])
    body = np.array([*knob(0.008), (-clearance, 0.03), (-0.03, 0.03), (-0.03, -0.03)])
    body = np.concatenate([body, [(-clearance, -0.03)]])
    return prism(hole, -0.004, 0.004), prism(body, -0.004, 0.004)


def tooth(level: int = 96) -> Surface:
    """A molar-like crown of 30 mm: four cusps, fissures of 1 mm, as a scan would have it."""
    turn, lift = 2.0 * np.pi * np.arange(level) / level, np.linspace(0.0, np.pi, level // 2 + 1)
    rings = []
    for polar in lift[1:-1]:
        r = 0.015 * (np.abs(np.cos(2.0 * turn)) ** 0.5 * 0.04 + 0.97)
        x = r * np.sin(polar) ** 0.6 * np.cos(turn)
        y = 0.9 * r * np.sin(polar) ** 0.6 * np.sin(turn)
        z = np.full(level, 0.012 * np.cos(polar))
        rings.append(np.stack([x, y, z], 1))
    crown = np.array(rings)
    ends = np.array([[0.0, 0.0, 0.012], [0.0, 0.0, -0.012]])
    for points in (crown.reshape(-1, 3), ends):
        top = np.clip(points[:, 2] / 0.012, 0.0, 1.0)
        cusps = np.sin(points[:, 0] * 210.0) ** 2 * np.sin(points[:, 1] * 230.0) ** 2
        rough = 0.06 * np.sin(points[:, 0] * 1500.0) * np.sin(points[:, 1] * 1300.0)
        points[:, 2] += 0.001 * top * (2.0 * cusps - 1.0 + rough)
    layers = len(crown)
    place = np.arange(layers * level).reshape(layers, level)
    along, north, south = np.roll(place, -1, axis=1), layers * level, layers * level + 1
    faces = [
        np.stack([place[:-1], place[1:], along[1:]], -1).reshape(-1, 3),
        np.stack([place[:-1], along[1:], along[:-1]], -1).reshape(-1, 3),
        np.stack([place[0], along[0], np.full(level, north)], 1),
        np.stack([along[-1], place[-1], np.full(level, south)], 1),
    ]
    return np.concatenate([crown.reshape(-1, 3), ends]), np.concatenate(faces)


def write_stl(name: str, surface: Surface) -> None:
    """A binary STL file, facing outwards."""
    vertices, faces = surface
    corners = vertices[faces]
    if np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) < 0.0:
        corners = corners[:, ::-1]
    kind = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
    records = np.zeros(len(faces), kind)
    records["corners"] = corners
    MESHES.mkdir(exist_ok=True)
    header = f"detent {name}".ljust(80).encode()
    (MESHES / f"{name}.stl").write_bytes(
        header + np.uint32(len(faces)).tobytes() + records.tobytes()
    )


def main() -> None:
    """All of them."""
    rail, tongue = dovetail()
    hole, knob = jigsaw()
    made = {"bolt": bolt(), "nut": nut(), "gear": gear(), "rail": rail, "tongue": tongue}
    made |= {"socket": hole, "knob": knob, "tooth": tooth()}
    for name, surface in made.items():
        write_stl(name, surface)
        print(f"{name}: {len(surface[1])} triangles")


if __name__ == "__main__":
    main()
