"""What happens when a step has done its work and its result, its `next` or its output is refused at the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.engine.ports import Failed, Success
from interlock.engine.simulate.world import World, giving

Make = Callable[..., World]

WRONG = "\"{1 / inputs.zero == 1 ? 'end' : 'end'}\""
"""A `next` that no run can evaluate: it divides by an input that is 0."""


def failure(w: World, run: str) -> tuple[str, str, str | None]:
    """Status, error code and path of a run."""
    state = w.status(run)
    assert state.error is not None
    return state.status, state.error.code, state.error.path


STEPS = {
    "a block": "{id: s, block: work, params: {}, next: WRONG}",
    "a claim": "{id: s, concurrency: {resource: k, lifetime: run}, next: WRONG}",
    "a section": "{id: s, concurrency: {resource: k, steps: [{id: inner, block: work, params: {}}]}, next: WRONG}",
    "a child": "{id: s, run_workflow: {workflow: child, result_key: out}, next: WRONG}",
    "a merged child": "{id: s, run_workflow: {workflow: child}, next: WRONG}",
    "branches": "{id: s, concurrency: {branches: {a: {steps: [{id: x, block: work, params: {}}]}}}, next: WRONG}",
    "items": "{id: s, for_each: {items: [1], as: it, steps: [{id: x, block: work, params: {}}]}, next: WRONG}",
    "a delay": "{id: s, delay: 1s, next: WRONG}",
    "a started group": "{id: s, start_workflows: {workflow: child, items: [{}], group_key: g}, next: WRONG}",
}


@pytest.mark.parametrize("kind", STEPS)
def test_a_next_that_cannot_be_evaluated_fails_its_step(world: Make, kind: str) -> None:
    w = world(
        "workflow: w\ninputs: {zero: integer}\nsteps:\n  - "
        + STEPS[kind].replace("WRONG", WRONG)
        + "\n  - {id: after, block: after, params: {}}\n---\nworkflow: child\n"
        "steps: [{id: c, block: work, params: {}}]\noutputs: {n: 1}\n"
    )
    run = w.start("w", zero=0)
    w.work()
    w.advance(2)
    w.work()
    assert failure(w, run) == ("failed", "expression", "s")
    assert "step.completed" not in [each.kind for each in w.kernel.events(run) if each.path == "s"]
    assert [task.block for task in w.log if task.run == run and task.block == "after"] == []
    assert [each for lease in w.kernel.leases() for each in lease.holders] == []
    assert w.kernel.stats().tasks == 0


def test_a_signal_whose_next_cannot_be_evaluated_fails_its_step(world: Make) -> None:
    w = world(
        f"workflow: w\ninputs: {{zero: integer}}\nsteps: [{{id: s, wait_for_signal: {{name: go}}, next: {WRONG}}}]"
    )
    run = w.start("w", zero=0)
    w.kernel.signal(run, "go")
    assert failure(w, run) == ("failed", "expression", "s")


@pytest.mark.parametrize("group", [", group_key: g", ", result_key: ids"])
def test_runs_whose_starting_step_is_refused_were_never_started(world: Make, group: str) -> None:
    w = world(
        f"""
workflow: w
inputs: {{zero: integer}}
budget: {{max_started_workflows: 2}}
steps:
  - {{id: s, start_workflows: {{workflow: child, items: [{{}}, {{}}]{group}}}, next: {WRONG}}}
---
workflow: child
steps: [{{id: c, block: work, params: {{}}}}]
"""
    )
    run = w.start("w", zero=0)
    assert failure(w, run) == ("failed", "expression", "s")
    assert [row.workflow for row in w.kernel.runs()] == ["w"]
    assert w.kinds(run, "child.") == w.kinds(run, "group.") == []
    # Nothing of the budget is used: once more, and it fails for the same reason, not for the budget.
    w.kernel.retry(run)
    assert failure(w, run) == ("failed", "expression", "s")


HANDLER = """
workflow: w
inputs: {zero: integer}
steps: [{id: ask, wait_for_approval: {}}]
on_cancel:
  - {id: one, block: one, params: {}, next: WRONG}
  - {id: two, block: two, params: {}}
"""


@pytest.mark.parametrize(("wanted", "code"), [(WRONG, "expression"), ("\"{['nowhere'][inputs.zero]}\"", "bad-next")])
def test_a_handler_goes_on_behind_a_step_whose_next_cannot_be_had(world: Make, wanted: str, code: str) -> None:
    w = world(HANDLER.replace("WRONG", wanted))
    run = w.start("w", zero=0)
    w.kernel.cancel(run)
    w.work()
    assert w.kinds(run, "handler.") == [
        "handler.started",
        "handler.completed",
        "handler.failed",
        "handler.started",
        "handler.completed",
    ]
    failed = next(each for each in w.kernel.events(run) if each.kind == "handler.failed")
    assert (failed.path, failed.data["code"]) == ("@on_cancel/one", code)
    assert [task.block for task in w.log] == ["one", "two"]
    assert w.status(run).status == "cancelled"


def test_a_lease_that_is_not_granted_may_fail_its_step_at_the_end_too(world: Make) -> None:
    w = world(
        f"""
workflow: holder
steps: [{{id: s, concurrency: {{resource: k, steps: [{{id: ask, wait_for_approval: {{}}}}]}}}}]
---
workflow: w
inputs: {{zero: integer}}
steps:
  - id: s
    concurrency: {{resource: k, on_busy: skip, steps: [{{id: inner, block: work, params: {{}}}}]}}
    next: {WRONG}
"""
    )
    holder = w.start("holder")
    run = w.start("w", zero=0)
    assert failure(w, run) == ("failed", "expression", "s")
    assert w.kinds(run, "lease.") == ["lease.skipped"]
    w.kernel.signal(holder, "approval")
    assert w.status(holder).status == "completed"


PROTECTED = f"""
workflow: w
inputs: {{zero: integer, write: boolean}}
steps:
  - id: s
    concurrency:
      resource: k
      protected: true
      steps: [{{id: act, block: write, params: {{}}, when: "{{inputs.write}}"}}]
    next: {WRONG}
"""


def test_a_protected_section_that_has_written_is_reviewed_where_its_next_cannot_be_evaluated(world: Make) -> None:
    w = world(PROTECTED)
    run = w.start("w", zero=0, write=True)
    w.work()
    assert w.status(run).status == "held_for_review"
    review = w.status(run).reviews[0]
    assert review.path == "s"
    assert [(lease.key, len(lease.holders)) for lease in w.kernel.leases()] == [("k", 1)]
    w.kernel.review(run, "abandon")
    assert w.status(run).status == "failed"
    assert [each for lease in w.kernel.leases() for each in lease.holders] == []


def test_a_protected_section_that_has_not_written_just_fails(world: Make) -> None:
    w = world(PROTECTED)
    run = w.start("w", zero=0, write=False)
    w.work()
    assert failure(w, run) == ("failed", "expression", "s")
    assert [each for lease in w.kernel.leases() for each in lease.holders] == []


LARGE = "x" * (1024 * 1024 + 1)


def test_a_result_that_is_too_large_fails_its_block(world: Make) -> None:
    w = world(
        "workflow: w\nsteps: [{id: s, block: work, params: {}}]",
        scripts={"s": giving(Success({"text": LARGE}), Success({"text": "small"}))},
    )
    run = w.start("w")
    w.work()
    assert failure(w, run) == ("failed", "result-too-large", "s")
    w.kernel.retry(run)
    w.work()
    assert w.status(run).status == "completed"


@pytest.mark.parametrize(
    ("outer", "code"),
    [
        ("{id: s, concurrency: {branches: {a: {steps: [INNER], outputs: OUT}}}}", "branch-failed"),
        ("{id: s, concurrency: {resource: k, steps: [INNER], outputs: OUT}}", ""),
        ("{id: s, for_each: {items: [1], as: it, steps: [INNER], outputs: OUT}}", "item-failed"),
    ],
)
@pytest.mark.parametrize(
    ("out", "own", "said"),
    [
        ("{n: '{1 / inputs.zero}'}", "expression", "divide by zero"),
        # Small in itself, but it holds the large text twice.
        ("{a: '{inner.text}', b: '{inner.text}'}", "result-too-large", "at most 1 MiB is stored"),
    ],
)
def test_an_output_that_is_refused_fails_its_list(
    world: Make, outer: str, code: str, out: str, own: str, said: str
) -> None:
    text = outer.replace("INNER", "{id: inner, block: work, params: {}}").replace("OUT", out)
    w = world(
        f"workflow: w\ninputs: {{zero: integer}}\nsteps: [{text}]",
        scripts={"work": giving(Success({"text": "x" * 600_000}))},
    )
    run = w.start("w", zero=0)
    w.work()
    state = w.status(run)
    assert state.status == "failed"
    assert [each for lease in w.kernel.leases() for each in lease.holders] == []
    assert state.error is not None
    assert said in state.error.message
    assert (state.error.code, state.error.path) == (code or own, "s")


MERGED = """
workflow: w
budget: {max_state_bytes: 400}
steps:
  - {id: first, block: set, params: {v: 1}}
  - {id: call, run_workflow: {workflow: child}}
---
workflow: child
steps: [{id: c, block: work, params: {}}]
outputs: {small: 1, text: "{c.text}"}
"""


def test_of_merged_names_none_stays_where_one_is_refused(world: Make) -> None:
    w = world(MERGED, scripts={"work": giving(Success({"text": "x" * 500}))})
    run = w.start("w")
    w.work()
    assert failure(w, run) == ("failed", "budget-exceeded", "call")
    # The name that came first was taken back with the one that was too much, and so were their bytes and the step.
    used = w.status(run).budget.used
    assert used["max_state_bytes"] == len('{"first":{"v":1}}')
    assert used["max_transitions"] == 1


def test_a_merged_name_that_is_taken_fails_the_step_of_the_child(world: Make) -> None:
    w = world(
        """
workflow: w
inputs: {which: {type: object}}
steps:
  - {id: call, run_workflow: {workflow: child, inputs: {which: "{inputs.which}"}}}
  - {id: later, block: work, params: {}}
---
workflow: child
inputs: {which: {type: object}}
steps: [{id: c, block: set, params: {v: 1}}]
outputs: {later: 1}
"""
    )
    run = w.start("w", which={})
    w.work()
    assert failure(w, run) == ("failed", "state-conflict", "call")


def test_a_compensation_that_cannot_be_rendered_fails_the_step_that_would_be_undone(world: Make) -> None:
    w = world(
        """
workflow: w
inputs: {zero: integer}
steps:
  - id: s
    block: work
    params: {}
    compensate: {block: undo, params: {n: "{1 / inputs.zero}"}}
""",
        scripts={"s": giving(Success({}))},
    )
    run = w.start("w", zero=0)
    w.work()
    assert failure(w, run) == ("failed", "expression", "s")
    assert [task.block for task in w.log] == ["work"]


def test_a_next_sees_the_result_under_its_own_name_and_under_the_result_key(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - id: call
    run_workflow: {workflow: child, result_key: got}
    next: "{got.n == 7 && state.got.n == 7 ? 'yes' : 'no'}"
  - {id: no, block: no, params: {}, next: end}
  - {id: yes, block: yes, params: {}}
---
workflow: child
steps: [{id: c, block: set, params: {v: 7}}]
outputs: {n: "{c.v}"}
""",
        scripts={"no": giving(Failed("block-failed", "no", "none"))},
    )
    run = w.start("w")
    w.work()
    assert w.status(run).status == "completed"
    assert [task.path for task in w.log if task.run == run] == ["yes"]
