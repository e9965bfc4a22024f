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
TOP = 12  # deepest samples of a patch: those that are measured, and whose gradients make the normal
EVERY = 8  # of many samples that touch, those whose gradients are taken
MANY = 0.5  # [-] of the depth of the first that the next one has where many samples touch
REFINED = 24  # samples that are measured in one tick, besides the deepest of each patch
FINE = 1.25e-4  # [coarse cells] a field that is no more wrong than this is as good as triangles
ROWS = 48  # contacts of one pair of geoms, the deepest
MOST_DOUBTS = 200  # samples that are measured to triangles to see whether they touch, in a tick
BUDGET = 4096  # samples that a pair may look up in one tick
THIN = 1.5  # [cells] a wall that is thinner is not resolved
WINDING_REACH = 2.0  # [radii] beyond which a part of a surface counts as a dipole
