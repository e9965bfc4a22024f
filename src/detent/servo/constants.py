"""Tolerances and capacities of the servo, each with its unit and reason."""

from __future__ import annotations

import math

SAME = 1e-9  # [m, -] two contacts are copies if row and separation agree to this
LEVER = 1e-9  # [m, -] a row that moves its bodies by less than this moves nothing
TOUCH = 1e-9  # [m] a rigid contact this near is touching
NO_IMPULSE = -0.99  # [-] a restitution below which a contact takes no part in collisions
TRACE = 1e-9  # [m] of depth, so that contacts of no depth share evenly
TURNED = math.cos(math.radians(20.0))  # [-] a normal that turned more is another contact's
STILL = 1e-6  # [m] no two contacts of a pair are as near to each other
MOST_CORNERS = 128  # of a polyhedron that meets a cylinder as it is: 1 µs in a tick
SEAM_STEP = 1e-5  # [m] how far outside a face the seam test looks
SEAM_MOVES = 16  # out of how many neighbours in a row a point is moved
SEAM_TOLERANCE = 1e-6  # [m] two faces this close to one plane are one surface
MOST_COLLISIONS = 40  # ticks in a row: a body that collides for longer is pressed, and rests
LASTING_STEPS = 4.0  # within which four times the weight brings an approach that is rest
REACTIVATIONS = 3  # how often contacts may join a collision that is being resolved
APPROACH = 1e-12  # [m/s] slower than this nothing approaches

SLOW_SPIN = 1e-5  # [rad] in a step: a body that turns by less keeps its momentum anyway
SPIN_ROUNDS = 6  # of the fixed point: at 0.2 rad in a step each takes away nine tenths
CLOSING = 0.5  # [m/s, rad/s] at which a loop that is open at the start is closed
ENERGY_STEP = 0.05  # [-] by which velocities of a loop are scaled in a tick at most
VANISHING = 0.05  # [-] a closure's row this much shorter than the longest is corrected by half
COME_BACK = 0.05, 0.5  # [m/s, rad/s] at which what starts inside another, or beyond a limit, does
BACK_WITHIN = 0.8  # [s] at most
WALL_BACK = 0.06  # [m/s] at which a plastic wall returns to its surface at most
GIVEN_BACK = 0.03  # [-] of the energy taken has a tool that moves with it; a spring triples that
LAG = 0.03  # [s] of that way: a limit follows 0.02 behind, what is further behind is held back
STARTS_INSIDE = 0.02, 0.02  # [m, rad] deeper than a soft contact rests: it is brought back so
FREE_INSIDE = 0.005  # [m] the same of a free body, which nothing holds: its contacts would throw it

# [rad] in a step, of a hinge that may come to gimbal lock: Coriolis terms are explicit, and
# at 0.5 they were seen to feed a spinning rod energy without end, at 0.1 less than 3 %
MOST_TURN = 0.1
GIMBAL_SWEEPS = 3  # slowing one hinge may hasten its neighbour
LEAST_MOBILITY = 0.01  # of the largest: constrained directions get a finite inertia by it
STOPPING = 4.0  # steps within which friction may stop a joint, with its descendants free
STANDING = 1e-30  # [m/s, rad/s] slower than this a joint stands: friction over speed stays finite
SETTLED = 1e-11  # [m/s] sweeps that change a contact by less than that have ended
HOLD_BELOW = 1.0 / 3.0  # of a stiffness: softened to less, a spring is that of the step's end
HOLD_SWEEPS = 32  # over springs that a step cannot hold, which begin as if they were softer
HELD_SWEEPS = 8  # over contacts that stick, which begin with the forces of the last tick
BACK_TO_BOND = 0.1  # [-] of the strain of what sticks, that is taken back in a step
STICK_TURN = 1e-4  # [rad] by which a contact that resists turning gives before it slips
SLOW_TURN = 1e-3  # [rad/s] at which it holds again
STICK_HINGE, STICK_SLIDE = 1e-4, 1e-5  # [rad, m] by which dry friction gives before it slips
FEW_PAIRS = 64  # of geoms of two bodies, which are tested one by one
RIGID_GAP = 0.005  # [m] how near a contact must be for rigid time stepping to see it coming
LEAST_ROOM = 0.25  # of the cap: a ring does not wait for ever beside a force that lasts
MOST_APART = 0.5  # [rad] between the linkage and where the device would have it
CREEP_BACK = 0.005  # [m/s] at which a movable plane returns to its object: nobody is thrown by that
IMPLAUSIBLE = 1e6  # [N, N·m] impulses are thousands in a tick; beyond this something blew up
MOST_BLOWS = 1  # [ticks] in a row that have impulses: more of them are a force that lasts
FOLD_BACK = 0.2  # [-] of the heat, over which the peak gives way to the continuous wrench
GIVE = 0.125  # of the slew, by which caps shrink in a tick: three axes and a length take 0.35
GOD_TURN = 0.01  # [rad] of a god object in a tick, in contact: its rows are taken as straight
JUMP = (8e-4, 0.05)  # [m, rad] by which readings may be off what their motion foretells
JUMP_RATE = (500.0, 5000.0)  # [m/s², rad/s²] beyond any hand, with motors of a few newtons
SLOW_AGAIN = 0.5  # of the speed limit, from which on force comes back
BACK_INSIDE = 0.98  # of the reach, likewise
SLEEP_SPEED = 1e-6  # [m/s] below which a tree is still: a micrometre in a second
SLEEP_TIME = 0.1  # [s] for which a group must be still before it sleeps
NO_DEFICIT = 1e-9  # [J] of energy that nobody put in: below it is round-off
HISTOGRAM_BINS = 4096  # [µs] of the loop's statistics
SPIN_NS = 60_000  # [ns] how long before a deadline a loop with real-time priority stops sleeping
MOST_SPIN = 0.5  # of a period: the kernel stops real-time threads that never rest
HOLDS = 0.98  # of its rate: a servo with fewer ticks does not hold it
RATE_SECONDS = 1.0  # [s] over which that is judged
VIEW_HZ = 120.0  # [Hz] at which the servo shows itself: twice what a page draws
KEEP_SECONDS = 10.0  # [s] of rows that a live session keeps for its readers
FALLING = 40.0  # [m/s²] four times g: an approach that weight makes within four steps is rest
