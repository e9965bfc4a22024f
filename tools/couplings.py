"""Print the table of decision 15: what each coupling does on every preset, at 4 kHz.

python tools/couplings.py [NAME…]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "devices"), str(ROOT / "tests")]

from feeling import Felt, feel, model  # noqa: E402

from detent import FourChannel, UnilateralCoupler, VirtualCoupler  # noqa: E402
from detent.coupling.base import Coupling  # noqa: E402
from detent.devices import SHEETS  # noqa: E402
from detent.errors import ServoFault  # noqa: E402

RATE = 4000.0  # [Hz]
MOST = 32  # times K that are tried


def calm(felt: Felt) -> bool:
    """At rest: within 20 µm or a count, and 0.05 N."""
    return felt.swing < max(20e-6 / felt.lever, felt.count) and felt.ripple < 0.05 * felt.lever


def shown(name: str, coupling: Coupling | None) -> str:
    """Depth [mm, mrad] and drag [N, N·m], and whether it rests."""
    felt = feel(name, RATE, coupling)
    return f"{1e3 * felt.depth:.2f}, {felt.drag:.2f}{'' if calm(felt) else ' (moves)'}"


def held(name: str) -> str:
    """How many times its own stiffness a god object holds with the same damping."""
    (k, b), times = model(name).gains(), 1
    while times < MOST:
        stiffer = UnilateralCoupler([2.0 * times * one for one in k], b)
        try:
            if not calm(feel(name, RATE, stiffer)):
                break
        except ServoFault:
            break
        times *= 2
    return f"{times} K" + (" or more" if times == MOST else "")


def main(names: list[str]) -> None:
    """One line per preset."""
    print("| preset | K | four-channel | virtual | god object | held |")
    print("|---|---|---|---|---|---|")
    for name in names or SHEETS:
        device = model(name)
        if device.takes_motion:
            continue
        k, b = device.gains()
        axis = 0 if device.sheet.actuated[:3].any() else 5
        kinds = FourChannel(), VirtualCoupler(k, b), None
        cells = " | ".join(shown(name, coupling) for coupling in kinds)
        print(f"| {name} | {k[axis]:.4g} | {cells} | {held(name)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
