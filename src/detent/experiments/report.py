"""The report of a reproduction: one JSON file, one page, one figure per experiment."""

from __future__ import annotations

import html
import json
from collections import Counter
from pathlib import Path
from typing import Any

from detent.experiments.protocol import Result

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; }
h1 { margin-bottom: 0; } h2 { margin-top: 3rem; border-bottom: 1px solid #ddd; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid #eee;
         vertical-align: top; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.passed { color: #00735a; } .failed { color: #b3420a; font-weight: bold; }
img { max-width: 100%; margin: 1rem 0; }
summary { cursor: pointer; color: #555; }
"""


def write_outputs(name: str, result: Result, folder: Path, traces: bool) -> None:
    """The figure of an experiment and, if asked for, its traces."""
    folder.mkdir(parents=True, exist_ok=True)
    if result.figure is not None:
        result.figure(folder / f"{name}.png")
    if traces:
        for method, trace in result.traces.items():
            trace.save(folder / f"{name}-{method}.arrow")


def write_report(reports: list[dict[str, Any]], folder: Path) -> None:
    """report.json and report.html."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps({"experiments": reports}, indent=1))
    claims = [claim for report in reports for claim in report["claims"]]
    good = sum(claim["passed"] for claim in claims)
    body = "".join(_section(report, folder) for report in reports)
    page = (
        f"<!doctype html><meta charset='utf-8'><title>Detent: reproduction</title>"
        f"<style>{_STYLE}</style><h1>Detent: what the documents claim, measured</h1>"
        f"<p>{summary(claims)}; {good} of {len(claims)} verdicts are those on record.</p>{body}"
    )
    (folder / "report.html").write_text(page, encoding="utf-8")


def summary(claims: list[dict[str, Any]]) -> str:
    """How many claims got which verdict."""
    count = Counter(claim["verdict"] for claim in claims)
    return ", ".join(f"{number} {verdict}" for verdict, number in count.most_common())


def _section(report: dict[str, Any], folder: Path) -> str:
    name = report["experiment"]
    rows = "".join(_claim_row(claim) for claim in report["claims"])
    picture = f"<img src='{name}.png' alt='{name}'>" if (folder / f"{name}.png").exists() else ""
    numbers = "".join(
        f"<tr><td>{html.escape(metric)}</td><td class='number'>{value:.6g}</td></tr>"
        for metric, value in report["metrics"].items()
    )
    settings = ", ".join(f"{k} = {v}" for k, v in report["parameters"].items())
    return (
        f"<h2>{html.escape(name)}</h2><p>{html.escape(settings)}</p>{picture}"
        f"<table><tr><th></th><th>claim</th><th>measured</th><th>required</th>"
        "<th>verdict</th><th>source</th></tr>"
        f"{rows}</table><details><summary>metrics (SI units)</summary><table>{numbers}</table>"
        f"</details>"
    )


def _claim_row(claim: dict[str, Any]) -> str:
    kind, mark = ("passed", "✓") if claim["passed"] else ("failed", "✗")
    return (
        f"<tr><td class='{kind}'>{mark}</td><td>{html.escape(claim['text'])}</td>"
        f"<td class='number'>{claim['measured']:.4g}</td>"
        f"<td class='number'>{html.escape(claim['required'])}</td>"
        f"<td>{html.escape(claim['verdict'])}</td>"
        f"<td>{html.escape(claim['source'])} <small>({html.escape(claim['id'])})</small></td></tr>"
    )
