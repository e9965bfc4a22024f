"""Who holds the tool: the first page that came, and the next one when it leaves."""

from __future__ import annotations

import viser
from viser import infra
from viser._messages import GuiUpdateMessage, SetOrientationMessage, SetPositionMessage

from detent.app.sayings import Camera, Chosen, Moved, Saying, fits, read, write

LOOKING_ON = "Somebody else holds the tool: you are looking on."
UNTIL_THEN = "What you change is not taken. The tool is yours when the other page is closed."
YOURS = "You hold the tool now."
THE_OTHER_LEFT = "The page that held it was closed."
YOURS_FOR = 10.0  # [s] that this is said


class Visitors:
    """The pages that were let in, in the order in which they came.

    What they say passes through `hear`, before viser sees it. Everything happens on the
    server's own thread.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._present: dict[int, infra.WebsockClientConnection] = {}  # by number, in order
        self._told: dict[int, viser.NotificationHandle] = {}  # that they look on

    @property
    def holder(self) -> int | None:
        """The number of the page whose word counts; None if there is none."""
        return next(iter(tuple(self._present)), None)

    def enter(self, page: infra.WebsockClientConnection) -> None:
        """A page has come."""
        self._present[page.client_id] = page

    def greet(self, page: viser.ClientHandle) -> None:
        """A page that came can be told something now."""
        if page.client_id in self._present and page.client_id != self.holder:
            self._told[page.client_id] = page.add_notification(
                LOOKING_ON, UNTIL_THEN, with_close_button=False, color="orange"
            )

    def leave(self, page: infra.WebsockClientConnection) -> None:
        """A page has gone; if it held the tool, the next one has it."""
        self._present.pop(page.client_id, None)
        self._told.pop(page.client_id, None)
        heir = self.holder
        if heir is None or heir not in self._told:  # it knows that it holds the tool
            return
        self._told.pop(heir).remove()
        told = self._server.get_clients().get(heir)
        if told is not None:
            told.add_notification(YOURS, THE_OTHER_LEFT, auto_close_seconds=YOURS_FOR)

    def hear(self, number: int | None, raw: bytes | str) -> bytes | None:
        """What viser may know of what a page said; None if nothing."""
        page = self._present.get(-1 if number is None else number)
        said = read(raw)
        if page is None or said is None or not fits(self._server, said):
            return None
        if number != self.holder and not isinstance(said, Camera):
            self._correct(page, said)
            return None
        return write(said)

    def _correct(self, page: infra.WebsockClientConnection, said: Saying) -> None:
        """Show a page that looks on how things are, where it changed them for itself."""
        if isinstance(said, Chosen):
            element = self._server.gui._gui_input_handle_from_uuid[said.uuid]
            page.queue_message(GuiUpdateMessage(said.uuid, {"value": element.value}))
        if isinstance(said, Moved):
            handle = self._server.scene._handle_from_transform_controls_name[said.name]
            page.queue_message(SetPositionMessage(said.name, tuple(handle.position)))
            page.queue_message(SetOrientationMessage(said.name, tuple(handle.wxyz)))
