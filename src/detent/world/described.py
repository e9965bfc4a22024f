"""What the built-in worlds are, in the first sentence of their files."""

from __future__ import annotations

import re
from pathlib import Path

_SENTENCE = re.compile(r"<!--\s*(.+?)\.\s", re.DOTALL)


def first_sentence(path: Path) -> str:
    """Of the first comment of an XML file; nothing if there is none."""
    found = _SENTENCE.search(path.read_text(encoding="utf-8"))
    return " ".join(found.group(1).split()) if found else ""
