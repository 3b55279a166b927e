"""Path patterns of the configuration: ``*``, ``?``, ``[…]`` within a name, ``**`` over folders.

A pattern without a slash matches a name anywhere; one with a slash counts from the workspace's root.
Paths are relative to that root, with slashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def _expression(pattern: str) -> str:
    pattern = pattern.removeprefix("./")
    anchored = "/" in pattern.rstrip("/")
    pattern = pattern.strip("/")
    parts: list[str] = [] if anchored else ["(?:.*/)?"]
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(".*")
            at += 2
        elif pattern[at] == "*":
            parts.append("[^/]*")
            at += 1
        elif pattern[at] == "?":
            parts.append("[^/]")
            at += 1
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]")
            at = end + 1
        else:
            parts.append(re.escape(pattern[at]))
            at += 1
    return "".join(parts)


class Globs:
    """Several patterns as one question.

    ``folders`` lets a pattern that matches a folder match all that is in it, as ``exclude`` means it.
    """

    def __init__(self, patterns: Iterable[str], *, folders: bool = False) -> None:
        parts = [_expression(pattern) for pattern in patterns]
        ending = "(?:/.*)?" if folders else ""
        self._regex = re.compile(f"(?:{'|'.join(parts)}){ending}", re.DOTALL) if parts else None

    def match(self, path: str) -> bool:
        return self._regex is not None and self._regex.fullmatch(path) is not None


def problem(pattern: str) -> str | None:
    """Why a text is no pattern, or None."""
    if not pattern.strip("/"):
        return "it is empty"
    try:
        re.compile(_expression(pattern))
    except re.error:
        return "its brackets hold no range of characters"
    return None
