"""The loop around the tick: lockstep, live, the clock, and the slots between threads."""
