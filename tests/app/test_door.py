"""Who may come in, and what is sent along: the door by itself."""

from __future__ import annotations

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from detent.app.door import (
    WRONG_HEADERS,
    WRONG_HOST,
    WRONG_ORIGIN,
    WRONG_TOKEN,
    Door,
    first_part,
    harden,
    is_own_host,
    new_token,
    refuse,
)

DOOR = Door(8080, "c0ffee")
FOREIGN_HOSTS = (
    *("127.0.0.1", "localhost", "localhost:80", "127.0.0.1:8081", "[::1]", "", ":8080"),
    *("evil.example:8080", "evil.example", "localhost.evil.example:8080", "127.0.0.1:8080@e:80"),
    *("192.0.2.1:8080", "0.0.0.0:8080", "[127.0.0.1]:8080", "::1:8080", "[localhost]:8080"),
)


def request(path: str = "/c0ffee/", **headers: str) -> Request:
    return Request(path, Headers({"Host": "127.0.0.1:8080", **headers}))


@pytest.mark.parametrize("path", ["/c0ffee/", "/c0ffee", "/c0ffee/?websocket=ws://x", "/c0ffee/a"])
def test_the_printed_address_is_let_in(path: str) -> None:
    assert DOOR.refusal(request(path)) is None
    assert DOOR.refusal(request(path, Origin="http://127.0.0.1:8080")) is None


@pytest.mark.parametrize(
    "path",
    [
        *("/", "", "/?token=c0ffee", "/C0FFEE/", "/c0ffe/", "/c0ffee1/", "//c0ffee/", "/x/c0ffee/"),
        *("/c0ffee%2f", "/%63%30ffee/", "http://127.0.0.1:8080/c0ffee/", "/c0ffée/", "/\udcff/"),
        *("/favicon.ico", "/../c0ffee/", "/index.html"),
    ],
)
def test_another_token_is_refused(path: str) -> None:
    assert DOOR.refusal(request(path)) == WRONG_TOKEN


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "null", "", "https://127.0.0.1:8080", "http://127.0.0.1:8081"),
        *("http://localhost:8080", "http://127.0.0.1:8080.evil.example", "http://127.0.0.1:8080/"),
        "http://127.0.0.1",
    ],
)
def test_another_origin_is_refused_even_with_the_token(origin: str) -> None:
    assert DOOR.refusal(request(Origin=origin)) == WRONG_ORIGIN


@pytest.mark.parametrize(
    ("host", "own"),
    [
        *((name, True) for name in ("127.0.0.1:8080", "localhost:8080", "[::1]:8080")),
        *((name, False) for name in FOREIGN_HOSTS),
    ],
)
def test_the_host_is_a_loopback_name_with_the_port(host: str, own: bool) -> None:
    assert is_own_host(host, 8080) is own
    given = Request(DOOR.path, Headers({"Host": host}))
    assert DOOR.refusal(given) == (None if own else WRONG_HOST)


def test_a_browser_leaves_the_port_of_http_out() -> None:
    assert is_own_host("127.0.0.1", 80) and is_own_host("[::1]", 80)


@pytest.mark.parametrize("name", ["Host", "Origin", "Upgrade"])
def test_a_header_that_is_there_twice_is_refused(name: str) -> None:
    value = "http://127.0.0.1:8080" if name == "Origin" else "127.0.0.1:8080"
    headers = Headers([("Host", "127.0.0.1:8080"), (name, value), (name, value)])
    assert DOOR.refusal(Request(DOOR.path, headers)) == WRONG_HEADERS


def test_without_a_host_nobody_comes_in() -> None:
    assert DOOR.refusal(Request(DOOR.path, Headers())) == WRONG_HOST


def test_the_server_behind_the_door_does_not_see_the_token() -> None:
    assert DOOR.inside(request("/c0ffee")).path == "/"
    assert DOOR.inside(request("/c0ffee/a?b")).path == "/a?b"


def test_tokens_are_long_and_never_the_same() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100 and {len(token) for token in tokens} == {32}
    assert first_part(Door(1, "ab").path) == "ab"


def test_a_refusal_says_what_to_do() -> None:
    answer = refuse(WRONG_TOKEN)
    assert answer.status_code == 403
    assert b"open the whole address that `detent play` printed" in answer.body
    assert answer.headers["Content-Length"] == str(len(answer.body))


def test_the_page_can_be_framed_by_nobody_and_asks_nobody_else() -> None:
    headers = harden(Response(200, "OK", Headers()), "localhost:8080").headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "connect-src 'self' ws://localhost:8080 data:;" in policy
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
