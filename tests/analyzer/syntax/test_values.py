"""What a text means: core schema, styles, anchors, documents, and the YAML that libyaml gets wrong."""

import math

import pytest

from interlock.analyzer.syntax.nodes import Alias, Mapping, Scalar, Sequence


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("no", "no"),
        ("off", "off"),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b1", "0b1"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("+12", 12),
        ("-0", 0),
        ("1.", 1.0),
        (".5", 0.5),
        (".", "."),
        ("1e3", 1000.0),
        ("1e", "1e"),
        ("-.inf", -math.inf),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        ("２", "２"),
        ("2024-01-01", "2024-01-01"),
        ("30s", "30s"),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        ("!!float 1", 1.0),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("!!int twelve", "twelve"),
        ("! 12", "12"),
        ("!own 12", "12"),
    ],
)
def test_core_schema(load, written, value):
    found = load(f"a: {written}\n")["a"]
    assert (type(found), found) == (type(value), value)


def test_not_a_number_and_very_long_integers(load):
    assert math.isnan(load("a: .nan\n")["a"])
    assert load(f"a: {'9' * 30}\n")["a"] == int("9" * 30)
    assert load(f"a: {'9' * 5000}\n")["a"] == math.inf


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: {url: https://a.example/x?y=1}\n", {"a": {"url": "https://a.example/x?y=1"}}),
        ("a: [a:b, x?y, z]\n", {"a": ["a:b", "x?y", "z"]}),
        ("a: {x:1}\n", {"a": {"x:1": None}}),
        ("a: {?x: 1}\n", {"a": {"?x": 1}}),
        ("a: {x:, y: 1}\n", {"a": {"x": None, "y": 1}}),
        ('a: {"x":1, y: 2}\n', {"a": {"x": 1, "y": 2}}),
        ("a: {x y\n  z: 1}\n", {"a": {"x y z": 1}}),
        ("a: {x\n  : 1}\n", {"a": {"x": 1}}),
        ("a: [x :y]\n", {"a": ["x :y"]}),
        ("%YAML 1.2\n---\na: 1\n", {"a": 1}),
        ("a:\tb\n", {"a": "b"}),
        ("a: b\n\t\nc: d\n", {"a": "b", "c": "d"}),
        ("a: &n.1 b\nc: *n.1\n", {"a": "b", "c": "b"}),
        ("a:\n  - b: 1\n  -\tc\n", {"a": [{"b": 1}, "c"]}),
        ("? a\n: b\n", {"a": "b"}),
        ("a: |\n \n  \n  b\n", {"a": "\n\nb\n"}),
        ("a: b\rc: d\r", {"a": "b", "c": "d"}),
    ],
)
def test_valid_yaml_that_libyaml_refuses_or_misreads(load, problems, text, value):
    assert load(text) == value
    assert problems(text) == []


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x7f", "\u00a0", "\ufeff", "🚀", "e\u0301"])
@pytest.mark.parametrize(
    "form",
    ["a: x{}y\nb: 1\n", "a: 'x{}y'\nb: 1\n", 'a: "x{}y"\nb: 1\n', "a: |\n  x{}y\nb: 1\n", "# x{}y\na: 1\nb: 1\n"],
)
def test_characters_like_others(parse, load, character, form):
    text = form.format(character)
    tree = parse(text)
    assert load(text)["b"] == 1
    root = tree.documents[0].root
    assert root.entries[1].key.span.position.column == 1
    assert root.entries[1].key.span.text == "b"
    value = root.entries[0].value
    if "#" in text:
        assert tree.comments[0].text == f" x{character}y"
    else:
        assert value.value.rstrip("\n") == f"x{character}y"


@pytest.mark.parametrize(
    "text", ["a: 'b\x0cc'\nd: 1\n", "# \x0c\na: b\nd: 1\n", "a: b\x00\nd: 1\n", "a: \ud800\nd: 1\n"]
)
def test_a_control_character_is_reported_and_hides_nothing(parse, problems, text):
    at = next(i for i, c in enumerate(text) if c in "\x0c\x00\ud800")
    line = text.count("\n", 0, at) + 1
    assert problems(text) == [("IL101", line, at - text.rfind("\n", 0, at))]
    assert [entry.key.value for entry in parse(text).documents[0].root.entries] == ["a", "d"]


def test_byte_order_mark_counts_for_nothing(load, parse):
    assert load("\ufeffa: 1\nb: 2\n") == {"a": 1, "b": 2}
    assert parse("\ufeffsteps:\n  - id: a\n").problems == ()


def test_crlf(load, parse):
    text = 'workflow: w\r\nsteps:\r\n  - id: a\r\n    b: |\r\n      x\r\n      y\r\n  - id: "c\r\n      d"\r\n'
    assert load(text) == {"workflow": "w", "steps": [{"id": "a", "b": "x\ny\n"}, {"id": "c d"}]}
    block = parse(text).documents[0].root.entries[1].value.items[0].entries[1].value
    assert block.span.text == "|\r\n      x\r\n      y"


def test_anchors_wherever_they_may_stand(load):
    assert load("a: &p {x: 1}\nb: *p\n") == {"a": {"x": 1}, "b": {"x": 1}}
    assert load("a: &t |\n  text\nb: *t\n") == {"a": "text\n", "b": "text\n"}
    assert load("steps:\n  - &s\n    id: a\n  - *s\n") == {"steps": [{"id": "a"}, {"id": "a"}]}
    assert load("a: [&x v, *x]\n") == {"a": ["v", "v"]}
    assert load("a: &x 1\nb: *x\nc: &x 2\nd: *x\n") == {"a": 1, "b": 1, "c": 2, "d": 2}
    assert load("a: &x\nb: *x\n") == {"a": None, "b": None}
    assert load("a: &x k\n*x : 1\n") == {"a": "k", "k": 1}
    assert load("a: &a [1, &a 2]\nb: *a\n") == {"a": [1, 2], "b": 2}


def test_anchors_in_another_piece(load, parse):
    text = "x-a: &a {k: 1}\nsteps:\n  - &s {id: x, p: *a}\n  - {id: y, p: *s}\ntail: [*a, *s]\n"
    assert load(text)["tail"] == [{"k": 1}, {"id": "x", "p": {"k": 1}}]
    assert len(parse(text).documents[0].pieces) == 4


def test_spans_leave_out_anchor_and_tag(parse):
    text = "a: &x !!map # why\n  k: v\nb: !!str &y 'q'\nc: &z\nd: !t [1]\ne: !!seq\n  - 1\n&k f: |2-\n   g\n"
    tree = parse(text)
    found = {entry.key.value: entry.value.span.text for entry in tree.documents[0].root.entries}
    assert found == {"a": "k: v", "b": "'q'", "c": "", "d": "[1]", "e": "- 1", "f": "|2-\n   g"}
    assert tree.documents[0].root.entries[-1].key.span.text == "f"
    assert tree.comments[0].text == " why"


def test_a_value_left_out_stands_behind_its_colon(parse, problems):
    text = "a:   # none\nb: {c, d: , e}\nf:\n  - \n  - x\n? g\n? h\nsteps:\n  - id:\n"
    assert problems(text) == []
    root = parse(text).documents[0].root
    empty = {entry.key.value: entry.value.start for entry in root.entries if isinstance(entry.value, Scalar)}
    assert empty == {"a": 2, "g": text.index("g") + 1, "h": text.index("h") + 1}
    flow = root.entries[1].value
    assert [text[entry.value.start - 1] for entry in flow.entries] == ["c", ":", "e"]
    assert text[root.entries[2].value.items[0].start - 1] == "-"


def test_styles_and_kinds(parse):
    root = parse("a: [p, 's', \"d\"]\nb: |\n  l\nc: >\n  f\n? [k]\n: {m: 1}\n").documents[0].root
    assert isinstance(root, Mapping)
    flow = root.entries[0].value
    assert isinstance(flow, Sequence)
    assert flow.flow
    assert [item.style for item in flow.items] == ["plain", "single", "double"]
    assert [entry.value.style for entry in root.entries[1:3]] == ["literal", "folded"]
    assert isinstance(root.entries[3].key, Sequence)
    assert not root.flow


def test_several_documents(parse):
    text = "# one\n---\na: 1\n...\n# between\n---\n# only a comment\n---\nb: 2\n...\nc: 3\n...\n# end\n"
    tree = parse(text)
    assert [document.root.entries[0].key.value for document in tree.documents] == ["a", "b", "c"]
    assert [comment.text for comment in tree.comments] == [" one", " between", " only a comment", " end"]
    assert tree.problems == ()


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only\n", "---\n", "---\n# x\n---\n...\n", "\ufeff", "%YAML 1.2\n---\n"]
)
def test_no_document(parse, text):
    assert parse(text).documents == ()
    assert parse(text).problems == ()


def test_anchors_end_with_their_document(problems):
    assert problems("a: &x 1\n---\nb: *x\n") == [("IL101", 3, 4)]


def test_aliases_keep_their_name_and_target(parse):
    root = parse("a: &x v\nb: *x\n").documents[0].root
    alias = root.entries[1].value
    assert isinstance(alias, Alias)
    assert alias.target is root.entries[0].value
    assert alias.span.text == "*x"


def test_comments_are_never_inside_scalars(parse):
    text = (
        "# top\na: 'no # comment' # yes\nb: |  # header\n  # text\n\n # under\nc: [1, # in flow\n  'x # y']\n"
        'd: "a\n  # inside"\ne: x#y # z\nsteps:\n  # above\n  - id: q # beside\n'
    )
    tree = parse(text)
    assert tree.problems == ()
    assert [(comment.text, comment.alone) for comment in tree.comments] == [
        (" top", True),
        (" yes", False),
        (" header", False),
        (" under", True),
        (" in flow", False),
        (" z", False),
        (" above", True),
        (" beside", False),
    ]
    assert all(comment.span.text == "#" + comment.text for comment in tree.comments)
