"""What the tests of mechanisms share: derived functions at a state, small mechanisms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from detent import Mechanism, Session
from detent.devices import AdmittanceDisplay
from detent.kernels.mechanics import Mechanics
from detent.kernels.stages import run_stage
from detent.servo import places
from detent.setup.mechanism import make_plan
from detent.setup.plan import dense_inertia

IDEAL = AdmittanceDisplay.ideal()


def evaluated(m: Mechanism, q: Any, u: Any) -> Mechanics:
    """The derived functions of a mechanism at a state, which need not keep its constraints."""
    me = make_plan(m).mechanics()
    me.q[:], me.u[:] = q, u
    run_stage(me.dynamics, me)
    run_stage(me.observe, me)
    return me


def compiled(expressions: Any, m: Mechanism) -> Any:
    """Expressions of q and u as a NumPy function, by SymPy: independent of the generated source."""
    constants = {s: sp.Float(v) for s, v in m.constants.items()}
    e = m.equations()
    return sp.lambdify([e.q, e.u], sp.Matrix(expressions).subs(constants), "numpy")


def settled(m: Mechanism, q: Any, u: Any, wrench: Any = (0,) * 6) -> Mechanics:
    """The acceleration (``rate``) of the compiled tick at a state near the manifold."""
    servo = Session(m, device=IDEAL).prepare(None, 1000.0, 1).servo
    me = servo.mechanics
    me.q[:], me.u[:] = q, u
    run_stage(me.dynamics, me)
    for _ in range(3 * len(me.z)):
        run_stage(me.chart, me)
        x = me.q if me.identity[0] else me.phi
        me.z[:] += np.linalg.lstsq(me.J_psi, x - me.psi, rcond=None)[0]
        speed = me.u if me.identity[0] else me.J_phi @ me.u
        me.w[:] = np.linalg.lstsq(me.J_psi, speed, rcond=None)[0]
    run_stage(servo.stages[places.SETTLE], me)
    me.hand[:] = wrench
    run_stage(servo.stages[places.ACT], me)
    return me


def admissible(m: Mechanism, u: Any) -> list[float]:
    """The nearest velocity at the start that keeps the constraints, in the metric of M."""
    me = evaluated(replace(m, start_velocity=()), m.start, u)
    M, A = dense_inertia(me), me.A
    wrong = np.linalg.solve(A @ np.linalg.solve(M, A.T), A @ np.asarray(u, float))
    return (u - np.linalg.solve(M, A.T @ wrong)).tolist()


def kkt(me: Mechanics, m: Mechanism, wrench: Any) -> tuple[np.ndarray, np.ndarray]:
    """u̇ and λ by an independent solve of the whole KKT system."""
    M, A = dense_inertia(me), me.A
    twist = me.J @ me.u
    drag = np.repeat(me.dampers, 3) * twist
    tau = me.J.T @ (np.asarray(wrench, float) - drag) + me.load - me.bias
    K = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    both = np.linalg.solve(K, np.concatenate([tau, -me.drift]))
    return both[: len(me.u)], both[len(me.u) :]


def pendulum(length: float = 0.4, damping: float = 0.0) -> Mechanism:
    """A point on a string in the x-z plane, its distance kept by a constraint, without ψ."""
    x, z = sp.symbols("x z", real=True)
    dx, dz = sp.symbols("dx dz", real=True)
    m, g, l, b = sp.symbols("m g l b", positive=True)
    return Mechanism(
        name="pendulum",
        coordinates=(x, z),
        velocities=(dx, dz),
        kinetic_energy=m * (dx**2 + dz**2) / 2,
        position=(x, 0, z),
        holonomic=(x**2 + z**2 - l**2,),
        dampers=(b * (dx**2 + dz**2) / 2,),
        gravity=m * g * z,
        constants={m: 0.5, g: 9.81, l: length, b: damping},
        start=(length * np.sin(1.0), -length * np.cos(1.0)),
    )


def planar_arm(links: int = 3, length: float = 0.1, **more: Any) -> Mechanism:
    """Uniform rods in the plane; the hand holds the end point: redundant from three on."""
    q = sp.symbols(f"q1:{links + 1}", real=True)
    dq = sp.symbols(f"dq1:{links + 1}", real=True)
    x = sp.symbols("x1:3", real=True)
    m, l = sp.symbols("m l", positive=True)
    here, energy, angle, spin = sp.zeros(2, 1), 0, 0, 0
    for a, da in zip(q, dq, strict=True):
        angle, spin = angle + a, spin + da
        along = sp.Matrix([sp.cos(angle), sp.sin(angle)])
        middle = here + l / 2 * along
        velocity = middle.jacobian(sp.Matrix(q)) * sp.Matrix(dq)
        energy += m * velocity.dot(velocity) / 2 + m * l**2 / 12 * spin**2 / 2
        here = here + l * along
    start = more.pop("start", [0.3, 0.8, -0.5, 0.4][:links])
    return Mechanism(
        name=f"arm-{links}",
        coordinates=q,
        velocities=dq,
        kinetic_energy=sp.expand(energy),
        task=x,
        kinematics=tuple(here),
        position=(*x, 0),
        constants={m: 1.2, l: length},
        start=start,
        **more,
    )
