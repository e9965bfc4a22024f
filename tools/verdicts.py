"""Write docs/report.md, the table of verdicts, from the report of ``detent reproduce``.

detent reproduce --out results && python tools/verdicts.py results/report.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from detent.experiments import find
from detent.experiments.documents import DOCUMENTS, place_of
from detent.experiments.verdicts import CONFIRMED, CORRECTED, RECORDED, REFUTED

PAGE = Path(__file__).resolve().parents[1] / "docs" / "report.md"
VERDICTS = (CONFIRMED, CORRECTED, REFUTED)
HEAD = """# The report

`detent reproduce` reruns the experiments of the documents and gives each claim a verdict. The
`report.html` that it writes has every claim with what is required and what was measured, a bar, the
figure, and what the document got wrong. This is its table; it is made anew by
`python tools/verdicts.py results/report.json`.
"""


def row(report: dict[str, Any]) -> str:
    """One experiment: figures of the document, and how many claims got which verdict."""
    name, claims = report["experiment"], report["claims"]
    counts = [sum(claim["verdict"] == verdict for claim in claims) for verdict in VERDICTS]
    numbers = " | ".join(str(count or "–") for count in counts)
    return f"| {find(name).title} (`{name}`) | {place_of(name).figures} | {numbers} |"


def refuted(reports: list[dict[str, Any]]) -> list[str]:
    """Every claim that did not hold, with the number and why."""
    lines = []
    for report in reports:
        for claim in report["claims"]:
            if claim["verdict"] == REFUTED:
                why = RECORDED.get(claim["id"], ("", ""))[1]
                got = f"{claim['measured']:.4g}, required {claim['required']}"
                lines.append(f"- {claim['source']} ({claim['id']}): {claim['text']}: {got}. {why}")
    return lines


def page(known: dict[str, Any]) -> str:
    """The whole page."""
    reports = known["experiments"]
    claims = [claim for report in reports for claim in report["claims"]]
    good = sum(claim["passed"] for claim in claims)
    parts = [HEAD, f"{len(claims)} claims of {len(reports)} experiments; {good} verdicts are those "
             "on record.\n"]  # fmt: skip
    for document in DOCUMENTS:
        own = [r for r in reports if place_of(r["experiment"]).document == document.key]
        if not own:
            continue
        parts += [f"## {document.name}\n", f"{document.citation}\n"]
        parts += ["| experiment | figures | confirmed | after correction | refuted |",
                  "|---|---|---|---|---|"]  # fmt: skip
        parts += [*map(row, own), ""]
    parts += ["## What was refuted\n", *refuted(reports), ""]
    made = ", ".join(f"{key} {value}" for key, value in known["made"].items() if key != "machine")
    return "\n".join([*parts, f"Made with {made}.\n"])


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(Path(sys.argv[1]).read_text())), encoding="utf-8")
    print(f"wrote {PAGE.name}")
