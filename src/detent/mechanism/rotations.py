"""Rotations as SymPy expressions: about axes, and as an orientation on SO(3)."""

from __future__ import annotations

from typing import Any


def rot_x(angle: Any) -> Any:
    """The rotation matrix about x."""
    import sympy as sp

    c, s = sp.cos(angle), sp.sin(angle)
    return sp.Matrix([[1, 0, 0], [0, c, -s], [0, s, c]])


def rot_y(angle: Any) -> Any:
    """The rotation matrix about y."""
    import sympy as sp

    c, s = sp.cos(angle), sp.sin(angle)
    return sp.Matrix([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def rot_z(angle: Any) -> Any:
    """The rotation matrix about z."""
    import sympy as sp

    c, s = sp.cos(angle), sp.sin(angle)
    return sp.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])


class Orientation:
    r"""An orientation as a coordinate: a unit quaternion, whose velocity is the body's own.

    .. math:: \dot a = \tfrac12 a \otimes (0, \omega), \qquad \hat\omega = R^T \dot R

    It has no singularity anywhere (B12). Expressions use its `matrix` (body to world) or its
    `symbols` (w, x, y, z), and the body rates `rates` as its three velocities.
    """

    def __init__(self, name: str) -> None:
        import sympy as sp

        self.name = name
        self.symbols = sp.symbols([f"{name}_{part}" for part in "wxyz"], real=True)
        self.rates = sp.symbols([f"omega_{name}_{axis}" for axis in "xyz"], real=True)

    @property
    def matrix(self) -> Any:
        """(3, 3) from the body's frame to the world's."""
        import sympy as sp

        w, x, y, z = self.symbols
        return sp.Matrix(
            [
                [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
            ]
        )

    def rate_map(self) -> Any:
        """(4, 3) from body rates to the rates of the quaternion."""
        import sympy as sp

        w, x, y, z = self.symbols
        return sp.Matrix([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) / 2

    def __repr__(self) -> str:
        return f"Orientation({self.name!r})"
