"""How many contacts and limits there is room for, and how many in one collision."""

from __future__ import annotations

import mujoco
import numpy as np

from detent.kernels.constants import CONTACT_MEMORY
from detent.servo.world.scene import count_limits
from detent.servo.world.spans import row_width, tree_spans
from detent.setup.constants import CONTACTS_PER_GEOM, LEAST_CONTACTS, LEAST_ROWS, MOST_MEMORY


def row_capacity(model: mujoco.MjModel, felt: int = 0) -> int:
    """Rows for all limits, and `CONTACTS_PER_GEOM` for every geom that moves and can touch.

    *felt* more for shapes that are felt as they are.

    At least `LEAST_ROWS`, and no more than fit `MOST_MEMORY`.
    """
    limits = count_limits(model)
    wanted = limits + max(LEAST_CONTACTS, CONTACTS_PER_GEOM * moving_geoms(model) + felt)
    most = MOST_MEMORY // row_size(model)
    return max(LEAST_ROWS, limits + LEAST_CONTACTS, min(wanted, most))


def moving_geoms(model: mujoco.MjModel) -> int:
    """Geoms of trees that can touch anything."""
    touches = (model.geom_contype | model.geom_conaffinity) != 0
    touches[model.pair_geom1] = True
    touches[model.pair_geom2] = True
    return int(np.sum(touches & (model.body_treeid[model.geom_bodyid] >= 0)))


def row_size(model: mujoco.MjModel) -> int:
    """[bytes] A row: columns for the two spans that it moves, and all that is known of it."""
    return 8 * (12 * row_width(tree_spans(model)) + 3 * CONTACT_MEMORY + 160)


def collision_capacity(model: mujoco.MjModel, rows: int) -> int:
    """Rows of one collision, or one rigid step: all, if the scratch of that fits `MOST_MEMORY`.

    Twice their number, since self-collisions may be split. Each needs five vectors over the dofs
    that the collision moves, and the factor of the active ones is square.
    """
    most = (MOST_MEMORY // 8 - 3 * model.nv * (model.nv + 1)) // (5 * model.nv + 32)
    return min(2 * rows, max(LEAST_ROWS, most))
