"""The command line, as a user meets it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from detent.bench.scene import SceneCosts, microseconds
from detent.cli import app, listing, main, play_command
from detent.cli.doctor import verdict
from detent.cli.play import unused
from detent.errors import ExperimentError, ParameterError
from detent.experiments.protocol import Experiment, Result, at_most
from detent.record.trace import Trace
from detent.session import Session
from detent.world.world import World


def detent(*arguments: str) -> subprocess.CompletedProcess[str]:
    """As a user starts it: in a process of its own, which takes seconds to import all."""
    return subprocess.run(
        [sys.executable, "-m", "detent", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
    )


Called = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Called:
    """The same in this process: from the arguments to the exit code."""
    monkeypatch.setattr("signal.signal", lambda number, handler: None)

    def called(*arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["detent", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        return subprocess.CompletedProcess(arguments, left.value.code or 0, *capsys.readouterr())

    return called


def test_list_names_what_there_is() -> None:
    done = detent("list", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert "peg-in-hole" in found["worlds"]
    assert "corner-push" in found["experiments"]
    assert "Inertial" in found["devices"]
    assert found["descriptions"]["worlds"].keys() == set(found["worlds"])
    assert found["descriptions"]["mechanisms"].keys() == set(found["mechanisms"])
    lines = [line for kind in found["descriptions"].values() for line in kind.values()]
    assert all(10 < len(line) <= 100 and "\n" not in line for line in lines)
    assert found["parameters"]["corner-push"]["gap_x"] == 0.02


def test_list_shows_what_an_experiment_can_be_told(call: Called) -> None:
    said = call("list", "corner-push").stdout
    assert re.search(r"gap_x +0\.02", said)
    assert "detent list NAME" in " ".join(call("run", "--help").stdout.split())
    assert re.search(r"gap +0\.02 +above 0 and at most 0\.1", call("list", "walls").stdout)


def test_every_experiment_may_have_its_defaults() -> None:
    from detent.experiments import EXPERIMENTS

    for experiment in EXPERIMENTS.values():
        assert experiment.complete(experiment.parameters) == experiment.parameters


@pytest.mark.parametrize("error", [ZeroDivisionError, IndexError, ValueError])
def test_what_cannot_be_computed_names_what_was_set(error: type[Exception]) -> None:
    def run(force: float = 1.0, gap: float = 2.0) -> Result:
        raise error("no")

    fake = Experiment("fake", "X0", "fails", run)
    said = rf"fake cannot be computed with gap=3\.0 \({error.__name__}: no\)"
    with pytest.raises(ExperimentError, match=said):
        fake(gap="3", force=1.0)
    with pytest.raises(error):
        fake()  # of its own: a mistake of the experiment


def test_run_prints_one_object_of_the_agreed_form(call: Called) -> None:
    done = call("run", "corner-push", "--json", "--set", "gap_x=0.01")
    report = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert set(report) == {"experiment", "seed", "parameters", "metrics", "claims"}
    assert report["parameters"]["gap_x"] == 0.01
    assert set(report["claims"][0]) == {
        "id",
        "source",
        "text",
        "measured",
        "required",
        "verdict",
        "recorded",
        "passed",
        "least",
        "most",
    }


@pytest.mark.slow
def test_run_writes_figure_and_readable_traces(tmp_path: Path, call: Called) -> None:
    done = detent("run", "corner-push", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("A peg pushed into a corner: ")
    assert re.match(r"(\d+) of \1 verdicts are those on record", lines[1])
    assert "metrics: --metrics prints them" in done.stdout and "$" not in done.stdout
    for kind in ("png", "svg", "pdf"):
        assert (tmp_path / f"corner-push.{kind}").stat().st_size > 10_000
    trace = Trace.load(tmp_path / "corner-push-iapb.arrow")
    assert len(trace) == 4 * 512
    out = call("export", str(tmp_path / "corner-push-iapb.arrow"), "--to", "csv")
    assert out.returncode == 0
    first = (tmp_path / "corner-push-iapb.csv").read_text().splitlines()[0]
    assert "device_position_x" in first


def test_reproduce_writes_the_report(tmp_path: Path, call: Called) -> None:
    done = call("reproduce", "corner-push-3d", "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert [e["experiment"] for e in report["experiments"]] == ["corner-push-3d"]
    assert report["made"]["commit"]
    assert "A free box in a corner" in (tmp_path / "report.html").read_text()
    assert {"corner-push-3d.png", "corner-push-3d.svg"} <= {p.name for p in tmp_path.iterdir()}
    assert done.stdout.startswith("11 of 11 verdicts are those on record")


def test_reproduce_fails_when_a_claim_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from detent import cli, experiments

    wrong = at_most("id", "nowhere", "two is at most one", 2.0, 1.0)
    fake = Experiment("fake", "X0", "a claim that fails", lambda: Result({}, [wrong]))
    monkeypatch.setitem(experiments.EXPERIMENTS, "fake", fake)
    done = CliRunner().invoke(cli.app, ["reproduce", "fake", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "two is at most one" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("run", "no-such"),
            "there is no experiment 'no-such'; known: admittance-versus-impedance, arm-any-link",
        ),
        (("run", "corner-push", "--set", "gap_q=1"), "parameter of corner-push 'gap_q'"),
        (("run", "corner-push", "--set", "gap_x=wide"), "it must be a number"),
        (("run", "corner-push", "--set", "gap_x"), "of the form NAME=VALUE"),
        (("run", "corner-push", "--set", "gap_x=nan"), "gap_x"),
        (("run", "walls", "--set", "gap=0"), "gap of walls = 0.0"),
        (("run", "walls", "--set", "gap=-1"), "it must be above 0 and at most 0.1"),
        (("run", "friction-models", "--set", "force=0"), "force of friction-models = 0.0"),
        (("run", "shaped-impulses", "--set", "speed=0"), "speed of shaped-impulses = 0.0"),
        (("run", "peg-in-hole-impulses", "--set", "offset=1"), "at least -0.05 and at most 0.05"),
        (("check", "no-such"), "no built-in world 'no-such'"),
        (("play", "peginhole"), "did you mean peg-in-hole?"),
        (("run", "corner-pusch"), "did you mean corner-push?"),
        (("check", "no-such.xml"), "there is no scene file"),
        (("list", "no-such"), "there is no experiment 'no-such'"),
        (("play", "corner", "--engine-rate", "30"), "engine rate = 30.0"),
        (("play", "corner", "--constraints", "static"), "constraints = 'static'"),
        (("export", "no-such.arrow"), "there is no trace file"),
        (("play", "corner", "--rate", "0"), "rate = 0.0"),
        (("play", "corner", "--restitution", "2"), "restitution = 2.0"),
        (("play", "corner", "--material", "jelly"), "there is no material 'jelly'"),
        (("play", "corner", "--mode", "soft"), "known: impulse, penalty, rigid"),
        (("play", "corner", "--friction", "rough"), "of the form MU_S or MU_S,MU_K"),
        (("play", "corner", "--friction", "0.2,0.3"), "at most the static one, 0.2"),
        (("play", "corner", "--friction", "0.3", "--law", "glue"), "no friction law 'glue'"),
        (("play", "corner", "--law", "dahl"), "left out without --friction"),
        (("play", "corner", "--wall", "brick"), "there is no wall 'brick'; known: hysteretic"),
        (("play", "corner", "--coupling", "glue"), "known: direct, four-channel, unilateral"),
        (("play", "corner", "--mode", "rigid", "--wall", "seh"), "zoh with rigid contact"),
        (("play", "corner", "--coupling", "unilateral", "--mode", "penalty"), "UnilateralCoupler"),
        (("play", "corner", "--coupling", "direct", "--device", "display"), "left out with"),
        (("play", "rolling-disk", "--friction", "0.3"), "friction = '0.3'"),
        (("play", "rolling-disk", "--stiffness", "4000"), "stiffness = 4000.0"),
        (("play", "corner", "--tool", "hammer"), "no body 'hammer'; known: peg"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], said: str, call: Called) -> None:
    done = call(*arguments)
    words = " ".join(done.stderr.split())
    assert done.returncode == 2
    assert said in words
    assert "Traceback" not in words


@pytest.mark.slow
def test_check_says_what_is_wrong(tmp_path: Path, call: Called) -> None:
    scene = tmp_path / "two.xml"
    scene.write_text(
        """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
        <body name="a" pos="0 0 0.05"><freejoint/><geom name="ga" size="0.1"/></body>
        <body pos="1 0 1"><joint type="hinge"/><geom size="0.1"/></body>
        </worldbody></mujoco>"""
    )
    unnamed = call("play", str(scene))
    assert unnamed.returncode == 2
    said = " ".join(unnamed.stderr.split())
    assert "2 things to hold; name one (tool=, --tool): a (free, 4.19 kg), #2" in said
    assert call("check", str(scene), "--json").returncode == 0  # as if the first were held
    done = detent("check", str(scene), "--tool", "a", "--json")
    found = json.loads(done.stdout)
    assert found["degrees_of_freedom"] == 7
    assert found["contact_pairs_at_the_start"] == ["floor–ga"]
    assert "the world–a by 50 mm" in found["warnings"][0]
    assert re.match(r"\d+(\.\d+)? µs, with the whole scene", found["tick"])
    assert re.match(r"\d+(\.\d+)? µs", found["tick_with_local"])


def test_a_scene_can_be_trusted_and_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = tmp_path / "post.xml"
    body = '<body><geom size=".1"/><body pos="1 0 0"><joint/><geom size=".1"/></body></body>'
    scene.write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    monkeypatch.setattr("detent.world.screen.WALL_PATIENCE", 0.0)
    monkeypatch.setattr("detent.cli.try_ticks", lambda world, quiet: {})
    refused = CliRunner().invoke(app, ["check", str(scene), "--json"])
    assert "trusted=True (--trusted) lifts the limit" in str(refused.exception)
    for more, freedom in (([], 1), (["--free"], 7)):
        done = CliRunner().invoke(app, ["check", str(scene), "--json", "--trusted", *more])
        assert json.loads(done.stdout)["degrees_of_freedom"] == freedom


def test_a_geom_without_a_name_is_called_after_its_body(tmp_path: Path, call: Called) -> None:
    scene = tmp_path / "nameless.xml"
    ball = '<freejoint/><geom size="0.1"/>'
    scene.write_text(
        f"""<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
        <body name="a" pos="0 0 .09">{ball}</body><body pos="0 .19 .09">{ball}</body>
        </worldbody></mujoco>"""
    )
    found = json.loads(call("check", str(scene), "--tool", "a", "--json").stdout)
    pairs = ["a#1–geom 2 of #2", "world#0–a#1", "world#0–geom 2 of #2"]
    assert found["contact_pairs_at_the_start"] == pairs
    assert "a–#2 by 10 mm" in found["warnings"][0]
    assert "the world–a by 10 mm" in found["warnings"][0]


@pytest.mark.parametrize(
    ("late", "fifo", "said"),
    [
        (20.0, True, "fit for live sessions at 10000 Hz, also while the machine is busy"),
        (60.0, False, "fit for live sessions at 4000 Hz as long as nothing else runs"),
        (900.0, True, "not fit for live sessions: 900 µs late"),
    ],
)
def test_the_verdict_on_a_machine(late: float, fifo: bool, said: str) -> None:
    assert verdict(late, fifo).startswith(said)


def test_check_ends_with_the_command_to_play() -> None:
    options = {"tool": "a b", "free": True, "trusted": False, "root": None, "release": ["m"]}
    command = play_command("my scene.xml", options, local=True)
    assert command == "detent play 'my scene.xml' --local --tool 'a b' --free --release m"
    assert play_command("corner", {"tool": None}, False) == "detent play corner"


def test_the_version_is_told(call: Called) -> None:
    assert call("--version").stdout == f"detent {version('detent')}\n"


def test_help_stands_in_groups_and_names_no_types(call: Called) -> None:
    said = call("play", "--help").stdout
    for group in ("What is felt", "How bodies meet", "Device and coupling", "The run"):
        assert group in said
    assert said.count("<bool>") <= 1  # of --help itself


def test_what_there_is_is_listed_from_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DETENT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(listing, "gather", lambda: {"worlds": ["a"]})
    assert listing.library() == {"worlds": ["a"]}
    monkeypatch.setattr(listing, "gather", lambda: {"worlds": ["b"]})
    assert listing.library() == {"worlds": ["a"]}
    monkeypatch.setattr(listing, "_stamp", lambda: "of other sources")
    assert listing.library() == {"worlds": ["b"]}


def test_the_cost_of_a_tick_is_printed_for_people() -> None:
    shown = [microseconds(cost) for cost in (0.4567, 1.771, 25.64, 104.2, 1130.4, 12345.0)]
    assert shown == ["0.457 µs", "1.77 µs", "25.6 µs", "104 µs", "1130 µs", "12300 µs"]


def test_a_dear_scene_comes_with_advice() -> None:
    dear = SceneCosts(50.0, 2.5, "", [], more_than_tool=True)
    assert dear.advice.startswith("the whole scene is 20 times as dear: hold it with --local")
    assert dear._replace(whole=4.0).advice == ""
    assert dear._replace(local=None).advice == ""
    assert dear._replace(more_than_tool=False).advice == ""


def test_doctor_reports_the_timer() -> None:
    found = json.loads(detent("doctor", "--json").stdout)
    assert "µs" in found["timer at 4 kHz"]
    for right in ("real-time priority", "locked memory"):
        assert found[right].startswith(("allowed", "refused: "))
    assert "rtprio 80" in found["to allow it"]["/etc/security/limits.d/detent.conf"]


def test_doctor_prints_whole_lines_for_files_and_ends_with_a_verdict() -> None:
    lines = detent("doctor").stdout.splitlines()
    assert re.match("(not )?fit for live sessions", lines[-1])
    at = lines.index("# /etc/security/limits.d/detent.conf")
    assert lines[at + 1].endswith(" - rtprio 80")
    assert lines[at + 2].endswith(" - memlock unlimited")
    for line in ("[Service]", "LimitRTPRIO=80", "LimitMEMLOCK=infinity"):
        assert line in lines


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a folder")
    done = detent("run", "corner-push", "--out", str(file))
    assert done.returncode == 2
    assert "--out" in done.stderr and "a folder" in done.stderr


STUBBORN = """
import os, signal, time
import detent.cli
def swallow():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5.0)
    except KeyboardInterrupt:  # as some imports do
        pass
    print("went on")
detent.cli.app = swallow
detent.cli.main()
"""


def test_ctrl_c_stops_it_even_where_the_exception_would_be_swallowed() -> None:
    done = subprocess.run([sys.executable, "-c", STUBBORN], capture_output=True, text=True)
    assert done.returncode == 130
    assert "stopped" in done.stderr and "went on" not in done.stdout


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    file = tmp_path / "there.arrow"
    file.write_text("something")
    with pytest.raises(ParameterError, match="a new file"):
        unused(file)
    assert unused(tmp_path / "new.arrow") == tmp_path / "new.arrow"


def test_a_rate_that_no_clock_keeps_is_refused_before_room_is_made() -> None:
    with (
        pytest.raises(ParameterError, match="at most 1e"),
        Session(World.builtin("corner")).live(rate=1e9),
    ):
        pass
