"""Where the cameras of all pages stand: as far off as the width of their pictures asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import viser

from detent.app.stage import Stage

LEAST_ASPECT = 0.2  # [-] width by height of a picture that is still followed
CHANGED = 0.05  # [-] of it: what is worth a new place


class Pages(Protocol):
    """Who has pages."""

    def get_clients(self) -> Mapping[int, viser.ClientHandle]:
        """Those that are open, by number."""
        ...


class Sight(NamedTuple):
    """A camera for a picture that is wide enough; it looks at the middle."""

    position: np.ndarray  # (3,) [page units]
    up: np.ndarray  # (3,)
    field_of_view: float  # [rad], of its height


class Framing:
    """Sets the cameras of all pages, and steps back where a picture is narrow, as on a tablet.

    A page begins with its server's initial camera, as if its picture were wide.
    """

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._sight: Sight | None = None
        self._aspect = 1.0  # width by height of a picture that is wide enough
        self._framed: dict[int, float] = {}  # by page: how narrow its camera stands for

    def show(self, stage: Stage, farther: float = 1.0, aspect: float = 1.0) -> None:
        """Look at a stage; cameras stay where they are if it is seen as the one before.

        Args:
            stage: what is seen.
            farther: than the stage says.
            aspect: width by height of a picture that is wide enough.
        """
        position = farther * stage.to_page(stage.camera())
        before, self._aspect = self._sight, aspect
        self._sight = now = Sight(position, stage.up, stage.field_of_view)
        if before is not None and not np.allclose(np.hstack(before), np.hstack(now)):
            self.straight()

    def straight(self) -> None:
        """Put all cameras where they began."""
        for number, client in self._told().items():
            self._put(number, client)

    def update(self) -> None:
        """Move cameras whose picture has become narrower or wider, along their sight."""
        for number, client in self._told().items():
            before, now = self._framed.get(number, 1.0), self._narrow(client)
            if abs(now - before) <= CHANGED * before:
                continue
            if number not in self._framed:  # what it says of its camera may be older than ours
                self._put(number, client)
                continue
            self._framed[number] = now
            middle = np.array(client.camera.look_at)
            away = np.asarray(client.camera.position) - middle
            with client.atomic():  # a new position takes the point that it looks at along
                client.camera.position = middle + before / now * away
                client.camera.look_at = middle

    def _told(self) -> dict[int, viser.ClientHandle]:
        """The pages that have said how wide they are."""
        clients = self._pages.get_clients()
        self._framed = {one: narrow for one, narrow in self._framed.items() if one in clients}
        return {one: page for one, page in clients.items() if page.camera.update_timestamp}

    def _put(self, number: int, client: viser.ClientHandle) -> None:
        assert self._sight is not None  # a stage is shown before there is a page
        narrow = self._framed[number] = self._narrow(client)
        with client.atomic():
            client.camera.up_direction = self._sight.up
            client.camera.position = self._sight.position / narrow
            client.camera.look_at = np.zeros(3)
            client.camera.fov = self._sight.field_of_view

    def _narrow(self, client: viser.ClientHandle) -> float:
        """Its picture against one that is wide enough: 1 at most."""
        wide = max(client.camera.image_width, 1) / max(client.camera.image_height, 1)
        return float(np.clip(wide / self._aspect, LEAST_ASPECT, 1.0))
