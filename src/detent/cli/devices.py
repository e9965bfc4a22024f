"""``detent devices``: presets, drivers, what each needs; to test and to tune one."""

from __future__ import annotations

import json
import math
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from detent.cli.common import Json
from detent.cli.plain import App
from detent.errors import ParameterError

if TYPE_CHECKING:
    from detent.devices.drivers.driver import Driver
    from detent.devices.protocol import Device
    from detent.devices.sheet import Sheet
    from detent.devices.tuning import Tuned

out = Console(emoji=False)
app = App(
    help="Devices: what is known of each, and what its driver needs.", invoke_without_command=True
)


def described(sheet: Sheet) -> dict[str, Any]:
    """A preset in plain values; what nobody knows is None."""
    facts = {name: str(fact) for name, fact in sheet.facts().items()}
    return {
        "title": sheet.title,
        "senses": sheet.senses,
        "actuates": sheet.actuates,
        "driver": sheet.driver,
        **facts,
    }


def list_devices() -> dict[str, str]:
    """All devices that can be named, with a line about each."""
    from detent import devices

    kinds = (devices.Inertial, devices.Desktop, devices.AdmittanceDisplay, devices.Pantograph)
    said = {kind.__name__: (kind.__doc__ or "").splitlines()[0] for kind in kinds}
    return said | {name: sheet.title for name, sheet in devices.SHEETS.items()}


@app.callback()
def devices(context: typer.Context, as_json: Json = False) -> None:
    """List what is plugged in, presets, the limits that count, and what each driver needs."""
    if context.invoked_subcommand is not None:
        return
    from detent.devices.drivers import DRIVERS, find_driver
    from detent.devices.presets import SHEETS

    drivers = {name: find_driver(name) for name in DRIVERS}
    if as_json:
        found = {
            "presets": {name: described(sheet) for name, sheet in SHEETS.items()},
            "drivers": {
                name: {"needs": one.needs, "here": one.here(), "watchdog": one.watchdog}
                for name, one in drivers.items()
            },
        }
        print(json.dumps(found, indent=1))
        return
    print_presets(SHEETS)
    plugged = Table("driver", "what is here", title="plugged in", box=None, title_justify="left")
    for name, one in drivers.items():
        plugged.add_row(name, escape(one.here()))
    out.print(plugged)
    columns = (Column(what, overflow="fold") for what in ("driver", "needs", "without the servo"))
    table = Table(*columns, title="drivers", title_justify="left")
    for name, one in drivers.items():
        table.add_row(name, escape(one.needs), escape(one.watchdog))
    out.print(table)
    out.print(
        "detent devices show NAME has every number with its source; "
        "detent play WORLD --device NAME plays its model, --device real:NAME the device",
        highlight=False,
    )


#: subspaces in few letters
AXES = {"planar": "x y θ", "flat": "x y", "translational": "x y z", "full": "6-DOF", "rotary": "θ"}


def print_presets(sheets: dict[str, Sheet]) -> None:
    """One line for each."""
    table = Table(
        *("preset", "senses", "pushes", "peak", "held", "rate", "driver"),
        title="presets", title_justify="left", box=None, padding=(0, 1),
    )  # fmt: skip
    for name, sheet in sheets.items():
        turns = sheet.actuates == "rotary"
        kind, unit = ("torque", "N·m") if turns else ("force", "N")
        peak, held = sheet.get(kind), sheet.get(f"{kind}_continuous")
        table.add_row(
            name, AXES[sheet.senses], AXES[sheet.actuates],
            "unknown" if peak is None else f"{peak:g} {unit}",
            "" if held is None else f"{held:g} {unit}",
            f"{sheet.need('rate'):g} Hz", sheet.driver or "none",
        )  # fmt: skip
    out.print(table)


@app.command()
def show(name: Annotated[str, typer.Argument(help="A preset.")], as_json: Json = False) -> None:
    """Every number of a preset with its source, and what nobody knows."""
    from detent.devices import preset

    model = preset(name)
    if as_json:
        print(json.dumps(described(model.sheet), indent=1))
        return
    table = Table(show_header=False, box=None, padding=(0, 2), title=model.sheet.title)
    for field, value in described(model.sheet).items():
        table.add_row(f"[bold]{field.replace('_', ' ')}[/]", escape(str(value)))
    out.print(table)
    for note in model.said():
        out.print(f"[yellow]![/] {escape(note)}", highlight=False)


@app.command()
def test(
    name: Annotated[
        str,
        typer.Argument(help="A preset, a device file, or MODULE:NAME of your own driver."),
    ],
    port: Annotated[
        str | None, typer.Option(help="Its serial line or event file, where several fit.")
    ] = None,
    torque: Annotated[
        float | None, typer.Option(help="[N·m] Peak torque, where no sheet says it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Test a device that is plugged in: it moves by itself, gently. Exit 1 if a check fails."""
    from detent.devices.drivers.contract import check_driver
    from detent.devices.facts import known

    facts = {} if torque is None else {"torque": known(torque, "--torque")}
    checks = check_driver(real_device(name.removeprefix("real:"), facts, port))
    if as_json:
        print(json.dumps([check._asdict() for check in checks], indent=1))
    else:
        for check in checks:
            mark = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[yellow]–[/]"}[check.passed]
            out.print(f"{mark} {escape(check.what)}: {escape(check.found)}", highlight=False)
    if any(check.passed is False for check in checks):
        raise typer.Exit(1)


@app.command()
def tune(
    name: Annotated[
        str, typer.Argument(help="real:NAME is the device; NAME alone its model, for practice.")
    ],
    out_file: Annotated[
        Path | None, typer.Option("--out", help="The device file; NAME.json unless given.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=4.0, max=120.0, help="Seconds altogether.")] = 20.0,
    port: Annotated[
        str | None, typer.Option(help="Its serial line or event file, where several fit.")
    ] = None,
    torque: Annotated[
        float | None, typer.Option(help="[N·m] Peak torque, where no sheet says it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find mass, damping, friction, delay and resolution, and the stiffness that will hold.

    Half of the time you move the handle about; then you LET IT GO and a chirp shakes it. Without
    real: it is the model that is shaken, and what is written stays an assumption.
    """
    from detent.devices import preset
    from detent.devices.facts import known
    from detent.devices.file import save_device
    from detent.devices.tuning import tune_model, tune_plugged

    facts = {} if torque is None else {"torque": known(torque, "--torque")}
    plain = name.removeprefix("real:")
    if plain == name:
        model = preset(plain, **facts)
        Console(stderr=True, emoji=False).print(
            f"this is the MODEL of {escape(plain)}, and nothing was measured: "
            f"detent devices tune real:{escape(plain)} asks the device that is plugged in",
            highlight=False,
        )
        tuned = tune_model(model, seconds)
        of = "model"
    else:
        driver = real_device(plain, facts, port)
        plain = driver.preset.name
        tell = Console(stderr=True, emoji=False).print
        tuned = tune_plugged(driver, seconds, lambda said: tell(said, highlight=False))
        of = "device"
    path = out_file or Path(f"{plain}.json")
    save_device(path, plain, {**facts, **tuned.facts})
    if as_json:
        found: dict[str, Any] = {field: fact.value for field, fact in tuned.facts.items()}
        found |= {"stiffness": tuned.stiffness, "jitter": tuned.found.jitter}
        print(json.dumps({"of": of, **found}))
        return
    print_tuned(tuned)
    out.print(f"written to {escape(str(path))}: detent play WORLD --device {escape(str(path))}")


def print_tuned(tuned: Tuned) -> None:
    """Every number with its confidence, and what to do with it."""
    from detent.devices.limits import stiffness_limits

    found, turns = tuned.found, tuned.turns
    units = ("kg·m²", "N·m·s/rad", "N·m") if turns else ("kg", "N·s/m", "N")
    table = Table(show_header=False, box=None, padding=(0, 2))
    rows = zip(("mass", "damping", "friction"), found[:3], units, strict=True)
    for what, one, unit in rows:
        table.add_row(what, f"{one.value:.4g} ± {one.within:.2g} {unit}")
    table.add_row("delay", f"{1e3 * found.delay.value:.3g} ± {1e3 * found.delay.within:.2g} ms")
    count, length = found.resolution, "rad" if turns else "m"
    table.add_row("resolution", "none to be seen" if count is None else f"{count:.3g} {length}")
    table.add_row("readings", f"every {1e3 * found.period:.3g} ms, jitter {1e3 * found.jitter:.3f}")
    out.print(table)
    unit = "N·m/rad" if turns else "N/m"
    if found.held is not None:
        out.print(
            f"[yellow]![/] {found.held.value:.3g} ± {found.held.within:.2g} {unit} pull it back: "
            "was it let go? A hand adds its own mass and damping; a spring of its own is left out",
            highlight=False,
        )
    out.print(f"a stiffness of {tuned.stiffness:.4g} {unit} will hold", highlight=False)
    damping, friction = (max(one.value - one.within, 0.0) for one in found[1:3])
    delay = max(math.ceil(round(found.delay.value / found.period, 3)), 0)
    limits = stiffness_limits(
        found.mass.value, damping, friction, found.resolution or 0.0, found.period, delay,
        tuned.damping,
    )  # fmt: skip
    least = f"with {tuned.damping:.4g} {units[1]} of damping, and its own friction at least"
    out.print(f"{least}: {limits.said(unit)}", highlight=False)


def real_device(name: str, facts: dict[str, Any] | None = None, port: str | None = None) -> Driver:
    """A device itself: of a preset, NAME@PORT on that line, of a device file, or MODULE:NAME."""
    from detent.devices.drivers import real
    from detent.devices.file import load_device

    if ":" in name and "@" not in name:
        return own_driver(name)
    facts = facts or {}
    if Path(name).suffix != ".json":
        name, _, after = name.partition("@")
        port = port or after or None
    if Path(name).suffix == ".json":
        model = load_device(name)
        name, facts = model.name, {**model.sheet.facts(), **facts}
    return real(name, facts, **({} if port is None else {"port": port}))


def own_driver(name: str) -> Driver:
    """MODULE:NAME, a driver of one's own, from the folder that we are in or what is installed."""
    from detent.checks import instance
    from detent.devices.drivers.driver import Driver

    module, _, what = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = getattr(import_module(module), what)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError("device", name, f"MODULE:NAME of a driver: {error}") from error
    instance("device", found, Driver, "a driver, as docs/your-device.md has one")
    driver: Driver = found
    return driver


def chosen_device(name: str | None) -> Device:
    """What `detent play --device` names: a model, a file, a real device, or an ideal one."""
    from detent.devices import Desktop, Inertial, Pantograph, preset
    from detent.devices.file import load_device

    if name is None or name in ("impedance", "desktop"):
        return Desktop()
    if name == "ideal":
        return Inertial()
    if name == "pantograph":
        return Pantograph()
    if name.startswith("real:"):
        return real_device(name.removeprefix("real:"))
    if Path(name).suffix == ".json":
        return load_device(name)
    return preset(name)
