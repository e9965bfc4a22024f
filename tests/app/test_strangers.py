"""Strangers at the page's port change nothing: the servo goes on, the tool stays where it is."""

from __future__ import annotations

import io
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np
import pytest
import zstandard
from browser import Page, open_browser, open_page, wait_for
from strangers import (
    SUBPROTOCOL,
    bad_messages,
    bad_requests,
    camera,
    frame,
    knock,
    moved,
    pack,
    plain,
    status,
    upgrade,
)
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from detent import Session, World
from detent.app.door import first_part
from detent.app.grip import grip
from detent.app.pull import REACH
from detent.app.sayings import MOST_BYTES
from detent.app.server import PageServer
from detent.app.stage import Stage, set_stage
from detent.app.status import StatusLine
from detent.app.visitors import LOOKING_ON, YOURS
from detent.app.workbench import Workbench, run
from detent.servo.loop.live import Live

pytestmark = pytest.mark.live
MANY = [2_000, pytest.param(100_000, marks=pytest.mark.long)]


class Played:
    """A live session with a page, all in this process."""

    def __init__(self, server: PageServer, stage: Stage, live: Live, bench: Workbench) -> None:
        self.server, self.stage, self.live, self.bench = server, stage, live, bench
        self.port = server.get_port()
        self.token = first_part(urlsplit(server.url).path)
        self.host = ("Host", f"127.0.0.1:{self.port}")

    def join(self, **options: str) -> ClientConnection:
        """Connect as a program, which knows the address."""
        address = self.server.url.replace("http", "ws").rstrip("/")
        return connect(address, subprotocols=[SUBPROTOCOL], max_queue=None, **options)  # type: ignore[list-item,arg-type]

    def uuid(self, label: str) -> str:
        """Of an element of the panel."""
        elements = self.server.gui._gui_input_handle_from_uuid
        return next(key for key, one in elements.items() if one.label == label)

    def state(self) -> tuple[object, ...]:
        """All that a page can change."""
        elements = self.server.gui._gui_input_handle_from_uuid
        values = {key: (one.value, one.disabled) for key, one in elements.items()}
        led = np.round(self.bench.pull.pose, 9).tolist()
        where = self.bench._handle.gizmo.position
        seen = np.round(np.asarray(where, float), 6).tolist()
        parameters = self.live.parameters.tobytes()
        return self.bench.pull.scripted, led, seen, parameters, values, self.bench.wanted

    def target(self) -> np.ndarray:
        """(3,) [m] Where the hand is led."""
        return np.array(self.bench.pull.pose[:3])

    def settle(self) -> None:
        """Nobody leads; wait until the page, if there is one, shows that."""
        self.bench.pull.hold()

        def settled() -> bool:
            before = self.state()
            time.sleep(0.3)  # the panel is refreshed meanwhile
            return self.state() == before

        wait_for("the tool's target to stand still", settled)

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """The servo runs before and after, and nothing was changed meanwhile."""
        before, ticks = self.state(), self.live.status().ticks
        yield
        later = self.live.status().ticks + 50  # 0.1 s: what was sent could have had its effect
        wait_for("the servo to go on", lambda: self.live.status().ticks > max(later, ticks))
        assert self.state() == before
        assert self.live.running


@pytest.fixture(scope="module")
def playing() -> Iterator[Played]:
    session = Session(World.builtin("peg-in-hole"))
    session.warm(500.0)
    server, stage, stop = PageServer("127.0.0.1", 0), None, threading.Event()
    stage = set_stage(session)
    with session.live(500.0, grip(session, stage, 500.0)) as live:
        bench = Workbench(session, live, stage, server)
        given = (bench, live, StatusLine(io.StringIO()), stop, None)
        frames = threading.Thread(target=run, args=given, daemon=True)
        frames.start()
        yield Played(server, stage, live, bench)
        assert frames.is_alive()  # nothing that was sent has ended it
        stop.set()
        frames.join()
    server.stop()


@pytest.fixture
def played(playing: Played) -> Played:
    """The session with a tool that stands still, and no page."""
    wait_for("the pages of before to be gone", lambda: playing.server.visitors.holder is None)
    wait_for("the script to have it back", lambda: not playing.bench._watched)
    playing.settle()
    return playing


class Ear:
    """Counts what is said by pages that were let in, and what viser is told of it."""

    def __init__(self, server: PageServer) -> None:
        self.heard = self.believed = 0
        self._hear = server.visitors.hear

    def __call__(self, number: int | None, raw: bytes | str) -> bytes | None:
        told = self._hear(number, raw)
        self.heard += 1
        self.believed += told is not None
        return told


@pytest.fixture
def ear(played: Played, monkeypatch: pytest.MonkeyPatch) -> Ear:
    listening = Ear(played.server)
    monkeypatch.setattr(played.server.visitors, "hear", listening)
    return listening


def hears(connection: ClientConnection, text: str) -> None:
    """Wait until a page is told something."""
    until = time.monotonic() + 10.0
    while time.monotonic() < until:
        raw = connection.recv(timeout=10.0)
        assert isinstance(raw, bytes)
        size = int.from_bytes(raw[8:16], "little")
        if text.encode() in zstandard.ZstdDecompressor().decompress(raw[16 : 16 + size]):
            return
    raise AssertionError(f"never heard {text!r}")


def test_a_foreign_page_that_sends_before_it_is_refused_moves_nothing(played: Played) -> None:
    foreign = ("Origin", "http://evil.example")
    for path in ("/", f"/{played.token}/", f"/{played.token}"):
        with played.untouched():
            request = upgrade(path, played.host, foreign) + frame(moved((5.0, 5.0, 0.0)))
            answer = knock(played.port, request)
            assert status(answer) == 403 and b"Upgrade" not in answer
    with pytest.raises(InvalidStatus) as refused:
        played.join(origin="http://evil.example")
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("make", [upgrade, plain])
def test_who_lacks_something_gets_403(played: Played, make: object) -> None:
    ask = partial(knock, played.port)
    assert callable(make)
    for request in (
        make("/", played.host),
        make("/index.html", played.host),
        make(f"/?token={played.token}", played.host),
        make(f"/{played.token[:-1]}x/", played.host),
        make(f"/{played.token}/", ("Host", "evil.example")),
        make(f"/{played.token}/", ("Host", f"evil.example:{played.port}")),
        make(f"/{played.token}/", played.host, ("Origin", f"http://127.0.0.1:{played.port + 1}")),
    ):
        with played.untouched():
            answer = ask(request)
        assert status(answer) == 403, request
        assert b"frame-ancestors 'none'" in answer


def test_a_program_with_the_address_is_let_in(played: Played) -> None:
    with played.join() as page:
        page.send(moved((0.4, 0.3, 0.0)))
        wanted = played.stage.from_page(played.stage.lowered(np.array([0.4, 0.3, 0.0])))
        there = partial(np.allclose, wanted[:2], atol=1e-4)
        wait_for("the tool's target", lambda: there(played.target()[:2]), 10.0)


def test_the_second_visitor_looks_on_until_the_first_leaves(played: Played, ear: Ear) -> None:
    slider = played.uuid("Stiffness [N/m]")
    change = pack("GuiUpdateMessage", uuid=slider, updates={"value": 5000})
    first, second = played.join(), played.join()
    with second:
        with first:
            first.send(camera())
            second.send(camera())
            hears(second, LOOKING_ON)
            played.settle()
            with played.untouched():
                for message in (moved(), change):
                    second.send(message)
                second.send(pack("TransformControlsDragStartMessage", name="/handle", owner=""))
                wait_for("all three", lambda: ear.heard == 5, 10.0)
                assert ear.believed == 2  # the cameras
                hears(second, slider)  # what it is in truth
            first.send(moved((0.1, 0.1, 0.0)))
            wait_for("the first", lambda: not played.bench.pull.scripted, 10.0)
        hears(second, YOURS)
        before = played.target()
        second.send(moved((-0.4, 0.3, 0.0)))
        wait_for("the second", lambda: np.linalg.norm(played.target() - before) > 0.01, 10.0)
        second.send(change)
        wait_for("its wall", lambda: played.live.parameters["stiffness"].max() == 5000.0, 10.0)
        back = pack("GuiUpdateMessage", uuid=slider, updates={"value": 4000})
        second.send(back)
        wait_for("the old wall", lambda: played.live.parameters["stiffness"].max() == 4000.0, 10.0)


def test_who_leaves_amid_a_drag_leaves_a_handle_that_follows(played: Played) -> None:
    with played.join() as page:
        page.send(moved((0.4, 0.3, 0.0)))  # and never an end
        wait_for("the drag", lambda: played.bench._handle._held, 10.0)
    wait_for("the handle", lambda: not played.bench._handle._held, 10.0)


def test_a_place_out_of_the_world_is_clamped_to_its_neighbourhood(played: Played) -> None:
    with played.join() as page:
        page.send(moved((9e5, -9e5, 0.0)))
        edge = played.stage.centre[:2] + REACH * played.stage.size * np.array([1.0, -1.0])
        wait_for("the edge", lambda: np.allclose(played.target()[:2], edge, atol=1e-4), 10.0)
        assert played.live.running


def test_a_message_that_is_too_large_ends_its_own_connection_only(played: Played) -> None:
    with played.join() as other, played.join() as page, played.untouched():
        page.send(bytes(MOST_BYTES + 1))
        with pytest.raises(ConnectionClosed):
            while True:
                page.recv(timeout=10.0)
        assert other.recv(timeout=10.0)


@pytest.mark.parametrize("count", MANY)
def test_wrong_requests_are_refused_one_and_all(played: Played, ear: Ear, count: int) -> None:
    answers: Counter[int] = Counter()
    with played.untouched():
        for i, request in enumerate(bad_requests(played.token, played.port, count, seed=1)):
            answers[status(knock(played.port, request, i))] += 1
    assert answers[403] >= 0.75 * count  # the others were no HTTP
    assert set(answers) <= {0, 400, 403}, answers
    assert ear.heard == 0
    assert not played.server.get_clients() and played.server.visitors.holder is None


@pytest.mark.parametrize("count", MANY)
def test_malformed_messages_change_nothing(played: Played, ear: Ear, count: int) -> None:
    labels = {"slider": "Stiffness [N/m]", "checkbox": "Scripted motion", "dropdown": "Material"}
    uuids = {kind: played.uuid(label) for kind, label in labels.items()}
    with played.join() as page:
        with played.untouched():
            for message, opcode in bad_messages(uuids, count, seed=2):
                page.send(message.decode() if opcode == 1 else message)
            wait_for("all of them", lambda: ear.heard == count, 60.0)
            assert ear.believed == 0
        page.send(moved((0.4, 0.3, 0.0)))  # it is still listened to
        before_it = played.target()
        wait_for("an effect", lambda: np.linalg.norm(played.target() - before_it) > 1e-3, 60.0)


FOREIGN = """<!doctype html><title>waiting</title><script>
  const line = new WebSocket("ws://127.0.0.1:%d/%s", ["%s"]);
  line.onopen = () => { document.title = "open"; line.send(new Uint8Array(%s)) };
  line.onerror = line.onclose = () => document.title = "refused";
</script>"""


@contextmanager
def another_server(text: str) -> Iterator[str]:
    """A page of somebody else at another port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *given: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.browser
def test_a_browser_without_the_token_is_told_what_to_open(played: Played) -> None:
    with open_browser() as browser, played.untouched():
        browser.get(f"http://127.0.0.1:{played.port}/")
        said = browser.find_element("tag name", "body").text
        assert "open the whole address that `detent play` printed" in said


@pytest.mark.browser
def test_a_page_at_another_port_cannot_connect_though_it_knows_the_token(played: Played) -> None:
    attack = list(moved((5.0, 5.0, 0.0)))
    text = FOREIGN % (played.port, played.token, SUBPROTOCOL, attack)
    with another_server(text) as address, open_browser() as browser, played.untouched():
        browser.get(address)
        wait_for("its end", lambda: browser.title != "waiting", 20.0)
        assert browser.title == "refused"


@pytest.mark.browser
def test_the_page_works_under_its_policy(played: Played) -> None:
    with open_page(played.server.url, played.stage) as page:
        wait_for("the numbers", lambda: page.text("state"))
        wait_for("the title", lambda: page.browser.title == "Detent")
        assert not violations(page)


def violations(page: Page) -> list[str]:
    """What the browser's console says of the policy, or of a program that broke."""
    entries = page.browser.get_log("browser")
    words = ("Content Security Policy", "violates", "Refused", "Uncaught")
    return [one["message"] for one in entries if any(word in one["message"] for word in words)]
