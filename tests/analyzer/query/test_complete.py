"""What may be written is offered where it may be written, also in text that is half typed."""

from __future__ import annotations

import random

import pytest
from support import Asked

HEAD = """\
workflow: a
inputs:
  name: string
  n: {type: integer, default: 3}
secrets: [TOK]
steps:
  - id: fetch
    block: http
    params:
      url: "http://x.example"
"""
KINDS = ["block", "concurrency", "delay", "for_each", "run_workflow"]


@pytest.mark.parametrize(
    ("tail", "first"),
    [
        ("      |\n", ["body", "expect", "follow"]),
        ("      me|\n", ["body", "expect", "follow"]),
        ("      method: |\n", ["GET", "HEAD", "OPTIONS"]),
        ("    |\n", ["compensate", "cost_units", "next", "retry", "timeout", "when"]),
        ("  |\n", ["id", *KINDS]),
        ("  - |\n", ["id", *KINDS]),
        ("  - id: b\n    |\n", KINDS),
        ("  - id: b\n    block: |\n", ["fail", "http", "log", "python", "set", "shell"]),
        ("  - id: b\n    bl|\n", KINDS),
        ("  - id: b\n    next: |\n    block: log\n", ["fetch", "end"]),
        ("  - id: b\n    run_workflow:\n      workflow: |\n", ["a", "image.resize"]),
        ("  - id: b\n    run_workflow:\n      workflow: image.resize\n      inputs:\n        |\n", ["url", "width"]),
        ("  - id: b\n    run_workflow:\n      workflow: image.resize\n      inputs: {|\n", ["url", "width"]),
        ("  - id: b\n    start_workflows:\n      workflow: image.resize\n      payload_key: |\n", ["url", "width"]),
        (
            "  - id: b\n    start_agents: {items: [1], workflow: image.resize, group_key: crew}\n"
            "  - id: c\n    wait_for_agent_group:\n      group: |\n",
            ["crew"],
        ),
        ("  - id: b\n    concurrency:\n      |\n", ["branches", "lifetime", "limit", "on_busy", "on_error"]),
        ("  - id: b\n    concurrency:\n      resource: x\n      on_busy: |\n", ["wait", "skip", "fail"]),
        ("  - id: b\n    concurrency:\n      resource: x\n      |\n", ["lifetime", "limit", "on_busy", "outputs"]),
        ("  - id: b\n    retry: {ma|}\n    block: log\n", ["max_attempts", "backoff", "delay", "max_delay"]),
        ("  - id: b\n    timeout: |\n    block: log\n", ["10s", "30s"]),
        ("on_cancel:\n  - id: z\n    |\n", ["block", "compensate"]),
    ],
)
def test_fields_and_words_by_place(tail: str, first: list[str]) -> None:
    assert Asked(HEAD + tail).labels()[: len(first)] == first


@pytest.mark.parametrize(
    ("tail", "first"),
    [
        ('      json: "{|}"\n', ["inputs", "run", "secrets", "state"]),
        ('      json: "{|', ["inputs", "run", "secrets", "state"]),
        ('      json: "{inputs.|\n', ["name", "n"]),
        ('      json: "{inputs.|}"\n', ["name", "n"]),
        ('      json: "{inputs.na|}"\n', ["name", "n"]),
        ("      json: {inputs.|\n", ["name", "n"]),
        ("      json: '{inputs.|\n", ["name", "n"]),
        ('      json: {a: "{secrets.|\n', ["TOK"]),
        ('      json: "x {inputs.name} {inputs.|} y"\n', ["name", "n"]),
        ('  - id: b\n    when: "{fetch.|}"\n    block: log\n', ["status", "headers", "text", "json", "url"]),
        ('  - id: b\n    when: "{|', ["fetch", "inputs"]),
        ('  - id: b\n    when: "{size(|)}"\n    block: log\n', ["fetch", "inputs"]),
        ('  - id: b\n    when: "{[1].map(each, |)}"\n    block: log\n', ["each", "fetch"]),
        (
            "  - id: b\n    wait_for_decision: {}\n    next: \"{decision.outcome == '|' ? 'b' : 'end'}\"\n",
            ["approved", "rejected"],
        ),
        (
            "  - id: b\n    run_workflow: {workflow: image.resize, result_key: r}\n"
            '  - id: c\n    block: log\n    params: {message: "{r.|',
            ["location"],
        ),
        (
            "  - id: b\n    concurrency:\n      branches:\n        left:\n          steps:\n            - id: i\n"
            '              block: set\n              params: {}\n          outputs: {got: "{i}"}\n'
            '  - id: c\n    when: "{b.branches.left.output.|}"\n    block: log\n',
            ["got"],
        ),
        (
            "  - id: b\n    for_each:\n      items: [a]\n      as: it\n      steps:\n        - id: z\n"
            '          block: log\n          params:\n            message: "{|',
            ["fetch", "it"],
        ),
        ('outputs:\n  x: "{fetch.|}"\n', ["status", "headers"]),
        ('outputs:\n  x: "{state.|}"\n', ["fetch"]),
    ],
)
def test_names_and_members_in_templates(tail: str, first: list[str]) -> None:
    assert Asked(HEAD + tail).labels()[: len(first)] == first


def test_methods_are_those_of_the_type() -> None:
    labels = Asked(HEAD + '  - id: b\n    when: "{fetch.url.|}"\n    block: log\n').labels()
    assert "startsWith" in labels
    assert "getFullYear" not in labels
    assert "map" not in labels


def test_later_steps_are_not_offered() -> None:
    text = HEAD.replace("http://x.example", "http://{|}") + "  - id: later\n    block: log\n    params: {message: x}\n"
    assert "later" not in Asked(text).labels()


def test_what_stands_there_already_is_not_offered_again() -> None:
    labels = Asked(HEAD + "|\n").labels()
    assert "budget" in labels
    assert not {"workflow", "inputs", "secrets", "steps"} & set(labels)


@pytest.mark.parametrize("text", ["|", "work|", "workflow: a\n|", "workflow: a\nsteps:\n|"])
def test_an_empty_file_has_the_fields_of_a_workflow(text: str) -> None:
    assert "budget" in Asked(text).labels()


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("workflow: a\nsteps:\n  |", ["block", "concurrency"]),
        ("workflow: a\ninputs:\n  x: |\nsteps: []\n", ["string", "integer", "number"]),
        ("workflow: a\ninputs:\n  x: {type: |}\nsteps: []\n", ["string", "integer", "number"]),
        ("workflow: a\ninputs:\n  x: {|}\nsteps: []\n", ["type", "default", "enum"]),
        ("workflow: a\nconcurrency:\n  on_busy: |\nsteps: []\n", ["wait", "latest_waiting", "supersede"]),
        ("workflow: a\nconcurrency:\n  |\nsteps: []\n", ["limit", "on_busy", "supersession_key"]),
        ("workflow: a\nbudget: {|}\nsteps: []\n", ["max_cost_units", "max_for_each_items"]),
    ],
)
def test_a_workflows_own_fields(text: str, first: list[str]) -> None:
    assert Asked(text).labels()[: len(first)] == first


def test_only_rules_that_can_be_suppressed_are_offered() -> None:
    asked = Asked("workflow: a\n# interlock: ignore[unused-input, un|\nsteps: []\n")
    labels = asked.labels()
    assert "unreachable-step" in labels
    assert "unused-input" not in labels
    assert "unknown-field" not in labels
    assert asked.replaced() == "un"


def test_a_step_that_has_an_id_gets_a_snippet_without_one() -> None:
    items = {item.label: item for item in Asked(HEAD + "  - id: b\n    |\n").items()}
    assert items["block"].insert == "block: ${2:http}\nparams:\n  $0"
    items = {item.label: item for item in Asked(HEAD + "  - |\n").items()}
    assert items["block"].insert.startswith("id: $1\nblock:")


def test_other_broken_steps_do_not_matter() -> None:
    text = HEAD + '  - id: bad\n    block: "log\n  - id: b\n    when: "{fetch.|}"\n    block: log\n'
    assert Asked(text).labels()[:2] == ["status", "headers"]


def test_no_cursor_anywhere_is_too_much() -> None:
    chance = random.Random(3)
    text = (
        HEAD + '  - id: b\n    when: "{fetch.status == 200}"\n    concurrency: {resource: "k:{inputs.n}", steps: []}\n'
    )
    for at in range(len(text) + 1):
        Asked(text[:at] + "|" + text[at:]).items()
    for _ in range(150):
        at = chance.randint(0, len(text))
        cut = min(len(text), at + chance.randint(0, 20))
        Asked(text[:at] + "|" + text[cut:]).items()
        Asked(text[:at] + "|").hover()
