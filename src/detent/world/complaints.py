"""What MuJoCo says of a scene that it does not load, in plain words."""

from __future__ import annotations

import re

# In this order: what is replaced, and by what.
_WORDS = (
    (r"^(?:(?:XML )?Error: )+", ""),
    (r"^Error opening file '([^']*)'", r"there is no file '\1' where it looks for it"),
    (r"^Schema violation: ", ""),
    (r"unrecognized element Element '([^']+)'", r"unrecognized element <\1>"),
    (r"^XML parse error 18: .*", "its elements are nested too deeply: MuJoCo reads 500 levels"),
    (r"^ParseXML: empty file.*", "it is empty"),
    (r"^XML parse error \d+: .*Line number=(\d+).*", r"it is not well-formed XML, line \1"),
    (r"\(0x[0-9a-f]+\) ", ""),
    (r"must be larger than mjMINVAL", "must be positive"),
    (r" Element name '', id (\d+)", r" (number \1, which has no name)"),
    (r" Element name '([^']+)', id \d+", r" ('\1')"),
    (r" Element '([^']+)'", r" (in <\1>)"),
)


def in_words(said: object) -> str:
    """One line, without doubled prefixes and numbers of MuJoCo's own."""
    text = " ".join(str(said).split())
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    return text
