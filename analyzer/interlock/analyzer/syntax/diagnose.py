"""What is wrong with a text that is not YAML: in a person's words, and where the slip was made.

A parser notices a slip only when it can go on no further, often lines later; this looks back from
there.  It judges one refused piece at a time and always gives exactly one problem.
"""

from __future__ import annotations

import re
import unicodedata

from interlock.analyzer.source.text import Piece, Span
from interlock.analyzer.syntax.build import Refusal
from interlock.analyzer.syntax.nodes import SyntaxProblem

_QUOTE = re.compile(r"(?:(?<=[\s:,\[{(])|\A)[\"']|(?<=\s)#")
_CLOSED = {
    '"': re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    "'": re.compile(r"'(?:[^'\n]|'')*'"),
}
_KEY_LINE = re.compile(r"[ ]*(?:- +)*[\w.\"'$-]+ *:(?:\s|\Z)|[ ]*- ")
_BLOCK_HEADER = re.compile(r"(?:^|[:\-] +)(?:[&!]\S+ +)*[|>][-+0-9]*[ \t]*(?:#.*)?$")
_DASHED = re.compile(r"-[^\s-]")
_WORD = re.compile(r"[^\s,\[\]{}:\"'#]+|\S")
# A flow mapping of one key without a value: what a template looks like that is not in quotes.
_INNER = r"\{(?![^{}\n]*: )[^{}\n,]+(?:\([^{}\n]*)?\}"
_TEMPLATE = re.compile(_INNER)
_TEMPLATE_BEFORE = re.compile(rf"(?:\A|[\s,\[{{])({_INNER})[ ]*\Z")
_VALUE_START = re.compile(r"(?:.*[,:\[{](?:\s+|(?<=[\[{])))?")
_FLOW_TEXT = re.compile(r"(?:[^{}\[\],\n]|\{[^{}\n]*\})*")
_BLOCK_TEXT = re.compile(r"(?:(?! #).)*")
_QUOTES = "\"'"
_KEY = re.compile(r"([\w.$-]+|\"[^\"\n]*\"|'[^'\n]*') *:(?=\s|\Z)")
_SECOND_COLON = re.compile(r"[^\s\"'#][^\n]*?:(?:[ \t]|$)")


def _problem(
    piece: Piece,
    start: int,
    end: int,
    message: str,
    hint: str | None = None,
    related: tuple[tuple[Span, str], ...] = (),
) -> SyntaxProblem:
    size = len(piece.text)
    start = min(start, size)
    return SyntaxProblem("IL101", Span(piece, start, max(start, min(end, size))), message, hint, related)


def illegal(piece: Piece, at: int) -> SyntaxProblem:
    """The problem of a character that no YAML text may hold."""
    code = ord(piece.text[at])
    name = {12: "form feed", 0: "null"}.get(code, "control character")
    if 0xD800 <= code <= 0xDFFF:
        message = f"half of a surrogate pair (U+{code:04X}) stands here, which is no character; remove it"
    else:
        message = (
            f"a {name} (U+{code:04X}) stands here, which YAML does not allow; "
            f'remove it, or write it as "\\x{code:02x}" in double quotes'
        )
    return _problem(piece, at, at + 1, message)


def outdented(piece: Piece, text: str, start: int, column: int) -> SyntaxProblem | None:
    """The problem of a key that stands before the column of a step's keys; None where no key begins there.

    ``column`` is where the keys of the step above begin, counted from 0.
    """
    key = _KEY.match(text, start)
    if key is None:
        return None
    message = (
        f'"{key[1].strip(_QUOTES)[:40]}" is not indented like the keys of the step above it, '
        "so it is no part of that step"
    )
    more = column - (start - _line_start(text, start))
    hint = f"indent it by {more} more space{'' if more == 1 else 's'}" if more > 0 else "indent it as they are"
    return _problem(piece, start, _line_end(text, start), message, hint)


def diagnose(piece: Piece, text: str, refusal: Refusal) -> SyntaxProblem:
    """The one problem of a refused piece."""
    if refusal.deep:
        return _problem(piece, refusal.at, refusal.at + 1, refusal.problem)
    quote = _open_quote(text, refusal.at)
    if quote is not None:
        mark = text[quote]
        return _problem(
            piece,
            quote,
            _line_end(text, quote),
            f"the text that begins with this {_named(mark)} is never closed; end it with another one",
        )
    found = _flow(piece, text, refusal)
    return found or _block(piece, text, refusal)


def _named(mark: str) -> str:
    return "double quote" if mark == '"' else "single quote"


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return at + len(text[at:end].rstrip())


def _indent(text: str, at: int) -> int:
    start = _line_start(text, at)
    return len(text[start:]) - len(text[start:].lstrip(" "))


def _column(text: str, at: int) -> int:
    """The column of what the line of a place begins with, behind the ``-`` of list items."""
    start = _line_start(text, at)
    return len(text[start:]) - len(text[start:].lstrip(" -"))


def _word(text: str, at: int) -> tuple[str, int]:
    """The word at a place, and where it ends."""
    found = _WORD.match(text, at)
    if not found:
        return "", at
    return (found[0] if len(found[0]) <= 40 else found[0][:37] + "..."), found.end()


def _open_quote(text: str, upto: int) -> int | None:
    """The quote of a value that is not closed on its line although the next line is an entry."""
    start = 0
    scalar_indent: int | None = None
    while start <= upto and start < len(text):
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        line = text[start:stop]
        indent = len(line) - len(line.lstrip(" "))
        if scalar_indent is not None and line.strip() and indent <= scalar_indent:
            scalar_indent = None
        if scalar_indent is None and line.strip():
            at = _unclosed(line)
            if at is not None:
                rest = text[stop + 1 :].lstrip("\r\n")
                if not rest.strip() or _KEY_LINE.match(rest):
                    return start + at
            if _BLOCK_HEADER.search(line):
                scalar_indent = indent
        start = stop + 1
    return None


def _unclosed(line: str) -> int | None:
    """The column of a quote that opens on this line and does not close on it."""
    at = 0
    while found := _QUOTE.search(line, at):
        mark = found[0]
        if mark == "#":
            return None
        closed = _CLOSED[mark].match(line, found.start())
        if not closed:
            return found.start()
        at = closed.end()
    return None


def _flow(piece: Piece, text: str, refusal: Refusal) -> SyntaxProblem | None:
    """What is wrong inside ``[…]`` or ``{…}``."""
    opened = refusal.flow
    if opened is None or opened >= len(text) or text[opened] not in "[{":
        return None
    bracket = text[opened]
    closing = "]" if bracket == "[" else "}"
    at = refusal.at
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    ended = at >= len(text.rstrip())
    below = _line_start(text, at) > opened and _indent(text, at) <= _column(text, opened)
    if ended or (below and text[at] not in "]}"):
        return _problem(
            piece,
            opened,
            opened + 1,
            f'this "{bracket}" is never closed; a "{closing}" is missing',
        )
    word, end = _word(text, at)
    related = ((Span(piece, opened, opened + 1), f'inside this "{bracket}"'),)
    if word in {"]", "}"} and word != closing and "node content" not in refusal.problem:
        message = f'found "{word}" where "{closing}" was expected, because "{bracket}" is open'
        return _problem(piece, at, end, message, None, related)
    if "expected ','" in refusal.problem:
        quotes = _unquoted(piece, text, at, opened + 1)
        if quotes is not None:
            return quotes
        message = f'found "{word}" where "," or "{closing}" was expected; a comma is missing before it'
        return _problem(piece, at, end, message, None, related)
    if "node content" in refusal.problem:
        message = f'found "{word}" where a value was expected'
        return _problem(piece, at, end, message, None, related)
    return None


def _unquoted(piece: Piece, text: str, at: int, flow: int | None) -> SyntaxProblem | None:
    """A text with a template in it and without quotes, which ends at or goes on at a place.

    ``flow`` is where the inside of the open bracket begins, None in block style.
    """
    begin = _line_start(text, at) if flow is None else max(flow, _line_start(text, at))
    lead = text[begin:at]
    before = _TEMPLATE_BEFORE.search(lead)
    if before is None and not (flow is not None and _TEMPLATE.match(text, at)):
        return None
    start = begin + (before.start(1) if before is not None else _VALUE_START.search(lead).end())  # type: ignore[union-attr]
    end = _line_end(text, start)
    whole = (_FLOW_TEXT if flow is not None else _BLOCK_TEXT).match(text, start, end)
    if whole is None or not whole[0].strip():
        return None
    written = whole[0].rstrip()
    quote = "'" if '"' in written or "\\" in written else '"'
    hint = f"put it in quotes: {quote}{written}{quote}" if quote not in written else "put it in quotes"
    return _problem(
        piece,
        start,
        start + len(written),
        "quotes are missing around this text with a template in it",
        hint if len(written) <= 80 else "put it in quotes",
    )


def _block(piece: Piece, text: str, refusal: Refusal) -> SyntaxProblem:
    at = min(refusal.at, len(text))
    problem = refusal.problem
    start = _line_start(text, at)
    line = text[start : _line_end(text, start)]
    character = text[at : at + 1]
    if character == "\t" or "\t" in line[: len(line) - len(line.lstrip())]:
        tab = at if character == "\t" else start + line.index("\t")
        return _problem(piece, tab, tab + 1, "a tab stands in the indentation; YAML indents with spaces only")
    if "could not find expected ':'" in problem and refusal.since is not None:
        return _missing_colon(piece, text, refusal.since)
    if "mapping values are not allowed" in problem:
        return _second_colon(piece, text, at)
    if "sequence entries are not allowed" in problem:
        return _problem(
            piece, at, at + 1, 'a list item ("- ") cannot begin here; put it on a line of its own, indented'
        )
    if "cannot start any token" in problem:
        return _problem(
            piece,
            at,
            at + 1,
            f'"{character}" cannot begin a value; put quotes around the text that begins with it',
        )
    return _special(piece, text, refusal) or _out_of_place(piece, text, refusal)


def _missing_colon(piece: Piece, text: str, since: int) -> SyntaxProblem:
    end = _line_end(text, since)
    word, _ = _word(text, since)
    line = text[since:end]
    if re.match(r"[^\s:\"'#]+:[^\s:/]", line):
        key = line.split(":", 1)[0]
        hint = f'a space is missing behind "{key}:"'
        return _problem(piece, since, end, f'a space is missing behind the colon of "{key}:"', hint)
    if _DASHED.match(line):
        return _dashed(piece, since)
    return _problem(piece, since, end, f'"{word}" stands where a key was expected, but no ":" follows it')


def _dashed(piece: Piece, at: int) -> SyntaxProblem:
    return _problem(piece, at, at + 1, 'a space is missing behind this "-", which should begin a list item')


def _second_colon(piece: Piece, text: str, at: int) -> SyntaxProblem:
    start = _line_start(text, at)
    before = text[start:at]
    content = start + len(before) - len(before.lstrip(" -"))
    earlier = _SECOND_COLON.match(text[content:at])
    if earlier:
        value = content + earlier.end()
        value += len(text[value:at]) - len(text[value:at].lstrip())
        return _problem(
            piece,
            at,
            at + 1,
            'found a second ":" in one value; put quotes around the value',
            None,
            ((Span(piece, value, _line_end(text, value)), "the value"),),
        )
    above = text[:start].rstrip()
    row = _line_start(above, len(above))
    previous = above[row:].strip()
    if _DASHED.match(previous):
        return _dashed(piece, row + len(above[row:]) - len(previous))
    if previous and not previous.startswith("#") and ":" not in previous and previous[:1] not in "-\"'":
        return _problem(
            piece,
            row + len(above[row:]) - len(above[row:].lstrip()),
            len(above),
            f'"{previous[:40]}" stands where a key was expected, but no ":" follows it',
        )
    word, _ = _word(text, content)
    return _problem(
        piece,
        content,
        at,
        f'the key "{word}" cannot stand here, because the key above it already has a value; check the indentation',
    )


_SPECIAL = (
    (
        "unknown escape character",
        "this is no escape that YAML knows; write \\\\ for a backslash, or use single quotes",
    ),
    (
        "expected escape sequence",
        "the escape is not complete: \\x takes 2 hexadecimal digits, \\u 4 and \\U 8",
    ),
    (
        "escape of no character",
        "an escape in this text stands for no character of Unicode (half of a surrogate pair, or a number "
        "beyond 10FFFF); correct it, or remove it",
    ),
    ("unexpected document separator", "a new document begins before this quote is closed"),
    ("undefined tag handle", "this tag uses a handle that no %TAG line defines; remove the tag"),
    ("indentation indicator", "the indentation of a block text is a digit from 1 to 9"),
    ("chomping or indentation", 'only "+", "-", a digit or a comment may follow "|" or ">" on its line'),
    ("a comment or a line break", "only a comment may follow here; the text begins on the next line"),
    (
        "more indented follow up",
        "a blank line at the start of this block text is indented more than its text",
    ),
    ("expected URI", "this tag is not complete; put quotes around a text that begins with !"),
)


def _special(piece: Piece, text: str, refusal: Refusal) -> SyntaxProblem | None:
    at = refusal.at
    problem = refusal.problem
    if "unexpected end of stream" in problem and refusal.since is not None:
        mark = text[refusal.since]
        return _problem(
            piece,
            refusal.since,
            _line_end(text, refusal.since),
            f"the text that begins with this {_named(mark)} is never closed",
        )
    if "alphabetic or numeric" in problem and "directive" not in refusal.context:
        place = refusal.since if refusal.since is not None else at
        mark = text[place : place + 1]
        kind = "an alias" if mark == "*" else "an anchor"
        message = f'"{mark}" begins {kind}, and no name follows it; put quotes around the text'
        return _problem(piece, place, _line_end(text, place), message)
    for words, message in _SPECIAL:
        if words in problem:
            return _problem(piece, at, max(at + 1, _word(text, at)[1]), message)
    return None


def _out_of_place(piece: Piece, text: str, refusal: Refusal) -> SyntaxProblem:
    """Something that stands where it cannot: behind a complete value, or in a column of its own."""
    at = min(refusal.at, len(text))
    while at < len(text) and text[at] in " \r\n":
        at += 1
    if at >= len(text.rstrip()):
        at = len(text.rstrip())
        return _problem(piece, max(0, at - 1), at, "the text ends here, and more was expected")
    start = _line_start(text, at)
    before = text[start:at].strip(" -")
    word, end = _word(text, at)
    if before and refusal.problem.startswith("expected <block end>"):
        quotes = _unquoted(piece, text, at, None)
        if quotes is not None:
            return quotes
        message = f'found "{word}" behind a value that is complete; remove it, or put quotes around the whole'
        return _problem(piece, at, end, message)
    if not before:
        what = "a list item" if text[at : at + 2] in {"- ", "-\n"} else f'"{word}"'
        message = f"{what} does not stand in a column of what is above it; check the indentation"
        return _problem(piece, at, end, message)
    character = unicodedata.name(text[at], "character").lower() if not text[at].isprintable() else ""
    message = f'found "{word}"{f" ({character})" if character else ""}, which cannot stand here'
    return _problem(piece, at, end, message)
