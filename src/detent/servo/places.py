"""The places of the table of stages. Those of a tick come first, in its order.

`servo.table` says which function stands at which place, and when; where a configuration needs
none, it is `idle`.
"""

from __future__ import annotations

# What a tick calls, in this order (design: "The tick").
READ, MERGE, SENSE, APPROACH, REACT, SMOOTH, REACH, LIMIT, FADE, YIELD, RING = range(11)
COMMAND, PASSIVE, GUARD, RECORD, WRITE, MOVE, TALLY, REPORT = range(11, 19)

# What those call within themselves.
CLOSE, LEAD, WEIGH, RUB, TURN, COLLIDE, PROJECT, STEP = range(19, 27)  # of a world
SETTLE, ACT, ADVANCE = range(27, 30)  # of a mechanism
FEEL, TOUCH = range(30, 32)  # of a world with shapes that are felt as they are

TICK, SHOW = 32, 33  # what the loop calls
PLACES = 34
