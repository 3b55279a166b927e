"""What a plain or tagged scalar means by the YAML 1.2 core schema.

Pure functions of text; where the scalar stands is left to ``build``.
"""

from __future__ import annotations

import re
from typing import Any

from interlock.analyzer.syntax.nodes import Plain

WORDS: dict[str, Plain] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
for _word in (".inf", ".Inf", ".INF"):
    WORDS[_word] = WORDS["+" + _word] = float("inf")
    WORDS["-" + _word] = float("-inf")
for _word in (".nan", ".NaN", ".NAN"):
    WORDS[_word] = float("nan")

MAYBE_NUMBER = frozenset("0123456789+-.")
"""The characters with which a number begins."""

# Its groups are what makes the number a float.
_DECIMAL = re.compile(r"[-+]?(?:[0-9]+(\.[0-9]*)?|(\.[0-9]+))([eE][-+]?[0-9]+)?")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_YAML = "tag:yaml.org,2002:"


def number(text: str) -> int | float | str:
    """The number a plain scalar stands for; the text itself when it is none."""
    found = _DECIMAL.fullmatch(text)
    if found:
        return float(text) if found.lastindex else _integer(text, 10)
    if text[0] != "0":
        return text
    if _OCTAL.fullmatch(text):
        return _integer(text[2:], 8)
    if _HEX.fullmatch(text):
        return _integer(text[2:], 16)
    return text


def _integer(text: str, base: int) -> int | float:
    try:
        return int(text, base)
    except ValueError:  # Python refuses to convert thousands of decimal digits
        return float(text)


def plain(text: str) -> Plain:
    """The value of a plain scalar."""
    if text in WORDS:
        return WORDS[text]
    return number(text) if text[0] in MAYBE_NUMBER else text


def tagged(text: str, tag: str, is_plain: bool) -> Plain:
    """The value of a scalar with an explicit tag; the text where the tag does not fit or is unknown."""
    if not tag.startswith(_YAML):
        return text
    kind = tag[len(_YAML) :]
    if kind == "str":
        return text
    found: Any = plain(text)
    if kind == "null" and found is None:
        return None
    if kind == "bool" and isinstance(found, bool):
        return found
    if kind == "int" and isinstance(found, int) and not isinstance(found, bool):
        return found
    if kind == "float" and isinstance(found, int | float) and not isinstance(found, bool):
        try:
            return float(found)
        except OverflowError:
            return float("-inf") if found < 0 else float("inf")
    return text
