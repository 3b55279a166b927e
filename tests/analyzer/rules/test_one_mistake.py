"""One slip of the writer gives one diagnostic, and the text around it is still judged."""

from __future__ import annotations

import pytest

from interlock.analyzer.analysis import check_texts
from interlock.analyzer.model.read import ReadSteps, read_document
from interlock.analyzer.source.text import SourceText
from interlock.analyzer.syntax.parse import parse_tree


def found(text: str) -> list[tuple[int, str, str]]:
    """Line, code and the text that is marked, for each diagnostic."""
    return [
        (one.line, one.code, text[one.offset : one.end_offset]) for one in check_texts({"example.workflow.yaml": text})
    ]


def test_a_second_kind_takes_its_fields_with_it() -> None:
    text = """\
workflow: w
steps:
  - id: a
    delay: 1m
    block: http
    params: {url: "https://a.example"}
    retry: {max_attempts: 2}
"""
    assert found(text) == [(5, "IL107", "block")]


def test_a_field_of_neither_kind_is_still_misplaced() -> None:
    text = """\
workflow: w
steps:
  - id: a
    delay: 1m
    wait_for_approval: {}
    retry: {max_attempts: 2}
"""
    assert found(text) == [(5, "IL107", "wait_for_approval"), (6, "IL302", "retry")]


def test_the_inner_of_two_conditions_is_read_and_judged() -> None:
    text = """\
workflow: w
inputs: {go: boolean, late: boolean}
steps:
  - id: a
    when: "{inputs.go}"
    concurrency:
      when: "{inputs.late && inputs.nowhere}"
      resource: k
      lifetime: run
"""
    assert found(text) == [(7, "IL315", "when"), (7, "IL205", "nowhere")]


@pytest.mark.parametrize("word", ["list", "get-it", "inputs", "end", "_mine", "1st"])
def test_what_refers_to_a_badly_named_step_is_no_second_mistake(word: str) -> None:
    reader = "{" + word + ".json}" if word != "1st" else "{run.attempt}"
    text = f"""\
workflow: w
budget: {{max_transitions: 9}}
steps:
  - id: {word}
    block: http
    params: {{url: "https://a.example"}}
  - id: b
    block: set
    params: {{x: "{reader}"}}
  - id: c
    when: "{{b.x == 1}}"
    delay: 1s
    next: {word}
"""
    assert found(text) == [(4, "IL106", word)]


def test_other_names_are_judged_beside_a_badly_named_step() -> None:
    text = """\
workflow: w
steps:
  - id: get-it
    block: http
    params: {url: "https://a.example"}
  - id: b
    block: set
    params: {x: "{nowhere.json}"}
"""
    assert found(text) == [(3, "IL106", "get-it"), (8, "IL202", "nowhere")]


def test_a_string_without_an_end_is_one_mistake() -> None:
    text = """\
workflow: w
inputs: {n: integer}
steps:
  - {id: a, block: set, params: {x: "{'x}"}}
  - {id: b, block: set, params: {x: "{inputs.n + 'x}"}}
  - {id: c, block: set, params: {x: "{inputs.n"}}
"""
    assert [(line, code) for line, code, _ in found(text)] == [(4, "IL201"), (5, "IL201"), (6, "IL201")]


def test_a_jump_template_of_bad_names_only_counts_as_no_jump() -> None:
    text = """\
workflow: w
budget: {max_transitions: 9}
steps:
  - {id: a, block: set, params: {x: 1}}
  - {id: b, block: set, params: {x: 1}, next: "{a.x > 1 ? 'nowhere' : 'never'}"}
  - {id: c, block: set, params: {x: "{b.x}"}}
"""
    assert found(text) == [(5, "IL213", "'nowhere'"), (5, "IL213", "'never'")]


def test_an_input_that_is_read_with_a_slip_is_read() -> None:
    text = """\
workflow: w
inputs: {season: string, colour: string, spare: string}
steps:
  - {id: a, block: set, params: {x: "{inptus.season}", y: "{inputs.colur}"}}
"""
    assert found(text) == [(2, "IL210", "spare"), (4, "IL202", "inptus"), (4, "IL205", "colur")]


def test_what_the_steps_of_an_empty_list_would_give_is_no_second_mistake() -> None:
    text = """\
workflow: w
steps:
  - id: a
    for_each: {items: [1], steps: [], outputs: {y: "{fetch.json}"}}
  - id: b
    concurrency: {branches: {x: {steps: [], outputs: {y: "{fetch.json}"}}}}
  - id: c
    concurrency: {resource: k, steps: [], outputs: {y: "{fetch.json}"}}
  - id: d
    concurrency: {resource: k, lifetime: run, steps: [], outputs: {y: "{fetch.json}"}}
  - id: e
    block: set
    params: {x: "{a.succeeded}", y: "{b.branches.x.output.y}"}
outputs: {z: "{fetch.json}"}
"""
    assert found(text) == [
        (4, "IL113", "[]"),
        (6, "IL309", "x"),
        (8, "IL308", "concurrency"),
        (10, "IL202", "fetch"),
        (14, "IL202", "fetch"),
    ]


@pytest.mark.parametrize("torn", ["  params: {message: hi}\n", "  params:\n    message: hi\n"])
def test_a_key_that_is_outdented_is_not_missed_in_its_step(torn: str) -> None:
    text = f"workflow: w\nsteps:\n  - id: a\n    block: log\n{torn}  - id: b\n    block: log\n"
    one, other = check_texts({"example.workflow.yaml": text})
    assert (one.line, one.code) == (5, "IL101")
    assert one.message == (
        '"params" is not indented like the keys of the step above it, so it is no part of that step.'
    )
    assert one.hint == "Indent it by 2 more spaces."
    assert (other.code, text[other.offset :].startswith("block: log\n")) == ("IL209", True)
    assert other.line > one.line  # the other step's own lack is still told


def test_a_torn_step_lacks_its_key_again_once_the_torn_line_is_gone() -> None:
    head = "workflow: w\nsteps:\n  - id: a\n    block: log\n"
    tail = "  - id: c\n    x: [}\n"
    tree, memory, strange = None, None, []
    for torn in ("  params: {message: hi}\n", "", "  params: {message: hi}\n"):
        tree = parse_tree(SourceText("example.workflow.yaml", head + torn + tail), tree)
        memory = ReadSteps(memory)
        workflow, _ = read_document(tree.documents[0], memory)
        assert workflow is not None
        assert workflow.steps is not None
        strange.append(workflow.steps.steps[0].strange)
    assert strange == [True, False, True]
