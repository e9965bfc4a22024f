"""What is said while something is compiled."""

from __future__ import annotations

import pytest

from detent import warmup


def test_that_something_compiles_is_said_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warmup, "_said", set())
    for _ in range(3):
        with warmup.telling("compiling, once for this version"):
            pass
    assert capsys.readouterr().err == "detent: compiling, once for this version\n"
