"""Tolerances and capacities of the kernels, each with its unit and reason."""

from __future__ import annotations

#: How a body moves within a step: velocity first, or as under a force that is held for it.
INTEGRATORS = ("velocity-first", "held")
VELOCITY_FIRST, HELD = range(2)

# What a fixed step holds with margin, whatever is in contact: at 1 and 2 it would diverge.
MOST_STIFFNESS = 0.25  # [-] K T²/m_eff
MOST_DAMPING = 0.5  # [-] B T/m_eff
MOST_BLOCKS = 16  # of a hysteretic wall
CREEP = 1e-4  # [m/s] slower contacts do not collide
MOST_RELIEF = 1e6  # [-] a bond whose limit falls by more than this within a tick is broken anyway
FRICTION_MEMORY = 5  # [floats] that a friction law keeps per contact
GRIP_MEMORY = 6  # [floats] force or strain of what sticks, 1 = settled, its slip then, per contact
TURNING_MEMORY = 6  # [floats] that friction against turning keeps per contact
WALL_MEMORY = 4  # [floats] that a wall keeps per contact, besides its blocks

#: How often each phase visits every contact. For 4 to 16 contacts of a free body the velocity is
#: then within 0.4 % of the limit of many sweeps (median; 7 % at the 90th percentile).
SWEEPS = 4
SWEPT = 1e-8  # change of velocity in a sweep, relative to the velocity before
SLIP_STEPS = 40  # far above what the slip of one contact needs: about six
ON_THE_CONE = 1e-11  # how near, relative to the normal impulse
SINGULAR_CONTACT = 1e-10  # mobility along the normal with the tangents held, relative to free
SOFTENING = 1e-8  # the slip that a contact below that may keep, relative to its mobility

# [-] of the largest: a contact moves less than that way by round-off alone. Two links of one chain
# leave 2e-12 of each other's motion, and a slip that is divided by that is not finite.
NO_MOTION = 1e-9

#: How often a step visits every contact at most; a warm one needs one to three.
STEP_SWEEPS = 12
SHARING = 12  # conjugate gradients: as many as a pile of two bodies could need
SHARED = 1e-16  # [-] what is left of the load that is shared, squared
ATTEMPTS = 3  # contacts that would pull are left out, this often

#: What is round-off, for a row scaled to unit length: its part outside the span of other
#: rows (then it depends on them), its violation relative to the size of the velocities,
#: and its length before scaling relative to the longest. One number for all three: a
#: dependent row must not count as violated, or two such rows would take turns for ever.
#: Whitening leaves less than 1e-13 even where the inertia has a condition of 1e12.
ROUND_OFF = 1e-12

#: sine of the angle, whitened, below which a closure follows from the others
DEPENDENT = 1e-3

#: Of all mobility, what directions have that the build of a mechanism takes away: round-off.
PLAIN = 1e-13
CORRECTED = 1e-9  # [m, rad, m/s, rad/s] a correction below this needs no new evaluation
CORRECTIONS = 4  # of a mechanism's state towards its manifold, at most: Newton needs two
STOP_ITERATIONS = 64  # of the active set of a mechanism's stops, of which it has a few

#: a ring ends when what is left of it takes less than this part of its peak, for one tick
QUIET = 1e-4

QL_STEPS = 30  # per eigenvalue of a small matrix; two are usual

# What a contact remembers while it lasts: two numbers of its own, friction's against
# sliding and turning, its wall's.
MEMORY_ZERO, MEMORY_STRUCK, MEMORY_FRICTION = 0, 1, 2
UNKNOWN, CUT_SHORT, KNOWN = 0.0, 1.0, 2.0  # of MEMORY_STRUCK of a plastic wall
MEMORY_GRIP = MEMORY_FRICTION + FRICTION_MEMORY
MEMORY_SETTLED = MEMORY_GRIP + 3
MEMORY_TURNING = MEMORY_GRIP + GRIP_MEMORY
MEMORY_WALL = MEMORY_TURNING + TURNING_MEMORY
CONTACT_MEMORY = MEMORY_WALL + WALL_MEMORY + MOST_BLOCKS  # [floats]

ONE_BODY = 6  # dofs of one free body, for which inner loops of solvers are compiled by themselves
