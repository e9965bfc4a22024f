"""Libraries that greet whoever loads them are not heard."""

from __future__ import annotations

import ctypes
import os

import pytest

from detent.engines.hush import quiet


def test_what_c_prints_is_thrown_away_within_the_block_only(
    capfd: pytest.CaptureFixture[str],
) -> None:
    libc = ctypes.CDLL(None)
    libc.puts(b"before")
    with quiet():
        libc.puts(b"a banner")  # which C keeps in a buffer until it is full
        os.write(2, b"and noise")
    libc.puts(b"after")
    libc.fflush(None)
    said = capfd.readouterr()
    assert said.out == "before\nafter\n"
    assert said.err == ""


def test_bullet_does_not_greet(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pybullet_utils")
    from detent.engines.bullet_engine import connect

    connect()
    ctypes.CDLL(None).fflush(None)
    said = capfd.readouterr()
    assert said.out + said.err == ""
