"""What a page may say: a few messages of viser, each with bounds. Everything else is dropped."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
import viser

MOST_BYTES = 16_384  # of a message; those of the page have some hundred
FARTHEST = 1e6  # [page units] of a place, where the world has 2, and of any other number
QUATERNION_ERROR = 0.01  # of the length of a quaternion, which is 1

Triple = tuple[float, float, float]
Quadruple = tuple[float, float, float, float]
Value = bool | int | float | str


class Saying(msgspec.Struct, tag_field="type", forbid_unknown_fields=True):
    """A message of viser, as a page sends it."""


class Camera(Saying, tag="ViewerCameraMessage"):
    """From where the page looks; the only thing that everybody may say."""

    wxyz: Quadruple
    position: Triple
    fov: float
    near: float
    far: float
    image_height: float
    image_width: float
    look_at: Triple
    up_direction: Triple


class Moved(Saying, tag="TransformControlsUpdateMessage"):
    """The handle was dragged to here."""

    name: str
    wxyz: Quadruple
    position: Triple
    owner: str = ""


class MoveBegins(Saying, tag="TransformControlsDragStartMessage"):
    """Somebody takes the handle."""

    name: str
    owner: str = ""


class MoveEnds(Saying, tag="TransformControlsDragEndMessage"):
    """Somebody lets the handle go."""

    name: str
    owner: str = ""


class Dragged(Saying, tag="SceneNodeDragMessage"):
    """A thing was dragged from here to there."""

    phase: Literal["start", "update", "end"]
    name: str
    instance_index: int | None
    start_position: Triple
    start_screen_pos: tuple[float, float]
    end_position: Triple
    end_screen_pos: tuple[float, float]
    button: Literal["left", "middle", "right"]
    modifier: str | None
    owner: str = ""


class Chosen(Saying, tag="GuiUpdateMessage"):
    """A slider, a checkbox or a list has this value now."""

    uuid: str
    updates: dict[str, Value]


class Called(Saying, tag="CommandTriggerMessage"):
    """A key was pressed, or a command chosen from the palette."""

    uuid: str


_DECODER = msgspec.msgpack.Decoder(
    Camera | Moved | MoveBegins | MoveEnds | Dragged | Chosen | Called
)


def read(raw: bytes | str) -> Saying | None:
    """The message, if it is one of those that a page may send, with numbers within bounds."""
    if isinstance(raw, str) or len(raw) > MOST_BYTES:
        return None
    try:
        said = _DECODER.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if not all(abs(number) <= FARTHEST for number in _numbers(said)):  # NaN is not, either
        return None
    if isinstance(said, Moved) and abs(math.hypot(*said.wxyz) - 1.0) > QUATERNION_ERROR:
        return None
    return said


def write(said: Saying) -> bytes:
    """The message again, with nothing in it that was not checked."""
    return msgspec.msgpack.encode(said)


def fits(server: viser.ViserServer, said: Saying) -> bool:
    """Whether the page shows what a message speaks of, and it may have that value."""
    match said:
        case Moved() | MoveBegins() | MoveEnds():
            known = server.scene._handle_from_transform_controls_name
            return said.owner == "" and said.name in known
        case Dragged():
            return said.owner == "" and said.name in server.scene._handle_from_node_name
        case Chosen():
            element = server.gui._gui_input_handle_from_uuid.get(said.uuid)
            return list(said.updates) == ["value"] and may_be(element, said.updates["value"])
        case Called():
            return said.uuid in server.gui._command_handle_from_uuid
    return isinstance(said, Camera)


def may_be(element: Any, value: Value) -> bool:
    """Whether an element of the panel can have a value: a half typed number cannot."""
    match element:
        case viser.GuiCheckboxHandle():
            return isinstance(value, bool)
        case viser.GuiButtonHandle():
            return value is True  # pressed
        case viser.GuiSliderHandle():
            if isinstance(value, bool | str):
                return False
            return bool(element.min <= value <= element.max)  # NaN is not
        case viser.GuiDropdownHandle():
            return isinstance(value, str) and value in element.options
    return False


def _numbers(said: Saying) -> Iterator[float]:
    """All numbers of a message but those of the panel, whose elements have bounds of their own."""
    for value in msgspec.structs.astuple(said):
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, int | float):
                yield part
