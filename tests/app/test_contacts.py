"""Contacts as the page draws them."""

from __future__ import annotations

import numpy as np

from detent.app.contacts import stretched
from detent.servo.shown import HOLDS, SHOWN, SLIDES


def test_a_bond_is_as_long_as_what_it_holds_over_the_most_that_it_can() -> None:
    shown = np.zeros(4, SHOWN)
    shown["force"], shown["friction"], shown["kind"] = 10.0, 0.5, [HOLDS, HOLDS, SLIDES, HOLDS]
    shown["rub"][:, 0] = -2.5
    shown["bond"][1, 1] = 0.7  # a law that keeps the strain
    shown["force"][3] = shown["rub"][3, 0] = 0.0  # not pressed
    bonds = stretched(shown)
    np.testing.assert_allclose(bonds, [[0.5, 0, 0], [0, 0.7, 0], [0, 0, 0], [0, 0, 0]])
