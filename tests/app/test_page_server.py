"""The page is for this machine, and for nobody else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
import websockets.asyncio.server

from detent import Session, World
from detent.app.server import PageServer, free_port, loopback_address
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


def test_every_server_has_a_token_of_its_own(server: PageServer) -> None:
    other = PageServer("127.0.0.1", 0)
    assert urlsplit(other.url).path != urlsplit(server.url).path
    other.stop()


def test_the_page_comes_with_its_policy(server: PageServer) -> None:
    with urlopen(server.url) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert f"ws://127.0.0.1:{server.get_port()}" in policy
        assert answer.headers["X-Frame-Options"] == "DENY"


def test_viser_elsewhere_is_left_alone(server: PageServer) -> None:
    assert websockets.asyncio.server.serve.__module__ == "websockets.asyncio.server"


def test_there_is_no_tunnel(server: PageServer) -> None:
    assert server.request_share_url() is None
    assert server._share_tunnel is None
