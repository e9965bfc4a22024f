"""Compiling the servo ahead of its first use, with progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from detent.kernels.jit import JIT_ENABLED, KERNELS, compiled_cache

_MARK = "complete"


def is_compiled() -> bool:
    """Whether the machine code of exactly these sources is on disk."""
    return not JIT_ENABLED or (compiled_cache() / _MARK).exists()


def compile_servo(progress: Callable[[float], None] | None = None) -> None:
    """Compile everything that a session calls, and leave a mark that it is done."""
    from numba.core import event

    from detent.hands import Impedance
    from detent.session import Session
    from detent.world.world import World

    session = Session(World.builtin("corner"))
    done: set[str] = set()

    class Counter(event.Listener):  # type: ignore[misc]
        def on_start(self, happening: Any) -> None:
            pass

        def on_end(self, happening: Any) -> None:
            done.add(str(happening.data["dispatcher"].__name__))
            if progress is not None:
                progress(min(len(done) / max(len(KERNELS), 1), 1.0))

    listener = Counter()
    event.register("numba:compile", listener)
    try:
        session.run(0.01, Impedance())
        with session.live(rate=500.0, hand=Impedance()) as live:
            live.view()
            live.pull((0.0, 0.0, 0.0))
    finally:
        event.unregister("numba:compile", listener)
    compiled_cache().mkdir(parents=True, exist_ok=True)
    (compiled_cache() / _MARK).touch()
