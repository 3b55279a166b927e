"""The size of a value as canonical JSON (RFC 8785) in UTF-8, which the budget of the state counts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from interlock.engine.ports import Json

_encode = msgspec.json.Encoder().encode


def canonical_size(value: Json, body: bytes | None = None) -> int:
    """Bytes of the canonical form; ``body`` is the compact JSON if it is at hand.

    Compact JSON differs from it only in the order of keys and in how doubles are written.
    """
    if body is None:
        body = _encode(value)
    size = len(body)
    if b"." in body or b"e" in body or b"E" in body:
        for number in _floats(value):
            size += len(canonical_float(number)) - len(_encode(number))
    return size


def canonical_float(number: float) -> str:
    """A double as ECMAScript writes it."""
    if number == 0:
        return "0"
    text = repr(number)
    sign = "-" if text[0] == "-" else ""
    digits, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = digits.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)
    plain = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(plain)
    plain = plain.rstrip("0")
    count = len(plain)
    if count <= point <= 21:
        return sign + plain + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{plain[:point]}.{plain[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{plain}"
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"{sign}{plain[0]}{'.' + plain[1:] if count > 1 else ''}{power}"


def _floats(value: Json) -> Iterator[float]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            yield item
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
