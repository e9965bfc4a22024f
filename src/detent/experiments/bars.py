"""Measured against required, as a bar."""

from __future__ import annotations

from typing import Any

WIDE, HIGH = 120.0, 14.0  # [px]


def bar(claim: dict[str, Any]) -> str:
    """An SVG: what is allowed is light, the measured number a bar from zero, or a mark.

    A number between two bounds is shown from one tolerance below them to one above.
    """
    least, most, value = claim["least"], claim["most"], claim["measured"]
    if least is None and most is None:
        return ""
    if least is not None and most is not None:
        spread = most - least
        return _drawn(claim, least - spread, most + spread, None)
    bound = most if least is None else least
    low, high = min(0.0, value, bound), max(0.0, value, bound)
    if high <= low:
        high = low + 1.0
    spare = 0.12 * (high - low)
    return _drawn(claim, low - (spare if low < 0.0 else 0.0), high + spare, 0.0)


def _drawn(claim: dict[str, Any], low: float, high: float, origin: float | None) -> str:
    def at(number: float) -> float:
        return round(WIDE * min(max((number - low) / (high - low), 0.0), 1.0), 1)

    least, most, value = claim["least"], claim["most"], claim["measured"]
    begin, end = at(low if least is None else least), at(high if most is None else most)
    parts = [f"<rect class='allowed' x='{begin}' width='{round(end - begin, 1)}' height='{HIGH}'/>"]
    if origin is None:
        parts.append(f"<rect class='value' x='{at(value) - 1.5}' y='1' width='3' height='12'/>")
    else:
        left, right = sorted((at(origin), at(value)))
        size = max(1.5, round(right - left, 1))
        parts.append(f"<rect class='value' x='{left}' y='4' width='{size}' height='6'/>")
    for bound in (least, most):
        if bound is not None:
            x = at(bound)
            parts.append(f"<path class='bound' d='M{x} 0V{HIGH}'/>")
    said = f"measured {value:.4g}, required {_words(least, most)}"
    return (
        f"<svg class='bar' width='{WIDE}' height='{HIGH}' role='img' aria-label='{said}'>"
        f"<title>{said}</title>{''.join(parts)}</svg>"
    )


def _words(least: float | None, most: float | None) -> str:
    if least is None:
        return f"at most {most:.4g}"
    return f"at least {least:.4g}" if most is None else f"{least:.4g} to {most:.4g}"
