"""What a reproduction leaves behind: figures, ``report.json``, and a page that is one file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from detent.experiments.protocol import Result
from detent.record.plots import save_as, withhold

FIGURES = ("png", "svg", "pdf")


def write_outputs(name: str, result: Result, folder: Path, traces: bool) -> None:
    """The figure of an experiment in several formats and, if asked for, its traces."""
    folder.mkdir(parents=True, exist_ok=True)
    if result.figure is not None:
        drawn = result.figure(folder / f"{name}.{FIGURES[0]}")
        proven = all(claim.passed for claim in result.claims)
        if not proven:  # statements over panels were written for the verdicts on record
            withhold(drawn)
        for kind in FIGURES[1:] if proven else FIGURES:
            save_as(drawn, folder / f"{name}.{kind}")
    if traces:
        for method, trace in result.traces.items():
            trace.save(folder / f"{name}-{method}.arrow")


def write_report(reports: list[dict[str, Any]], folder: Path, made: dict[str, str]) -> None:
    """report.json and report.html; *made* says where and when (origin.py)."""
    from detent.experiments.page import page

    folder.mkdir(parents=True, exist_ok=True)
    known = {"made": made, "experiments": reports}
    (folder / "report.json").write_text(json.dumps(known, indent=1))
    (folder / "report.html").write_text(page(reports, folder, made), encoding="utf-8")


def all_claims(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of all experiments."""
    return [claim for report in reports for claim in report["claims"]]


def summary(claims: list[dict[str, Any]]) -> str:
    """How many claims got which verdict."""
    count = Counter(claim["verdict"] for claim in claims)
    return ", ".join(f"{number} {verdict}" for verdict, number in count.most_common())
