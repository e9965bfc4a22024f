"""From what an engine reports to an update: clustered, chosen, the nearest first (M23, M24)."""

from __future__ import annotations

import numpy as np

from detent.errors import EngineError
from detent.local.constants import (
    FARTHEST,
    MOST_CONSTRAINTS,
    MOST_PROPERTIES,
    OBJECTS,
    OPPOSED,
    PRESSED,
)
from detent.local.model import LocalModel
from detent.local.records import (
    BALL,
    COUNT,
    DROPPED,
    FACE,
    FIRST_OBJECT,
    HEALTH,
    NEAR,
    PLANE,
    ROD,
    SEQUENCE,
    TIME,
    update_size,
    update_views,
)


def pack_update(
    near: np.ndarray,
    links: np.ndarray,
    twists: np.ndarray,
    local: LocalModel,
    sequence: int,
    time: float,
    health: int = 0,
    objects: np.ndarray | None = None,
) -> np.ndarray:
    """The bytes of an update.

    Args:
        near: (n,) NEAR, what the engine found, checked.
        links: (m, 7) poses of the tool's links in the engine, at that moment.
        twists: (m, 6) [m/s, rad/s] of the links' origins, for the choice by intent.
        local: how to choose.
        sequence: number of the update.
        time: [s] of the servo for which this holds.
        health: HEALTHY or DIVERGED.
        objects: (n, 8) bodies near the tool that move, nearest first, and their poses.
    """
    chosen = choose(near, links, twists, local)
    weights = np.ones(len(chosen))
    if len(chosen) > MOST_CONSTRAINTS:  # one is not quite several: it lets the tool turn about it
        chosen, weights = cluster(chosen, local.cluster)
    order = np.argsort(chosen["separation"], kind="stable")
    chosen, weights = chosen[order], weights[order]
    memory = np.zeros(update_size(), np.uint8)
    head, out = update_views(memory)
    kept = chosen[:MOST_CONSTRAINTS]
    head[[SEQUENCE, TIME, COUNT]] = sequence, time, len(kept)
    head[[DROPPED, HEALTH]] = len(chosen) - len(kept), health
    for name in NEAR.names or ():
        out[name][: len(kept)] = kept[name]
    if objects is not None:
        told = objects[:OBJECTS].reshape(-1)
        head[FIRST_OBJECT : FIRST_OBJECT + len(told)] = told
    poses, bases = links[kept["link"]], links[kept["base"]]
    out["point"][: len(kept)] = tool_points(kept, poses)
    out["facing"][: len(kept)] = rotate_back(poses[:, 3:], kept["normal"])
    out["anchor"][: len(kept)] = rotate_back(bases[:, 3:], kept["place"] - bases[:, :3])
    out["bearing"][: len(kept)] = rotate_back(bases[:, 3:], kept["normal"])
    out["weight"][: len(kept)] = weights[: len(kept)]
    return memory


def check_near(near: np.ndarray, links: int) -> None:
    """Refuse what is no geometry, with the value in the message."""
    if not isinstance(near, np.ndarray) or near.dtype != NEAR:
        kind = near.dtype if isinstance(near, np.ndarray) else type(near).__name__
        raise EngineError(f"near() of the engine gave {kind}, not an array of detent.local.NEAR")
    for name in ("place", "normal", "velocity", "separation", "give", "drift",
                 "bulge", "radius", "axis"):  # fmt: skip
        finite = np.isfinite(near[name])
        bad = ~(finite if finite.ndim == 1 else finite.all(axis=1))
        if bad.any():
            value = near[name][bad][0]
            raise EngineError(f"the engine sent {name} = {value}: it must be finite")
    size = np.linalg.norm(near["normal"], axis=1)
    if (np.abs(size - 1.0) > 1e-6).any():
        worst = size[np.argmax(np.abs(size - 1.0))]
        raise EngineError(f"the engine sent a normal of length {worst:g}: it must be 1")
    if (np.abs(near["place"]) > FARTHEST).any() or (np.abs(near["separation"]) > FARTHEST).any():
        raise EngineError(f"the engine sent a place beyond {FARTHEST:g} m")
    for name, most in MOST_PROPERTIES.items():
        bad = (near[name] < 0.0) | (near[name] > most)  # NaN is the session's
        if bad.any():
            value = near[name][bad][0]
            raise EngineError(f"the engine sent {name} = {value}: it must be 0 to {most:g}, or NaN")
    curve = near["curve"]
    if ((curve < PLANE) | (curve > FACE) | (near["radius"] < 0.0) | (near["bulge"] < 0.0)).any():
        raise EngineError("the engine sent a curved surface of an unknown kind or negative radius")
    carried = (near["base"] != 0) & np.isin(curve, (BALL, ROD))
    if carried.any() or ((near["base"] < 0) | (near["base"] >= links)).any():
        raise EngineError(
            f"the engine sent base {near['base']}: a flat surface of link 1 to {links - 1}, or 0"
        )
    wrong = (near["link"] < 0) | (near["link"] >= links)
    if wrong.any():
        raise EngineError(
            f"the engine sent link {near['link'][wrong][0]}: the tool has 0 to {links - 1}"
        )


def check_links(poses: np.ndarray, twists: np.ndarray, links: int) -> None:
    """Refuse poses and twists of the tool's links that are none."""
    if np.shape(poses) != (links, 7) or np.shape(twists) != (links, 6):
        shapes = f"{np.shape(poses)} and {np.shape(twists)}"
        raise EngineError(
            f"the engine sent links of the shapes {shapes}: they must be {(links, 7)}, {(links, 6)}"
        )
    if not (np.isfinite(poses).all() and np.isfinite(twists).all()):
        raise EngineError("the engine sent poses or twists of links that are not finite")


def choose(
    near: np.ndarray, links: np.ndarray, twists: np.ndarray, local: LocalModel
) -> np.ndarray:
    """What is within ε, or would be reached within the horizon (B5)."""
    reach = np.full(len(near), local.epsilon)
    if local.horizon > 0.0 and len(near):
        arm = near["place"] - links[near["link"], :3]
        linear, angular = twists[near["link"], :3], twists[near["link"], 3:]
        relative = near["velocity"] - linear - np.cross(angular, arm)
        reach += local.horizon * np.maximum(np.sum(relative * near["normal"], axis=1), 0.0)
    return near[near["separation"] <= reach]


def cluster(near: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Contacts of a pair within *reach* of each other as one (M24), and how many it stands for.

    Members whose normals oppose each other (a thin wall, an exact fit) are not one contact (errata
    B2), and each is near every other.
    """
    order = np.argsort(near["separation"], kind="stable")
    groups: list[list[int]] = []
    for i in order:
        for group in groups:
            if _fits(near, group, i, reach):
                group.append(i)
                break
        else:
            groups.append([i])
    out, weights = near[[group[0] for group in groups]].copy(), np.ones(len(groups))
    for k, group in enumerate(groups):
        if len(group) > 1:  # of several surfaces none is gone round
            out["bulge"][k], out["curve"][k] = 0.0, PLANE
            where, weights[k] = resultant(near[group])
            out["place"][k], out["normal"][k], out["separation"][k] = where
    return out, weights


def resultant(members: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray, float], float]:
    r"""Place, normal and separation of the one contact that presses as several do, and its weight.

    .. math::
        F = \sum_j d_j n_j, \quad n = \frac{F}{|F|}, \quad w = \sum_j (n^T n_j)^2, \quad
        s = -\frac{|F|}{w}, \quad c = c_0 + \frac{F \times M}{|F|^2}

    with the depths d_j = −s_j of the members that press, and M their moment about c_0, the first's
    place. So force, stiffness along it, and moment are those of the members, but for the part of M
    along F, which no frictionless point holds (TH 6.8-6.10 take the mean normal and leave the place
    open). Where none presses yet they count as they will when the nearest is 0.2 mm deep.
    """
    s, first = members["separation"], members["separation"].min()
    depth = -first if first < 0.0 else PRESSED
    depths = np.maximum(depth - (s - first), 0.0)
    forces = depths[:, None] * members["normal"]
    force = forces.sum(axis=0)
    size = float(np.linalg.norm(force))
    normal = force / size
    along = np.where(depths > 0.0, members["normal"] @ normal, 0.0)
    weight = float(along @ along)
    arms = members["place"] - members["place"][0]
    moment = np.cross(arms, forces).sum(axis=0)
    place = members["place"][0] + np.cross(force, moment) / size**2
    return (place, normal, depth + first - size / weight), weight


def _fits(near: np.ndarray, group: list[int], i: int, reach: float) -> bool:
    first = near[group[0]]
    if near["link"][i] != first["link"] or near["other"][i] != first["other"]:
        return False
    if (near["shapes"][i] != first["shapes"]).any():
        return False
    apart = np.linalg.norm(near["place"][group] - near["place"][i], axis=1)
    facing = near["normal"][group] @ near["normal"][i]
    return bool((apart <= reach).all() and (facing > OPPOSED).all())


def tool_points(near: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """(n, 3) p = Rᵀ (c_p + s n − x) in the frames of the links (TH 6.1); of a bulge, its centre."""
    at = near["place"] + (near["separation"] + near["bulge"])[:, None] * near["normal"]
    return rotate_back(poses[:, 3:], at - poses[:, :3])


def rotate_back(quaternion: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Rᵀ v, row by row."""
    w, xyz = quaternion[:, :1], -quaternion[:, 1:]
    twice = 2.0 * np.cross(xyz, vectors)
    return vectors + w * twice + np.cross(xyz, twice)
