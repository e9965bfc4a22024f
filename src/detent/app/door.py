"""Who may come in: the page's own address on this machine, with the key that was printed."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus

from websockets.datastructures import Headers
from websockets.http11 import Request, Response

TOKEN_BYTES = 16
HTTP_PORT = 80  # the one that a browser leaves out
REFUSED = "Detent does not let this in: {}.\n"
WRONG_TOKEN = "open the whole address that `detent play` printed, its key is missing here"
WRONG_HOST = "the page is at a loopback address, under the port that `detent play` printed"
WRONG_ORIGIN = "another web page asks, and only the workbench's own may"
WRONG_HEADERS = "a header is there twice"

# What the page of viser needs, and nothing of anybody else: it unpacks its program (inline, with
# WebAssembly whose glue is evaluated), which starts workers from blobs and has modules as data.
POLICY = {
    "default-src": "'none'",
    "script-src": "'unsafe-inline' 'unsafe-eval'",
    "worker-src": "blob:",
    "style-src": "'unsafe-inline'",
    "img-src": "data:",
    "connect-src": "'self' ws://{host} data:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # the key is in the address
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def new_token() -> str:
    """A key that nobody guesses: 128 random bits as hexadecimal digits."""
    return secrets.token_hex(TOKEN_BYTES)


@dataclass(frozen=True)
class Door:
    """What a request must show, be it for the page or for its websocket.

    The token is the first part of the path: the page of viser opens its websocket below its own
    address, so no cookie is needed, which every server of this machine would be sent.
    """

    port: int
    token: str

    @property
    def path(self) -> str:
        """Where the page is."""
        return f"/{self.token}/"

    def refusal(self, request: Request) -> str | None:
        """Why a request is refused; None if it may come in."""
        found = [request.headers.get_all(name) for name in ("Host", "Origin", "Upgrade")]
        hosts, origins, upgrades = found
        if len(hosts) > 1 or len(origins) > 1 or len(upgrades) > 1:
            return WRONG_HEADERS
        if not hosts or not is_own_host(hosts[0], self.port):
            return WRONG_HOST
        if origins and origins[0] != f"http://{hosts[0]}":  # a program has none
            return WRONG_ORIGIN
        return None if same_token(self.token, first_part(request.path)) else WRONG_TOKEN

    def inside(self, request: Request) -> Request:
        """The request without its token, as the server behind the door knows it."""
        return replace(request, path=request.path.removeprefix(f"/{self.token}") or "/")


def first_part(path: str) -> str:
    """The first part of the path of a URL: ``a`` of ``/a/b?c``."""
    return path.partition("?")[0].removeprefix("/").partition("/")[0]


def same_token(token: str, given: str) -> bool:
    """Whether a token is the right one, in a time that says nothing of where it differs."""
    return hmac.compare_digest(token.encode(), given.encode(errors="surrogateescape"))


def is_own_host(host: str, port: int) -> bool:
    """Whether a ``Host`` is a loopback name with our port.

    A foreign name that was made to point to this machine is not.
    """
    name, colon, number = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, number = host, str(HTTP_PORT)
    if name.startswith("[") and name.endswith("]"):
        return number == str(port) and is_loopback(name[1:-1]) and ":" in name
    return number == str(port) and is_loopback(name) and ":" not in name


def is_loopback(name: str) -> bool:
    """Whether a name or an address is that of this machine only."""
    try:
        return "%" not in name and ipaddress.ip_address(name).is_loopback  # no zone of a network
    except ValueError:
        return name == "localhost"


def refuse(why: str) -> Response:
    """403, and a sentence."""
    body = REFUSED.format(why).encode()
    fields = {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Length": str(len(body)),
        "Connection": "close",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    }
    return Response(HTTPStatus.FORBIDDEN, "Forbidden", Headers({**fields, **HEADERS}), body)


def harden(response: Response, host: str) -> Response:
    """The response with what keeps a browser from doing more with it than it should."""
    for name, value in {**HEADERS, "Content-Security-Policy": policy(host)}.items():
        response.headers[name] = value
    return response


def policy(host: str, parts: Mapping[str, str] = POLICY) -> str:
    """The Content-Security-Policy of the page at a host that was let in."""
    return "; ".join(f"{name} {value}" for name, value in parts.items()).format(host=host)
