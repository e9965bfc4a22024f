"""`make hashes`: the state hash of one lockstep run per built-in world, mechanism and experiment.

Each run is made twice: the same inputs must give the same bits. A restructuring that computes what
was computed before leaves the list as it is: print it before the first commit and after the last,
and compare the two with ``diff``. Hashes are those of one machine: another processor rounds
otherwise.

Of an experiment the first run is taken; ``--whole`` takes all of them, once, which takes as long as
``make reproduce``.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from detent import Session, World
from detent.errors import DetentError, ServoFault
from detent.experiments import EXPERIMENTS
from detent.hands import Constant
from detent.mechanism.library import MECHANISMS
from detent.mechanism.library import builtin as builtin_mechanism

SECONDS = 1.0  # [s] of a world or mechanism: enough to reach a wall
PUSH = Constant(force=(3.0, -4.0, 1.0), torque=(0.0, 0.0, 0.01))
NOT_REPEATABLE = {"slow-engine"}  # on the wall clock


class Enough(Exception):
    """No error, but the way out of an experiment: the first run of an experiment is there."""


@contextmanager
def watched(hashes: list[str], whole: bool) -> Iterator[None]:
    """Take the hash of every lockstep run, or of the first one twice."""
    run = Session.run

    def taken(session: Session, *arguments: Any, **named: Any) -> Any:
        trace = run(session, *arguments, **named)
        hashes.append(trace.state_hash())
        if whole:
            return trace
        hashes.append(run(session, *arguments, **named).state_hash())
        raise Enough

    Session.run = taken  # type: ignore[method-assign]
    try:
        yield
    finally:
        Session.run = run  # type: ignore[method-assign]


def of_a_scene(subject: Any) -> list[str]:
    """Two runs of sessions of their own, everything else by default; what stops one is a result."""
    hashes = []
    for _ in range(2):
        try:
            hashes.append(Session(subject).run(SECONDS, PUSH).state_hash())
        except ServoFault as stop:
            hashes.append(str(stop))
    return hashes


def of_an_experiment(name: str, whole: bool = False) -> list[str]:
    """Its first run, twice; or all runs, once each. Nothing, if it has none."""
    hashes: list[str] = []
    with watched(hashes, whole), suppress(Enough):
        EXPERIMENTS[name]()
    return hashes


def line(name: str, hashes: list[str], whole: bool = False) -> tuple[str, bool]:
    """What is printed, and whether it is as it should be."""
    if not hashes:
        return f"{name:28} no run in lockstep", True
    if whole:
        together = hashlib.sha256("".join(hashes).encode()).hexdigest()
        return f"{name:28} {together[:32]}  {len(hashes)} runs", True
    same = len(set(hashes)) == 1
    return f"{name:28} {hashes[0][:32]}{'' if same else '  NOT REPEATED'}", same


def everything(whole: bool) -> Iterator[tuple[str, bool]]:
    """A line each."""
    for name in World.library():
        yield line(name, of_a_scene(World.builtin(name)))
    for name in MECHANISMS:
        yield line(name, of_a_scene(builtin_mechanism(name)))
    for name in sorted(set(EXPERIMENTS) - NOT_REPEATABLE):
        yield line(f"experiment {name}", of_an_experiment(name, whole), whole)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--whole", action="store_true", help="all runs of the experiments")
    good = True
    try:
        for text, same in everything(parser.parse_args().whole):
            print(text, flush=True)
            good &= same
    except DetentError as error:
        sys.exit(str(error))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
