"""Gains of contacts: shared within a face, and bounded by what a fixed step can hold."""

from __future__ import annotations

import math

from detent.kernels.constants import MOST_DAMPING, MOST_STIFFNESS
from detent.kernels.contact import accumulate_outer, gain_scale, quadratic_form
from detent.kernels.jit import kernel
from detent.kernels.spans import unwhiten_spans
from detent.kernels.vectors import dot
from detent.servo.constants import TRACE
from detent.servo.contact.columns import columns, row_product
from detent.servo.contact.groups import row_group
from detent.servo.contact.identity import NO_ROW
from detent.servo.structs import COLLIDING, Motion, Rows, Scene

SOFTENED = 2.0  # of rows.gain[r, 3], then with the scales of K and B before it; 1 = looked at
WANTED = -2  # of a list of rows: it is empty, and will be looked at


@kernel
def share_gains(rows: Rows) -> None:
    r"""Divide stiffness and damping among the contacts of a face, by their depths (B9).

    A face is what looks one way within a contact group.

    .. math:: K_i = K \frac{d_i}{\sum_j \max(0, n_i^T n_j)^2 d_j}

    Contacts of equal depth share K, a contact that is only just touched has none of it, and
    one that is reported twice counts once: the resultant depends on the geometry alone, and
    changes without a jump when contacts come and go.
    """
    for r in range(rows.count[0]):
        depth = TRACE - rows.separation[r]
        if rows.geom[r, 0] < 0 or depth < 0.0:
            continue
        total, i = 0.0, rows.group_row[row_group(rows, r)]
        while i != NO_ROW:
            if rows.geom[i, 0] >= 0:
                facing = max(dot(rows.normal[r], rows.normal[i], 3), 0.0)
                total += facing * facing * (TRACE - rows.separation[i])
            i = rows.next_row[i]
        rows.stiffness[r] *= depth / total
        rows.damping[r] *= depth / total


@kernel
def note_bound(rows: Rows, r: int, soften: float, ease: float) -> None:
    """Remember the row whose gains were bounded most since the start."""
    if min(math.sqrt(soften), ease) < min(math.sqrt(rows.worst[0]), rows.worst[1]):
        rows.worst[0], rows.worst[1] = soften, ease
        rows.worst_geom[0], rows.worst_geom[1] = rows.geom[r, 0], rows.geom[r, 1]


@kernel
def is_pair(rows: Rows, r: int) -> bool:
    """Whether row r is between two spans."""
    return rows.span[r, 1, 1] > 0


@kernel
def tree_at(sc: Scene, rows: Rows, r: int, part: int) -> int:
    """The first tree of a part of row r's span, which stands for all of it; -1 if there is none."""
    return sc.dof_tree[rows.span[r, part, 0]] if rows.span[r, part, 1] > 0 else -1


@kernel
def loads(rows: Rows, r: int, struck: bool) -> bool:
    """Whether row r touches, and is not of a group that collides, unless *struck* says so."""
    if rows.separation[r] > 0.0:
        return False
    return struck or rows.group_state[row_group(rows, r)] != COLLIDING


@kernel
def sum_traces(sc: Scene, rows: Rows, step: float, struck: bool) -> bool:
    r"""G_ii of all rows that load, the traces of G K and G B of each span; whether any is large.

    Every :math:`\kappa_i` is at most what the spans of row i have: usually that is enough to know.
    """
    gain, traces, spans = rows.gain, rows.tree_gain, 1.0
    for t in range(traces.shape[0]):
        traces[t, 0], traces[t, 1], rows.tree_row[t] = 0.0, 0.0, NO_ROW
    for r in range(rows.count[0]):
        if not loads(rows, r, struck):
            continue
        mobility = dot(rows.white[r], rows.white[r], columns(rows, r))
        gain[r, 0] = mobility
        if is_pair(rows, r):
            spans = 2.0
        for part in range(2):
            t = tree_at(sc, rows, r, part)
            if t >= 0:
                traces[t, 0] += rows.stiffness[r] * mobility
                traces[t, 1] += rows.damping[r] * mobility
    for t in range(traces.shape[0]):
        enough = spans * traces[t, 0] * step * step <= MOST_STIFFNESS
        if not (enough and spans * traces[t, 1] * step <= MOST_DAMPING):
            return True
    return False


@kernel
def may_exceed(sc: Scene, rows: Rows, r: int, step: float) -> tuple[bool, bool]:
    """Whether the traces of what row r moves are more than a step can hold: of K, and of B."""
    stiffest, most_damped = 0.0, 0.0
    for part in range(2):
        t = tree_at(sc, rows, r, part)
        if t >= 0:
            stiffest += rows.tree_gain[t, 0]
            most_damped += rows.tree_gain[t, 1]
    return not stiffest * step * step <= MOST_STIFFNESS, not most_damped * step <= MOST_DAMPING


@kernel
def need_load(sc: Scene, mo: Motion, rows: Rows, r: int) -> None:
    """Clear the matrices of the spans of row r, and note that they are wanted."""
    for part in range(2):
        t, size = tree_at(sc, rows, r, part), rows.span[r, part, 1]
        if t >= 0 and rows.tree_row[t] == NO_ROW:
            rows.tree_row[t] = WANTED
            for a in range(sc.tree_load[t], sc.tree_load[t] + size * size):
                mo.load[0, a], mo.load[1, a] = 0.0, 0.0


@kernel
def sum_load(sc: Scene, mo: Motion, rows: Rows, r: int, stiff: bool, damped: bool) -> None:
    """Row r adds to the matrices of its span; one between two is put on the lists of both."""
    for part in range(2):
        t, size = tree_at(sc, rows, r, part), rows.span[r, part, 1]
        if t < 0 or rows.tree_row[t] == NO_ROW:
            continue
        if is_pair(rows, r):
            rows.next_pair[r, part] = rows.tree_row[t]
            rows.tree_row[t] = r
        else:
            start = sc.tree_load[t]
            if stiff:
                accumulate_outer(rows.stiffness[r], rows.jac[r], size, mo.load[0, start:])
            if damped:
                accumulate_outer(rows.damping[r], rows.jac[r], size, mo.load[1, start:])


@kernel
def add_pairs(sc: Scene, rows: Rows, r: int) -> tuple[float, float]:
    """Σ K_j G_rj² and Σ B_j G_rj² over the rows between two spans that share one with row r."""
    kappa, beta = 0.0, 0.0
    for part in range(2):
        t, first = tree_at(sc, rows, r, part), rows.span[r, part, 0]
        j = rows.tree_row[t] if t >= 0 else NO_ROW
        while j >= 0:
            other = 0 if rows.span[j, 0, 0] == first else 1
            twice = part == 1 and shares(rows, j, rows.span[r, 0, 0])
            if not twice:  # it was on the list of the first span already
                product = row_product(rows, rows.white, r, j)
                kappa += rows.stiffness[j] * product * product
                beta += rows.damping[j] * product * product
            j = rows.next_pair[j, other]
    return kappa, beta


@kernel
def shares(rows: Rows, j: int, first: int) -> bool:
    """Whether row j, which is between two spans, has the span that begins there."""
    return rows.span[j, 0, 0] == first or rows.span[j, 1, 0] == first


@kernel
def weigh_row(sc: Scene, mo: Motion, rows: Rows, r: int, stiff: bool, damped: bool) -> None:
    """rows.gain[r] ← Σ K_j G_rj² and Σ B_j G_rj² over all rows that share a span with row r.

    Or zero, where what a step can hold is far.
    """
    y, column = mo.white, 0
    for c in range(columns(rows, r)):
        y[c] = rows.white[r, c]
    unwhiten_spans(mo.inertia, rows.span[r], 2, y)
    kappa, beta = add_pairs(sc, rows, r)
    for part in range(2):
        t, size = tree_at(sc, rows, r, part), rows.span[r, part, 1]
        if t >= 0:
            start = sc.tree_load[t]
            if stiff:
                kappa += quadratic_form(mo.load[0, start:], y[column:], size)
            if damped:
                beta += quadratic_form(mo.load[1, start:], y[column:], size)
        column += size
    rows.gain[r, 1] = kappa if stiff else 0.0
    rows.gain[r, 2] = beta if damped else 0.0


@kernel
def bound_gains(sc: Scene, mo: Motion, rows: Rows, step: float, struck: bool) -> None:
    r"""Bound the gains of touching rows by what a fixed step can hold.

    Those of groups that collide, which have impulses instead, only where *struck* asks for them.

    The load that all contacts put on the direction in which row i moves the bodies is

    .. math:: \kappa_i = \frac{\sum_j K_j G_{ij}^2}{G_{ii}}, \quad G = J D^{-1} J^T

    (K_i/m_eff for a single contact); K_i is scaled so that κ_i T² ≤ ¼, and B_i likewise
    so that β_i T ≤ ½. G_ij is zero where rows move different trees. Those of one tree against
    the static world are summed up as matrices, so that the cost grows with their number and
    not with its square; those between two trees are few, and are taken one by one.
    """
    if not sum_traces(sc, rows, step, struck):
        return
    stiff, damped = False, False
    for r in range(rows.count[0]):
        rows.gain[r, 3] = 0.0
        if not loads(rows, r, struck):
            continue
        too_stiff, too_damped = may_exceed(sc, rows, r, step)
        if too_stiff or too_damped:
            need_load(sc, mo, rows, r)
            rows.gain[r, 3] = 1.0 if rows.gain[r, 0] > 0.0 else 0.0
            stiff, damped = stiff or too_stiff, damped or too_damped
    for r in range(rows.count[0]):
        if loads(rows, r, struck):
            sum_load(sc, mo, rows, r, stiff, damped)
    for r in range(rows.count[0]):
        if rows.gain[r, 3] != 0.0:
            weigh_row(sc, mo, rows, r, stiff, damped)
    for r in range(rows.count[0]):  # only now, for rows between two spans enter as they are
        if rows.gain[r, 3] == 0.0:
            continue
        soften = gain_scale(rows.gain[r, 1] / rows.gain[r, 0], step * step, MOST_STIFFNESS)
        ease = gain_scale(rows.gain[r, 2] / rows.gain[r, 0], step, MOST_DAMPING)
        rows.stiffness[r] *= soften
        rows.damping[r] *= ease
        rows.gain[r, 1], rows.gain[r, 2] = soften, ease
        if soften < 1.0 or ease < 1.0:
            rows.bounded[0] += 1
            rows.gain[r, 3] = SOFTENED
            note_bound(rows, r, soften, ease)
    if rows.bounded[0] > 0:
        rows.worst[2] += 1.0
