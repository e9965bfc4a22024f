"""Presets of real devices: every number has a source, and no cap is assumed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from detent import Contact, Session, World
from detent.devices import SHEETS, Desktop, Preset, assumed, known, preset
from detent.devices.facts import Fact, smallest
from detent.devices.file import load_device, save_device
from detent.devices.mapped import Mapped
from detent.devices.protocol import Device
from detent.devices.sheet import ASSUMABLE, Sheet
from detent.errors import DeviceDataError, ParameterError, UnknownNameError
from detent.hands import Constant, Guided, Impedance
from detent.setup.sheets import sheet_of

CAPS = ("force", "force_continuous", "torque", "torque_continuous", "grip")
NAMED = (
    *("touch", "touch-x", "premium-1.5", "premium-3.0", "omega.3", "omega.6", "omega.7"),
    *("delta.3", "delta.6", "sigma.7", "lambda.7", "falcon", "inverse3", "virtuose-6d"),
    *("hapticmaster", "2diy", "moteus-knob", "wheel"),
)
WHEEL = {"torque": known(2.0, "a test")}


def model(name: str) -> Preset:
    return preset(name, **(WHEEL if name == "wheel" else {}))


def test_all_devices_that_were_promised_are_there() -> None:
    assert set(NAMED) == set(SHEETS)


@pytest.mark.parametrize("name", NAMED)
def test_every_number_has_a_source_and_no_cap_is_assumed(name: str) -> None:
    for field, fact in SHEETS[name].facts().items():
        assert isinstance(fact, Fact) and fact.source
        if fact.assumed:
            assert field in ASSUMABLE
            assert field not in CAPS
    for field in ("rate", "delay"):
        SHEETS[name].need(field)


def test_of_sources_that_disagree_the_smaller_cap_counts() -> None:
    assert preset("sigma.7").peak() == (12.0, 0.2)
    assert preset("falcon").peak()[0] == 8.0
    assert preset("hapticmaster").peak()[0] == 100.0
    said = SHEETS["sigma.7"].force
    assert said is not None and "says 20" in said.source
    assert smallest(known(3.0, "a"), known(2.0, "b")).value == 2.0


def test_what_nobody_knows_raises_where_it_is_needed() -> None:
    with pytest.raises(DeviceDataError, match=r"torque of a wheel is not known"):
        Session(World.builtin("corner"), device=preset("wheel")).run(0.01)
    with pytest.raises(DeviceDataError, match="mass"):
        preset("touch").sheet.with_facts(mass=None).need("mass")
    assert preset("wheel", **WHEEL).peak()[1] == 2.0


def test_caps_may_not_be_assumed_and_fields_must_be_facts() -> None:
    with pytest.raises(ParameterError, match="only mass"):
        preset("wheel", torque=assumed(2.0, "it looks strong"))
    with pytest.raises(ParameterError, match="known"):
        preset("touch", mass=0.1)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="field of a touch"):
        preset("touch", colour=known(1.0, "a look"))
    with pytest.raises(UnknownNameError, match=r"omega\.3"):
        preset("omega")
    with pytest.raises(ParameterError, match="who says so"):
        known(1.0, "  ")
    with pytest.raises(ParameterError, match="not negative"):
        known(-1.0, "a slip")


def test_what_is_assumed_is_said() -> None:
    notes = Session(World.builtin("corner"), device=preset("touch")).run(0.01).meta["notes"]
    assert any("damping 0.3 is assumed" in note for note in notes)
    assert not any("mass" in note and "assumed" in note for note in notes)
    assert any("rotation is sensed, not actuated" in note for note in notes)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("rate", [1000.0, 4000.0, 10_000.0])
def test_a_session_on_every_preset_keeps_its_limits(name: str, rate: float) -> None:
    """Pushed hard into the corner: finite, within cap and slew, no torque where no motor is."""
    device = model(name)
    push = Constant(force=(3.0, -3.0), torque=0.05)
    contact = Contact(4000, 30, strategy="full")  # "full" does not switch the caps off
    run = Session(World.builtin("corner"), contact, device=device, rate=rate).run(0.3, push)
    sent, safety = run["device_wrench"], device.safety
    assert np.isfinite(run["device_position"]).all()
    assert (sent[:, np.array(safety.actuated) == 0.0] == 0.0).all()
    steps = np.diff(sent, axis=0, prepend=np.zeros((1, 6)))
    steps[~sent.any(axis=1)] = 0.0  # out of reach or too fast, the force is gone at once
    for block, part in enumerate((slice(0, 3), slice(3, 6))):
        assert np.linalg.norm(sent[:, part], axis=1).max() <= safety.length[block] * (1 + 1e-12)
        most = safety.slew[block] / rate * (1 + 1e-9)
        assert np.linalg.norm(steps[:, part], axis=1).max() <= most


def test_a_device_that_is_slower_than_the_servo_holds_reading_and_wrench() -> None:
    """1 kHz under 4 kHz: the position that the tool sees changes every fourth tick."""
    session = Session(World.builtin("corner"), device=preset("falcon"), rate=4000.0)
    ready = session.prepare(Constant(force=(1.0, -1.0)), 4000.0, 64)
    seen = []
    from detent.servo.loop.loop import run_lockstep

    run_lockstep(ready.servo, 800)  # the hand has taken hold
    for _ in range(60):
        run_lockstep(ready.servo, 1)
        seen.append(ready.servo.port.state.position.copy())
    changes = np.nonzero(np.abs(np.diff(seen, axis=0)).max(axis=1))[0]
    assert len(changes) > 3
    assert set(np.diff(changes) % 4) == {0}


def test_no_device_without_a_force_sensor_knows_the_hand() -> None:
    ready = Session(World.builtin("corner"), device=preset("omega.3")).prepare(
        Constant(force=(1.0, -1.0)), 1000.0, 8
    )
    from detent.servo.loop.loop import run_lockstep

    run_lockstep(ready.servo, 250)  # the hand has taken hold
    assert np.abs(ready.servo.port.hand).max() == 1.0
    assert (ready.servo.port.state.wrench == 0.0).all()


@pytest.mark.parametrize(
    ("device", "scale", "bends"),
    [
        (preset("touch"), 1.0, 1e-4),
        (preset("hapticmaster"), 1.0, 2.4e-3),  # [m] its structure under the 23 N of the hand
        (Mapped(preset("falcon"), 2.0), 2.0, 1e-4),
    ],
)
def test_a_hand_that_goes_on_meets_the_end_stop(device: Device, scale: float, bends: float) -> None:
    """Led 0.4 m away, where the arm ends far before: there it stays, and the force is not cut."""
    path = [(0.0, 0.0, 0.0, 0.0), (0.5, 0.4, 0.1, 0.0), (1.0, 0.4, 0.1, 0.0)]
    world = World.from_string(
        '<mujoco><option gravity="0 0 0"/><worldbody><body name="t"><freejoint/>'
        '<geom size=".01" mass=".1"/></body></worldbody></mujoco>'
    )
    hand = Guided(path=path, stiffness=100.0, damping=5.0)
    run = Session(world, device=device).run(1.0, hand)
    sheet = sheet_of(device)
    assert sheet is not None and sheet.sheet.reach is not None
    far = np.linalg.norm(run["device_position"], axis=1)
    assert far.max() == pytest.approx(scale * sheet.stop(), abs=bends)
    assert (far[-100:] > 0.999 * far.max()).all()
    notes = " ".join(run.meta["notes"])
    assert "at its end stop" in notes and "out of its reach" not in notes


@pytest.mark.parametrize("name", ["touch", "delta.6"])
def test_the_usual_hand_holds_a_light_stylus(name: str) -> None:
    """0.05 N·m·s/rad on 20 mg·m² at 1 kHz: sampled as it was, the hand threw the stylus about."""
    hand = Impedance(target=(0.02, 0.01))
    run = Session(World.builtin("corner-3d"), device=preset(name)).run(0.5, hand)
    assert np.abs(run["device_twist"][-50:]).max() < 0.5
    assert any("the simulated hand's gains in rotation" in note for note in run.meta["notes"])


def test_the_desktop_device_has_the_documents_limits_and_the_tools_inertia() -> None:
    run = Session(World.builtin("corner"), device=Desktop()).run(1.0, Constant(force=(9.0, -9.0)))
    assert np.linalg.norm(run["device_wrench"][:, :3], axis=1).max() <= 15.0 * (1 + 1e-12)
    assert np.abs(run["device_wrench"][0]).max() <= 15.0 / 250 * (1 + 1e-12)  # it ramps in


def test_a_device_file_is_a_preset_with_facts_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    save_device(path, "touch", {"mass": known(0.06, "a chirp"), "delay": assumed(2e-3, "USB")})
    mine = load_device(path)
    assert mine.sheet.need("mass") == 0.06
    assert mine.sheet.need("force") == 3.3
    assert any("delay 0.002 is assumed, USB" in note for note in mine.said())


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"preset": 3}', '{"preset": "touch", "facts": {"mass": 1}}']
)
def test_a_file_that_is_no_device_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ParameterError, match="device file"):
        load_device(path)
    with pytest.raises(ParameterError, match="device file"):
        load_device(tmp_path / "none.json")


def test_a_word_that_a_device_file_does_not_have_is_named(tmp_path: Path) -> None:
    """A cap under a misspelt key would be lost."""
    path = tmp_path / "mine.json"
    path.write_text('{"preset": "touch", "fact": {"force": {"value": 1, "source": "mine"}}}')
    with pytest.raises(UnknownNameError, match="fact"):
        load_device(path)


@pytest.mark.parametrize("name", ["rate", "force", "mass", "reach"])
def test_no_device_has_none_of_it(name: str) -> None:
    with pytest.raises(ParameterError, match=f"touch {name}"):
        preset("touch", **{name: known(0.0, "a test")})


def test_sheets_refuse_subspaces_that_there_are_not() -> None:
    with pytest.raises(UnknownNameError, match="device subspace"):
        Sheet("mine", "My own", "everywhere", "full")
