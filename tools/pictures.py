"""Make the pictures of the documentation: films of sessions, figures of experiments, pages.

    python tools/pictures.py [NAME…]

writes docs/pictures/; each film is a few seconds of a session in lockstep, so it is the same on
every machine. Pages are pictures of a live session in a headless Chromium. ``--list`` names them.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import detent
from detent.app.film import film
from detent.app.rehearsal import Run, rehearse
from detent.experiments import find
from detent.hands import Constant, Guided, Sinusoid

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
MOST = 1_000_000  # [bytes] of one picture
FPS = 15.0


def seen(label: str, session: detent.Session, hand: detent.hands.Hand, seconds: float) -> Run:
    """A session with a hand, as a film needs it."""
    return rehearse(label, session, session.run(seconds, hand))


def both(world: detent.World, hand: detent.hands.Hand, seconds: float) -> list[Run]:
    """The same hand with penalties and with impulses."""
    wall = {"stiffness": 4_000, "damping": 30}
    return [
        seen(label, detent.Session(world, detent.Contact(**wall, mode=mode)), hand, seconds)
        for label, mode in (("penalty", "penalty"), ("impulses + penalty", "impulse"))
    ]


def tap() -> list[Run]:
    """A peg struck into a corner: what impulses are for."""
    world = detent.World.builtin("corner").placed([0.02, 0.0, 0.1])
    return both(world, Constant(force=(0.5, -0.9)), 2.4)


def four_bar() -> list[Run]:
    """A loop that is pulled until it is stretched."""
    world = detent.World.builtin("four-bar")
    return [seen("four-bar", detent.Session(world), Constant(force=(-0.15, -0.15)), 2.5)]


def stick_slip() -> list[Run]:
    """A peg in a hole that it barely fits, with friction."""
    world = detent.World.builtin("long-hole")
    rub = detent.Contact(4_000, 30, friction=detent.Friction(static=0.5, kinetic=0.4))
    hand = Sinusoid(force=(0.0, 0.58), bias_force=(1.0, 0.0), frequency=0.4)  # up, and back
    return [seen("stick and slip", detent.Session(world, rub), hand, 5.0)]


def arm() -> list[Run]:
    """An arm held at its last link."""
    session = detent.Session(detent.World.builtin("arm-7"))
    x, y, z = session.run(0.001)["device_position"][0]
    path = [(0, x, y, z), (1, x, y + 0.12, z + 0.05), (2, x + 0.05, y - 0.1, z - 0.1), (3, x, y, z)]
    hand = Guided(stiffness=300.0, damping=40.0, path=path)
    return [seen("a seven-joint arm held at its last link", session, hand, 3.2)]


def gripper() -> list[Run]:
    """The demonstration of examples/demonstrate.py."""
    example = runpy.run_path(str(ROOT / "examples" / "demonstrate.py"))
    world = detent.World.from_string(example["SCENE"], tool="gripper", held="gripper")
    session = detent.Session(world, detent.Contact(8_000, 40))
    return [rehearse("lift a box", session, example["demonstration"](session, 0.06))]


FILMS: dict[str, Callable[[], list[Run]]] = {
    "tap.gif": tap,
    "four-bar.gif": four_bar,
    "stick-slip.gif": stick_slip,
    "arm.gif": arm,
    "gripper.gif": gripper,
}
FIGURES = ("corner-push", "walls", "friction-models", "four-bar", "disk-on-sphere")


def humanoid() -> detent.World:
    """A robot of dm_control, as docs/your-scene.md has it; `make test` installs it."""
    found = sorted(
        ROOT.glob(".venv-scenes/lib/python*/site-packages/dm_control/suite/humanoid.xml")
    )
    if not found:
        raise SystemExit("the humanoid is not installed: make test does that")
    folder = found[0].parent
    return detent.World.load(found[0], tool="right_hand", root=folder)


PAGES: dict[str, Callable[[], detent.World]] = {
    "workbench.png": lambda: detent.World.builtin("peg-in-hole"),
    "your-scene.png": humanoid,
}


def make(name: str) -> Path:
    """One picture."""
    path = FOLDER / name
    if name in FILMS:
        film(FILMS[name](), path, fps=FPS)
    elif name in PAGES:
        from pages import photograph  # beside this file; it needs a browser

        photograph(PAGES[name](), path)
    else:
        drawn = find(path.stem)().figure
        assert drawn is not None
        drawn(path)
    if path.stat().st_size > MOST:
        raise SystemExit(f"{name} has {path.stat().st_size} bytes, more than {MOST}")
    return path


def main(wanted: list[str]) -> None:
    """All pictures, or some."""
    known = [*FILMS, *(f"{name}.png" for name in FIGURES), *PAGES]
    if wanted == ["--list"]:
        print("\n".join(known))
        return
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SystemExit(f"there is no picture {unknown[0]}; known: {', '.join(known)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in wanted or known:
        print(f"{make(name).relative_to(ROOT)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
