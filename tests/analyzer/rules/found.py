"""What the tests of the rules share: a text, or several as one workspace, and what is found in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import dedent

from interlock.analyzer.analysis import check_texts
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.language.blocks import BlockSpec


def diagnostics(text: str, *others: str, blocks: Mapping[str, BlockSpec] | None = None) -> list[Diagnostic]:
    """What is found in the first text; the others stand in the same workspace."""
    texts = {f"file{number}.workflow.yaml": dedent(one) for number, one in enumerate((text, *others))}
    return [one for one in check_texts(texts, blocks) if one.file == "file0.workflow.yaml"]


def codes(text: str, *others: str, blocks: Mapping[str, BlockSpec] | None = None) -> list[tuple[int, str]]:
    """Line and code of each error and warning, in the order of the text."""
    found = diagnostics(text, *others, blocks=blocks)
    return sorted((one.line, one.code) for one in found if one.severity != "hint")


def marks(text: str) -> list[tuple[int, str]]:
    """Line and code of each `# IL123, IL456` at the end of a line."""
    return sorted(
        (number, code)
        for number, line in enumerate(dedent(text).split("\n"), 1)
        if (match := re.search(r"# (IL\d+(?:, IL\d+)*)$", line))
        for code in match[1].split(", ")
    )
