"""Protected writes: intent, review, evidence, settlement (section 6.4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.engine.errors import CallerError
from interlock.engine.ports import Failed, Success
from interlock.engine.simulate.world import World, failing

Make = Callable[..., World]

PUBLISH = """
workflow: publish
steps:
  - id: prepare
    block: set
    params: {}
  - id: pub
    concurrency:
      resource: "site"
      protected: true
      steps:
        - {id: look, block: work, params: {}}
        - {id: act, block: write, params: {fence: "{lease.fence}"}}
        - {id: note, block: work, params: {}}
      outputs: {id: "{act.id}"}
  - {id: tell, block: set, params: {id: "{pub.output.id}"}}
"""


def ready(w: World) -> tuple[str, str]:
    """A run in its protected section before the write, and one that waits for the key."""
    run = w.start("publish")
    w.finish(w.take("prepare"))
    waiter = w.start("publish")
    w.finish(w.take("prepare"))
    return run, waiter


def in_review(w: World) -> tuple[str, str]:
    run, waiter = ready(w)
    w.finish(w.take("pub/look"))
    w.finish(w.take("pub/act"), Failed("effect-unknown", "connection lost", "unknown"))
    assert w.status(run).status == "held_for_review"
    return run, waiter


def test_a_write_whose_effect_is_unknown_is_held_for_review(world: Make) -> None:
    w = world(PUBLISH)
    run, waiter = in_review(w)
    status = w.status(run)
    assert status.reviews[0].path == "pub"
    assert status.reviews[0].reason.code == "effect-unknown"
    assert status.holds[0].review
    w.advance(86400 * 400)
    w.work()
    assert w.status(run).status == "held_for_review"
    ticket = w.status(waiter).tickets[0]
    assert (ticket.holders, ticket.held_for_review) == ((run,), True)
    assert "lease.blocked_by_review" in w.kinds(waiter)


def test_committed_goes_on_as_if_the_section_had_returned(world: Make) -> None:
    w = world(PUBLISH)
    run, waiter = in_review(w)
    w.kernel.review(run, "committed", result={"id": 7}, by="ann")
    w.finish(w.take("tell"))
    assert w.status(run).status == "completed"
    assert w.status(run).state["pub"] == {"acquired": True, "output": {"id": 7}, "fence": 1}
    assert w.status(run).state["tell"] == {"id": 7}
    assert w.status(waiter).holds[0].fence == 2


def test_not_committed_runs_the_section_again_under_the_same_lease(world: Make) -> None:
    w = world(PUBLISH, scripts={"write": lambda task: Success({"id": task.idempotency_key})})
    run, _ = in_review(w)
    sent = [task.idempotency_key for task in w.log if task.path == "pub/act"]
    w.kernel.review(run, "not-committed")
    assert w.status(run).status == "running"
    assert w.status(run).holds[0].fence == 1
    w.finish(w.take("pub/look"))
    task = w.take("pub/act")
    assert task.idempotency_key == sent[0]
    w.finish(task)
    w.work()
    assert w.status(run).state["tell"] == {"id": sent[0]}


def test_what_a_worker_believed_dead_still_writes_has_an_older_fence_than_what_follows_its_review(world: Make) -> None:
    w = world(PUBLISH)
    run, _ = ready(w)
    w.finish(w.take("pub/look"))
    asleep = w.take("pub/act", "mortal")
    w.die("mortal")
    assert w.status(run).status == "held_for_review"
    assert w.status(run).reviews[0].fence == 2
    w.kernel.review(run, "not-committed")
    w.finish(w.take("pub/look"))
    task = w.take("pub/act")
    assert (asleep.params, task.params) == ({"fence": 1}, {"fence": 2})
    assert task.idempotency_key == asleep.idempotency_key
    w.finish(task, Success({"id": 7}))
    w.work()
    assert w.status(run).state["pub"] == {"acquired": True, "output": {"id": 7}, "fence": 2}


def test_abandon_fails_the_run_and_releases_the_lease(world: Make) -> None:
    w = world(PUBLISH)
    run, waiter = in_review(w)
    w.kernel.review(run, "abandon", by="ann")
    error = w.status(run).error
    assert error is not None
    assert (error.code, error.path) == ("abandoned", "pub")
    assert w.status(waiter).holds[0].fence == 2


def test_a_write_that_was_refused_opens_no_review(world: Make) -> None:
    """Nothing was done: the section fails like any other."""
    w = world(PUBLISH)
    run, waiter = ready(w)
    w.finish(w.take("pub/look"))
    w.finish(w.take("pub/act"), Failed("block-failed", "422", "none"))
    error = w.status(run).error
    assert error is not None
    assert (error.code, error.path) == ("block-failed", "pub/act")
    assert w.status(waiter).holds[0].key == "site"


def test_a_later_failure_and_a_failing_output_open_a_review(world: Make) -> None:
    w = world(PUBLISH)
    run, _ = ready(w)
    w.finish(w.take("pub/look"))
    w.finish(w.take("pub/act"), Success({"id": 1}))
    w.finish(w.take("pub/note"), Failed("block-failed", "no", "none"))
    assert w.status(run).reviews[0].reason.path == "pub/note"
    w.kernel.review(run, "committed", result={"id": 1})
    w.finish(w.take("tell"))
    other = w.kernel.runs()[0].run
    w.finish(w.take("pub/look"))
    w.finish(w.take("pub/act"), Success({"no": "id"}))
    w.finish(w.take("pub/note"))
    assert w.status(other).status == "held_for_review"
    assert w.status(other).reviews[0].reason.code == "expression"


def test_a_crash_with_nothing_in_flight_just_goes_on(world: Make) -> None:
    w = world(PUBLISH, scripts={"write": lambda task: Success({"id": 1})})
    run, _ = ready(w)
    w.finish(w.take("pub/look", "mortal"))
    w.restart()
    w.die("mortal")
    w.work("other")
    assert w.status(run).status == "completed"
    assert "review.opened" not in w.kinds(run)


def test_kill_of_the_worker_during_the_write_opens_a_review(world: Make) -> None:
    w = world(PUBLISH)
    run, _ = ready(w)
    w.finish(w.take("pub/look"))
    w.take("pub/act", "mortal")
    w.die("mortal")
    assert w.status(run).status == "held_for_review"
    assert w.status(run).reviews[0].reason.code == "effect-unknown"
    w.work("other")
    assert w.status(run).status == "held_for_review"


def test_a_sleeping_worker_that_wakes_late_leaves_evidence_on_the_review(world: Make) -> None:
    w = world(PUBLISH)
    run, _ = ready(w)
    w.finish(w.take("pub/look"))
    task = w.take("pub/act", "sleeper")
    w.die("sleeper")
    settled = w.kernel.settle(task, Success({"id": 9}))
    assert (settled.accepted, settled.late, settled.evidence) == (False, True, True)
    review = w.status(run).reviews[0]
    assert review.evidence[0]["result"] == {"id": 9}
    w.kernel.review(run, "committed", result={"id": 9})
    w.work()
    assert w.status(run).status == "completed"


def test_sibling_branches_go_on_beside_a_review(world: Make) -> None:
    w = world(
        """
workflow: two
steps:
  - id: par
    concurrency:
      branches:
        a:
          steps:
            - id: pub
              concurrency: {resource: k, protected: true, steps: [{id: act, block: write, params: {}}]}
        b: {steps: [{id: one, block: work, params: {}}, {id: two, block: work, params: {}}]}
""",
        scripts={"write": failing("timeout", "unknown")},
    )
    run = w.start("two")
    w.work()
    status = w.status(run)
    assert status.status == "held_for_review"
    assert [each.path for each in status.positions] == ["par/a/pub"]
    w.kernel.review(run, "committed", result={})
    assert w.status(run).status == "completed"


def test_what_is_not_in_review_cannot_be_settled(world: Make) -> None:
    w = world(PUBLISH)
    run, _ = ready(w)
    with pytest.raises(CallerError, match="not-in-review"):
        w.kernel.review(run, "committed")
    with pytest.raises(CallerError, match="unknown-run"):
        w.kernel.review("nobody", "committed")
    w.finish(w.take("pub/look"))
    w.finish(w.take("pub/act"), Failed("timeout", "late", "unknown"))
    with pytest.raises(CallerError, match="not-in-review"):
        w.kernel.review(run, "committed", path="elsewhere")
    with pytest.raises(CallerError, match="bad-payload"):
        w.kernel.review(run, "perhaps")  # type: ignore[arg-type]
    for result in (None, [1], {"other": 1}):
        with pytest.raises(CallerError, match="bad-payload"):
            w.kernel.review(run, "committed", result=result)
    with pytest.raises(CallerError, match="bad-payload"):
        w.kernel.review(run, "committed", result={"id": "x" * 1_100_000})
    assert w.status(run).status == "held_for_review"


def test_transitions_are_reserved_at_the_intent(world: Make) -> None:
    """A sibling cannot take what the write needs to finish; a section that does not fit never begins."""
    text = """
workflow: tight
budget: {max_transitions: 5}
steps:
  - id: par
    concurrency:
      branches:
        a:
          steps:
            - id: pub
              concurrency:
                resource: k
                protected: true
                steps: [{id: act, block: write, params: {}}, {id: rest, block: set, params: {}}]
        b: {steps: [{id: s1, block: work, params: {}}, {id: s2, block: work, params: {}}]}
  - {id: last, block: set, params: {}}
"""
    w = world(text)
    run = w.start("tight")
    w.finish(w.take("par/b/s1"))
    act = w.take("par/a/pub/act")
    w.finish(w.take("par/b/s2"))
    assert w.status(run).stop is None
    w.finish(act)
    w.work()
    error = w.status(run).error
    assert error is not None
    assert error.code == "budget-exceeded"
    assert w.status(run).budget.used["max_transitions"] == 5
    assert "review.opened" not in w.kinds(run)
    early = world(text.replace("max_transitions: 5", "max_transitions: 2"))
    run = early.start("tight")
    early.work()
    assert early.status(run).error is not None
    assert "write" not in [task.block for task in early.log if task.run == run]


def test_a_budget_passed_after_the_intent_opens_a_review(world: Make) -> None:
    w = world(
        """
workflow: looping
budget: {max_transitions: 4}
steps:
  - id: pub
    concurrency:
      resource: k
      protected: true
      steps:
        - {id: act, block: write, params: {}}
        - {id: poll, block: work, params: {}, next: "{poll.more ? 'poll' : 'end'}"}
""",
        scripts={"work": lambda task: Success({"more": True})},
    )
    run = w.start("looping")
    w.work()
    status = w.status(run)
    assert status.status == "held_for_review"
    assert status.reviews[0].reason.code == "budget-exceeded"
    assert status.budget.used["max_transitions"] == 4


def test_the_fence_of_a_protected_write_reaches_its_task(world: Make) -> None:
    w = world(PUBLISH)
    ready(w)
    w.finish(w.take("pub/look"))
    task = w.take("pub/act")
    assert (task.fence, task.protected, task.params) == (1, True, {"fence": 1})
