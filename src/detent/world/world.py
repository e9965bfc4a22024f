"""A world: a MuJoCo model, the tool in it, the held link and the hand point on it."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from detent.checks import fraction, not_negative, vector
from detent.errors import ParameterError, SceneError, ToolNotNamedError, UnknownNameError
from detent.world.altering import exclude_overlaps, free_roots
from detent.world.altering import release as let_go
from detent.world.complaints import in_words
from detent.world.concave import Concave, concave_geoms
from detent.world.declared import (
    declared_friction,
    declared_held,
    declared_point,
    declared_text,
    find_keyframe,
    hand_point,
    keyframe_name,
)
from detent.world.described import first_sentence
from detent.world.finite import check_finite
from detent.world.holdable import worth_holding
from detent.world.loops import mechanism
from detent.world.names import body_name, geom_name
from detent.world.scene_file import is_risky, may_read, no_file, read_scene

LIBRARY = Path(__file__).parent / "library"
PROPERTIES = ("stiffness", "damping", "restitution", "friction")
_GEOM, _BODY = mujoco.mjtObj.mjOBJ_GEOM, mujoco.mjtObj.mjOBJ_BODY


class World:
    """Everything that can be touched, and what the hand holds.

    The *tool* is the whole mechanism of the named body (its kinematic tree, and those that
    loops tie to it); the *held* body (by default the
    named one) is where the hand grasps it, at *point*, given in the held body's frame (by
    default its centre of mass). A scene may say all three itself, in its ``custom`` section::

        <text name="detent.tool" data="crank"/>
        <text name="detent.held" data="handle"/>
        <numeric name="detent.point" data="0 0.03 0"/>

    Its friction is that of its geoms, unless it says ``<text name="detent.friction"
    data="none"/>``, as the built-in worlds do.

    What the caller gives wins, and drops what the scene says of those after it: a named tool
    is held itself, at its centre of mass, unless the caller says otherwise.

    The world starts at a keyframe (its qpos, qvel, act and ctrl): the one that is asked for, or
    the scene's ``start`` if there is one; at MuJoCo's qpos0 and at rest otherwise.

    Args:
        spec: the scene.
        tool: name of a body of the tool, or ``#id``.
        held: name of the held body, part of the tool.
        point: [m] hand point in the held body's frame.
        gravity: whether the hand feels the tool's own weight.
        properties: contact properties by geom, ``{"wall": {"stiffness": 4000.0}}``.
        keyframe: name or index of the keyframe to start from.
        name: what to call the world in messages and figures.
        concave: meshes that are felt as they are, not as their hulls: True for all that are not
            convex, names of geoms or meshes, or ``{name: thickness}`` [m] of open sheets; None
            leaves it to the scene (docs/concave.md).
    """

    def __init__(
        self,
        spec: mujoco.MjSpec,
        tool: str | None = None,
        held: str | None = None,
        point: Sequence[float] | None = None,
        gravity: bool = True,
        properties: Mapping[str, Mapping[str, float]] | None = None,
        keyframe: str | int | None = None,
        name: str = "world",
        concave: Concave = None,
    ) -> None:
        self.name = name
        self.spec = spec
        self.source: dict[str, Any] = {}  # the file and the options that it was loaded with
        plain = _compile(spec, name)
        tool_id = find_tool(plain, tool)
        self.model, self.gravity = plain, gravity
        if not gravity:
            self.model = _weightless(plain, spec, mechanism(plain, int(plain.body_treeid[tool_id])))
        self.tool = tool_id
        self.tree = int(self.model.body_treeid[tool_id])
        self.trees = mechanism(self.model, self.tree)
        if tool is None and held is None:
            held = declared_held(self.model, self.tool_bodies)
            point = declared_point(self.model) if point is None else point
        self.held = tool_id if held is None else _body(self.model, held)
        self._check_held(held)
        self.point = hand_point(point, self.model.body_ipos[self.held])
        self.properties = _properties(self.model, properties or {})
        self.friction = declared_friction(self.model)
        self.concave = concave_geoms(self.model, concave)
        self.qpos, self.qvel, self.ctrl, self.act = _start(self.model, keyframe)

    @classmethod
    def load(
        cls,
        path: str | Path,
        tool: str | None = None,
        *,
        root: str | Path | None = None,
        allow_outside: bool = False,
        trusted: bool = False,
        free: bool = False,
        decompose: bool = False,
        ignore_overlaps: bool = False,
        release: Sequence[str] = (),
        **options: Any,
    ) -> World:
        """Load an MJCF or URDF file.

        Args:
            path: the file. Links of a URDF are not fused, its meshes are looked for beside it.
            tool: as in the constructor.
            root: the folder of which it may read files; by default the scene's own.
            allow_outside: let it read any file.
            trusted: do not load it in a child process first.
            free: give a free joint to each root that is fixed to the world and has a mass;
                keyframes keep their poses.
            decompose: collide meshes that are not convex as several convex parts.
            ignore_overlaps: bodies that overlap at the start pass through each other for ever.
            release: mocap bodies that let go what is welded or connected to them.
            options: those of the constructor.
        """
        path = Path(path)
        if not path.is_file():
            raise SceneError(no_file(path))
        beneath = may_read(root, path.parent)
        spec = read_scene(str(path), False, path.name, allow_outside, beneath, trusted)
        key = options.get("keyframe")
        spec = _alter(spec, path.name, key, free, decompose, ignore_overlaps, release)
        world = cls(spec, tool=tool, **{"name": path.stem, **options})
        told: dict[str, Any] = {
            "tool": tool, "root": root and str(root), "allow_outside": allow_outside, "free": free,
            "decompose": decompose, "ignore_overlaps": ignore_overlaps, "release": list(release),
            **options,
        }  # fmt: skip
        said = {k: v for k, v in told.items() if v or k == "gravity"}  # which is True unless told
        world.source = {"path": str(path.resolve()), **said}
        return world

    @classmethod
    def builtin(cls, name: str, **options: Any) -> World:
        """A world of the library; ``World.library()`` lists them."""
        if name not in cls.library():
            raise UnknownNameError("built-in world", name, cls.library())
        world = cls.load(LIBRARY / f"{name}.xml", **{"name": name, "trusted": True, **options})
        world.source = {"path": name, **{k: v for k, v in world.source.items() if k in options}}
        return world

    @classmethod
    def from_string(
        cls,
        xml: str,
        tool: str | None = None,
        *,
        root: str | Path | None = None,
        allow_outside: bool = False,
        trusted: bool = False,
        free: bool = False,
        decompose: bool = False,
        ignore_overlaps: bool = False,
        release: Sequence[str] = (),
        **options: Any,
    ) -> World:
        """Load a scene from MJCF or URDF text; its files lie beside the working directory."""
        beneath = may_read(root, Path.cwd())
        spec = read_scene(xml, True, "this", allow_outside, beneath, trusted or not is_risky(xml))
        key = options.get("keyframe")
        spec = _alter(spec, "this", key, free, decompose, ignore_overlaps, release)
        return cls(spec, tool=tool, **options)

    @staticmethod
    def library() -> list[str]:
        """Names of the built-in worlds."""
        return sorted(file.stem for file in LIBRARY.glob("*.xml"))

    @staticmethod
    def descriptions() -> dict[str, str]:
        """What each of them is, in a line."""
        return {name: first_sentence(LIBRARY / f"{name}.xml") for name in World.library()}

    @property
    def tool_bodies(self) -> list[int]:
        """Bodies of the tool: of its tree, and of those that loops tie to it."""
        return np.nonzero(np.isin(self.model.body_treeid, list(self.trees)))[0].tolist()

    @property
    def holdable(self) -> list[int]:
        """Those of them that have a mass and an inertia of their own."""
        model = self.model
        return [
            b for b in self.tool_bodies if min(model.body_mass[b], *model.body_inertia[b]) > 0.0
        ]

    @property
    def tool_dofs(self) -> np.ndarray:
        """Degrees of freedom of the tool."""
        return np.nonzero(np.isin(self.model.dof_treeid, list(self.trees)))[0]

    def body_name(self, body: int) -> str:
        """The name of a body, ``#id`` if it has none."""
        return body_name(self.model, body)

    def _check_held(self, held: str | None) -> None:
        if self.model.body_treeid[self.held] not in self.trees:
            raise SceneError(
                f"the held body {held!r} is not part of the tool {self.body_name(self.tool)!r}; "
                f"its bodies: {', '.join(map(self.body_name, self.tool_bodies))}"
            )
        if self.held not in self.holdable:
            others = ", ".join(map(self.body_name, self.holdable))
            raise SceneError(
                f"the held body {self.body_name(self.held)!r} has no mass or no inertia; "
                + (f"hold one that has: {others}" if others else "no body of the tool has")
            )

    def holding(self, held: str, point: Sequence[float] | None = None) -> World:
        """The same world, held at another link of the tool."""
        other = copy.copy(self)
        other.held = _body(self.model, held)
        other._check_held(held)
        other.point = hand_point(point, self.model.body_ipos[other.held])
        return other

    def weighed(self, gravity: bool) -> World:
        """The same world, whose tool's own weight the hand feels, or does not."""
        other = copy.copy(self)
        other.gravity, other.source = gravity, {**self.source, "gravity": gravity}
        plain = _compile(self.spec, self.name)
        other.model = plain if gravity else _weightless(plain, self.spec, self.trees)
        return other

    def placed(
        self,
        qpos: Sequence[float] | np.ndarray,
        qvel: Sequence[float] | np.ndarray | None = None,
    ) -> World:
        """The same world, starting at *qpos*, at rest or moving with *qvel*."""
        other = copy.copy(self)
        other.qpos = vector("qpos", qpos, (self.model.nq,)).copy()
        other.qvel = np.zeros(self.model.nv)
        if qvel is not None:
            other.qvel[:] = vector("qvel", qvel, (self.model.nv,))
        return other


def _weightless(
    plain: mujoco.MjModel, spec: mujoco.MjSpec, trees: Collection[int]
) -> mujoco.MjModel:
    """The model of a scene in which gravity does not act on these trees."""
    light = spec.copy()
    for body in range(plain.nbody):
        if plain.body_treeid[body] in trees:
            light.bodies[body].gravcomp = 1.0
    return _compiled(light, "without the tool's weight")


def _alter(
    spec: mujoco.MjSpec,
    name: str,
    keyframe: str | int | None,
    free: bool,
    decompose: bool,
    ignore_overlaps: bool,
    release: Sequence[str],
) -> mujoco.MjSpec:
    """The scene as asked for: let go, its roots free, meshes in parts, overlaps let through."""
    if release:
        let_go(spec, _compiled(spec, name), release)
    if free:
        spec.compiler.fusestatic = False  # it would take the roots away
        free_roots(spec, _compiled(spec, name), name)
    if decompose:
        from detent.world.decompose import decompose_meshes

        decompose_meshes(spec, _compile(spec, name))
    if ignore_overlaps:
        model = _compile(spec, name)
        exclude_overlaps(spec, model, _start(model, keyframe)[0])
    return spec


def _compiled(spec: mujoco.MjSpec, name: str) -> mujoco.MjModel:
    try:
        return spec.compile()
    except Exception as error:
        raise SceneError(f"MuJoCo refuses the scene {name!r}: {in_words(error)}") from error


def _compile(spec: mujoco.MjSpec, name: str) -> mujoco.MjModel:
    """The model of a scene that Detent renders."""
    model = _compiled(spec, name)
    if model.nv == 0:
        raise SceneError(f"nothing in the scene {name!r} can move: it has no joints")
    if model.nflex:
        raise SceneError(f"the scene {name!r} has flexible bodies, which Detent does not render")
    if model.nplugin:
        raise SceneError(f"the scene {name!r} needs plugins of MuJoCo, which Detent does not run")
    check_finite(model, name)
    return model


def _body(model: mujoco.MjModel, name: str) -> int:
    if not isinstance(name, str):
        raise ParameterError("body", name, "a name, or #id")
    movable = [body_name(model, b) for b in range(model.nbody) if model.body_treeid[b] >= 0]
    if name.startswith("#") and name[1:].isdigit() and 0 < int(name[1:]) < model.nbody:
        body = int(name[1:])
    else:
        body = mujoco.mj_name2id(model, _BODY, name)
    if body < 0:
        raise UnknownNameError("body", name, movable)
    if model.body_treeid[body] < 0:
        raise SceneError(f"the body {name!r} cannot move; those that can: {', '.join(movable)}")
    return body


def find_tool(model: mujoco.MjModel, tool: str | None) -> int:
    """The body that the scene, the caller or common sense says is the tool."""
    if tool is not None:
        return _body(model, tool)
    declared = declared_text(model, "detent.tool")
    if declared is not None:
        return _body(model, declared)
    root = int(model.tree_bodyadr[0]) if model.ntree == 1 else 0
    if min(model.body_mass[root], *model.body_inertia[root]) > 0.0:
        return root
    found = worth_holding(model)
    if not found:
        raise SceneError("no body of the scene that can move has a mass and an inertia")
    if len(found) == 1:
        return found[0].body
    raise ToolNotNamedError([one.name for one in found], map(str, found))


def _start(
    model: mujoco.MjModel, keyframe: str | int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """qpos, qvel, ctrl and act of a keyframe, or of MuJoCo's default."""
    key = find_keyframe(model, keyframe)
    if key < 0:
        rest = np.zeros(model.nv), np.zeros(model.nu), np.zeros(model.na)
        return model.qpos0.copy(), *rest
    columns = model.key_qpos, model.key_qvel, model.key_ctrl, model.key_act
    qpos, qvel, ctrl, act = (column[key].copy() for column in columns)
    if not all(np.isfinite(values).all() for values in (qpos, qvel, ctrl, act)):
        raise SceneError(
            f"the keyframe {keyframe_name(model, key)!r} must have finite numbers only"
        )
    return qpos, qvel, ctrl, act


def check_property(prop: str, value: float, where: str) -> float:
    """Validate one contact property."""
    check = fraction if prop == "restitution" else not_negative
    return check(f"{prop} of {where}", value)


def _properties(model: mujoco.MjModel, given: Mapping[str, Mapping[str, float]]) -> np.ndarray:
    """(ngeom, 4) per-geom contact properties; NaN where the world's hold."""
    table = np.full((model.ngeom, len(PROPERTIES)), np.nan)
    for i in range(model.ntuple):
        prop = model.tuple(i).name.removeprefix("detent.")
        if not model.tuple(i).name.startswith("detent."):
            continue
        if prop not in PROPERTIES:
            raise UnknownNameError("contact property", prop, PROPERTIES)
        for k in range(model.tuple_adr[i], model.tuple_adr[i] + model.tuple_size[i]):
            if model.tuple_objtype[k] == _GEOM:
                geom = int(model.tuple_objid[k])
                where = f"geom {geom_name(model, geom)!r}"
                table[geom, PROPERTIES.index(prop)] = check_property(
                    prop, model.tuple_objprm[k], where
                )
    for name, values in given.items():
        geom = mujoco.mj_name2id(model, _GEOM, name)
        if geom < 0:
            names = (model.geom(g).name for g in range(model.ngeom))
            raise UnknownNameError("geom", name, filter(None, names))
        for prop, value in values.items():
            if prop not in PROPERTIES:
                raise UnknownNameError("contact property", prop, PROPERTIES)
            table[geom, PROPERTIES.index(prop)] = check_property(prop, value, f"geom {name!r}")
    return table
