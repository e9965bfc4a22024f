"""Verdicts: what is on record, what is measured, and what happens where they differ."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from detent.cli import app
from detent.experiments import verdicts
from detent.experiments.protocol import at_most
from detent.experiments.report import summary
from detent.experiments.verdicts import CONFIRMED, CORRECTED, RECORDED, REFUTED


@pytest.mark.parametrize(
    ("claim", "measured", "verdict", "passed"),
    [
        ("X8.any", 0.5, CONFIRMED, True),
        ("X8.any", 2.0, REFUTED, False),
        ("X16.span", 2.0, REFUTED, True),
        ("X16.span", 0.5, CONFIRMED, False),
        ("X24.follows", 0.5, CORRECTED, True),
        ("X24.follows", 2.0, REFUTED, False),
    ],
)
def test_a_claim_passes_if_its_verdict_is_the_one_on_record(
    claim: str, measured: float, verdict: str, passed: bool
) -> None:
    found = at_most(claim, "TH", "a number", measured, 1.0)
    assert (found.verdict, found.passed) == (verdict, passed)
    assert found.recorded == verdicts.recorded(claim)


def test_every_verdict_on_record_has_a_reason_and_is_no_plain_confirmation() -> None:
    assert all(verdict in (REFUTED, CORRECTED) and why for verdict, why in RECORDED.values())


def test_the_report_counts_verdicts() -> None:
    claims = [vars(at_most(name, "", "", 2.0, 1.0)) for name in ("a", "b", "X16.span")]
    assert summary(claims) == "3 refuted"


def test_a_verdict_that_is_not_on_record_fails_the_reproduction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["reproduce", "two-link-impact", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert CORRECTED in (tmp_path / "report.html").read_text()
    monkeypatch.setitem(RECORDED, "X7.energy", (REFUTED, "a wrong record"))
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1 and "X7.energy" in done.stdout
