"""Reading a scene that may read only files of one folder; and, as a script, loading it for a try.

What MuJoCo reads while it parses (``include``, ``model``) is followed here first, in the XML;
what it reads when it compiles is looked up in the spec that it parsed, with the folders
that this names. MuJoCo's parser takes more than XML: what a strict one does not take is refused,
for nobody can say what it names. As a script it runs in
the child process of screen.py, with bounded memory and processor time; it imports nothing of
Detent's.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

MOST_MEMORY = 1 << 30  # [bytes] that loading may take
SPACE = 8 * MOST_MEMORY  # [bytes] that it may ask for
LOADED = "loaded"
PARENTS = 2  # folders above a URDF in which its package may begin
TOO_LONG = signal.SIGPROF  # ends the child when its processor time is used up
_ALLOW = "allow_outside=True (--allow-outside) permits it"
_TRY = "what it reads cannot be checked; allow_outside=True (--allow-outside) lets MuJoCo try"
_ENDS = expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]
_MISMATCH = expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]
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


class Unclear(Refused):
    """Nobody can say what a file reads, but MuJoCo may make sense of it."""


def _without_comment(token: re.Match[str]) -> str:
    text = token.group()
    if text.startswith("<!--"):  # strict XML has no "--" in it, files of others do
        return "\n" * text.count("\n")
    if text[1:].lower().startswith(_READ_AT_ONCE) and _BROKEN.search(text):
        raise Unclear(f"a file name has a line break or a tab in it: {' '.join(text.split())}")
    return text


def elements(source: bytes | str, name: str) -> list[Element]:
    """Tags (in small letters: MuJoCo ignores their case) and attributes, in order."""
    found: list[Element] = []
    within: list[tuple[str, int]] = []  # tags that are open, and their lines

    def begin(tag: str, attributes: dict[str, str]) -> None:
        found.append((tag.lower(), attributes))
        within.append((tag, parser.CurrentLineNumber))

    def refuse_types(*_: object) -> None:
        raise Unclear(
            f"{name} has a document type declaration, which MuJoCo does not read; {_ALLOW}"
        )

    parser = expat.ParserCreate(encoding="utf-8")  # no namespaces: MuJoCo knows of none
    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda tag: within.pop()
    parser.StartDoctypeDeclHandler = refuse_types
    try:
        text = source if isinstance(source, str) else source.decode("utf-8-sig")
    except UnicodeError:
        raise Unclear(f"{name} is not UTF-8 text; {_TRY}") from None
    try:
        parser.Parse(_TOKEN.sub(_without_comment, text), True)
    except expat.ExpatError as error:
        raise _malformed(error, name, text, found, within) from None
    return found


def _malformed(
    error: expat.ExpatError, name: str, text: str, found: list[Element], within: list[Any]
) -> Refused:
    """What is wrong with text that is not XML, and whether MuJoCo would take it all the same."""
    if not text.strip():
        return Refused(f"{name} is empty")
    if error.code == _ENDS and not found:
        return Refused(f"{name} has no element in it")
    where = f"line {error.lineno}, column {error.offset + 1}"
    what = expat.ErrorString(error.code)
    if within and error.code in (_ENDS, _MISMATCH):
        tag, line = within[-1]
        what = f"<{tag}> of line {line} is not closed there" + (
            ", where the text ends" if error.code == _ENDS else ""
        )
    said = f"{name} is not well-formed XML, {where} ({what})"
    return Unclear(f"{said}; {_TRY}") if _mujoco_parses(text) else Refused(said)


def _mujoco_parses(text: str) -> bool:
    """Whether MuJoCo's parser takes the text as XML; with no ``file`` in it, it reads none."""
    import mujoco

    try:
        mujoco.MjSpec.from_string(re.sub("file", "f_le", text, flags=re.IGNORECASE))
    except Exception as error:  # what it says of an attribute shows that it got so far
        return "XML parse error" not in str(error)
    return True


def _read(path: Path) -> bytes:
    _check_plain(path, path.name)
    if path.is_dir():
        raise Refused(f"it includes {path.name!r}, which is a folder")
    return path.read_bytes()


def _check_plain(path: Path, name: str) -> None:
    """Refuse a pipe or a device, which may never end; MuJoCo says what is wrong with a folder."""
    mode = path.stat().st_mode if path.exists() else stat.S_IFREG
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise Refused(f"it reads {name!r}, which is not a file, but a pipe or a device")


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


class Screening:
    """What a scene may read; follows what it reads while it is parsed, with all folders."""

    def __init__(self, folder: Path, root: Path, outside: bool) -> None:
        self.folder, self.root, self.outside = folder, root, outside
        self.folders = [folder]
        self._seen: set[Path] = set()

    def check_place(self, place: Path, name: str) -> None:
        """Refuse what lies outside the folder that may be read, and what is no plain file."""
        real, root = place.resolve(), self.root.resolve()
        if not self.outside and not real.is_relative_to(root):
            both = os.path.commonpath((real, root))
            allow = _ALLOW if both == os.path.sep else f"root={both!r} (--root {both}) permits it"
            which = "its folder" if self.root == self.folder else f"the folder {root}"
            raise Refused(f"it reads {name!r}, which is outside {which}; {allow}")
        _check_plain(place, name)

    def follow(self, found: list[Element], here: Path, top: Path, trail: tuple[Path, ...]) -> None:
        """Refuse what is read outside the folder, and what includes itself."""
        for tag, attributes in found:
            if tag not in _READ_AT_ONCE or "file" not in attributes:
                continue
            name = attributes["file"]
            if tag == "flexcomp":
                raise Refused("it has flexible bodies, which Detent does not render")
            if _PREFIX.match(name):
                raise Unclear(f"it reads {name!r}, which is no plain file name; {_ALLOW}")
            for place in _places(name, [top, here]):
                self.check_place(place, name)
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
        """Refuse a parsed spec that would read what it may not to compile."""
        for name, place in _assets(spec):
            if not name:
                continue
            kept = [base / place.replace("\\", "/") for base in self.folders]
            kept += [Path(os.path.normpath(one)) for one in kept]
            for file in (name, name.replace("\\", "/").rpartition("/")[2]):  # or stripped
                for path in _places(file, kept):
                    self.check_place(path, name)

    def find_beside(self, name: str) -> str:
        """A mesh of a URDF (``package://robot/meshes/a.stl``) beside the file, or the name itself.

        It is looked for in the folder of the file, and above it as far as it may read.
        """
        parts = Path(_SCHEME.sub("", name).replace("\\", "/")).parts
        if name.lower().startswith("file:") or Path(name).is_absolute():
            return "/" + "/".join(part for part in parts if part != "/")
        above = list(self.folder.resolve().parents)
        within = [base for base in above if base.is_relative_to(self.root.resolve())]
        for base in (self.folder, *(above[:PARENTS] if self.outside else within)):
            if place := _find_part(base, parts):
                self.check_place(place, name)
                return str(place)
        if not _SCHEME.match(name):
            return name  # MuJoCo says where it looked
        for base in above[:PARENTS]:
            if _find_part(base, parts):
                raise Refused(f"it reads {name!r}, which is in {base}; --root {base} permits it")
        raise Refused(
            f"there is no file {name!r}, neither in {self.folder} nor in the two folders above it"
        )


def _find_part(base: Path, parts: tuple[str, ...]) -> Path | None:
    """A file by the end of its path: the name of its package may be that of the folder, or not."""
    places = (os.path.normpath(base / Path(*parts[skip:])) for skip in range(len(parts)))
    return next((Path(place) for place in places if os.path.isfile(place)), None)


def _assets(spec: Any) -> Iterator[tuple[str, str]]:
    """File names, and the folder in which MuJoCo looks for each: that of its own model."""
    for one in (*spec.meshes, *spec.hfields, *spec.skins):
        yield one.file, one.compiler.meshdir
    for one in spec.textures:
        for name in (one.file, *one.cubefiles):
            yield name, one.compiler.texturedir


def read_spec(source: str, is_text: bool, outside: bool, root: str = ""):  # type: ignore[no-untyped-def]
    """Parse a file, or text, into an ``MjSpec`` that reads only what it may."""
    import mujoco

    path = Path.cwd() / "scene.xml" if is_text else Path(source).absolute()
    folder = path.parent
    files = Screening(folder, Path(root).absolute() if root else folder, outside)
    try:
        own = elements(source if is_text else path.read_bytes(), "it")
        files.follow(own, folder, folder, () if is_text else (path.resolve(),))
    except Unclear:
        if not outside:
            raise
    load = mujoco.MjSpec.from_string if is_text else mujoco.MjSpec.from_file
    spec = load(source if is_text else str(path))
    if is_urdf(source, is_text):
        spec.compiler.fusestatic = False
        for mesh in spec.meshes:
            mesh.file = files.find_beside(mesh.file)
    files.check_spec(spec)
    return spec


def space() -> int:
    """[bytes] of addresses that a child may ask for: as many as it may use, and as the shell says.

    What is asked for may be more than what is used, which the parent watches where it can.
    """
    import resource

    ours = SPACE if os.path.exists("/proc/self/statm") else MOST_MEMORY
    set_already = resource.getrlimit(resource.RLIMIT_AS)
    return min(ours, *(one for one in set_already if one != resource.RLIM_INFINITY), ours)


def _bound_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (space(), space()))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _main(source: str, outside: str, root: str, patience: str) -> None:
    _bound_memory()
    try:
        import mujoco
    except ImportError as error:
        sys.exit(f"could not allocate memory for MuJoCo ({error})")
    mujoco.set_mju_user_warning(lambda message: None)
    is_text = source == "text"
    text = sys.stdin.read() if is_text else source
    signal.setitimer(signal.ITIMER_PROF, float(patience))  # from here on: the scene alone
    try:
        read_spec(text, is_text, bool(int(outside)), root).compile()
    except MemoryError:
        sys.exit("could not allocate memory")
    except Exception as error:
        sys.exit(" ".join(str(error).split()))
    sys.stdout.write(f"\n{LOADED}")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    _main(*sys.argv[1:])
