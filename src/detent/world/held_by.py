"""What else holds a tool: mocap bodies, which a program moves and no hand."""

from __future__ import annotations

import mujoco

from detent.world.loops import holders
from detent.world.names import body_name
from detent.world.world import World


def held_by(world: World) -> list[str]:
    """A sentence for each mocap body that holds the tool, with what lets it go."""
    model, out = world.model, []
    for one in holders(model):
        if one.held not in world.tool_bodies:
            continue
        weld = model.eq_type[one.equality] == int(mujoco.mjtEq.mjEQ_WELD)
        name = body_name(model, one.mocap)
        out.append(
            f"{body_name(model, one.held)}, of the tool, is {'welded' if weld else 'connected'} to "
            f"the mocap body {name}, which no hand moves; release=({name!r},) (--release {name}) "
            "lets it go"
        )
    return out
