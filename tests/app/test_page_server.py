"""The page is for this machine, and for nobody else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from detent import Session, World
from detent.app.server import PageServer, free_port, loopback_address, same_origin
from detent.app.workbench import play
from detent.errors import ParameterError


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    running = PageServer("127.0.0.1", 0)
    yield running
    running.stop()


def listening_addresses(port: int) -> list[str]:
    """Hexadecimal local addresses at which somebody listens at a port, from the kernel."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, _, number = local.partition(":")
            if state == "0A" and int(number, 16) == port:
                found.append(address)
    return found


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux")
def test_it_listens_on_loopback_only(server: PageServer) -> None:
    assert listening_addresses(server.get_port()) == ["0100007F"]  # 127.0.0.1


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "no-such-host.invalid"])
def test_other_hosts_are_refused(host: str) -> None:
    with pytest.raises(ParameterError, match="must be a loopback address"):
        play(Session(World.builtin("peg-in-hole")), host=host, seconds=1.0)


def test_loopback_hosts_are_allowed() -> None:
    assert loopback_address("127.0.0.1") == "127.0.0.1"
    assert loopback_address("localhost") in ("127.0.0.1", "::1")


def test_a_taken_port_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port("127.0.0.1", port) > port


def test_a_port_must_exist() -> None:
    with pytest.raises(ParameterError, match="port = 70000"):
        free_port("127.0.0.1", 70000)


def test_it_serves_the_page(server: PageServer) -> None:
    with urlopen(server.url) as answer:
        assert answer.status == 200 and b"<html" in answer.read()


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        (None, "127.0.0.1:8080", True),  # not a browser
        ("http://127.0.0.1:8080", "127.0.0.1:8080", True),
        ("http://localhost:9000", "localhost:9000", True),  # through a tunnel of one's own
        ("http://localhost:8888", "localhost:8080", False),  # another server of this machine
        ("https://example.org", "127.0.0.1:8080", False),
        ("http://example.org:8080", "example.org:8080", False),  # a name made to point here
        ("null", "127.0.0.1:8080", False),
    ],
)
def test_only_its_own_page_may_connect(origin: str | None, host: str, allowed: bool) -> None:
    assert same_origin(origin, host) is allowed


@pytest.mark.parametrize("foreign", [False, True])
def test_a_foreign_page_is_turned_away(server: PageServer, foreign: bool) -> None:
    origin = "https://example.org" if foreign else server.url
    socket_url = server.url.replace("http", "ws")
    protocol = [f"viser-v{viser.__version__}"]
    with connect(socket_url, origin=origin, subprotocols=protocol) as connection:  # type: ignore[arg-type]
        if foreign:
            with pytest.raises(ConnectionClosed) as closed:
                connection.recv(timeout=10.0)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1008
        else:
            assert connection.recv(timeout=10.0)


def test_there_is_no_tunnel(server: PageServer) -> None:
    assert server.request_share_url() is None
    assert server._share_tunnel is None
