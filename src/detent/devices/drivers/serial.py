"""A serial line, or a pseudo-terminal: raw bytes, and never a wait without an end."""

from __future__ import annotations

import errno
import glob
import os
import select
import termios
import time
from collections.abc import Sequence

from detent.errors import DeviceMissingError, DeviceNotReadyError

PATIENCE = 0.05  # [s] for an answer; a line that is silent for longer is gone


class SerialLine:
    """An open line."""

    def __init__(self, name: str, path: str, patience: float = PATIENCE) -> None:
        self._patience = patience
        try:
            self._file = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except PermissionError:
            problem = f"{path} is not yours to open: add yourself to the group dialout"
            raise DeviceNotReadyError(name, problem) from None
        except OSError as error:
            raise DeviceNotReadyError(name, f"{path}: {error.strerror}") from error
        self._raw()

    def _raw(self) -> None:
        """No echo, no lines, no flow control; 1 Mbaud, which USB lines ignore."""
        mode = termios.tcgetattr(self._file)
        mode[0] = mode[1] = mode[3] = 0
        mode[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
        mode[4] = mode[5] = termios.B1000000
        mode[6][termios.VMIN] = mode[6][termios.VTIME] = 0
        termios.tcsetattr(self._file, termios.TCSANOW, mode)
        termios.tcflush(self._file, termios.TCIOFLUSH)

    def write(self, data: bytes) -> None:
        """All of it, or an OSError."""
        if os.write(self._file, data) != len(data):
            raise OSError(errno.EIO, "the serial line is full")

    def waits(self, seconds: float) -> bool:
        """Whether something to be read comes by then."""
        return bool(select.select([self._file], [], [], max(0.0, seconds))[0])

    def read(self, most: int, until: float) -> bytes:
        """What is there, at least a byte; an OSError if there is none by then."""
        data = os.read(self._file, most) if self.waits(until - time.monotonic()) else b""
        if not data:
            raise OSError(errno.EIO, "the serial line is silent")
        return data

    def read_exactly(self, count: int) -> bytes:
        """So many bytes; an OSError if they do not come."""
        until, out = time.monotonic() + self._patience, b""
        while len(out) < count:
            out += self.read(count - len(out), until)
        return out

    def read_line(self) -> str:
        """Up to a line feed; an OSError if none comes."""
        until, out = time.monotonic() + self._patience, b""
        while not out.endswith(b"\n"):
            out += self.read(1, until)
        return out.decode("ascii", "replace").strip()

    def close(self) -> None:
        """Closed; it may be called again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def lines_here(patterns: Sequence[str]) -> list[str]:
    """Files that fit, each once."""
    return sorted({os.path.realpath(path) for p in patterns for path in glob.glob(p)})


def said_of(lines: Sequence[str], kind: str) -> str:
    """What a list of devices says of them."""
    return f"{', '.join(lines)} may be it" if lines else f"no {kind}"


def find_line(name: str, patterns: Sequence[str], port: str | None) -> str:
    """The named port, or the only one that fits; refused otherwise."""
    found = [port] if port else lines_here(patterns)
    if len(found) == 1:
        return found[0]
    if not found:
        raise DeviceMissingError(name, f"no serial line like {' or '.join(patterns)}: plug it in")
    raise DeviceNotReadyError(name, f"several lines could be it ({', '.join(found)}): name a port")
