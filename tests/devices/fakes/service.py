"""A fake of the service of the Inverse3: one state for each message."""

from __future__ import annotations

import json
import math
import threading
import time
from typing import Any

from lines import Body
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

IN_TIME = 3e-3  # [s] around an answer: 5 mm in more are 500 m/s², which a device may reach


class FakeService:
    """On a port of this machine; unplugged, the device is missing from the states."""

    def __init__(self) -> None:
        self.body, self.gone, self.bad = Body(0.15, 100.0, 3.0), False, 0
        self.silent, self.jump, self.garbled = False, 0.0, False
        self.unsaid: list[tuple[Any, str]] = []
        self.answered, self.before, self.late = time.monotonic(), math.inf, False
        self.server = serve(self._talk, "127.0.0.1", 0, compression=None)
        self.address = f"ws://127.0.0.1:{self.server.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def came_late(self) -> bool:
        """Whether a jump was told so late that a hand could have moved that far. Asked once."""
        was, self.late = self.late, False
        return was

    def _talk(self, link: Any) -> None:
        try:
            for message in link:
                for told in json.loads(message).get("inverse3", []):
                    force = told["commands"]["set_cursor_force"]["values"]
                    self.bad += not all(map(math.isfinite, force.values()))
                    self.body.push = force["x"]
                self.body.move()
                now = time.monotonic()
                self.late = self.late or now - self.before > IN_TIME
                self.before = self.answered if self.jump != 0.0 else math.inf
                self.body.place += self.jump
                self.answered, self.jump = now, 0.0
                answer = "{" if self.garbled else json.dumps(self._state())
                if self.silent:
                    self.unsaid.append((link, answer))
                else:
                    link.send(answer)
        except ConnectionClosed:
            pass

    def repeat(self) -> None:
        """What it kept to itself while it was silent."""
        self.silent = False
        for link, answer in self.unsaid:
            link.send(answer)

    def _state(self) -> dict[str, Any]:
        if self.gone:
            return {"inverse3": []}
        state = {
            "cursor_position": {"x": self.body.place, "y": 0.0, "z": 0.0},
            "cursor_velocity": {"x": self.body.speed, "y": 0.0, "z": 0.0},
        }
        grip = {"device_id": "G", "state": {"buttons": {"a": True, "button_1": False}}}
        return {
            "inverse3": [{"device_id": "049D", "state": state}],
            "wireless_verse_grip": [grip],
        }

    def force(self) -> float:
        return self.body.push

    def unplug(self) -> None:
        self.gone = True

    def plug(self) -> None:
        self.gone = False

    def close(self) -> None:
        self.server.shutdown()
