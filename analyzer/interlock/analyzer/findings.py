"""What a rule finds: where, what is wrong, what to do, and how to mend it.

A finding carries no severity: the catalogue gives it, and the configuration may change it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from interlock.analyzer.source.text import Span

_AS_IT_IS = re.compile(r"[\w.]+\(|interlock\b")


class Edit(msgspec.Struct, frozen=True):
    """One replacement of text; an empty span inserts."""

    span: Span
    text: str


class Fix(msgspec.Struct, frozen=True):
    """A mend that removes its finding and adds none.

    One that is not ``sure`` guesses what was meant: editors offer it, and it is never applied without asking.
    Of a rule that the catalogue does not call fixable, no report shows it.
    """

    title: str
    edits: tuple[Edit, ...]
    sure: bool = True


class Related(msgspec.Struct, frozen=True):
    """Another place that belongs to the story, with what it has to say."""

    span: Span
    message: str


class Finding(msgspec.Struct, frozen=True):
    """One diagnostic before it is placed: ``code`` is a rule of the catalogue.

    ``hint`` says what to do, as a sentence of its own.
    """

    code: str
    span: Span
    message: str
    hint: str | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None


def sentence(text: str) -> str:
    """A clause as a sentence: with a capital, and with an end.  The name of a function, or of the command, stays."""
    if not _AS_IT_IS.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!", "…")) else text + "."


#: Rules that judge the text itself, whatever place it is used in: reported at the anchor.
PLACELESS = frozenset(
    {
        "IL101", "IL102", "IL103", "IL104", "IL105", "IL106", "IL107", "IL109", "IL110",
        "IL111", "IL112", "IL201", "IL208", "IL301", "IL303", "IL304", "IL504", "IL601", "IL606",
    }
)  # fmt: skip


class Sink:
    """Collects findings; what was reached through aliases is reported once where it can be.

    Text behind an alias is judged once for each place that uses it.  A finding of a rule that
    does not depend on the place, or one that the anchor's own place has too, is reported at the
    anchor, once; the others at their alias, with the anchor as related information (section 1).
    """

    def __init__(self) -> None:
        self._found: list[Finding] = []

    def add(
        self,
        code: str,
        span: Span,
        message: str,
        hint: str | None = None,
        *,
        related: tuple[Related, ...] = (),
        fix: Fix | None = None,
        beside: tuple[Span, ...] | None = None,
    ) -> None:
        """Adds one finding.

        ``beside`` are the other places that the mistake depends on, where the rule knows them: what
        came through the same alias as all of them is wrong wherever the anchor is used.
        """
        if message.startswith("a step without "):
            message = sentence(message)
        if span.via is not None and beside is not None and all(one.via == span.via for one in beside):
            span = Span(span.piece, span.start, span.end)
        self._found.append(Finding(code, span, message, hint, related, fix))

    def extend(self, findings: Iterable[Finding]) -> None:
        self._found.extend(findings)

    def mark(self) -> int:
        """A place in what was found, for ``since``."""
        return len(self._found)

    def since(self, mark: int) -> tuple[Finding, ...]:
        """What was found after a mark, as it was found."""
        return tuple(self._found[mark:])

    def findings(self) -> list[Finding]:
        return settle_places(self._found)


def settle_places(found: list[Finding]) -> list[Finding]:
    """Each finding at the place where a person has to mend it, without repetitions."""
    at_home = {
        (finding.code, finding.span.piece, finding.span.start, finding.span.end)
        for finding in found
        if finding.span.via is None
    }
    seen: set[tuple[object, ...]] = set()
    settled: list[Finding] = []
    for finding in found:
        span = finding.span
        if span.via is not None:
            home = Span(span.piece, span.start, span.end)
            if finding.code in PLACELESS or (finding.code, home.piece, home.start, home.end) in at_home:
                finding = Finding(finding.code, home, finding.message, finding.hint, finding.related, finding.fix)
            else:
                finding = Finding(
                    finding.code,
                    span.via,
                    finding.message,
                    finding.hint,
                    (Related(home, "the text that the alias stands for"), *finding.related),
                    None,
                )
        span = finding.span
        mark = (finding.code, span.piece, span.start, span.end, finding.message)
        if mark not in seen:
            seen.add(mark)
            settled.append(finding)
    return settled
