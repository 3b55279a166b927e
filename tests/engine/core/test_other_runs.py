"""Children, independent runs, groups, and waits for other runs (section 8)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.engine.ports import Failed, Success, Task
from interlock.engine.simulate.world import World, failing

Make = Callable[..., World]

CHILD = """
workflow: child
inputs: {n: integer, color: {type: string, required: false}}
steps: [{id: act, block: work, params: {n: "{inputs.n}"}}]
outputs: {n: "{inputs.n}", _hidden: 1}
"""
PARENT = (
    """
workflow: parent
steps:
  - {id: kid, run_workflow: {workflow: child, inputs: {n: 4}, result_key: got}}
  - {id: after, block: set, params: {n: "{got.n}"}}
---
"""
    + CHILD
)


def error(w: World, run: str) -> tuple[str, str | None]:
    found = w.status(run).error
    assert found is not None
    return found.code, found.path


def test_a_parent_waits_for_its_child_and_takes_its_outputs(world: Make) -> None:
    w = world(PARENT)
    parent = w.start("parent")
    status = w.status(parent)
    child = status.children[0]
    assert (status.status, status.wait_type, status.waiting_for) == ("waiting_for_workflows", "workflow", (child,))
    assert w.status(child).parent == parent
    w.work()
    assert w.status(parent).state == {"got": {"n": 4}, "after": {"n": 4}}


def test_a_child_that_fails_fails_the_step(world: Make) -> None:
    w = world(PARENT, scripts={"work": failing()})
    parent = w.start("parent")
    w.work()
    assert error(w, parent) == ("child-failed", "kid")
    failed = w.status(parent).error
    assert failed is not None
    assert w.status(parent).children[0] in failed.message


def test_every_end_of_the_parent_stops_its_children_and_waits_for_them(world: Make) -> None:
    w = world(PARENT)
    parent = w.start("parent")
    child = w.status(parent).children[0]
    task = w.take("act")
    w.kernel.cancel(parent)
    assert w.status(child).stop is not None
    assert w.status(parent).status == "waiting_for_workflows"
    w.finish(task)
    assert w.status(child).status == "cancelled"
    assert w.status(parent).status == "cancelled"


def test_a_parent_waiting_on_a_child_that_was_superseded_fails(world: Make) -> None:
    w = world(
        PARENT.replace(
            "workflow: child\ninputs",
            "workflow: child\nconcurrency: {limit: 1, on_busy: latest_waiting, supersession_key: same}\ninputs",
        )
    )
    busy = w.start("child", n=1)
    parent = w.start("parent")
    child = w.status(parent).children[0]
    assert w.status(child).status == "queued"
    w.start("child", n=2)
    assert w.status(child).status == "superseded"
    assert error(w, parent) == ("child-failed", "kid")
    assert w.status(busy).status == "running"


def test_a_timeout_stops_the_child_before_the_step_fails(world: Make) -> None:
    w = world(PARENT.replace("- {id: kid, run", "- {id: kid, timeout: 1m, run"))
    parent = w.start("parent")
    child = w.status(parent).children[0]
    task = w.take("act")
    w.advance(61)
    assert w.status(parent).status == "waiting_for_workflows"
    w.finish(task)
    assert w.status(child).status == "cancelled"
    assert error(w, parent) == ("timeout", "kid")


def test_inputs_that_do_not_fit_fail_the_step_and_start_nothing(world: Make) -> None:
    w = world(PARENT.replace("inputs: {n: 4}", 'inputs: {n: "{run.id}"}'))
    parent = w.start("parent")
    assert error(w, parent) == ("child-inputs", "kid")
    assert len(w.kernel.runs()) == 1


STARTS = (
    """
workflow: many
inputs: {items: array, color: string}
budget: {max_started_workflows: 2000}
steps:
  - {id: plan, block: set, params: {items: "{inputs.items}", n: 5}}
  - {id: go, start_workflows: {workflow: child, items: "{plan.items}", payload_key: n, result_key: ids, group_key: g}}
  - {id: wait, wait_for_workflow_group: {group: g, MODE result_key: all}}
---
"""
    + CHILD
)


def starts(mode: str = "") -> str:
    return STARTS.replace("MODE", mode)


def test_independent_runs_take_items_state_and_inputs(world: Make) -> None:
    w = world(starts())
    run = w.start("many", items=[1, {"n": 2, "_x": 3, "unknown": 1}], color="red")
    w.finish(w.take("plan"))
    ids = w.status(run).state["ids"]
    assert [w.status(each).inputs for each in ids] == [{"n": 1, "color": "red"}, {"n": 2, "color": "red"}]
    w.work()
    assert w.status(run).state["all"] == {ids[0]: {"n": 1}, ids[1]: {"n": 2}}


def test_either_all_runs_are_dispatched_or_none(world: Make) -> None:
    w = world(starts())
    run = w.start("many", items=[1, "no number"], color="red")
    w.work()
    assert error(w, run) == ("child-inputs", "go")
    assert len(w.kernel.runs()) == 1


def test_a_thousand_children_dispatched_at_once_under_a_limit_of_2(world: Make) -> None:
    w = world(
        starts().replace("workflow: child\ninputs", "workflow: child\nconcurrency: {limit: 2}\ninputs"),
        watch=False,
    )
    run = w.start("many", items=list(range(1000)), color="red")
    order: list[int] = []

    def act(task: Task) -> Success:
        order.append(task.params["n"])
        active = w.kernel.queue(workflow="child")[0].active
        assert len(active) <= 2
        return Success({})

    w.scripts["work"] = act
    w.work()
    assert w.status(run).status == "completed"
    assert len(w.status(run).state["all"]) == 1000
    assert all(abs(at - n) <= 1 for at, n in enumerate(order))
    assert w.kernel.stats().inbox == 0


def test_a_budget_of_started_runs_is_checked_before_any_is_dispatched(world: Make) -> None:
    w = world(starts().replace("2000", "2"))
    run = w.start("many", items=[1, 2, 3], color="red")
    w.work()
    assert error(w, run) == ("budget-exceeded", "go")
    assert len(w.kernel.runs()) == 1


def test_a_deduplicated_run_is_started_once_and_spends_no_budget(world: Make) -> None:
    w = world(
        starts()
        .replace("2000", "1")
        .replace("workflow: child\ninputs", 'workflow: child\nidempotency_key: "c:{inputs.n}"\ninputs')
    )
    old = w.start("child", n=1)
    run = w.start("many", items=[1, 2, 2, 1], color="red")
    w.work()
    ids = w.status(run).state["ids"]
    assert ids[0] == old
    assert len(ids) == len(set(ids)) == 2
    assert w.status(run).status == "completed"


@pytest.mark.parametrize(
    ("mode", "ends", "want"),
    [
        ("", "ok ok ok", "completed"),
        ("", "ok bad ok", "dependency-failed"),
        ("", "ok cancel ok", "dependency-failed"),
        ("mode: any,", "bad cancel ok", "completed"),
        ("mode: any,", "bad cancel bad", "dependency-failed"),
        ("mode: quorum, quorum: 2,", "ok bad ok", "completed"),
        ("mode: quorum, quorum: 2,", "bad cancel ok", "dependency-failed"),
    ],
)
def test_one_of_n_dependencies_failing_or_cancelled(world: Make, mode: str, ends: str, want: str) -> None:
    w = world(starts(mode))
    run = w.start("many", items=[0, 1, 2], color="red")
    w.finish(w.take("plan"))
    ids = w.status(run).state["ids"]
    for child, end in zip(ids, ends.split(), strict=True):
        if end == "cancel":
            w.kernel.cancel(child)
        else:
            w.finish(w.take("act", run=child), Success({}) if end == "ok" else Failed("block-failed", "x", "none"))
    status = w.status(run)
    if want == "completed":
        assert status.status == "completed"
        assert set(status.state["all"]) == {c for c, e in zip(ids, ends.split(), strict=True) if e == "ok"}
    else:
        assert error(w, run) == (want, "wait")


def test_one_of_n_dependencies_superseded(world: Make) -> None:
    w = world(
        starts().replace(
            "workflow: child\ninputs",
            'workflow: child\nconcurrency: {limit: 1, on_busy: latest_waiting, supersession_key: "k"}\ninputs',
        )
    )
    run = w.start("many", items=[0, 1, 2], color="red")
    w.finish(w.take("plan"))
    assert w.status(w.status(run).state["ids"][1]).status == "superseded"
    assert error(w, run) == ("dependency-failed", "wait")


WAITER = """
workflow: waiter
inputs: {ids: array}
steps: [{id: wait, wait_for_workflows: {workflows: "{inputs.ids}", MODE}}]
"""


def test_unknown_runs_and_runs_of_another_account_fail_whatever_the_mode(world: Make) -> None:
    w = world(WAITER.replace("MODE", "mode: any") + "---" + CHILD)
    known, foreign = w.start("child", n=1), w.start("child", n=1, account="other")
    for ids in (["nobody", known], [known, foreign]):
        assert error(w, w.start("waiter", ids=ids)) == ("unknown-run", "wait")
    w.work()
    assert w.status(w.start("waiter", ids=[known])).status == "completed"


def test_a_dependency_already_terminal_counts_at_once_and_merges_its_state(world: Make) -> None:
    w = world(WAITER.replace("MODE", "mode: all") + "---" + CHILD)
    done = w.start("child", n=1)
    w.work()
    run = w.start("waiter", ids=[done])
    assert w.status(run).status == "completed"
    assert w.status(run).state == {"n": 1}
    assert "wait.opened" in w.kinds(run)


def test_a_merge_that_hits_a_name_of_the_scope_fails(world: Make) -> None:
    w = world(
        WAITER.replace("MODE", "mode: all").replace("id: wait", "id: n") + "---" + CHILD,
    )
    done = w.start("child", n=1)
    w.work()
    assert error(w, w.start("waiter", ids=[done])) == ("state-conflict", "n")


def test_empty_lists_of_dependencies(world: Make) -> None:
    w = world(
        WAITER.replace("MODE", "mode: all") + "---" + WAITER.replace("MODE", "mode: any").replace("er\n", "any\n")
    )
    assert w.status(w.start("waiter", ids=[])).status == "completed"
    assert error(w, w.start("waitany", ids=[])) == ("dependency-failed", "wait")


def test_two_branches_that_start_one_group_at_once_conflict(world: Make) -> None:
    w = world(
        """
workflow: groups
steps:
  - id: par
    concurrency:
      branches:
        a:
          steps:
            - {id: s, start_workflows: {workflow: child, items: [1], payload_key: n, result_key: x, group_key: g}}
            - {id: w, wait_for_approval: {}}
        b:
          steps:
            - {id: s, start_workflows: {workflow: child, items: [1], payload_key: n, result_key: x, group_key: g}}
---
"""
        + CHILD
    )
    run = w.start("groups")
    w.work()
    w.kernel.signal(run, "approval")
    assert error(w, run)[0] == "branch-failed"
    assert "group-conflict" in [each.data.get("code") for each in w.kernel.events(run)]


def test_starting_a_group_again_replaces_it(world: Make) -> None:
    w = world(
        """
workflow: groups
steps:
  - {id: one, start_workflows: {workflow: child, items: [1, 2], payload_key: n, result_key: x, group_key: g}}
  - {id: two, start_workflows: {workflow: child, items: [3], payload_key: n, result_key: y, group_key: g}}
  - {id: wait, wait_for_workflow_group: {group: g, result_key: all}}
---
"""
        + CHILD
    )
    run = w.start("groups")
    w.work()
    assert list(w.status(run).state["all"].values()) == [{"n": 3}]


def test_a_claim_for_one_run_takes_its_own_work_and_that_of_what_it_started_or_waits_for(world: Make) -> None:
    w = world(
        """
workflow: top
inputs: {dep: {type: string, required: true}}
steps:
  - {id: go, start_workflows: {items: [1], workflow: mid, payload_key: x, result_key: ids}}
  - id: both
    concurrency:
      branches:
        own: {steps: [{id: a, block: set, params: {}}]}
        dep: {steps: [{id: b, wait_for_workflow: {workflow: "{inputs.dep}", result_key: got}}]}
---
workflow: mid
inputs: {x: {type: any, default: 0}}
steps: [{id: kid, run_workflow: {workflow: leaf, result_key: got}}]
---
workflow: leaf
steps: [{id: c, block: set, params: {}}]
"""
    )
    dep, stranger = w.start("leaf"), w.start("leaf")
    top = w.start("top", dep=dep)
    assert w.kernel.next_ready(top) == w.kernel.next_ready()
    tasks = w.kernel.claim("w", 10, tree=top)
    leaf = w.status(w.status(top).children[0]).children[0]
    assert {task.run for task in tasks} == {top, dep, leaf}
    assert w.kernel.claim("w", 10, tree=top) == []
    assert w.kernel.next_ready(top) is None
    assert [task.run for task in w.kernel.claim("w", 10, blocks=frozenset({"set"}), tree=stranger)] == [stranger]
    assert w.kernel.claim("w", 10, blocks=frozenset({"set"}), tree="nothing") == []
    for task in tasks:
        w.kernel.settle(task, Success({}))
    assert w.status(top).status == "completed"
