"""The words of CEL: tokens with their spans, and the values of literals.

Follows the grammar of Google's C++ runtime, not the looser one of the specification (``0X1F`` and
``1.`` are no numbers there). What the tokens mean together is the parser's part.
"""

from __future__ import annotations

import re

ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
STRING = (
    rf"[rR](?:'''(?s:.*?)'''|\"\"\"(?s:.*?)\"\"\"|'[^'\n\r]*'|\"[^\"\n\r]*\")"
    rf"|'''(?:{ESCAPE}|[^\\])*?'''|\"\"\"(?:{ESCAPE}|[^\\])*?\"\"\""
    rf"|'(?:{ESCAPE}|[^\\'\n\r])*'|\"(?:{ESCAPE}|[^\\\"\n\r])*\""
)
TOKEN = re.compile(
    rf"""(?P<space>[\t\ \r\n\f]+|//[^\n]*)
    |(?P<string>{STRING})
    |(?P<bytes>[bB](?:{STRING}))
    |(?P<ident>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<punct>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{{}}])
    |(?P<escaped>`[A-Za-z0-9_.\-/\ ]+`)
    |(?P<bad>(?s:.))""",
    re.VERBOSE,
)
KEYWORDS = frozenset({"in", "true", "false", "null"})
RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"}
    | {"package", "namespace", "return", "var", "void", "while"}
)
"""Words that CEL keeps for itself as names; as fields and methods they are fine."""

MAX_LENGTH = 100_000
"""Code points that the runtime accepts in one expression."""

_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = re.compile(r"(?s)\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[xX][0-9a-fA-F]{2}|[0-7]{3}|.)")


class BadLiteral(ValueError):
    """The literal has the form of one, but no value; the text says why."""


def string_value(text: str) -> tuple[str, str]:
    """The value of a string literal and its opening quotes; raises BadLiteral."""
    raw = text[0] in "rR"
    body, quote = _unquote(text[1:] if raw else text)
    if raw:
        _check_raw(body)
        return body, quote
    if "\\" not in body:
        return body, quote
    return _ESCAPED.sub(_character, body), quote


def bytes_value(text: str) -> tuple[bytes, str]:
    """The value of a bytes literal, prefix included, and its opening quotes; raises BadLiteral."""
    text = text[1:]
    raw = text[0] in "rR"
    body, quote = _unquote(text[1:] if raw else text)
    if raw:
        _check_raw(body)
        return body.encode("utf-8", "surrogatepass"), quote
    out = bytearray()
    at = 0
    for match in _ESCAPED.finditer(body):
        out += body[at : match.start()].encode("utf-8", "surrogatepass")
        at = match.end()
        escape = match[1]
        if escape[0] in "uU":
            raise BadLiteral(f"\\{escape[0]} cannot stand in a bytes literal")
        out += bytes([_code(escape)]) if escape[0] in "xX01234567" else _SIMPLE.get(escape, escape).encode()
    return bytes(out + body[at:].encode("utf-8", "surrogatepass")), quote


def _unquote(text: str) -> tuple[str, str]:
    triple = text[:3]
    if len(text) >= 6 and triple in ("'''", '"""'):
        # Only a triple-quoted literal holds line ends, and the runtime reads each as \n.
        return text[3:-3].replace("\r\n", "\n").replace("\r", "\n"), triple
    return text[1:-1], text[0]


def _check_raw(body: str) -> None:
    if (len(body) - len(body.rstrip("\\"))) % 2:
        raise BadLiteral("a raw string cannot end with an odd number of backslashes")


def _code(escape: str) -> int:
    return int(escape[1:], 16) if escape[0] in "xXuU" else int(escape, 8)


def _character(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] not in "xXuU01234567":
        return _SIMPLE.get(escape, escape)
    code = _code(escape)
    if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        raise BadLiteral(f"\\{escape} is no Unicode character")
    return chr(code)
