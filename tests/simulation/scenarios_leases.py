"""Scenarios of leases: who holds a key, in what order, for how long, under which fence (6.3, 6.4)."""

from __future__ import annotations

from interlock.engine.ports import Failed, Success
from interlock.engine.simulate.stage import HARMLESS, Stage
from simulation.scenario import scenario

UNKNOWN = Failed("timeout", "late", "unknown")
REFUSED = Failed("block-failed", "refused", "none")

TAKER = """
---
workflow: taker
steps: [{id: h, concurrency: {resource: k, steps: [{id: t, block: work, params: {fence: "{lease.fence}"}}]}}]
"""


def one_after_the_other(stage: Stage, first: str, second: str, last: str, begins: str) -> None:
    """Nothing of the second run began before the last block of the first had."""
    done = max(at for at, each in enumerate(stage.begun) if (each.run, each.path) == (first, last))
    began = min(at for at, each in enumerate(stage.begun) if (each.run, each.path) == (second, begins))
    assert done < began


@scenario(
    "a composite holding a lease while the process restarts",
    """
workflow: composite
steps:
  - id: hold
    concurrency:
      resource: k
      steps:
        - id: par
          concurrency:
            branches:
              a: {steps: [{id: x, block: work, params: {fence: "{lease.fence}"}}]}
              b: {steps: [{id: y, block: work, params: {fence: "{lease.fence}"}}, {id: z, block: work, params: {}}]}
        - {id: last, block: work, params: {fence: "{lease.fence}"}}
"""
    + TAKER,
    faults=(*HARMLESS, "restart", "restart", "die"),
)
def composite(stage: Stage) -> None:
    go = stage.held_up("hold/last")
    first = stage.start("composite")
    stage.when("another run", lambda: stage.holders("k") == [first], lambda: stage.start("taker"))
    stage.when("it goes on", lambda: stage.waiters("k") != [], go)
    # Two deaths at most: a third one of the same work would make it poison.
    stage._strikes = min(stage._strikes, 2)
    stage.play()
    second = stage.runs[1]
    assert (stage.status(first), stage.status(second)) == ("completed", "completed")
    one_after_the_other(stage, first, second, "hold/last", "h/t")
    assert stage.order("lease.granted") == [first, second]
    mine = [fence for path in ("hold/par/a/x", "hold/par/b/y", "hold/last") for fence in stage.fences(first, path)]
    theirs = stage.fences(second, "h/t")
    assert max(filter(None, mine)) < min(filter(None, theirs))


@scenario(
    "two of four acquisitions done when the run fails",
    """
workflow: four
steps:
  - {id: one, concurrency: {resource: k, lifetime: run}}
  - {id: two, concurrency: {resource: l, lifetime: run}}
  - {id: boom, block: work, params: {}}
  - {id: three, concurrency: {resource: m, lifetime: run}}
  - {id: four, concurrency: {resource: n, lifetime: run}}
"""
    + TAKER,
)
def two_of_four(stage: Stage) -> None:
    run = stage.start("four")
    fail = stage.held_up("boom")
    stage.when("a waiter", lambda: stage.is_at(run, "boom"), lambda: stage.start("taker"))

    def go() -> None:
        fail()
        stage.script("boom", REFUSED)

    stage.when("the failure", lambda: stage.waiters("k") != [], go)
    stage.play()
    assert (stage.status(run), stage.error(run)) == ("failed", "block-failed")
    assert len(stage.kinds(run, "lease.granted")) == len(stage.kinds(run, "lease.released")) == 2
    assert stage.status(stage.runs[1]) == "completed"
    assert stage.world.kernel.leases() == []


@scenario(
    "counting holders, never positions",
    """
workflow: pool
steps: [{id: h, concurrency: {resource: k, limit: 2, steps: [{id: t, block: work, params: {}}]}}]
""",
)
def holders_not_positions(stage: Stage) -> None:
    go = stage.held_up("h/t")
    runs = [stage.start("pool") for _ in range(5)]
    full = lambda: len(stage.holders("k")) == 2 and len(stage.waiters("k")) == 3  # noqa: E731
    # The first in the line goes: those behind it move up, and nobody counts it any more.
    gone: list[str] = []

    def cancel_first_waiter() -> None:
        gone.append(stage.waiters("k")[0])
        stage.world.kernel.cancel(gone[0])

    stage.when("the first waiter is cancelled", full, cancel_first_waiter)
    stage.when("the rest goes on", lambda: bool(gone), go)
    stage.play()
    ends = [stage.status(run) for run in runs]
    assert sorted(ends) == ["cancelled", "completed", "completed", "completed", "completed"]
    queued = [run for run in stage.order("lease.queued") if run not in gone]
    granted = [run for run in stage.order("lease.granted") if run in queued]
    assert granted == queued


@scenario(
    "a lease held across retry back-off and across an approval",
    """
workflow: long
steps:
  - id: hold
    concurrency:
      resource: k
      steps:
        - {id: shaky, block: work, params: {}, retry: {max_attempts: 3, delay: 1h, backoff: exponential}}
        - {id: ask, wait_for_approval: {}}
        - {id: last, block: work, params: {}}
"""
    + TAKER,
    faults=(*HARMLESS, "ahead"),
)
def across_pauses(stage: Stage) -> None:
    first = stage.start("long")
    stage.script("hold/shaky", REFUSED, UNKNOWN, Success({}))
    stage.when("another run", lambda: stage.holders("k") == [first], lambda: stage.start("taker"))
    waits = lambda: stage.status(first) == "waiting_for_signal" and stage.waiters("k") != []  # noqa: E731
    stage.when("the approval", waits, lambda: stage.world.kernel.signal(first, "approval"))
    stage.play()
    second = stage.runs[1]
    assert (stage.status(first), stage.status(second)) == ("completed", "completed")
    assert stage.order("lease.granted") == [first, second]
    assert stage.kinds(first, "step.attempt_failed") == ["step.attempt_failed"] * 2
    one_after_the_other(stage, first, second, "hold/last", "h/t")


@scenario(
    "two branches queueing one key behind a stranger",
    """
workflow: twice
steps:
  - id: par
    concurrency:
      branches:
        a: {steps: [{id: h, concurrency: {resource: k, steps: [{id: x, block: work, params: {}}]}}]}
        b: {steps: [{id: h, concurrency: {resource: k, steps: [{id: x, block: work, params: {}}]}}]}
"""
    + TAKER,
)
def behind_a_stranger(stage: Stage) -> None:
    go = stage.held_up("h/t")
    stranger = stage.start("taker")
    stage.when("the branches", lambda: stage.is_at(stranger, "h/t"), lambda: stage.start("twice"))
    stage.when("one more behind", lambda: len(stage.waiters("k")) == 2, lambda: stage.start("taker"))
    stage.when("the stranger goes", lambda: len(stage.waiters("k")) == 3, go)
    stage.play()
    twice, last = stage.runs[1], stage.runs[2]
    assert [stage.status(run) for run in stage.runs] == ["completed"] * 3
    (a,), (b,) = set(stage.fences(twice, "par/a/h/x")), set(stage.fences(twice, "par/b/h/x"))
    assert a == b
    kinds = stage.kinds(twice, "lease.granted") + stage.kinds(twice, "lease.reentered")
    assert kinds == ["lease.granted", "lease.reentered"]
    for path in ("par/a/h/x", "par/b/h/x"):
        one_after_the_other(stage, twice, last, path, "h/t")


@scenario(
    "re-entry with another limit",
    """
workflow: again
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run, limit: 2}}
  - {id: more, concurrency: {resource: k, lifetime: run, limit: LIMIT, on_busy: wait}}
  - {id: s, block: work, params: {}}
""".replace("LIMIT", "3")
    + TAKER.replace("resource: k", "resource: k, limit: 2"),
)
def another_limit(stage: Stage) -> None:
    run = stage.start("again")
    other = stage.start("taker")
    stage.play()
    assert (stage.status(run), stage.error(run)) == ("failed", "limit-conflict")
    assert stage.status(other) == "completed"
    assert stage.times_begun(run, "s") == 0


@scenario(
    "a run-lifetime lease taken in a failed branch",
    """
workflow: keeps
steps:
  - id: par
    concurrency:
      on_error: collect
      branches:
        a:
          steps:
            - {id: claim, concurrency: {resource: k, lifetime: run}}
            - {id: boom, block: work, params: {}}
        b: {steps: [{id: fine, block: work, params: {}}]}
  - {id: ask, wait_for_approval: {}}
---
workflow: tries
steps: [{id: claim, concurrency: {resource: k, lifetime: run, on_busy: skip}}, {id: s, block: work, params: {}}]
""",
)
def failed_branch_keeps(stage: Stage) -> None:
    stage.script("par/a/boom", REFUSED)
    run = stage.start("keeps")
    at_approval = lambda: stage.status(run) == "waiting_for_signal"  # noqa: E731
    stage.when("a try", at_approval, lambda: stage.start("tries"))
    tried = lambda: len(stage.runs) == 2 and stage.status(stage.runs[1]) == "completed"  # noqa: E731
    stage.when("the approval", tried, lambda: stage.world.kernel.signal(run, "approval"))
    stage.play()
    assert stage.status(run) == "completed"
    assert stage.state(run)["par"]["branches"]["a"]["status"] == "failed"
    assert stage.state(stage.runs[1])["claim"]["acquired"] is False
    assert stage.world.kernel.leases() == []


@scenario(
    "a run retried whose lease someone else holds now",
    """
workflow: owner
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - {id: s, block: work, params: {fence: "{claim.fence}"}}
"""
    + TAKER,
)
def retried_behind_another(stage: Stage) -> None:
    stage.script("s", REFUSED, Success({"params": {}}))
    go = stage.held_up("h/t")
    run = stage.start("owner")
    stage.when("someone else", lambda: stage.status(run) == "failed", lambda: stage.start("taker"))
    taken = lambda: len(stage.runs) == 2 and stage.is_at(stage.runs[1], "h/t")  # noqa: E731
    stage.when("the retry", taken, lambda: stage.world.kernel.retry(run))
    stage.when("the other goes", lambda: stage.waiters("k") == [run], go)
    stage.play()
    assert [stage.status(each) for each in stage.runs] == ["completed", "completed"]
    assert stage.order("lease.granted") == [run, stage.runs[1], run]
    fences = [event.data["fence"] for event in stage.log() if event.kind == "lease.granted"]
    assert fences == sorted(set(fences))
    assert stage.state(run)["claim"]["fence"] == fences[-1]


# --- deadlock --------------------------------------------------------------------------------------


def claims(name: str, *keys: str, pause: bool = True) -> str:
    lines = [f"workflow: {name}", "steps:"]
    for number, key in enumerate(keys):
        if number and pause:
            lines.append(f"  - {{id: p{number}, block: work, params: {{}}}}")
        lines.append(f"  - {{id: c{number}, concurrency: {{resource: {key}, lifetime: run}}}}")
    lines.append("  - {id: s, block: work, params: {}}")
    return "\n".join(lines) + "\n"


def circle(stage: Stage, *names: str) -> None:
    runs = [stage.start(name) for name in names]
    stage.play()
    ends = [(stage.status(run), stage.error(run)) for run in runs]
    failed = [end for end in ends if end != ("completed", None)]
    assert failed in ([], [("failed", "deadlock")])
    held_at_once = all("lease.queued" in stage.kinds(run) for run in runs)
    assert not held_at_once or failed


@scenario("deadlock through two runs", "---\n".join([claims("ab", "a", "b"), claims("ba", "b", "a")]))
def two_runs(stage: Stage) -> None:
    circle(stage, "ab", "ba")


@scenario(
    "deadlock through three runs",
    "---\n".join([claims("ab", "a", "b"), claims("bc", "b", "c"), claims("ca", "c", "a")]),
)
def three_runs(stage: Stage) -> None:
    circle(stage, "ab", "bc", "ca")


@scenario(
    "deadlock through a slot and a key",
    """
workflow: outer
steps:
  - {id: claim, concurrency: {resource: k, lifetime: run}}
  - {id: s, block: work, params: {}}
  - {id: kid, run_workflow: {workflow: inner, inputs: {}, result_key: x}}
---
workflow: inner
concurrency: {limit: 1}
steps: [{id: mine, concurrency: {resource: k, lifetime: run}}, {id: t, block: work, params: {}}]
""",
)
def slot_and_key(stage: Stage) -> None:
    """The child waits for its slot behind a run that waits for the key that the parent holds."""
    go = stage.held_up("s")
    outer = stage.start("outer")
    stage.when("the circle closes", lambda: stage.waiters("k") != [], go)
    stage.when("the one with the slot", lambda: stage.holders("k") == [outer], lambda: stage.start("inner"))
    stage.play()
    inner = stage.runs[1]
    rows = stage.world.kernel.runs()
    assert len(rows) == 3
    # Whoever asks last closes the circle; who only stood in it goes on.
    assert [row.error for row in rows].count("deadlock") == 1
    assert stage.status(outer) == "failed"
    assert stage.status(inner) in ("completed", "failed")
    assert stage.world.kernel.leases() == []
    assert all(not queue.active and not queue.waiting for queue in stage.world.kernel.queue())


@scenario(
    "an any wait that still has a way out",
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
""",
)
def way_out(stage: Stage) -> None:
    go = stage.held_up("first")
    chief = stage.start("chief")
    stage.when("the helpers go", lambda: stage.status(chief) == "waiting_for_workflows", go)
    stage.play()
    rows = stage.world.kernel.runs()
    assert [(row.workflow, row.status) for row in rows] == [
        ("help", "completed"),
        ("help", "completed"),
        ("chief", "completed"),
    ]
    assert "wait.failed" not in stage.kinds(chief)


# --- protected writes ------------------------------------------------------------------------------


@scenario(
    "early settlement of for_each with a loser in a protected section",
    """
workflow: race
steps:
  - id: all
    for_each:
      items: [0, 1]
      mode: first_success
      steps:
        - {id: quick, when: "{item == 0}", block: work, params: {}}
        - id: pub
          when: "{item == 1}"
          concurrency: {resource: k, protected: true, steps: [{id: act, block: write, params: {}}]}
          compensate: null
      outputs: {n: "{item}"}
  - {id: after, block: work, params: {}}
""".replace("          compensate: null\n", ""),
)
def protected_loser(stage: Stage) -> None:
    first, write = stage.held_up("all/0/quick"), stage.held_up("all/1/pub/act")
    run = stage.start("race")
    stage.when("the winner", lambda: stage.is_at(run, "all/1/pub/act"), first)
    won = lambda: "step.completed" in [e.kind for e in stage.log() if e.path == "all/0/quick"]  # noqa: E731

    def still_there() -> None:
        assert stage.is_at(run, "all/1/pub/act") or not stage.times_begun(run, "after")
        assert stage.holders("k") == [run]
        write()

    stage.when("the write", won, still_there)
    stage.play()
    assert stage.status(run) == "completed"
    assert stage.state(run)["all"]["winner"] == {"index": 0, "output": {"n": 0}}
    assert stage.world.kernel.leases() == []
    accepted = [event for event in stage.log() if event.kind == "step.completed" and event.path == "all/1/pub/act"]
    assert len(accepted) == 1
    assert stage.times_begun(run, "after") >= 1
