"""``for_each``, branches, loops and attempts (sections 5 to 7)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock.engine.ports import Failed, Outcome, Success, Task
from interlock.engine.simulate.world import World, failing, giving

Make = Callable[..., World]


def each(mode: str, steps: str = '[{id: act, block: work, params: {n: "{item}"}}]', items: str = "[0, 1, 2, 3]") -> str:
    return f"""
workflow: w
steps:
  - id: all
    for_each: {{items: {items}, limit: 2, {mode} steps: {steps}, outputs: {{n: "{{item}}"}}}}
"""


def by_item(**ends: Outcome) -> Callable[[Task], Outcome]:
    return lambda task: ends.get(f"i{task.params['n']}", Success({}))


BAD = Failed("block-failed", "no", "none")


def test_all_waits_for_every_item_and_keeps_their_order(world: Make) -> None:
    w = world(each(""))
    run = w.start("w")
    assert {task.path for task in w.claim()} == {"all/0/act", "all/1/act"}
    w.restart()
    w.die("w")
    w.work()
    assert w.status(run).state["all"] == {
        "mode": "all",
        "quorum": None,
        "total": 4,
        "succeeded": 4,
        "failed": 0,
        "winner": {"index": 0, "output": {"n": 0}},
        "results": [{"n": n} for n in range(4)],
        "failures": [],
    }


def test_all_fails_after_every_item_has_settled(world: Make) -> None:
    w = world(each(""), scripts={"work": by_item(i1=BAD)})
    run = w.start("w")
    w.work()
    error = w.status(run).error
    assert error is not None
    assert error.code == "item-failed"
    assert len(w.log) == 4


def test_first_success_stops_the_rest_and_compensates_them(world: Make) -> None:
    steps = (
        '[{id: act, block: work, params: {n: "{item}"}, compensate: {block: undo, params: {n: "{item}"}}},'
        ' {id: last, block: wait, params: {n: "{item}"}}]'
    )
    w = world(each("mode: first_success,", steps))
    run = w.start("w")
    for task in w.claim():
        w.finish(task)
    slow, fast = w.claim()
    w.finish(fast)
    assert w.status(run).status == "running"
    w.finish(slow)
    w.work()
    result = w.status(run).state["all"]
    assert result["succeeded"] == 2
    assert result["winner"] == {"index": 1, "output": {"n": 1}}
    assert [task.path for task in w.log if task.kind == "compensation"] == []
    other = w.start("w")
    for task in w.claim():
        w.finish(task)
    w.finish(w.take("all/0/last"))
    w.work()
    assert w.status(other).state["all"]["results"] == [{"n": 0}, None, None, None]
    assert [task.params for task in w.log if task.kind == "compensation"] == [{"n": 1}]


def test_early_settlement_with_a_loser_in_a_protected_section(world: Make) -> None:
    steps = """
      - id: pub
        concurrency: {resource: "k{item}", protected: true, steps: [{id: act, block: write, params: {n: "{item}"}}]}
      - {id: rest, block: work, params: {n: "{item}"}}
"""
    w = world(
        "workflow: w\nsteps:\n  - id: all\n    for_each:\n      items: [0, 1]\n      limit: 2\n"
        f"      mode: first_success\n      steps:\n{steps}"
        "  - {id: after, block: set, params: {}}\n"
    )
    run = w.start("w")
    winner, loser = w.take("all/0/pub/act"), w.take("all/1/pub/act")
    w.finish(winner)
    w.finish(w.take("all/0/rest"))
    assert w.status(run).status == "running"
    w.finish(loser, Failed("timeout", "lost", "unknown"))
    assert w.status(run).status == "held_for_review"
    w.kernel.review(run, "committed", result={})
    w.work()
    status = w.status(run)
    assert status.status == "completed"
    assert status.state["all"]["results"] == [{}, None]
    assert "all/1/rest" not in [task.path for task in w.log]


def test_a_quorum_fails_as_soon_as_it_cannot_be_reached(world: Make) -> None:
    w = world(each("mode: quorum, quorum: 3,"), scripts={"work": by_item(i0=BAD, i1=BAD)})
    run = w.start("w")
    w.work()
    error = w.status(run).error
    assert error is not None
    assert error.code == "quorum-unreachable"
    assert len(w.log) == 2


@pytest.mark.parametrize(
    ("mode", "code"),
    [("", None), ("mode: first_success,", "item-failed"), ("mode: quorum, quorum: 1,", "quorum-unreachable")],
)
def test_no_items(world: Make, mode: str, code: str | None) -> None:
    w = world(each(mode, items="[]"))
    error = w.status(w.start("w")).error
    assert (error.code if error else None) == code


def test_branches_start_in_order_under_their_limit_and_all_are_waited_for(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - id: par
    concurrency:
      limit: 2
      branches:
        a: {steps: [{id: s, block: work, params: {}}]}
        b: {steps: [{id: s, wait_for_approval: {}}]}
        c: {steps: [{id: s, block: work, params: {}}]}
        d: {steps: [{id: s, block: work, params: {}}]}
""",
        scripts={"par/a/s": failing()},
    )
    run = w.start("w")
    w.finish(w.take("par/a/s"))
    assert [each.path for each in w.status(run).positions] == ["par/b/s", "par/c/s"]
    w.work()
    assert w.status(run).status == "waiting_for_signal"
    w.kernel.signal(run, "approval")
    error = w.status(run).error
    assert error is not None
    assert (error.code, error.path) == ("branch-failed", "par")


def test_a_second_visit_of_a_loop_sends_its_own_idempotency_key(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - {id: act, block: work, params: {}, retry: {max_attempts: 2, delay: 1s}, next: "{act.again ? 'act' : 'end'}"}
""",
        scripts={
            "work": giving(BAD, Success({"again": True}), BAD, Success({"again": True}), Success({"again": False}))
        },
    )
    run = w.start("w")
    for _ in range(3):
        w.work()
        w.advance(2)
    w.work()
    assert w.status(run).status == "completed"
    sent = [(task.visit, task.attempt, task.idempotency_key) for task in w.log]
    assert [each[:2] for each in sent] == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)]
    assert len({key for _, _, key in sent}) == 3
    assert sent[0][2] == sent[1][2]
    assert len({key for _, _, key in sent if run in key}) == 3


def test_a_future_retry_does_not_block_ready_work(world: Make) -> None:
    w = world(
        "workflow: w\nsteps: [{id: act, block: work, params: {}, retry: {max_attempts: 2, delay: 1h}}]",
        scripts={"work": giving(BAD, Success({}))},
    )
    waiting, ready = w.start("w"), w.start("w")
    w.finish(w.take("act", run=waiting))
    assert [task.run for task in w.claim()] == [ready]
    assert w.kernel.next_ready() == w.clock.now() + 3600


@pytest.mark.parametrize(
    ("backoff", "pauses"),
    [("constant", [2, 2, 2]), ("linear", [2, 4, 5]), ("exponential", [2, 4, 5])],
)
def test_back_off(world: Make, backoff: str, pauses: list[float]) -> None:
    w = world(
        "workflow: w\nsteps: [{id: act, block: work, params: {}, retry: {max_attempts: 4, delay: 2s,"
        f" max_delay: 5s, backoff: {backoff}}}}}]",
        scripts={"work": failing()},
    )
    w.start("w")
    seen = []
    for _ in pauses:
        w.work()
        due = w.kernel.next_ready()
        assert due is not None
        seen.append(due - w.clock.now())
        w.advance(seen[-1])
    assert seen == pauses


def test_only_some_codes_are_repeated(world: Make) -> None:
    text = "workflow: w\nsteps: [{id: act, block: work, params: {}, retry: {max_attempts: 3, delay: 1s}}]"
    for outcome, again in (
        (Failed("timeout", "x", "unknown"), True),
        (Failed("effect-unknown", "x", "unknown"), True),
        (Failed("result-invalid", "x", "unknown"), False),
        (Failed("mine", "x", "none", own=True), False),
    ):
        w = world(text, scripts={"work": giving(outcome)})
        run = w.start("w")
        w.work()
        assert (w.status(run).status == "running") == again


def test_next_goes_where_it_says_and_a_skipped_step_goes_on(world: Make) -> None:
    w = world(
        """
workflow: w
inputs: {to: string}
steps:
  - {id: a, block: set, params: {}, next: "{inputs.to}"}
  - {id: b, block: set, params: {}, when: false, next: a}
  - {id: c, block: set, params: {}, next: end}
  - {id: d, block: set, params: {}}
"""
    )
    ends = {}
    for to in ("b", "c", "d", "end", "x"):
        run = w.start("w", to=to)
        w.work()
        ends[to] = sorted(w.status(run).state)
    assert ends == {"b": ["a", "b", "c"], "c": ["a", "c"], "d": ["a", "d"], "end": ["a"], "x": []}
    error = w.status(run).error
    assert error is not None
    assert error.code == "bad-next"


def test_results_too_large_fail_the_step(world: Make) -> None:
    w = world(
        "workflow: w\nsteps: [{id: act, block: work, params: {}}]",
        scripts={"work": giving(Success({"x": "y" * 1_048_600}))},
    )
    run = w.start("w")
    w.work()
    error = w.status(run).error
    assert error is not None
    assert error.code == "result-too-large"


def test_a_run_that_stores_too_much_fails(world: Make) -> None:
    w = world(
        """
workflow: w
steps:
  - id: all
    for_each:
      items: "{inputs.n}"
      limit: 100
      steps: [{id: act, block: work, params: {}}]
inputs: {n: array}
""",
        scripts={"work": giving(Success({"x": "y" * 1_000_000}))},
        watch=False,
    )
    run = w.start("w", n=list(range(70)))
    w.work()
    assert "result-too-large" in [each.data.get("code") for each in w.kernel.events(run)]
    assert w.status(run).status == "failed"


def test_next_goes_only_where_its_expression_says(world: Make) -> None:
    w = world(
        """
workflow: w
inputs: {to: string}
steps:
  - {id: a, block: set, params: {}, next: "{inputs.to == '' ? 'b' : inputs.to}"}
  - {id: b, block: set, params: {}}
  - {id: c, block: set, params: {}}
"""
    )
    good, bad = w.start("w", to="b"), w.start("w", to="c")
    w.work()
    assert w.status(good).status == "completed"
    error = w.status(bad).error
    assert error is not None
    assert error.code == "bad-next"
