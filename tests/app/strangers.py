"""What strangers send to the page's port: requests that are wrong, and messages that are."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import viser
from viser._messages import Message

SUBPROTOCOL = f"viser-v{viser.__version__}"
HANDLE = {"name": "/handle", "owner": ""}
WRONG_NUMBERS = (float("nan"), float("inf"), -float("inf"), 1e300, 2**63, -(2**63))
ODDITIES: tuple[Any, ...] = (None, True, "x", "", b"\xff", [], {}, [[]], -1, 0, *WRONG_NUMBERS)


def pack(kind: str, **fields: Any) -> bytes:
    """A message as a page sends it."""
    return msgspec.msgpack.encode({"type": kind, **fields})


def moved(
    position: tuple[float, ...] = (0.5, 0.5, 0.0),
    wxyz: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0),
    name: str = "/handle",
) -> bytes:
    """The handle is dragged to a place [page units]."""
    return pack("TransformControlsUpdateMessage", name=name, owner="", position=position, wxyz=wxyz)


def camera() -> bytes:
    """What a page says first."""
    return pack(
        "ViewerCameraMessage",
        wxyz=(1, 0, 0, 0), position=(0, 0, 5), fov=0.5, near=0.01, far=100, image_height=700,
        image_width=1200, look_at=(0, 0, 0), up_direction=(0, 1, 0),
    )  # fmt: skip


def frame(payload: bytes, opcode: int = 2) -> bytes:
    """A message on the wire, masked with zeros."""
    size = len(payload)
    head = bytes([0x80 | opcode])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 2**16:
        head += bytes([0x80 | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([0x80 | 127]) + size.to_bytes(8, "big")
    return head + bytes(4) + payload


def upgrade(path: str, *headers: tuple[str, str]) -> bytes:
    """A request for a websocket."""
    fields = [
        *headers,
        *(("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")),
        *(("Sec-WebSocket-Key", "x3JJHMbDL1EzLkh9GBhXDw=="),),
        ("Sec-WebSocket-Protocol", SUBPROTOCOL),
    ]
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def plain(path: str, *headers: tuple[str, str]) -> bytes:
    """A request for a file."""
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def knock(port: int, request: bytes, source: int = 0) -> bytes:
    """Send bytes, and read the answer until the server hangs up."""
    here = (f"127.0.1.{1 + source % 250}", 0)  # ports of one address alone would run out
    answer = b""
    with socket.create_connection(("127.0.0.1", port), 10.0, here) as line:
        try:
            line.sendall(request)
            if b"\r\n\r\n" not in request:  # it would be waited for
                line.shutdown(socket.SHUT_WR)
            while part := line.recv(65536):
                answer += part
        except ConnectionError:  # hung up before it had read everything
            pass
    return answer


def status(answer: bytes) -> int:
    """The HTTP status of an answer; 0 if it is none."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def bad_requests(token: str, port: int, count: int, seed: int) -> Iterator[bytes]:
    """Requests of which none may be answered with the page or a websocket."""
    chance = random.Random(seed)
    own = ("Host", f"127.0.0.1:{port}")
    for i in range(count):
        make = (upgrade, plain)[chance.randrange(2)]
        match i % 4:
            case 0:
                yield make(bad_path(token, chance), own) + frame(moved())
            case 1:
                yield make(f"/{token}/", own, ("Origin", bad_origin(port, chance))) + frame(moved())
            case 2:
                yield make(f"/{token}/", ("Host", bad_host(port, chance))) + frame(moved())
            case _:
                yield garbled(make(f"/{token}/", own), chance)


def bad_path(token: str, chance: random.Random) -> str:
    """A path without the token, but perhaps with something like it."""
    other = f"{chance.getrandbits(128):032x}"
    place = chance.randrange(len(token))
    swapped = token[:place] + ("g" if token[place] != "g" else "h") + token[place + 1 :]
    almost = (
        *(other, swapped, token[:-1], token + "0", token[::-1] + "0", "", "é" + token, " "),
        *(f"%{ord(token[0]):02x}{token[1:]}", f"?token={token}", f"x/{token}", "../" + token),
    )
    return "/" + chance.choice(almost).replace(" ", "%20") + chance.choice(("", "/", "/x", "?a=b"))


def bad_origin(port: int, chance: random.Random) -> str:
    """An origin that is not the page's."""
    name = "".join(chance.choices("abcdefghij.-", k=chance.randrange(1, 20)))
    return chance.choice(
        (
            *(f"http://{name}", f"https://{name}:{port}", "null", f"http://127.0.0.1:{port + 1}"),
            *(f"https://127.0.0.1:{port}", f"http://localhost:{port}", f"http://127.0.0.1:{port}."),
            *(f"http://127.0.0.1:{port}@{name}", "file://", f"http://127.0.0.1:{port}, null"),
        )
    )


def bad_host(port: int, chance: random.Random) -> str:
    """A host that is not this machine with this port."""
    name = "".join(chance.choices("abcdefghij-", k=chance.randrange(1, 20)))
    return chance.choice(
        (
            *(f"{name}.example:{port}", f"{name}:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}"),
            *(f"192.0.2.{chance.randrange(256)}:{port}", f"localhost.{name}:{port}", ""),
            *(f"127.0.0.1:{port}:{port}", f"0.0.0.0:{port}", f"[{name}]:{port}", f"127.1:{port}"),
        )
    )


def garbled(request: bytes, chance: random.Random) -> bytes:
    """A right request that was made wrong, or no request at all."""
    lines = request.split(b"\r\n")
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: chance.randbytes(chance.randrange(1, 400)) + b"\r\n\r\n",
        lambda: request.replace(b"GET", chance.choice((b"POST", b"get", b"", b"GET GET")), 1),
        lambda: request.replace(b"HTTP/1.1", chance.choice((b"HTTP/9.9", b"", b"HTTP")), 1),
        lambda: b"\r\n".join([lines[0], lines[1], *lines[1:]]),  # its host twice
        lambda: b"\r\n".join([lines[0], b"Host", *lines[2:]]),
        lambda: b"\r\n".join([lines[0], *lines[2:]]),  # no host
        lambda: b"\r\n".join([lines[0], b"X: " + b"x" * 20_000, *lines[1:]]),
        lambda: request[: chance.randrange(1, len(lines[0]))],
    )
    return chance.choice(ways)()


def bad_messages(uuids: dict[str, str], count: int, seed: int) -> Iterator[tuple[bytes, int]]:
    """Messages of which none may have an effect, with their opcodes.

    Args:
        uuids: of the panel's elements, by their kind: slider, checkbox, dropdown.
        count: how many.
        seed: of the chance.
    """
    chance = random.Random(seed)
    kinds = sorted(kind.__name__ for kind in Message.get_subclasses())
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: chance.randbytes(chance.randrange(200)),
        lambda: pack(chance.choice(kinds), **HANDLE, x=chance.choice(ODDITIES[:3])),
        lambda: moved(tuple(chance.choice(WRONG_NUMBERS) for _ in range(3))),
        lambda: moved(wxyz=tuple(chance.uniform(-9.0, 9.0) + 9.0 for _ in range(4))),
        lambda: moved((0.5,) * chance.choice((0, 1, 2, 4, 50))),
        lambda: moved(name=chance.choice(("/", "", "/world", "/handle/", "x" * 999))),
        lambda: moved()[: -chance.randrange(1, 20)],
        lambda: flipped(moved(), chance),
        lambda: bad_choice(uuids, chance),
        lambda: b"\x91" * chance.randrange(1, 4000),  # lists in lists
        lambda: pack("GuiUpdateMessage", uuid=uuids["slider"], updates=odd_update(chance)),
    )
    for _ in range(count):
        if chance.random() < 0.05:
            yield "".join(chance.choices("{}[]\"':,aé0", k=chance.randrange(50))).encode(), 1
        else:
            yield chance.choice(ways)(), 2


def flipped(message: bytes, chance: random.Random) -> bytes:
    """The message with another name of its kind or of a field."""
    place = message.index(chance.choice((b"Transform", b"position", b"wxyz", b"name", b"type")))
    return message[:place] + bytes([message[place] ^ 1]) + message[place + 1 :]


def bad_choice(uuids: dict[str, str], chance: random.Random) -> bytes:
    """A value that an element of the panel cannot have."""
    kind = chance.choice(("slider", "checkbox", "dropdown", "unknown"))
    wrong: dict[str, tuple[Any, ...]] = {
        "slider": ("4000", True, None, [4000], 1e9, -1e9, *WRONG_NUMBERS),
        "checkbox": (0, 1, "true", None, [], {}, 1.0),
        "dropdown": ("", "steel", 0, None, True, ["none"], "NONE"),
        "unknown": ODDITIES,
    }
    value = chance.choice(wrong[kind])
    return pack("GuiUpdateMessage", uuid=uuids.get(kind, kind), updates={"value": value})


def odd_update(chance: random.Random) -> dict[str, Any]:
    """Something else of an element than its value."""
    name = chance.choice(("min", "max", "update_cb", "removed", "__class__", "disabled", "visible"))
    both = {"value": 5000} if chance.random() < 0.5 else {}
    return {name: chance.choice((0, True, "x", 1e9)), **both} if chance.random() < 0.9 else {}
