"""What messages and hints say to someone who does not know the language yet."""

from __future__ import annotations

import pytest

from interlock.analyzer.analysis import check_texts
from interlock.analyzer.diagnostics import Diagnostic


def the_one(text: str) -> Diagnostic:
    """The one error."""
    (one,) = (one for one in check_texts({"example.workflow.yaml": text}) if one.severity == "error")
    return one


def in_step(line: str) -> Diagnostic:
    """The one error of a step that has this line."""
    return the_one(f"""\
workflow: w
inputs: {{n: integer, s: string}}
steps:
  - id: a
    block: log
    params: {{message: "x"}}
    {line}
""")


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("inputs.n > 3", 'Write "{inputs.n > 3}".'),
        ('inputs.s == "a"', "Write '{inputs.s == \"a\"}'."),
        ("yes", "Write true without quotes."),
        ("only on mondays", None),
    ],
)
def test_a_condition_without_braces(written: str, hint: str | None) -> None:
    one = in_step(f"when: {written}")
    assert (one.code, one.hint) == ("IL105", hint)


def test_a_function_at_the_start_of_a_message_keeps_its_name() -> None:
    assert in_step('when: "{size(1) > 2}"').message.startswith("size() takes ")


def test_a_field_at_the_start_of_a_message_is_quoted() -> None:
    assert in_step("retry: 3").message == '"retry" takes a mapping, not the number 3.'
    assert in_step("retry: {}").message.startswith('"retry" needs "max_attempts"')


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("name: x", 'A workflow is named by "workflow".'),
        ("on: push", "Nothing is said here of what starts a run: remove it."),
        ("timeout: 5m", 'The time of a whole run is limited by "deadline".'),
        ("when: true", '"when" belongs in a step.'),
        ("max_transitions: 3", '"max_transitions" belongs in budget.'),
        ("names: [x]", None),
    ],
)
def test_an_unknown_field_at_the_top(line: str, hint: str | None) -> None:
    one = the_one(f"workflow: w\n{line}\nsteps:\n  - {{id: a, delay: 1s}}\n")
    assert (one.line, one.code, one.hint) == (2, "IL103", hint)


def test_a_word_of_another_language_on_a_step() -> None:
    one = in_step("if: true")
    assert (one.code, one.hint) == ("IL103", 'A condition is written with "when".')


def test_a_block_written_as_a_field() -> None:
    one = the_one("workflow: w\nsteps:\n  - id: a\n    log: hi\n")
    assert (one.code, one.hint) == ("IL103", 'Write "block: log", and what it takes in params.')


def test_a_field_of_the_step_among_the_params() -> None:
    one = the_one(
        "workflow: w\nsteps:\n  - id: a\n    block: log\n"
        "    params:\n      message: hi\n      retry: {max_attempts: 2}\n"
    )
    assert (one.line, one.code, one.hint) == (7, "IL209", '"retry" belongs to the step, beside params.')


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("length(inputs.s) > 2", "Write size(x)."),
        ("len(inputs.s) > 2", "Write size(x)."),
        ("inputs.s.to_lower() == 'a'", "Write x.lowerAscii()."),
        ("round(1.5) == 2.0", "Write math.round(x)."),
        ("sqrt(4.0) == 2.0", "Write math.sqrt(x)."),
        ("frobnicate(1) == 2", None),
    ],
)
def test_a_function_of_another_language(call: str, hint: str | None) -> None:
    one = in_step(f'when: "{{{call}}}"')
    assert (one.code, one.hint) == ("IL202", hint)


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("1 second", "1s"),
        ("5 min", "5m"),
        ("5 minutes", "5m"),
        ("1 hour and 30 minutes", "1h30m"),
        ("90 min", "1h30m"),
        ("1.5h", "1h30m"),
        ("PT5M", "5m"),
        ("2 weeks", "14d"),
    ],
)
def test_a_duration_in_words(written: str, right: str) -> None:
    one = in_step(f"timeout: {written}")
    assert (one.code, one.hint) == ("IL111", f'Write "{right}".')


@pytest.mark.parametrize("written", ["soon", "5 minutes ago", "0 minutes", "500ms", "999999999 weeks", "0.5s"])
def test_what_is_no_duration_in_any_words(written: str) -> None:
    one = in_step(f"timeout: {written}")
    assert one.code == "IL111"
    assert (one.hint or "").startswith("Write a positive time")


def _calling(others: int) -> str | None:
    texts = {"a.workflow.yaml": "workflow: main\nsteps:\n  - id: a\n    run_workflow: {workflow: elsewhere}\n"}
    for number in range(others):
        texts[f"b{number}.workflow.yaml"] = f"workflow: other-{number}\nsteps:\n  - {{id: a, delay: 1s}}\n"
    (one,) = (one for one in check_texts(texts) if one.severity == "error")
    assert one.code == "IL412"
    return one.hint


def test_workflows_that_could_have_been_named() -> None:
    assert _calling(0) == "No other workflow is known here; check the whole workspace if it stands in another file."
    assert _calling(2) == 'Known are "other-0", "other-1".'
    assert (_calling(7) or "").endswith('"other-3", "other-4" and others.')


@pytest.mark.parametrize(("word", "free"), [("loop", "loop_"), ("inputs", "inputs_"), ("end", "end_"), ("a-b", "a_b")])
def test_a_free_name_for_a_reserved_one(word: str, free: str) -> None:
    one = the_one(f"workflow: w\nsteps:\n  - {{id: {word}, delay: 1s}}\n")
    assert (one.code, one.hint) == ("IL106", f'Write it as "{free}", here and where it is read.')


def test_an_unknown_field_of_a_small_mapping_is_told_what_can_stand_there() -> None:
    one = the_one("workflow: w\nsteps:\n  - {id: a, wait_for_approval: {message: go?}}\n")
    assert (one.code, one.hint) == ("IL103", "What can stand here: result_key, match, correlation_key.")


STATE = "it is there where the step has run."


@pytest.mark.parametrize(
    ("read", "message", "hint"),
    [
        (
            "a.status",
            '"a" is a step, and handlers see no step by its name: the run may have stopped before it.',
            f"Read it as state.?a.?status.orValue(…): {STATE}",
        ),
        (
            "deep.v",
            '"deep" is a step, and handlers see no step by its name: the run may have stopped before it.',
            "Give what contains it an output that reads it, and read that through `state`.",
        ),
        ("undo.x", '"undo" is a step of a handler, and handlers see no step by its name.', None),
        ("nothing.x", '"nothing" is not a name that stands here.', "What stands here: inputs, run, state, secrets."),
    ],
)
def test_a_handler_that_reads_a_step_is_told_where_to_look(read: str, message: str, hint: str | None) -> None:
    one = the_one(f"""\
workflow: w
steps:
  - id: a
    block: http
    params: {{url: "https://a.example"}}
  - id: par
    concurrency:
      branches:
        left: {{steps: [{{id: deep, block: set, params: {{v: 1}}}}]}}
on_cancel:
  - id: undo
    block: log
    params: {{message: hi}}
  - id: tell
    block: log
    params: {{message: "{{{read}}}"}}
""")
    assert (one.code, one.message, one.hint) == ("IL202", message, hint)


def test_a_step_that_ran_on_some_ways_can_be_read_from_the_state() -> None:
    text = """\
workflow: w
inputs: {go: boolean}
budget: {max_transitions: 20}
steps:
  - id: pick
    block: log
    params: {message: hi}
    next: "{inputs.go ? 'a' : 'b'}"
  - id: a
    block: set
    params: {v: READ_A}
  - id: b
    block: http
    params: {url: "https://a.example", query: {last: READ_B}}
    next: "{b.status == 200 ? 'end' : 'b'}"
"""
    later = the_one(text.replace("READ_A", '"{b.status}"').replace("READ_B", "1"))
    assert later.hint == "Read only what stands before this place, whatever way the run takes to it."
    other = the_one(text.replace("READ_A", "1").replace("READ_B", '"{a.v}"'))
    assert (other.code, other.hint) == ("IL203", f"Read it as state.?a.?v.orValue(…): {STATE}")
    again = the_one(text.replace("READ_A", "1").replace("READ_B", '"{b.json.at}"'))
    assert again.hint == f"Read it as state.?b.?json.?at.orValue(…): {STATE}"


def test_a_private_name_is_not_in_the_state() -> None:
    one = the_one("""\
workflow: w
steps:
  - id: ask
    wait_for_input: {result_key: _answer}
  - id: say
    block: log
    params: {message: "{_answer.x} {state._answer.x}"}
""")
    assert (one.code, one.line, one.column) == ("IL205", 7, 43)
    assert one.message == '"_answer" is private (it starts with `_`), and never in the state.'


def test_a_key_of_the_workflow_cannot_read_the_state() -> None:
    one = the_one("workflow: w\nidempotency_key: '{state.x}'\nsteps: [{id: a, block: log, params: {message: hi}}]")
    assert (one.code, one.line, one.hint) == ("IL202", 2, "Build the key from inputs.")


def test_a_workflow_that_starts_itself_is_a_ring_of_one() -> None:
    (one,) = (
        one
        for one in check_texts(
            {
                "example.workflow.yaml": """\
workflow: w
inputs: {n: integer}
steps:
  - id: a
    start_workflows: {items: [1], workflow: w, payload_key: n}
"""
            }
        )
        if one.code == "IL417"
    )
    assert one.message.startswith('The runs of "w" → "w" start each other')


def test_both_bodies_of_a_request_are_one_too_many() -> None:
    one = the_one(
        "workflow: w\nsteps:\n  - id: a\n    block: http\n"
        "    params: {url: 'https://a.example', body: x, method: POST, json: {a: 1}}"
    )
    assert (one.code, one.message) == ("IL209", '"http" takes only one of "body" and "json".')
    assert one.column == 63


@pytest.mark.parametrize(
    ("step", "hint"),
    [
        (
            'wait_for_workflow: {workflow: "{inputs.b}"}, result_key: zz',
            '"result_key" belongs in wait_for_workflow.',
        ),
        ("run_workflow: {workflow: w, timeout: 5s}", '"timeout" belongs in a step.'),
        ("for_each: {items: [1], steps: [], result_key: zz}", None),
    ],
)
def test_a_field_belongs_first_in_what_stands_there(step: str, hint: str | None) -> None:
    found = check_texts({"x.workflow.yaml": f"workflow: w\ninputs: {{b: string}}\nsteps:\n  - {{id: k, {step}}}\n"})
    (one,) = (one for one in found if one.code in ("IL103", "IL302"))
    if hint is not None:
        assert one.hint == hint
    else:
        assert one.hint is not None
        assert one.hint.startswith('"result_key" belongs in run_workflow or start_workflows or ')


def test_a_step_with_a_bad_id_is_called_by_what_stands_there() -> None:
    text = "workflow: w\nbudget: {max_transitions: 1}\nsteps:\n  - {id: loop, delay: 1s}\n  - delay: 1s\n"
    found = check_texts({"x.workflow.yaml": text})
    (one,) = (one for one in found if one.code == "IL603")
    assert one.message.endswith("the cheapest path is loop (1) → a step without an id (1).")
    assert [other.message for other in one.related] == ['"loop" takes 1 step', "a step without an id takes 1 step"]


def test_a_sentence_about_a_step_without_an_id_begins_as_one() -> None:
    found = check_texts(
        {
            "x.workflow.yaml": "workflow: w\nbudget: {max_for_each_items: 1}\nsteps:\n"
            "  - {for_each: {items: [1, 2], steps: [{id: a, delay: 1s}]}}\n"
        }
    )
    (one,) = (one for one in found if one.code == "IL604")
    assert one.message.startswith("A step without an id has 2 items here, ")


EXPORTS = """
workflow: w
inputs: {l: array}
steps:
  - id: both
    concurrency:
      branches:
        left: {steps: [{id: a, block: set, params: {x: 1}}], outputs: {a: "{[a]}", n: "{ a.x }"}}
        right: {steps: [{id: b, block: set, params: {x: 1}}]}
  - id: lock
    concurrency: {resource: r, outputs: {code: "{roll.status}"}, steps: [{id: roll, block: set, params: {status: 1}}]}
  - id: each
    for_each: {items: "{inputs.l}", outputs: {all: "{c}"}, steps: [{id: c, block: set, params: {x: 1}}]}
  - {id: z, block: log, params: {message: "{READ}"}}
"""


@pytest.mark.parametrize(
    ("read", "hint"),
    [
        ("a.x", "Read the output that shows it: {both.branches.left.output.n}."),
        ("b.x", "Give the branch an output that reads it, and read that: {both.branches.right.output.b}."),
        ("roll.status", "Read the output that shows it: {lock.output.code}."),
        ("roll.other", "Give the section an output that reads it, and read that: {lock.output.roll}."),
        ("roll", "Give the section an output that reads it, and read that: {lock.output.roll}."),
        ("c.x", "Read the output that shows it: {each.results[0].all.x}."),
    ],
)
def test_what_is_shown_already_is_read_where_it_is_shown(read: str, hint: str) -> None:
    one = the_one(EXPORTS.replace("READ", read))
    assert (one.code, one.hint) == ("IL204", hint)


@pytest.mark.parametrize("text", ["it's {broken", "{broken", "{size(broken", "{'a' + broken", "{broken + 'x"])
def test_an_expression_without_an_end_is_one_mistake(text: str) -> None:
    found = check_texts(
        {"x.workflow.yaml": f'workflow: w\nsteps:\n  - {{id: a, block: log, params: {{message: "{text}"}}}}\n'}
    )
    assert [one.code for one in found] == ["IL201"]


@pytest.mark.parametrize(
    ("comment", "hint"),
    [
        ("# interlock: ignore", 'Write "# interlock: ignore[RULE] reason", with the name or code of a rule.'),
        ("# interlock ignore[unused-input]", 'Write "# interlock: ignore[unused-input] reason".'),
        ("# interlock: ignore[]", 'Write "# interlock: ignore[RULE] reason", with the name or code of a rule.'),
        ("# Interlock: ignore[IL210]", 'Write "# interlock: ignore[unused-input] reason".'),
        ("# interlock: ignore unused-input, il401 x", 'Write "# interlock: ignore[unused-input, nested-wait] reason".'),
    ],
)
@pytest.mark.parametrize("line", ["  s: string  {}\n", "  {}\n  s: string\n"])
def test_a_suppression_that_names_no_rule(line: str, comment: str, hint: str) -> None:
    text = f"workflow: w\ninputs:\n{line.format(comment)}steps:\n  - {{id: a, delay: 1s}}\n"
    found = {one.code: one for one in check_texts({"x.workflow.yaml": text})}
    assert found.keys() == {"IL210", "IL702"}
    one = found["IL702"]
    assert (text[one.offset : one.end_offset], one.hint) == (comment, hint)
    assert one.message == "This suppression names no rule, so it suppresses nothing."


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("IL4", "Rules are named one by one, and interlock rules lists them."),
        ("il40", "Rules are named one by one, and interlock rules lists them."),
        ("nested-wiat", 'Did you mean "nested-wait"?'),
        ("nothing-like-it", "interlock rules lists them."),
    ],
)
def test_a_name_of_no_rule(name: str, hint: str) -> None:
    text = f"workflow: w\nsteps:\n  - {{id: a, delay: 1s}}  # interlock: ignore[{name}]\n"
    (one,) = check_texts({"x.workflow.yaml": text})
    assert (one.code, one.hint) == ("IL702", hint)
