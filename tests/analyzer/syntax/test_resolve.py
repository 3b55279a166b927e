"""Merge keys and aliases as the reader sees them."""

from interlock.analyzer.syntax.nodes import Alias, Mapping
from interlock.analyzer.syntax.resolve import deref, pairs


def _pairs(parse, text, key="m"):
    root = parse(text).documents[0].root
    (mapping,) = [entry.value for entry in root.entries if entry.key.value == key]
    assert isinstance(mapping, Mapping)
    wrong = []
    found = list(pairs(mapping, wrong))
    return [(pair.key.value, deref(pair.value)[0].value, pair.via and pair.via.name) for pair in found], wrong


def test_explicit_keys_win(parse):
    text = "b: &b {x: 1, y: 2}\nm: {<<: *b, y: 3}\n"
    assert _pairs(parse, text)[0] == [("x", "1", "b"), ("y", "3", None)]
    assert _pairs(parse, text.replace("<<: *b, y: 3", "y: 3, <<: *b"))[0] == [("y", "3", None), ("x", "1", "b")]


def test_earlier_merges_win(parse):
    text = "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nm: {<<: [*a, *b, {z: 3, y: 9}]}\n"
    assert _pairs(parse, text)[0] == [("x", "1", "a"), ("y", "2", "b"), ("z", "3", None)]


def test_merges_of_merges_and_of_lists_behind_an_alias(parse):
    text = "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nl: &l [*a, *b]\nm: {<<: *b}\nn: {<<: *l}\n"
    assert _pairs(parse, text)[0] == [("x", "1", "b"), ("y", "2", "b")]
    assert _pairs(parse, text, "n")[0] == [("x", "1", "l"), ("y", "2", "l")]


def test_a_value_that_cannot_be_merged_is_handed_out(parse):
    found, wrong = _pairs(parse, "a: &a 1\nm: {<<: [*a, {x: 1}, text], y: 2}\n")
    assert found == [("x", "1", None), ("y", "2", None)]
    assert [isinstance(node, Alias) or node.value for node in wrong] == [True, "text"]
    assert [node.data for node in _pairs(parse, "m: {<<: 7}\n")[1]] == [7]


def test_aliases_already_reported_are_not_wrong_again(parse):
    assert _pairs(parse, "m: {<<: *nowhere, x: 1}\n") == ([("x", "1", None)], [])


def test_a_quoted_merge_key_is_a_key(parse):
    assert _pairs(parse, "m: {'<<': x}\n") == ([("<<", "x", None)], [])
