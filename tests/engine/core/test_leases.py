"""Leases: one holder at a time, in order, durable, with fences that never repeat (section 6.3)."""

from __future__ import annotations

from collections.abc import Callable

from interlock.engine.ports import Failed, Success
from interlock.engine.simulate.world import World, failing, giving

Make = Callable[..., World]

SECTION = """
workflow: edit
inputs: {key: {type: string, default: a}}
steps:
  - id: hold
    concurrency:
      resource: "image:{inputs.key}"
      steps: [{id: act, block: work, params: {fence: "{lease.fence}", key: "{lease.key}"}}]
      outputs: {seen: "{act.params.fence}"}
  - {id: after, block: set, params: {fence: "{hold.fence}"}}
"""


def lease(w: World, key: str = "image:a") -> tuple[list[str], list[str]]:
    for each in w.kernel.leases():
        if each.key == key:
            return [holder.run for holder in each.holders], [waiter.run for waiter in each.waiters]
    return [], []


def test_one_run_holds_a_key_and_the_others_wait_in_order(world: Make) -> None:
    w = world(SECTION)
    runs = [w.start("edit") for _ in range(4)]
    assert lease(w) == ([runs[0]], runs[1:])
    assert w.status(runs[1]).status == "waiting_for_resource"
    assert [w.status(run).tickets[0].position for run in runs[1:]] == [1, 2, 3]
    for at, run in enumerate(runs):
        assert lease(w)[0] == [run]
        w.finish(w.take("hold/act"))
        assert lease(w)[1] == runs[at + 2 :]
    w.work()
    assert [w.status(run).state["hold"]["fence"] for run in runs] == [1, 2, 3, 4]
    assert [w.status(run).state["hold"]["output"]["seen"] for run in runs] == [1, 2, 3, 4]


def test_counting_holders_never_positions(world: Make) -> None:
    """Two holders under limit 2: whichever ends first lets the next one in, and only one."""
    w = world(SECTION.replace('resource: "image:{inputs.key}"', 'resource: "image:{inputs.key}"\n      limit: 2'))
    runs = [w.start("edit") for _ in range(5)]
    assert lease(w) == (runs[:2], runs[2:])
    w.finish(w.take("hold/act", run=runs[1]))
    assert lease(w) == ([runs[0], runs[2]], runs[3:])
    w.kernel.cancel(runs[3])
    assert lease(w) == ([runs[0], runs[2]], runs[4:])
    w.finish(w.take("hold/act", run=runs[0]))
    assert lease(w) == ([runs[2], runs[4]], [])
    w.work()
    assert lease(w) == ([], [])


def test_a_composite_holding_a_lease_survives_a_restart(world: Make) -> None:
    w = world(
        """
workflow: big
steps:
  - id: hold
    concurrency:
      resource: k
      steps:
        - id: par
          concurrency:
            branches:
              left: {steps: [{id: ask, wait_for_approval: {}}, {id: act, block: work, params: {}}]}
              right: {steps: [{id: pause, delay: 1h}]}
"""
    )
    first, second = w.start("big"), w.start("big")
    before = w.status(first)
    w.restart()
    assert w.status(first) == before
    assert lease(w, "k") == ([first], [second])
    w.kernel.signal(first, "approval", {"by": "ann"})
    w.restart()
    w.work()
    assert lease(w, "k") == ([first], [second])
    w.advance(3600)
    assert w.status(first).status == "completed"
    assert lease(w, "k") == ([second], [])


def test_skip_does_nothing_and_fail_fails(world: Make) -> None:
    w = world(
        """
workflow: holder
steps: [{id: c, concurrency: {resource: k, lifetime: run}}, {id: w, block: work, params: {}}]
---
workflow: skipper
steps:
  - {id: c, concurrency: {resource: k, lifetime: run, on_busy: skip}}
  - {id: done, when: "{c.acquired}", block: set, params: {}}
---
workflow: failer
steps: [{id: c, concurrency: {resource: k, lifetime: run, on_busy: fail}}]
"""
    )
    holder = w.start("holder")
    skipper, failer = w.start("skipper"), w.start("failer")
    assert w.status(skipper).status == "completed"
    assert w.status(skipper).state == {"c": {"acquired": False, "output": None, "fence": None}, "done": {}}
    error = w.status(failer).error
    assert error is not None
    assert (error.code, error.path) == ("resource-busy", "c")
    assert holder in error.message
    assert lease(w, "k") == ([holder], [])
    w.work()
    assert w.status(holder).state["c"] == {"acquired": True, "output": {}, "fence": 1}


def test_two_of_four_acquisitions_are_done_when_the_run_fails(world: Make) -> None:
    w = world(
        """
workflow: four
steps:
  - {id: a, concurrency: {resource: a, lifetime: run}}
  - {id: b, concurrency: {resource: b, lifetime: run}}
  - {id: bad, block: work, params: {}}
  - {id: c, concurrency: {resource: c, lifetime: run}}
  - {id: d, concurrency: {resource: d, lifetime: run}}
---
workflow: other
steps: [{id: b, concurrency: {resource: b, steps: [{id: w, block: set, params: {}}]}}]
""",
        scripts={"work": failing()},
    )
    run = w.start("four")
    waiter = w.start("other")
    assert {each.key for each in w.status(run).holds} == {"a", "b"}
    w.finish(w.take("bad"))
    assert w.status(run).status == "failed"
    assert w.status(run).holds == ()
    assert lease(w, "b") == ([waiter], [])
    assert [each.key for each in w.kernel.leases()] == ["b"]


def test_a_lease_is_held_across_retry_back_off_and_across_an_approval(world: Make) -> None:
    w = world(
        """
workflow: slow
steps:
  - id: hold
    concurrency:
      resource: k
      steps:
        - {id: act, block: work, params: {}, retry: {max_attempts: 2, delay: 10m}}
        - {id: ask, wait_for_approval: {}}
""",
        scripts={"work": giving(Failed("block-failed", "no", "none"), Success({}))},
    )
    run, other = w.start("slow"), w.start("slow")
    w.work()
    assert w.status(run).positions[0].attempt == 2
    w.advance(599)
    w.work()
    assert lease(w, "k") == ([run], [other])
    w.advance(2)
    w.work()
    assert w.status(run).status == "waiting_for_signal"
    w.advance(86400 * 30)
    assert lease(w, "k") == ([run], [other])
    w.kernel.signal(run, "approval")
    assert w.status(run).status == "completed"
    assert lease(w, "k") == ([other], [])


def test_two_branches_queue_one_key_behind_a_stranger(world: Make) -> None:
    """Both tickets of the run are served by one grant, and the lease ends with the last hold."""
    w = world(
        """
workflow: stranger
steps: [{id: h, concurrency: {resource: k, steps: [{id: w, block: work, params: {}}]}}]
---
workflow: two
steps:
  - id: par
    concurrency:
      branches:
        x: {steps: [{id: h, concurrency: {resource: k, steps: [{id: w, block: work, params: {}}]}}]}
        y: {steps: [{id: h, concurrency: {resource: k, steps: [{id: w, block: work, params: {}}]}}]}
"""
    )
    stranger, two, last = w.start("stranger"), w.start("two"), w.start("stranger")
    assert lease(w, "k") == ([stranger], [two, two, last])
    w.finish(w.take("h/w"))
    assert lease(w, "k") == ([two], [last])
    assert {each.path for each in w.status(two).positions} == {"par/x/h/w", "par/y/h/w"}
    w.finish(w.take("par/x/h/w"))
    assert lease(w, "k") == ([two], [last])
    w.finish(w.take("par/y/h/w"))
    assert w.status(two).status == "completed"
    assert lease(w, "k") == ([last], [])


def test_re_entry_returns_at_once_and_with_another_limit_is_refused(world: Make) -> None:
    w = world(
        """
workflow: again
inputs: {limit: integer}
steps:
  - {id: first, concurrency: {resource: k, lifetime: run}}
  - {id: same, concurrency: {resource: k, steps: [{id: w, block: set, params: {f: "{lease.fence}"}}]}}
  - {id: other, when: "{inputs.limit == 2}", concurrency: {resource: "{'k'}", limit: 2, lifetime: run}}
"""
    )
    good = w.start("again", limit=1)
    w.work()
    assert w.status(good).status == "completed"
    assert w.status(good).state["same"]["fence"] == w.status(good).state["first"]["fence"] == 1
    assert w.kinds(good, "lease.") == ["lease.granted", "lease.reentered", "lease.released"]
    bad = w.start("again", limit=2)
    w.work()
    error = w.status(bad).error
    assert error is not None
    assert (error.code, error.path) == ("limit-conflict", "other")
    assert lease(w, "k") == ([], [])


def test_the_longer_lifetime_wins(world: Make) -> None:
    w = world(
        """
workflow: longer
steps:
  - id: hold
    concurrency:
      resource: k
      steps:
        - {id: keep, concurrency: {resource: "{lease.key}", lifetime: run, on_busy: skip}}
  - {id: wait, wait_for_signal: {name: go}}
"""
    )
    run = w.start("longer")
    assert lease(w, "k")[0] == [run]
    assert w.status(run).holds[0].lifetime == "run"
    w.kernel.signal(run, "go")
    assert w.status(run).status == "completed"
    assert lease(w, "k")[0] == []


def test_a_run_lifetime_lease_taken_in_a_failed_branch_lives_as_long_as_the_run(world: Make) -> None:
    w = world(
        """
workflow: branchy
steps:
  - id: par
    concurrency:
      on_error: collect
      branches:
        bad:
          steps:
            - {id: claim, concurrency: {resource: k, lifetime: run}}
            - {id: boom, block: fail, params: {message: no}}
        good: {steps: [{id: ok, block: set, params: {}}]}
  - {id: ask, wait_for_approval: {}}
"""
    )
    run = w.start("branchy")
    w.work()
    assert w.status(run).state["par"]["branches"]["bad"]["error"] == {"code": "failed", "message": "no"}
    assert lease(w, "k")[0] == [run]
    w.kernel.signal(run, "approval")
    assert lease(w, "k")[0] == []


def test_a_claim_in_a_loop_keeps_its_lease_and_fence(world: Make) -> None:
    w = world(
        """
workflow: looped
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - {id: count, block: count, params: {}, next: "{count.n < 3 ? 'claim' : 'end'}"}
""",
        scripts={"count": lambda task: Success({"n": task.visit})},
    )
    run = w.start("looped")
    w.work()
    assert w.status(run).status == "completed"
    assert w.status(run).state["claim"]["fence"] == 1
    assert w.kinds(run, "lease.") == ["lease.granted", "lease.reentered", "lease.reentered", "lease.released"]


def test_a_wait_for_a_lease_times_out_and_leaves_no_ticket(world: Make) -> None:
    w = world(SECTION.replace("- id: hold\n", "- id: hold\n    timeout: 1m\n"))
    first, second, third = (w.start("edit") for _ in range(3))
    w.advance(61)
    error = w.status(second).error
    assert error is not None
    assert error.code == "timeout"
    assert lease(w) == ([first], [])
    assert w.status(third).status == "failed"
    w.work()
    assert w.status(first).status == "completed"


def test_a_branch_and_its_status_show_what_is_waited_for(world: Make) -> None:
    w = world(SECTION)
    first, second = w.start("edit"), w.start("edit")
    ticket = w.status(second).tickets[0]
    assert (ticket.key, ticket.path, ticket.holders) == ("image:a", "hold", (first,))
    assert w.status(second).positions[0].waits_on == 'the key "image:a"'


def test_fences_never_repeat_over_prune_and_restart(world: Make) -> None:
    w = world(SECTION)
    seen = []
    for _ in range(5):
        run = w.start("edit")
        w.work()
        seen.append(w.status(run).state["hold"]["fence"])
        w.kernel.prune(w.clock.now() + 1)
        w.restart()
    assert seen == [1, 2, 3, 4, 5]
