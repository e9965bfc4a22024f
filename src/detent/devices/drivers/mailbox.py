"""A device behind a socket pair: another process, or a vendor's thread, exchanges messages with it.

The tick takes the newest reading and leaves a command, by two system calls that never wait. Both
are whole messages of fixed size, so nobody sees half of one; and either side sees at once that the
other is gone, also when it was killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
from typing import Any, ClassVar

from detent.devices.drivers.driver import Driver
from detent.devices.drivers.foreign import address_of
from detent.devices.drivers.mailbox_ticks import RECEIVE, SEND, read_mailbox, write_mailbox
from detent.devices.drivers.outside import BEGUN, CLOCK
from detent.devices.port import CALIBRATED, DEAD_MAN, FLAGS, FORCE_ON, VALID
from detent.errors import DeviceMissingError, DeviceNotReadyError

PATIENCE = 120.0  # [s] for a process to import what it needs and open the device
_CHILD = "from detent.devices.drivers.host import serve; import sys; serve(*sys.argv[1:])"


def connect(d: Any) -> tuple[socket.socket, socket.socket]:
    """A pair of sockets: the tick's, and that of whoever serves the device."""
    mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    libc = ctypes.CDLL(None)
    d.functions[RECEIVE], d.functions[SEND] = address_of(libc.recv), address_of(libc.send)
    d.functions[CLOCK] = address_of(libc.clock_gettime)
    d.handles[0] = mine.fileno()
    d.counts[FLAGS] = VALID | CALIBRATED | FORCE_ON | DEAD_MAN
    return mine, other


class Mailbox(Driver):
    """A device that is served by a process of its own (`drivers.host`)."""

    stages: ClassVar = (read_mailbox, write_mailbox)
    serves: ClassVar[str]  # module:class of the one that serves, see `drivers.host.Served`
    socket: socket.socket | None = None
    process: subprocess.Popen[str] | None = None

    def open(self, d: Any) -> None:
        """Start the process; it says that the device is open, or why it is not."""
        self.socket, other = connect(d)
        given = {**self.options, "cap": self.preset.peak()}
        command = [sys.executable, "-P", "-c", _CHILD, str(other.fileno()), self.serves]
        self.process = subprocess.Popen(
            [*command, json.dumps(given)], pass_fds=[other.fileno()], stdout=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        other.close()
        self._wait_until_open()

    def _wait_until_open(self) -> None:
        import select

        assert self.process is not None and self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        said = self.process.stdout.readline() if ready else ""
        if not said and ready:
            code = self.process.wait()
            problem = f"its process ended with {code} before the device was open; see what it said"
            raise DeviceNotReadyError(self.name, problem)
        if not said:
            raise DeviceNotReadyError(self.name, f"nothing was heard of it for {PATIENCE:g} s")
        answer = json.loads(said)
        if "missing" in answer:
            raise DeviceMissingError(self.name, answer["missing"])
        if "not ready" in answer:
            raise DeviceNotReadyError(self.name, answer["not ready"])

    def close(self, d: Any) -> None:
        """Hang up: the process sends zero and ends."""
        d.status[BEGUN] = 0
        if self.socket is not None:
            self.socket.close()
            self.socket = None
        if self.process is not None:
            assert self.process.stdout is not None
            self.process.stdout.close()
            try:
                self.process.wait(5.0)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
