"""Text for a terminal: what would move its cursor, colour it or turn its direction is shown instead of sent.

Names of files, words of a definition and answers of other programs may hold anything; every front door
passes what it prints for people through here.  JSON and the like have escapes of their own.
"""

from __future__ import annotations

import re

# Control characters of both sets, the separators of lines and paragraphs, and the marks of direction.
_ACTIVE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def plain(text: str, keep: str = "") -> str:
    """The text on one line, with escapes like ``\\n`` and ``\\u202e``; the characters of ``keep`` stay."""
    return _ACTIVE.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    return _NAMES.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
