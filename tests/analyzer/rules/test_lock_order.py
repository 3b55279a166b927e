"""Leases against each other: one limit for a key, holding while waiting, and orders that deadlock."""

from __future__ import annotations

import pytest
from found import codes, diagnostics, marks

from interlock.analyzer.analysis import program_of, read_file
from interlock.analyzer.source.text import SourceText

LOG = "{id: s, block: log, params: {message: hi}}"


def take(id: str, key: str, more: str = "", mark: str = "", policy: str = "wait") -> str:
    """A claim for the run, on lines of its own; the mark stands at ``on_busy``."""
    return f"- id: {id}\n  concurrency:\n    resource: {key}\n    lifetime: run\n    on_busy: {policy}{mark}" + (
        f"\n{more}" if more else ""
    )


def section(id: str, key: str, mark: str = "") -> str:
    return (
        f"- id: {id}\n  concurrency:\n    resource: {key}\n    on_busy: wait{mark}\n"
        f"    steps: [{LOG.replace('id: s', f'id: {id}_s')}]"
    )


def workflow(name: str, *steps: str, head: str = "") -> str:
    lines = [line for step in steps for line in step.strip("\n").split("\n")]
    top = [f"workflow: {name}", *([head] if head else []), "steps:"]
    return "\n".join(top + ["  " + line for line in lines]) + "\n"


def together(*texts: str) -> str:
    return "---\n".join(texts)


def deeper(*steps: str, by: int) -> str:
    return "\n".join(" " * by + line for step in steps for line in step.split("\n"))


def branches(id: str, *lists: str, more: str = "") -> str:
    text = f"- id: {id}\n  concurrency:\n{more}    branches:"
    for number, steps in enumerate(lists):
        text += f"\n      b{number}:\n        steps:\n{deeper(steps, by=10)}"
    return text


def each(id: str, steps: str, items: str = '"{inputs.list}"', more: str = "") -> str:
    return f"- id: {id}\n  for_each:\n    items: {items}\n{more}    steps:\n{deeper(steps, by=6)}"


LIST = "inputs: {list: array}"
W407, E408 = "  # IL407", "  # IL408"


def judge(text: str) -> None:
    assert codes(text) == marks(text)


# -- IL310 ---------------------------------------------------------------------------------------


def test_one_literal_key_has_one_limit() -> None:
    judge(
        f"""
        workflow: one
        inputs: {{k: string}}
        steps:
          - {{id: a, concurrency: {{resource: gpu, limit: 2, steps: [{LOG}]}}}}
          - {{id: b, concurrency: {{resource: "g{{inputs.k}}", limit: 2, steps: [{LOG}]}}}}
          - {{id: c, concurrency: {{resource: "g{{inputs.k}}", limit: 3, steps: [{LOG}]}}}}
        ---
        workflow: two
        steps:
          - id: a
            concurrency:
              resource: gpu
              limit: 3  # IL310
              steps: [{LOG}]
          - id: b
            concurrency:
              resource: gpu  # IL310
              steps: [{LOG}]
          - id: c
            concurrency: {{resource: gpu, limit: 2, steps: [{LOG}]}}
          - id: d
            concurrency:
              resource: gpu
              limit: 0  # IL303
              steps: [{LOG}]
        """
    )


def test_the_default_limit_written_out_is_the_same_limit() -> None:
    judge(
        f"""
        workflow: one
        steps:
          - {{id: a, concurrency: {{resource: gpu, limit: 1, steps: [{LOG}]}}}}
          - {{id: b, concurrency: {{resource: gpu, steps: [{LOG}]}}}}
        """
    )


def test_the_first_place_is_the_first_of_the_first_file() -> None:
    here = f"workflow: here\nsteps: [{{id: a, concurrency: {{resource: gpu, limit: 1, steps: [{LOG}]}}}}]\n"
    there = here.replace("here", "there").replace("limit: 1", "limit: 2")
    assert codes(here, there) == []
    found = diagnostics(there.replace("there", "late"), here)
    assert found == []
    both = together(here, there)
    assert [(one.line, one.code) for one in diagnostics(both)] == [(5, "IL310")]
    assert [related.line for related in diagnostics(both)[0].related] == [2]


# -- IL407 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([take("a", "alpha"), section("b", "beta", W407)], id="a section"),
        pytest.param([take("a", "alpha"), take("b", "beta", mark=W407)], id="a claim"),
        pytest.param([take("a", "alpha", policy="fail"), section("b", "beta", W407)], id="after fail"),
        pytest.param(
            [
                take("a", "alpha", policy="skip"),
                '- {id: x, block: log, params: {message: "{a.acquired}"}}',
                section("b", "beta", W407),
            ],
            id="after skip",
        ),
        pytest.param([take("a", "alpha", "  when: false"), section("b", "beta")], id="not after a step switched off"),
        pytest.param(
            [
                "- {id: q, block: http, params: {url: 'https://a.example'}}",
                take("a", "alpha", '  when: "{q.status == 200}"'),
                section("b", "beta", W407),
            ],
            id="after a condition",
        ),
        pytest.param([section("a", "alpha"), section("b", "beta")], id="a section gives its lease back"),
        pytest.param(
            [
                "- id: a\n  concurrency:\n    resource: alpha\n    lifetime: run\n"
                f"    steps: [{LOG.replace('id: s', 'id: t')}]",
                section("b", "beta", W407),
            ],
            id="unless its lifetime is the run",
        ),
        pytest.param(
            [
                "- id: a\n  concurrency:\n    resource: alpha\n    steps:\n"
                + deeper(take("c", "gamma", policy="fail"), by=6),
                section("b", "beta", W407),
            ],
            id="a claim inside a section outlives it",
        ),
        pytest.param(
            [
                take("a", "alpha"),
                take("b", "beta", policy="fail"),
                "- {id: d, delay: 5s}",
                "- {id: e, wait_for_approval: {}}",
            ],
            id="what does not wait for others",
        ),
        pytest.param(
            [take("a", "alpha"), "- {id: w, wait_for_workflow:  # IL407\n   {workflow: '{run.id}', result_key: r}}"],
            id="a dependency wait",
        ),
        pytest.param(
            [take("a", "alpha"), "- {id: w, wait_for_workflows: {workflows: [], result_key: r}}"], id="for nobody"
        ),
        pytest.param([take("a", "alpha"), take("b", "alpha"), section("c", "alpha")], id="the same key again"),
        pytest.param(
            [take("a", "alpha"), take("b", "beta", mark=W407), section("c", "alpha")],
            id="a key held on every path does not block",
        ),
        pytest.param(
            [
                "- {id: q, block: http, params: {url: 'https://a.example'}}",
                take("a", "alpha", '  when: "{q.status == 200}"'),
                section("c", "alpha"),
            ],
            id="a key that may be held does not wait for itself",
        ),
        pytest.param(
            [branches("p", take("a", "alpha"), section("b", "beta", W407))],
            id="a sibling branch holds",
        ),
        pytest.param(
            [
                branches("p", "- {id: f, block: fail, params: {message: no}}\n" + take("a", "alpha")).replace(
                    "- id: a", "- id: a  # IL212"
                ),
                section("b", "beta"),
            ],
            id="unreachable claims are never held",
        ),
        pytest.param(
            [
                branches(
                    "p",
                    take("a", "alpha") + "\n- {id: f, block: fail, params: {message: no}}",
                    "- {id: g, delay: 1s}",
                    more="    on_error: collect\n",
                ),
                section("b", "beta", W407),
            ],
            id="a branch that failed keeps its lease",
        ),
        pytest.param(
            [
                branches("p", take("a", "alpha"), "- {id: g, delay: 1s}"),
                section("b", "beta", W407),
                section("c", "alpha"),
            ],
            id="a branch that completed holds its key",
        ),
        pytest.param(
            [
                branches("p", take("a", "alpha"), "- {id: g, delay: 1s}", more="    on_error: collect\n"),
                take("z", "beta", policy="fail"),
                section("c", "alpha", W407),
            ],
            id="under collect it is not sure",
        ),
        pytest.param([take("a", "alpha"), section("b", "beta", W407), section("c", "gamma", W407)], id="each wait"),
        pytest.param(
            [take("a", "alpha"), "- id: e\n  concurrency:  # IL308\n    {resource: beta}"],
            id="nothing more is said of an empty section",
        ),
        pytest.param(
            [
                take("a", "alpha"),
                "- id: e\n  concurrency:\n    {resource: beta, lifetime: run, on_busy: latest}  # IL304",
            ],
            id="nor where the policy cannot be read",
        ),
    ],
)
def test_waiting_while_a_lease_may_be_held(steps: list[str]) -> None:
    judge(workflow("w", *steps))


def test_items_hold_for_each_other() -> None:
    judge(
        workflow(
            "w",
            each("e", section("b", '"x:{string(item)}"', W407) + "\n" + take("a", "alpha", policy="fail")).replace(
                "resource: alpha", "resource: alpha  # IL312"
            ),
            head=LIST,
        )
    )


@pytest.mark.parametrize("items", ['["one"]', "[]"])
def test_fewer_than_two_items_do_not(items: str) -> None:
    judge(workflow("w", each("e", section("b", "beta") + "\n" + take("a", "alpha", policy="fail"), items)))


def test_literal_items_surely_hold_what_each_takes() -> None:
    one = each("e", take("a", "alpha"), '["one"]')
    judge(workflow("w", one, take("b", "beta", policy="fail"), section("c", "alpha")))
    some = each("e", take("a", "alpha"), more="    limit: 1\n")
    judge(workflow("w", some, take("b", "beta", policy="fail"), section("c", "alpha", W407), head=LIST))
    first = each("e", take("a", "alpha"), more="    limit: 1\n    mode: first_success\n")
    judge(workflow("w", first, take("b", "beta", policy="fail"), section("c", "alpha"), head=LIST))


LOOP = "  next: \"{run.attempt > 3 ? 'end' : 'a'}\""


def without_loops(text: str) -> list[tuple[int, str]]:
    return [(line, code) for line, code in codes(text) if code not in ("IL602", "IL608")]


def test_an_earlier_visit_holds() -> None:
    text = workflow("w", section("a", "alpha", W407), take("b", "beta", LOOP), head="deadline: 1h")
    assert without_loops(text) == marks(text)


def test_a_loop_that_takes_its_keys_again_does_not_wait_for_them() -> None:
    text = workflow("w", take("a", "alpha"), take("b", "beta", LOOP, W407), head="deadline: 1h")
    assert without_loops(text) == marks(text)


def test_items_that_take_the_same_keys_in_one_order_do_not_wait_for_each_other() -> None:
    text = workflow(
        "w", each("e", take("a", "alpha") + "\n" + take("b", "beta", mark=W407), more="    limit: 1\n"), head=LIST
    )
    judge(text)


def test_waits_inside_sections_are_told_as_such() -> None:
    judge(
        workflow(
            "w",
            take("a", "alpha"),
            "- id: o\n  concurrency:\n    resource: beta\n    on_busy: fail\n    steps:\n"
            + deeper(
                take("n", "gamma", mark="  # IL401"),
                "- id: w\n  wait_for_workflow:  # IL405\n    {workflow: '{run.id}', result_key: r}",
                by=6,
            ),
        )
    )


def test_running_a_child_is_a_wait_and_starting_runs_is_none() -> None:
    judge(
        together(
            workflow(
                "w",
                take("a", "alpha"),
                "- id: c\n  run_workflow:  # IL407\n    {workflow: kid}",
                "- id: d\n  start_workflows: {items: [{}], workflow: kid, result_key: ids}",
            ),
            f"workflow: kid\nsteps: [{LOG}]\n",
        )
    )


def test_every_lease_that_may_be_held_is_told() -> None:
    found = diagnostics(
        workflow("w", take("a", "alpha", policy="fail"), take("b", "beta", policy="fail"), section("c", "gamma"))
    )
    assert [(one.code, [related.line for related in one.related]) for one in found] == [("IL407", [5, 10])]


# -- IL408 ---------------------------------------------------------------------------------------


def test_two_orders_of_two_keys() -> None:
    text = together(
        workflow("east", take("a", "alpha"), section("b", "beta", E408)),
        workflow("west", take("b", "beta"), take("a", "alpha", mark=E408)),
        workflow("north", take("a", "alpha"), take("b", "beta", mark=E408)),
        workflow("south", take("a", "alpha"), take("c", "gamma", mark=W407)),
    )
    judge(text)
    east = diagnostics(text)[0]
    assert '"alpha" → "beta" → "alpha"' in east.message
    assert "can deadlock" in east.message
    assert [related.line for related in east.related] == [5, 11, 18, 25]


def test_orders_across_files() -> None:
    east = workflow("east", take("a", "alpha"), take("b", "beta", mark=E408))
    west = workflow("west", take("b", "beta"), take("a", "alpha", mark=E408))
    assert codes(east, west) == marks(east)
    assert codes(west, east) == marks(west)
    assert codes(east) == [(line, "IL407") for line, _ in marks(east)]


def test_a_cycle_of_three_and_a_key_beside_it() -> None:
    judge(
        together(
            workflow("one", take("a", "alpha"), take("b", "beta", mark=E408)),
            workflow("two", take("b", "beta"), take("c", "gamma", mark=E408), take("d", "delta", mark=W407)),
            workflow("three", take("c", "gamma"), take("a", "alpha", mark=E408)),
        )
    )


def test_two_cycles_are_both_told() -> None:
    judge(
        together(
            workflow("one", take("a", "alpha"), take("b", "beta", mark=E408)),
            workflow("two", take("b", "beta"), take("a", "alpha", mark=E408)),
            workflow("three", take("c", "gamma"), take("d", "delta", mark=E408)),
            workflow("four", take("d", "delta"), take("c", "gamma", mark=E408)),
        )
    )


@pytest.mark.parametrize("policy", ["skip", "fail"])
def test_what_does_not_wait_has_no_edge(policy: str) -> None:
    back = take("a", "alpha", policy=policy)
    reader = '- {id: r, block: log, params: {message: "{a.acquired}"}}'
    judge(
        together(
            workflow("east", take("a", "alpha"), take("b", "beta", mark=W407)),
            workflow("west", take("b", "beta"), back, reader),
        )
    )


def test_a_skipped_claim_still_holds() -> None:
    judge(
        together(
            workflow(
                "east",
                take("a", "alpha", policy="skip"),
                '- {id: r, block: log, params: {message: "{a.acquired}"}}',
                take("b", "beta", mark=E408),
            ),
            workflow("west", take("b", "beta"), take("a", "alpha", mark=E408)),
        )
    )


def test_templates_of_one_text_are_one_key_and_the_message_says_may() -> None:
    inputs = "inputs: {i: string, j: string}"
    text = together(
        workflow("east", take("a", '"x:{inputs.i}"'), take("b", '"y:{inputs.j}"', mark=E408), head=inputs),
        workflow("west", take("b", '"y:{ inputs.j }"'), take("a", '"x:{  inputs.i}"', mark=E408), head=inputs),
    )
    judge(text)
    assert all("may deadlock" in one.message for one in diagnostics(text))


@pytest.mark.parametrize("other", ['"x:{inputs.j}"', '"z:{inputs.i}"', '"x:one"'])
def test_templates_of_other_text_and_literals_are_other_keys(other: str) -> None:
    inputs = "inputs: {i: string, j: string}"
    used = '- {id: u, block: log, params: {message: "{inputs.i}{inputs.j}"}}'
    judge(
        together(
            workflow("east", used, take("a", '"x:{inputs.i}"'), take("b", "beta", mark=W407), head=inputs),
            workflow("west", used, take("b", "beta"), take("a", other, mark=W407), head=inputs),
        )
    )


def test_one_workflow_closes_a_cycle_with_itself_unless_it_runs_one_at_a_time() -> None:
    def two_ways(mark: str) -> list[str]:
        return [
            branches(
                "p",
                take("a", "alpha") + "\n" + take("b", "beta", mark=mark),
                take("b", "beta") + "\n" + take("a", "alpha", mark=mark),
            )
        ]

    found = codes(workflow("w", *two_ways(E408)))
    assert [code for _, code in found].count("IL408") == 4
    found = codes(workflow("w", *two_ways(E408), head="concurrency: {limit: 1}"))
    assert "IL408" not in [code for _, code in found]
    found = codes(workflow("w", *two_ways(E408), head="concurrency: {limit: 2}"))
    assert "IL408" in [code for _, code in found]


WAYS = "- {id: q, block: http, params: {url: 'https://a.example'}, next: \"{q.status == 200 ? 'a1' : 'b2'}\"}"


def two_paths(mark: str, head: str = "") -> str:
    return workflow(
        "w",
        WAYS,
        take("a1", "alpha"),
        take("b1", "beta", "  next: end", mark),
        take("b2", "beta"),
        take("a2", "alpha", mark=mark),
        head=head,
    )


def test_two_paths_of_one_workflow() -> None:
    judge(two_paths(E408))
    judge(two_paths(W407, "concurrency: {limit: 1}"))


def test_a_workflow_that_runs_one_at_a_time_still_meets_others() -> None:
    judge(
        together(
            two_paths(E408, "concurrency: {limit: 1}"),
            workflow("other", take("b", "beta"), take("a", "alpha", mark=E408)),
        ).replace(f"on_busy: wait{E408}\n---", f"on_busy: wait{W407}\n---")
    )


def test_a_gate_of_limit_1_around_every_edge() -> None:
    def order(name: str, first: str, second: str, *gate: str, mark: str) -> str:
        return workflow(name, *gate, take(first, first, mark=W407 if gate else ""), take(second, second, mark=mark))

    gate = take("g", "gate")
    judge(together(order("e", "alpha", "beta", gate, mark=W407), order("w", "beta", "alpha", gate, mark=W407)))
    one = order("e", "alpha", "beta", gate, mark=E408)
    judge(together(one, order("w", "beta", "alpha", mark=E408)))
    wide = take("g", "gate", "    limit: 2")
    judge(together(order("e", "alpha", "beta", wide, mark=E408), order("w", "beta", "alpha", wide, mark=E408)))
    other = take("g", "other")
    judge(together(order("e", "alpha", "beta", gate, mark=E408), order("w", "beta", "alpha", other, mark=E408)))
    quick = take("g", "gate", policy="fail")
    judge(together(order("e", "alpha", "beta", quick, mark=W407), order("w", "beta", "alpha", gate, mark=W407)))


def test_a_gate_that_may_not_be_held_is_none() -> None:
    maybe = take("g", "gate", policy="skip")
    read = '- {id: r, block: log, params: {message: "{g.acquired}"}}'
    judge(
        together(
            workflow("e", maybe, read, take("a", "alpha", mark=W407), take("b", "beta", mark=E408)),
            workflow("w", maybe, read, take("b", "beta", mark=W407), take("a", "alpha", mark=E408)),
        )
    )


def test_a_gate_by_template_holds_where_the_keys_tell_it() -> None:
    head = "inputs: {t: string}"

    def order(name: str, gate: str, first: str, second: str, mark: str) -> str:
        steps = [take("g", gate), take("a", first, mark=W407), take("b", second, mark=mark)]
        return workflow(name, *steps, head=head)

    gate, one, two = '"g:{inputs.t}"', '"a:{inputs.t}"', '"b:{inputs.t}"'
    judge(together(order("e", gate, one, two, W407), order("w", gate, two, one, W407)))
    judge(together(order("e", gate, "alpha", "beta", E408), order("w", gate, "beta", "alpha", E408)))


def test_a_key_that_differs_between_items_waits_for_its_like() -> None:
    taking = each("e", take("a", '"x:{string(item)}"', mark=E408))
    judge(workflow("w", taking, head=LIST))
    judge(workflow("w", taking.replace(E408, W407), head=f"{LIST}\nconcurrency: {{limit: 1}}"))
    judge(workflow("w", each("e", take("a", '"x:{string(item)}"'), '["one"]')))


def test_two_workflows_that_run_one_at_a_time_can_still_meet_in_such_a_key() -> None:
    head = f"{LIST}\nconcurrency: {{limit: 1}}"
    taking = each("e", take("a", '"x:{string(item)}"', mark=E408))
    judge(together(workflow("one", taking, head=head), workflow("two", taking, head=head)))


def test_a_key_that_differs_between_visits_waits_for_its_like() -> None:
    text = workflow(
        "w",
        "- {id: a, block: http, params: {url: 'https://a.example'}}",
        take("b", '"x:{a.json.next}"', LOOP, E408),
        head="deadline: 1h",
    )
    assert without_loops(text) == marks(text)


def test_sections_for_each_item_hold_nothing_afterwards() -> None:
    judge(workflow("w", each("e", section("a", '"x:{string(item)}"')), head=LIST))


# -- children ------------------------------------------------------------------------------------


def run(id: str, child: str, mark: str = "", kind_mark: str = "") -> str:
    return f"- id: {id}\n  run_workflow:{kind_mark}\n    workflow: {child}{mark}"


def test_a_child_that_waits_for_what_its_parent_holds() -> None:
    text = together(
        workflow("parent", take("a", "alpha"), run("c", "middle", E408)),
        workflow("middle", run("c", "kid")),
        workflow("kid", section("a", "alpha")),
    )
    judge(text)
    found = diagnostics(text)[0]
    assert "waits for that key" in found.message
    assert [related.line for related in found.related] == [5, 10, 23]
    judge(text.replace("workflow: parent\n", "workflow: parent\nconcurrency: {limit: 1}\n"))


def test_a_child_that_does_not_wait_for_it() -> None:
    judge(
        together(
            workflow("parent", take("a", "alpha"), run("c", "kid", kind_mark=W407)),
            workflow("kid", take("a", "alpha", policy="fail")),
        )
    )


def test_a_started_run_is_not_waited_for() -> None:
    judge(
        together(
            workflow(
                "parent", take("a", "alpha"), "- {id: c, start_workflows: {items: [{}], workflow: kid, result_key: r}}"
            ),
            workflow("kid", section("a", "alpha")),
        )
    )


def test_a_parent_s_order_closes_a_cycle_with_another_workflow() -> None:
    judge(
        together(
            workflow("parent", take("a", "alpha"), run("c", "kid", E408)),
            workflow("kid", section("b", "beta")),
            workflow("other", take("b", "beta"), take("a", "alpha", mark=E408)),
        )
    )


def test_what_the_workspace_knows_of_its_keys() -> None:
    text = together(
        workflow("east", take("a", "alpha"), take("b", "beta")),
        workflow("west", take("b", "beta"), run("c", "east")),
    )
    order = program_of([read_file(SourceText("f", text))]).lock_order
    assert {key.text: [one.unit.name for one in takers] for key, takers in order.takers.items()} == {
        "alpha": ["east"],
        "beta": ["east", "west"],
    }
    edges = {(edge.wait.unit.name, edge.held_key.text, edge.wanted_key.text) for edge in order.edges()}
    assert edges == {("east", "alpha", "beta"), ("west", "beta", "alpha"), ("west", "beta", "beta")}


def test_networkx_is_imported_only_where_a_cycle_may_be_left() -> None:
    import subprocess
    import sys

    text = together(
        workflow("one", take("a", "alpha"), take("b", "beta")), workflow("two", take("b", "beta"), take("c", "gamma"))
    )
    code = (
        "import sys; from interlock.analyzer.analysis import check_texts; "
        f"check_texts({{'f': {text!r}}}); print('networkx' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_under_a_gate_the_hint_does_not_ask_for_what_was_done() -> None:
    taken = {key: f"  - {{id: {key}, concurrency: {{resource: {key}, lifetime: run}}}}\n" for key in ("gate", "a", "b")}
    start = "workflow: {}\nsteps:\n"
    bare = diagnostics(start.format("w") + taken["a"] + taken["b"], start.format("v") + taken["b"] + taken["a"])
    (one,) = (one for one in bare if one.code == "IL408")
    assert one.hint is not None
    assert one.hint.endswith(
        "take one key of limit 1 before them everywhere, and suppress the hold-and-wait that remains."
    )
    gated = diagnostics(
        start.format("w") + taken["gate"] + taken["a"] + taken["b"],
        start.format("v") + taken["gate"] + taken["b"] + taken["a"],
    )
    assert [one.code for one in gated] == ["IL407", "IL407"]
    assert all((one.hint or "").startswith('If all who take these keys take "gate" before them, ') for one in gated)
    wide = diagnostics(
        start.format("w") + taken["gate"].replace("gate, lifetime", "gate, limit: 2, lifetime") + taken["a"]
    )
    assert [(one.hint or "").split(",")[0] for one in wide] == ["Take all leases first"]
