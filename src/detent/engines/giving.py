"""How what is behind a constraint gives way to a push."""

from __future__ import annotations

import numpy as np

from detent.local.constants import GIVES

SWEEPS = 20  # over what holds an object back


def few_numbers(rows: np.ndarray) -> np.ndarray:
    """(n, GIVES) vectors with the inner products of these rows: of one body, those of rank six."""
    values, vectors = np.linalg.eigh(rows @ rows.T)
    out = np.zeros((len(rows), GIVES))
    most = min(GIVES, len(rows))
    kept = np.sqrt(np.maximum(values[-most:], 0.0)) * vectors[:, -most:]
    out[:, :most] = kept
    return out


def held_back(give: np.ndarray, holds: np.ndarray) -> np.ndarray:
    r"""What is left of a way to give when the object cannot go through what holds it.

    .. math:: \min_r |a - r| \quad \text{with} \quad W r \le 0

    A push moves the object along -a, and W r > 0 would be into what holds it: a projection, by
    sweeps over the rows of W.
    """
    left = give.copy()
    sizes = np.sum(holds * holds, axis=1)
    shares = np.zeros(len(holds))
    for _ in range(SWEEPS if len(holds) else 0):
        for i, row in enumerate(holds):
            share = max(shares[i] + row @ left / sizes[i], 0.0) if sizes[i] > 0.0 else 0.0
            left += (shares[i] - share) * row
            shares[i] = share
    return left
