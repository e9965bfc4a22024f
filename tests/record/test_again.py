"""The same hand again: from a file alone, to the bit; or with other settings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import detent
from detent import Contact, DetentError, Friction, Session, Trace, World, devices
from detent.app.rehearsal import first_difference, rehearse
from detent.errors import ParameterError, TraceError, UnknownNameError
from detent.hands import Constant, Impedance, Playback, Sinusoid
from detent.mechanism.library import builtin
from detent.record.plots import plot_comparison
from detent.record.summary import measures
from waiting import wait_for

HAND = Sinusoid(force=(2.0, 3.0), frequency=2.0, bias_force=(0.3, -0.4))


def corner(**options: object) -> Session:
    world = World.builtin("corner").placed([0.05, -0.06, 0.1], [0.0, 0.02, 0.0])
    return Session(world, Contact(4000, 30, friction=Friction(0.3, 0.2)), **options)  # type: ignore[arg-type]


SESSIONS = {
    "friction": lambda: corner(rate=2000.0),
    "four-bar": lambda: Session(World.builtin("four-bar", held="link2"), device=devices.Desktop()),
    "touch": lambda: Session(World.builtin("corner"), device=devices.preset("touch")),
    "local": lambda: Session(World.builtin("peg-in-hole"), local=detent.LocalModel()),
    "mechanism": lambda: Session(builtin("rolling-disk")),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_file_is_enough_to_run_again_to_the_bit(name: str, tmp_path: Path) -> None:
    recorded = SESSIONS[name]().run(0.25, HAND, record=tmp_path / "a.arrow")
    trace = Trace.load(tmp_path / "a.arrow")
    assert trace.meta["state_hash"] == recorded.state_hash()
    session = Session.of_trace(trace)
    assert session.run(0.25, Playback.from_trace(trace)).state_hash() == recorded.state_hash()
    run = rehearse(name, session, trace)
    assert first_difference(trace, run.trace) is None
    assert run.poses.shape == (len(run.times), session.world.model.nbody, 7)
    assert run.times[-1] == pytest.approx(0.25)
    held = run.poses[-1, session.world.held]
    np.testing.assert_allclose(held[:3], run.trace["tool_position"][-1], atol=0.1)


@pytest.mark.live
def test_a_live_recording_runs_again_in_lockstep(tmp_path: Path) -> None:
    file = tmp_path / "live.arrow"
    with corner().live(1000, Impedance(200, 10), record=file, realtime=False) as live:
        live.pull((0.02, -0.07))
        assert wait_for(lambda: live.status().ticks > 300)
    trace = Trace.load(file)
    assert trace.meta["changed"] == []
    assert first_difference(trace, rehearse("", Session.of_trace(trace), trace).trace) is None


@pytest.mark.live
def test_a_change_while_it_ran_is_remembered(tmp_path: Path) -> None:
    file = tmp_path / "live.arrow"
    with corner().live(1000, Impedance(), record=file, realtime=False) as live:
        live.change(hand=Impedance(300, 10))  # its wrench is in the trace
        assert wait_for(lambda: live.status().ticks > 50)
        live.change(contact=Contact(2000, 20, friction=Friction(0.3, 0.2)))
    (when,) = Trace.load(file).meta["changed"]
    assert when >= 0.05


def test_the_same_hand_with_other_settings_meets_another_world() -> None:
    trace = corner().run(0.5, HAND)
    soft = Session.of_trace(trace, ["contact.mode=penalty", "contact.stiffness=1000"])
    assert (soft.contact.mode, soft.contact.stiffness, soft.contact.damping) == (
        "penalty",
        1000,
        30,
    )
    tied = Session.of_trace(trace, ["coupling.type=VirtualCoupler"])
    assert tied.coupling == detent.VirtualCoupler()
    run = rehearse("soft", soft, trace)
    assert first_difference(trace, run.trace) is not None
    np.testing.assert_array_equal(run.trace["hand_wrench"], trace["hand_wrench"])
    deep = [
        {m.name: m.value for m in measures(one)}["depth, largest"] for one in (trace, run.trace)
    ]
    assert deep[1] > 2.0 * deep[0]


def test_a_blow_is_an_impulse_and_not_the_largest_force() -> None:
    trace = corner().run(0.5, HAND)
    hits = trace["collisions"] > 0
    felt = np.linalg.norm(trace["device_wrench"][:, :3], axis=1)
    found = {m.name: m.value for m in measures(trace)}
    assert felt[hits].max() > 10.0 > found["force on the hand, largest"] == felt[~hits].max()
    drawn = plot_comparison(["a", "b"], [trace, trace], None).axes
    assert max(np.nanmax(line.get_ydata()) for line in drawn[1].lines) == felt[~hits].max()
    letters = [text.get_text() for ax in drawn for text in ax.texts if text.get_gid() == "letter"]
    assert sorted(letters) == ["a", "b", "c", "d"] and len(drawn) == 5  # one for impulses


def test_on_a_display_the_hand_feels_what_it_presses_against() -> None:
    sideways = Constant(force=(0.0, 3.0, 0.0))  # where a wheel does not roll
    trace = Session(builtin("rolling-disk")).run(0.3, sideways)
    np.testing.assert_array_equal(trace.felt, -trace["hand_wrench"])
    assert np.linalg.norm(trace["device_wrench"][-1, :3]) < 0.5  # the drive has little to do
    found = {m.name: m.value for m in measures(trace)}
    assert found["force on the hand, largest"] == 3.0
    pushed = corner().run(0.05, HAND)
    np.testing.assert_array_equal(pushed.felt, pushed["device_wrench"])


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (
            "contact.mod=penalty",
            UnknownNameError,
            "no setting 'contact.mod'; known: .*contact.mode",
        ),
        ("contact.mode", ParameterError, "of the form contact.mode=penalty"),
        ("contact.mode=soft", UnknownNameError, "known: impulse, penalty, rigid"),
        ("contact.stiffness=-1", ParameterError, "stiffness"),
        ("coupling.type=Glue", UnknownNameError, "known: Admittance, Direct"),
    ],
)
def test_a_setting_that_is_none_is_named(change: str, error: type[DetentError], said: str) -> None:
    trace = corner().run(0.01, HAND)
    with pytest.raises(error, match=said):
        Session.of_trace(trace, [change])


def test_a_world_that_is_gone_is_named(tmp_path: Path) -> None:
    scene = tmp_path / "ball.xml"
    scene.write_text(
        "<mujoco><worldbody><geom type='plane' size='1 1 .1'/><body name='ball' pos='0 0 .2'>"
        "<freejoint/><geom size='.05'/></body></worldbody></mujoco>"
    )
    trace = Session(World.load(scene, trusted=True)).run(0.05, HAND)
    assert Session.of_trace(trace).run(0.05, HAND).state_hash() == trace.state_hash()
    scene.unlink()
    with pytest.raises(TraceError, match=r"ball\.xml, is not there any more"):
        Session.of_trace(trace)
    built = Trace(trace.rows, trace.meta | {"source": {}})
    with pytest.raises(TraceError, match="does not name a file of its world"):
        Session.of_trace(built)


def test_a_damaged_file_is_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "a.arrow"
    trace = corner().run(0.3, HAND)
    trace.save(file)
    data = bytearray(file.read_bytes())
    at = data.find(trace["tool_energy"][150:].tobytes()[:64])
    assert at > 0
    data[at] ^= 1
    file.write_bytes(data)
    with pytest.raises(TraceError, match="is damaged"):
        Trace.load(file)
