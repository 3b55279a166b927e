"""The page of a rule: what it says, why, and two examples, read from ``pages/CODE-name.md``.

A page begins with ``# CODE name`` and a paragraph; then come ``Why``, ``Bad`` and ``Good`` (each with
one example), and where there is more to say, ``How to mend it``.
"""

from __future__ import annotations

import os
import re

import msgspec

from interlock.analyzer.rules.catalog import Rule

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pages")

SEVERITY_MEANING = {
    "error": "error: the engine refuses it",
    "workspace": "error: reported, but no single definition is refused for it, and it can be suppressed",
    "warning": "warning",
    "hint": "hint",
}

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_EXAMPLE = re.compile(r"```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Page(msgspec.Struct, frozen=True):
    """One page in parts; ``text`` is all of it as Markdown."""

    rule: Rule
    summary: str
    why: str
    bad: str
    good: str
    mend: str
    text: str


def page_name(rule: Rule) -> str:
    """The file name of a rule's page."""
    return f"{rule.code}-{rule.name}.md"


def page_of(rule: Rule) -> Page:
    """The page of a rule.  Raises ``OSError`` where an installation lacks it."""
    with open(os.path.join(FOLDER, page_name(rule)), encoding="utf-8") as file:
        text = file.read()
    pieces = _HEADING.split(text)
    parts = {name.strip(): part.strip() for name, part in zip(pieces[1::2], pieces[2::2], strict=True)}
    return Page(
        rule,
        pieces[0].partition("\n")[2].strip(),
        parts.get("Why", ""),
        _example(parts.get("Bad", "")),
        _example(parts.get("Good", "")),
        parts.get("How to mend it", ""),
        text,
    )


def _example(part: str) -> str:
    found = _EXAMPLE.search(part)
    return found[1] if found else ""


def standing(rule: Rule) -> str:
    """How grave a case of the rule is, and whether there is a fix, as one line."""
    from interlock.analyzer.rules.catalog import WORKSPACE_ERRORS

    kind = "workspace" if rule.code in WORKSPACE_ERRORS else rule.severity
    meaning = SEVERITY_MEANING[kind]
    return f"{meaning[:1].upper()}{meaning[1:]}.{' There is a fix.' if rule.fixable else ''}"
