"""Tolerances and gains of the set-up, each with its unit and reason."""

from __future__ import annotations

from detent.kernels.constants import MOST_DAMPING, MOST_STIFFNESS

# Tool and device pull on each other in translation and in rotation: half of what a step holds each.
COUPLING_STIFFNESS = 0.5 * MOST_STIFFNESS  # [-] K T²/m
COUPLING_DAMPING = 0.5 * MOST_DAMPING  # [-] B T/m
HAND_STIFFNESS, HAND_DAMPING = 0.5, 1.0  # [-] of a simulated hand: K T²/m, B T/m of the device
HOLD_FREQUENCY = 30.0  # [rad/s] of the spring outside the device's subspace: stiffer than a hand
FIRM = 1e6  # [-] inertia of a god object over its own where the device does not turn: it stays
JOINT_LIMIT_FREQUENCY = 100.0  # [rad/s] of the penalty of a joint limit, critically damped
SAMPLES_PER_PERIOD = 3.0  # of a material's vibration, at least
LEAST_ROWS = 128  # contacts and joint limits that there is room for, at least
LEAST_CONTACTS = 64  # that fit beside all joint limits
CONTACTS_PER_GEOM = 16  # of those that move: a box in a heap has six neighbours, half of each four
MOST_MEMORY = 2**31  # [bytes] of addresses that rows may take; what is not used needs no memory
MOST_RATE = 1e6  # [Hz] of a live servo: a tick takes microseconds
CHUNK = 4096  # [ticks] between two looks at a lockstep run
PREFLIGHT_TICKS = 400  # that are timed before a live run
SATISFIED = 1e-6  # [m, rad] how well the start of a mechanism must keep its constraints
BESIDE = 0.05  # [-] how far from the start, in z, a parametrisation is tried again
DEPENDENT_ROWS = 1e-9  # of the largest element: rows of a mechanism that follow from others
