"""What the columns of a trace are measured in, and what their elements are called."""

from __future__ import annotations

PLACE, TURN = ("x", "y", "z"), ("w", "x", "y", "z")
WRENCH = tuple(f"{part}_{axis}" for part in ("force", "torque") for axis in PLACE)
TWIST = tuple(f"{part}_{axis}" for part in ("linear", "angular") for axis in PLACE)

#: how a column's name ends: the names of its elements, and their units
ENDINGS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "position": (PLACE, ("m",) * 3),
    "quaternion": (TURN, ("1",) * 4),
    "wrench": (WRENCH, ("N",) * 3 + ("N·m",) * 3),
    "twist": (TWIST, ("m/s",) * 3 + ("rad/s",) * 3),
    "acceleration": (TWIST, ("m/s²",) * 3 + ("rad/s²",) * 3),
    "tracking_error": (TWIST, ("m",) * 3 + ("rad",) * 3),
    "update_step": (("force", "torque"), ("N", "N·m")),
    "track": (PLACE, ("m",) * 3),
    "energy": ((), ("J",)),
    "energies": ((), ("J",)),
    "depth": ((), ("m",)),
    "deformation": ((), ("m",)),
    "closure": ((), ("m",)),
    "closure_angle": ((), ("rad",)),
    "time": ((), ("s",)),
    "age": ((), ("s",)),
    "_ns": ((), ("ns",)),
}


def _ending(column: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    fits = [end for end in ENDINGS if column.endswith(end)]
    return ENDINGS[max(fits, key=len)] if fits else ((), ())


def elements(column: str, size: int | None) -> list[str]:
    """What the elements of a column are called in a flat table: axes, or numbers."""
    if size is None:
        return [column]
    names = _ending(column)[0]
    if len(names) != size:
        names = tuple(map(str, range(size)))
    return [f"{column}_{name}" for name in names]


def units(column: str, size: int | None) -> list[str]:
    """The unit of each element; "1" for what is counted, and "" where it depends on the joint."""
    count = size or 1
    known = _ending(column)[1]
    if len(known) == count:
        return list(known)
    if len(known) == 1:
        return list(known) * count
    return ["1" if size is None else ""] * count
