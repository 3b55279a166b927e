"""Bytes to text, and the comments that speak to the analyzer."""

import os

import pytest

from interlock.analyzer.source.read import MAX_BYTES, Decoded, Unreadable, decode, read_source
from interlock.analyzer.source.suppressions import find_suppressions, has_modeline
from interlock.analyzer.source.text import SourceText


def test_decode_keeps_the_byte_order_mark_out_of_the_text():
    assert decode("a: é\n".encode()) == Decoded("a: é\n", False)
    assert decode("\ufeffa: é\n".encode()) == Decoded("a: é\n", True)
    assert decode(b"") == Decoded("", False)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"a: \xe9\n", "0xe9 on line 1"),
        (b"\xef\xbb\xbfa\nb: \xff\n", "0xff on line 2"),
        (b"a\0b", "binary"),
        ("a: 1".encode("utf-16"), "UTF-16"),
        (b" " * (MAX_BYTES + 1), "4 MiB"),
    ],
)
def test_decode_says_what_it_cannot_read(data, word):
    found = decode(data)
    assert isinstance(found, Unreadable)
    assert word in found.reason


def test_read_source(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    found = read_source(path)
    assert isinstance(found, SourceText)
    assert (found.path, found.text) == (str(path), "a: 1\r\n")
    assert read_source(tmp_path / "none") == Unreadable("no such file")
    assert read_source("a\0b") == Unreadable("no such file")
    assert "folder" in read_source(tmp_path).reason
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "circle" in read_source(loop).reason


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "secret.yaml"
    path.write_text("a: 1\n")
    path.chmod(0)
    assert "permission" in read_source(path).reason


def _suppressions(parse, text):
    tree = parse(text)
    return [
        (one.line, [rule.name for rule in one.rules], one.reason)
        for one in find_suppressions(tree.source, tree.comments)
    ]


def test_beside_and_above(parse):
    text = (
        "a: 1  # interlock: ignore[nested-wait, IL407] because\n"
        "# interlock: ignore[one]\n# what this is\n#interlock:ignore[two]\nb: 2\n"
        "# interlock: ignore[three]\n\nc: 3 # interlock: ignore[]\n# about ignore[x]\n"
    )
    assert _suppressions(parse, text) == [
        (1, ["nested-wait", "IL407"], "because"),
        (5, ["one"], ""),
        (5, ["two"], ""),
        (7, ["three"], ""),
        (8, [], ""),
    ]


@pytest.mark.parametrize(
    "comment",
    [
        "# interlock: ignore",
        "# interlock ignore[unused-input]",
        "# interlock: ignore[]",
        "# Interlock: ignore[unused-input]",
        "# interlock: ignore unused-input",
        "#interlock:ignore(unused-input)",
        "# interlock: IGNORE[unused-input]",
        "# interlock : ignore[unused-input]",
        "# interlock: ignore[unused-input",
        "# interlock ignore: unused-input",
        "# interlock ignore",
    ],
)
@pytest.mark.parametrize("text", ["a: 1\n{}\nb: 2\n", "a: 1\nc: 3  {}\nb: 2\n", "a: 1\n{}\n# more\nb: 2\n"])
def test_what_is_meant_as_a_suppression_is_found_and_names_no_rule(parse, text, comment):
    tree = parse(text.format(comment))
    (found,) = find_suppressions(tree.source, tree.comments)
    assert (found.rules, found.span.text) == ((), comment)


@pytest.mark.parametrize(
    "comment",
    [
        "# interlock ignores this",
        "# interlock: ignores this",
        "# interlock: ignored-words below",
        "# interlock ignore the rest, please",
        "# the interlock: ignore[x] form",
        "# interlock: workflow",
        "# Interlock is what checks this",
    ],
)
def test_prose_is_no_suppression(parse, comment):
    assert _suppressions(parse, f"a: 1\n{comment}\nb: 2  {comment}\n") == []


def test_spans_of_names(parse):
    text = "steps:\n  - id: é  # interlock: ignore[ first-rule ,IL2] why\n"
    tree = parse(text)
    (found,) = find_suppressions(tree.source, tree.comments)
    assert [rule.span.text for rule in found.rules] == ["first-rule", "IL2"]
    assert found.span.text == "# interlock: ignore[ first-rule ,IL2] why"
    assert found.span.position == (2, 12)


def test_above_a_broken_step(parse):
    assert _suppressions(parse, "steps:\n  # interlock: ignore[x]\n  - id: {\n") == [(3, ["x"], "")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# interlock: workflow\na: 1\n", True),
        ("\n\n  #interlock:workflow \r\na: 1\n", True),
        ("\ufeff# interlock: workflow\n", True),
        ("# other\n# interlock: workflow\n", False),
        ("# interlock: workflows\n", False),
        ("a: '# interlock: workflow'\n", False),
        ("a: 1\n", False),
    ],
)
def test_modeline(text, found):
    assert has_modeline(text) is found
