"""Whether joints hold the same directions everywhere is found once for a world, as it is."""

from __future__ import annotations

import pytest

from detent import World
from detent.setup import joints


def test_a_world_is_looked_at_again_only_when_it_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []
    monkeypatch.setattr(joints, "steady", lambda world: not looked.append(world))
    world = World.builtin("door")
    assert joints.known_steady(world)
    assert joints.known_steady(world)
    assert len(looked) == 1
    world.model.jnt_range[0] = 0.0, 0.1
    joints.known_steady(world)
    assert len(looked) == 2
    joints.known_steady(World.builtin("door"))
    assert len(looked) == 3
