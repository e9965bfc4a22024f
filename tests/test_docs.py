"""Pages of the documentation do what they say, and leave out no name that there is."""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import pytest

from detent import Session, World, coupling, hands
from detent.kernels.friction import LAWS
from detent.kernels.ringing import MATERIALS
from detent.kernels.walls import WALLS
from detent.world.contact import LIMITS, MODES, STRATEGIES
from detent.world.world import PROPERTIES

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "guide.md"


def blocks(page: Path) -> list[str]:
    """The Python of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.live
@pytest.mark.parametrize(
    "page", ["README.md", "docs/guide.md", "docs/quickstart.md", "docs/robot-learning.md"]
)
def test_the_code_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(ROOT / page)
    assert found
    exec(compile("\n".join(found), page, "exec"), {})


def test_the_code_about_structs_runs(tmp_path: Path) -> None:
    file = tmp_path / "springs.py"  # Numba wants the sources of what it compiles
    file.write_text("\n".join(blocks(ROOT / "docs" / "structs-and-stages.md")), encoding="utf-8")
    springs = runpy.run_path(str(file))["springs"]
    assert f"print(springs.force)  # {springs.force}" in file.read_text()


def test_the_guide_lists_the_columns_of_a_trace() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \| (\d) \| ([^|]+) \|", GUIDE.read_text(), re.MULTILINE)
    told = {name: int(size) for names, size, _ in rows for name in re.findall(r"`(\w+)`", names)}
    trace = Session(World.builtin("corner")).run(0.01).rows
    held = {name: (trace.dtype[name].shape or (1,))[0] for name in trace.dtype.names or ()}
    assert told == held


@pytest.mark.parametrize(
    "names", [MODES, LAWS, WALLS, MATERIALS, STRATEGIES, LIMITS], ids=lambda n: next(iter(n))
)
def test_the_guide_names_every_choice(names: tuple[str, ...]) -> None:
    page = GUIDE.read_text()
    assert [name for name in names if f'`"{name}"`' not in page] == []


def test_the_guide_names_every_coupling_hand_and_property() -> None:
    page = GUIDE.read_text()
    couplings = {kind.__name__ for kind in coupling.COUPLINGS.values()}
    assert {name for name in couplings if f"detent.{name}(" not in page} == set()
    known = set(hands.__all__) - {"Hand"}
    assert {name for name in known if f"hands.{name}(" not in page} == set()
    assert {name for name in PROPERTIES if f'"detent.{name}"' not in page} == set()


def test_the_guide_gives_the_default_gains() -> None:
    from detent.coupling import couplers, four_channel

    page = GUIDE.read_text()
    for module in (four_channel, couplers):
        rate = f"{module.FREQUENCY:.3g} rad/s, ζ = {module.DAMPING_RATIO:.2g}"
        assert rate in page, rate


@pytest.mark.parametrize("page", ["README.md", "docs/worlds.md", "docs/your-scene.md"])
def test_the_guide_is_linked(page: str) -> None:
    path = os.path.relpath(GUIDE, (ROOT / page).parent)
    assert f"({path}" in (ROOT / page).read_text()


def test_the_table_of_the_tick_has_its_steps_in_order_and_their_files() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (\w+) \| .* \| (.*) \|$", page.split("## The port")[0], re.MULTILINE)
    source = (ROOT / "src/detent/servo/tick.py").read_text(encoding="utf-8")
    source = source.partition("def tick(")[2].partition("@kernel")[0]
    steps = re.findall(r"^    (?:call_stage\(s\.stages\[places\.(\w+)\]|(\w+)\(s\))", source, re.M)
    assert [step for step, _ in table][1:] == [(place or called).lower() for place, called in steps]
    for _, where in table[1:]:
        room = ROOT
        for name in re.findall(r"`([\w/]+\.py)`", where):
            room = (ROOT / "src/detent" / name).parent if "/" in name else room
            assert (room / Path(name).name).is_file(), name


# --- the site

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PICTURES = ROOT / "docs" / "pictures"
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(page.parent)  # as notebooks are
    cells = re.findall(r"```\{code-cell\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(cells) >= 2
    exec(compile("\n".join(cells), page.name, "exec"), {})


def test_every_page_is_in_the_contents() -> None:
    docs = ROOT / "docs"
    contents = set(re.findall(r"^([\w/-]+)$", (docs / "index.md").read_text(), re.MULTILINE))
    pages = {str(page.relative_to(docs).with_suffix("")) for page in docs.rglob("*.md")}
    decisions = {page for page in pages if page.startswith("decisions/0")}
    assert pages - decisions - contents == {"index"}
    assert contents - pages == set()


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda page: page.stem,
)
def test_links_and_pictures_of_a_page_are_there(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    linked = LINK.findall(text)
    assert [link for link in linked if not (page.parent / link).exists()] == []


def test_pictures_are_those_that_are_made_and_small() -> None:
    import pictures

    made = {*pictures.FILMS, *(f"{name}.png" for name in pictures.FIGURES), *pictures.PAGES}
    kept = {path.name: path.stat().st_size for path in PICTURES.iterdir()}
    assert set(kept) == made
    assert max(kept.values()) <= pictures.MOST and sum(kept.values()) < 8_000_000


def test_the_report_has_a_line_on_every_experiment() -> None:
    from detent.experiments import EXPERIMENTS

    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    assert [name for name in EXPERIMENTS if f"(`{name}`)" not in page] == []


def test_nothing_of_the_site_is_fetched() -> None:
    settings = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    assert "sphinx-mathjax-offline" in settings["extensions"]
    assert settings["html_theme"] == "furo"
