"""What is said while something is compiled."""

from __future__ import annotations

import pytest

from detent.setup import progress


def test_that_something_compiles_is_said_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "said", set())
    for _ in range(3):
        with progress.telling("compiling, once for this version"):
            pass
    assert capsys.readouterr().err == "detent: compiling, once for this version\n"
