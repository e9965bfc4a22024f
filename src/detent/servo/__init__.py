"""The servo: the fixed-rate loop, and what one pass of it, a *tick*, does.

`tick.py` is the list of its steps. Sub-rooms follow it: `world` (what MuJoCo knows of a state, and
how it moves on), `contact` (rows, forces, impulses, friction), `hand` (from the tool to the
device), `local` (constraints in place of contacts), `loop` (threads, clocks, slots). What all of
them work on is in `structs.py`, what they are told in `parameters.py`, what they leave in
`columns.py`; `table.py` says which function stands at which step, and when.
"""
