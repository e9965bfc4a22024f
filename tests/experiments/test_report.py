"""The report: what it shows of claims, that it is one file, and that it says the same twice."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import detent
from detent.experiments import EXPERIMENTS
from detent.experiments.bars import WIDE, bar
from detent.experiments.documents import DOCUMENTS, PLACES, in_order, place_of
from detent.experiments.errata import ERRATA, mentioned
from detent.experiments.origin import origin
from detent.experiments.protocol import Result, at_most, holds, stated, within
from detent.experiments.report import write_outputs, write_report
from detent.experiments.reproduction import reproduce_all
from detent.experiments.verdicts import RECORDED
from detent.record.plots import figure, save, state

MADE = {"commit": "abc", "date": "2026-01-01", "machine": "2 × none", "versions": "detent 1"}
NAMES = ["vertex-vertex", "reactivation"]


@pytest.mark.parametrize(
    ("required", "measured", "interval"),
    [
        ("< 1", 0.5, (None, 1.0)),
        ("> 2 times as far as with it", 3.0, (2.0, None)),
        ("≥ −1e-12 m/s", 0.0, (-1e-12, None)),
        ("each ratio > 1", 1.5, (1.0, None)),
        ("≥ 1e4: up to four orders of magnitude", 2e4, (1e4, None)),
        ("< 1", 2.0, (None, None)),  # it came true: the number speaks of something else
        ("≥ 15 000 / 4 000", 4.0, (None, None)),
        ("> 10 × 5 N/m", 60.0, (None, None)),
        ("3 stick phases", 3.0, (None, None)),
    ],
)
def test_the_interval_is_read_from_what_is_required(
    required: str, measured: float, interval: tuple[float | None, float | None]
) -> None:
    assert stated(required, measured, True) == interval


def drawn(claim: object) -> dict[str, list[dict[str, str]]]:
    parts: dict[str, list[dict[str, str]]] = {}
    for part in ElementTree.fromstring(bar(vars(claim))).iter():
        parts.setdefault(part.get("class", ""), []).append(part.attrib)
    return parts


def test_a_bar_ends_below_its_limit_if_the_number_does() -> None:
    parts = drawn(at_most("x", "", "", 0.5, 1.0))
    bound = float(re.findall(r"M([\d.]+)", parts["bound"][0]["d"])[0])
    value, allowed = parts["value"][0], parts["allowed"][0]
    assert math.isclose(float(value["width"]), 0.5 * bound, abs_tol=0.2)
    assert math.isclose(float(allowed["width"]), bound) and bound < WIDE
    over = drawn(at_most("x", "", "", 2.0, 1.0))
    assert float(over["value"][0]["width"]) > 1.9 * float(over["allowed"][0]["width"])


def test_a_number_between_two_bounds_is_a_mark_in_the_middle() -> None:
    parts = drawn(within("x", "", "", 10.0, 10.0, 0.1))
    assert math.isclose(float(parts["value"][0]["x"]) + 1.5, WIDE / 2)
    assert len(parts["bound"]) == 2
    assert bar(vars(holds("x", "", "", 3.0, "three", True))) == ""


def test_labels_that_figures_typeset_are_plain_in_claims() -> None:
    assert holds("x", "", "as with CB$_{uc}$", 1.0, "1", True).text == "as with CB_uc"


def test_every_experiment_of_a_document_has_its_place() -> None:
    reproduced = {n for n, e in EXPERIMENTS.items() if re.match(r"X\d", e.row) and "B" not in e.row}
    assert reproduced <= set(PLACES) <= set(EXPERIMENTS)
    assert {place.document for place in PLACES.values()} == {d.key for d in DOCUMENTS} - {"beyond"}
    assert in_order(["laparoscope", "walls", "reactivation"])[0] == "reactivation"
    assert place_of("laparoscope").document == "beyond"


def test_what_is_said_to_be_literal_can_be_typed() -> None:
    for erratum in ERRATA:
        if erratum.literal:
            assert eval(f"detent.{erratum.literal}", {"detent": detent})
    named = {e.key for _, why in RECORDED.values() for e in mentioned(why)}
    assert {"E5", "E9", "E10", "E12", "E13"} <= named


def fake_report(name: str) -> dict[str, object]:
    claims = [
        at_most("X24.follows", "S3 Fig 7", "it <follows>", 0.5, 1.0, "m"),
        at_most("X24.other", "errata E9", "another", 2.0, 1.0),
    ]
    return {
        "experiment": name, "seed": 0, "parameters": {"rate": 512.0}, "metrics": {"a": 1.0},
        "claims": [vars(claim) for claim in claims], "seconds": 1.0,
    }  # fmt: skip


def test_the_page_says_what_was_wrong_and_which_flag_is_literal(tmp_path: Path) -> None:
    (tmp_path / "four-bar.png").write_bytes(b"\x89PNG picture")
    write_report([fake_report("four-bar")], tmp_path, MADE)
    page = (tmp_path / "report.html").read_text()
    for said in (
        "1 of 2 verdicts are those on record", "commit</th><td>abc", "Beenackers",
        "it &lt;follows&gt;", "with the bias, errata E10", "Shaping(bias=False)",
        'limit="collision_only"', "on record: confirmed", "data:image/png;base64,iVBOR",
        "Fig 5–7: A planar loop", "href='#claim-X24.follows'", "id='claim-X24.follows'",
    ):  # fmt: skip
        assert said in page or said.replace('"', "&quot;") in page, said
    assert not re.search(r"""(src|href)=['"](?!data:|#)""", page)  # it needs no other file


def drawn_two_panels(path: Path) -> object:
    fig, axes = figure(1, 2, (4, 2), "two panels")
    for ax, words in zip(axes.flat, ("it falls by half", "and stays"), strict=True):
        ax.set(xlabel="time [s]", ylabel="depth of the peg [mm]")
        state(ax, words)
    return save(fig, path)


@pytest.mark.parametrize(("measured", "said"), [(0.5, True), (2.0, False)])
def test_panels_state_what_was_found_only_while_it_is_found(
    measured: float, said: bool, tmp_path: Path
) -> None:
    claims = [at_most("X24.follows", "S3 Fig 7", "it follows", measured, 1.0, "m")]
    write_outputs("four-bar", Result({}, claims, figure=drawn_two_panels), tmp_path, traces=False)
    drawn = (tmp_path / "four-bar.svg").read_text()
    assert ("it falls by half" in drawn) == said
    assert ("depth of the peg over time" in drawn) != said


def test_where_a_report_was_made_is_told() -> None:
    made = origin()
    assert set(made) == {"commit", "date", "machine", "versions"}
    assert f"mujoco {__import__('mujoco').__version__}" in made["versions"]


@pytest.mark.slow
def test_two_processes_report_the_same_as_one(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []
    both = reproduce_all(NAMES, tmp_path / "both", 2, lambda n, done: seen.append((n, done)))
    alone = reproduce_all(NAMES[:1], tmp_path / "alone", 2, lambda n, done: None)
    assert [one["experiment"] for one in both] == ["reactivation", "vertex-vertex"]
    assert sorted(seen, key=lambda s: s[1])[-1][1] == 2 and {n for n, _ in seen} == set(NAMES)
    for report in (*both, *alone):
        assert report.pop("seconds") > 0.0
    assert json.dumps(both[1]) == json.dumps(alone[0])
    for kind in ("png", "svg"):
        files = [(tmp_path / folder / f"{NAMES[0]}.{kind}") for folder in ("both", "alone")]
        assert files[0].read_bytes() == files[1].read_bytes()
