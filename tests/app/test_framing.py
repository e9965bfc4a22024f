"""Cameras of narrow pictures stand farther off, and come back."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from detent import Session, World
from detent.app.framing import Framing, Pages
from detent.app.stage import Stage, set_stage

HERE = np.array([0.0, 0.0, 6.0])


@pytest.fixture(scope="module")
def stages() -> dict[str, Stage]:
    return {name: set_stage(Session(World.builtin(name))) for name in ("corner", "arm-7")}


class Camera(SimpleNamespace):
    """As viser's: a new position takes the point that it looks at along."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "position":
            self.__dict__["look_at"] = self.look_at + value - self.position
        self.__dict__[name] = value


def page(wide: int, high: int) -> Any:
    camera = Camera(
        image_width=wide, image_height=high, update_timestamp=1.0, fov=0.0,
        look_at=np.zeros(3), position=HERE.copy(), up_direction=np.zeros(3),
    )  # fmt: skip
    return SimpleNamespace(client_id=0, camera=camera, atomic=nullcontext)


def frame(one: Any, stage: Stage, aspect: float = 1.0) -> Framing:
    framing = Framing(cast(Pages, SimpleNamespace(get_clients=lambda: {0: one})))
    framing.show(stage, aspect=aspect)
    return framing


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
    stages: dict[str, Stage], wide: int, high: int, aspect: float, farther: float
) -> None:
    one = page(wide, high)
    framing = frame(one, stages["corner"], aspect)
    for _ in range(3):  # once
        framing.update()
    begins = stages["corner"].to_page(stages["corner"].camera())
    there = HERE if farther == 1.0 else farther * begins  # a page begins where it shall
    np.testing.assert_allclose(one.camera.position, there)
    np.testing.assert_allclose(one.camera.look_at, 0.0)


def test_a_tablet_that_is_turned_is_framed_anew_and_looks_where_it_did(
    stages: dict[str, Stage],
) -> None:
    one = page(424, 1024)
    framing = frame(one, stages["corner"])
    framing.update()
    one.camera.position = np.array([1.0, 2.0, 8.0])
    one.camera.look_at = np.array([1.0, 2.0, 0.0])
    one.camera.image_width, one.camera.image_height = 1024, 424
    framing.update()
    np.testing.assert_allclose(one.camera.position, [1.0, 2.0, 8.0 * 424 / 1024])
    np.testing.assert_allclose(one.camera.look_at, [1.0, 2.0, 0.0])
    one.camera.update_timestamp, one.camera.image_width = 0.0, 10
    framing.update()  # it says nothing yet
    np.testing.assert_allclose(one.camera.position, [1.0, 2.0, 8.0 * 424 / 1024])


def test_another_world_is_looked_at_and_a_new_start_leaves_the_camera(
    stages: dict[str, Stage],
) -> None:
    one = page(500, 1000)
    framing = frame(one, stages["corner"])
    framing.update()
    one.camera.position = np.array([1.0, 2.0, 8.0])
    framing.show(stages["corner"])
    framing.update()
    np.testing.assert_allclose(one.camera.position, [1.0, 2.0, 8.0])
    arm = stages["arm-7"]
    framing.show(arm)
    framing.update()
    np.testing.assert_allclose(one.camera.position, 2.0 * arm.to_page(arm.camera()))
    np.testing.assert_allclose(one.camera.look_at, 0.0)
    assert one.camera.fov == arm.field_of_view
    one.camera.position = np.array([1.0, 2.0, 8.0])
    framing.straight()
    np.testing.assert_allclose(one.camera.position, 2.0 * arm.to_page(arm.camera()))
