"""Names and durations: what is legal, and what is reserved (sections 2 and 3)."""

from __future__ import annotations

import re

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
WORKFLOW = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z][a-z0-9_-]*)*\Z")
NAME_LENGTH = 64
WORKFLOW_LENGTH = 128

#: Words that CEL keeps for itself, literals and operators included.
CEL_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "namespace",
        "null",
        "package",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)
ROOTS = ("inputs", "secrets", "state", "run", "lease", "index")
CEL_TYPES = frozenset(
    ["bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "optional_type", "string", "type", "uint"]
)

#: Kinds of names that stand bare in expressions.
BARE = frozenset({"step", "result", "as"})

TITLES = {
    "step": "step id",
    "input": "input name",
    "branch": "branch name",
    "result": "result key",
    "group": "group key",
    "group reference": "group key",
    "secret": "secret name",
    "output": "output name",
    "as": "`as` name",
    "payload": "payload key",
    "workflow": "workflow name",
    "workflow reference": "workflow name",
    "block": "block name",
}


def name_problem(kind: str, word: str) -> str | None:
    """Why a word is no legal name of its kind, as the end of a sentence; None where it is one."""
    if kind in ("workflow", "workflow reference"):
        if len(word) > WORKFLOW_LENGTH:
            return f"is longer than {WORKFLOW_LENGTH} characters"
        if not WORKFLOW.match(word):
            return "is not made of lower-case letters, digits, `_` and `-`, starting with a letter, dots between parts"
        return None
    if kind == "block":
        return None if word else "is empty"
    return _plain_problem(kind, word)


def _plain_problem(kind: str, word: str) -> str | None:
    if len(word) > NAME_LENGTH:
        return f"is longer than {NAME_LENGTH} characters"
    if not PLAIN.match(word):
        return "is not made of the letters A to Z, digits and `_`, starting with a letter or `_`"
    if word in CEL_RESERVED:
        return "is a reserved word of CEL"
    if kind in BARE:
        if word in ROOTS or (word == "item" and kind != "as"):
            return "is the name of a root in expressions"
        if word in CEL_TYPES:
            return "is the name of a CEL type"
    if kind == "step":
        if word == "end":
            return "means the end of a list in `next`"
        if word.startswith("_"):
            return "is private (it starts with `_`), and a step's result is part of the state"
    return None


def legal_name(kind: str, word: str) -> str | None:
    """A legal name that is a word with other separators, or a reserved one with a ``_`` behind it.

    None where there is none so close.
    """
    near = word.lower().replace(" ", "-") if kind.startswith("workflow") else re.sub(r"[-. ]", "_", word)
    if kind not in ("workflow", "workflow reference", "block") and name_problem(kind, near) is not None:
        near += "_"
    return near if near != word and kind != "block" and name_problem(kind, near) is None else None


_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?\Z")
LONGEST_DURATION = 100 * 365 * 86400


def duration(value: str | int) -> int | None:
    """Seconds of ``30s``, ``1h30m`` or a whole number of seconds; None where it is no duration.

    Durations are positive, and at most a hundred years: more is taken for a slip.
    """
    if isinstance(value, int):
        seconds = value
    else:
        match = _DURATION.match(value) if len(value) <= 64 and value.isascii() else None
        if match is None or not value:
            return int(value) if _digits(value) and 0 < int(value) <= LONGEST_DURATION else None
        seconds = sum(
            int(number) * unit for number, unit in zip(match.groups(), _UNITS.values(), strict=True) if number
        )
    return seconds if 0 < seconds <= LONGEST_DURATION else None


_WORDS = {"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "hr": 3600, "day": 86400, "week": 604800}
_WORDS |= {word + "s": seconds for word, seconds in _WORDS.items()}
_WORDS |= {**_UNITS, "w": 604800}
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]+)(?:\s*,)?(?:\s+and\b)?\s*", re.ASCII)


def meant_duration(text: str) -> str | None:
    """The right spelling of what a person takes for a duration, as ``5 minutes``; None where it is not plain."""
    rest = text.strip().lower()
    if len(rest) > 64:
        return None
    iso = re.match(r"p(?:(\d+)d)?(?:t((?:\d+[hms])+))?\Z", rest)
    if iso and (iso[1] or iso[2]):
        rest = (f"{iso[1]}d" if iso[1] else "") + (iso[2] or "")
    at, seconds = 0, 0.0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None or part[2] not in _WORDS:
            return None
        seconds += float(part[1]) * _WORDS[part[2]]
        at = part.end()
    return spell_duration(seconds) if 0 < seconds <= LONGEST_DURATION and seconds == int(seconds) else None


def _digits(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 12


def spell_duration(seconds: float) -> str:
    """A duration as a person writes it: 5400 is ``1h30m``."""
    rest = int(seconds)
    text = ""
    for unit, size in _UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            text += f"{count}{unit}"
    return text or f"{seconds}s"
