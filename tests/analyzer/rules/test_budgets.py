"""Budgets, deadlines and loops: IL602 to IL605, IL607, IL608."""

from __future__ import annotations

import pytest
from found import codes, diagnostics

from interlock.analyzer.analysis import program_of, read_file
from interlock.analyzer.graph.intervals import INFINITE, BudgetIntervals, Interval, budget_intervals
from interlock.analyzer.language.blocks import BUILT_IN
from interlock.analyzer.source.text import SourceText

LEAF = """
workflow: leaf
inputs: {topic: any}
steps: [{id: s, block: log, params: {message: "{string(inputs.topic)}"}}]
"""


def of(text: str, *others: str, only: str = "IL60") -> list[tuple[int, str]]:
    return [(line, code) for line, code in codes(text, *others) if code.startswith(only)]


def intervals(text: str, *others: str) -> BudgetIntervals:
    files = [read_file(SourceText(f"{number}.workflow.yaml", one)) for number, one in enumerate((text, *others))]
    return budget_intervals(program_of(files, BUILT_IN).units[0])


def workflow(budget: str, steps: str) -> str:
    return f"workflow: w\ninputs: {{n: integer, xs: array}}\nbudget: {{{budget}}}\nsteps:\n{steps}"


LOG = "block: log, params: {message: hi}"


# -- IL603 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "steps", "least"),
    [
        ("max_transitions", f"- {{id: a, {LOG}}}\n- {{id: b, {LOG}}}", 2),
        ("max_transitions", f"- {{id: a, when: false, {LOG}}}\n- {{id: b, {LOG}}}\n- {{id: c, {LOG}}}", 2),
        ("max_transitions", f"- {{id: a, when: true, {LOG}}}\n- {{id: c, {LOG}}}", 2),
        ("max_transitions", f"- {{id: a, {LOG}}}\n- {{id: w, wait_for_approval: {{}}}}\n- {{id: d, delay: 1s}}", 3),
        (
            "max_transitions",
            f"- id: p\n  concurrency: {{branches: {{a: {{steps: [{{id: x, {LOG}}}]}}, "
            f"b: {{steps: [{{id: x, {LOG}}}, {{id: y, {LOG}}}]}}}}}}",
            4,
        ),
        ("max_transitions", f"- id: s\n  concurrency: {{resource: k, steps: [{{id: x, {LOG}}}, {{id: y, {LOG}}}]}}", 3),
        ("max_transitions", f"- id: f\n  for_each: {{items: [1, 2, 3], steps: [{{id: x, {LOG}}}]}}", 4),
        (
            "max_transitions",
            f"- id: f\n  for_each: {{items: '{{inputs.xs}}', mode: quorum, quorum: 2, steps: [{{id: x, {LOG}}}]}}",
            3,
        ),
        (
            "max_transitions",
            f"- id: f\n  for_each: {{items: '{{inputs.xs}}', mode: first_success, steps: [{{id: x, {LOG}}}]}}",
            2,
        ),
        ("max_cost_units", f"- {{id: a, cost_units: 3, {LOG}}}\n- {{id: b, {LOG}}}", 4),
        ("max_cost_units", f"- {{id: a, cost_units: 0, {LOG}}}\n- {{id: b, {LOG}}}\n- {{id: c, {LOG}}}", 2),
        ("max_cost_units", "- {id: a, delay: 1s, cost_units: 5}", 5),
        ("max_cost_units", f"- {{id: a, retry: {{max_attempts: 9}}, {LOG}}}\n- {{id: b, {LOG}}}", 2),
        (
            "max_started_workflows",
            "- {id: a, start_workflows: {items: [1, 2], workflow: leaf, payload_key: topic, result_key: x}}\n"
            "- {id: b, start_agents: {items: ['{inputs.n}'], workflow: leaf, payload_key: topic}}",
            3,
        ),
        (
            "max_for_each_items",
            f"- id: f\n  for_each: {{items: '{{inputs.xs}}', mode: quorum, quorum: 4, steps: [{{id: x, {LOG}}}]}}",
            4,
        ),
        (
            "max_state_bytes",
            "- {id: a, block: set, params: {text: 'twelve bytes'}}",
            len('{"a":{"text":"twelve bytes"}}'),
        ),
    ],
)
def test_the_least_that_a_run_needs_fits_and_one_less_does_not(budget: str, steps: str, least: int) -> None:
    assert of(workflow(f"{budget}: {least}", steps), LEAF) == []
    assert of(workflow(f"{budget}: {least - 1}", steps), LEAF) == [(3, "IL603")]


@pytest.mark.parametrize(
    "steps",
    [
        f"- {{id: a, when: '{{inputs.n > 1}}', {LOG}}}\n- {{id: b, {LOG}}}",
        f"- {{id: a, next: end, {LOG}}}\n- {{id: b, {LOG}}}",
        f"- {{id: a, next: \"{{inputs.n > 1 ? 'b' : 'end'}}\", {LOG}}}\n- {{id: b, {LOG}}}",
        f"- id: s\n  concurrency: {{resource: k, on_busy: skip, steps: [{{id: x, {LOG}}}]}}",
        f"- id: f\n  for_each: {{items: '{{inputs.xs}}', steps: [{{id: x, {LOG}}}]}}",
        "- id: p\n  concurrency: {on_error: collect, branches: {a: {steps: ["
        "{id: x, block: http, params: {url: 'https://a.example'}}, {id: y, block: log, params: {message: hi}}]}}}",
        "- {id: a, block: fail, params: {message: no}}",
    ],
    ids=["when", "end", "next", "skip", "no items", "collect", "never completes"],
)
def test_a_path_that_fits_is_enough(steps: str) -> None:
    assert of(workflow("max_transitions: 1", steps)) == []


def test_collected_branches_that_cannot_fail_count() -> None:
    steps = f"- id: p\n  concurrency: {{on_error: collect, branches: {{a: {{steps: [{{id: x, {LOG}}}]}}}}}}"
    assert of(workflow("max_transitions: 1", steps)) == [(3, "IL603")]


def test_a_child_counts_its_own_transitions() -> None:
    steps = "- {id: a, run_workflow: {workflow: leaf, inputs: {topic: 1}, result_key: r}}"
    assert of(workflow("max_transitions: 1", steps), LEAF) == []


def test_children_that_may_be_there_already_need_no_budget() -> None:
    steps = (
        "- {id: a, start_workflows: {items: [1, 2], workflow: leaf, payload_key: topic, result_key: x}}\n"
        "- {id: b, start_workflows: {items: [1, 2], workflow: leaf, payload_key: topic, result_key: y}}"
    )
    keyed = LEAF.replace("steps:", 'idempotency_key: "{inputs.topic}"\nsteps:')
    assert of(workflow("max_started_workflows: 2", steps), LEAF) == [(3, "IL603")]
    assert of(workflow("max_started_workflows: 2", steps), keyed) == []


def test_the_message_shows_the_cheapest_path() -> None:
    steps = (
        f"- {{id: a, next: \"{{inputs.n > 1 ? 'b' : 'c'}}\", {LOG}}}\n- {{id: b, cost_units: 9, next: d, {LOG}}}\n"
        f"- {{id: c, cost_units: 2, {LOG}}}\n- {{id: d, {LOG}}}"
    )
    (found,) = [one for one in diagnostics(workflow("max_cost_units: 3", steps)) if one.code == "IL603"]
    assert "a (1) → c (2) → d (1)" in found.message
    assert "4 units" in found.message
    assert [place.line for place in found.related] == [5, 7, 8]


# -- IL604, IL605 ---------------------------------------------------------------------------------------


def test_a_list_longer_than_its_budget_is_said_at_the_list() -> None:
    text = """\
        workflow: w
        budget: {max_for_each_items: 2, max_started_workflows: 1}
        steps:
          - id: a
            for_each:
              items:
                - 1
                - 2
                - 3
              steps: [{id: s, block: log, params: {message: hi}}]
          - id: b
            start_workflows: {items: [1, 2], workflow: leaf, payload_key: topic, result_key: x}
          - id: c
            for_each: {items: "{[1, 2, 3]}", steps: [{id: s, block: log, params: {message: hi}}]}
        """
    assert of(text, LEAF) == [(7, "IL604"), (12, "IL604"), (14, "IL604")]


def test_runs_for_items_of_run_time_need_their_budget() -> None:
    step = "- {id: a, start_agents: {items: '{inputs.xs}', workflow: leaf, payload_key: topic}}"
    assert of(workflow("max_transitions: 9", step), LEAF) == [(5, "IL605")]
    assert of(workflow("max_started_workflows: 9", step), LEAF) == []
    assert of(workflow("max_started_workflows: none", step), LEAF) == [(3, "IL601")]
    literal = "- {id: a, start_agents: {items: [1, '{inputs.n}'], workflow: leaf, payload_key: topic}}"
    assert of(workflow("max_transitions: 9", literal), LEAF) == []


# -- IL607 ----------------------------------------------------------------------------------------------


def deadline(limit: str, steps: str) -> str:
    return f"workflow: w\ninputs: {{n: integer, xs: array}}\ndeadline: {limit}\nsteps:\n{steps}"


@pytest.mark.parametrize(
    ("enough", "short", "steps"),
    [
        ("3m", "179s", "- {id: a, delay: 1m}\n- {id: b, delay: 2m}"),
        ("1m", "59s", "- {id: a, when: '{inputs.n > 1}', delay: 1h}\n- {id: b, delay: 1m}"),
        ("1m", "59s", "- {id: a, delay: 1m}\n- {id: b, delay: {until: '{run.started_at}'}}"),
        (
            "1m",
            "59s",
            "- {id: a, next: \"{inputs.n > 1 ? 'b' : 'c'}\", delay: 1m}\n- {id: b, delay: 1h}\n"
            "- {id: c, block: log, params: {message: hi}}",
        ),
        (
            "2h",
            "1h",
            "- id: p\n  concurrency: {branches: {a: {steps: [{id: x, delay: 1h}]}, b: {steps: [{id: x, delay: 2h}]}}}",
        ),
        (
            "3h",
            "2h",
            "- id: p\n  concurrency: {limit: 1, branches: "
            "{a: {steps: [{id: x, delay: 1h}]}, b: {steps: [{id: x, delay: 2h}]}}}",
        ),
        ("2h", "1h", "- id: f\n  for_each: {items: [1, 2, 3], steps: [{id: x, delay: 1h}]}"),
        ("1h", "59m", "- {id: a, run_workflow: {workflow: slow, result_key: r}}"),
    ],
)
def test_delays_on_every_path(enough: str, short: str, steps: str) -> None:
    slow = "workflow: slow\nsteps: [{id: x, delay: 1h}]"
    assert of(deadline(enough, steps), slow, only="IL607") == []
    assert of(deadline(short, steps), slow, only="IL607") == [(3, "IL607")]


def test_delays_that_items_may_not_need() -> None:
    steps = "- id: f\n  for_each: {items: '{inputs.xs}', steps: [{id: x, delay: 1h}]}"
    assert of(deadline("1m", steps)) == []


def test_a_workflow_that_runs_itself_is_measured_once() -> None:
    text = (
        "workflow: w\ninputs: {n: integer}\ndeadline: 1m\nsteps:\n- {id: a, delay: 2m}\n"
        "- {id: b, when: '{inputs.n > 1}', run_workflow: {workflow: w, inputs: {n: 1}, result_key: r}}"
    )
    assert of(text, only="IL607") == [(3, "IL607")]


# -- IL602, IL608 ---------------------------------------------------------------------------------------


def loop(head: str, *steps: str) -> str:
    return "workflow: w\ninputs: {n: integer, url: string}\n" + head + "\nsteps:\n" + "\n".join(steps)


POLL = "- {id: poll, block: http, params: {url: '{inputs.url}'}}"
BOUND = "budget: {max_transitions: 50}"


def test_a_loop_without_a_way_out_is_said_whatever_bounds_it() -> None:
    assert of(loop(BOUND, POLL, "- {id: b, block: log, params: {message: hi}, next: poll}")) == [(6, "IL602")]


def test_a_loop_inside_another_is_judged_by_its_own_way_out() -> None:
    inner = "- {id: b, when: '{poll.status == 1}', delay: 1s, next: poll}"
    endless = "- {id: c, block: log, params: {message: hi}, next: poll}"
    fixed = "- {id: c, when: '{inputs.n == 1}', block: log, params: {message: hi}, next: poll}"
    assert of(loop(BOUND, POLL, inner, endless)) == [(7, "IL602")]
    assert of(loop(BOUND, POLL, inner, fixed)) == [(7, "IL608")]
    assert of(loop(BOUND, POLL, fixed, inner)) == [(6, "IL608")]
    assert of(loop("", POLL, inner, fixed)) == [(6, "IL602"), (7, "IL602"), (7, "IL608")]


def test_loops_that_only_lead_to_each_other_have_no_way_out() -> None:
    steps = [
        POLL,
        "- {id: b, when: '{poll.status == 1}', block: log, params: {message: hi}, next: poll}",
        "- {id: c, block: http, params: {url: '{inputs.url}'}}",
        "- {id: d, block: log, params: {message: hi}, next: \"{c.status == 1 ? 'c' : 'poll'}\"}",
    ]
    assert of(loop(BOUND, *steps)) == [(8, "IL602")]
    across = [
        "- {id: a, block: http, params: {url: '{inputs.url}'}, next: \"{a.status == 1 ? 'b' : 'c'}\"}",
        "- {id: b, block: log, params: {message: hi}, next: \"{a.status == 1 ? 'c' : 'a'}\"}",
        "- {id: c, block: log, params: {message: hi}, next: \"{a.status == 1 ? 'b' : 'a'}\"}",
    ]
    assert of(loop(BOUND, *across)) == [(6, "IL602"), (7, "IL602")]


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("description: none", [(6, "IL602")]),
        ("budget: {max_cost_units: 9}", [(6, "IL602")]),
        ("budget: {max_transitions: 9}", []),
        ("deadline: 1h", []),
        ("budget: {max_transitions: x}", [(3, "IL601")]),
    ],
)
def test_a_loop_needs_a_bound(head: str, found: list[tuple[int, str]]) -> None:
    assert of(loop(head, POLL, "- {id: b, when: '{poll.json.x != 1}', delay: 1s, next: poll}")) == found


@pytest.mark.parametrize(
    "steps",
    [
        [POLL, "- {id: b, delay: 1s, next: \"{poll.json.ok ? 'end' : 'poll'}\"}"],
        [POLL, "- {id: b, delay: 1s, next: \"{poll.json.ok ? 'c' : 'poll'}\"}", "- {id: c, delay: 1s}"],
        [POLL, "- {id: b, delay: 1s, next: '{poll.json.where}'}"],
        [POLL, "- {id: f, when: '{poll.json.bad}', block: fail, params: {message: no}}",
         "- {id: b, delay: 1s, next: poll}"],
        [POLL, "- {id: o, when: '{poll.json.ok}', block: log, params: {message: hi}, next: end}",
         "- {id: b, delay: 1s, next: poll}"],
    ],
    ids=["next to the end", "next out of it", "next to anywhere", "fail", "a step that jumps out"],
)  # fmt: skip
def test_ways_out_of_a_loop(steps: list[str]) -> None:
    assert of(loop(BOUND, *steps)) == []


def test_a_fail_inside_a_branch_is_a_way_out_unless_it_is_collected() -> None:
    inner = "{a: {steps: [{id: f, when: '{poll.json.bad}', block: fail, params: {message: no}}]}}"
    back = "- {id: b, delay: 1s, next: poll}"
    assert of(loop(BOUND, POLL, f"- {{id: p, concurrency: {{branches: {inner}}}}}", back)) == []
    collected = f"- {{id: p, concurrency: {{on_error: collect, branches: {inner}}}}}"
    assert of(loop(BOUND, POLL, collected, back)) == [(7, "IL602")]


@pytest.mark.parametrize(
    "steps",
    [
        [POLL, "- {id: b, when: '{inputs.n > 1}', delay: 1s, next: poll}"],
        [POLL, "- {id: b, delay: 1s, next: \"{inputs.n > 1 ? 'poll' : 'end'}\"}"],
        ["- {id: poll, block: set, params: {n: 1}}", "- {id: b, when: '{poll.n < 3}', delay: 1s, next: poll}"],
        ["- {id: poll, block: set, params: {n: '{inputs.n}'}}",
         "- {id: b, when: '{poll.n < 3}', delay: 1s, next: poll}"],
        [POLL, "- {id: b, when: '{run.attempt > 3}', delay: 1s, next: poll}"],
        [POLL, "- {id: f, when: '{inputs.n > 4}', block: fail, params: {message: no}, next: end}",
         "- {id: b, delay: 1s, next: poll}"],
    ],
)  # fmt: skip
def test_a_way_out_that_never_changes(steps: list[str]) -> None:
    assert of(loop(BOUND, *steps)) == [(4 + len(steps), "IL608")]


@pytest.mark.parametrize(
    "steps",
    [
        [POLL, "- {id: b, when: '{poll.status != 200}', delay: 1s, next: poll}"],
        [POLL, "- {id: s, block: set, params: {n: '{poll.status}'}}",
         "- {id: b, when: '{s.n == 1}', delay: 1s, next: poll}"],
        ["- {id: poll, block: set, params: {n: '{int(state.?poll.?n.orValue(0)) + 1}'}}",
         "- {id: b, when: '{poll.n < 3}', delay: 1s, next: poll}"],
        ["- {id: poll, wait_for_signal: {name: go}}", "- {id: b, when: '{!has(state.done)}', delay: 1s, next: poll}"],
        ["- {id: poll, wait_for_input: {}}", "- {id: b, when: '{input.more}', delay: 1s, next: poll}"],
        [POLL, "- {id: b, when: '{inputs.n > 1 && poll.status != 200}', delay: 1s, next: poll}"],
    ],
)  # fmt: skip
def test_a_way_out_that_may_change(steps: list[str]) -> None:
    assert of(loop(BOUND, *steps)) == []


def test_state_changes_only_where_the_loop_writes_it() -> None:
    steps = [
        "- {id: first, block: http, params: {url: '{inputs.url}'}}",
        POLL,
        "- {id: b, when: '{state.first.status == 200}', delay: 1s, next: poll}",
    ]
    assert of(loop(BOUND, *steps)) == [(7, "IL608")]


def test_a_loop_in_an_inner_list_is_judged_there() -> None:
    text = """\
        workflow: w
        inputs: {url: string}
        steps:
          - id: p
            concurrency:
              branches:
                a:
                  steps:
                    - {id: poll, block: http, params: {url: "{inputs.url}"}}
                    - {id: b, when: "{poll.status != 200}", delay: 1s, next: poll}
                    - {id: c, block: log, params: {message: hi}, next: poll}
        """
    assert of(text) == [(10, "IL602"), (11, "IL602")]


# -- the intervals --------------------------------------------------------------------------------------


def test_intervals_of_a_workflow() -> None:
    found = intervals(
        "workflow: w\ninputs: {xs: array}\nbudget: {max_for_each_items: 5}\nsteps:\n"
        "- {id: a, when: '{size(inputs.xs) > 1}', delay: 1m}\n"
        f"- {{id: f, for_each: {{items: '{{inputs.xs}}', steps: [{{id: x, cost_units: 2, {LOG}}}]}}}}\n"
        "- {id: s, start_workflows: {items: [1, 2], workflow: leaf, payload_key: topic, result_key: ids}}\n",
        LEAF,
    )
    assert found.transitions == Interval(2, 8)
    assert found.cost_units == Interval(0, 10)
    assert found.for_each_items == Interval(0, 5, 5)
    assert found.started_workflows == Interval(2, 2)
    assert found.delay == Interval(0, 60)


def test_a_loop_has_no_greatest_but_its_budget() -> None:
    steps = f"steps:\n- {{id: a, {LOG}}}\n- {{id: b, when: '{{inputs.n > 1}}', delay: 1s, next: a}}\n"
    free = intervals(f"workflow: w\ninputs: {{n: integer}}\n{steps}")
    assert free.transitions == Interval(1, INFINITE)
    assert free.started_workflows == Interval(0, 0)
    bound = intervals(f"workflow: w\ninputs: {{n: integer}}\nbudget: {{max_transitions: 7}}\n{steps}")
    assert bound.transitions == Interval(1, 7, 7)


def test_nothing_completes_where_every_path_fails() -> None:
    found = intervals("workflow: w\nsteps: [{id: a, block: fail, params: {message: no}}]")
    assert found.transitions.least is None
