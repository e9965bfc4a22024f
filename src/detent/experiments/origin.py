"""Where and when a report was made: what its reader needs to judge or to repeat it."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("numpy", "numba", "mujoco", "scipy", "sympy", "pyarrow", "matplotlib")


def versions() -> dict[str, str]:
    """Of Detent, of Python and of the libraries that compute."""
    found = {"detent": version("detent"), "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # pragma: no cover  (they are required)
            found[name] = "none"
    return found


def commit() -> str:
    """Of the working copy that runs, "+" if something in it is changed; or that there is none."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return "no working copy: an installed package"
    try:
        said = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--abbrev=12", "--dirty=+"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return "unknown: git does not answer"
    return said.stdout.strip()


def processor() -> str:
    """What the machine calls its processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def origin() -> dict[str, str]:
    """Commit, versions, date and machine, in words."""
    return {
        "commit": commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{os.cpu_count()} × {processor()}, {platform.system()} {platform.machine()}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions().items()),
    }
