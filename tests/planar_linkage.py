"""Planar linkages and the devices tied to them, by hand: what the servo is compared with.

Equations in continuous time, solved by SciPy. Nothing here comes from Detent or MuJoCo.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

K_PC, B_PC = np.diag([100.0, 100.0, 0.5]), np.diag([70.0, 70.0, 0.375])  # TH Table 4.1
ALPHA, BETA = 20.0, 1.0  # [1/s] [-] Baumgarte


class Point(NamedTuple):
    """A point of a linkage."""

    x: np.ndarray  # (x, y, θ)
    J: np.ndarray  # (3, n)
    rate: np.ndarray  # (3, n) dJ/dt


@dataclass(frozen=True)
class Chain:
    """Links in series on hinges, centres of mass in the middle; the end may be pinned."""

    lengths: tuple[float, ...]  # [m]
    masses: tuple[float, ...]  # [kg]
    inertias: tuple[float, ...]  # [kg·m²]
    pivot: tuple[float, float] | None = None  # [m] where the end is pinned

    def point(self, q: np.ndarray, v: np.ndarray, link: int, share: float = 0.5) -> Point:
        """A point at a share of a link's length."""
        n = len(self.lengths)
        angle, turn = np.cumsum(q), np.cumsum(v)
        x, J, rate = np.zeros(3), np.zeros((3, n)), np.zeros((3, n))
        for i in range(link + 1):
            reach = self.lengths[i] * (share if i == link else 1.0)
            along = reach * np.array([np.cos(angle[i]), np.sin(angle[i])])
            x[:2] += along
            J[:2, : i + 1] += np.array([[-along[1]], [along[0]]])
            rate[:2, : i + 1] -= turn[i] * along[:, None]
        x[2] = angle[link]
        J[2, : link + 1] = 1.0
        return Point(x, J, rate)

    def dynamics(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """D, and the Coriolis and centrifugal torques."""
        n = len(self.lengths)
        D, torque = np.zeros((n, n)), np.zeros(n)
        for i, (m, inertia) in enumerate(zip(self.masses, self.inertias, strict=True)):
            at = self.point(q, v, i)
            M = np.diag([m, m, inertia])
            D += at.J.T @ M @ at.J
            torque += at.J.T @ M @ at.rate @ v
        return D, torque

    def closure(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W of the pinned end, and the W q̈ that closes it; none for an open chain."""
        if self.pivot is None:
            return np.zeros((0, len(q))), np.zeros(0)
        end = self.point(q, v, len(q) - 1, 1.0)
        h, W = end.x[:2] - np.array(self.pivot), end.J[:2]
        return W, -(end.rate[:2] @ v + 2.0 * ALPHA * BETA * W @ v + ALPHA**2 * h)


THREE_LINK = Chain((0.042, 0.042, 0.03), (3.0, 3.0, 1.0), (0.015, 0.015, 0.005))  # TH Table 5.1
FOUR_BAR = Chain(
    (0.045, 0.045, 0.021, 0.060),
    (1.0, 1.0, 1.0, 0.5),
    (0.0021, 0.0021, 0.0021, 0.00105),  # S3 Table I
    (0.10756620126356087, -0.04595056699232853),
)


class Freedom(NamedTuple):
    """How freely the linkage moves the hand: ascending, so the first may be impossible."""

    s: np.ndarray  # (3,) relative to the freest
    sigma: np.ndarray  # (3,)
    N: np.ndarray  # (3, 3) columns: wrenches


@dataclass(frozen=True)
class Rendering:
    """A device of unit inertia that feels a linkage: TH 5.15, 5.23, S3 4, errata E10 and B2."""

    chain: Chain
    link: int  # held at its centre of mass
    hand: tuple[float, float, float]  # [N, N·m]
    bias: bool = False
    stiffness: float = 0.0  # [1/s²] of the penalty
    damping: float = 0.0  # [1/s]
    reaction: bool = False  # of the penalty on the linkage
    band: tuple[float, float] = (0.0, 0.0)  # constrained below the first, free above the second
    euclidean: bool = False  # the singular values of J_h in metres and radians decide

    def freedom(self, J: np.ndarray, mobility: np.ndarray) -> Freedom:
        """In the metric of the held link's inertia, or in SI units."""
        if self.euclidean:
            U, sigma, _ = np.linalg.svd(J)
            return Freedom(sigma[::-1] / sigma[0], sigma[::-1], U[:, ::-1])
        m, inertia = self.chain.masses[self.link], self.chain.inertias[self.link]
        L = np.diag(np.sqrt([m, m, inertia]))
        sigma, U = np.linalg.eigh(L @ mobility @ L)
        return Freedom(np.sqrt(np.maximum(sigma, 0.0) / sigma[-1]), sigma, L @ U)

    def least_freedom(self, z: np.ndarray) -> float:
        """Zero in a singular pose."""
        n = len(self.chain.lengths)
        D, _ = self.chain.dynamics(z[:n], z[n : 2 * n])
        J = self.chain.point(z[:n], z[n : 2 * n], self.link).J
        return float(self.freedom(J, J @ np.linalg.solve(D, J.T)).s[0])

    def slope(self, _time: float, z: np.ndarray, held: int) -> np.ndarray:
        """d/dt of (q, q̇, x, ẋ) under a number of constraints."""
        n = len(self.chain.lengths)
        q, v, x, dx = z[:n], z[n : 2 * n], z[2 * n : 2 * n + 3], z[2 * n + 3 :]
        D, torque = self.chain.dynamics(q, v)
        W, closing = self.chain.closure(q, v)
        kkt = np.block([[D, W.T], [W, np.zeros((len(W), len(W)))]])

        def accelerate(tau: np.ndarray, wanted: np.ndarray) -> np.ndarray:
            return np.linalg.solve(kkt, np.concatenate([tau, wanted]))[:n]

        tool = self.chain.point(q, v, self.link)
        J = tool.J
        response = np.stack([accelerate(row, np.zeros(len(W))) for row in J], axis=1)  # D⁻¹Jᵀ
        mobility = J @ response
        error, rates = x - tool.x, dx - J @ v
        pull, hand = K_PC @ error + B_PC @ rates, np.array(self.hand)
        felt = mobility @ (hand - pull)
        if self.bias:
            felt = felt + tool.rate @ v + J @ accelerate(-torque, closing)
        tau = J.T @ (hand + pull) - torque
        if held > 0 and self.stiffness > 0.0:
            free = self.freedom(J, mobility)
            N = free.N[:, :held]
            push = N.T @ (self.stiffness * error + self.damping * rates)
            u = -N @ np.linalg.solve(N.T @ N, push)
            felt = felt + u
            if self.reaction:
                y = response @ self.regular(free) @ -error
                tau = tau + self.chain.point(q, y, self.link).rate.T @ u
        return np.concatenate([v, accelerate(tau, closing), dx, felt])

    def regular(self, free: Freedom) -> np.ndarray:
        """Λ of the directions that are free, faded out over the band."""
        low, high = self.band
        t = np.clip((free.s - low) / max(high - low, 1e-30), 0.0, 1.0)
        share = t * t * (3.0 - 2.0 * t)
        inverse = np.divide(share, free.sigma, out=np.zeros(3), where=share > 0.0)
        return free.N @ np.diag(inverse) @ free.N.T

    def solve(
        self,
        q0: tuple[float, ...],
        seconds: float,
        offset: tuple[float, float] = (0.0, 0.0),
        held: int | None = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Device and tool, (x, y, θ) each, after some seconds from rest.

        ``held`` is the number of constraints, or None: then the band decides, with events
        where one comes or goes.
        """
        q, n = np.array(q0), len(self.chain.lengths)
        device = self.chain.point(q, 0.0 * q, self.link).x + np.array([*offset, 0.0])
        z, time = np.concatenate([q, 0.0 * q, device, np.zeros(3)]), 0.0
        count = held
        if count is None:
            count = int(self.least_freedom(z) < float(np.sqrt(self.band[0] * self.band[1])))
        while time < seconds:
            events = None
            if held is None:
                edge = self.band[1] if count else self.band[0]

                def crossing(_time: float, z: np.ndarray, _held: int, edge: float = edge) -> float:
                    return self.least_freedom(z) - edge

                crossing.terminal = True  # type: ignore[attr-defined]
                crossing.direction = 1.0 if count else -1.0  # type: ignore[attr-defined]
                events = crossing
            done = solve_ivp(
                self.slope, (time, seconds), z, "DOP853", args=(count,), events=events,
                rtol=1e-9, atol=1e-12, max_step=0.01 if held is None else np.inf,
            )  # fmt: skip
            time, z, count = float(done.t[-1]), done.y[:, -1], 1 - count if held is None else count
        return z[2 * n : 2 * n + 3], self.chain.point(z[:n], z[n : 2 * n], self.link).x


def drift(rendering: Rendering, *args: object, **options: object) -> float:
    """Distance between device and tool at the end [m]."""
    device, tool = rendering.solve(*args, **options)  # type: ignore[arg-type]
    return float(np.hypot(*(device - tool)[:2]))
