"""Details of the core that mutation testing found no other test of: each of these fails with one small change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.engine.cells import admission
from interlock.engine.cells.messages import Join, Leave
from interlock.engine.cells.sizes import canonical_float
from interlock.engine.errors import CallerError
from interlock.engine.ports import Failed, Success
from interlock.engine.simulate.leases import Line
from interlock.engine.simulate.world import World, giving

Make = Callable[..., World]
BAD = Failed("block-failed", "no", "none")


def test_a_lease_that_becomes_the_runs_closes_a_circle_of_its_own_branches(world: Make) -> None:
    """The section would have ended; the claim inside it makes the lease last until the run ends."""
    w = world(
        """
workflow: both
steps:
  - id: par
    concurrency:
      branches:
        x:
          steps:
            - id: s
              concurrency:
                resource: a
                steps:
                  - {id: w, block: work, params: {}}
                  - {id: keep, concurrency: {resource: a, lifetime: run, on_busy: skip}}
        y: {steps: [{id: s, concurrency: {resource: b, steps: [{id: w, block: work, params: {}}]}}]}
---
workflow: other
steps:
  - {id: b, concurrency: {resource: b, lifetime: run}}
  - {id: go, wait_for_signal: {name: go}}
  - {id: a, concurrency: {resource: a, lifetime: run}}
"""
    )
    other, both = w.start("other"), w.start("both")
    w.kernel.signal(other, "go")
    assert {w.status(run).status for run in (other, both)} == {"waiting_for_resource", "running"}
    w.work()
    error = w.status(both).error
    assert error is not None
    assert (error.code, error.path) == ("branch-failed", "par")
    refused = [each for each in w.kernel.events(both) if each.kind == "step.failed" and each.path == "par/y/s"]
    assert [each.data["code"] for each in refused] == ["deadlock"]
    assert w.status(other).status == "completed"


def test_a_retry_that_fails_before_it_has_its_leases_still_needs_them(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - {id: act, block: work, params: {fence: "{claim.fence}"}}
---
workflow: taker
steps: [{id: h, concurrency: {resource: k, limit: 2, steps: [{id: hold, block: work, params: {}}]}}]
""",
        scripts={"act": giving(BAD, Success({}))},
    )
    run = w.start("w")
    w.work()
    w.start("taker")
    held = w.take("h/hold")
    w.kernel.retry(run)
    error = w.status(run).error
    assert error is not None
    assert error.code == "limit-conflict"
    w.finish(held)
    w.kernel.retry(run)
    assert [hold.key for hold in w.status(run).holds] == ["k"]
    w.work()
    assert w.status(run).status == "completed"
    assert [task.params["fence"] for task in w.log if task.path == "act"] == [1, 3]


def test_a_protected_section_spends_its_cost_from_what_it_has_reserved(world: Make) -> None:
    """Six units for the write, all of them: none is counted twice, and none is free before it is spent."""
    text = """
workflow: exact
budget: {max_cost_units: 7}
steps:
  - id: par
    concurrency:
      on_error: collect
      branches:
        a:
          steps:
            - id: pub
              concurrency:
                resource: k
                protected: true
                steps:
                  - {id: act, block: write, params: {}, cost_units: 1}
                  - {id: more, block: work, params: {}, cost_units: 5}
        b: {steps: [{id: s1, block: work, params: {}, cost_units: 1}]}
"""
    w = world(text)
    run = w.start("exact")
    w.finish(w.take("par/a/pub/act"))
    cell = w.kernel.rows.load(run, w.kernel.plan_of)
    assert cell is not None
    assert (cell.run.cost, cell.run.reserved_cost, cell.run.reserved_transitions) == (1, 5, 2)
    w.work()
    status = w.status(run)
    assert (status.status, status.budget.used["max_cost_units"]) == ("completed", 7)
    cell = w.kernel.rows.load(run, w.kernel.plan_of)
    assert cell is not None
    assert (cell.run.reserved_transitions, cell.run.reserved_cost) == (0, 0)


def test_a_compensation_whose_worker_dies_runs_again_until_it_has_killed_three(world: Make) -> None:
    w = world(
        """
workflow: w
compensate_on_failure: true
steps:
  - {id: a, block: work, params: {}, compensate: {block: undo, params: {of: a}}}
  - {id: b, block: work, params: {}, compensate: {block: undo, params: {of: b}}}
  - {id: bad, block: fail, params: {}}
"""
    )
    run = w.start("w")
    for path in ("a", "b", "bad"):
        w.finish(w.take(path))
    for _ in range(3):
        assert len(w.claim("leaver")) == 1
        w.kernel.unregister("leaver")  # it went by itself: nobody was killed
    for at in range(3):
        (undo,) = w.claim(f"mortal{at}")
        assert (undo.block, undo.params) == ("undo", {"of": "b"})
        w.die(f"mortal{at}")
        w.restart()  # how often is stored, not only remembered
    failed = [each.data["code"] for each in w.kernel.events(run) if each.kind == "compensation.failed"]
    assert failed == ["poisoned"]
    assert w.kinds(run).count("task.reassigned") == 5
    (undo,) = w.claim("mortal3")
    assert undo.params == {"of": "a"}
    w.die("mortal3")
    assert [task.params for task in w.claim("survivor")] == [{"of": "a"}]
    w.finish(w.log[-1])
    assert w.status(run).status == "failed"
    assert w.kinds(run).count("compensation.completed") == 1


def test_a_child_says_in_its_first_event_whose_it_is(world: Make) -> None:
    w = world(
        "workflow: p\nsteps: [{id: c, run_workflow: {workflow: k}}]\n---\n"
        "workflow: k\nsteps: [{id: a, block: set, params: {}}]"
    )
    parent = w.start("p")
    (child,) = w.status(parent).children
    first = w.kernel.events(child)[0]
    assert (first.kind, first.data["parent"]) == ("run.dispatched", parent)
    assert "parent" not in w.kernel.events(parent)[0].data


@pytest.mark.parametrize(
    ("ids", "told"),
    [("[]", "There are no runs to wait for"), ('["{inputs.on}"]', "1 of 1 runs would have to complete")],
)
def test_an_any_wait_that_cannot_come_true_says_why(ids: str, told: str, world: Make) -> None:
    w = world(
        "workflow: w\ninputs: {on: {type: string, required: true}}\n"
        f"steps: [{{id: a, wait_for_workflows: {{workflows: {ids}, mode: any, result_key: got}}}}]\n---\n"
        "workflow: bad\nsteps: [{id: a, block: fail, params: {}}]"
    )
    on = w.start("bad")
    w.work()
    run = w.start("w", on=on)
    w.work()
    error = w.status(run).error
    assert error is not None
    assert told in error.message


def test_an_input_with_a_default_takes_no_null(world: Make) -> None:
    w = world(
        "workflow: w\ninputs: {n: {type: integer, default: 1}, m: {type: integer, required: false}}\n"
        "steps: [{id: a, block: set, params: {n: '{inputs.n}', m: '{inputs.m}'}}]"
    )
    with pytest.raises(CallerError, match='"n"'):
        w.start("w", n=None)
    run = w.start("w", m=None)
    w.work()
    assert w.status(run).state["a"] == {"n": 1, "m": None}


def test_what_a_failing_output_of_the_workflow_ends_as(world: Make) -> None:
    w = world("workflow: w\noutputs: {x: '{a.missing}'}\nsteps: [{id: a, block: set, params: {}}]")
    run = w.start("w")
    w.work()
    status = w.status(run)
    assert status.error is not None
    assert (status.status, status.error.code, status.error.path) == ("failed", "expression", "outputs")


def test_a_retried_run_still_has_its_deadline_from_its_dispatch(world: Make) -> None:
    w = world(
        "workflow: w\ndeadline: 1h\nsteps: [{id: a, block: work, params: {}}, {id: ask, wait_for_approval: {}}]",
        scripts={"work": giving(BAD, Success({}))},
    )
    run = w.start("w")
    w.work()
    w.advance(1800)
    w.kernel.retry(run)
    w.work()
    w.advance(1799)
    assert w.status(run).status == "waiting_for_signal"
    w.advance(2)
    error = w.status(run).error
    assert error is not None
    assert error.code == "deadline-exceeded"


def test_one_slot_that_goes_can_let_in_as_many_as_their_own_limits_allow() -> None:
    """The head has limit 1; those behind it, of another version, have limit 3."""
    queue, line = admission.Queue("a", "w"), Line()
    for run, limit in (("active", 1), ("head", 1), ("second", 3), ("third", 3), ("fourth", 3)):
        line.apply(admission.decide(queue, Join("a", "w", run, limit, "wait", None), line))
    assert list(line.slots) == ["active"]
    line.apply(admission.decide(queue, Leave("a", "w", "active"), line))
    assert list(line.slots) == ["head", "second", "third"]


def test_a_wait_takes_one_of_two_signals_that_came_before_it(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - {id: before, block: work, params: {}}
  - {id: one, wait_for_signal: {name: go}}
  - {id: two, wait_for_signal: {name: go}}
  - {id: three, wait_for_signal: {name: go}}
"""
    )
    run = w.start("w")
    for number in (1, 2):
        w.kernel.signal(run, "go", {"n": number})
    w.work()
    status = w.status(run)
    assert [each.path for each in status.positions] == ["three"]
    assert w.kinds(run).count("signal.consumed") == 2
    w.kernel.signal(run, "go", {"n": 3})
    assert w.status(run).status == "completed"


def test_a_child_whose_supersession_key_cannot_be_told_fails_the_step_that_calls_it(world: Make) -> None:
    w = world(
        """
workflow: p
steps: [{id: call, run_workflow: {workflow: k, inputs: {on: {}}}}]
---
workflow: k
inputs: {on: {type: object, required: true}}
concurrency: {limit: 1, on_busy: supersede, supersession_key: "{inputs.on.name}"}
steps: [{id: a, block: set, params: {}}]
"""
    )
    run = w.start("p")
    status = w.status(run)
    assert status.error is not None
    assert (status.error.path, status.status, status.children) == ("call", "failed", ())


def test_an_any_wait_that_is_satisfied_leaves_the_other_signals(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - {id: before, block: work, params: {}}
  - {id: any, wait_for_signals: {names: [a, b], mode: any, result_key: got}}
  - {id: later, wait_for_signal: {name: b}}
"""
    )
    run = w.start("w")
    w.kernel.signal(run, "a", {})
    w.kernel.signal(run, "b", {})
    w.work()
    assert w.status(run).status == "completed"


def test_private_names_are_no_part_of_the_state_that_is_shown(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - {id: wait, wait_for_signal: {name: go, result_key: _kept}}
  - {id: use, block: work, params: {n: "{_kept.n}"}}
  - {id: ask, wait_for_approval: {}}
"""
    )
    run = w.start("w")
    w.kernel.signal(run, "go", {"n": 4})
    assert w.status(run).state == {}
    w.work()
    assert [task.params for task in w.log] == [{"n": 4}]
    assert set(w.status(run).state) == {"use"}


BROKEN = """
workflow: w
steps:
  - id: s
    concurrency:
      resource: k
      protected: PROTECTED
      steps: [{id: act, block: write, params: {}}]
      outputs: {id: "{act.missing}"}
"""


def test_a_section_whose_output_cannot_be_told_fails_and_lets_go_of_its_key(world: Make) -> None:
    w = world(BROKEN.replace("PROTECTED", "false"))
    run = w.start("w")
    w.work()
    status = w.status(run)
    assert status.error is not None
    assert (status.status, status.error.code, status.error.path) == ("failed", "expression", "s")
    assert w.kinds(run, "lease.") == ["lease.granted", "lease.released"]
    assert w.status(w.start("w")).holds[0].fence == 2


def test_a_protected_write_whose_output_cannot_be_told_is_for_a_person(world: Make) -> None:
    w = world(BROKEN.replace("PROTECTED", "true"))
    run = w.start("w")
    w.work()
    status = w.status(run)
    assert status.status == "held_for_review"
    assert [(hold.key, hold.review) for hold in status.holds] == [("k", True)]
    w.kernel.review(run, "committed", result={"id": 7})
    assert w.status(run).state["s"]["output"] == {"id": 7}


def test_a_section_that_ends_over_the_budget_lets_go_of_its_key(world: Make) -> None:
    w = world(
        "workflow: w\nbudget: {max_transitions: 1}\n"
        "steps: [{id: s, concurrency: {resource: k, steps: [{id: a, block: set, params: {}}]}}]"
    )
    run = w.start("w")
    w.work()
    status = w.status(run)
    assert status.error is not None
    assert (status.status, status.error.code, status.error.path) == ("failed", "budget-exceeded", "s")
    assert w.status(w.start("w")).holds[0].fence == 2


def test_the_events_of_a_short_run_from_first_to_last(world: Make) -> None:
    w = world(
        "workflow: w\nsteps: [{id: a, block: work, params: {}},"
        " {id: b, block: work, params: {}, when: '{1 == 2}'}, {id: c, block: fail, params: {}}]"
    )
    run = w.start("w")
    w.work()
    events = [(each.kind, each.path) for each in w.kernel.events(run)]
    assert events == [
        ("run.dispatched", None),
        ("run.admitted", None),
        ("step.entered", "a"),
        ("step.started", "a"),
        ("step.completed", "a"),
        ("step.skipped", "b"),
        ("step.entered", "c"),
        ("step.started", "c"),
        ("step.failed", "c"),
        ("run.failed", None),
    ]


def test_a_wait_that_got_its_signal_does_not_time_out_later(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - {id: wait, wait_for_signal: {name: go}, timeout: 1m}
  - {id: act, block: work, params: {}}
  - {id: ask, wait_for_approval: {}}
"""
    )
    run = w.start("w")
    w.kernel.signal(run, "go", {})
    assert w.store.motion(run)["timers"] == 0
    w.work()
    w.advance(61)
    status = w.status(run)
    assert (status.status, [each.path for each in status.positions]) == ("waiting_for_signal", ["ask"])


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (0.5, "0.5"),
        (-123.456, "-123.456"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (5e-324, "5e-324"),
    ],
)
def test_a_number_is_counted_as_ecmascript_writes_it(number: float, text: str) -> None:
    assert canonical_float(number) == text


def test_waits_are_told_when_they_open_and_when_they_are_satisfied(world: Make) -> None:
    w = world(
        """
workflow: asks
steps: [{id: ask, wait_for_approval: {}}]
---
workflow: w
inputs: {on: array}
steps:
  - {id: rest, delay: 5s}
  - {id: wait, wait_for_workflows: {workflows: "{inputs.on}", result_key: x}}
"""
    )
    asks = w.start("asks")
    run = w.start("w", on=[asks])
    opened = w.clock.now()
    w.advance(5)
    w.kernel.signal(asks, "approval")
    w.work()
    assert w.status(run).status == "completed"
    told = [(each.kind, each.path, each.data) for each in w.kernel.events(run) if each.kind.startswith("wait.")]
    assert told == [
        ("wait.opened", "rest", {"wait": "delay", "until": opened + 5}),
        ("wait.satisfied", "rest", {}),
        ("wait.opened", "wait", {"wait": "workflow", "mode": "all", "runs": [asks]}),
        ("wait.satisfied", "wait", {}),
    ]
