"""Every character of a scalar's value is found where it is written."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml.reader import Reader

from interlock.analyzer.syntax.locate import index_at, locate, places


def _value(parse, text):
    tree = parse(text)
    assert tree.problems == ()
    return tree.documents[0].root.entries[0].value


@pytest.mark.parametrize(
    ("text", "index", "at"),
    [
        ("a: plain\n", 2, "ain"),
        ("a: 'it''s x'\n", 2, "''s"),
        ("a: 'it''s x'\n", 3, "s x"),
        ('a: "t\\tu\\u00e9v"\n', 1, "\\tu"),
        ('a: "t\\tu\\u00e9v"\n', 4, 'v"'),
        ('a: "t\\ud83d\\ude00v"\n', 1, "\\ud83d"),
        ('a: "t\\uD83D\\uDE00v"\n', 2, 'v"'),
        ('a: "x\\\n   y"\n', 1, 'y"'),
        ("a: one\n  two\n\n  three\n", 3, "\n  two"),
        ("a: one\n  two\n\n  three\n", 8, "three"),
        ("a: |\n  one\n  two\n", 4, "two"),
        ("a: |\n\n  one\n", 1, "one"),
        ("a: |2\n    one\n  two\n", 0, "  one"),
        ("a: |2\n    one\n  two\n", 6, "two"),
        ("a: >\n  one\n  two\n\n  three\n", 3, "\n  two"),
        ("a: >\n  one\n  two\n\n  three\n", 8, "three"),
        ("a: >\n  one\n    more\n  two\n", 4, "  more"),
        ("a: |\r\n  one\r\n  two\r\n", 4, "two"),
        ("a: 'one\r\n  two'\r\n", 4, "two"),
        ("a: |-\n  one\n\n\nb: 1\n", 3, "\n\n\nb"),
        ("a: |+\n  one\n\nb: 1\n", 5, "b: 1"),
        ("a: 'x\u2028y'\n", 2, "y'"),
    ],
)
def test_places(parse, text, index, at):
    scalar = _value(parse, text)
    offset = locate(scalar, index)
    assert text[offset:].startswith(at)


def test_the_end_and_beyond(parse):
    scalar = _value(parse, "a: 'xy'\n")
    assert locate(scalar, 2) == locate(scalar, 99) == 6
    assert locate(scalar, -1) == 4
    assert index_at(scalar, 5) == 1
    assert index_at(scalar, 100) == 2


def _check(text, scalar):
    found = places(scalar)
    assert len(found) == len(scalar.value) + 1
    assert found == sorted(found)
    for character, offset in zip(scalar.value, found, strict=False):
        written = text[offset]
        if character == " " and written in "\r\n":
            continue  # a folded line end
        if character == "\n" and written == "\r":
            continue
        assert written == character or written == "\\"


words = st.text(alphabet="ab{}é🚀.'\"\\\u2028 ", min_size=1, max_size=8)
lines = st.lists(words | st.just(""), min_size=1, max_size=6)
ends = st.sampled_from(["\n", "\r\n"])


@settings(max_examples=300, deadline=None)
@given(lines, ends)
def test_quoted(parse, content, end):
    single = "a: '" + (end + "  ").join(content).replace("'", "''") + "'" + end
    double = "a: " + json.dumps((" ").join(content), ensure_ascii=False) + end
    folded = "a: " + (end + "  ").join(json.dumps("\n".join(content)).split("\\n")) + end
    for text in (single, double, folded):
        scalar = _value(parse, text)
        _check(text, scalar)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.text(alphabet="ab# é🚀:", max_size=6), min_size=1, max_size=7),
    st.sampled_from("|>"),
    st.sampled_from(["", "+", "-"]),
    st.booleans(),
    ends,
)
def test_block(parse, content, style, chomping, indicator, end):
    head = style + ("2" if indicator else "") + chomping
    text = f"a: {head}{end}" + "".join(("  " + line if line else "") + end for line in content) + "b: 1" + end
    tree = parse(text)
    if tree.problems:  # leading blank lines that are indented more than the text
        return
    scalar = tree.documents[0].root.entries[0].value
    _check(text, scalar)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet="abé🚀'.", min_size=1, max_size=6) | st.just(""), min_size=1, max_size=5), ends)
def test_plain(parse, content, end):
    text = "a: x" + (end + "   ").join(content) + "z" + end
    _check(text, _value(parse, text))


def test_a_scalar_is_read_once_for_all_of_its_places(parse):
    one, other = _value(parse, "a: 'it''s'\n"), _value(parse, "b: it\n")
    assert places(one) is places(one)
    assert places(other) != places(one)


def test_a_run_of_tabs_is_looked_at_once(monkeypatch, parse):
    looks = 0
    peek = Reader.peek

    def counted(self, index=0):
        nonlocal looks
        looks += 1
        return peek(self, index)

    monkeypatch.setattr(Reader, "peek", counted)
    parse("\t" * 1000 + "\na: [x?, :y]\n")
    assert 1000 < looks < 50_000
