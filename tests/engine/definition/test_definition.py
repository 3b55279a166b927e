"""The normal form: what changes the hash of a definition and what does not, and that it comes back whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlock.analyzer.analysis import read_file
from interlock.analyzer.model.nodes import Workflow
from interlock.analyzer.source.text import SourceText
from interlock.engine.definition import (
    definition_hash,
    durability_needs,
    load_definition,
    make_definition,
    normal_text,
    read_text,
)
from interlock.engine.errors import CallerError

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.workflow.yaml"))


def workflows(text: str) -> dict[str, Workflow]:
    model = read_file(SourceText("t.workflow.yaml", text))
    assert not model.findings, model.findings[0].message
    return {item.name.value: item for item in model.workflows if item.name is not None}


def only(text: str) -> Workflow:
    (workflow,) = workflows(text).values()
    return workflow


BASE = """
workflow: w
inputs:
  a: string
  n: {type: number, default: 1}
secrets: [B, A]
steps:
  - id: one
    block: http
    params: {url: "https://a.example/{inputs.a}", headers: {X: "{{literal}}"}}
    retry: {max_attempts: 3, delay: 60}
    timeout: 90s
  - id: two
    when: "{one.status == 200}"
    concurrency: {resource: "k:{inputs.a}", steps: [{id: inner, block: log, params: {message: hi}}]}
  - id: three
    concurrency:
      branches:
        x: {steps: [{id: s, block: set, params: {v: 1}}], outputs: {v: "{s.v}"}}
        y: {steps: [{id: s, block: set}]}
  - id: four
    for_each: {items: [1, 2], steps: [{id: s, block: log, params: {message: "{item}"}}]}
  - id: five
    wait_for_approval: {}
  - id: six
    delay: 1h
"""

SAME = [
    ("# a comment\n" + BASE, "a comment"),
    (BASE.replace("a: string", 'a: {type: "string", required: true, secret: false}'), "the short input"),
    (BASE.replace("default: 1}", "default: 1.0}"), "a number is a double anyway"),
    (BASE.replace("[B, A]", "[A, B]"), "the order of secrets"),
    (BASE.replace("delay: 60}", "delay: 1m, backoff: constant}"), "durations and defaults"),
    (BASE.replace("90s", "1m30s"), "a duration written otherwise"),
    (
        BASE.replace('    when: "{one.status == 200}"\n', "").replace(
            "{resource:", '{when: "{one.status == 200}", limit: 1, protected: false, resource:'
        ),
        "when inside concurrency, defaults",
    ),
    (BASE.replace("block: http\n", "block: http\n    cost_units: 1\n"), "the usual cost"),
    (BASE.replace("delay: 1h", "delay: 3600"), "seconds"),
    (BASE.replace("  - id: six\n", "  - id: six\n    when: true\n"), "always"),
    (BASE.replace("wait_for_approval: {}", "wait_for_approval: {result_key: approval}"), "default result key"),
    (BASE.replace("{items: [1, 2],", "{items: [1, 2], as: item, limit: 2, mode: all,"), "for_each defaults"),
    (BASE.replace("block: set}", "block: set, params: {}}"), "no params"),
    (BASE + "x-notes: {anything: [1]}\n", "a note"),
    (BASE.replace('"{{literal}}"', "'{{literal}}'"), "another quote"),
]

OTHER = [
    (BASE.replace("workflow: w", "workflow: v"), "name"),
    ("version: '2'\n" + BASE, "version"),
    (BASE.replace("a: string", "a: any"), "type"),
    (BASE.replace("default: 1}", "default: 2}"), "default"),
    (BASE.replace("[B, A]", "[B]"), "secrets"),
    (BASE.replace("{v: 1}", "{v: 1.0}"), "an int becomes a double"),
    (BASE.replace("{v: 1}", "{v: '1'}"), "a number becomes a text"),
    (BASE.replace("{v: 1}", "{v: true}"), "a number becomes a boolean"),
    (BASE.replace("{v: 1}", "{v: null}"), "a number becomes null"),
    (BASE.replace("items: [1, 2]", "items: [2, 1]"), "order of items"),
    (BASE.replace("items: [1, 2]", "items: [1, 9007199254740993]"), "a large number"),
    (BASE.replace("items: [1, 2]", "items: [1, 9007199254740992]"), "a neighbouring large number"),
    (BASE.replace('"{{literal}}"', '"literal"'), "braces"),
    (BASE.replace("{inputs.a}", "{ inputs.a}"), "text of an expression"),
    (BASE.replace("timeout: 90s", "timeout: 91s"), "timeout"),
    (BASE.replace("max_attempts: 3", "max_attempts: 4"), "attempts"),
    (BASE.replace("when:", "cost_units: 1\n    when:"), "a cost on a section"),
    (BASE.replace("{resource:", "{protected: true, resource:"), "protected"),
    (BASE.replace("{resource:", "{limit: 2, resource:"), "limit"),
    (BASE.replace("        x: {", "        z: {"), "branch name"),
    (
        BASE.replace("        y: {", "        a: {"),
        "branches start in the order written, which is not that of their names now",
    ),
    (BASE.replace("id: six", "id: seven"), "step id"),
    (BASE.replace("{message: hi}", "{message: hi}, next: end"), "next"),
    (BASE.replace("wait_for_approval", "wait_for_input"), "kind"),
    (BASE + "outputs: {}\n", "outputs: dependents get nothing instead of the whole state"),
    (BASE + "deadline: 1h\n", "deadline"),
    (BASE + "budget: {max_transitions: 5}\n", "budget"),
    (BASE + "concurrency: {}\n", "admission"),
    (BASE + "on_cancel: [{id: c, block: log, params: {message: x}}]\n", "handler"),
]


@pytest.mark.parametrize(("text", "why"), SAME, ids=[why for _, why in SAME])
def test_what_means_the_same_has_the_same_hash(text: str, why: str) -> None:
    assert text != BASE
    assert normal_text(only(text)) == normal_text(only(BASE))


@pytest.mark.parametrize(("text", "why"), OTHER, ids=[why for _, why in OTHER])
def test_what_means_something_else_has_another_hash(text: str, why: str) -> None:
    assert definition_hash(only(text)) != definition_hash(only(BASE))


def test_every_change_of_meaning_has_a_hash_of_its_own() -> None:
    hashes = {definition_hash(only(text)) for text, _ in OTHER}
    assert len(hashes) == len(OTHER)


def test_the_order_of_branches_is_kept() -> None:
    text = "workflow: w\nsteps:\n  - id: b\n    concurrency:\n      branches:\n"
    for name in ("zebra", "apple", "mango"):
        text += f"        {name}: {{steps: [{{id: s, block: set}}]}}\n"
    kind = read_text(normal_text(only(text))).steps.steps[0].kind  # type: ignore[union-attr]
    assert [branch.name for branch in kind.branches] == ["zebra", "apple", "mango"]  # type: ignore[union-attr]


ODD = """
workflow: odd
description: "braces {{ not }} \\u2028 \\x85 \\x7f é 😀 \\n end"
inputs:
  x: {type: any, default: {a: [1, 1.0, -0.0, 1e400000, 12345678901234567890, "{{x}}", null, true]}}
  big: {type: integer, default: 9007199254740993, enum: [9007199254740993, 1]}
steps:
  - id: s
    block: set
    params: {"a{b": "{inputs.x}", "c.d": 'it''s "{{" {inputs.big} \\', "é\\u2028": 1.5, "": []}
  - id: d
    delay: {until: "2030-01-01T00:00:00Z"}
  - id: sig
    wait_for_signals: {names: ["a{{b", c], mode: any, match: {k: [1.0]}, correlation_key: s}
""".replace("1e400000, ", "")


@pytest.mark.parametrize(
    "text",
    [BASE, ODD, *(path.read_text("utf-8") for path in EXAMPLES)],
    ids=["base", "odd", *(p.name for p in EXAMPLES)],
)
def test_a_stored_definition_comes_back_whole(text: str) -> None:
    for workflow in workflows(text).values():
        stored = normal_text(workflow)
        again = read_text(stored)
        assert normal_text(again) == stored
        assert list(again.fields) != []


def test_the_stored_text_is_canonical_json() -> None:
    """RFC 8785: sorted keys, no blanks, numbers in their shortest form."""
    for text in (BASE, ODD):
        stored = normal_text(only(text))
        value = json.loads(stored)
        packed = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        # DEL and the C1 characters stand for themselves in both; Python writes no double shorter here.
        assert packed.replace("\x7f", "\x7f") == stored
        assert "1.0" not in stored


CHAIN = """
workflow: parent
steps:
  - id: a
    run_workflow: {workflow: child}
---
workflow: child
steps:
  - id: b
    start_workflows: {items: [1], workflow: leaf, payload_key: n, result_key: ids}
  - id: c
    when: "{state.?nothing.hasValue()}"
    run_workflow: {workflow: child, result_key: r}
---
workflow: leaf
inputs: {n: integer}
steps: [{id: l, block: log, params: {message: "%s"}}]
---
workflow: stranger
steps: [{id: s, block: set}]
"""


def test_the_closure_is_what_a_workflow_can_start() -> None:
    known = workflows(CHAIN)
    parent = make_definition(known["parent"], known)
    assert set(parent.closure) == {"child", "leaf"}
    assert set(parent.closure["child"].closure) == {"child", "leaf"}
    assert parent.closure["child"].closure["child"] is parent.closure["child"]
    assert not make_definition(known["leaf"], known).closure


def test_the_closure_hash_covers_every_workflow_that_can_start() -> None:
    one, two = workflows(CHAIN), workflows(CHAIN % "other")
    for name in ("parent", "child"):
        first, second = make_definition(one[name], one), make_definition(two[name], two)
        assert first.hash == second.hash
        assert first.closure_hash != second.closure_hash
    assert make_definition(one["stranger"], one).closure_hash == make_definition(two["stranger"], two).closure_hash


def test_a_definition_is_made_again_of_its_texts() -> None:
    known = workflows(CHAIN)
    parent = make_definition(known["parent"], known)
    texts = {name: item.text for name, item in parent.closure.items()}
    again = load_definition(parent.text, texts)
    assert (again.name, again.hash, again.closure_hash) == (parent.name, parent.hash, parent.closure_hash)
    assert again.closure["child"].closure_hash == parent.closure["child"].closure_hash
    assert load_definition(parent.text, texts) is again


def test_a_workflow_that_is_not_there_is_named() -> None:
    known = workflows(CHAIN)
    del known["leaf"]
    with pytest.raises(CallerError, match="leaf") as caught:
        make_definition(known["parent"], known)
    assert caught.value.code == "unknown-workflow"


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"workflow": 5}', '{"x-doubles": [["a"]]}', "[" * 1000, '{"x-order": 1}']
)
def test_a_damaged_definition_is_the_stores_fault(text: str) -> None:
    with pytest.raises(CallerError) as caught:
        read_text(text)
    assert caught.value.code == "store-corrupt"


def test_what_needs_a_store_is_named_with_its_place() -> None:
    needs = durability_needs(only(BASE + 'idempotency_key: "{inputs.a}"\nconcurrency: {}\n'))
    assert [(what, span.position.line) for what, span in needs] == [
        ("the top-level concurrency", 28),
        ("the idempotency key", 27),
        ('the resource of step "two"', 15),
        ('the wait of step "five" (wait_for_approval)', 24),
        ('the delay of step "six"', 26),
    ]
    assert durability_needs(only("workflow: w\nsteps: [{id: s, block: set}]\n")) == []
