"""How many random cases a sweep tries."""

from __future__ import annotations

import os

from detent.kernels.jit import JIT_ENABLED

LONG = os.environ.get("DETENT_LONG") == "1"


def sweep(full: int, plain: int) -> int:
    """*full* in `make test-long`, a fifth of it otherwise, *plain* without a compiler."""
    if not JIT_ENABLED:
        return plain
    return full if LONG else full // 5
