"""Sizes and tolerances of shapes, each with its unit and reason.

Lengths of a surface are given in parts of its size, the longest side of its bounds.
"""

from __future__ import annotations

CELLS = 256  # of the field along the longest side
BLOCK = 8  # cells of a block along each side
NODES = BLOCK + 1
BAND = 0.5  # [coarse cells] beyond the surface that blocks cover for certain
MERGE = 1e-6  # [size] vertices nearer than this are one
FLAT = 1e-12  # [size²] a triangle of less area has no direction
EDGE_STEP = 0.0014  # [size·rad] between samples of an edge, over the angle by which it bends
LEAST_STEP = 0.0006  # [size] between samples of the sharpest edge
SAGITTA = 5e-5  # [size] by which a smooth surface may bulge between two samples
FINEST, COARSEST = 1 / 400, 1 / 60  # [size] between samples of a smooth surface
BENT = 0.3  # [rad] a vertex at an edge that bends by more is kept whatever is beside it
CONVEX = 1e-4  # [rad] an edge that bends by less is flat
MOST_SAMPLES = 200_000  # of one primitive
PATCHES = 64  # that there is room for
SURFACE_PATCHES = 32  # of a surface: more would share a touch among more contacts
PRIMITIVE_PATCHES = 8  # of a primitive: a box has as many corners
NORMAL_WEIGHT = 0.35  # [size] of a normal beside a place, where samples are put into patches
DEEP = 32  # nodes of the tree above each other, at most
LEAF = 8  # samples of a leaf of the tree
LATTICES = (1 / 24, 1 / 120)  # [size] of which one sample in each cell is of a coarser level
LEVELS = len(LATTICES) + 1  # of samples: a few everywhere, more, all
SLACK = 3e-4  # [size] by which a finer sample has to be deeper, at most, to count
SLACK_AT = 4.0  # [-] sum of the depths of coarser samples, over that, at which it is that much
SAME = 3e-5  # [-] of that: distances that differ by no more are one
TOP = 6  # deepest samples of a patch, which make its normal and its point
SURE = 2  # of those, that count among many others too: of these only some are looked at
NEAR = 0.25  # [cells] samples that are as near as that weigh already
EVERY = 8  # of many samples that touch, those whose gradients are taken
EVERY_COARSE = 2  # the same of the coarsest level
MANY = 0.5  # [-] of the weight of the first that the next one has where many samples touch
FINE = 3e-4  # [coarse cells] a field that is no more wrong than this is as good as triangles
ROWS = 48  # contacts of one pair of geoms, the deepest
REFINED = 192  # samples that are measured to triangles in one tick, besides the deepest of a patch
BUDGET = 2048  # samples of a solid that a pair may look up in one tick
COSTS = 6  # [lookups] of a sample that is measured
FINER = 0.2  # [-] of that, in which only finer samples are found
HURRIED = 1.5  # [-] of that share, and no more, unless it moved by a leap
LEAP = 50.0  # [-] of what a finer sample has to be deeper
A_SECOND = 3e6  # samples of a solid that are looked up in a second, at most
LEAST_BUDGET, LEAST_REFINED = 256, 16  # of a pair, however high the rate, however many there are
BUSY = 512  # lookups of a pair that count as one with a share of its own
STRETCHED, RELAXED = 1.1, 0.98  # [-] per tick: how much deeper finer samples have to be to count
MOST_STRETCHED = 32.0  # [-] times as much as where the budget suffices
THIN = 1.5  # [cells] a wall that is thinner is not resolved
WINDING_REACH = 2.0  # [radii] beyond which a part of a surface counts as a dipole
