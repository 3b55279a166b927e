"""Signals, approvals, decisions and delays (section 9)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.engine.errors import CallerError
from interlock.engine.simulate.world import World

Make = Callable[..., World]


def one(step: str, inputs: str = "") -> str:
    return f"workflow: w\n{inputs}\nsteps:\n  - {{id: before, block: work, params: {{}}}}\n  - {step}\n"


def test_a_signal_before_its_wait_twice_and_after_the_end(world: Make) -> None:
    w = world(one("{id: wait, wait_for_signal: {name: go, result_key: got}}"))
    run = w.start("w")
    first = w.kernel.signal(run, "go", {"n": 1, "_private": 2}, signal_id="s1")
    again = w.kernel.signal(run, "go", {"n": 2}, signal_id="s1")
    assert (first.repeated, again.repeated) == (False, True)
    w.work()
    assert w.status(run).state["got"] == {"n": 1}
    assert w.kernel.signal(run, "go", {"n": 3}, signal_id="s1").repeated
    with pytest.raises(CallerError, match="run-ended"):
        w.kernel.signal(run, "go", {"n": 3}, signal_id="s2")
    assert w.kinds(run, "signal.") == ["signal.received", "signal.consumed", "signal.refused"]


def test_a_signal_is_consumed_once_by_the_oldest_open_wait(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - id: par
    concurrency:
      branches:
        a: {steps: [{id: s, wait_for_signal: {name: go, result_key: got}}], outputs: {n: "{got.n}"}}
        b: {steps: [{id: s, wait_for_signal: {name: go, result_key: got}}], outputs: {n: "{got.n}"}}
"""
    )
    run = w.start("w")
    w.kernel.signal(run, "go", {"n": 1})
    assert [each.path for each in w.status(run).positions] == ["par/b/s"]
    w.kernel.signal(run, "go", {"n": 2})
    branches = w.status(run).state["par"]["branches"]
    assert [branches[name]["output"]["n"] for name in "ab"] == [1, 2]


def test_match_and_correlation(world: Make) -> None:
    w = world(
        one(
            '{id: wait, wait_for_signal: {name: paid, result_key: got, match: {to: {id: "{inputs.id}"}},'
            " correlation_key: order}}",
            "inputs: {id: integer, order: string}",
        )
    )
    run = w.start("w", id=3, order="A")
    w.work()
    w.kernel.signal(run, "paid", {"to": {"id": 4}, "order": "A"})
    w.kernel.signal(run, "paid", {"to": {"id": 3, "x": 1}, "order": "B"})
    w.kernel.signal(run, "paid", {"order": "A"})
    assert w.status(run).status == "waiting_for_signal"
    w.kernel.signal(run, "paid", {"to": {"id": 3, "x": 1}, "order": "A"})
    assert w.status(run).status == "completed"


def test_a_match_that_cannot_be_evaluated_fails_the_step_at_once(world: Make) -> None:
    w = world(one('{id: wait, wait_for_signal: {name: go, match: {x: "{inputs.m.k}"}}}', "inputs: {m: object}"))
    run = w.start("w", m={"z": 1})
    w.work()
    status = w.status(run)
    assert (status.status, status.error.code if status.error else None) == ("failed", "expression")


def test_several_signals_all_or_any(world: Make) -> None:
    w = world(
        one("{id: wait, wait_for_signals: {names: [a, b], result_key: got}}")
        + "---\n"
        + one("{id: wait, wait_for_signals: {names: [a, b], mode: any, result_key: got}}").replace(": w\n", ": any\n")
    )
    run, fast = w.start("w"), w.start("any")
    w.work()
    for each in (run, fast):
        w.kernel.signal(each, "b", {"n": 2})
    assert w.status(fast).state["got"] == {"b": {"n": 2}}
    w.kernel.signal(run, "b", {"n": 3})
    assert w.status(run).status == "waiting_for_signal"
    w.kernel.signal(run, "a", {"n": 1})
    assert w.status(run).state["got"] == {"b": {"n": 2}, "a": {"n": 1}}


def test_a_decision_settles_on_approved_or_rejected(world: Make) -> None:
    w = world(one("{id: ask, wait_for_decision: {}}"))
    run = w.start("w")
    w.work()
    w.kernel.signal(run, "rejected", {"why": "no"})
    assert w.status(run).state["decision"] == {
        "outcome": "rejected",
        "signal": "rejected",
        "data": {"why": "no"},
    }


def test_a_payload_without_a_result_key_is_merged(world: Make) -> None:
    w = world(one("{id: wait, wait_for_signal: {name: go}}"))
    run = w.start("w")
    w.work()
    w.kernel.signal(run, "go", {"color": "red", "_x": 1})
    assert w.status(run).state["color"] == "red"
    other = w.start("w")
    w.work()
    w.kernel.signal(other, "go", {"before": 1})
    error = w.status(other).error
    assert error is not None
    assert error.code == "state-conflict"


def test_a_wait_for_a_signal_times_out_and_the_first_commit_wins(world: Make) -> None:
    w = world(one("{id: wait, timeout: 1m, wait_for_signal: {name: go}}"))
    run, lucky = w.start("w"), w.start("w")
    w.work()
    w.kernel.signal(lucky, "go")
    w.advance(61)
    error = w.status(run).error
    assert error is not None
    assert error.code == "timeout"
    assert w.status(lucky).status == "completed"
    assert w.kinds(run, "wait.") == ["wait.opened", "wait.timed_out"]


def test_a_delay_lasts_and_until_gives_a_moment(world: Make) -> None:
    w = world(
        one("{id: pause, delay: 1h30m}")
        + "---\n"
        + one('{id: pause, delay: {until: "{timestamp(inputs.at)}"}}', "inputs: {at: string}").replace(
            ": w\n", ": until\n"
        )
    )
    run, moment = w.start("w"), w.start("until", at="2023-11-14T22:15:00Z")
    w.work()
    assert w.status(run).status == "delayed"
    assert w.status(run).positions[0].wakes_at == w.clock.now() + 5400
    w.advance(100)
    assert w.status(moment).status == "completed"
    w.advance(5300)
    assert w.status(run).status == "completed"


def test_the_clock_going_backwards_and_jumping_ahead(world: Make) -> None:
    """Store time never goes back; a jump fires timers and takes no leases."""
    w = world(
        """
workflow: w
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - {id: pause, delay: 1h}
  - {id: ask, wait_for_approval: {}}
"""
    )
    run = w.start("w")
    w.clock.wall -= 7200
    w.kernel.tick()
    assert w.status(run).status == "delayed"
    times = [each.at for each in w.kernel.events()]
    w.clock.wall += 7200 + 3601
    w.kernel.tick()
    assert w.status(run).status == "waiting_for_signal"
    times = [each.at for each in w.kernel.events()]
    assert times == sorted(times)
    w.advance(10**9)
    assert w.status(run).holds[0].key == "k"
    w.clock.wall -= 10**9
    w.kernel.signal(run, "approval")
    times = [each.at for each in w.kernel.events()]
    assert times == sorted(times)


def test_timers_go_on_while_the_wall_clock_is_behind(world: Make) -> None:
    w = world("workflow: w\nsteps: [{id: pause, delay: 1h}]")
    w.clock.wall += 10**6
    run = w.start("w")
    w.clock.wall -= 10**6
    w.kernel.tick()
    w.advance(1800)
    assert w.status(run).status == "delayed"
    w.advance(1801)
    assert w.status(run).status == "completed"


def test_wrong_and_oversized_signals_are_refused(world: Make) -> None:
    w = world(one("{id: wait, wait_for_signal: {name: go}}"))
    run = w.start("w")
    for name, payload, code in (
        ("go", {"x": "y" * 1_100_000}, "payload-too-large"),
        ("go", {1: 2}, "bad-payload"),
        ("go", float("nan"), "bad-payload"),
        ("", {}, "bad-payload"),
        ("a b", {}, "bad-payload"),
    ):
        with pytest.raises(CallerError) as refused:
            w.kernel.signal(run, name, payload)
        assert refused.value.code == code
    with pytest.raises(CallerError, match="unknown-run"):
        w.kernel.signal("nobody", "go")
    assert w.kinds(run, "signal.") == []
