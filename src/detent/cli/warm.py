"""Compiling a session with the defaults before it is first needed, for commands with a bar."""

from __future__ import annotations

from collections.abc import Callable

from detent.kernels.cached import compiled_cache
from detent.kernels.jit import JIT_ENABLED

_MARK = "complete"


def is_compiled() -> bool:
    """Whether the default configuration, of exactly these sources, is on disk as machine code."""
    return not JIT_ENABLED or (compiled_cache() / _MARK).exists()


def compile_servo(progress: Callable[[float], None]) -> None:
    """Compile what a session with the defaults calls, and leave a mark that it is done."""
    from detent.hands import Impedance
    from detent.session import Session
    from detent.setup.progress import reporting
    from detent.world.world import World

    session = Session(World.builtin("corner"))
    with reporting(progress):
        session.run(0.01, Impedance())
        with session.live(rate=500.0, hand=Impedance()) as live:
            live.view()
            live.pull((0.0, 0.0, 0.0))
    compiled_cache().mkdir(parents=True, exist_ok=True)
    (compiled_cache() / _MARK).touch()
