"""The places of the table of stages. Those of a tick come first, in its order.

`servo.table` says which function stands at which place, and when; where a configuration needs
none, it is `idle`.
"""

from __future__ import annotations

# What a tick calls, in this order (design: "The tick").
READ, MERGE, SENSE, APPROACH, REACT, SMOOTH, REACH, LIMIT, RING = range(9)
COMMAND, PASSIVE, GUARD, RECORD, WRITE, MOVE, TALLY, REPORT = range(9, 17)

# What those call within themselves.
CLOSE, LEAD, WEIGH, RUB, TURN, COLLIDE, PROJECT, STEP = range(17, 25)  # of a world
SETTLE, ACT, ADVANCE = range(25, 28)  # of a mechanism

TICK = 28  # what the loop calls
PLACES = 29
