"""From the description of a mechanism to its equations of motion, as SymPy matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from detent.errors import MechanismError
from detent.mechanism.mechanism import Mechanism
from detent.mechanism.rotations import Orientation

Matrix = Any
LONG = 1000  # operations from which on an expression stays as it is
SIMPLE = 16  # operations up to which SymPy's own search for a shorter form does not take long


@dataclass(frozen=True)
class Equations:
    r"""All that a tick evaluates, in the symbols q, u, z and ż (``w``).

    .. math:: M \dot u + C u = Q + J^T F + A^T \lambda, \qquad A u = 0, \quad \dot q = N(q) u
    """

    q: list[Any]
    u: list[Any]
    z: list[Any]
    w: list[Any]  # ż
    constants: list[Any]
    N: Matrix  # (nq, nv) q̇ = N u: the identity, but for orientations
    M: Matrix  # (nv, nv) S2 eq. 5
    C: Matrix  # (nv, nv) S2 eq. 6-7
    bias: Matrix  # (nv, 1) C u
    load: Matrix  # (nv, 1) Q: springs, dampers, gravity
    potential: Any  # [J]
    h: Matrix  # (holonomic, 1)
    A: Matrix  # (rows, nv) S2 eq. 10
    Adot: Matrix  # (rows, nv)
    drift: Matrix  # (rows, 1) Ȧ u
    position: Matrix  # (3, 1) of the handle
    rotation: Matrix  # (3, 3)
    J: Matrix  # (6, nv) its twist, in world axes
    J_drift: Matrix  # (6, 1) J̇ u
    J_gram: Matrix  # (nv, nv) Jᵀ J, empty where it is singular anyway
    phi: Matrix  # (x, 1), empty where x = q
    J_phi: Matrix  # (x, nv) ∂φ/∂q
    phi_drift: Matrix  # (x, 1) S2 eq. 14
    psi: Matrix  # (x, 1)
    J_psi: Matrix  # (x, nz)
    psi_gram: Matrix  # (nz, nz) (∂ψ/∂z)ᵀ ∂ψ/∂z
    psi_drift: Matrix  # (x, 1) S2 eq. 15
    stop: Matrix  # (stops, 1)
    G: Matrix  # (stops, nv)
    stop_drift: Matrix  # (stops, 1) Ġ u
    energies: Matrix  # (n, 1) [J]
    bodies: list[tuple[Matrix, Matrix]]  # position and rotation
    track: Matrix  # (3, 1) or empty


class Flow:
    """Derivatives along the velocities: where q̇ = N(q) u."""

    def __init__(self, q: Sequence[Any], u: Sequence[Any], N: Matrix) -> None:
        self.q, self.u, self.N = q, u, N

    def along(self, f: Any, k: int) -> Any:
        """The derivative of f(q) along the k-th velocity."""
        column = self.N[:, k]
        return sum(f.diff(s) * column[a] for a, s in enumerate(self.q) if column[a] != 0)

    def jacobian(self, column: Matrix) -> Matrix:
        """(rows, nv) with d/dt column = jacobian · u."""
        import sympy as sp

        return sp.Matrix(column.rows, len(self.u), lambda i, k: self.along(column[i], k))

    def rate(self, matrix: Matrix) -> Matrix:
        """d/dt of a matrix of q."""
        return matrix.applyfunc(lambda e: sum(self.along(e, k) * v for k, v in enumerate(self.u)))


def derive(m: Mechanism) -> Equations:
    """Derive M, C, A, Ȧ, J and the derivatives of φ and ψ."""
    import sympy as sp

    q, u = m.q, m.u
    flow = Flow(q, u, velocity_map(m))
    speeds = sp.Matrix(u)
    to_q = dict(zip(m.task, m.kinematics, strict=True))

    def column(values: Sequence[Any]) -> Matrix:
        return sp.Matrix(len(values), 1, lambda i, _: sp.sympify(values[i]).xreplace(to_q))

    M = inertia(m, sp.Matrix(u))
    brackets = structure(m)
    C = christoffel(M, flow, brackets)
    potential = sp.sympify(m.potential).xreplace(to_q)
    rayleigh = sp.sympify(m.rayleigh).xreplace(to_q)
    load = -flow.jacobian(sp.Matrix([potential])).T - sp.Matrix([rayleigh.diff(v) for v in u])
    phi, h, stop = column(m.phi), column(m.holonomic), column(m.stops)
    J_phi = flow.jacobian(phi)
    A = constraint_rows(m, h, J_phi, flow, to_q)
    Adot = flow.rate(A)
    position = column(m.handle)
    rotation = sp.eye(3) if m.rotation is None else m.rotation.xreplace(to_q)
    J = flow.jacobian(position).col_join(angular(rotation, flow))
    psi, J_psi, psi_drift, w = chart(m)
    G = flow.jacobian(stop)
    return Equations(
        q=q, u=u, z=m.z, w=w, constants=list(m.constants), N=flow.N, M=M, C=C,
        bias=C * speeds, load=load, potential=potential, h=h, A=A, Adot=Adot,
        drift=Adot * speeds, position=position, rotation=rotation, J=J,
        J_drift=flow.rate(J) * speeds, J_gram=gram(J if len(u) <= 6 else sp.zeros(6, 0)),
        phi=phi if m.task else sp.zeros(0, 1),
        J_phi=J_phi if m.task else sp.zeros(0, len(u)),
        phi_drift=flow.rate(J_phi) * speeds if m.task else sp.zeros(0, 1),
        psi=psi, J_psi=J_psi, psi_gram=gram(J_psi), psi_drift=psi_drift,
        stop=stop, G=G, stop_drift=flow.rate(G) * speeds,
        energies=column(list(m.energies.values())),
        bodies=[(column(p), sp.Matrix(r).xreplace(to_q)) for p, r in m.bodies.values()],
        track=column(m.track or ()),
    )  # fmt: skip


def velocity_map(m: Mechanism) -> Matrix:
    """N(q) with q̇ = N(q) u."""
    import sympy as sp

    blocks = [c.rate_map() if isinstance(c, Orientation) else sp.eye(1) for c in m.coordinates]
    return sp.diag(*blocks)


def structure(m: Mechanism) -> dict[tuple[int, int], dict[int, int]]:
    """Brackets of the velocities: [X_k, X_j] = Σ c X_l, body rates of orientations only."""
    out: dict[tuple[int, int], dict[int, int]] = {}
    place = 0
    for c in m.coordinates:
        if isinstance(c, Orientation):
            for a in range(3):
                b, d = (a + 1) % 3, (a + 2) % 3
                out[place + a, place + b] = {place + d: 1}
                out[place + b, place + a] = {place + d: -1}
        place += 3 if isinstance(c, Orientation) else 1
    return out


def inertia(m: Mechanism, u: Matrix) -> Matrix:
    """M(q): as given, or the second derivatives of the kinetic energy (S2 eq. 5)."""
    import sympy as sp

    if m.inertia is not None:
        M = sp.Matrix(m.inertia)
        if any((M - M.T).applyfunc(sp.simplify)):
            raise MechanismError("the inertia", m.inertia, "is not symmetric")
        return M
    M = sp.hessian(sp.sympify(m.kinetic_energy), list(u)).applyfunc(tidy)
    if M.free_symbols & set(u):
        raise MechanismError("the kinetic energy", m.kinetic_energy, "is not quadratic in q̇")
    return M


def tidy(expression: Any) -> Any:
    """A shorter form, if one is found soon.

    Products of sines and cosines become sums (sin² + cos² vanishes, and so do angles that are
    added and taken away again): that takes time in proportion, where a search does not.
    """
    import sympy as sp
    from sympy.simplify.fu import TR8

    if sp.count_ops(expression) > LONG:
        return expression
    whole = sp.expand(expression)
    if not whole.has(sp.sin, sp.cos):
        return whole
    forms = [whole, sp.expand(TR8(whole))]
    short = min(forms, key=sp.count_ops)
    return sp.trigsimp(short) if sp.count_ops(short) <= SIMPLE else short


def gram(J: Matrix) -> Matrix:
    """JᵀJ, with the zeros that trigonometry makes."""
    import sympy as sp

    lower = [[tidy(J[:, i].dot(J[:, j])) for j in range(i + 1)] for i in range(J.cols)]
    return sp.Matrix(J.cols, J.cols, lambda i, j: lower[max(i, j)][min(i, j)])


def christoffel(M: Matrix, flow: Flow, brackets: dict[tuple[int, int], dict[int, int]]) -> Matrix:
    r"""C by Christoffel's symbols, with the brackets of body rates where there are any.

    .. math:: C_{ij} = \tfrac12 \sum_k (X_k M_{ij} + X_j M_{ik} - X_i M_{kj}
              + M_{[kj] i} - M_{[ki] j} - M_{[ji] k}) u_k

    S2 eq. 6-7 where the brackets vanish (Koszul's formula otherwise): Ṁ − 2C is skew.
    """
    import sympy as sp

    n = M.rows
    slope = [M.applyfunc(lambda e, k=k: flow.along(e, k)) for k in range(n)]

    def turned(a: int, b: int, c: int) -> Any:
        return sum(sign * M[l, c] for l, sign in brackets.get((a, b), {}).items())

    def entry(i: int, j: int) -> Any:
        total = 0
        for k in range(n):
            plain = slope[k][i, j] + slope[j][i, k] - slope[i][k, j]
            total += (plain + turned(k, j, i) - turned(k, i, j) - turned(j, i, k)) * flow.u[k]
        return total / 2

    return sp.Matrix(n, n, entry)


def constraint_rows(
    m: Mechanism, h: Matrix, J_phi: Matrix, flow: Flow, to_q: dict[Any, Any]
) -> Matrix:
    """A(q): holonomic rows first, then the Pfaffian ones (S2 eq. 10)."""
    import sympy as sp

    A = flow.jacobian(h)
    for row in m.pfaffian:
        here = sp.Matrix([[sp.sympify(e).xreplace(to_q) for e in row]])
        A = A.col_join(here * J_phi if m.task else here)
    return A


def angular(R: Matrix, flow: Flow) -> Matrix:
    """(3, nv) with the angular velocity in world axes = angular · u, from Ṙ Rᵀ."""
    import sympy as sp

    out = sp.zeros(3, len(flow.u))
    for k in range(len(flow.u)):
        spin = R.applyfunc(lambda e, k=k: flow.along(e, k)) * R.T
        for i, (a, b) in enumerate(((2, 1), (0, 2), (1, 0))):
            out[i, k] = tidy(spin[a, b])
    return out


def chart(m: Mechanism) -> tuple[Matrix, Matrix, Matrix, list[Any]]:
    """ψ, ∂ψ/∂z, its drift (S2 eq. 15) and the symbols ż; all empty without ψ."""
    import sympy as sp

    if m.parametrisation is None:
        return sp.zeros(0, 1), sp.zeros(0, 0), sp.zeros(0, 1), []
    w = [sp.Symbol(f"d{s}", real=True) for s in m.z]
    psi = sp.Matrix([sp.sympify(e) for e in m.psi])
    flow = Flow(m.z, w, sp.eye(len(w)))
    J = flow.jacobian(psi)
    return psi, J, flow.rate(J) * sp.Matrix(w), w
