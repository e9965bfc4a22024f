"""Reading a scene that may read only files in its folder; and, as a script, loading it for a try.

What MuJoCo reads while it parses (``include``, ``model``) is followed here first, in the XML;
what it reads when it compiles is looked up in the spec that it parsed, with the folders
that this names. MuJoCo's parser takes more than XML: what a strict one does not take is refused,
for nobody can say what it names. As a script it runs in
the child process of screen.py, with bounded memory; it imports nothing of Detent's.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

MOST_MEMORY = 1 << 30  # [bytes] that loading may take
SPACE = 8 * MOST_MEMORY  # [bytes] that it may ask for
LOADED = "loaded"
PARENTS = 2  # folders above a URDF in which its package may begin
_ALLOW = "allow_outside=True (--allow-outside) permits it"
_TRY = "what it reads cannot be checked; allow_outside=True (--allow-outside) lets MuJoCo try"
_SCHEME = re.compile(r"^[a-z]+://+", re.IGNORECASE)
_PREFIX = re.compile(r"^\w+:")  # of MuJoCo's resource providers: text, archives
# Comments as MuJoCo sees them: not those that begin inside of another tag, or of CDATA.
_TOKEN = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
    r"|<[^<>\"']*(?:\"[^\"]*\"[^<>\"']*|'[^']*'[^<>\"']*)*>"
    r"|<.*",  # not well-formed from here on: nothing to look for
    re.DOTALL,
)
# XML makes spaces of these, MuJoCo does not: it would look for another file.
_BROKEN = re.compile(r"=\s*(?:\"[^\"]*[\t\r\n]|'[^']*[\t\r\n])")
_READ_AT_ONCE = ("include", "model", "flexcomp")

Element = tuple[str, dict[str, str]]


class Refused(Exception):
    """A file that is not loaded, and why, in one sentence."""


def _without_comment(token: re.Match[str]) -> str:
    text = token.group()
    if text.startswith("<!--"):  # strict XML has no "--" in it, files of others do
        return "\n" * text.count("\n")
    if text[1:].lower().startswith(_READ_AT_ONCE) and _BROKEN.search(text):
        raise Refused(f"a file name has a line break or a tab in it: {' '.join(text.split())}")
    return text


def elements(source: bytes | str, name: str) -> list[Element]:
    """Tags (in small letters: MuJoCo ignores their case) and attributes, in order."""
    found: list[Element] = []

    def refuse_types(*_: object) -> None:
        raise Refused(
            f"{name} has a document type declaration, which MuJoCo does not read; {_ALLOW}"
        )

    parser = expat.ParserCreate(encoding="utf-8")  # no namespaces: MuJoCo knows of none
    parser.StartElementHandler = lambda tag, attributes: found.append((tag.lower(), attributes))
    parser.StartDoctypeDeclHandler = refuse_types
    try:
        text = source if isinstance(source, str) else source.decode("utf-8-sig")
        parser.Parse(_TOKEN.sub(_without_comment, text), True)
    except UnicodeError:
        raise Refused(f"{name} is not UTF-8 text; {_TRY}") from None
    except expat.ExpatError as error:
        where = f"line {error.lineno}, column {error.offset + 1}"
        what = expat.ErrorString(error.code)
        raise Refused(f"{name} is not well-formed XML, {where} ({what}); {_TRY}") from None
    return found


def _read(path: Path) -> bytes:
    if not path.is_file():  # a pipe would never end
        raise Refused(f"{path.name} is not a file")
    return path.read_bytes()


def is_urdf(source: str, is_text: bool) -> bool:
    """Whether the outermost element is ``robot``; MuJoCo says what is wrong with the others."""
    raw = source if is_text else _read(Path(source)).decode("utf-8-sig", errors="replace")
    tags = (token.group() for token in _TOKEN.finditer(raw))
    first = next((tag for tag in tags if not tag.startswith(("<!", "<?"))), "")
    return re.match(r"<robot\b", first, re.IGNORECASE) is not None


def _places(name: str, bases: list[Path]) -> Iterator[Path]:
    """Where a file that exists may be meant: as the system reads a path, and as MuJoCo does."""
    for base in bases:
        for one in (name, name.replace("\\", "/")):
            place = os.path.join(base, one)
            for path in {place, os.path.normpath(place)}:
                if os.path.lexists(path):
                    yield Path(path)


def _check_place(place: Path, folder: Path, name: str) -> None:
    if not place.resolve().is_relative_to(folder.resolve()):
        raise Refused(f"it reads {name!r}, which is outside its folder; {_ALLOW}")


class Screening:
    """Follows what is read while a scene is parsed, and remembers the folders of its models."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folders = [folder]
        self._seen: set[Path] = set()

    def follow(self, found: list[Element], here: Path, top: Path, trail: tuple[Path, ...]) -> None:
        """Refuse what is read outside the folder, and what includes itself."""
        for tag, attributes in found:
            if tag not in _READ_AT_ONCE or "file" not in attributes:
                continue
            name = attributes["file"]
            if tag == "flexcomp":
                raise Refused("it has flexible bodies, which Detent does not render")
            if _PREFIX.match(name):
                raise Refused(f"it reads {name!r}, which is no plain file name; {_ALLOW}")
            for place in _places(name, [top, here]):
                _check_place(place, self.folder, name)
                self._follow_file(place, place.parent if tag == "model" else top, trail)

    def _follow_file(self, path: Path, top: Path, trail: tuple[Path, ...]) -> None:
        real = path.resolve()
        if real in trail:
            raise Refused(f"{path.name} includes itself")
        if path in self._seen:
            return
        self._seen.add(path)
        if top not in self.folders:
            self.folders.append(top)
        self.follow(elements(_read(path), path.name), path.parent, top, (*trail, real))

    def check_spec(self, spec: Any) -> None:
        """Refuse a parsed spec that would read files outside the folder to compile."""
        for name, place in _assets(spec):
            if not name:
                continue
            kept = [base / place.replace("\\", "/") for base in self.folders]
            kept += [Path(os.path.normpath(one)) for one in kept]
            for file in (name, name.replace("\\", "/").rpartition("/")[2]):  # or stripped
                for path in _places(file, kept):
                    _check_place(path, self.folder, name)


def _assets(spec: Any) -> Iterator[tuple[str, str]]:
    """File names, and the folder in which MuJoCo looks for each: that of its own model."""
    for one in (*spec.meshes, *spec.hfields, *spec.skins):
        yield one.file, one.compiler.meshdir
    for one in spec.textures:
        for name in (one.file, *one.cubefiles):
            yield name, one.compiler.texturedir


def find_beside(name: str, folder: Path, outside: bool) -> str:
    """A mesh of a URDF (``package://robot/meshes/a.stl``) beside the file, or the name itself."""
    parts = Path(_SCHEME.sub("", name).replace("\\", "/")).parts
    if name.lower().startswith("file:") or Path(name).is_absolute():
        return "/" + "/".join(part for part in parts if part != "/")
    above = list(folder.resolve().parents)[:PARENTS] if outside else []
    for base in (folder, *above):
        for skip in range(len(parts)):
            place = Path(os.path.normpath(base / Path(*parts[skip:])))
            if place.is_file():
                if not outside:
                    _check_place(place, folder, name)
                return str(place)
    return name


def read_spec(source: str, is_text: bool, outside: bool):  # type: ignore[no-untyped-def]
    """Parse a file, or text, into an ``MjSpec`` that reads only what it may."""
    import mujoco

    path = Path.cwd() / "scene.xml" if is_text else Path(source).absolute()
    folder = path.parent
    files = Screening(folder)
    if not outside:
        own = elements(source if is_text else path.read_bytes(), "it")
        files.follow(own, folder, folder, () if is_text else (path.resolve(),))
    load = mujoco.MjSpec.from_string if is_text else mujoco.MjSpec.from_file
    spec = load(source if is_text else str(path))
    if is_urdf(source, is_text):
        spec.compiler.fusestatic = False
        for mesh in spec.meshes:
            mesh.file = find_beside(mesh.file, folder, outside)
    if not outside:
        files.check_spec(spec)
    return spec


def _bound_memory() -> None:
    import resource

    # What is asked for may be more than what is used, which the parent watches where it can.
    space = SPACE if os.path.exists("/proc/self/statm") else MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
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
        sys.exit("could not allocate memory")
    except Exception as error:
        sys.exit(" ".join(str(error).split()))
    sys.stdout.write(f"\n{LOADED}")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
