"""The parser: spans, messages, and trees of half-typed text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.analyzer.expressions import ast
from interlock.analyzer.expressions.syntax import parse, too_deep


def tree(text: str) -> ast.Node:
    parsed = parse(text)
    assert parsed.problems == ()
    return parsed.tree


def test_spans_of_a_selection() -> None:
    node = tree("(a).b.?c")
    assert isinstance(node, ast.Select)
    assert (node.start, node.end, node.field, node.field_start, node.field_end) == (0, 8, "c", 7, 8)
    assert node.optional
    inner = node.operand
    assert isinstance(inner, ast.Select)
    assert (inner.start, inner.end, inner.optional) == (0, 5, False)


def test_spans_of_a_call() -> None:
    node = tree("x.f(1, 22)")
    assert isinstance(node, ast.Call)
    assert (node.name_start, node.name_end, node.open, node.commas) == (2, 3, 4, (5,))
    assert [(arg.start, arg.end) for arg in node.args] == [(4, 5), (7, 9)]


def test_positions_within_a_longer_text() -> None:
    node = parse("url: {a.b}", 6, 9).tree
    assert isinstance(node, ast.Select)
    assert (node.start, node.end, node.field_start) == (6, 9, 8)


def test_precedence() -> None:
    node = tree("a || b && c == 1 + 2 * -x")
    assert isinstance(node, ast.Logic)
    assert node.op == "||"
    right = node.operands[1]
    assert isinstance(right, ast.Logic)
    relation = right.operands[1]
    assert isinstance(relation, ast.Binary)
    assert relation.op == "=="
    total = relation.right
    assert isinstance(total, ast.Binary)
    assert total.op == "+"
    assert isinstance(total.right, ast.Binary)
    assert total.right.op == "*"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-9223372036854775808", -(2**63)),
        ("- 5", -5),
        ("0x1F", 31),
        ("7u", 7),
        ("1e3", 1000.0),
        (".5", 0.5),
        (r"'\u00e9\x41\101\n'", "éAA\n"),
        (r"r'\n'", r"\n"),
        (r"b'\xff\303é'", b"\xff\xc3\xc3\xa9"),
        ("'''a'b\r\nc'''", "a'b\nc"),
        ("null", None),
        ("true", True),
    ],
)
def test_literals(text: str, value: object) -> None:
    node = tree(text)
    assert isinstance(node, ast.Literal)
    assert node.value == value
    assert type(node.value) is type(value)
    assert (node.start, node.end) == (0, len(text))


@pytest.mark.parametrize(
    ("text", "start", "end", "says"),
    [
        ("a &&", 4, 4, "ends where a value should stand"),
        ("a and b", 2, 5, '"and" stands where'),
        ("a = b", 2, 3, '"=" is not an operator'),
        ("a & b", 2, 3, '"&" is not an operator'),
        ("f(a", 3, 3, 'ends where ")"'),
        ("[1 2]", 3, 4, '"2" stands where "]"'),
        ("'abc", 0, 4, "never closed"),
        ("if == 1", 0, 2, "reserved word"),
        ("a.in", 2, 4, "cannot stand after a dot"),
        ("has(a)", 4, 5, "selection of one member"),
        ("has(a['b'])", 4, 10, "selection of one member"),
        ("x.map(1, 2)", 6, 7, "name of the item"),
        ("math.greatest('a')", 14, 17, "takes numbers"),
        ("9223372036854775808", 0, 19, "64-bit"),
        ("!-a", 0, 2, "next to each other"),
        ("'\\ud800'", 0, 8, "no Unicode character"),
        ("a ? b", 5, 5, '":" and the other choice'),
        ("1" + "+1" * 40, 0, 81, "deeper than 32"),
        ("(" * 40 + "1" + ")" * 40, 33, 81, "deeper than 32"),
        ("", 0, 0, "no expression"),
    ],
)
def test_messages(text: str, start: int, end: int, says: str) -> None:
    (problem,) = parse(text).problems
    assert problem.code == "IL201"
    assert (problem.start, problem.end) == (start, end)
    assert says in problem.message


def test_a_wrong_operator_has_a_fix() -> None:
    (problem,) = parse("a and b").problems
    assert problem.fix == (2, 5, "&&")


@pytest.mark.parametrize("text", ["inputs.", "inputs.?", "f(inputs.", "a && inputs.", "[inputs.", "{'a': inputs."])
def test_half_typed_selections_have_their_place(text: str) -> None:
    parsed = parse(text)
    assert len(parsed.problems) == 1
    found = [node for node in ast.walk(parsed.tree) if isinstance(node, ast.Select)]
    assert [(node.field, node.field_start) for node in found] == [("", len(text))]


@given(st.lists(st.sampled_from([*"ab.?[](){},:+-!<'\"\\` \n1u", "&&", "||", "in", "true", "has(", "//"]), max_size=14))
def test_parsing_is_total(words: list[str]) -> None:
    text = "".join(words)
    parsed = parse(text)
    assert len(parsed.problems) <= 1
    for node in ast.walk(parsed.tree):
        assert 0 <= node.start <= node.end <= len(text)
        for child in ast.children(node):
            assert node.start <= child.start
            assert child.end <= node.end
    for problem in parsed.problems:
        assert 0 <= problem.start <= problem.end <= len(text)


@pytest.mark.parametrize(
    "text",
    ["a" + ".b" * 5000 + " +", "!-" * 5000 + "a", "(" * 5000, "[" * 5000 + "1", "a?" * 5000, "f(" * 5000, "{1:" * 5000],
)
def test_no_text_is_too_deep_for_us(text: str) -> None:
    parsed = parse(text)
    assert [problem.code for problem in parsed.problems] == ["IL201"]
    assert not too_deep(parsed.tree)


def test_leading_zeros_are_no_size() -> None:
    node = tree("0" * 5000 + "7")
    assert isinstance(node, ast.Literal)
    assert node.value == 7
    assert parse("9" * 5000).problems != ()
