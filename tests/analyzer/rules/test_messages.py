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
