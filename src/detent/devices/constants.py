"""Capacities of simulated devices, each with its unit and reason."""

from __future__ import annotations

MOST_DELAY = 64  # [ticks] of a simulated device: its ring of commands holds one more
NOISE_LENGTH = 2**15  # [ticks] after which the noise of a force sensor comes again
