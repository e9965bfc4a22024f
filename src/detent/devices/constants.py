"""Capacities and tolerances of simulated devices, each with its unit and reason."""

from __future__ import annotations

BEARABLE = 500.0  # [N] that no hand holds against: the default device gives more in impulses only
MOST_DELAY = 64  # [ticks] of a simulated device: its ring of commands holds one more
NOISE_LENGTH = 2**15  # [ticks] after which the noise of a force sensor comes again
FOLDED = 0.1  # [-] of a motor's heat, below that of its continuous current, where the peak goes
FRICTION_SWEEPS = 24  # over four joints; what is left the next tick takes up, from there on
