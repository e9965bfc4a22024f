"""The record of a mechanism: its state, what its derived functions write, and room to work."""

from __future__ import annotations

import numpy as np

from detent.kernels.inertia import Inertia, make_inertia
from detent.kernels.projection import ProjectionWork, projection_work
from detent.kernels.struct import Struct


class Mechanics(Struct):
    """A mechanism: its state, what is derived from it, and scratch."""

    dynamics: int  # addresses of the derived stages
    chart: int
    observe: int
    q: np.ndarray  # (nq,)
    u: np.ndarray  # (nv,)
    z: np.ndarray  # (nz,) parameters of the manifold, where there is ψ
    w: np.ndarray  # (nz,) their rates
    c: np.ndarray  # (nc,) constants
    plain: np.ndarray  # (n, 2) places of ordinary coordinates in q and u
    turns: np.ndarray  # (n, 2) places of orientations in q and u
    identity: np.ndarray  # (1,) 1 = x is q
    integrator: np.ndarray  # (1,)
    step: np.ndarray  # (1,) [s]
    # written by the derived stages
    M: np.ndarray  # lower triangle, row by row, in the layout of `inertia`
    bias: np.ndarray  # (nv,) C u
    load: np.ndarray  # (nv,) springs, dampers, gravity
    A: np.ndarray  # (rows, nv)
    drift: np.ndarray  # (rows,) Ȧ u
    h: np.ndarray  # (holonomic,)
    position: np.ndarray  # (3,) of the handle
    rotation: np.ndarray  # (3, 3)
    J: np.ndarray  # (6, nv)
    J_drift: np.ndarray  # (6,)
    J_gram: np.ndarray  # Jᵀ J, in the layout of `J_metric`
    phi: np.ndarray  # (x,)
    J_phi: np.ndarray  # (x, nv)
    phi_drift: np.ndarray  # (x,)
    psi: np.ndarray  # (x,)
    J_psi: np.ndarray  # (x, nz)
    psi_gram: np.ndarray  # (∂ψ/∂z)ᵀ ∂ψ/∂z, in the layout of `psi_metric`
    psi_drift: np.ndarray  # (x,)
    stop: np.ndarray  # (stops,)
    G: np.ndarray  # (stops, nv)
    stop_drift: np.ndarray  # (stops,)
    potential: np.ndarray  # (1,)
    energies: np.ndarray
    track: np.ndarray  # (3,)
    body_position: np.ndarray  # (bodies, 3)
    body_rotation: np.ndarray  # (bodies, 3, 3)
    # forces
    hand: np.ndarray  # (6,) wrench of the hand on the handle, as it is sensed
    springs: np.ndarray  # (n, 9) k_t, k_r, origin
    dampers: np.ndarray  # (2,) b_t, b_r
    wrench: np.ndarray  # (6,) all wrenches on the handle
    energy: np.ndarray  # (2,) kinetic; of springs in SE(3) [J]
    # results
    quaternion: np.ndarray  # (4,) of the handle
    twist: np.ndarray  # (6,)
    acceleration: np.ndarray  # (6,) of the handle
    rate: np.ndarray  # (nv,) u̇
    z_rate: np.ndarray  # (nz,) z̈
    multipliers: np.ndarray  # (rows + stops,)
    active: np.ndarray  # (stops,) 1 = held in this step
    held: np.ndarray  # (stops,) its acceleration then
    restitution: np.ndarray  # (1,)
    struck: np.ndarray  # (1,) [J] kinetic energy taken by stops in this tick
    # scratch
    inertia: Inertia
    task: Inertia  # the same, closed by the rows of ∂φ/∂q
    J_metric: Inertia  # factors of the Gram matrices
    psi_metric: Inertia
    row: np.ndarray  # (rows + stops, nv)
    wanted: np.ndarray  # (rows + stops,)
    back: np.ndarray  # (rows + stops,) way back to the manifold
    rates: np.ndarray
    covered: np.ndarray
    x_row: np.ndarray  # (x, nv)
    x_wanted: np.ndarray  # (x,)
    x_speed: np.ndarray  # (x,)
    torque: np.ndarray  # (2, nv)
    turn: np.ndarray  # (3,)
    base: np.ndarray  # (nq,) at the start of a step
    start: np.ndarray  # (3, n) u, z, ż then
    slope: np.ndarray  # (4, n) of ξ, u, z, ż in a stage
    total: np.ndarray  # (4, n)
    xi: np.ndarray  # (nv,)
    pushed: ProjectionWork
    stop_row: np.ndarray  # (stops, nv)
    stop_bound: np.ndarray  # (stops,)
    stop_push: np.ndarray  # (stops,)
    white: np.ndarray  # (2, nv)


def make_mechanics(
    sizes: dict[str, int],
    columns: dict[str, list[list[int]]],
    plain: np.ndarray,
    turns: np.ndarray,
) -> Mechanics:
    """Room for a mechanism of these sizes; addresses and values come later."""
    nq, nv, nz, rows, stops = (sizes[k] for k in ("nq", "nv", "nz", "rows", "stops"))
    nx, all_rows, wide = sizes["psi"], rows + stops, max(nv, nz)
    a = np.zeros
    layout = {field: _layout(rows) for field, rows in columns.items()}
    entries = {field: len(colind) for field, (_, _, colind) in layout.items()}
    return Mechanics(
        dynamics=0, chart=0, observe=0, q=a(nq), u=a(nv), z=a(nz), w=a(nz), c=a(sizes["nc"]),
        plain=plain, turns=turns, identity=a(1, np.int64), integrator=a(1, np.int64), step=a(1),
        M=a(entries["M"]), bias=a(nv), load=a(nv), A=a((rows, nv)), drift=a(rows),
        h=a(sizes["holonomic"]), position=a(3), rotation=np.eye(3), J=a((6, nv)), J_drift=a(6),
        J_gram=a(entries["J_gram"]), phi=a(sizes["phi"]), J_phi=a((sizes["phi"], nv)),
        phi_drift=a(sizes["phi"]), psi=a(nx), J_psi=a((nx, nz)), psi_gram=a(entries["psi_gram"]),
        psi_drift=a(nx), stop=a(stops), G=a((stops, nv)),
        stop_drift=a(stops), potential=a(1), energies=a(sizes["energies"]), track=a(3),
        body_position=a((sizes["bodies"], 3)), body_rotation=a((sizes["bodies"], 3, 3)),
        hand=a(6), springs=a((0, 9)), dampers=a(2), wrench=a(6), energy=a(2),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]), twist=a(6), acceleration=a(6), rate=a(nv),
        z_rate=a(nz), multipliers=a(all_rows), active=a(stops, np.int64), held=a(stops),
        restitution=a(1), struck=a(1), inertia=make_inertia(*layout["M"], all_rows),
        task=make_inertia(*layout["M"], nx), J_metric=make_inertia(*layout["J_gram"]),
        psi_metric=make_inertia(*layout["psi_gram"]), row=a((all_rows, nv)),
        wanted=a(all_rows), back=a(all_rows), rates=a(max(all_rows, nx)),
        covered=a(max(all_rows, nx)),
        x_row=a((nx, nv)), x_wanted=a(nx), x_speed=a(nx),
        torque=a((2, nv)), turn=a(3), base=a(nq), start=a((3, wide)), slope=a((4, wide)),
        total=a((4, wide)), xi=a(nv), pushed=projection_work(max(stops, 1), nv),
        stop_row=a((stops, nv)), stop_bound=a(stops), stop_push=a(stops),
        white=a((2, nv)),
    )  # fmt: skip


def _layout(columns: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns of each row of a symmetric matrix in MuJoCo's layout."""
    rownnz = np.array([len(row) for row in columns], np.int32)
    rowadr = (np.cumsum(rownnz) - rownnz).astype(np.int32)
    colind = np.array([j for row in columns for j in row], np.int32)
    return rownnz, rowadr, colind
