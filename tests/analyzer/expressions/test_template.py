"""Templates: braces, strings in expressions, and what is unmatched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.analyzer.expressions.template import Hole, split


def shown(text: str) -> list[str]:
    """Parts as text, expressions in angle brackets."""
    return [part if isinstance(part, str) else f"<{part.source}>" for part in split(text).parts]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain", ["plain"]),
        ("", [""]),
        ("{a}", ["<a>"]),
        ("x {a} y", ["x ", "<a>", " y"]),
        ("{a}{b}", ["<a>", "<b>"]),
        ("{{a}}", ["{a}"]),
        ("{{{a}}}", ["{", "<a>", "}"]),
        ("{a}}}", ["<a>", "}"]),
        ("{ {'a': 1}.a }", ["< {'a': 1}.a >"]),
        ("{[{'a': {'b': 1}}]}", ["<[{'a': {'b': 1}}]>"]),
        ("{'}'}", ["<'}'>"]),
        ('{"{"}', ['<"{">']),
        ("{'''}'}'''}", ["<'''}'}'''>"]),
        ('{"""}"}"""}', ['<"""}"}""">']),
        (r"{'\'}'}", [r"<'\'}'>"]),
        (r"{r'\'}", [r"<r'\'>"]),
        (r"{xr'\'}'}", [r"<xr'\'}'>"]),
        ("{b'}'}", ["<b'}'>"]),
        ("{bR'}'}", ["<bR'}'>"]),
        ("{''}", ["<''>"]),
        ("{'' + \"\"}", ["<'' + \"\">"]),
    ],
)
def test_parts(text: str, parts: list[str]) -> None:
    assert shown(text) == parts
    assert split(text).problems == ()


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [("a } b", 2, 3), ("{a", 0, 1), ("{a}}", 3, 4), ("x {'b} y", 3, 4), ("{}", 0, 2), ("{ \n}", 0, 4)],
)
def test_unmatched_and_empty(text: str, start: int, end: int) -> None:
    (problem,) = split(text).problems
    assert (problem.code, problem.start, problem.end) == ("IL201", start, end)


def test_every_unmatched_brace_is_named() -> None:
    assert [problem.start for problem in split("} } {a").problems] == [0, 2, 4]


def test_an_open_expression_is_kept_for_completion() -> None:
    assert split("x {inputs.").parts == ("x ", Hole(3, 10, "inputs.", closed=False))


def test_whole_and_template() -> None:
    assert split("{a}").whole
    assert not split(" {a}").whole
    assert split(" {a}").is_template
    assert not split("{{a}}").is_template
    assert split("{{a}}").text == "{a}"
    assert split("{a}").text is None


@given(st.text(alphabet="{}'\"a\\ r\n", max_size=20))
def test_spans_frame_the_sources(text: str) -> None:
    result = split(text)
    for hole in result.holes:
        assert text[hole.start : hole.end] == hole.source
        assert text[hole.start - 1] == "{"
        assert not hole.closed or text[hole.end] == "}"
    for problem in result.problems:
        assert 0 <= problem.start < problem.end <= len(text)


@given(st.text(alphabet="{}ab", max_size=12))
def test_doubling_braces_makes_any_text_literal(text: str) -> None:
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert split(doubled).text == text
    assert not split(doubled).problems
