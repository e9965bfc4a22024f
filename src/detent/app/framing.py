"""A camera steps back where its picture is narrow, as on a tablet, so that all stays in it."""

from __future__ import annotations

import numpy as np
import viser

from detent.app.server import PageServer

LEAST_ASPECT = 0.2  # [-] width by height of a picture that is still followed
CHANGED = 0.05  # [-] of it: what is worth a new place


class Framing:
    """How far the cameras of all pages stand off, by the width of their pictures.

    Args:
        server: of the pages.
        aspect: width by height of a picture that shows all as it begins.
    """

    def __init__(self, server: PageServer, aspect: float = 1.0) -> None:
        self._server, self._aspect = server, aspect
        self._framed: dict[int, float] = {}  # by page: how narrow its camera stands for

    def update(self) -> None:
        """Move cameras whose picture has become narrower or wider, along their sight."""
        clients = self._server.get_clients()
        self._framed = {one: narrow for one, narrow in self._framed.items() if one in clients}
        for number, client in clients.items():
            if not client.camera.update_timestamp:  # it has not yet said how wide it is
                continue
            before, now = self._framed.get(number, 1.0), self._narrow(client)
            if abs(now - before) > CHANGED * before:
                self._framed[number] = now
                middle = np.asarray(client.camera.look_at)
                away = np.asarray(client.camera.position) - middle
                client.camera.position = middle + before / now * away

    def straight(self, client: viser.ClientHandle, position: np.ndarray, up: np.ndarray) -> None:
        """Let a page look at the middle again, from a position for a wide picture."""
        narrow = self._framed[client.client_id] = self._narrow(client)
        with client.atomic():
            client.camera.up_direction = up
            client.camera.position = position / narrow
            client.camera.look_at = np.zeros(3)

    def _narrow(self, client: viser.ClientHandle) -> float:
        """Its picture against one that is wide enough: 1 at most."""
        wide = max(client.camera.image_width, 1) / max(client.camera.image_height, 1)
        return float(np.clip(wide / self._aspect, LEAST_ASPECT, 1.0))
