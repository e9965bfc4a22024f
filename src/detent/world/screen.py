"""Scene files from outside: what they may read, and a first look at them in a process of its own.

A malformed mesh can crash MuJoCo's loader, and a large one can exhaust the machine. So a
child process loads such a file first, with bounded memory and time. This module runs as a
script in that child: it imports nothing of Detent's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

MEMORY = 1 << 30  # [bytes] of address space that loading may take
PATIENCE = 4.5  # [s]
_GOOD = "loaded"
_RISKY = re.compile(
    r"<\s*(include|mesh|hfield|texture|skin|flex|model|replicate|composite|attach|extension)"
)
_SCHEME = re.compile(r"^[a-z]+://+", re.IGNORECASE)
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_PARENTS = 2  # folders above a URDF in which its package may begin


class Refused(Exception):
    """A file that is not loaded, and why, in one sentence."""


def is_risky(text: str) -> bool:
    """Whether MJCF or URDF text refers to files, or makes more than it says."""
    return _RISKY.search(text) is not None


def _root(path: Path) -> ElementTree.Element | None:
    """The XML of a file; None leaves it to MuJoCo to say what is wrong with it."""
    try:
        return ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, OSError, ValueError):
        return None


def _references(root: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Tags and file names of all that an XML tree refers to."""
    for element in root.iter():
        for name, value in element.attrib.items():
            if name.startswith("file") and value:
                yield element.tag, value


def _places(name: str, bases: list[Path]) -> Iterator[Path]:
    """Where MuJoCo may look for a file that exists."""
    plain = _SCHEME.sub("", name) if not name.lower().startswith("file:") else name[5:]
    for base in bases:
        for one in (Path(plain), Path(name), Path(Path(plain).name)):
            place = base / one
            if os.path.lexists(place):
                yield place


def check_tree(
    root: ElementTree.Element, folder: Path, here: Path, trail: tuple[Path, ...] = ()
) -> None:
    """Refuse a scene that reads outside *folder*, or includes itself."""
    named = {e.attrib[f] for e in root.iter("compiler") for f in _FOLDERS if f in e.attrib}
    bases = [folder, here, *(folder / one for one in sorted(named))]
    for tag, name in _references(root):
        for place in _places(name, bases):
            if not place.resolve().is_relative_to(folder.resolve()):
                raise Refused(
                    f"it reads {name!r}, which is outside its folder; allow_outside=True permits it"
                )
            if tag in ("include", "model"):
                check_include(place.resolve(), folder, trail)


def check_include(path: Path, folder: Path, trail: tuple[Path, ...]) -> None:
    """The same for a file that is included."""
    if path in trail:
        raise Refused(f"{path.name} includes itself")
    inner = _root(path)
    if inner is not None:
        check_tree(inner, folder, path.parent, (*trail, path))


def find_beside(name: str, folder: Path, outside: bool) -> str:
    """A mesh of a URDF (``package://robot/meshes/a.stl``) beside the file, or the name itself."""
    parts = Path(_SCHEME.sub("", name)).parts
    if name.lower().startswith("file:") or Path(name).is_absolute():
        return "/" + "/".join(part for part in parts if part != "/")
    above = list(folder.resolve().parents)[:_PARENTS] if outside else []
    for base in (folder, *above):
        for skip in range(len(parts)):
            if (base / Path(*parts[skip:])).is_file():
                return str(base / Path(*parts[skip:]))
    return name


def read_spec(source: str, is_text: bool, outside: bool):  # type: ignore[no-untyped-def]
    """Parse a file, or text, into an ``MjSpec``, after a look at the files it refers to."""
    import mujoco

    path = Path.cwd() / "scene.xml" if is_text else Path(source).absolute()
    folder = path.parent
    if is_text:
        try:
            root = ElementTree.fromstring(source)
        except (ElementTree.ParseError, ValueError):
            root = None
    else:
        root = _root(path)
    if root is not None and not outside:
        check_tree(root, folder, folder, () if is_text else (path.resolve(),))
    load = mujoco.MjSpec.from_string if is_text else mujoco.MjSpec.from_file
    spec = load(source if is_text else str(path))
    if root is not None and root.tag == "robot":
        spec.compiler.fusestatic = False
        for mesh in spec.meshes:
            mesh.file = find_beside(mesh.file, folder, outside)
    return spec


def screen(source: str, is_text: bool, outside: bool) -> None:
    """Load in a child process; `Refused` if that fails, crashes, or takes too much."""
    command = [sys.executable, "-P", __file__, "text" if is_text else source, str(int(outside))]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, input=source if is_text else "", capture_output=True, text=True,
            timeout=PATIENCE, env=environment, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Refused(f"it takes longer than {PATIENCE:g} s to load; trusted=True waits") from None
    if done.returncode == 0 and done.stdout.endswith(_GOOD):
        return
    if done.returncode < 0:
        raise Refused(f"it crashes MuJoCo's loader (signal {-done.returncode})")
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    raise Refused(said[-1] if said else f"MuJoCo's loader ends with {done.returncode}")


def _bound_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _main(source: str, outside: str) -> None:
    _bound_memory()
    import mujoco

    mujoco.set_mju_user_warning(lambda message: None)
    is_text = source == "text"
    try:
        spec = read_spec(sys.stdin.read() if is_text else source, is_text, bool(int(outside)))
        spec.compile()
    except MemoryError:
        sys.exit(f"it needs more than {MEMORY >> 30} GiB of memory to load")
    except Exception as error:
        sys.exit(" ".join(str(error).split()))
    sys.stdout.write(_GOOD)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
