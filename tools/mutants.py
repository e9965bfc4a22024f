"""`make mutants`: break the compiled sources in many places, one at a time, and run their tests.

A break that no test notices is a *survivor*: either a test is missing, or the break changes
nothing that can be seen, and `belonging.EXPLAINED` says why.

The list is fixed. Each file has one break for every PER_MUTANT of its places, at least one and at
most MOST, which a generator draws that is seeded with ``SEEDS`` and the file's name: a change in
one file leaves the breaks of the others as they are. Those that once survived (`belonging.KNOWN`)
come first. Nobody chooses: a file is left out (`belonging.LEFT_OUT`) for what it is about.

Limitations. Tests were written against this very list, so its score is not that of the tests at
large: ask for that with another ``--seed``. And only short tests belong to a break here; longer
ones may notice more.

Sources are broken in a copy, and tests run without the compiler (``NUMBA_DISABLE_JIT=1``): they
are the same sources, and need not be compiled again for each break. They run in a process that is
forked when the libraries are there: most would take longer to import than to fail.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing.pool import Pool
from pathlib import Path
from typing import NamedTuple

from belonging import EXPLAINED, KNOWN, LEFT_OUT, belonging_to
from mutations import Mutant, Text, mutants_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "detent"
POPULATION = ("kernels/*.py", "servo/**/*.py", "devices/simulated*.py")

SEEDS = (1,)  # one draw each
PER_MUTANT = 55  # places of a file for each of which a draw has one
MOST = 3  # of one file in a draw
WANTED = 0.92  # score
PATIENCE = 240.0  # [s] a mutant that takes longer hangs, and that is noticed
AT_ONCE = 2
LIBRARIES = (  # of the tests: all that does not import the sources
    *("pytest", "numpy", "mujoco", "numba", "sympy", "pyarrow", "hypothesis.extra.numpy"),
    *("scipy.optimize", "scipy.spatial.transform", "scipy.integrate", "scipy.linalg"),
)
KILLED, HUNG, SURVIVED = "killed", "hung", "SURVIVED"


class Outcome(NamedTuple):
    """What became of a mutant."""

    mutant: Mutant
    fate: str
    seconds: float
    by: str  # the test that failed first


def files() -> list[str]:
    """The files of the population, below the package."""
    found = {path for pattern in POPULATION for path in PACKAGE.glob(pattern)}
    names = sorted(path.relative_to(PACKAGE).as_posix() for path in found)
    return [name for name in names if name not in LEFT_OUT]


def known() -> Iterator[Mutant]:
    """Breaks that once survived."""
    for file, old, new in KNOWN:
        source = Text(PACKAGE, file).source
        start = source.find(old.encode())
        if start < 0:
            raise SystemExit(f"{file} has no {old!r}: correct KNOWN in tools/belonging.py")
        line = source.count(b"\n", 0, start) + 1
        yield Mutant(file, line, start, start + len(old.encode()), old, new)


def sampled(seed: int) -> Iterator[Mutant]:
    """At least one of each file, more of those with more places, at most MOST."""
    for file in files():
        places = mutants_of(PACKAGE, file)
        count = min(max(round(len(places) / PER_MUTANT), 1), MOST, len(places))
        chosen = random.Random(f"{seed} {file}").sample(places, count)
        yield from sorted(chosen, key=lambda mutant: mutant.start)


def chosen_mutants(
    seeds: Sequence[int], only: str | None = None, every_place: bool = False
) -> list[Mutant]:
    """All that are to be tried, each once: drawn ones, or every place of the files."""
    drawn = (mutant for seed in seeds for mutant in sampled(seed))
    places = (mutant for file in files() for mutant in mutants_of(PACKAGE, file))
    every = [*known(), *(places if every_place else drawn)]
    return [mutant for mutant in dict.fromkeys(every) if only is None or only in mutant.file]


# --- running tests


def copy_sources(folder: Path) -> None:
    """Sources and tests, where nobody else looks."""
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("src", "tests", "tools"):  # tests make their meshes with a tool
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    shutil.copy2(ROOT / "pyproject.toml", folder)


def pytest_arguments(tests: tuple[str, ...]) -> list[str]:
    """Stops at the first failure; the same cases each time."""
    arguments = ["-x", "-q", "--no-header", "--tb=no", "-rfE", "-W", "ignore"]
    arguments += ["-p", "no:cacheprovider", "--hypothesis-seed=0"]
    arguments += ["-m", "not live and not browser and not long"]
    return [*arguments, *tests]


def warm(folder: str) -> None:
    """What a worker does first: a copy of the sources of its own, and all libraries."""
    os.environ.update(NUMBA_DISABLE_JIT="1", OMP_NUM_THREADS="1")
    os.chdir(tempfile.mkdtemp(dir=folder))
    copy_sources(Path())
    for name in LIBRARIES:
        importlib.import_module(name)


def run_tests(tests: tuple[str, ...], patience: float | None = PATIENCE) -> tuple[int | None, str]:
    """Pytest's exit code (None: out of patience) and what it printed, of the copy we are in."""
    output = Path("output.txt")
    child = os.fork()
    if child == 0:
        be_pytest(tests, output)
    until = time.monotonic() + (patience or float("inf"))
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), output.read_text()
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None, ""
        time.sleep(0.02)


def be_pytest(tests: tuple[str, ...], output: Path) -> None:
    """Run the tests, and end."""
    os.setsid()
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    source = str(Path("src").resolve())
    os.environ["PYTHONPATH"] = source
    sys.path[:] = [source, *(path for path in sys.path if not path.startswith(str(ROOT / "tools")))]
    code = 3
    try:
        code = int(importlib.import_module("pytest").main(pytest_arguments(tests)))
        sys.stdout.flush()
    finally:
        os._exit(code)


def first_failure(output: str) -> str:
    """The test that failed, as pytest's summary names it."""
    for line in output.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ")[1]
    return ""


def judge(code: int | None, output: str) -> tuple[str, str]:
    """Fate, and by whom."""
    if code is None:
        return HUNG, ""
    if code in (3, 4, 5):  # no tests were run: nothing can be said
        raise SystemExit(f"pytest exited with {code}:\n{output}")
    return (SURVIVED, "") if code == 0 else (KILLED, first_failure(output) or "a crash")


def try_mutant(mutant: Mutant) -> Outcome:
    """Break, run, mend."""
    broken, began = Path("src", "detent", mutant.file), time.monotonic()
    try:
        broken.write_bytes(mutant.applied(broken.read_bytes()))
        fate, by = judge(*run_tests(belonging_to(mutant.file)))
        return Outcome(mutant, fate, time.monotonic() - began, by)
    finally:
        shutil.copy2(PACKAGE / mutant.file, broken)


def check_whole(pool: Pool, mutants: list[Mutant]) -> None:
    """What fails without a break would call every mutant killed."""
    tests = tuple(sorted({test for mutant in mutants for test in belonging_to(mutant.file)}))
    code, output = pool.apply(run_tests, (tests, None))
    if code != 0:
        raise SystemExit(f"the tests fail although nothing is broken:\n{output}")


def try_all(pool: Pool, mutants: list[Mutant]) -> list[Outcome]:
    """Each of them, some at once, with a line for each as it ends."""
    outcomes: list[Outcome] = []
    for outcome in pool.imap_unordered(try_mutant, mutants):
        outcomes.append(outcome)
        show(outcome, len(outcomes), len(mutants))
    return sorted(outcomes, key=lambda outcome: mutants.index(outcome.mutant))


# --- telling


def show(outcome: Outcome, done: int, total: int) -> None:
    """A line while it runs."""
    spent = f"{outcome.seconds:5.1f} s"
    print(f"[{done:3}/{total}] {outcome.fate:8} {spent}  {outcome.mutant}", flush=True)


def table(outcomes: list[Outcome]) -> Iterator[str]:
    """File by file: how many were broken, and how many of that noticed."""
    yield f"\n{'file':34} broken noticed"
    for file in dict.fromkeys(outcome.mutant.file for outcome in outcomes):
        fates = [outcome.fate for outcome in outcomes if outcome.mutant.file == file]
        yield f"{file:34} {len(fates):6} {len(fates) - fates.count(SURVIVED):7}"


def report(outcomes: list[Outcome]) -> float:
    """Print the table, the survivors and the score; the score."""
    survivors = [outcome.mutant for outcome in outcomes if outcome.fate == SURVIVED]
    print("\n".join(table(outcomes)))
    for mutant in survivors:
        key = mutant.key((PACKAGE / mutant.file).read_bytes())
        print(f"\nsurvived: {key}\n  {EXPLAINED.get(key, 'NOT EXPLAINED')}")
    score = 1.0 - len(survivors) / len(outcomes)
    print(f"\nscore: {len(outcomes) - len(survivors)} of {len(outcomes)}, {100 * score:.1f} %")
    return score


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--list", action="store_true", help="only show what would be broken")
    parser.add_argument("--only", metavar="FILE", help="only files whose path contains this")
    parser.add_argument("--seed", type=int, nargs="+", default=SEEDS, help="another list")
    parser.add_argument("--jobs", type=int, default=AT_ONCE, help="tried at once")
    parser.add_argument("--every", action="store_true", help="every place, not a draw")
    options = parser.parse_args()
    mutants = chosen_mutants(options.seed, options.only, options.every)
    if not mutants:
        raise SystemExit(f"nothing can be broken in {options.only!r}")
    if options.list:
        print("\n".join(map(str, mutants)))
        return 0
    print(f"{len(mutants)} mutants; first the tests without any", flush=True)
    fork = multiprocessing.get_context("fork")
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        fork.Pool(options.jobs, warm, (folder,)) as pool,
    ):
        check_whole(pool, mutants)
        outcomes = try_all(pool, mutants)
    return 0 if report(outcomes) >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
