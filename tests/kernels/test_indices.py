"""Kernels take indices as they are; other functions of Numba's count from the end as before."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.np import arrayobj

from detent.kernels.dispatch import plain_indices
from detent.kernels.jit import JIT_ENABLED


def test_numba_is_left_as_it_was_also_after_an_error() -> None:
    before = arrayobj.fix_integer_index
    with pytest.raises(ZeroDivisionError), plain_indices():
        assert arrayobj.fix_integer_index is not before
        1 / 0  # noqa: B018
    assert arrayobj.fix_integer_index is before


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")
def test_what_others_compile_counts_from_the_end() -> None:
    last = numba.njit(lambda values, i: values[i])
    assert last(np.arange(3.0), -1) == 2.0
