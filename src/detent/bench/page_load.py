"""What an open page costs beside a servo at 4 kHz, and how often it is told what is new."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from contextlib import suppress
from typing import Any

from detent.bench.page import Page, browser_at, serve_page
from detent.bench.rounds import Numbers
from detent.session import Session
from detent.world.world import World

RATE = 4000.0  # [Hz]
SETTLE = 2.0  # [s] until the page has drawn the session
SECONDS = 10.0  # [s]
#: frames per second that the browser draws, counted for some seconds
COUNT = """new Promise(done => { let n = 0; const began = performance.now(); const draw = () => {
  n += 1; const ran = performance.now() - began;
  ran < 1000 * SECONDS ? requestAnimationFrame(draw) : done(1000 * n / ran) }; draw() })"""


def bench_page(quick: bool) -> Numbers:
    """Updates, drawn frames, bytes and processor time of the page's thread."""
    if quick:
        return {"page": "not measured: a browser takes longer than all else"}
    with (
        serve_page(Session(World.builtin("peg-in-hole"))) as page,
        page.playing(RATE, realtime=True) as live,
        browser_at(page) as browser,
    ):
        if browser == "none":
            return {"page": "not measured: no browser"}
        time.sleep(SETTLE)
        numbers = measured(page, SECONDS)
        return {"page": browser, **numbers, "page_servo_hz": live.status().recent}


def measured(page: Page, seconds: float) -> Numbers:
    """Rates over some seconds; those of the browser are its own."""
    told: list[float | str] = []
    asking = threading.Thread(target=lambda: told.append(drawn_frames(page, seconds)))
    before, began = counts(page), time.monotonic()
    asking.start()
    time.sleep(seconds)
    after, ran = counts(page), time.monotonic() - began
    asking.join()
    updates, sent, spent = ((b - a) / ran for a, b in zip(before, after, strict=True))
    return {
        "page_updates_hz": updates,
        "page_drawn_hz": told[0],
        "page_kbytes_per_s": sent / 1e3,
        "page_thread_cpu": spent,
    }


def counts(page: Page) -> tuple[float, float, float]:
    """Updates and bytes so far, and seconds of processor time of the thread that makes them."""
    assert page.workbench is not None and page.frames is not None and page.frames.ident is not None
    clock = time.pthread_getcpuclockid(page.frames.ident)
    return page.workbench.drawn, page.server.sent, time.clock_gettime(clock)


def drawn_frames(page: Page, seconds: float) -> float | str:
    """[Hz] as the browser counts them, asked through its own debugger; else why it is not known."""
    from websockets.sync.client import connect

    with suppress(OSError, KeyError, StopIteration, ValueError):
        port = page.debugger_port()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10.0) as answer:
            tabs: list[dict[str, Any]] = json.load(answer)
        address = next(t["webSocketDebuggerUrl"] for t in tabs if t["url"].startswith(page.url))
        ask = {
            "id": 1,
            "method": "Runtime.evaluate",
            "params": {
                "expression": COUNT.replace("SECONDS", f"{seconds:g}"),
                "awaitPromise": True,
                "returnByValue": True,
            },
        }
        with connect(address, open_timeout=10.0) as line:
            line.send(json.dumps(ask))
            said = json.loads(line.recv(timeout=seconds + 30.0))
        return float(said["result"]["result"]["value"])
    return "not told by the browser"
