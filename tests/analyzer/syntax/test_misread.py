"""Which texts the slow parser has to read, because libyaml would take them for something else."""

from __future__ import annotations

import pytest

from interlock.analyzer.syntax.streams import is_misread


@pytest.mark.parametrize(
    "text",
    [
        "- {id: x, when: \"{(a.mood != 'calm')}\"}\n",
        'a: "{x && y}"\n',
        "a: '{!(x) || ''s'' != y}'\n",
        '"a b": [1, "{b ? c :d}"]\n',
        "- '{ !(x) }'\n",
    ],
)
def test_operators_of_quoted_expressions_are_no_tags_and_anchors(text: str) -> None:
    assert not is_misread(text)


@pytest.mark.parametrize(
    "text", ["a: &ü b\n", "a: !x(y) b\n", '{"a": "q", b: !t[ c}\n', "{a, :b}\n", '["x", &a%b c]\n']
)
def test_bare_ones_are(text: str) -> None:
    assert is_misread(text)
