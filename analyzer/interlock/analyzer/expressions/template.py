"""Templates: a text cut into literal parts and the expressions between braces.

How braces are read, from left to right:

* outside an expression ``{{`` and ``}}`` stand for one literal brace each, always, so ``{{{a}}}`` is a
  brace, the expression ``a``, and a brace; an expression that begins with a map needs a blank:
  ``{ {'a': 1}.a }``;
* inside an expression every brace counts as one of a pair, those in CEL strings (of every quote style)
  not counted; the first ``}`` without a partner ends the expression, whatever follows it. Braces in a
  comment are counted;
* a lone ``}`` outside an expression, and a ``{`` whose expression never ends, are unmatched: IL201.

What stands between the braces is the parser's part.
"""

from __future__ import annotations

import re

import msgspec

from interlock.analyzer.expressions.problem import Problem

_OUTSIDE = re.compile(r"\{\{|\}\}|\{|\}")
# A string that holds a bad escape still ends where its quote stands, so escapes are not judged here.
_INSIDE = re.compile(
    r"""(?P<skip>[^{}'"A-Za-z0-9_]+
    |[bB]?[rR](?:'''(?s:.*?)'''|\"\"\"(?s:.*?)\"\"\"|'(?!'')[^'\n\r]*'|"(?!"")[^"\n\r]*")
    |[bB]?(?:'''(?s:\\.|[^\\])*?'''|\"\"\"(?s:\\.|[^\\])*?\"\"\"
        |'(?!'')(?:\\.|[^\\'\n\r])*'|"(?!"")(?:\\.|[^\\"\n\r])*")
    |[A-Za-z0-9_]+)
    |(?P<open>\{)|(?P<close>\})|(?P<quote>['"])""",
    re.VERBOSE,
)


class Hole(msgspec.Struct, frozen=True):
    """The expression between two braces; ``start`` and ``end`` frame it without them.

    ``closed`` is false where its closing brace is missing: then it reaches to the end of the text and is
    good for completion only.
    """

    start: int
    end: int
    source: str
    closed: bool = True


class Split(msgspec.Struct, frozen=True):
    """A text in parts: ``str`` with braces resolved, or ``Hole``."""

    parts: tuple[str | Hole, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def is_template(self) -> bool:
        """Whether an expression stands in the text."""
        return any(isinstance(part, Hole) for part in self.parts)

    @property
    def whole(self) -> bool:
        """Whether the text is exactly one expression, whose value keeps its type."""
        return len(self.parts) == 1 and isinstance(self.parts[0], Hole)

    @property
    def holes(self) -> tuple[Hole, ...]:
        return tuple(part for part in self.parts if isinstance(part, Hole))

    @property
    def text(self) -> str | None:
        """The text itself where no expression stands in it, braces resolved."""
        if not self.parts:
            return ""
        first = self.parts[0]
        return first if isinstance(first, str) and len(self.parts) == 1 else None


def split(text: str) -> Split:
    """Cut a text into its parts. Total: what cannot be read is a problem, never an exception."""
    if "{" not in text and "}" not in text:
        return Split((text,))
    parts: list[str | Hole] = []
    problems: list[Problem] = []
    literal: list[str] = []
    at = 0
    while (match := _OUTSIDE.search(text, at)) is not None:
        literal.append(text[at : match.start()])
        at = match.end()
        brace = match[0]
        if brace == "{":
            if pending := "".join(literal):
                parts.append(pending)
            literal = []
            hole = _hole(text, at, problems)
            parts.append(hole)
            at = min(hole.end + 1, len(text))
        elif brace == "}":
            literal.append("}")
            problems.append(_lone(match.start()))
        else:
            literal.append(brace[0])
    literal.append(text[at:])
    if pending := "".join(literal):
        parts.append(pending)
    return Split(tuple(parts), tuple(problems))


def _lone(at: int) -> Problem:
    return Problem(
        "IL201",
        at,
        at + 1,
        'this "}" closes no expression',
        'write "}}" for a literal brace, or add the "{" that it closes',
        (at, at + 1, "}}"),
    )


def _hole(text: str, start: int, problems: list[Problem]) -> Hole:
    depth = 0
    at = start
    while (match := _INSIDE.match(text, at)) is not None:
        kind = match.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            if not depth:
                source = text[start:at]
                if not source.strip(" \t\r\n\f"):
                    problems.append(
                        Problem(
                            "IL201",
                            start - 1,
                            at + 1,
                            "there is no expression between these braces",
                            'write an expression, or "{{}}" for the braces themselves',
                        )
                    )
                return Hole(start, at, source)
            depth -= 1
        elif kind == "quote":
            problems.append(
                Problem(
                    "IL201",
                    at,
                    at + 1,
                    "the string that begins here is never closed, so the expression around it does not end",
                    f"add the closing {match[0]}, or put a backslash before a quote inside the string",
                )
            )
            return Hole(start, len(text), text[start:], closed=False)
        at = match.end()
    problems.append(
        Problem(
            "IL201",
            start - 1,
            start,
            'this "{" begins an expression that is never closed',
            'add the closing "}", or write "{{" for a literal brace',
        )
    )
    return Hole(start, len(text), text[start:], closed=False)
