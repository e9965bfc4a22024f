"""A few ticks of every stage: what comes out is finite, and each stage is in some session.

`make bounds` runs this file with ``NUMBA_BOUNDSCHECK=1``: an index out of bounds in any stage
fails the test in which it happens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

from detent import (
    Admittance,
    Contact,
    Direct,
    ForcePath,
    FourChannel,
    Friction,
    LocalModel,
    Mechanism,
    Passivity,
    Session,
    UnilateralCoupler,
    VirtualCoupler,
    Wall,
    World,
)
from detent.coupling.linkage import Shaping
from detent.devices import AdmittanceDisplay, Inertial
from detent.hands import Guided, Impedance, Sinusoid
from detent.mechanism.library import builtin
from detent.servo.table import TABLES
from detent.world.friction import SCENE_FRICTION
from lab import scene
from shapes_lab import asset, ball, channel, scene_with

SECONDS = 1.0
PUSH = Sinusoid(  # against things, and back from them
    force=(5.0, 4.0, 3.0),
    torque=(0.05, 0.04, 0.06),
    frequency=7.0,
    bias_force=(-6.0, 6.0, -6.0),
)

#: what a scene may have: limits of hinges, balls and tendons, dry friction, springs, a motor, a
#: filter, tied joints and tendons, a weld, seams, and two bodies that meet each other
CROWDED = scene(
    """<geom name="floor" type="box" size=".5 .5 .1" pos="0 0 -.1"/>
    <geom name="next" type="box" size=".5 .5 .1" pos="1 0 -.1"/>
    <body name="tool" pos="0 0 .05"><freejoint/>
      <geom type="box" size=".05 .05 .05" mass="1"/></body>
    <body name="ball" pos=".101 0 .05"><freejoint/><geom size=".05" mass=".5" condim="6"/></body>
    <body pos="0 .12 .1"><joint name="swing" type="ball" range="0 .2" limited="true" damping=".01"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 .1 0" mass=".2"/></body>
    <body pos="0 -.12 .1"><joint name="a" axis="1 0 0" range="-.1 .1" limited="true"
      frictionloss=".05"/><geom type="capsule" size=".02" fromto="0 0 0 0 -.1 0" mass=".2"/>
      <body pos="0 -.1 0"><joint name="b" axis="1 0 0" stiffness=".1"/>
        <joint name="c" axis="0 1 0"/><joint name="d" axis="0 0 1"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 -.1 0" mass=".2"/></body></body>
    <body name="lid" pos=".3 0 .2"><freejoint/><geom size=".03" mass=".2"/></body>
    <body name="mate" pos=".3 0 .3"><freejoint/><geom size=".03" mass=".2"/></body>""",
    'gravity="0 0 -9.81"',
    """<tendon><fixed name="cable" limited="true" range="-.05 .05" damping=".1" frictionloss=".02">
      <joint joint="a" coef="1"/><joint joint="b" coef=".5"/></fixed>
      <fixed name="cord"><joint joint="c" coef="1"/></fixed></tendon>
    <actuator><motor joint="b"/><position joint="d" kp=".1" timeconst=".02"/></actuator>
    <equality><joint joint1="c" joint2="d"/><tendon tendon1="cord"/>
      <weld body1="lid" body2="mate"/></equality>""",
)


def world(name: str, **options: Any) -> Callable[[], Session]:
    """A session with a built-in world, made when it is asked for."""
    return lambda: Session(World.builtin(name), **options)


def crowded(**options: Any) -> Callable[[], Session]:
    """A session with a scene that has a bit of everything."""
    return lambda: Session(World.from_string(CROWDED, tool="tool"), **options)


def concave(**options: Any) -> Callable[[], Session]:
    """A session with a ball of triangles in a slot, both felt as they are."""
    assets = asset("channel", channel()) + asset("ball", ball(2, 0.012, 0.002))
    bodies = """<geom type="mesh" mesh="channel"/><body name="tool" pos="0 0 .0119"><freejoint/>
      <geom type="mesh" mesh="ball" mass=".3"/></body>"""
    text = scene_with(assets, bodies)
    return lambda: Session(World.from_string(text, tool="tool", concave=True), **options)


def mechanism(name: str, **options: Any) -> Callable[[], Session]:
    """A session with a built-in mechanism."""
    return lambda: Session(builtin(name), **options)


def bouncing() -> Session:
    """A point that falls into a corner of two stops."""
    x, y, dx, dy, m, g = sp.symbols("x y dx dy m g", real=True)
    return Session(
        Mechanism(
            name="bouncing",
            coordinates=(x, y),
            velocities=(dx, dy),
            kinetic_energy=m * (dx**2 + dy**2) / 2,
            position=(x, y, 0),
            stops=(y, x),
            gravity=m * g * (x + y),
            constants={m: 0.5, g: 9.81},
            start=(0.01, 0.02),
            restitution=0.5,
        ),
        device=AdmittanceDisplay(),
    )


WEAK = Inertial(limits=(2.0, 2.0, 0.05))
RUB = Contact(friction=Friction())
SESSIONS: dict[str, Callable[[], Session]] = {
    "corner": world("corner"),
    "corner, penalty, wall": world("corner", contact=Contact(mode="penalty", wall=Wall("seh"))),
    "corner, rigid": world("corner", contact=Contact(mode="rigid")),
    "corner, rigid, friction": world("corner", contact=replace(RUB, mode="rigid")),
    "corner, friction": world("corner", contact=RUB),
    "corner, a bond": world("corner", contact=Contact(friction=Friction(damping_ratio=1.0))),
    "crowded, the scene's friction": crowded(contact=Contact(friction=SCENE_FRICTION)),
    "crowded, rigid, the scene's": crowded(contact=Contact(friction=SCENE_FRICTION, mode="rigid")),
    "corner, Dahl": world("corner", contact=Contact(friction=Friction(law="dahl"))),
    "corner, limits": world("corner", device=WEAK),
    "corner, limits, rigid": world("corner", contact=Contact(mode="rigid"), device=WEAK),
    "corner, literal limits": world("corner", contact=Contact(limit="total"), device=WEAK),
    "corner, ramped": world("corner", force_path=ForcePath(ramp=0.2)),
    "corner, scaled": world("corner", contact=Contact(strategy="scale"), device=WEAK),
    "corner, wood": world("corner", contact=Contact(material="wood")),
    "corner, direct": world("corner", coupling=Direct()),
    "corner, virtual": world("corner", coupling=VirtualCoupler()),
    "corner, unilateral": world(
        "corner", contact=Contact(mode="rigid"), coupling=UnilateralCoupler()
    ),
    "corner, admittance": world("corner", coupling=Admittance()),
    "corner, late, coarse": world(
        "corner",
        device=Inertial(delay_ticks=3, friction=(0.1, 0.01), damping=(0.1, 0.01), resolution=1e-5),
    ),
    "6-DOF": world("corner-3d"),
    "6-DOF, friction, equality": world(
        "corner-3d", contact=replace(RUB, method="equality", restitution=0.5)
    ),
    "6-DOF, friction": world("corner-boxes", contact=RUB),
    "6-DOF, rigid": world("corner-boxes", contact=Contact(mode="rigid")),
    "6-DOF, planar device": world("corner-3d", device=Inertial(subspace="planar")),
    "6-DOF, resultant, held": world(
        "corner-3d", contact=Contact(resultant=True), integrator="held", frozen=0.02
    ),
    "linkage": world("linkage-enclosure"),
    "linkage, friction": world("linkage-enclosure", contact=RUB),
    "linkage, shaped": world("linkage-enclosure", coupling=FourChannel(shaping=Shaping())),
    "arm": world("arm-7"),
    "instrument": world("laparoscope", contact=RUB),
    "loop": world("four-bar"),
    "loop, grounded, rigid": world("four-bar-grounded", contact=Contact(mode="rigid")),
    "loop in space": world("sarrus", contact=RUB),
    "loop in space, rigid": world("sarrus", contact=Contact(mode="rigid")),
    "gripper": world("gripper", contact=RUB),
    "crowded": crowded(contact=Contact(restitution=0.5)),
    "crowded, split": crowded(contact=Contact(restitution=0.5, self_collision="split")),
    "crowded, friction": crowded(contact=RUB),
    "crowded, rigid, friction": crowded(contact=replace(RUB, mode="rigid")),
    "concave, friction": concave(contact=RUB),
    "concave, rigid": concave(contact=Contact(mode="rigid")),
    "concave, local": concave(local=LocalModel()),
    "local": world("peg-in-hole", local=LocalModel()),
    "local, friction": world("corner-3d", local=LocalModel(), contact=RUB),
    "local, moving": world("push-linkage", local=LocalModel(constraints="inertial"), contact=RUB),
    "local, intermediate": world("corner", local=LocalModel.intermediate()),
    "mechanism": mechanism("rolling-disk"),
    "mechanism, Lie": mechanism("lie-disk-on-sphere"),
    "mechanism, chart": mechanism("two-link-circle"),
    "mechanism, impedance device": mechanism("rolling-disk", device=Inertial()),
    "mechanism, stops": bouncing,
    "corner, kept passive": world("corner", passivity=Passivity()),
    "crowded, tank": crowded(passivity=Passivity("tank")),
    "local, kept passive": world("corner", local=LocalModel(), passivity=Passivity("reference")),
    "mechanism, kept passive": mechanism("rolling-disk", passivity=Passivity()),
}  # fmt: skip


#: what meets nothing; all others must, or their stages would have nothing to do
ALONE = ("loop", "loop, grounded, rigid", "mechanism", "mechanism, Lie", "mechanism, chart",
         "mechanism, impedance device", "mechanism, kept passive")  # fmt: skip


@pytest.mark.parametrize("name", SESSIONS)
def test_every_row_is_finite(name: str) -> None:
    rows = SESSIONS[name]().run(SECONDS, PUSH).rows
    assert len(rows) == round(SECONDS * 1000)
    assert rows["contacts"].any() == (name not in ALONE)
    for column in rows.dtype.names or ():
        assert np.isfinite(rows[column]).all(), column


def test_an_impedance_hand_and_a_guided_one() -> None:
    session = SESSIONS["corner"]()
    hands = (
        Impedance(target=(0.06, -0.07)),
        Guided(path=[(0.0, 0.06, -0.07, 0.0), (0.2, 0.08, -0.09, 0.0)]),
    )
    for hand in hands:
        assert np.isfinite(session.run(SECONDS, hand).rows["device_wrench"]).all()


@pytest.mark.live
@pytest.mark.parametrize("name", ["corner", "local", "mechanism"])
def test_the_loop_on_the_wall_clock(name: str) -> None:
    with SESSIONS[name]().live(rate=200.0, hand=Impedance()) as live:
        live.pull((0.0, 0.0, 0.0))
        while live.status().ticks < 20:
            poses, _ = live.view()
            assert np.isfinite(poses).all()


def test_every_stage_is_in_some_session() -> None:
    """What is missing here would not be checked."""
    used = {
        one.stage.function.__name__
        for session in (make() for make in SESSIONS.values())
        for one in session.subject.allocate(session, None, session.rate, 1, None).stages
    }
    declared = {stage.function.__name__ for table in TABLES.values() for stage in table}
    assert declared - used == set()
