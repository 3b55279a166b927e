"""What is wrong with a text: where it is said, what it says, and what is not lost for it."""

import pytest

HEAD = "workflow: w\ninputs: {url: string}\nsteps:\n"
A = "  - id: a\n    block: log\n"
B = "  - id: b\n    block: log\n"
TAIL = "outputs: {x: 1}\n"


@pytest.mark.parametrize(
    ("step", "line", "column"),
    [
        ("  - id: x\n    bloc\n    params: {a: 1}\n", 2, 5),
        ("  - id: x\n    block: log\n    par\n", 3, 5),
        ("  - id: x\n    when: {inputs.\n    block: log\n", 2, 11),
        ("  - id: x\n    params: {message: {inputs.\n", 2, 23),
        ('  - id: x\n    when: "{inputs.x\n    params: {message: "a"}\n', 2, 11),
        ("  - id: x\n    when: 'x\n    block: 'a'\n", 2, 11),
        ("  - id: x\n\tblock: log\n", 2, 1),
        ("  - id: x\n    params:\n    \tmessage: hi\n", 3, 5),
        ("  - id: x\n    block:log\n    when: true\n", 2, 5),
        ("  - id: x\n    when: a: b\n", 2, 12),
        ("  - id: x\n    block: log\n      params: {}\n", 3, 7),
        ("  - id: x\n    params\n      message: hi\n", 2, 5),
        ("  - id: x\n    block: @log\n", 2, 12),
        ("  - id: x\n    block: %log\n", 2, 12),
        ("  - id: x\n    cron: * * *\n", 2, 11),
        ("  - id: x\n    params: {a: [1}\n", 2, 19),
        ("  - id: x\n    params: {a: 'é🚀', b: @x}\n", 2, 26),
        ('  - id: x\n    when: "a" b\n', 2, 15),
        ('  - id: x\n    when: "a\\d"\n', 2, 14),
        ('  - id: x\n    when: "a\\ud800"\n', 2, 11),
        ('  - id: x\n    when: "a\\ude00\\ud83d"\n', 2, 11),
        ('  - id: x\n    when: "a\\U00110000"\n', 2, 11),
        ('  - id: x\n    when: "a\\UFFFFFFFF"\n', 2, 11),
        ("  - id: x\n    params: {a: 1]\n", 2, 18),
        ("  - id: x\n    params: [a,, b]\n", 2, 16),
        ("  - id: x\n    params: [\n", 2, 13),
        ("  -id: x\n    block: log\n", 1, 3),
        ("<<<<<<< HEAD\n", 1, 1),
        ("{{- if .Values.x }}\n", 1, 1),
        ("  {% if x %}\n", 1, 3),
        ("out\n", 1, 1),
        ("  - id: x\n    a: *nowhere\n", 2, 8),
    ],
)
def test_a_slip_is_one_problem_in_its_place_and_the_other_steps_stay(problems, step_ids, step, line, column):
    text = HEAD + A + step + B + TAIL
    assert problems(text) == [("IL101", 5 + line, column)]
    assert [one for one in step_ids(text) if one in {"a", "b"}] == ["a", "b"]


def test_head_and_tail_stay_beside_a_broken_step(parse):
    document = parse(HEAD + A + "  - id: x\n    p: {a\n" + TAIL).documents[0]
    assert [entry.key.value for entry in document.root.entries] == ["workflow", "inputs", "steps", "outputs"]
    assert document.broken_ids == ("x",)
    assert [span.text for span in document.broken] == ["- id: x\n    p: {a"]


def test_two_broken_steps_are_two_problems(problems, step_ids):
    text = HEAD + "  - id: x\n    a: [\n" + A + "  - id: y\n    b: {\n" + B
    assert [line for _, line, _ in problems(text)] == [5, 9]
    assert step_ids(text) == ["a", "b"]


def test_a_broken_entry_of_the_head_or_tail_is_fenced_off_alone(parse, problems):
    text = "workflow: w\ninputs: {url: string\nsecrets: [A]\nsteps:\n" + A + "outputs: [\non_cancel: []\n"
    assert [line for _, line, _ in problems(text)] == [2, 7]
    document = parse(text).documents[0]
    assert [entry.key.value for entry in document.root.entries] == [
        "workflow",
        "secrets",
        "steps",
        "on_cancel",
    ]
    assert document.broken_keys == ("inputs", "outputs")


def test_a_document_without_steps_loses_only_the_broken_entry(parse, problems):
    text = "a: 1\nb: [1\nc: 3\n"
    assert problems(text) == [("IL101", 2, 4)]
    assert [entry.key.value for entry in parse(text).documents[0].root.entries] == ["a", "c"]


def test_broken_steps_in_flow_style_are_one_problem(parse, problems):
    text = "workflow: w\nsteps: [\n  {id: a, block: log},\n  {id: b block: log}\n]\noutputs: {}\n"
    assert problems(text) == [("IL101", 4, 15)]
    document = parse(text).documents[0]
    assert document.broken_ids == ("a", "b")
    assert document.broken_keys == ("steps",)


def test_a_step_in_a_column_of_its_own_is_reported_and_kept(problems, step_ids):
    for dash in ("   - id: x\n     block: log\n", " - id: x\n   block: log\n"):
        text = HEAD + A + dash + B
        assert problems(text) == [("IL101", 6, dash.index("-") + 1)]
        assert step_ids(text) == ["a", "x", "b"]


def test_a_merge_conflict_keeps_the_first_side(parse, problems, step_ids):
    text = HEAD + A + "<<<<<<< HEAD\n  - id: ours\n||||||| base\n  - id: old\n=======\n  - id: theirs\n>>>>>>> x\n" + B
    assert problems(text) == [("IL101", 6, 1)]
    assert step_ids(text) == ["a", "ours", "b"]
    (dropped,) = parse(text).documents[0].broken
    assert "theirs" in dropped.text


def test_template_lines_are_one_problem_and_hide_nothing(problems, step_ids):
    text = HEAD + A + "{{- if .Values.x }}\n" + B + "{{- end }}\n" + TAIL
    assert problems(text) == [("IL101", 6, 1)]
    assert step_ids(text) == ["a", "b"]


def test_lines_that_were_passed_over_are_no_comments(parse):
    text = "%YAML 1.2\n---\n" + HEAD + A + "{{- if }}\n<<<<<<< x\n=======\n  - id: y\n>>>>>>> z\n" + B
    assert parse(text).comments == ()


def test_an_error_in_one_document_leaves_the_next_alone(parse, problems):
    text = HEAD + "  - id: x\n    a: {\n---\n" + HEAD + B
    assert problems(text) == [("IL101", 5, 8)]
    assert [len(document.broken) for document in parse(text).documents] == [1, 0]


def test_names_in_a_broken_piece_are_known(parse, problems):
    text = "steps:\n  - id: x\n    p: &p {a\n  - id: y\n    p: *p\n"
    assert problems(text) == [("IL101", 3, 11)]
    assert parse(text).documents[0].broken_ids == ("x",)


def test_constructs_that_cross_pieces_are_no_errors(load):
    for middle in ("p: {\n      k: 1\n  }\n", "p: {\n      k: 1\n}\n"):
        assert load(f"steps:\n  - id: x\n    {middle}  - id: y\n") == {
            "steps": [{"id": "x", "p": {"k": 1}}, {"id": "y"}]
        }
    assert load('steps:\n  - "a\n   - b"\n  - c\n') == {"steps": ["a - b", "c"]}
    assert load("steps:\n  - a\n? b\n: c\n") == {"steps": ["a"], "b": "c"}
    assert load("steps:\n- a\n- b\nc: 1\n") == {"steps": ["a", "b"], "c": 1}


def test_text_that_goes_on_at_the_margin_is_one_problem_and_stays_in_the_tree(problems, parse):
    text = 'steps:\n  - "a\n  - b"\n  - c\n'
    assert problems(text) == [("IL101", 3, 3)]
    assert [item.data for item in parse(text).documents[0].root.entries[0].value.items] == ["a - b", "c"]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\na: 2\n", 2, 1),
        ("a: {b: 1, b: 2}\n", 1, 11),
        ("1: x\n0x1: y\n", 2, 1),
        ("a: 1\n'a': 2\n", 2, 1),
        ("k: &k a\na: 1\n*k : 2\n", 3, 1),
        ("<<: {x: 1}\n<<: {y: 2}\n", 2, 1),
        ("a: 1\nsteps:\n  - id: x\nsteps: []\n", 4, 1),
        ("a: 1\nsteps:\n  - id: x\na: 2\n", 4, 1),
        ("steps:\n  - id: x\n    p: {id: 1}\n    id: y\n", 4, 5),
        ("a: 1\nb: [\na: 2\n", 3, 1),
    ],
)
def test_duplicate_keys(parse, problems, text, line, column):
    assert ("IL102", line, column) in problems(text)
    (problem,) = [one for one in parse(text).problems if one.code == "IL102"]
    assert problem.related[0][0].offset < problem.span.offset


def test_every_further_duplicate_is_reported(problems):
    assert problems("a: 1\na: 2\na: 3\n") == [("IL102", 2, 1), ("IL102", 3, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "1: a\n'1': b\n",
        "<<: {a: 1}\na: 2\n",
        "<<: {}\n'<<': 1\n",
        "1: a\n1.0: b\ntrue: c\n",
        "? [a]\n: 1\n? [b]\n: 2\n",
    ],
)
def test_keys_that_are_not_the_same(problems, text):
    assert problems(text) == []


def test_undefined_alias(problems):
    assert problems("a: *x\nb: &x 1\n") == [("IL101", 1, 4)]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: &a [*a]\n", 1, 8),
        ("a: &a {b: {c: *a}}\n", 1, 15),
        ("steps:\n  - &s\n    id: x\n    p: [*s]\n", 4, 9),
    ],
)
def test_an_alias_inside_its_own_anchor(problems, text, line, column):
    assert problems(text) == [("IL110", line, column)]


def _laughs(levels: int) -> str:
    lines = ["a0: &a0 [" + "x, " * 10 + "]"]
    lines += [f"a{n}: &a{n} [" + f"*a{n - 1}, " * 10 + "]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


def test_expansion_without_bound_is_found_without_expanding(parse, problems):
    text = _laughs(30)
    ((code, line, _),) = problems(text)
    assert (code, line) == ("IL110", 6)
    assert problems("steps:\n  - id: x\n" + text)[0][0] == "IL110"
    assert problems(_laughs(4)) == []


def test_expansion_counts_across_pieces(problems):
    base = _laughs(5) + "steps:\n"
    text = base + "".join(f"  - id: s{n}\n    p: *a4\n" for n in range(12))
    ((code, line, column),) = problems(text)
    assert (code, column) == ("IL110", 8)
    assert line > base.count("\n") + 8


def test_a_chain_of_aliases_deeper_than_the_limit_is_one_problem(problems):
    text = "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 3000))
    ((code, line, _),) = problems(text)
    assert (code, line) == ("IL101", 100)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        "a: " + "[" * 20_000 + "]" * 20_000,
        "{a: " * 20_000 + "x" + "}" * 20_000,
        "- " * 20_000 + "x",
        "? " * 20_000,
        "[\n" * 20_000,
        "".join(" " * depth + "a:\n" for depth in range(1000)),
        "steps:\n  - id: x\n    p: " + "[" * 20_000 + "\n",
    ],
)
def test_nesting_without_end_is_refused_once(problems, text):
    ((code, _, _),) = problems(text)
    assert code == "IL101"


def test_deep_but_sane_nesting_is_fine(load):
    assert load("a: " + "[" * 90 + "]" * 90 + "\n")


def test_a_large_file(parse):
    step = "  - id: s{}\n    block: log\n    params: {{m: hi}}\n    when: true\n    next: end\n"
    text = HEAD + "".join(step.format(n) for n in range(10_000))
    tree = parse(text)
    assert tree.problems == ()
    assert len(tree.documents[0].root.entries[2].value.items) == 10_000
    broken = parse(text.replace("id: s9999\n", "id: {s9999\n"))
    assert [problem.span.position.line for problem in broken.problems] == [3 + 5 * 9999 + 1]


def test_messages_are_one_sentence_without_the_parsers_words(parse):
    for text in ("a: [\n", "a: 'b\n", "a: b: c\n", "a\nb: 1\n", "a: *b\n", "a: @\n", "a: {b: 1 c: 2}\n", "\t- a\n"):
        (problem,) = parse(text).problems
        assert "\n" not in problem.message
        for word in ("token", "block end", "scanning", "simple key", "did not find"):
            assert word not in problem.message


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("url: {inputs.url}/x", "{inputs.url}/x"),
        ("message: {inputs.n} items  # how many", "{inputs.n} items"),
        ("message: {size(a, b)} items", "{size(a, b)} items"),
        ("params: {message: {fetch.status}!}", "{fetch.status}!"),
        ("params: {message: {inputs.n} items, level: info}", "{inputs.n} items"),
        ("params: {message: got {inputs.n} items, level: info}", "got {inputs.n} items"),
        ("params: [{inputs.n} items]", "{inputs.n} items"),
    ],
)
def test_a_text_with_a_template_that_lacks_quotes(parse, line, written):
    text = HEAD + A + "  - id: x\n    " + line + "\n" + B
    (problem,) = parse(text).documents[0].problems
    assert problem.message == "quotes are missing around this text with a template in it"
    assert problem.hint == f'put it in quotes: "{written}"'
    assert problem.span.text == written


@pytest.mark.parametrize("line", ["params: {a: {b: c} d: e}", "params: {a: 1 b: {c: d}}", "params: {a: b} c"])
def test_a_missing_comma_is_no_template(parse, line):
    (problem,) = parse(HEAD + A + "  - id: x\n    " + line + "\n" + B).documents[0].problems
    assert "quotes are missing" not in problem.message
