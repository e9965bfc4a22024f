"""Compiled maths: arrays in, ``out`` last. Imports numpy, numba and math only."""
