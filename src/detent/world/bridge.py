"""MuJoCo's C functions, callable from compiled code without the GIL.

Compiled, each name is a Numba external function; with ``NUMBA_DISABLE_JIT=1`` it is
the same C function through ctypes (an external function would silently do nothing).
Models and data are passed by address; whoever passes one keeps the object alive.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import mujoco
import numpy as np
from numba import types

from detent.errors import PlatformError
from detent.kernels.jit import JIT_ENABLED

MUJOCO_VERSION = 4_000_000  # meanings changed between 3.4 and 3.10: pinned


def _library_path() -> str:
    found = sorted(Path(mujoco.__file__).parent.glob("libmujoco.so*")) + sorted(
        Path(mujoco.__file__).parent.glob("libmujoco*.dylib")
    )
    if not found:
        raise PlatformError(
            f"libmujoco was not found beside {mujoco.__name__} {mujoco.__version__}"
        )
    return str(found[0])


_PATH = _library_path()
llvm.load_library_permanently(_PATH)  # before any cached code runs, or it would crash
_LIB = ctypes.CDLL(_PATH)
if _LIB.mj_version() // 1000 != MUJOCO_VERSION // 1000:
    raise PlatformError(f"Detent needs MuJoCo 4.0, this is {mujoco.mj_versionString()}")


def _external(name: str, result: Any, *args: Any) -> Any:
    if JIT_ENABLED:
        return types.ExternalFunction(name, result(*args))
    function = getattr(_LIB, name)
    sizes = {
        types.intp: ctypes.c_ssize_t,
        types.int32: ctypes.c_int,
        types.float64: ctypes.c_double,
    }
    function.argtypes = [sizes[a] for a in args]
    function.restype = None if result == types.void else sizes[result]
    return function


_V, _P, _I, _F = types.void, types.intp, types.int32, types.float64

mj_kinematics = _external("mj_kinematics", _V, _P, _P)
mj_comPos = _external("mj_comPos", _V, _P, _P)
mj_tendon = _external("mj_tendon", _V, _P, _P)
mj_makeM = _external("mj_makeM", _V, _P, _P)
mj_collision = _external("mj_collision", _V, _P, _P)
mj_transmission = _external("mj_transmission", _V, _P, _P)
mj_fwdVelocity = _external("mj_fwdVelocity", _V, _P, _P)
mj_comVel = _external("mj_comVel", _V, _P, _P)
mj_rne = _external("mj_rne", _V, _P, _P, _I, _P)
mj_fwdActuation = _external("mj_fwdActuation", _V, _P, _P)
mj_jacDot = _external("mj_jacDot", _V, _P, _P, _P, _P, _P, _I)
mjd_smooth_vel = _external("mjd_smooth_vel", _V, _P, _P, _I)
mj_integratePos = _external("mj_integratePos", _V, _P, _P, _P, _F)
mj_updateSleep = _external("mj_updateSleep", _V, _P, _P)


class ContactLayout(NamedTuple):
    """Where mjData keeps its contacts, found out once on scenes of known content."""

    ncon_offset: int  # [bytes] of the int ``ncon`` in mjData
    arena_offset: int  # [bytes] of the pointer to the arena, where the contacts start
    dtype: np.dtype  # of one mjContact, the fields that Detent reads


_MOST_PAIRS = 11  # of spheres in the scene of known content


def _sphere_pairs() -> tuple[mujoco.MjModel, mujoco.MjData]:
    ball = '<body pos="{} 0 {}"><joint type="slide" axis="0 0 1"/><geom size=".1"/></body>'
    bodies = "".join(ball.format(i, 0) + ball.format(i, 0.15) for i in range(_MOST_PAIRS))
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    return model, mujoco.MjData(model)


def _find_layout() -> ContactLayout:
    model, data = _sphere_pairs()
    mujoco.mj_forward(model, data)
    base = _address(data.contact.dist)
    dtype = _contact_dtype(data, base)
    arena = 0
    while ctypes.c_size_t.from_address(data._address + arena).value != base:
        arena += 8  # the pointer lies behind the solver statistics
        if arena > 1 << 19:
            raise PlatformError("the contact array was not found in this build of MuJoCo")
    words = np.frombuffer(memoryview((ctypes.c_byte * arena).from_address(data._address)), np.int32)
    candidates = np.ones(words.size, bool)
    for apart in (0, 3, 7, 2, _MOST_PAIRS, 5):  # some other fields hold the largest count only
        data.qpos[:] = 0.0
        data.qpos[1 : 2 * apart : 2] = 1.0
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        candidates &= words == _MOST_PAIRS - apart
    found = np.nonzero(candidates)[0]
    if len(found) != 1:
        raise PlatformError("the contact count was not found in this build of MuJoCo")
    return ContactLayout(4 * int(found[0]), arena, dtype)


def _contact_dtype(data: mujoco.MjData, base: int) -> np.dtype:
    names = ("dist", "pos", "frame", "friction", "dim", "geom", "vert", "exclude")
    fields = {name: getattr(data.contact, name) for name in names}
    return np.dtype(
        {
            "names": list(fields),
            "formats": [(a.dtype, a.shape[1:]) if a.ndim > 1 else a.dtype for a in fields.values()],
            "offsets": [_address(a) - base for a in fields.values()],
            "itemsize": data.contact.dist.strides[0],
        }
    )


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


LAYOUT = _find_layout()


def contact_views(data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """The contact count (one int) and the contacts of *data*, as views on its memory."""
    place = (ctypes.c_byte * 4).from_address(data._address + LAYOUT.ncon_offset)
    count = np.frombuffer(memoryview(place), np.int32)
    arena = ctypes.c_size_t.from_address(data._address + LAYOUT.arena_offset).value
    room = data.narena // LAYOUT.dtype.itemsize
    raw = (ctypes.c_byte * (room * LAYOUT.dtype.itemsize)).from_address(arena)
    return count, np.frombuffer(memoryview(raw), LAYOUT.dtype)


def update_sleep(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """MuJoCo's lists of who is awake, from ``tree_asleep``."""
    _LIB["mj_updateSleep"](ctypes.c_void_p(model._address), ctypes.c_void_p(data._address))


def _silence_warnings() -> None:
    """Warnings would write a log file from the tick; `Session` reads their counters instead.

    MuJoCo hands a warning's text to whatever C function it is given, and uses no result: one that
    takes nothing and only returns a number does nothing with it.
    """
    nothing = ctypes.cast(_LIB.mj_version, ctypes.c_void_p).value
    ctypes.c_void_p.in_dll(_LIB, "mju_user_warning").value = nothing


_silence_warnings()
