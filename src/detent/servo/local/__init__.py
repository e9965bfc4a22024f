"""A local model in a tick: updates merged, constraints as rows, forces that do not jump.

What crosses to the engine and back is in `detent.local`; here is what a tick does with it.
"""
