"""Cameras of narrow pictures stand farther off, and come back."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from detent.app.framing import Framing
from detent.app.server import PageServer

HERE = np.array([0.0, 0.0, 6.0])


def page(wide: int, high: int) -> Any:
    camera = SimpleNamespace(
        image_width=wide, image_height=high, update_timestamp=1.0,
        position=HERE.copy(), look_at=np.zeros(3), up_direction=np.zeros(3),
    )  # fmt: skip
    return SimpleNamespace(client_id=0, camera=camera, atomic=nullcontext)


def frame(one: Any, aspect: float = 1.0) -> Framing:
    server = SimpleNamespace(get_clients=lambda: {0: one})
    return Framing(cast(PageServer, server), aspect)


@pytest.mark.parametrize(
    ("wide", "high", "aspect", "farther"),
    [
        (940, 720, 1.0, 1.0),
        (424, 1024, 1.0, 1024 / 424),
        (940, 720, 1.4, 1.4 * 720 / 940),
        (-3, 0, 1.0, 1.0),  # what a page may say
        (1, 100_000, 1.0, 5.0),
    ],
)
def test_a_narrow_picture_is_seen_from_farther(
    wide: int, high: int, aspect: float, farther: float
) -> None:
    one = page(wide, high)
    framing = frame(one, aspect)
    for _ in range(3):  # once
        framing.update()
    np.testing.assert_allclose(one.camera.position, farther * HERE)


def test_a_tablet_that_is_turned_is_framed_anew_and_a_moved_camera_stays_where_it_looks() -> None:
    one = page(424, 1024)
    framing = frame(one)
    framing.update()
    one.camera.position, one.camera.look_at = np.array([1.0, 2.0, 8.0]), np.array([1.0, 2.0, 0.0])
    one.camera.image_width, one.camera.image_height = 1024, 424
    framing.update()
    np.testing.assert_allclose(one.camera.position, [1.0, 2.0, 8.0 * 424 / 1024])
    one.camera.update_timestamp, one.camera.image_width = 0.0, 10
    framing.update()  # it says nothing yet
    np.testing.assert_allclose(one.camera.position, [1.0, 2.0, 8.0 * 424 / 1024])


def test_straight_on_is_as_far_as_the_picture_asks_for() -> None:
    one = page(500, 1000)
    framing = frame(one)
    framing.straight(one, HERE, np.eye(3)[1])
    framing.update()
    np.testing.assert_allclose(one.camera.position, 2.0 * HERE)
