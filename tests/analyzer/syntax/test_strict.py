"""What both parsers would let pass: each is one problem, the same with either, and the tree is kept."""

import pytest


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: [b]#c\n", 1, 7),
        ('a: "b"#c\nd: 1\n', 1, 7),
        ("a: [b,#c\n  d]\n", 1, 7),
        ("a: {b: [-]}\n", 1, 9),
        ("a: [b, - , c]\n", 1, 8),
        ("a: [b,\nc]\n", 2, 1),
        ("- - [b,\n  c]\n", 2, 3),
        ("a:\n  k: 'b\n  c'\n", 3, 3),
        ("? k: {b: 1,\n  c: 2}\n: 1\n", 2, 3),
        ('a: "b\n\tc"\n', 2, 1),
        ("a: |\n \n  \n b\nc: 1\n", 4, 2),
        ("%YAML 1.2 x\n---\na: 1\n", 1, 1),
        ("%YAML 1.2\n%YAML 1.2\n---\na: 1\n", 2, 1),
        ("%YAML 1.2\n", 1, 1),
        ("# only\n%YAML 1.2\na: 1\n", 2, 1),
        ("a: 1\n...\n%YAML 1.2\n", 3, 1),
        ("workflow: w\nsteps:\n  - id: a\n    p: {b: 1,\n    c: 2}\n  - id: b\n", 5, 5),
    ],
)
def test_a_slip_is_one_problem(problems, text, line, column):
    assert problems(text) == [("IL101", line, column)]


@pytest.mark.parametrize(
    "text",
    [
        "a: b]#c\n",
        "a: '[b]#c'\n",
        "a: |\n  [b]#c\n",
        "a: 1 # [b]#c\n",
        "a: [b] #c\n",
        "a: [b,\n# c\n  d,\n]\n",
        'a: "b\n  c\n"\n',
        "a: [\n  b\n]\n",
        "--- [a,\nb]\n",
        '---\n"a\nb"\n',
        "k: &a\n  b: [c,\n   d]\n",
        "- b: [c,\n   d]\n",
        "a:\n- [b,\n c]\n",
        "{-: 1, b: -1}\n",
        "a: |\n   \n\nb: 1\n",
        "a: |2\n    \n  b\n",
        "a: !t {b: [1,\n  2]}\n",
        "%TAG ! !x\n# c\n---\na: 1\n",
        "%YAML 1.2 # c\n---\na: 1\n...\n%YAML 1.2\n---\nb: 1\n",
        "[a,\n b%c\n %d]\n",
        "{ a\n%: 20 }\n",
        "a: [b\n  % c]\n",
    ],
)
def test_what_only_looks_like_one_is_none(problems, text):
    assert problems(text) == []


def test_a_pair_without_a_key_may_stand_in_brackets(load):
    assert load("a: [ : b, : , c, {: d}]\n") == {"a": [{None: "b"}, {None: None}, "c", {None: "d"}]}


def test_the_last_line_of_block_text_may_be_blank_without_a_line_end(load):
    assert load("a: |\n  b\n   ") == {"a": "b\n \n"}
    assert load("a: |\n  b\n  ") == {"a": "b\n"}
    assert load("a: |+\n  b\n  ") == {"a": "b\n\n"}
    assert load("a: |-\n  b \t") == {"a": "b \t"}
