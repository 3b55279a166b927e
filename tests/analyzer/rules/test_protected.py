"""What may stand inside a held section, and inside a protected one before and after its write."""

from __future__ import annotations

import pytest
from found import codes, diagnostics, marks

CHILD = """
    ---
    workflow: kid
    steps: [{id: s, block: log, params: {message: hi}}]
"""


def test_waits_and_sections_inside_a_held_section_at_any_depth() -> None:
    text = """
    workflow: w
    steps:
      - id: outer
        concurrency:
          resource: a
          steps:
            - id: written
              concurrency:
                resource: b
                lifetime: run
                on_busy: wait  # IL401
            - id: by_default
              concurrency:
                resource: c  # IL401
                lifetime: run
            - {id: fine, concurrency: {resource: d, lifetime: run, on_busy: fail}}
            - id: skips
              concurrency:  # IL402
                resource: e
                on_busy: skip
                steps: [{id: s, block: log, params: {message: hi}}]
            - id: waits
              concurrency:  # IL402
                resource: f
                on_busy: wait
                steps: [{id: t, block: log, params: {message: hi}}]
            - id: nothing
              concurrency:  # IL308
                resource: g
                on_busy: wait
            - id: unreadable
              concurrency:
                resource: h
                lifetime: run
                on_busy: supersede  # IL304
            - id: each
              for_each:
                items: [1]
                steps:
                  - id: both
                    concurrency:
                      branches:
                        left:
                          steps:
                            - id: deep
                              concurrency:
                                resource: i  # IL401
                                lifetime: run
    """
    assert codes(text) == marks(text)


def test_a_claim_inside_a_nested_section_is_judged_by_itself() -> None:
    text = """
    workflow: w
    steps:
      - id: outer
        concurrency:
          resource: a
          steps:
            - id: inner
              concurrency:  # IL402
                resource: b
                steps:
                  - id: claim
                    concurrency:
                      resource: c
                      lifetime: run
                      on_busy: wait  # IL401
    """
    assert codes(text) == marks(text)


def test_other_runs_are_not_waited_for_inside_a_held_section() -> None:
    text = f"""
    workflow: w
    inputs: {{id: string}}
    steps:
      - id: outer
        concurrency:
          resource: a
          steps:
            - id: one
              wait_for_workflow:  # IL405
                workflow: "{{inputs.id}}"
                result_key: r1
            - id: many
              wait_for_workflows:  # IL405
                workflows: ["{{inputs.id}}"]
                result_key: r2
            - id: child
              run_workflow:  # IL405
                workflow: kid
            - id: spawn
              start_agents: {{items: [1], workflow: kid, group_key: g}}
            - id: agents
              wait_for_agents:  # IL405
                result_key: r3
            - id: group
              wait_for_agent_group:  # IL405
                group: g
            - {{id: ask, wait_for_approval: {{}}}}
            - {{id: signal, wait_for_signal: {{name: go, result_key: r4}}}}
            - {{id: nap, delay: 5s}}
    {CHILD}
    """
    assert codes(text) == marks(text)


def test_pauses_and_starts_inside_a_protected_section() -> None:
    text = f"""
    workflow: w
    inputs: {{id: string}}
    steps:
      - id: outer
        concurrency:
          resource: a
          protected: true
          steps:
            - id: one
              wait_for_workflow:  # IL404
                workflow: "{{inputs.id}}"
                result_key: r1
            - id: child
              run_workflow:  # IL404
                workflow: kid
            - id: spawn
              start_workflows:  # IL404
                {{items: [{{}}], workflow: kid, result_key: ids}}
            - id: agents
              start_agents:  # IL404
                {{items: [1], workflow: kid}}
            - id: gather
              wait_for_agents:  # IL404
                result_key: r2
            - id: ask
              wait_for_approval:  # IL404
                {{}}
            - id: hear
              wait_for_input:  # IL404
                {{}}
            - id: decide
              wait_for_decision:  # IL404
                {{}}
            - id: signal
              wait_for_signals:  # IL404
                {{names: [x], result_key: r3}}
            - id: nap
              delay: 1s  # IL404
            - id: each
              for_each:
                items: [1]
                steps:
                  - id: deep
                    delay: 1s  # IL404
    {CHILD}
    """
    assert codes(text) == marks(text)


def test_a_section_in_a_section_is_protected_by_either() -> None:
    text = """
    workflow: outer_protected
    steps:
      - id: outer
        concurrency:
          resource: a
          protected: true
          steps:
            - id: inner
              concurrency:  # IL402
                resource: b
                steps:
                  - {id: nap, delay: 1s}  # IL404
    ---
    workflow: inner_protected
    steps:
      - id: outer
        concurrency:
          resource: a
          steps:
            - id: inner
              concurrency:  # IL402
                resource: b
                protected: true
                steps:
                  - {id: nap, delay: 1s}  # IL404
    """
    assert codes(text) == marks(text)


def test_no_retry_inside_a_protected_section() -> None:
    text = """
    workflow: w
    steps:
      - id: outer
        concurrency:
          resource: a
          protected: true
          steps:
            - id: read
              block: http
              params: {url: "https://a.example"}
              retry: {max_attempts: 2}  # IL406
            - id: each
              for_each:
                items: [1]
                steps:
                  - id: deep
                    block: log
                    params: {message: hi}
                    retry:  # IL406
                      max_attempts: 1
      - id: after
        concurrency:
          resource: b
          steps:
            - {id: open, block: log, params: {message: hi}, retry: {max_attempts: 2}}
    """
    assert codes(text) == marks(text)


def section(*steps: str, protected: str = "true") -> str:
    """A workflow of one protected section with these steps, each given with its own indentation."""
    lines = [line for step in steps for line in step.strip("\n").split("\n")]
    head = ["workflow: w", "inputs: {list: {type: array, default: []}, go: {type: boolean, default: true}}", "steps:"]
    head += ["  - {id: seen, block: set, params: {a: '{inputs.list}', b: '{inputs.go}'}}"]
    head += ["  - id: outer", "    concurrency:", "      resource: a", f"      protected: {protected}", "      steps:"]
    return "\n".join(head + ["        " + line for line in lines]) + "\n"


def write(id: str, mark: str = "", more: str = "") -> str:
    return f"- id: {id}\n  block: http{mark}\n  params: {{method: POST, url: 'https://a.example'}}{more}"


def claim(id: str, mark: str = "", key: str = "k") -> str:
    return f"- id: {id}\n  concurrency:{mark}\n    {{resource: {key}, lifetime: run, on_busy: fail}}"


def deeper(*steps: str, by: int) -> str:
    return "\n".join(" " * by + line for step in steps for line in step.split("\n"))


READ = "- {id: read, block: http, params: {url: 'https://a.example'}}"
IL403, IL319 = "  # IL403", "  # IL319"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(section(READ, claim("c"), write("p")), id="before, after a read"),
        pytest.param(section(write("p"), claim("c", IL403)), id="after"),
        pytest.param(section(write("p", more="\n  when: '{inputs.go}'"), claim("c", IL403)), id="maybe after"),
        pytest.param(
            section(
                "- {id: m, block: http, params: {method: '{inputs.go ? \"GET\" : \"POST\"}', url: 'https://a.example'}}",
                claim("c", IL403),
            ),
            id="a method by template is an effect",
        ),
        pytest.param(
            section("- {id: m, block: http, params: {method: HEAD, url: 'https://a.example'}}", claim("c")),
            id="a method without effects",
        ),
        pytest.param(
            section("- {id: m, block: nobodys, params: {}}  # IL208", claim("c")),
            id="an unknown block is no effect",
        ),
        pytest.param(section(write("p"), claim("c", IL403), protected="true"), id="protected"),
        pytest.param(section(write("p"), claim("c"), protected="false"), id="not protected"),
        pytest.param(
            section(
                write("p"),
                "- id: w\n  concurrency:\n    resource: b\n    lifetime: run\n    on_busy: wait",
            ).replace(
                "    concurrency:\n            resource: b", "    concurrency:  # IL403\n            resource: b"
            ),
            id="a wait after it is told as this, not as a nested wait",
        ),
        pytest.param(
            section(
                write("p"),
                "- id: s\n  concurrency:  # IL403\n    resource: b\n"
                "    steps: [{id: x, block: log, params: {message: hi}}]",
            ),
            id="a section after it is told as this, not as a nested section",
        ),
        pytest.param(
            section(
                "- id: both\n  concurrency:\n    branches:\n      left:\n        steps:\n"
                + deeper(claim("c", IL403), by=10)
                + "\n      right:\n        steps:\n"
                + deeper(write("p"), by=10)
            ),
            id="beside it, in any order",
        ),
        pytest.param(
            section(
                "- id: both\n  concurrency:\n    branches:\n      left:\n        steps:\n"
                + deeper(claim("c"), write("p"), by=10)
            ),
            id="before it in its own branch",
        ),
        pytest.param(
            section(
                "- id: each\n  for_each:\n    items: '{inputs.list}'\n    limit: 1\n    steps:\n"
                + deeper(claim("c", IL403), write("p", IL319), by=6)
            ),
            id="items run twice",
        ),
        pytest.param(
            section("- id: each\n  for_each:\n    items: [1]\n    steps:\n" + deeper(claim("c"), write("p"), by=6)),
            id="one item runs once",
        ),
        pytest.param(
            section("- id: each\n  for_each:\n    items: []\n    steps:\n" + deeper(write("p"), by=6), claim("c")),
            id="no item runs never",
        ),
        pytest.param(
            section(
                claim("c", IL403),
                write("p", IL319, "\n  next: \"{p.status == 500 ? 'c' : 'end'}\""),
            ).replace("steps:\n  - {id: seen", "deadline: 1h\nsteps:\n  - {id: seen"),
            id="a loop comes back",
        ),
        pytest.param(
            section(
                "- {id: way, block: set, params: {x: 1}, next: c}",
                write("p", more="\n  next: end"),
                claim("c"),
            ).replace("- id: p", "- id: p  # IL212"),
            id="on a path that leads past it",
        ),
    ],
)
def test_claims_and_the_protected_write(text: str) -> None:
    assert codes(text) == marks(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(section(write("a"), write("b", IL319), write("c")), id="only the second"),
        pytest.param(
            section(write("a", more="\n  when: '{inputs.go}'"), write("b", IL319), write("c", IL319)),
            id="each that may be the second",
        ),
        pytest.param(section(write("a"), READ, "- {id: l, block: log, params: {message: hi}}"), id="one write"),
        pytest.param(section(write("a"), write("b"), protected="false"), id="not protected"),
        pytest.param(
            section(write("a"), "- {id: sh, when: false, block: shell, params: {command: x}}"), id="switched off"
        ),
        pytest.param(
            section(write("a", more="\n  when: '{inputs.go}'\n  next: end"), write("b")),
            id="a step that ends the section where it ran",
        ),
        pytest.param(
            section(
                "- {id: way, block: set, params: {x: 1}, next: \"{inputs.go ? 'a' : 'b'}\"}",
                write("a", more="\n  next: end"),
                write("b"),
            ),
            id="on different paths",
        ),
        pytest.param(
            section(
                "- id: both\n  concurrency:\n    branches:\n      left:\n        steps:\n"
                + deeper(write("a"), by=10)
                + "\n      right:\n        steps:\n"
                + deeper(write("a", IL319), by=10),
                write("c"),
            ),
            id="branches are one path in the order of the text",
        ),
        pytest.param(
            section(
                "- id: each\n  for_each:\n    items: '{inputs.list}'\n    steps:\n" + deeper(write("a", IL319), by=6)
            ),
            id="items run twice",
        ),
        pytest.param(
            section(
                "- id: each\n  for_each:\n    items: '{inputs.list}'\n    steps:\n"
                + deeper(write("a"), write("b", IL319), by=6),
                write("c"),
            ),
            id="the first of two in an item is never the second",
        ),
        pytest.param(
            section("- id: each\n  for_each:\n    items: ['x']\n    steps:\n" + deeper(write("a"), by=6)),
            id="one item",
        ),
    ],
)
def test_the_second_write_of_a_protected_section(text: str) -> None:
    found = [(line, code) for line, code in codes(text) if code != "IL602"]
    assert found == marks(text)


def test_a_protected_claim_without_steps() -> None:
    text = """
    workflow: w
    steps:
      - id: a
        concurrency:
          resource: a
          lifetime: run
          on_busy: fail
          protected: true  # IL314
      - id: b
        concurrency:
          resource: b
          protected: true  # IL314
      - id: c
        concurrency: {resource: c, lifetime: run, on_busy: fail, protected: false}
    """
    assert codes(text) == marks(text)


def test_the_whole_story_is_told() -> None:
    found = diagnostics(section(write("p"), claim("c", IL403)))
    assert [(one.code, [related.line for related in one.related]) for one in found] == [("IL403", [7, 11])]
