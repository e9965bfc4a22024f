"""The web server of the page: on this machine only, and for who has its address only."""

from __future__ import annotations

import errno
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rich
import viser
from websockets.asyncio import server as websockets_server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from detent.app.door import WRONG_TOKEN, Door, harden, is_loopback, new_token, refuse
from detent.app.framing import Framing
from detent.app.sayings import MOST_BYTES
from detent.app.visitors import Visitors
from detent.errors import ParameterError, PlatformError

PORTS_TRIED = 100
LOGGER = logging.getLogger("detent.page")
_STARTING = threading.Lock()

Answer = Callable[[ServerConnection, Request], Response | None]


class PageServer(viser.ViserServer):
    """A viser server that keeps to this machine, and to those who know its address.

    viser listens on all interfaces, lets every web page that the browser shows connect,
    believes whatever a page says, and opens a public tunnel on request. Here it listens on a
    loopback address, a request that the door refuses gets 403 before there is a websocket,
    what a page says passes through `Visitors.hear`, and there is no tunnel.

    Attributes:
        url: the address of the page, with its token.
        visitors: the pages that are open.
        sent: [bytes] to pages, so far.
    """

    url: str

    def __init__(self, host: str, port: int) -> None:
        address = loopback_address(host)
        self._door: Door | None = None  # shut, until the port is known
        self._within: Answer | None = None  # viser's own answer to a request
        self.visitors = Visitors(self)
        self.framing = Framing(self)
        self.sent = 0  # [bytes] to pages, so far
        with _silence(), _guarded(self._guard):
            super().__init__(host=address, port=free_port(address, port), verbose=False)
        if self._within is None:
            self.stop()
            raise PlatformError("this version of viser serves its page in a way that is not known")
        self._websock_server.on_client_connect(self.visitors.enter)
        self._websock_server.on_client_connect(self._seat)
        self._websock_server.on_client_disconnect(self.visitors.leave)
        self.on_client_connect(self._greet)
        self._door = Door(self.get_port(), new_token())
        shown = f"[{address}]" if ":" in address else address
        self.url = f"http://{shown}:{self._door.port}{self._door.path}"

    def stop(self) -> None:
        """Stop listening, and let go of the pages."""
        with _silence():
            super().stop()

    def request_share_url(self, verbose: bool = True) -> None:
        """No tunnel: the page is for this machine."""

    def _guard(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options with which viser serves its page, with the door before it."""
        self._within = options["process_request"]
        ours = {
            "process_request": self._answer,
            "create_connection": lambda *given, **named: PageConnection(self, *given, **named),
            "max_size": MOST_BYTES,
            "logger": LOGGER,
        }
        return {**options, **ours}

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """403 to who may not come in; None where a websocket may be opened."""
        why = WRONG_TOKEN if self._door is None else self._door.refusal(request)
        if why is not None or self._door is None or self._within is None:
            return refuse(why or WRONG_TOKEN)
        response = self._within(connection, self._door.inside(request))
        return None if response is None else harden(response, request.headers["Host"])

    def _seat(self, page: viser.infra.WebsockClientConnection) -> None:
        connection = self._websock_server._live_connections[page.client_id]
        if isinstance(connection, PageConnection):
            connection.number = page.client_id

    async def _greet(self, page: viser.ClientHandle) -> None:
        self.visitors.greet(page)


class PageConnection(ServerConnection):
    """A websocket of which only what a page may say is received."""

    def __init__(self, page: PageServer, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._page = page
        self.number: int | None = None  # of the page that was let in

    async def send(self, message: Any, text: bool | None = None) -> None:
        """Send a message, and count it."""
        self._page.sent += len(message)
        await super().send(message, text)

    async def recv(self, decode: bool | None = None) -> bytes:  # type: ignore[override]
        """The next message that may be believed; others are dropped."""
        while True:
            heard = self._page.visitors.hear(self.number, await super().recv(decode))
            if heard is not None:
                return heard


def loopback_address(host: str) -> str:
    """The address of a loopback host. Other hosts are refused: the key would travel in the open."""
    refused = ParameterError("host", host, "a loopback address, as 127.0.0.1, ::1 or localhost")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM) if host else []
    except OSError:
        raise refused from None
    addresses = sorted({str(entry[4][0]) for entry in found}, key=lambda one: ":" in one)
    if not addresses or not all(map(is_loopback, addresses)):
        raise refused
    return addresses[0]


def free_port(address: str, port: int) -> int:
    """The first port from *port* on that nobody listens at; 0 lets the system choose."""
    if not 0 <= port < 65536:
        raise ParameterError("port", port, "between 0 and 65535")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for number in range(port, min(port + PORTS_TRIED, 65536)):
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((address, number))
            except OSError as error:
                if error.errno in (errno.EADDRINUSE, errno.EACCES):
                    continue
                raise PlatformError(f"cannot listen at {address}: {error.strerror}") from None
            return number
    raise PlatformError(f"no port from {port} to {port + PORTS_TRIED - 1} is free at {address}")


@contextmanager
def _guarded(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[None]:
    """Change the options of websockets servers that viser starts meanwhile.

    viser takes no options for its websockets server, so the function that makes it is wrapped
    for as long as viser starts.
    """

    def serve(handler: Any, host: Any, port: Any, **options: Any) -> Any:
        ours = handler.__module__ == viser.infra._infra.__name__
        return plain(handler, host, port, **(change(options) if ours else options))

    with _STARTING:
        plain = websockets_server.serve
        websockets_server.serve = serve  # type: ignore[assignment,misc]
        try:
            yield
        finally:
            websockets_server.serve = plain  # type: ignore[misc]


class _NoStrangers(logging.Filter):
    """Drops what says that a stranger did not even speak HTTP."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.getMessage() != "opening handshake failed"


LOGGER.addFilter(_NoStrangers())


@contextmanager
def _silence() -> Iterator[None]:
    """viser prints a banner at its start and at its end; ours says more."""
    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
