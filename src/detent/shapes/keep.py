"""Baked surfaces in files beside compiled code: by content, checked, bounded, loaded as maps."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from detent.errors import DetentError
from detent.kernels.cached import cache_home
from detent.shapes.surface import FORMAT, Surface, bake, content_key
from detent.shapes.tree import Tree

MAGIC = b"DETENTSHAPE\n"
ALIGNED = 64  # [bytes]
MOST_KEPT = 4 * 2**30  # [bytes] of all surfaces together; those used longest ago go first
SUFFIX = ".shape"


class KeptShapeError(DetentError):
    """A file of the cache is not what it should be."""

    def __init__(self, place: Path, problem: str) -> None:
        super().__init__(f"{place.name} in the cache of shapes {problem}")
        self.place, self.problem = place, problem


def folder() -> Path:
    """Where surfaces are kept."""
    return cache_home() / "shapes"


def kept_surface(
    vertices: np.ndarray,
    faces: np.ndarray,
    name: str,
    thickness: float = 0.0,
    progress: Callable[[float], None] = lambda done: None,
) -> Surface:
    """The surface of a mesh, from the cache if that has it; baked, and kept, otherwise.

    A file that is damaged or foreign is baked anew. A cache that cannot be written is done without.
    """
    place = folder() / f"{content_key(vertices, faces, thickness)}{SUFFIX}"
    try:
        return load(place)
    except (KeptShapeError, OSError):
        pass
    surface = bake(vertices, faces, name, thickness, progress=progress)
    try:
        store(place, surface)
        return load(place)
    except OSError:
        return surface


def is_kept(vertices: np.ndarray, faces: np.ndarray, thickness: float = 0.0) -> bool:
    """Whether there is a file of that surface."""
    return (folder() / f"{content_key(vertices, faces, thickness)}{SUFFIX}").exists()


def store(place: Path, surface: Surface) -> None:
    """Write a surface under another name first: a cache never holds half of one."""
    flat = _flat(surface)
    arrays = {name: value for name, value in flat.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in flat.items() if name not in arrays}
    listed, at = [], 0
    for name, array in arrays.items():
        listed.append([name, array.dtype.str, array.shape, at])
        at += -(-array.nbytes // ALIGNED) * ALIGNED
    data = bytearray(at)
    for (_, _, _, first), array in zip(listed, arrays.values(), strict=True):
        data[first : first + array.nbytes] = np.ascontiguousarray(array).tobytes()
    header = json.dumps(
        {"format": FORMAT, "arrays": listed, "plain": plain, "bytes": at, "sum": zlib.crc32(data)}
    ).encode()
    start = -(-(len(MAGIC) + 16 + len(header)) // ALIGNED) * ALIGNED
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = place.with_suffix(f".{os.getpid()}.part")
    with scratch.open("wb") as file:
        file.write(MAGIC + f"{len(header):08x}{zlib.crc32(header):08x}".encode() + header)
        file.write(bytes(start - file.tell()))
        file.write(data)
    scratch.replace(place)
    forget_oldest(place)


def load(place: Path) -> Surface:
    """A surface whose arrays are maps of a file."""
    header, start = _header(place)
    if header.get("format") != FORMAT:
        raise KeptShapeError(place, f"has the format {header.get('format')!r}, not {FORMAT}")
    if not {"bytes", "sum", "plain", "arrays"} <= header.keys():
        raise KeptShapeError(place, "has a header that says too little")
    if place.stat().st_size != start + header["bytes"]:
        raise KeptShapeError(place, "is cut short or too long")
    whole: np.ndarray = np.asarray(np.memmap(place, np.uint8, "c", start))
    if zlib.crc32(whole.data) != header["sum"]:
        raise KeptShapeError(place, "is damaged")
    with contextlib.suppress(OSError):  # of somebody else: it is read all the same
        os.utime(place)
    flat: dict[str, Any] = dict(header["plain"])
    for name, kind, shape, first in header["arrays"]:
        dtype = np.dtype(kind)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        flat[name] = whole[first : first + size].view(dtype).reshape(shape)
    try:
        return _whole(flat)
    except (KeyError, TypeError) as error:
        raise KeptShapeError(place, f"lacks {error}") from None


def _header(place: Path) -> tuple[dict[str, Any], int]:
    with place.open("rb") as file:
        said = file.read(len(MAGIC) + 16)
        if said[: len(MAGIC)] != MAGIC:
            raise KeptShapeError(place, "is no file of a shape")
        try:
            length, check = int(said[-16:-8], 16), int(said[-8:], 16)
        except ValueError:
            raise KeptShapeError(place, "has no header") from None
        text = file.read(length)
    if len(text) != length or zlib.crc32(text) != check:
        raise KeptShapeError(place, "has a damaged header")
    return json.loads(text), -(-(len(MAGIC) + 16 + length) // ALIGNED) * ALIGNED


def _flat(surface: Surface) -> dict[str, Any]:
    """All fields of a surface and of its tree, side by side."""
    flat = {name: value for name, value in surface._asdict().items() if name != "tree"}
    return flat | {f"tree.{name}": value for name, value in surface.tree._asdict().items()}


def _whole(flat: dict[str, Any]) -> Surface:
    tree = Tree(**{name: flat[f"tree.{name}"] for name in Tree._fields})
    named = {name: flat[name] for name in Surface._fields if name not in ("tree", "notes")}
    return Surface(**named, tree=tree, notes=tuple(flat["notes"]))


def forget_oldest(newest: Path, most: int = MOST_KEPT) -> None:
    """Take away the surfaces that were used longest ago, until the others are small enough."""
    files = []
    for file in newest.parent.glob(f"*{SUFFIX}"):
        try:
            files.append((file.stat().st_mtime, file.stat().st_size, file))
        except FileNotFoundError:  # another process took it away
            continue
    total = sum(size for _, size, _ in files)
    for _, size, file in sorted(files):
        if total <= most:
            return
        if file != newest:
            file.unlink(missing_ok=True)
            total -= size
