"""Kernels take indices as they are; other functions of Numba's count from the end as before."""

from __future__ import annotations

import ast
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.np import arrayobj

import detent
from detent.kernels.cached import compiled_sources
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


def from_the_end(source: str) -> list[int]:
    """Lines of kernels in which an array has a negative number for an index.

    Of a shape it is fine, which is a tuple. What is computed, `make bounds` tells.
    """
    return [
        part.lineno
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        and any(ast.unparse(one) in ("kernel", "inlined") for one in function.decorator_list)
        for part in ast.walk(function)
        if isinstance(part, ast.Subscript) and not ast.unparse(part.value).endswith(".shape")
        for index in (part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice])
        if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)
    ]


def test_no_kernel_counts_from_the_end() -> None:
    sources = compiled_sources(Path(detent.__file__).parent)
    assert len(sources) > 50
    found = {path.name: from_the_end(path.read_text("utf-8")) for path in sources}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_an_index_from_the_end_is_found_in_a_source() -> None:
    body = "    return a[i, -1] + a.shape[-1] + a[1:-1][0] + a[-i] + a[i - 1]\n"
    assert from_the_end(f"@kernel\ndef last(a, i):\n{body}") == [3, 3]
    assert from_the_end(f"def last(a, i):\n{body}") == []
