"""Tolerances and capacities of the local model, each with its unit and reason."""

from __future__ import annotations

MOST_CONSTRAINTS = 64  # constraints of an update
OBJECTS = 4  # of which an update says where they are
GIVES = 6  # degrees of freedom of what is behind a constraint
LONGEST = 5.0  # [s] of a history
HEALING = 0.05  # [m/s] at most, at which deformation is taken back: a slow hand
PRESSED = 2e-4  # [m] a depth at which the members of a cluster are counted
PERIODS = 5  # TH 6.2.4: the mean of the last five
FARTHEST = 1e6  # [m] beyond which a place is a slip of an engine
# [N/m, N·s/m, -, -] beyond which a property is one
MOST_PROPERTIES = {"stiffness": 1e9, "damping": 1e9, "restitution": 1.0, "friction": 1e3}
OPPOSED = 0.2  # a mean normal shorter than this is none: its members look at each other
