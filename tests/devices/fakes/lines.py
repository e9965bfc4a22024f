"""Fakes of devices on serial lines: a thread behind a pseudo-terminal, with a mass and a hand."""

from __future__ import annotations

import math
import os
import struct
import threading
import time
import tty
from contextlib import suppress
from pathlib import Path


class Body:
    """One axis in a hand, moved by the clock."""

    def __init__(self, inertia: float, stiffness: float, damping: float, home: float = 0.0) -> None:
        self.inertia, self.stiffness, self.damping, self.home = inertia, stiffness, damping, home
        self.place, self.speed, self.push, self.time = home, 0.0, 0.0, time.monotonic()

    def move(self) -> None:
        now = time.monotonic()
        left = min(now - self.time, 0.05)
        self.time = now
        while left > 0.0:
            step = min(left, 2e-4)
            pull = self.stiffness * (self.home - self.place) - self.damping * self.speed
            self.speed += step * (self.push + pull) / self.inertia
            self.place += step * self.speed
            left -= step


class Line:
    """A pseudo-terminal under a name that stays when it is unplugged and plugged in again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "line"
        self.silent, self.jump, self.unsaid = False, 0.0, b""
        self.lag = 0.0  # [s] for which it was not looking, at most: its own clock was stopped
        self.plug()

    def plug(self) -> None:
        self.master, slave = os.openpty()
        tty.setraw(self.master)
        tty.setraw(slave)
        self.path.unlink(missing_ok=True)
        self.path.symlink_to(os.ttyname(slave))
        os.close(slave)
        self.running = True
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def unplug(self) -> None:
        self.running = False
        self.thread.join(5.0)
        os.close(self.master)

    def close(self) -> None:
        if self.running:
            self.unplug()

    def _serve(self) -> None:
        buffer, last = b"", time.monotonic()
        os.set_blocking(self.master, False)
        while self.running:
            now = time.monotonic()
            self.lag, last = max(self.lag, now - last), now
            try:
                buffer += os.read(self.master, 4096)
            except OSError:  # nothing there, or nobody at the other end
                time.sleep(2e-4)
            buffer = self.answer(buffer)

    def answer(self, buffer: bytes) -> bytes:
        """Answer whole messages; what is left of the bytes."""
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        self.unsaid = self.unsaid + data if self.silent else b""
        if not self.silent:
            with suppress(OSError):
                os.write(self.master, data)

    def repeat(self) -> None:
        """What it kept to itself while it was silent."""
        self.silent = False
        os.write(self.master, self.unsaid)


class FakeTwoDiy(Line):
    """The board: torques of the two motors, answered by their angles."""

    def __init__(self, folder: Path) -> None:
        self.arms = [Body(1e-4, 1.0, 0.01, math.radians(home)) for home in (150.0, 30.0)]
        self.bad, self.frozen = 0, False
        self.parameters = b""
        super().__init__(folder)

    def force(self) -> float:
        return max(abs(arm.push) for arm in self.arms)

    def answer(self, buffer: bytes) -> bytes:
        while buffer:
            size = {1: 26, 2: 10}.get(buffer[0], 1)
            if len(buffer) < size:
                return buffer
            if buffer[0] == 1:
                self.parameters = buffer[:size]
            elif buffer[0] == 2:
                self._torques(*struct.unpack("<2f", buffer[2:10]))
            buffer = buffer[size:]
        return buffer

    def _torques(self, second: float, first: float) -> None:
        self.bad += not (math.isfinite(first) and math.isfinite(second))
        for arm, torque in zip(self.arms, (first, second), strict=True):
            if not self.frozen:
                arm.move()
            arm.push = torque
        self.arms[0].place += self.jump
        self.jump = 0.0
        degrees = [math.degrees(arm.place) for arm in self.arms]
        self.send(bytes([5]) + struct.pack("<2f", degrees[1], degrees[0]))


class FakeMoteus(Line):
    """A controller behind an fdcanusb, with the watchdog of its firmware.

    Its clock is slower than ours, or a busy machine would be its fault, until a test says else.
    """

    def __init__(self, folder: Path) -> None:
        self.knob, self.mode, self.told = Body(1e-4, 0.3, 0.003), 0, -math.inf
        self.timeout, self.bad, self.trips, self.fault = 0.1, 0, 0, False
        self.slower = 100.0
        self.until = (
            -math.inf
        )  # [s] when its firmware lets go of the last push, if nobody asks it to
        super().__init__(folder)

    def force(self) -> float:
        self._watch()
        return self.knob.push

    def _watch(self) -> None:
        if self.mode == 10 and time.monotonic() - self.told > self.slower * self.timeout:
            self.trips += self.knob.push != 0.0
            self.mode, self.knob.push = 11, 0.0

    def answer(self, buffer: bytes) -> bytes:
        while b"\n" in buffer:
            line, _, buffer = buffer.partition(b"\n")
            words = line.decode().split()
            if words[:2] == ["can", "send"]:
                self._frame(int(words[2], 16), bytes.fromhex(words[3]))
        return buffer

    def _frame(self, number: int, frame: bytes) -> None:
        assert number == 0x8001 and len(frame) in (7, 8, 48), (number, len(frame))
        self._watch()
        self.knob.move()
        if frame[2] == 0:
            self.mode, self.knob.push = 0, 0.0
        elif self.mode != 11 or self.knob.push == 0.0:
            assert frame[3:6] == bytes([0x0C, 8, 0x20])
            values = struct.unpack("<8f", frame[6:38])
            self.bad += not math.isfinite(values[2])
            self.mode, self.timeout, self.told = 10, values[7], time.monotonic()
            self.knob.push = max(-values[5], min(values[5], values[2]))
            if self.knob.push != 0.0:
                self.until = max(self.until, self.told + self.timeout)
        self.knob.place += self.jump
        self.jump = 0.0
        mode = 1 if self.fault else self.mode
        turn = 2.0 * math.pi
        state = struct.pack("<3f", self.knob.place / turn, self.knob.speed / turn, self.knob.push)
        answer = bytes([0x21, 0x00, mode, 0x2F, 0x01]) + state
        self.send(f"OK\r\nrcv 100 {answer.hex()} E B F\r\n".encode())


class FakeWheel(Line):
    """What the kernel shows of a wheel; its ioctls come as events, see `Served`."""

    def __init__(self, folder: Path) -> None:
        self.rim, self.until, self.level = Body(0.02, 5.0, 0.2), -math.inf, 0
        self.most = 2.0
        super().__init__(folder)

    def force(self) -> float:
        return self.rim.push if time.monotonic() < self.until else 0.0

    def answer(self, buffer: bytes) -> bytes:
        event = struct.Struct("llHHi")
        while len(buffer) >= event.size:
            *_, kind, code, value = event.unpack(buffer[: event.size])
            buffer = buffer[event.size :]
            if kind == 0x15 and code == LEVEL:
                self.level = value
            elif kind == 0x15 and code == 0:  # play: it lasts 50 ms
                self.rim.push = self.most * self.level / 0x7FFF
                self.until = time.monotonic() + 0.05
        self.rim.push = self.force()
        self.rim.move()
        self.rim.place += self.jump
        self.jump = 0.0
        share = self.rim.place / math.radians(900.0) + 0.5
        self.send(event.pack(0, 0, 3, 0, round(65535 * share)))
        time.sleep(1e-3)
        return buffer


LEVEL = 0xFFF  # an event that no kernel has: the level of the effect that was uploaded
