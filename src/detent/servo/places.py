"""The places of the table of stages. Those of a tick come first, in its order.

`servo.table` says which function stands at which place, and when; where a configuration needs
none, it is `idle`.
"""

from __future__ import annotations

# What a tick calls, in this order (design: "The tick").
READ, MERGE, SENSE, APPROACH, REACT, SMOOTH, REACH, LIMIT, RING = range(9)
COMMAND, GUARD, RECORD, WRITE, MOVE, REPORT = range(9, 15)

# What those call within themselves.
CLOSE, LEAD, WEIGH, RUB, TURN, COLLIDE, PROJECT, STEP = range(15, 23)  # of a world
SETTLE, ACT, ADVANCE = range(23, 26)  # of a mechanism

TICK = 26  # what the loop calls
PLACES = 27
