"""The mechanisms of the document, and some of our own."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from detent.errors import UnknownNameError
from detent.mechanism.mechanism import BodyDamper, Mechanism
from detent.mechanism.rotations import Orientation, rot_x, rot_z

MASS, INERTIA = 0.25, 0.0025  # [kg, kg·m²] of both disks (S2 IV-A)
DAMPING = BodyDamper(1.0, 0.1)  # [N·s/m, N·m·s/rad]
WHEEL = 0.03  # [m] radius of the rolling disk
SPHERE, COIN = 0.05, 0.01  # [m] radii of the sphere and of the disk on it
LINK, LINK_MASS, JOINT_DAMPING = 0.15, 2.0, 0.01  # [m, kg, N·m·s/rad]
TURN, BEND = 0.6, 0.06  # [rad/s, m] how hands lead that nobody moves
CIRCLE, BASE = 0.05, 0.21  # [m] radius, and from its centre to the base


def rolling_disk() -> Mechanism:
    """An upright disk that rolls on a plane without slipping (S2 III-A)."""
    import sympy as sp

    q = sp.symbols("q1:7", real=True)
    dq = sp.symbols("dq1:7", real=True)
    z = sp.symbols("z1:5", real=True)
    m, r, *J = sp.symbols("m r_d J_xx J_yy J_zz", positive=True)
    R = euler(q)
    contact = (q[0], q[1], q[2] - r)
    return Mechanism(
        name="rolling-disk",
        coordinates=q,
        velocities=dq,
        kinetic_energy=body_energy(m, J, dq[:3], body_rates(q, dq)),
        position=q[:3],
        rotation=R,
        holonomic=(q[2] - r, q[5] - sp.pi / 2),  # S2 eq. 21-22
        pfaffian=(  # S2 eq. 23-24
            (1, 0, 0, 0, r * sp.cos(q[3]), 0),
            (0, 1, 0, 0, r * sp.sin(q[3]), 0),
        ),
        parametrisation=(z, (z[0], z[1], r, z[2], z[3], sp.pi / 2)),  # S2 eq. 26
        dampers=(DAMPING,),
        constants={m: MASS, **dict.fromkeys(J, INERTIA), r: WHEEL},
        start=(0.0, 0.0, WHEEL, 0.0, 0.0, math.pi / 2),
        bodies={"disk": (q[:3], R)},
        track=contact,
        lead=_drive(r),
        scene=_scene("floor", _disk(WHEEL, 0.005)),
    )


def disk_on_sphere() -> Mechanism:
    """A disk that slides on a sphere, tangent to it, and may spin (S2 III-B; errata E12)."""
    import sympy as sp

    q = sp.symbols("q1:7", real=True)
    dq = sp.symbols("dq1:7", real=True)
    z = sp.symbols("z1:4", real=True)
    m, r, *J = sp.symbols("m r_s J_xx J_yy J_zz", positive=True)
    R = euler(q)

    def centre(a: Any, c: Any) -> tuple[Any, ...]:
        """The third column of R times the radius."""
        return r * sp.sin(a) * sp.sin(c), -r * sp.cos(a) * sp.sin(c), r * sp.cos(c)

    place = centre(q[3], q[5])
    return Mechanism(
        name="disk-on-sphere",
        coordinates=q,
        velocities=dq,
        kinetic_energy=body_energy(m, J, dq[:3], body_rates(q, dq)),
        position=q[:3],
        rotation=R,
        holonomic=tuple(q[i] - place[i] for i in range(3)),
        parametrisation=(z, (*centre(z[0], z[2]), *z)),
        dampers=(DAMPING,),
        constants={m: MASS, **dict.fromkeys(J, INERTIA), r: SPHERE},
        start=_on_sphere(0.0, 0.0, 0.9),
        start_parameters=(0.0, 0.0, 0.9),
        bodies={"disk": (q[:3], R)},
        track=q[:3],
        lead=_orbit(r),
        scene=_scene("sphere", _disk(COIN, 0.002)),
    )


def lie_disk_on_sphere() -> Mechanism:
    """The same disk with its orientation on SO(3): nothing is singular, at the poles neither."""
    import sympy as sp

    p = sp.symbols("p1:4", real=True)
    dp = sp.symbols("dp1:4", real=True)
    turn = Orientation("a")
    m, r, *J = sp.symbols("m r_s J_xx J_yy J_zz", positive=True)
    normal = turn.matrix[:, 2]
    return Mechanism(
        name="lie-disk-on-sphere",
        coordinates=(*p, turn),
        velocities=dp,
        kinetic_energy=body_energy(m, J, dp, turn.rates),
        position=p,
        rotation=turn.matrix,
        holonomic=tuple(p[i] - r * normal[i] for i in range(3)),
        dampers=(DAMPING,),
        constants={m: MASS, **dict.fromkeys(J, INERTIA), r: SPHERE},
        start=(*_on_sphere(0.0, 0.0, 0.9)[:3], math.cos(0.45), math.sin(0.45), 0.0, 0.0),
        bodies={"disk": (p, turn.matrix)},
        track=p,
        lead=_orbit(r),
        scene=_scene("sphere", _disk(COIN, 0.002)),
    )


def two_link_circle() -> Mechanism:
    """A two-link arm whose end point is kept on a circle (S2 III-C)."""
    import sympy as sp

    q = sp.symbols("q1:3", real=True)
    dq = sp.symbols("dq1:3", real=True)
    x = sp.symbols("x1:3", real=True)
    z = sp.Symbol("z1", real=True)
    m, l, b, r, base = sp.symbols("m l b r_c s", positive=True)
    first, both = q[0], q[0] + q[1]
    elbow = (l * sp.cos(first) - base, l * sp.sin(first))
    end = (elbow[0] + l * sp.cos(both), elbow[1] + l * sp.sin(both))
    one = m * l**2 / 6 * dq[0] ** 2
    two = m * l**2 / 6 * ((4 + 3 * sp.cos(q[1])) * dq[0] ** 2
                          + (2 + 3 * sp.cos(q[1])) * dq[0] * dq[1] + dq[1] ** 2)  # fmt: skip
    return Mechanism(
        name="two-link-circle",
        coordinates=q,
        velocities=dq,
        kinetic_energy=one + two,  # S2 eq. 33
        task=x,
        kinematics=end,  # S2 eq. 36
        position=(*x, 0),
        holonomic=(x[0] ** 2 + x[1] ** 2 - r**2,),  # S2 eq. 37
        parametrisation=((z,), (r * sp.cos(z), r * sp.sin(z))),  # S2 eq. 40
        dampers=tuple(b * v**2 / 2 for v in dq),
        constants={m: LINK_MASS, l: LINK, b: JOINT_DAMPING, r: CIRCLE, base: BASE},
        start=_reach(BASE + CIRCLE),
        start_parameters=(0.0,),
        energies={"link 1": one, "link 2": two},
        bodies={
            "handle": ((*end, 0), sp.eye(3)),
            "link1": ((-base, 0, 0), rot_z(first)),
            "link2": ((*elbow, 0), rot_z(both)),
        },
        track=(*end, 0),
        lead=_around(r),
        scene=_scene("circle", _arm()),
    )


MECHANISMS: dict[str, Callable[[], Mechanism]] = {
    "rolling-disk": rolling_disk,
    "disk-on-sphere": disk_on_sphere,
    "lie-disk-on-sphere": lie_disk_on_sphere,
    "two-link-circle": two_link_circle,
}


def descriptions() -> dict[str, str]:
    """What each mechanism is, in a line."""
    return {name: (make.__doc__ or "").rstrip(".") for name, make in MECHANISMS.items()}


def builtin(name: str) -> Mechanism:
    """A mechanism of the library."""
    if name not in MECHANISMS:
        raise UnknownNameError("built-in mechanism", name, MECHANISMS)
    return MECHANISMS[name]()


def euler(q: Any) -> Any:
    """R = Rz(q4) Rx(q6) Rz(q5) (S2 Fig. 5)."""
    return rot_z(q[3]) * rot_x(q[5]) * rot_z(q[4])


def body_rates(q: Any, dq: Any) -> tuple[Any, Any, Any]:
    """The angular velocity in the body's frame: what RᵀṘ of `euler` is (S2 eq. 42)."""
    import sympy as sp

    s5, c5, s6, c6 = sp.sin(q[4]), sp.cos(q[4]), sp.sin(q[5]), sp.cos(q[5])
    return (
        s5 * s6 * dq[3] + c5 * dq[5],
        c5 * s6 * dq[3] - s5 * dq[5],
        c6 * dq[3] + dq[4],
    )


def body_energy(m: Any, J: Any, v: Any, omega: Any) -> Any:
    """T of a rigid body [J] (S2 eq. 19)."""
    return m * sum(s**2 for s in v) / 2 + sum(a * s**2 for a, s in zip(J, omega, strict=True)) / 2


def _on_sphere(a: float, b: float, c: float) -> tuple[float, ...]:
    sine = SPHERE * math.sin(c)
    return sine * math.sin(a), -sine * math.cos(a), SPHERE * math.cos(c), a, b, c


def _reach(distance: float) -> tuple[float, float]:
    """Joint angles with the end point this far from the base, on the x axis."""
    half = math.acos(distance / (2.0 * LINK))
    return half, -2.0 * half


def _drive(r: Any) -> tuple[Any, Any, Any]:
    """A hand that rolls the disk along a circle."""
    import sympy as sp

    t = sp.Symbol("t", real=True)
    turn, radius = TURN * t, BEND
    place = (radius * sp.sin(turn), radius * (1 - sp.cos(turn)), r)
    return t, place, rot_z(turn) * rot_x(sp.pi / 2) * rot_z(-radius * turn / r)


def _orbit(r: Any) -> tuple[Any, Any, Any]:
    """A hand that leads the disk around the sphere, up and down."""
    import sympy as sp

    t = sp.Symbol("t", real=True)
    R = rot_z(TURN * t) * rot_x(0.9 + 0.4 * sp.sin(0.7 * t))
    return t, tuple(r * R[:, 2]), R


def _around(r: Any) -> tuple[Any, Any, Any]:
    """A hand that goes around the circle."""
    import sympy as sp

    t = sp.Symbol("t", real=True)
    return t, (r * sp.cos(2 * TURN * t), r * sp.sin(2 * TURN * t), 0), sp.eye(3)


def _ring(radius: float, pieces: int = 48) -> str:
    """A circle in the x-y plane, drawn as short rods."""
    angles = [2.0 * math.pi * i / pieces for i in range(pieces + 1)]
    ends = [f"{radius * math.cos(a):.6f} {radius * math.sin(a):.6f} 0" for a in angles]
    rod = '<geom type="capsule" size="0.0012" rgba="0.35 0.45 0.55 1" fromto="{} {}"/>'
    return "".join(rod.format(*pair) for pair in pairwise(ends))


_SURFACES = {
    "floor": '<geom type="box" size="0.2 0.15 0.004" pos="0 0 -0.004" rgba="0.82 0.85 0.88 1"/>',
    "sphere": f'<geom type="sphere" size="{SPHERE}" rgba="0.55 0.65 0.75 0.55"/>',
    "circle": _ring(CIRCLE),
}


def _scene(surface: str, bodies: str) -> str:
    return (
        '<mujoco><option gravity="0 0 0"/><default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{_SURFACES[surface]}{bodies}</worldbody></mujoco>"
    )


def _disk(radius: float, half: float) -> str:
    return f"""<body name="disk"><freejoint/>
      <inertial pos="0 0 0" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
      <geom type="cylinder" size="{radius} {half}" mass="0"/>
      <geom type="box" size="{0.45 * radius} {0.12 * radius} {1.06 * half}" mass="0"
            pos="{0.5 * radius} 0 0" rgba="0.2 0.2 0.25 1"/></body>"""


def _arm() -> str:
    joints = """<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="hinge" axis="0 0 1"/>"""
    out = f"""<body name="handle">{joints}
      <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
      <geom type="cylinder" size="0.012 0.012" mass="0"/></body>"""
    for name in ("link1", "link2"):
        out += f"""<body name="{name}">{joints}
          <inertial pos="{LINK / 2} 0 0" mass="{LINK_MASS}" diaginertia="0.01 0.01 0.01"/>
          <geom type="capsule" size="0.006" fromto="0 0 0 {LINK} 0 0" mass="0"
                rgba="0.35 0.55 0.75 1"/></body>"""
    return out
