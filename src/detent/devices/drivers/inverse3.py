"""Haply Inverse3, through the vendor's service on this machine (JSON over a websocket).

The service answers every message with one state. It documents no watchdog: when the servo is gone,
the process that talks to it sends zero; if that is killed as well, nothing is claimed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

from detent.devices.drivers.host import STALE, WAY, Reading
from detent.devices.drivers.mailbox import Mailbox
from detent.errors import DeviceMissingError, DeviceNotReadyError

ADDRESS = "ws://localhost:10001"
PATIENCE = 1.0  # [s] for the service to answer at first
ANSWER = 0.05  # [s] then; a service that is silent for longer is gone
BUTTONS = (("a", "b", "c"), ("button_0", "button_1", "button_2"))  # both spellings are in use


def triple(values: dict[str, float]) -> tuple[float, float, float]:
    """x, y and z of a JSON object."""
    return float(values["x"]), float(values["y"]), float(values["z"])


def pressed(state: dict[str, Any]) -> int:
    """Bits of the buttons of a grip."""
    held = state.get("buttons", {})
    return sum(
        1 << i for i, names in enumerate(zip(*BUTTONS, strict=True)) if any(map(held.get, names))
    )


class Served:
    """The service's client, in a process of its own."""

    link: Any = None

    def __init__(
        self,
        address: str = ADDRESS,
        serial: str | None = None,
        patience: float = ANSWER,
        **given: Any,
    ) -> None:
        self.address, self.serial, self.patience = address, serial, patience

    def open(self) -> None:
        """Connect, and find the device."""
        names = self.names(max(PATIENCE, self.patience))
        if not names or (self.serial is not None and self.serial not in names):
            wanted = self.serial or "an Inverse3"
            raise DeviceNotReadyError("inverse3", f"the service knows {names}, not {wanted}")
        self.serial = self.serial or names[0]

    def names(self, wait: float) -> list[str]:
        """Connect; serial numbers of the devices that the service knows."""
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect

        try:
            self.link = connect(
                self.address, compression=None, ping_interval=None, open_timeout=wait
            )
            self.link.send("{}")  # the answer to the first message lists all
            found = json.loads(self.link.recv(wait)).get("inverse3", [])
        except (OSError, ValueError, WebSocketException) as error:
            remedy = (
                f"nothing answers at {self.address} ({error}): install the inverse service from "
                "haply.co, and start it: systemctl start haply-inverse-service"
            )
            raise DeviceMissingError("the service of the Inverse3", remedy) from error
        return [one["device_id"] for one in found]

    def exchange(self, wrench: Sequence[float], seconds: float = STALE) -> Reading | None:
        """A force, and the state that answers it."""
        from websockets.exceptions import WebSocketException

        try:
            self._tell(wrench)
            return self._read(json.loads(self._newest(seconds)))
        except (WebSocketException, ValueError, KeyError, TypeError, AttributeError) as error:
            raise OSError(f"the service's answer is strange: {error!r}") from error

    def _read(self, answer: dict[str, Any]) -> Reading:
        states = [d["state"] for d in answer.get("inverse3", []) if d["device_id"] == self.serial]
        if not states:
            raise OSError(f"the service has lost {self.serial}")
        grips = [*answer.get("wireless_verse_grip", []), *answer.get("verse_grip", [])]
        return Reading(
            position=triple(states[0]["cursor_position"]),
            twist=(*triple(states[0]["cursor_velocity"]), 0.0, 0.0, 0.0),
            buttons=pressed(grips[0]["state"]) if grips else 0,
        )

    def _tell(self, wrench: Sequence[float]) -> None:
        force = dict(zip("xyz", wrench[:3], strict=True))
        told = {"device_id": self.serial, "commands": {"set_cursor_force": {"values": force}}}
        self.link.send(json.dumps({"inverse3": [told]}))

    def _newest(self, seconds: float) -> Any:
        """The answer; if more wait, the last of them. Zero is told if none comes in time."""
        try:
            message = self.link.recv(max(seconds - WAY, 0.0))
        except TimeoutError:
            self._tell((0.0,) * 7)
            message = self.link.recv(self.patience)
        with suppress(TimeoutError):
            while True:
                message = self.link.recv(0)
        return message

    def close(self) -> None:
        """Zero force, and closed."""
        if self.link is not None:
            with suppress(OSError):  # gone: there is nobody to tell
                self.exchange((0.0,) * 7)
            self.link.close()
            self.link = None


class Inverse3(Mailbox):
    """A device of the vendor's service; ``serial`` names it where there are several."""

    name: ClassVar = "inverse3"
    needs: ClassVar = "the inverse service of haply.co, running on this machine"
    watchdog: ClassVar = "none is documented; the process that talks to it sends zero"
    serves: ClassVar = "detent.devices.drivers.inverse3:Served"
    takes: ClassVar = ("address", "serial", "patience")

    @classmethod
    def here(cls) -> str:
        """What the service knows, if it runs."""
        service = Served(ADDRESS)
        try:
            names = service.names(PATIENCE)
        except DeviceMissingError:
            return f"no service at {ADDRESS}"
        finally:
            if service.link is not None:
                service.link.close()
        return ", ".join(names) or "the service, and nothing plugged in"
