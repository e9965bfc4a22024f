"""How an engine keeps pace with the servo, for lockstep: period, latency, jitter and loss."""

from __future__ import annotations

from dataclasses import dataclass

from detent.checks import fraction, not_negative, positive


@dataclass(frozen=True)
class Pace:
    """When the engine looks at the tool, and when what it saw arrives.

    A frame begins every ``period``, and its update arrives ``latency`` later (by default after
    one period: when the frame has been computed). ``jitter`` varies both by that fraction,
    evenly; ``loss`` is the fraction of updates that never arrive. The same seed gives the same
    times. Live, the engine's own process decides: only ``period`` is asked of it.
    """

    period: float = 1.0 / 60.0  # [s]
    latency: float | None = None  # [s]
    jitter: float = 0.0  # [-]
    loss: float = 0.0  # [-]
    seed: int = 0

    def __post_init__(self) -> None:
        positive("period", self.period)
        if self.latency is not None:
            not_negative("latency", self.latency)
        fraction("jitter", self.jitter)
        fraction("loss", self.loss)

    @property
    def delay(self) -> float:
        """[s] From a frame to the arrival of its update."""
        return self.period if self.latency is None else self.latency
