"""Workflows that name others: quorums, groups, inputs, run ids, and circles of calls."""

from __future__ import annotations

import pytest
from found import codes, diagnostics, marks

LOG = "{id: s, block: log, params: {message: hi}}"
KID = f"""
    ---
    workflow: kid
    steps: [{LOG}]
"""


def judge(text: str) -> None:
    assert codes(text) == marks(text)


# -- IL410 ---------------------------------------------------------------------------------------


def test_quorums_of_waits() -> None:
    judge(
        """
        workflow: w
        inputs: {ids: array}
        steps:
          - id: without
            wait_for_workflows:
              workflows: "{inputs.ids}"
              result_key: r1
              mode: quorum  # IL410
          - id: too_high
            wait_for_workflows:
              workflows: ["a", "b"]
              result_key: r2
              mode: quorum
              quorum: 3  # IL410
          - id: no_mode
            wait_for_workflows:
              workflows: "{inputs.ids}"
              result_key: r3
              quorum: 2  # IL410
          - id: other_mode
            wait_for_workflows:
              workflows: ["a"]
              result_key: r4
              mode: any
              quorum: 5  # IL410
          - id: none
            wait_for_workflows:
              workflows: ["a"]
              result_key: r5
              mode: quorum
              quorum: 0  # IL410
          - id: unreadable
            wait_for_workflows:
              workflows: ["a"]
              result_key: r6
              mode: most  # IL112
              quorum: 5
          - id: fine
            wait_for_workflows: {workflows: ["a", "b"], result_key: r7, mode: quorum, quorum: 2}
        """
    )


def test_quorums_of_started_runs() -> None:
    judge(
        f"""
        workflow: w
        inputs: {{more: array}}
        budget: {{max_started_workflows: 4}}
        steps:
          - {{id: two, start_workflows: {{items: [{{}}, {{}}], workflow: kid, group_key: two, result_key: ids}}}}
          - {{id: some, start_agents: {{items: "{{inputs.more}}", workflow: kid, group_key: some}}}}
          - id: of_two
            wait_for_workflow_group:
              group: two
              result_key: r1
              mode: quorum
              quorum: 3  # IL410
          - id: of_near
            wait_for_workflow_group:
              group: twoo  # IL411
              result_key: r2
              mode: quorum
              quorum: 3  # IL410
          - id: of_some
            wait_for_agent_group:
              group: some
              result_key: r3
              mode: quorum
              quorum: 5  # IL410
          - id: by_ids
            wait_for_workflows:
              workflows: "{{ids}}"
              result_key: r4
              mode: quorum
              quorum: 3  # IL410
          - id: by_default
            wait_for_agents:
              result_key: r5
              mode: quorum
              quorum: 5  # IL410
          - id: fine
            wait_for_agents: {{mode: quorum, quorum: 4}}
        {KID}
        """
    )


def test_quorums_of_items() -> None:
    judge(
        """
        workflow: w
        inputs: {list: array}
        budget: {max_for_each_items: 5}
        steps:
          - id: a
            for_each:
              items: [1, 2]
              mode: quorum
              quorum: 3  # IL410
              steps: [{id: s, block: log, params: {message: hi}}]
          - id: b
            when: "{size(inputs.list) > 5}"
            for_each:
              items: "{inputs.list}"
              mode: quorum
              quorum: 6
              steps: [{id: s, block: log, params: {message: hi}}]
          - id: c
            for_each:
              items: "{inputs.list}"
              mode: quorum  # IL410
              steps: [{id: s, block: log, params: {message: hi}}]
          - id: d
            for_each:
              items: "{inputs.list}"
              mode: first_success
              quorum: 1  # IL410
              steps: [{id: s, block: log, params: {message: hi}}]
          - id: e
            for_each:
              items: "{inputs.list}"
              mode: quorum
              quorum: 5
              steps: [{id: s, block: log, params: {message: hi}}]
        """
    )


# -- IL411, IL412, IL416 -------------------------------------------------------------------------


def test_groups_are_started_before_they_are_waited_for() -> None:
    judge(
        f"""
        workflow: w
        steps:
          - id: early
            wait_for_workflow_group:
              group: late  # IL411
              result_key: r0
          - id: both
            concurrency:
              branches:
                left:
                  steps:
                    - {{id: go, start_workflows: {{items: [{{}}], workflow: kid, group_key: inner, result_key: x}}}}
                    - {{id: own, wait_for_workflow_group: {{group: inner, result_key: r1}}}}
                right:
                  steps:
                    - id: beside
                      wait_for_workflow_group:
                        group: inner  # IL411
                        result_key: r2
          - {{id: after, wait_for_workflow_group: {{group: inner, result_key: r3}}}}
          - {{id: last, start_workflows: {{items: [{{}}], workflow: kid, group_key: late, result_key: y}}}}
          - id: each
            for_each:
              items: [1]
              steps: [{{id: deep, wait_for_workflow_group: {{group: late, result_key: r4}}}}]
          - id: nobody
            wait_for_workflow_group:
              group: strangers  # IL411
              result_key: r5
        {KID}
        """
    )


def test_a_loop_leads_back_to_the_wait() -> None:
    text = f"""
    workflow: w
    deadline: 1h
    steps:
      - {{id: peek, block: http, params: {{url: "https://a.example"}}}}
      - {{id: wait, when: "{{peek.status == 200}}", wait_for_workflow_group: {{group: g, result_key: r}}}}
      - id: go
        start_workflows: {{items: [{{}}], workflow: kid, group_key: g, result_key: x}}
        next: "{{peek.status == 200 ? 'peek' : 'end'}}"
    {KID}
    """
    judge(text)


def test_near_names_are_offered_and_mended() -> None:
    text = f"""
    workflow: w
    steps:
      - {{id: go, start_workflows: {{items: [{{}}], workflow: kit, group_key: runners, result_key: x}}}}
      - {{id: wait, wait_for_workflow_group: {{group: "runers", result_key: r}}}}
      - {{id: far, run_workflow: {{workflow: nowhere.near}}}}
    {KID}
    """
    found = {(one.line, one.code): one.fix for one in diagnostics(text)}
    assert set(found) == {(4, "IL412"), (5, "IL411"), (6, "IL412")}
    assert found[6, "IL412"] is None
    fixes = [found[4, "IL412"], found[5, "IL411"]]
    assert [edit.text for fix in fixes if fix is not None for edit in fix.edits] == ["kid", '"runners"']


def test_a_workflow_of_another_file_is_known() -> None:
    text = "workflow: w\nsteps: [{id: a, run_workflow: {workflow: kid, result_key: r}}]\n"
    assert codes(text) == [(2, "IL412")]
    assert codes(text, f"workflow: kid\nsteps: [{LOG}]\n") == []


def test_a_workflow_s_name_is_no_run_id() -> None:
    judge(
        f"""
        workflow: w
        steps:
          - id: one
            wait_for_workflow:
              workflow: kid  # IL416
              result_key: r1
          - id: many
            wait_for_workflows:
              workflows:
                - kid  # IL416
                - some-run-id
                - w  # IL416
              result_key: r2
        {KID}
        """
    )


# -- IL413 ---------------------------------------------------------------------------------------

CHILD = """
    ---
    workflow: child
    inputs:
      name: string
      count: integer
      ratio: {type: number, default: 1.5}
      tone: {type: string, default: plain, enum: [plain, formal]}
      note: {type: string, required: false}
      tags: {type: array, default: []}
    steps: [{id: s, block: log, params: {message: "{inputs}"}}]
"""


def test_the_inputs_of_a_child() -> None:
    judge(
        f"""
        workflow: w
        inputs: {{n: integer, t: string, any: any}}
        steps:
          - id: fine
            run_workflow:
              workflow: child
              inputs: {{name: "{{inputs.t}}", count: 1, ratio: 2, tone: formal, note: null, tags: ["{{inputs.n}}"]}}
              result_key: r1
          - id: nothing
            run_workflow:
              workflow: child  # IL413, IL413
              result_key: r2
          - id: too_little
            run_workflow:
              workflow: child
              inputs:  # IL413
                name: x
              result_key: r3
          - id: unknown
            run_workflow:
              workflow: child
              inputs:
                name: x
                count: 1
                colour: red  # IL413
              result_key: r4
          - id: near
            run_workflow:
              workflow: child
              inputs:
                nmae: x  # IL413
                count: 1
              result_key: r5
          - id: types
            run_workflow:
              workflow: child
              inputs:
                name: 5  # IL413
                count: 1.5  # IL413
                ratio: x  # IL413
                tone: rude  # IL413
                note: 1  # IL413
                tags: {{}}  # IL413
              result_key: r6
          - id: expressions
            run_workflow:
              workflow: child
              inputs:
                name: "{{inputs.n}}"  # IL413
                count: "{{inputs.any}}"
                ratio: "{{inputs.n}}"
                tone: "{{inputs.n > 1 ? 'loud' : 'rude'}}"  # IL413
                note: "n: {{inputs.n}}"
                tags: "{{inputs.t}}"  # IL413
              result_key: r7
          - id: nulls
            run_workflow:
              workflow: child
              inputs:
                name: null  # IL413
                count: "{{inputs.n}}"
              result_key: r8
        {CHILD}
        """
    )


def test_nothing_is_said_of_a_child_s_inputs_that_cannot_be_read() -> None:
    judge(
        f"""
    workflow: w
    steps:
      - id: a
        run_workflow: {{workflow: kid, inputs: [1], result_key: r1}}  # IL105
      - id: b
        run_workflow:
          workflow: odd
          inputs: {{x: 1}}
          result_key: r2
      - id: c
        run_workflow: {{workflow: child, inputs: {{name: "{{inputs.nope}}", count: 1}}, result_key: r3}}  # IL205
    ---
    workflow: odd
    inputs: [x]  # IL105
    steps: [{LOG}]
    {KID}{CHILD}
        """
    )


def test_items_of_started_runs() -> None:
    judge(
        f"""
        workflow: w
        inputs: {{list: array}}
        budget: {{max_started_workflows: 20}}
        steps:
          - id: no_key
            start_workflows:  # IL104
              items: [{{}}, 1, 2]
              workflow: kid
              result_key: r1
          - id: unknown_items
            start_workflows: {{items: "{{inputs.list}}", workflow: kid, result_key: r2}}
          - id: known_items
            start_workflows:  # IL104
              items: "{{['a', 'b']}}"
              workflow: kid
              result_key: r3
          - id: wrong_type
            start_workflows:
              items:
                - {{name: x, count: many, extra: dropped}}  # IL413
                - {{name: y, count: 2}}
              workflow: child
              result_key: r4
          - id: wrong_payload
            start_workflows:
              items: [x, 5]  # IL413
              payload_key: name
              workflow: child  # IL413
              result_key: r5
          - id: nowhere
            start_workflows: {{items: [{{name: x}}], workflow: child, result_key: r6}}  # IL413
          - {{id: count, block: set, params: {{v: 1}}}}
          - id: inherits_state
            start_workflows: {{items: [{{name: x}}], workflow: child, result_key: r61}}
          - {{id: merge, wait_for_signal: {{name: s}}}}
          - id: inherits_what_was_merged
            start_workflows: {{items: [{{}}], workflow: child, result_key: r62}}
          - id: alone
            start_workflows:
              items: [{{name: x}}]
              inherit_state: false
              workflow: child  # IL413
              result_key: r7
          - id: alone_with_payload
            start_workflows:
              items: [x]
              payload_key: name
              inherit_state: false
              workflow: child  # IL413
              result_key: r8
          - id: private
            start_workflows:
              items: [{{name: x, _count: 1}}]
              inherit_state: false
              workflow: child  # IL413
              result_key: r9
          - id: agents
            start_agents: {{items: [1, a], workflow: kid}}
        {KID}{CHILD}
        """
    )


# -- IL409, IL414, IL417 -------------------------------------------------------------------------


def run(child: str, mark: str = "", more: str = "", id: str = "a") -> str:
    return f"  - id: {id}\n{more}    run_workflow:\n      workflow: {child}{mark}\n      result_key: {id}_r\n"


def start(child: str, mark: str = "", more: str = "", items: str = "[{}]") -> str:
    fields = f"      items: {items}\n      workflow: {child}{mark}\n      result_key: r\n"
    return f"  - id: a\n{more}    start_workflows:\n{fields}"


def workflow(name: str, *steps: str, head: str = "") -> str:
    return f"workflow: {name}\n{head}steps:\n" + "".join(steps)


def together(*texts: str) -> str:
    return "---\n".join(texts)


E409, E414, W417 = "  # IL409", "  # IL414", "  # IL417"
GO = "inputs: {go: {type: boolean, default: true}}\n"
WHEN = '    when: "{inputs.go}"\n'
STOP = "  - {id: stop, when: '{inputs.go}', block: fail, params: {message: enough}}\n"


def test_workflows_that_run_each_other() -> None:
    judge(together(workflow("one", run("two", E409)), workflow("two", run("one", E409))))
    judge(workflow("self", run("self", E409)))
    judge(
        together(
            workflow("one", run("two", E409)),
            workflow("two", run("three", E409), run("leaf", id="b")),
            workflow("three", run("one", E409)),
            workflow("leaf", f"  - {LOG}\n"),
            workflow("caller", run("one")),
        )
    )


def test_two_circles_and_an_unknown_name() -> None:
    judge(
        together(
            workflow("one", run("one", E409), run("nowhere", "  # IL412", id="b")),
            workflow("two", run("two", E409)),
        )
    )


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([run("w", more=WHEN)], id="a condition"),
        pytest.param([STOP, run("w")], id="a way to fail before it"),
        pytest.param(
            ["  - {id: way, block: set, params: {x: 1}, next: \"{inputs.go ? 'a' : 'end'}\"}\n", run("w")],
            id="a path past it",
        ),
        pytest.param(
            [
                "  - id: e\n    for_each:\n      items: '{[1].filter(x, inputs.go)}'\n      steps:\n"
                "        - {id: a, run_workflow: {workflow: w, result_key: r}}\n"
            ],
            id="items that may be none",
        ),
        pytest.param(
            [
                "  - id: e\n    when: '{inputs.go}'\n    concurrency:\n      branches:\n        b:\n"
                "          steps: [{id: a, run_workflow: {workflow: w, result_key: r}}]\n"
            ],
            id="a condition around it",
        ),
        pytest.param([run("w", more="    when: false\n")], id="switched off"),
        pytest.param([start("w", more=WHEN)], id="a start with a condition"),
        pytest.param([start("w", items="[]")], id="no items to start"),
    ],
)
def test_a_condition_on_the_way(steps: list[str]) -> None:
    judge(workflow("w", *steps, head=GO) + USES)


#: Reads the input, so that no hint or warning comes of it.
USES = "  - {id: uses, block: log, params: {message: '{inputs.go}'}}\n"


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([run("w", E409, more="    when: true\n")], id="a switch that is on"),
        pytest.param([run("w", E409), STOP], id="a way to fail after it"),
        pytest.param(
            [
                "  - id: e\n    for_each:\n      items: [1]\n      steps:\n"
                "        - {id: a, run_workflow: {workflow: w, result_key: r}}  # IL409\n"
            ],
            id="written items",
        ),
        pytest.param(
            [
                "  - id: e\n    concurrency:\n      on_error: collect\n      branches:\n        b:\n"
                "          steps: [{id: a, run_workflow: {workflow: w, result_key: r}}]  # IL409\n"
            ],
            id="a branch",
        ),
        pytest.param(
            [
                "  - {id: way, block: set, params: {x: 1}, next: \"{inputs.go ? 'a' : 'b'}\"}\n",
                "  - {id: b, block: set, params: {x: 1}}\n",
                run("w", E409),
            ],
            id="paths that meet before it",
        ),
    ],
)
def test_no_condition_on_the_way(steps: list[str]) -> None:
    judge(workflow("w", *steps, head=GO) + USES)


def test_one_condition_in_the_circle_is_enough() -> None:
    judge(
        together(
            workflow("one", run("two"), USES, head=GO).replace("  - id: a\n", "  - id: a\n" + WHEN),
            workflow("two", run("one")),
        )
    )


LIMIT = "concurrency: {limit: 1}\n"


def test_a_chain_that_comes_back_for_the_slot_it_holds() -> None:
    judge(workflow("w", run("w", E414, more=WHEN), head=GO + LIMIT))
    judge(
        together(
            workflow("one", run("two", E414, more=WHEN), head=GO + LIMIT),
            workflow("two", run("three", E414)),
            workflow("three", run("one", E414), run("leaf", id="b")),
            workflow("leaf", f"  - {LOG}\n", head=LIMIT),
            workflow("caller", run("one"), head=LIMIT),
        )
    )


@pytest.mark.parametrize("head", ["", "concurrency: {limit: 2}\n", "concurrency: {on_busy: wait}\n"])
def test_other_limits_leave_a_slot(head: str) -> None:
    judge(workflow("w", run("w", more=WHEN), head=GO + head))


def test_an_endless_circle_says_more_than_its_slot() -> None:
    judge(workflow("w", run("w", E409), head=LIMIT))
    judge(workflow("w", run("w", E409), run("w", E414, more=WHEN, id="b"), head=LIMIT + GO))


def test_a_started_run_takes_a_slot_of_its_own() -> None:
    judge(workflow("w", start("w", more=WHEN), head=GO + LIMIT))


def test_starts_that_come_back_without_a_condition() -> None:
    judge(workflow("w", start("w", W417)))
    judge(together(workflow("one", start("two", W417)), workflow("two", run("one"))))
    judge(together(workflow("one", start("two", W417)), workflow("two", start("one", W417))))
    judge(together(workflow("one", start("two"), USES, head=GO), workflow("two", run("one", more=WHEN), head=GO)))


def test_the_way_round_is_told() -> None:
    text = together(workflow("one", run("two")), workflow("two", run("three")), workflow("three", run("one")))
    first = diagnostics(text)[0]
    assert '"one" → "two" → "three" → "one"' in first.message
    assert [related.line for related in first.related] == [5, 12, 19]
