"""JSON values as the engine keeps them: what may be one, their canonical form, and how they read as text.

An int and a float stay apart everywhere (section 3): ``1.0`` is stored as ``1.0`` and comes back as
a double.  Evaluating expressions is left to ``evaluate``.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

Json: TypeAlias = Any

MAX_DEPTH = 256
"""How deep lists and maps may be nested; what is deeper is no value (the runtime of CEL dies of it)."""

_LARGEST = 2**63
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class NotJson(ValueError):
    """Something is no JSON value of the language; the text says what and where."""


def json_value(value: object, where: str = "the value") -> Json:
    """The value with its numbers as section 3 reads them, or `NotJson`.

    Whole numbers beyond signed 64 bits become doubles; tuples become lists.  NaN, infinities, lone
    surrogates, keys that are no text, and anything that JSON does not know are refused.
    """
    return _json_value(value, where, MAX_DEPTH)


def _json_value(value: object, where: str, depth: int) -> Json:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return _text(value, where)
    if isinstance(value, int):
        return int(value) if -_LARGEST <= value < _LARGEST else _double(value, where)
    if isinstance(value, float):
        return _double(value, where)
    if not depth:
        raise NotJson(f"{where} may be nested at most {MAX_DEPTH} levels deep")
    if isinstance(value, list | tuple):
        return [_json_value(item, where, depth - 1) for item in value]
    if isinstance(value, dict):
        made = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotJson(f"{where} may not have a key that is no text ({_kind(key)}), as JSON knows only texts")
            made[_text(key, where)] = _json_value(item, where, depth - 1)
        return made
    raise NotJson(f"{_kind(value)} stands in {where}, which JSON does not know")


def _text(value: str, where: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotJson(f"half of a surrogate pair stands in {where}, which is no character") from None
    return value


def _double(value: float, where: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number - number != 0:
        raise NotJson(f"a number stands in {where} that JSON does not know (not a number, or beyond a double)")
    return number


def _kind(value: object) -> str:
    name = type(value).__name__
    kinds = {"bytes": "bytes", "bytearray": "bytes", "datetime": "a timestamp", "timedelta": "a duration"}
    return kinds.get(name) or f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def load(text: bytes | str) -> Json:
    """The value of a JSON text; `NotJson` where it is none."""
    try:
        return json_value(_decode(text), "the text")
    except (msgspec.DecodeError, UnicodeError) as error:
        raise NotJson(f"the text is not JSON: {error}") from None
    except RecursionError:
        raise NotJson(f"the text may be nested at most {MAX_DEPTH} levels deep") from None


def dump(value: Json) -> bytes:
    """The value as compact JSON that `load` gives back with every number of its kind."""
    return _encode(value)


_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"')
_BRACKETS = re.compile(rb"[\[\]{}]")


def too_deep(packed: bytes) -> bool:
    """Whether compact JSON is nested deeper than ``MAX_DEPTH``; a deeper one ends the runtime of CEL.

    How deep the encoder goes by itself depends on the version of Python, so it is no measure.
    """
    if packed.count(b"[") + packed.count(b"{") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b"", packed)):
        depth += 1 if bracket in (b"[", b"{") else -1
        if depth > MAX_DEPTH + 1:
            return True
    return False


# --- RFC 8785 ----------------------------------------------------------------------------------


def number_text(value: float) -> str:
    """A finite double in the shortest form of RFC 8785 (that of ECMAScript)."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + digits[0] + ("." + digits[1:] if count > 1 else "") + power


_ESCAPE = re.compile(r'["\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _quoted(text: str) -> str:
    return '"' + _ESCAPE.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04x}", text) + '"'


def _order(name: str) -> bytes:
    # RFC 8785 sorts by UTF-16 code units.
    return name.encode("utf-16-be", "surrogatepass")


def canonical(value: Json) -> str:
    """The value as canonical JSON (RFC 8785); whole numbers are written out exactly."""
    parts: list[str] = []
    _canonical(value, parts.append)
    return "".join(parts)


def _canonical(value: Json, write: Any) -> None:
    if isinstance(value, str):
        write(_quoted(value))
    elif value is None:
        write("null")
    elif value is True or value is False:
        write("true" if value else "false")
    elif isinstance(value, int):
        write(str(value))
    elif isinstance(value, float):
        write(number_text(value))
    elif isinstance(value, dict):
        write("{")
        names = sorted(value) if all(map(str.isascii, value)) else sorted(value, key=_order)
        for number, name in enumerate(names):
            write(f"{',' if number else ''}{_quoted(name)}:")
            _canonical(value[name], write)
        write("}")
    else:
        write("[")
        for number, item in enumerate(value):
            if number:
                write(",")
            _canonical(item, write)
        write("]")


def as_text(value: Json) -> str:
    """How a value reads inside a text (section 3); null has no text and must be refused before."""
    if isinstance(value, str):
        return value
    return canonical(value)
