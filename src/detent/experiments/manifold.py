"""How well a recorded motion keeps the constraints of its mechanism."""

from __future__ import annotations

import numpy as np

from detent.mechanism import Mechanism
from detent.record.trace import Trace


def constraint_errors(mechanism: Mechanism, trace: Trace) -> tuple[float, float]:
    """The largest elements of H(q) and of A(q) q̇, from the recorded q and q̇ alone.

    Not from what the servo says of itself: that is of the moment before it corrects them.
    """
    import sympy as sp

    equations = mechanism.equations()
    q, u = equations.q, equations.u
    columns = [*trace["coordinates"][:, : len(q)].T, *trace["velocities"][:, : len(u)].T]
    symbols = [*q, *u, *equations.constants]
    worst = []
    for expressions in (equations.h, equations.A * sp.Matrix(u)):
        values = sp.lambdify(symbols, list(expressions), "numpy", cse=True)(
            *columns, *map(float, mechanism.constants.values())
        )
        worst.append(max((float(np.abs(v).max()) for v in values), default=0.0))
    return worst[0], worst[1]
