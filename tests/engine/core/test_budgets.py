"""Budgets at their check points, idempotent dispatch, secrets, the closed surface (sections 10 to 12)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.engine.errors import CALLER_CODES, RUN_CODES, CallerError, Fault
from interlock.engine.events import KINDS, note
from interlock.engine.ports import Failed, Success
from interlock.engine.simulate.world import World, failing, giving

Make = Callable[..., World]


def fault(w: World, run: str) -> tuple[str, str, str | None]:
    error = w.status(run).error
    assert error is not None
    return error.code, error.message, error.path


def test_two_branches_that_reach_a_budget_together(world: Make) -> None:
    """Completions are serialized: the one that would pass fails the run, ``collect`` or not."""
    w = world(
        """
workflow: w
budget: {max_transitions: 1}
steps:
  - id: par
    concurrency:
      on_error: collect
      branches:
        a: {steps: [{id: s, block: work, params: {}}]}
        b: {steps: [{id: s, block: work, params: {}}]}
        c: {steps: [{id: s, wait_for_approval: {}}]}
"""
    )
    run = w.start("w")
    one, two = w.claim()
    w.finish(one)
    assert w.status(run).status in ("running", "waiting_for_signal")
    w.finish(two)
    code, message, path = fault(w, run)
    assert (code, path) == ("budget-exceeded", "par/b/s")
    assert "max_transitions" in message
    assert w.status(run).budget.used["max_transitions"] == 1
    assert not w.status(run).retryable


def test_cost_units_come_from_the_step_or_the_block_and_retries_count_once(world: Make) -> None:
    text = """
workflow: w
budget: {max_cost_units: 9}
steps:
  - {id: a, block: dear, params: {}, retry: {max_attempts: 3, delay: 1s}}
  - {id: b, block: work, params: {}, cost_units: 0}
  - {id: c, block: work, params: {}, cost_units: 2}
  - id: d
    concurrency: {branches: {x: {steps: [{id: s, block: work, params: {}}]}}}
"""
    w = world(text, costs={"dear": 5}, scripts={"dear": giving(Failed("timeout", "x"), Success({}))})
    run = w.start("w")
    w.work()
    w.advance(2)
    w.work()
    assert w.status(run).status == "completed"
    assert w.status(run).budget.used["max_cost_units"] == 8


def test_the_size_of_the_state_is_counted_as_canonical_json(world: Make) -> None:
    text = """
workflow: w
inputs: {n: integer}
budget: {max_state_bytes: 40}
steps: [{id: a, block: set, params: {x: "{inputs.n}", f: 2.0, t: "é"}}, {id: b, block: set, params: {}}]
"""
    w = world(text)
    run = w.start("w", n=1)
    w.work()
    assert w.status(run).budget.used["max_state_bytes"] == len('{"a":{"f":2,"t":"é","x":1},"b":{}}'.encode())
    big = w.start("w", n=123456789012)
    w.work()
    assert fault(w, big)[0] == "budget-exceeded"
    assert w.status(big).state["a"]["x"] == 123456789012
    assert "b" not in w.status(big).state


def test_the_number_of_items_is_checked_before_the_first(world: Make) -> None:
    w = world(
        """
workflow: w
budget: {max_for_each_items: 2}
inputs: {n: array}
steps: [{id: all, for_each: {items: "{inputs.n}", steps: [{id: s, block: work, params: {}}]}}]
"""
    )
    run = w.start("w", n=[1, 2, 3])
    assert fault(w, run)[0] == "budget-exceeded"
    assert w.claim() == []


def test_a_signal_that_would_pass_a_budget_is_rolled_back(world: Make) -> None:
    w = world(
        """
workflow: w
budget: {max_state_bytes: 60}
steps:
  - {id: wait, wait_for_signals: {names: [a, b], result_key: got}}
"""
    )
    run = w.start("w")
    w.kernel.signal(run, "a", {"x": 1})
    before = w.status(run)
    with pytest.raises(CallerError) as refused:
        w.kernel.signal(run, "b", {"x": "y" * 100}, signal_id="s")
    assert refused.value.code == "budget-exceeded"
    assert w.status(run) == before
    assert w.kernel.signal(run, "b", {"x": 2}, signal_id="s").repeated is False
    assert w.status(run).status == "completed"
    assert w.status(run).state["got"] == {"a": {"x": 1}, "b": {"x": 2}}


def test_a_signal_that_comes_before_its_wait_is_no_exception(world: Make) -> None:
    w = world(
        """
workflow: w
budget: {max_transitions: 1}
steps:
  - {id: a, block: work, params: {}}
  - {id: wait, wait_for_signal: {name: go}}
"""
    )
    run = w.start("w")
    w.kernel.signal(run, "go")
    w.work()
    assert fault(w, run)[0] == "budget-exceeded"


def test_an_idempotency_key_gives_the_original_run(world: Make) -> None:
    w = world(
        """
workflow: w
inputs: {n: integer}
idempotency_key: "w:{inputs.n}"
steps: [{id: a, block: work, params: {}}]
---
workflow: other
steps: [{id: a, block: work, params: {}}]
"""
    )
    w.start("w", n=1)
    run = w.kernel.runs()[0].run
    again = w.kernel.dispatch(w.definitions["w"], {"n": 1})
    assert (again.run, again.created) == (run, False)
    assert w.kernel.dispatch(w.definitions["other"], {"bad": 1}, idempotency_key="w:1").run == run
    assert w.kernel.dispatch(w.definitions["w"], {"n": 1}, idempotency_key="mine").created
    assert w.kernel.dispatch(w.definitions["w"], {"n": 1}, account="b").created
    w.work()
    w.kernel.prune(w.clock.now() + 1)
    assert w.kernel.runs() == []
    assert w.kernel.dispatch(w.definitions["w"], {"n": 1}).run == run
    assert "run.deduplicated" not in [each.kind for each in w.kernel.events()]


def test_inputs_are_refused_before_anything_is_stored(world: Make) -> None:
    w = world(
        "workflow: w\ninputs: {n: integer, f: {type: number, default: 1}, e: {type: string, enum: [a, b], default: a},"
        ' o: {type: object, required: false}}\nsteps: [{id: a, block: set, params: {f: "{inputs.f}"}}]'
    )
    for inputs in ({}, {"n": "1"}, {"n": True}, {"n": 1, "x": 2}, {"n": 1, "e": "c"}, {"n": 1, "o": []}, {"n": 1.0}):
        with pytest.raises(CallerError) as refused:
            w.kernel.dispatch(w.definitions["w"], inputs)
        assert refused.value.code == "inputs-refused"
    assert w.kernel.runs() == []
    run = w.start("w", n=1, f=3)
    assert w.status(run).inputs == {"n": 1, "f": 3.0, "e": "a", "o": None}
    assert isinstance(w.status(run).inputs["f"], float)


def test_a_secret_inside_an_error_message(world: Make) -> None:
    w = world(
        """
workflow: w
inputs: {token: {type: string, secret: true}}
steps:
  - {id: a, block: work, params: {t: "{inputs.token}"}}
""",
        scripts={"work": failing(message="refused: Bearer s3cr3t-value was wrong, and host-secret too")},
        secrets=("host-secret",),
    )
    run = w.start("w", token="s3cr3t-value")
    task = w.take("a")
    assert task.params == {"t": "s3cr3t-value"}
    w.finish(task)
    shown = repr((w.status(run), w.kernel.events(run), w.kernel.export(run), w.kernel.runs()))
    assert "s3cr3t-value" not in shown
    assert "host-secret" not in shown
    assert "refused: Bearer *** was wrong" in shown
    w.kernel.close()
    with open(w.kernel.store.path or "", "rb") as file:
        stored = file.read()
    assert b"s3cr3t-value" not in stored
    assert b"host-secret" not in stored


def test_a_secret_of_a_result_is_encrypted_and_redacted(world: Make) -> None:
    w = world(
        'workflow: w\nsteps: [{id: a, block: work, params: {}}, {id: b, block: set, params: {copy: "{a.token}"}},'
        " {id: c, wait_for_approval: {}}]",
        scripts={"work": giving(Success({"token": "tok-123456"}, ("tok-123456",)))},
    )
    run = w.start("w")
    w.work()
    w.restart()
    assert w.status(run).state == {"a": {"token": "***"}, "b": {"copy": "***"}}
    w.kernel.close()
    with open(w.kernel.store.path or "", "rb") as file:
        assert b"tok-123456" not in file.read()


def test_nothing_outside_the_closed_lists_can_be_made() -> None:
    with pytest.raises(ValueError, match="no error code"):
        Fault("made-up", "x")
    assert Fault("made-up", "x", own=True).code == "made-up"
    with pytest.raises(ValueError, match="no error code"):
        CallerError("made-up", "x")
    with pytest.raises(ValueError, match="no event kind"):
        note("step.invented")
    assert len(RUN_CODES) == 30
    assert len(CALLER_CODES) == 18
    assert len(KINDS) == 49


def test_an_unknown_code_of_a_block_is_a_plain_failure(world: Make) -> None:
    w = world("workflow: w\nsteps: [{id: a, block: work, params: {}}]", scripts={"work": failing("invented")})
    run = w.start("w")
    w.work()
    assert fault(w, run)[0] == "block-failed"


def test_a_result_that_is_no_json_is_invalid(world: Make) -> None:
    w = world(
        "workflow: w\nsteps: [{id: a, block: work, params: {}}]", scripts={"work": giving(Success({"x": {1, 2}}))}
    )
    run = w.start("w")
    w.work()
    assert fault(w, run)[0] == "result-invalid"


def test_the_longest_list_of_items_so_far_is_shown_as_used(world: Make) -> None:
    w = world(
        """
workflow: w
budget: {max_for_each_items: 5}
steps:
  - {id: a, for_each: {items: [1, 2, 3], steps: [{id: x, block: set, params: {}}]}}
  - {id: b, for_each: {items: [1], steps: [{id: x, block: set, params: {}}]}}
  - {id: c, wait_for_approval: {}}
"""
    )
    run = w.start("w")
    w.work()
    assert w.status(run).budget.used["max_for_each_items"] == 3
