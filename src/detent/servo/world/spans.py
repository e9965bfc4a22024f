"""Which degrees of freedom a row may move: those of a tree, and of all that it is tied to."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.world.loops import joined_trees


def tree_spans(model: mujoco.MjModel) -> np.ndarray:
    """(ntree, 2) First dof and size of the span of each tree; trees of one span share it.

    Loops tie trees together, and so do tendons, along which a limit acts. Where the dofs of
    others lie between, those join: spans do not overlap.
    """
    first = model.tree_dofadr.astype(np.int64)
    end = first + model.tree_dofnum
    ties = [pair[pair >= 0] for pair in joined_trees(model)]
    ties += [_trees_of_tendon(model, i) for i in range(model.ntendon)]
    for trees in (tie for tie in ties if len(tie)):
        low, high = first[trees].min(), end[trees].max()
        while True:
            met = (first < high) & (end > low)
            if first[met].min() == low and end[met].max() == high:
                break
            low, high = first[met].min(), end[met].max()
        first[met], end[met] = low, high
    return np.stack([first, end - first], axis=1)


def _trees_of_tendon(model: mujoco.MjModel, tendon: int) -> np.ndarray:
    start = model.ten_J_rowadr[tendon]
    dofs = model.ten_J_colind[start : start + model.ten_J_rownnz[tendon]]
    return np.unique(model.dof_treeid[dofs])


def distinct(spans: np.ndarray) -> np.ndarray:
    """(n, 2) The spans, each once, by their first dof."""
    found = sorted(set(map(tuple, spans.tolist())))
    return np.array(found, np.int64).reshape(-1, 2)


def row_width(spans: np.ndarray) -> int:
    """Columns that a row between any two spans needs."""
    return int(np.sort(distinct(spans)[:, 1])[-2:].sum())


def load_places(spans: np.ndarray) -> np.ndarray:
    """(ntree,) Where the square matrices of the spans lie, one behind the other."""
    each = distinct(spans)
    sizes = each[:, 1] ** 2
    return (np.cumsum(sizes) - sizes)[np.searchsorted(each[:, 0], spans[:, 0])]


def load_size(spans: np.ndarray) -> int:
    """What all those matrices need."""
    return int((distinct(spans)[:, 1] ** 2).sum())
