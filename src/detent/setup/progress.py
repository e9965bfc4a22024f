"""Who is told that something is compiled, and how far that is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from detent.kernels.jit import KERNELS

Progress = Callable[[float], None]


told: list[Progress] = []  # who is being told


said: set[str] = set()  # what was told already


@contextmanager
def telling(text: str) -> Iterator[Progress]:
    """Say that something is compiled: a bar on a terminal, else a line; unless a caller does."""
    new = text not in said
    said.add(text)
    if told:
        yield told[-1]
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(text, total=1.0)
            yield lambda done: bar.update(task, completed=done)
    else:
        if new:
            print(f"detent: {text}", file=sys.stderr, flush=True)
        yield lambda done: None


@contextmanager
def reporting(progress: Progress) -> Iterator[None]:
    """Call *progress* with the fraction of all kernels that are compiled or loaded so far."""
    from numba.core import event

    done: set[str] = set()

    class Counter(event.Listener):  # type: ignore[misc]
        def on_start(self, happening: Any) -> None:
            pass

        def on_end(self, happening: Any) -> None:
            done.add(str(happening.data["dispatcher"].__name__))
            progress(min(len(done) / max(len(KERNELS), 1), 1.0))

    listener = Counter()
    event.register("numba:compile", listener)
    told.append(progress)
    try:
        yield
    finally:
        told.pop()
        event.unregister("numba:compile", listener)
