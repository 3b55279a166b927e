"""IL701 to IL703: suppressions applied to findings, and what is wrong with suppressions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from interlock.analyzer.findings import Edit, Finding, Fix, sentence
from interlock.analyzer.rules.catalog import Rule, advice, can_suppress, find_rule
from interlock.analyzer.source.suppressions import RuleName, Suppression
from interlock.analyzer.source.text import Span

if TYPE_CHECKING:
    from interlock.analyzer.analysis import FileModel


_WORD = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")


def apply_suppressions(files: Sequence[FileModel], findings: list[Finding]) -> list[Finding]:
    """The findings that are not suppressed, and those about the suppressions themselves."""
    by_line: dict[tuple[str, int], list[Finding]] = {}
    suppressing = [file for file in files if file.suppressions]
    if not suppressing:
        return findings
    paths = {file.source.path for file in suppressing}
    for finding in findings:
        if finding.span.source.path in paths:
            by_line.setdefault((finding.span.source.path, finding.span.position.line), []).append(finding)
    dropped: set[int] = set()
    about: list[Finding] = []
    for file in suppressing:
        for suppression in file.suppressions:
            here = by_line.get((file.source.path, suppression.line), [])
            about.extend(_one(suppression, here, dropped))
    return [finding for finding in findings if id(finding) not in dropped] + about


def _one(suppression: Suppression, here: list[Finding], dropped: set[int]) -> list[Finding]:
    about: list[Finding] = []
    if not suppression.rules:
        about.append(_nameless(suppression))
    for name in suppression.rules:
        rule = find_rule(name.name)
        if rule is None:
            about.append(Finding("IL702", name.span, f'No rule is called "{name.name}".', sentence(advice(name.name))))
            continue
        matches = [finding for finding in here if finding.code == rule.code]
        if not matches:
            about.append(_unused(suppression, name, rule))
        elif not can_suppress(rule):
            about.append(
                Finding(
                    "IL703",
                    name.span,
                    f'"{rule.name}" is an error of the language: the engine refuses it, so it cannot be suppressed.',
                    "Mend it, and remove the suppression.",
                    fix=_without(suppression, name, f'Remove the suppression of "{rule.name}"'),
                )
            )
        else:
            dropped.update(id(finding) for finding in matches)
    return about


def _nameless(suppression: Suppression) -> Finding:
    """A comment that is meant to suppress, and does not say what in the form that is read."""
    meant = [rule.name for word in _WORD.findall(suppression.span.text) if (rule := find_rule(word)) is not None]
    rules = ", ".join(dict.fromkeys(meant)) or "RULE"
    return Finding(
        "IL702",
        suppression.span,
        "This suppression names no rule, so it suppresses nothing.",
        f'Write "# interlock: ignore[{rules}] reason"{"" if meant else ", with the name or code of a rule"}.',
    )


def _unused(suppression: Suppression, name: RuleName, rule: Rule) -> Finding:
    return Finding(
        "IL701",
        name.span,
        f'Nothing here is a case of "{rule.name}", so this suppresses nothing.',
        "Remove it.",
        fix=_without(suppression, name, f'Remove the suppression of "{rule.name}"'),
    )


def _without(suppression: Suppression, name: RuleName, title: str) -> Fix:
    """A fix that takes one name out, or the whole comment where it is the only one."""
    piece, text = suppression.span.piece, suppression.span.piece.text
    if len(suppression.rules) > 1:
        number = suppression.rules.index(name)
        if number:
            start, end = suppression.rules[number - 1].span.end, name.span.end
        else:
            start, end = name.span.start, suppression.rules[1].span.start
        return Fix(title, (Edit(Span(piece, start, end), ""),))
    start, end = suppression.span.start, suppression.span.end
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    alone = start == 0 or text[start - 1] == "\n"
    if alone:
        while end < len(text) and text[end] in "\r\n":
            end += 1
            if text[end - 1] == "\n":
                break
    return Fix(title, (Edit(Span(piece, start, end), ""),))
