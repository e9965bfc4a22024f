"""``--mapping``: how a device stands in the world, in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detent.errors import ParameterError

if TYPE_CHECKING:
    from detent.devices.protocol import Device

NUMBERS = ("scale", "force")  # one each
BUTTONS = ("clutch", "engage", "grab")
ROWS = {"rate_zone": 2, "rotation": 4}  # so many with colons between
GRIPPER = "gripper=ACTUATOR:CLOSED:OPEN:FROM:TO"
ALLOWED = (
    f"NAME=VALUE,…: {', '.join(NUMBERS)} (a number), {', '.join(BUTTONS)} (a button), "
    f"rate_zone=RIM:PACE, rotation=W:X:Y:Z, {GRIPPER}"
)


def map_device(device: Device, text: str | None) -> Device:
    """The device as it is without a text; else mapped as that says."""
    from detent.devices import Mapped

    if text is None:
        return device
    wishes: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        try:
            wishes[name] = read_wish(name, value)
        except (KeyError, ValueError):
            raise ParameterError("mapping", part, ALLOWED) from None
    return Mapped(device, **wishes)


def read_wish(name: str, value: str) -> Any:
    """A value of that name; a KeyError or a ValueError if there is none."""
    from detent.devices import Gripper

    if name in NUMBERS:
        return float(value)
    if name in BUTTONS:
        return int(value)
    first, *rest = value.split(":")
    if name == "gripper":
        closed, opened, start, end = map(float, rest)
        return Gripper(first, (closed, opened), (start, end))
    numbers = tuple(map(float, (first, *rest)))
    if len(numbers) != ROWS[name]:
        raise ValueError
    return numbers
