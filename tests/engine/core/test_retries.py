"""Retry of a failed run: what it keeps, its leases, where it goes on (section 12)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.engine.errors import CallerError
from interlock.engine.ports import Failed, Success, Task
from interlock.engine.simulate.world import World, failing, giving

Make = Callable[..., World]
BAD = Failed("block-failed", "no", "none")


def test_a_retried_run_goes_on_from_the_failed_step(world: Make) -> None:
    w = world(
        'workflow: w\nsteps: [{id: a, block: set, params: {x: 1}}, {id: b, block: work, params: {n: "{a.x}",'
        ' try: "{run.attempt}"}}, {id: c, block: set, params: {}}]',
        scripts={"work": giving(BAD, Success({}))},
    )
    run = w.start("w")
    w.work()
    assert w.status(run).retryable
    w.kernel.retry(run)
    w.work()
    assert w.status(run).status == "completed"
    assert [(task.path, task.visit) for task in w.log] == [("a", 1), ("b", 1), ("b", 1), ("c", 1)]
    sent = [task.idempotency_key for task in w.log if task.path == "b"]
    assert sent[0] == sent[1]
    assert [task.params["try"] for task in w.log if task.path == "b"] == [1, 2]
    with pytest.raises(CallerError, match="not-retryable"):
        w.kernel.retry(run)
    with pytest.raises(CallerError, match="unknown-run"):
        w.kernel.retry("nobody")


LEASED = """
workflow: w
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - {id: act, block: work, params: {fence: "{claim.fence}"}}
---
workflow: taker
steps: [{id: h, concurrency: {resource: k, steps: [{id: w, block: set, params: {}}]}}]
"""


def test_a_run_retried_whose_lease_someone_else_holds_now(world: Make) -> None:
    w = world(LEASED, scripts={"work": giving(BAD, Success({}))})
    run = w.start("w")
    w.finish(w.take("act"))
    taker = w.start("taker")
    w.kernel.retry(run)
    status = w.status(run)
    assert (status.status, status.tickets[0].holders) == ("waiting_for_resource", (taker,))
    w.work()
    assert w.status(run).status == "completed"
    assert [task.params["fence"] for task in w.log if task.path == "act"] == [1, 3]
    assert w.status(run).state["claim"]["fence"] == 3


def test_a_stop_while_a_retried_run_waits_for_its_leases(world: Make) -> None:
    w = world(LEASED, scripts={"work": failing()})
    run = w.start("w")
    w.finish(w.take("act"))
    w.start("taker")
    w.kernel.retry(run)
    w.kernel.cancel(run)
    assert w.status(run).status == "cancelled"
    assert w.kernel.leases()[0].waiters == ()


def test_completed_branches_and_items_keep_their_results_and_sections_start_whole(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - id: par
    concurrency:
      branches:
        good: {steps: [{id: s, block: work, params: {}}], outputs: {x: 1}}
        half: {steps: [{id: first, block: work, params: {}}, {id: second, block: flaky, params: {}}]}
        section:
          steps:
            - id: hold
              concurrency:
                resource: k
                steps: [{id: one, block: work, params: {}}, {id: two, block: flaky, params: {}}]
  - id: all
    for_each:
      items: [0, 1, 2]
      steps: [{id: a, block: work, params: {}}, {id: b, block: flaky, params: {n: "{item}"}}]
      outputs: {n: "{item}"}
""",
    )
    failed: set[str] = set()

    def flaky(task: Task) -> Success | Failed:
        path = task.path
        if path in failed or path in ("all/0/b", "all/2/b"):
            return Success({})
        failed.add(path)
        return BAD

    w.scripts["flaky"] = flaky
    run = w.start("w")
    w.work()
    assert w.status(run).status == "failed"
    before = len(w.log)
    w.kernel.retry(run)
    w.work()
    retried = sorted(task.path for task in w.log[before:] if task.path.startswith("par"))
    assert retried == ["par/half/second", "par/section/hold/one", "par/section/hold/two"]
    assert {task.visit for task in w.log} == {1}
    assert w.status(run).status == "failed"
    before = len(w.log)
    w.kernel.retry(run)
    w.work()
    assert [task.path for task in w.log[before:]] == ["all/1/b"]
    assert w.status(run).state["all"]["results"] == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_retried_run_joins_the_admission_queue_again(world: Make) -> None:
    w = world(
        "workflow: w\nconcurrency: {limit: 1}\nsteps: [{id: a, block: work, params: {}}]",
        scripts={"work": giving(BAD, Success({}))},
    )
    first, second = w.start("w"), w.start("w")
    w.finish(w.take("a"))
    w.kernel.retry(first)
    assert w.status(first).status == "queued"
    assert w.status(second).status == "running"
    w.work()
    assert w.status(first).status == "completed"


def test_a_retried_parent_starts_a_new_child(world: Make) -> None:
    w = world(
        "workflow: p\nsteps: [{id: kid, run_workflow: {workflow: c, result_key: got}}]\n---\n"
        "workflow: c\nsteps: [{id: a, block: work, params: {}}]",
        scripts={"work": giving(BAD, Success({}))},
    )
    run = w.start("p")
    w.work()
    w.kernel.retry(run)
    w.work()
    assert w.status(run).status == "completed"
    assert [w.status(child).status for child in w.status(run).children] == ["failed", "completed"]


def test_a_compensated_run_is_not_retryable(world: Make) -> None:
    w = world(
        "workflow: w\ncompensate_on_failure: true\nsteps: [{id: a, block: set, params: {},"
        " compensate: {block: undo, params: {}}}, {id: b, block: work, params: {}}]",
        scripts={"work": failing()},
    )
    run = w.start("w")
    w.work()
    assert w.status(run).status == "failed"
    assert not w.status(run).retryable
    with pytest.raises(CallerError, match="compensated"):
        w.kernel.retry(run)
