"""What is wrong with an expression: a code of the language, a span, a message, perhaps a fix.

Positions are code-point offsets into the text that was parsed; placing them in a file is the caller's
part, as are severities and suppressions.
"""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """One finding. ``fix`` is ``(start, end, replacement)``: the text to put over that range."""

    code: str
    start: int
    end: int
    message: str
    hint: str | None = None
    fix: tuple[int, int, str] | None = None
