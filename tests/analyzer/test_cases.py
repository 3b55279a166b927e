"""Workflows whose lines say what must be found in them: `# want: rule, rule` at the end of a line.

Errors and warnings must match exactly, as sets of line and rule; hints must be asked for with
`# hint: rule`.  A file without such words must be clean, hints aside.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.analyzer.analysis import check_texts

CASES = sorted((Path(__file__).parent / "cases").glob("*.workflow.yaml"))
WANT = re.compile(r"#\s*(?:want|hint):\s*([a-z0-9, -]+?)\s*$")


def wanted(text: str) -> set[tuple[int, str]]:
    return {
        (number, name.strip())
        for number, line in enumerate(text.split("\n"), 1)
        if (match := WANT.search(line))
        for name in match[1].split(",")
    }


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.split(".")[0])
def test_every_line_gets_what_it_asks_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    expected = wanted(text)
    hints = {name for line in text.split("\n") for name in re.findall(r"#\s*hint:\s*([a-z-]+)", line)}
    found = {
        (one.line, one.name) for one in check_texts({path.name: text}) if one.severity != "hint" or one.name in hints
    }
    assert found == expected


def test_there_are_cases() -> None:
    assert len(CASES) >= 6
