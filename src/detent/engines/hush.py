"""Silence for libraries that greet whoever loads them."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_STREAMS = (1, 2)  # stdout, stderr


@contextmanager
def quiet() -> Iterator[None]:
    """What C code writes to stdout and stderr within the block is thrown away.

    PyBullet prints its build time and its arguments, and has no switch for that.
    """
    flush = ctypes.CDLL(None).fflush  # C has buffers of its own
    sys.stdout.flush()
    sys.stderr.flush()
    flush(None)
    kept = [os.dup(stream) for stream in _STREAMS]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in _STREAMS:
            os.dup2(nowhere, stream)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        flush(None)
        for stream, old in zip(_STREAMS, kept, strict=True):
            os.dup2(old, stream)
            os.close(old)
        os.close(nowhere)
