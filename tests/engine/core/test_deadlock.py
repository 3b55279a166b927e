"""Run-time deadlock: the wait that closes the circle fails and names the runs (section 6.3)."""

from __future__ import annotations

from collections.abc import Callable

from interlock.engine.ports import Settlement, Success
from interlock.engine.simulate.world import World

Make = Callable[..., World]


def claims(name: str, *keys: str, limit: int = 1) -> str:
    """Takes the first key, waits for a signal, then takes the others."""
    first, *rest = keys
    later = "".join(
        f"  - {{id: c{at}, concurrency: {{resource: {key}, lifetime: run, limit: {limit}}}}}\n"
        for at, key in enumerate(rest)
    )
    return f"""
workflow: {name}
steps:
  - {{id: first, concurrency: {{resource: {first}, lifetime: run, limit: {limit}}}}}
  - {{id: wait, wait_for_signal: {{name: go}}}}
{later}"""


def deadlock(w: World, run: str, *others: str) -> str:
    error = w.status(run).error
    assert error is not None, w.status(run).status
    assert error.code == "deadlock"
    for other in others:
        assert f'"{other}"' in error.message
    assert error.path is not None
    return error.path


def go(w: World, *runs: str) -> None:
    for run in runs:
        w.kernel.signal(run, "go")


def test_two_runs_that_take_two_keys_in_opposite_order(world: Make) -> None:
    w = world(claims("ab", "a", "b") + "---" + claims("ba", "b", "a"))
    one, two = w.start("ab"), w.start("ba")
    go(w, one)
    assert w.status(one).status == "waiting_for_resource"
    go(w, two)
    assert deadlock(w, two, one) == "c0"
    assert w.status(one).status == "completed"


def test_three_runs_in_a_circle(world: Make) -> None:
    w = world("---".join([claims("ab", "a", "b"), claims("bc", "b", "c"), claims("ca", "c", "a")]))
    one, two, three = w.start("ab"), w.start("bc"), w.start("ca")
    go(w, one, two)
    assert w.status(two).status == "waiting_for_resource"
    go(w, three)
    deadlock(w, three, one, two)
    assert {w.status(run).status for run in (one, two)} == {"completed"}


def test_a_limit_above_one_is_an_alternative_until_it_goes_away(world: Make) -> None:
    w = world(
        "---".join([claims("ab", "a", "b"), claims("ba", "b", "a", limit=1)]).replace(
            "resource: b, lifetime: run, limit: 1", "resource: b, lifetime: run, limit: 2"
        )
        + "---"
        + claims("spare", "b").replace("limit: 1", "limit: 2")
    )
    spare = w.start("spare")
    two, one = w.start("ba"), w.start("ab")
    go(w, one, two)
    assert w.status(one).status == "waiting_for_resource"
    assert w.status(two).status == "waiting_for_resource"
    go(w, spare)
    assert w.status(one).status == "completed"
    assert w.status(two).status == "completed"


def test_a_slot_and_a_key(world: Make) -> None:
    """The child waits for the slot of its own parent's workflow."""
    w = world(
        """
workflow: outer
concurrency: {limit: 1}
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - {id: wait, wait_for_signal: {name: go}}
  - {id: kid, run_workflow: {workflow: other, inputs: {}, result_key: x}}
---
workflow: other
steps:
  - {id: mine, concurrency: {resource: k, lifetime: run}}
"""
    )
    run = w.start("outer")
    go(w, run)
    error = w.status(run).error
    assert error is not None
    child = w.status(w.status(run).children[0])
    codes = {error.code, child.error.code if child.error is not None else ""}
    assert "deadlock" in codes
    assert w.kernel.leases() == []
    assert w.kernel.queue()[0].active == ()


def test_a_run_that_starts_its_own_workflow_under_limit_1(world: Make) -> None:
    w = world(
        """
workflow: self
concurrency: {limit: 1}
inputs: {deep: {type: boolean, default: true}}
steps:
  - {id: kid, when: "{inputs.deep}", run_workflow: {workflow: self, inputs: {deep: false}, result_key: x}}
"""
    )
    run = w.start("self")
    deadlock(w, run)
    child = w.status(run).children[0]
    assert w.status(child).status == "cancelled"
    assert w.kinds(child, "step.") == []
    assert w.kernel.queue()[0].active == ()


def test_a_queued_run_and_the_one_that_holds_its_slot(world: Make) -> None:
    w = world(
        """
workflow: line
concurrency: {limit: 1}
inputs: {on: {type: array, default: []}}
steps:
  - {id: ask, wait_for_signal: {name: go, result_key: ids}}
  - {id: wait, wait_for_workflows: {workflows: "{ids.on}", MODE result_key: all}}
""".replace("MODE", "")
    )
    holder, queued = w.start("line"), w.start("line")
    w.kernel.signal(holder, "go", {"on": [queued]})
    deadlock(w, holder, queued)
    assert w.status(queued).status == "waiting_for_signal"


ANY = """
workflow: any
inputs: {on: array}
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - {id: wait, wait_for_workflows: {workflows: "{inputs.on}", mode: any, result_key: all}}
---
workflow: free
steps: [{id: w, block: work, params: {}}]
---
workflow: blocked
steps: [{id: ask, wait_for_signal: {name: go}}, {id: claim, concurrency: {resource: k, lifetime: run}}]
"""


def test_an_any_wait_that_still_has_a_way_out(world: Make) -> None:
    w = world(ANY)
    free, blocked = w.start("free"), w.start("blocked")
    run = w.start("any", on=[free, blocked])
    go(w, blocked)
    assert w.status(run).status == "waiting_for_workflows"
    assert w.status(blocked).status == "waiting_for_resource"
    w.work()
    assert w.status(run).status == "completed"
    assert w.status(blocked).status == "completed"


def test_an_any_wait_whose_way_out_goes_away(world: Make) -> None:
    w = world(ANY)
    free, blocked = w.start("free"), w.start("blocked")
    run = w.start("any", on=[free, blocked])
    go(w, blocked)
    w.kernel.cancel(free)
    w.work()
    deadlock(w, run, blocked)
    assert w.status(blocked).status == "completed"


def test_a_run_that_waits_for_itself(world: Make) -> None:
    w = world('workflow: me\nsteps: [{id: w, wait_for_workflow: {workflow: "{run.id}", result_key: x}}]')
    assert deadlock(w, w.start("me")) == "w"


def test_waits_in_branches_count_only_where_the_lease_is(world: Make) -> None:
    """A section whose own steps go on will be released, whatever its run's other branch waits for."""
    w = world(
        """
workflow: both
steps:
  - id: par
    concurrency:
      branches:
        x: {steps: [{id: s, concurrency: {resource: a, steps: [{id: w, block: work, params: {}}]}}]}
        y: {steps: [{id: s, concurrency: {resource: b, steps: [{id: w, block: work, params: {}}]}}]}
---
workflow: other
steps:
  - {id: b, concurrency: {resource: b, lifetime: run}}
  - {id: go, wait_for_signal: {name: go}}
  - {id: a, concurrency: {resource: a, lifetime: run}}
"""
    )
    other = w.start("other")
    both = w.start("both")
    go(w, other)
    assert w.status(both).error is None
    assert w.status(other).error is None
    w.work()
    assert w.status(both).status == "completed"
    assert w.status(other).status == "completed"


def test_an_approval_counts_as_able_to_come(world: Make) -> None:
    w = world(claims("ab", "a", "b") + "---" + claims("b", "b"))
    one, two = w.start("ab"), w.start("b")
    go(w, one)
    w.advance(86400 * 100)
    assert w.status(one).status == "waiting_for_resource"
    go(w, two)
    assert w.status(one).status == "completed"


def test_a_way_out_that_has_been_taken_counts_until_its_waiter_knows(world: Make) -> None:
    """A helper asks for the chief's key in the transaction in which the other one ends: no circle."""
    w = world(
        """
workflow: chief
steps:
  - {id: go, start_workflows: {workflow: help, items: "{['k', 'free']}", payload_key: key, result_key: ids}}
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - {id: wait, wait_for_workflows: {workflows: "{ids}", mode: any, result_key: got}}
---
workflow: help
inputs: {key: string}
steps:
  - {id: first, block: work, params: {}}
  - {id: h, concurrency: {resource: "{inputs.key}", steps: [{id: t, block: work, params: {}}]}}
"""
    )
    chief = w.start("chief")
    stuck, free = w.status(chief).children
    w.finish(w.take("first", run=free))
    both = [w.take("first", run=stuck), w.take("h/t", run=free)]
    w.kernel.settle_many([Settlement(task, Success({})) for task in both])
    w.work()
    assert [w.status(run).status for run in (chief, stuck, free)] == ["completed"] * 3


def test_a_wait_for_a_run_that_joins_its_queue_only_then(world: Make) -> None:
    """It is started and waited for in one turn, and its slot is held by a run that waits for the chief."""
    w = world(
        """
workflow: chief
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - {id: ask, wait_for_signal: {name: go}}
  - {id: go, start_workflows: {workflow: job, items: "{[{}]}", result_key: ids}}
  - {id: wait, wait_for_workflows: {workflows: "{ids}", result_key: got}}
---
workflow: job
concurrency: {limit: 1}
steps: [{id: h, concurrency: {resource: k, steps: [{id: t, block: work, params: {}}]}}]
"""
    )
    chief = w.start("chief")
    first = w.start("job")
    go(w, chief)
    w.work()
    assert deadlock(w, chief, first) == "wait"
    assert [w.status(run).status for run in (first, w.status(chief).children[0])] == ["completed"] * 2
