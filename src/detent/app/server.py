"""The web server of the page: on this machine only, and for its own page only."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import rich
import viser

from detent.errors import ParameterError, PlatformError

PORTS_TRIED = 100


class PageServer(viser.ViserServer):
    """A viser server that keeps to this machine.

    viser listens on all interfaces, lets every web page that the browser shows connect, and
    opens a public tunnel on request. Here it listens on a loopback address, a web page of
    another origin is turned away, and there is no tunnel.
    """

    def __init__(self, host: str, port: int) -> None:
        address = loopback_address(host)
        with _silence():
            super().__init__(host=address, port=free_port(address, port), verbose=False)
        self._websock_server.on_client_connect(self._turn_strangers_away)
        shown = f"[{address}]" if ":" in address else address
        self.url = f"http://{shown}:{self.get_port()}"

    def stop(self) -> None:
        """Stop listening, and let go of the pages."""
        with _silence():
            super().stop()

    def request_share_url(self, verbose: bool = True) -> None:
        """No tunnel: the page is for this machine."""

    async def _turn_strangers_away(self, connection: viser.infra.WebsockClientConnection) -> None:
        socket_ = self._websock_server._live_connections[connection.client_id]
        headers = socket_.request.headers if socket_.request is not None else {}
        if not same_origin(headers.get("Origin"), headers.get("Host")):
            await socket_.close(1008, "this page is for its own origin only")


def same_origin(origin: str | None, host: str | None) -> bool:
    """Whether a connection comes from our page, or from a program that is not a browser.

    The name must be a loopback one too, so that a foreign name that was made to point to
    this machine does not pass.
    """
    if origin is None:
        return True
    parts = urlsplit(origin)
    return parts.netloc == host and _is_loopback(parts.hostname or "")


def loopback_address(host: str) -> str:
    """The address of a loopback host. Other hosts are refused: the page has no key."""
    refused = ParameterError("host", host, "a loopback address, as 127.0.0.1, ::1 or localhost")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM) if host else []
    except OSError:
        raise refused from None
    addresses = sorted({str(entry[4][0]) for entry in found}, key=lambda one: ":" in one)
    if not addresses or not all(map(_is_loopback, addresses)):
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


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


@contextmanager
def _silence() -> Iterator[None]:
    """viser prints a banner at its start and at its end; ours says more."""
    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
