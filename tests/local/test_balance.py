"""Energy and momentum of tool, device and objects through a local model, and steps of force."""

from __future__ import annotations

import numpy as np
import pytest

from detent import Contact, LocalModel, Pace, Session, World
from detent.hands import Impedance
from detent.setup.prepared import advance
from lab import LOOSE, PLANAR, scene
from local.enclosures import CONTACT, RATE, STEP, feel, make_case
from local.steps import unexplained
from sweeps import sweep

pytestmark = pytest.mark.slow

SLEW = LocalModel().slew_force or 0.0  # [N/s]
BODY = PLANAR.replace('mass="2"', 'mass="{mass}"')
MASSES = (2.0, 1.0, 3.0)  # [kg] of the tool and two blocks
INERTIA = 0.005  # [kg·m²] of each


def crowded(rng: np.random.Generator, walls: bool) -> World:
    """A box that flies towards two loose blocks, off their middles; perhaps between walls."""
    text = ""
    for angle in 0.5 * np.pi * np.arange(4) if walls else ():
        x, y = 0.12 * np.cos(angle), 0.12 * np.sin(angle)
        text += f'<geom type="plane" size="1 1 .1" pos="{x} {y} 0" zaxis="{-x} {-y} 0"/>'
    for i, (mass, x) in enumerate(zip(MASSES, (0.0, 0.05, -0.05), strict=True)):
        at = (x, 0.0 if i == 0 else rng.uniform(-0.02, 0.02), 0.0)
        name = "tool" if i == 0 else f"block{i}"
        text += f'<body name="{name}" pos="{at[0]} {at[1]} 0">{BODY.format(mass=mass)}'
        text += '<geom type="box" size=".015 .015 .01" friction="0"/></body>'
    world = World.from_string(scene(text), tool="tool")
    speed = rng.uniform(0.05, 0.2) * rng.choice([-1.0, 1.0])
    return world.placed(
        (0.0,) * 9, (speed, rng.uniform(-0.05, 0.05), rng.uniform(-1, 1), *[0.0] * 6)
    )


def play(world: World, hand: Impedance | None, restitution: float, seconds: float) -> np.ndarray:
    """(frames, 11) time, velocities of tool and blocks, and energy of the device, at frames."""
    contact = Contact(4000.0, 30.0, restitution)
    session = Session(world, contact, LOOSE, rate=RATE, local=LocalModel(constraints="inertial"),
                      pace=Pace(1 / 60, latency=0.01))  # fmt: skip
    ticks = round(seconds * RATE)
    ready = session.prepare(hand, RATE, ticks)
    engine = session.play_engine(ready)
    frames, rows = engine._frames, []
    make = frames.make

    def noted(state: np.ndarray) -> np.ndarray | None:
        out = make(state)
        blocks = frames.engine.data.qvel[3:]
        rows.append([state[0], *state[4:7], *blocks])
        return out

    frames.make = noted
    advance(ready, hand, 0, ticks, engine)
    ring = ready.servo.ring[:ticks]
    at = np.clip(np.round(np.array(rows)[:, 0] * RATE).astype(int), 0, ticks - 1)
    healed = np.cumsum(ring["healed"])[at]
    return np.column_stack([rows, ring["device_energy"][at], healed])


def kinetic(rows: np.ndarray) -> np.ndarray:
    """[J] of tool and blocks."""
    v = rows[:, 1:10].reshape(-1, 3, 3)
    return 0.5 * (np.array(MASSES) * (v[..., :2] ** 2).sum(axis=2) + INERTIA * v[..., 2] ** 2).sum(
        axis=1
    )


@pytest.mark.parametrize("restitution", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(sweep(40, 1)))
def test_energy_never_rises(seed: int, restitution: float) -> None:
    """Tool, device and objects among walls: not by 0.1 % of what was there, healing apart."""
    world = crowded(np.random.default_rng(seed), walls=True)
    rows = play(world, None, restitution, 1.5)
    energy = kinetic(rows) + rows[:, 10]
    assert (energy - rows[:, 11]).max() <= 1.001 * energy[0]


@pytest.mark.parametrize("seed", range(sweep(40, 1)))
def test_momentum_is_kept(seed: int) -> None:
    """Of tool and objects without walls, when nothing is between them: to 0.1 %."""
    world = crowded(np.random.default_rng(seed), walls=False)
    rows = play(world, None, 0.6, 1.5)
    v = rows[:, 1:10].reshape(-1, 3, 3)[..., :2]
    momentum = np.tensordot(v, np.array(MASSES), axes=(1, 0))
    struck = np.abs(v[-1, 1:]).max() > 0.01
    assert struck
    size = np.linalg.norm(momentum[0])
    assert np.linalg.norm(momentum[-1] - momentum[0]) <= 1e-3 * size


@pytest.mark.parametrize("seed", sorted({*range(sweep(60, 1)), 27}))  # 27 heals as it lets go
def test_force_does_not_step(seed: int) -> None:
    """At every tick but that of a collision: by the slew limit, and what motion explains."""
    case = make_case(seed)
    felt = feel(case, LocalModel())
    assert unexplained(felt.rows, CONTACT, STEP, 0.02).max() <= 1.001 * SLEW * STEP, case.name
