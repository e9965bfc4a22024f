"""``report.html``: verdicts on top, one section per document, figure by figure, all in one file."""

from __future__ import annotations

import base64
import re
from html import escape
from pathlib import Path
from typing import Any

from detent.errors import UnknownNameError
from detent.experiments import find
from detent.experiments.bars import bar
from detent.experiments.documents import DOCUMENTS, Document, place_of
from detent.experiments.errata import ERRATA, Erratum, mentioned
from detent.experiments.report import all_claims, summary
from detent.experiments.style import STYLE
from detent.experiments.verdicts import CONFIRMED, CORRECTED, RECORDED, REFUTED

Report = dict[str, Any]

#: class and mark of a verdict: the mark tells without the colour
MARKS = {CONFIRMED: ("confirmed", "✓"), CORRECTED: ("corrected", "◐"), REFUTED: ("refuted", "✗")}


def page(reports: list[Report], folder: Path, made: dict[str, str]) -> str:
    """The whole page."""
    claims = all_claims(reports)
    good = sum(claim["passed"] for claim in claims)
    on_record = f"{good} of {len(claims)} verdicts are those on record"
    sections = "".join(
        _section(document, own, folder)
        for document in DOCUMENTS
        if (own := [r for r in reports if place_of(r["experiment"]).document == document.key])
    )
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>Detent: what the documents claim, measured</title><style>{STYLE}</style>"
        "<h1>What the documents claim, measured</h1>"
        f"<p class='lead'>{len(claims)} claims of {len(reports)} experiments: {summary(claims)}. "
        f"<b class='{'passed' if good == len(claims) else 'failed'}'>{on_record}.</b></p>"
        f"{_matrix(reports)}{_made(reports, made)}{_key()}{sections}</html>\n"
    )


def _matrix(reports: list[Report]) -> str:
    rows = []
    for document in DOCUMENTS:
        own = [r for r in reports if place_of(r["experiment"]).document == document.key]
        for i, report in enumerate(own):
            head = f"<th rowspan='{len(own)}'>{escape(document.name)}</th>" if i == 0 else ""
            name = report["experiment"]
            cells = "".join(_cell(claim) for claim in report["claims"])
            counted = f"{sum(c['passed'] for c in report['claims'])}/{len(report['claims'])}"
            rows.append(
                f"<tr>{head}<td><a href='#{name}'>{escape(_title(name))}</a></td>"
                f"<td class='small'>{escape(place_of(name).figures)}</td>"
                f"<td class='cells'>{cells}</td><td class='number'>{counted}</td></tr>"
            )
    key = " ".join(
        f"<span class='cell {kind}'>{mark}</span> {verdict}"
        for verdict, (kind, mark) in MARKS.items()
    )
    return (
        "<h2 id='verdicts'>All verdicts</h2>"
        f"<p class='small'>{key} <span class='cell refuted new'>✗</span> framed: not the verdict "
        "on record. Each square is one claim; it leads to its row.</p>"
        f"<table class='matrix'>{''.join(rows)}</table>"
    )


def _cell(claim: dict[str, Any]) -> str:
    kind, mark = MARKS[claim["verdict"]]
    new = "" if claim["passed"] else " new"
    said = escape(f"{claim['id']}: {claim['text']}: {claim['measured']:.4g}", quote=True)
    return f"<a class='cell {kind}{new}' href='#{_anchor(claim)}' title='{said}'>{mark}</a>"


def _anchor(claim: dict[str, Any]) -> str:
    return "claim-" + re.sub(r"[^\w.-]", "-", str(claim["id"]))


def _made(reports: list[Report], made: dict[str, str]) -> str:
    rows = "".join(f"<tr><th>{k}</th><td>{escape(v)}</td></tr>" for k, v in made.items())
    seconds = sum(report.get("seconds", 0.0) for report in reports)
    rows += f"<tr><th>computing</th><td>{seconds:.0f} s of one core</td></tr>"
    return f"<table class='made'>{rows}</table>"


def _key() -> str:
    rows = "".join(
        f"<tr><th>{document.key}</th><td>{escape(document.citation)}</td></tr>"
        for document in DOCUMENTS
    )
    return f"<details open><summary>The documents</summary><table>{rows}</table></details>"


def _section(document: Document, reports: list[Report], folder: Path) -> str:
    claims = all_claims(reports)
    cited = {e.key for c in claims for e in _errata_of(c)}
    wrong = [e for e in ERRATA if e.document == document.key or e.key in cited]
    key = "" if document.key == "beyond" else f"{document.key} · "
    return (
        f"<section><h2 id='{document.key}'>{key}{escape(document.name)}</h2>"
        f"<p class='small'>{escape(document.citation)}</p><p>{summary(claims)}.</p>"
        f"{_errata_box(wrong)}{''.join(_experiment(report, folder) for report in reports)}"
        "</section>"
    )


def _errata_box(errata: list[Erratum]) -> str:
    if not errata:
        return ""
    rows = "".join(
        f"<tr><th>{e.key}</th><td>{e.document} {escape(e.where)}</td><td>{escape(e.wrong)}</td>"
        f"<td>{escape(e.right)}</td><td>{_code(e.literal)}</td></tr>"
        for e in errata
    )
    return (
        "<aside class='errata'><h3>Errata that matter here</h3><table><tr><th></th><th>where</th>"
        "<th>what is wrong</th><th>what Detent does</th><th>the document to the letter</th></tr>"
        f"{rows}</table></aside>"
    )


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>" if text else "<span class='small'>not offered</span>"


def _title(name: str) -> str:
    try:
        return find(name).title
    except UnknownNameError:  # a report of another version
        return name


def _experiment(report: Report, folder: Path) -> str:
    name = report["experiment"]
    figures = place_of(name).figures
    settings = ", ".join(f"{k} = {v}" for k, v in report["parameters"].items())
    head = f"{escape(figures)}: {escape(_title(name))}" if figures else escape(_title(name))
    rows = "".join(_claim_row(claim) for claim in report["claims"])
    numbers = "".join(
        f"<tr><td>{escape(metric)}</td><td class='number'>{value:.6g}</td></tr>"
        for metric, value in report["metrics"].items()
    )
    return (
        f"<article><h3 id='{name}'>{head}</h3>{_picture(name, folder)}"
        "<table class='claims'><tr><th></th><th>claim</th><th>required</th><th>measured</th>"
        f"<th></th><th>verdict</th></tr>{rows}</table>"
        f"<details><summary>settings and {len(report['metrics'])} metrics (SI units)</summary>"
        f"<p class='small'><code>detent run {name}</code>: {escape(settings)}</p>"
        f"<table class='metrics'>{numbers}</table></details></article>"
    )


def _picture(name: str, folder: Path) -> str:
    file = folder / f"{name}.png"
    if not file.exists():
        return ""
    data = base64.b64encode(file.read_bytes()).decode()
    said = escape(_title(name), quote=True)
    return f"<img src='data:image/png;base64,{data}' alt='{said}' loading='lazy'>"


def _errata_of(claim: dict[str, Any]) -> list[Erratum]:
    why = RECORDED.get(claim["id"], ("", ""))[1]
    return mentioned(why, claim["source"], claim["text"])


def _claim_row(claim: dict[str, Any]) -> str:
    kind, mark = MARKS[claim["verdict"]]
    why = RECORDED.get(claim["id"], ("", ""))[1]
    remarks = [f"<div class='small'>{escape(why)}</div>"] if why else []
    for erratum in _errata_of(claim):
        if erratum.literal:
            said = f"{erratum.key} to the letter: {_code(erratum.literal)}"
            remarks.append(f"<div class='small'>{said}</div>")
    if not claim["passed"]:
        remarks.append(f"<div class='failed'>on record: {escape(claim['recorded'])}</div>")
    return (
        f"<tr id='{_anchor(claim)}'><td class='{kind}'>{mark}</td>"
        f"<td>{escape(claim['text'])}<div class='small'>{escape(claim['source'])} "
        f"({escape(claim['id'])})</div></td>"
        f"<td>{escape(claim['required'])}</td><td class='number'>{claim['measured']:.4g}</td>"
        f"<td>{bar(claim)}</td><td><span class='{kind}'>{escape(claim['verdict'])}</span>"
        f"{''.join(remarks)}</td></tr>"
    )
