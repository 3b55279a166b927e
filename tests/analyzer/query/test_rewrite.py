"""Changes that write what was meant: durations, words, flags and numbers, and inputs that nothing reads."""

from __future__ import annotations

import pytest
from support import Asked

from interlock.analyzer.analysis import diagnose, judge
from interlock.analyzer.fixes import apply_edits
from interlock.analyzer.query.actions import Change, changes_at

HEAD = "workflow: a\nsteps:\n"


def changes(text: str) -> tuple[Asked, list[Change]]:
    """The changes that are offered at the bar, of rules that found something there."""
    asked = Asked(text, {})
    told = diagnose([asked.file], judge([asked.file]))
    codes = {one.code for one in told if one.offset <= asked.offset <= one.end_offset}
    document = asked.file.tree.documents[0]
    return asked, list(changes_at(asked.unit, document, asked.program.blocks, asked.offset, codes))


def changed(text: str, title: str) -> str:
    asked, found = changes(text)
    [change] = [one for one in found if one.title == title]
    return apply_edits(asked.text, change.edits)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("  - {id: d, delay: 10| minutes}\n", "10m"),
        ("  - {id: d, delay: 1 |hour and 5 min}\n", "1h5m"),
        ('  - {id: d, delay: "2| Days"}\n', "2d"),
        ("  - {id: d, block: log, params: {message: x}, timeout: 9|0 secs}\n", "90s"),
        ("  - {id: d, block: http, params: {url: 'https://x.example', method: g|et}}\n", "GET"),
        ("  - {id: d, block: http, params: {url: 'https://x.example', follow: y|es}}\n", "true"),
        ("  - id: d\n    concurrency: {resource: x, protected: y|es, steps: [{id: w, block: set}]}\n", "true"),
        ('  - id: d\n    concurrency: {resource: x, limit: "|3", steps: [{id: w, block: set}]}\n', "3"),
        ('  - {id: d, block: log, params: {message: x}, cost_units: "|2"}\n', "2"),
    ],
)
def test_what_was_meant_can_be_written(text: str, new: str) -> None:
    done = changed(HEAD + text, f"Write {new}")
    after, found = changes(done.replace(new, "|" + new, 1))
    assert [one for one in found if one.title.startswith("Write")] == []
    assert [one.code for one in diagnose([after.file], judge([after.file])) if one.severity == "error"] == []


@pytest.mark.parametrize("word", ["10| moons", "5 minutes 1| hour", "0| minutes", "so|on", "10 minutes| or more"])
def test_what_was_meant_is_not_guessed(word: str) -> None:
    _, found = changes(f"{HEAD}  - {{id: d, delay: {word}}}\n")
    assert [one for one in found if one.title.startswith("Write")] == []


STEP = "  - {id: s, block: log, params: {message: x}}\n"


@pytest.mark.parametrize(
    ("inputs", "left"),
    [
        ("inputs:\n  a|: string\n  b: {type: string, default: x}\n", "inputs:\n  b: {type: string, default: x}\n"),
        (
            "inputs:\n  a:\n    type: string\n  b|:\n    type: integer\n    default: 1\n",
            "inputs:\n  a:\n    type: string\n",
        ),
        ("inputs: {a|: string, b: integer}\n", "inputs: {b: integer}\n"),
        ("inputs: {a: string, b|: integer}\n", "inputs: {a: string}\n"),
        ("inputs:\n  a|: string\n", ""),
        ("inputs: {a|: string}\n", ""),
    ],
)
def test_an_input_that_nothing_reads_can_be_removed(inputs: str, left: str) -> None:
    assert changed(f"workflow: a\n{inputs}steps:\n{STEP}", "Remove the input") == f"workflow: a\n{left}steps:\n{STEP}"
