"""Scenarios of several runs: children, dependencies, admission, signals, repeated dispatches (6.1, 8, 9, 10)."""

from __future__ import annotations

from interlock.engine.ports import Failed
from interlock.engine.simulate.stage import Stage
from simulation.scenario import scenario

REFUSED = Failed("block-failed", "refused", "none")


@scenario(
    "a thousand children dispatched at once under a limit of 2",
    """
workflow: lots
steps:
  - {id: go, start_workflows: {workflow: little, items: "{inputs.n}", payload_key: n, result_key: ids}}
  - {id: wait, wait_for_workflows: {workflows: "{ids}", result_key: all}}
inputs: {n: array}
---
workflow: little
inputs: {n: integer}
concurrency: {limit: 2}
steps: [{id: t, block: work, params: {n: "{inputs.n}"}}]
outputs: {n: "{inputs.n}"}
""",
    share=0.02,
)
def thousand(stage: Stage) -> None:
    count = 1000
    assert stage.world.watch is not None
    stage.world.watch.every = 4000
    for kernel in stage.kernels:
        kernel.max_messages = stage.most = 500
    run = stage.start("lots", n=list(range(count)))
    stage.play(most=40_000)
    assert stage.status(run) == "completed"
    children = [each for each in stage.order("run.dispatched") if each != run]
    assert len(children) == count
    assert [each for each in stage.order("run.admitted") if each != run] == children
    ids = stage.world.kernel.status(run).state["ids"]
    assert ids == children


SELF = """
workflow: self
concurrency: {limit: 1}
inputs: {deep: {type: boolean, default: true}}
steps:
  - {id: kid, when: "{inputs.deep}", KIND}
  - {id: s, block: work, params: {}}
"""


@scenario(
    "a run that starts its own workflow under limit 1",
    SELF.replace("KIND", "start_workflows: {workflow: self, items: \"{[{'deep': false}]}\", result_key: ids}"),
)
def starts_itself(stage: Stage) -> None:
    run = stage.start("self")
    stage.play()
    rows = stage.world.kernel.runs()
    assert [row.status for row in rows] == ["completed", "completed"]
    log = [(event.run, event.kind) for event in stage.log()]
    assert log.index((run, "run.completed")) < log.index((rows[0].run, "run.admitted"))


@scenario(
    "a run that runs its own workflow under limit 1",
    SELF.replace("KIND", "run_workflow: {workflow: self, inputs: {deep: false}, result_key: x}"),
)
def runs_itself(stage: Stage) -> None:
    run = stage.start("self")
    stage.play()
    assert (stage.status(run), stage.error(run)) == ("failed", "deadlock")
    assert [row.status for row in stage.world.kernel.runs()] == ["cancelled", "failed"]


@scenario(
    "a parent waiting on a child that was superseded",
    """
workflow: parent
steps: [{id: kid, run_workflow: {workflow: child, inputs: {}, result_key: x}}]
---
workflow: child
concurrency: {limit: 1, on_busy: supersede, supersession_key: one}
steps: [{id: s, block: work, params: {}}, {id: t, block: work, params: {}}]
""",
)
def superseded_child(stage: Stage) -> None:
    go = stage.held_up("s")
    parent = stage.start("parent")
    children = lambda: [row.run for row in stage.world.kernel.runs(account="default", workflow="child")]  # noqa: E731
    there = lambda: bool(children()) and stage.is_at(children()[0], "s")  # noqa: E731
    stage.when("another one", there, lambda: stage.start("child"))
    stage.when("it goes on", lambda: len(stage.runs) == 2, go)
    stage.play()
    child = children()[-1]
    assert stage.status(child) == "superseded"
    assert stage.world.kernel.status(child).superseded_by == stage.runs[1]
    assert (stage.status(parent), stage.error(parent)) == ("failed", "child-failed")
    assert stage.status(stage.runs[1]) == "completed"


DEPENDS = """
workflow: waits
inputs: {ids: array}
steps: [{id: wait, wait_for_workflows: {workflows: "{inputs.ids}", MODE, result_key: got}}]
---
workflow: job
inputs: {n: integer}
concurrency: {limit: 3, on_busy: wait}
steps: [{id: s, block: work, params: {n: "{inputs.n}"}}]
---
workflow: only
concurrency: {limit: 1, on_busy: supersede, supersession_key: one}
steps: [{id: s, block: slow, params: {}}]
"""


def three(stage: Stage, how: str) -> tuple[str, str]:
    """A run that waits for three, one of which does not complete; returns the two."""
    go = stage.held_up("slow") if how == "superseded" else lambda: None
    jobs = [stage.start("job", n=n) for n in range(2)]
    held = stage.held_up("s") if how == "cancelled" else lambda: None
    if how == "failed":
        stage.answers["s"] = lambda task: REFUSED if task.params["n"] == 7 else stage.world.perform(task)
    odd = stage.start("only") if how == "superseded" else stage.start("job", n=7)
    at = stage.random.randrange(3)
    ids = [*jobs[:at], "r999" if how == "unknown" else odd, *jobs[at:]]
    waiter = stage.start("waits", ids=ids)

    def stop() -> None:
        stage.world.kernel.cancel(odd) if how == "cancelled" else stage.start("only")

    def on() -> None:
        held()
        go()

    if how in ("cancelled", "superseded"):
        there = lambda: stage.is_at(odd, "s")  # noqa: E731
        stage.when("the stop", there, stop)
        stage.when("they go on", lambda: "run.stop_requested" in stage.kinds(odd), on)
    stage.play()
    return waiter, odd


def all_fails(how: str, code: str) -> None:
    @scenario(f"one of N dependencies {how}", DEPENDS.replace("MODE", "mode: all"))
    def play(stage: Stage) -> None:
        waiter, odd = three(stage, how)
        assert (stage.status(waiter), stage.error(waiter)) == ("failed", code)
        error = stage.world.kernel.status(waiter).error
        assert error is not None
        assert ("r999" if how == "unknown" else odd) in error.message

    if how == "unknown":
        return

    @scenario(f"one of N dependencies {how}, and any of them is enough", DEPENDS.replace("MODE", "mode: any"))
    def play_any(stage: Stage) -> None:
        waiter, _ = three(stage, how)
        assert stage.status(waiter) == "completed"

    @scenario(f"one of N dependencies {how}, and two are needed", DEPENDS.replace("MODE", "mode: quorum, quorum: 2"))
    def play_two(stage: Stage) -> None:
        waiter, _ = three(stage, how)
        assert stage.status(waiter) == "completed"


for _how, _code in (
    ("failed", "dependency-failed"),
    ("cancelled", "dependency-failed"),
    ("superseded", "dependency-failed"),
    ("unknown", "unknown-run"),
):
    all_fails(_how, _code)


@scenario(
    "a future retry not blocking ready work",
    """
workflow: later
steps: [{id: s, block: shaky, params: {}, retry: {max_attempts: 2, delay: 1h}}]
---
workflow: now
steps: [{id: a, block: work, params: {}}, {id: b, block: work, params: {}}]
""",
)
def future_retry(stage: Stage) -> None:
    stage.answers["shaky"] = lambda task: REFUSED if task.attempt == 1 else stage.world.perform(task)
    late = stage.start("later")
    failed = lambda: "step.retry_scheduled" in stage.kinds(late)  # noqa: E731
    stage.when("ready work", failed, lambda: stage.start("now"))
    stage.play()
    now = stage.runs[1]
    assert [stage.status(run) for run in stage.runs] == ["completed", "completed"]
    log = [(event.run, event.kind) for event in stage.log()]
    assert log.index((now, "run.completed")) < log.index((late, "run.completed"))
    took = [each.at for each in stage.begun if each.run == now]
    assert max(took) - min(took) < 600


@scenario(
    "two branches that reach a budget together",
    """
workflow: spends
budget: {max_transitions: 3}
steps:
  - id: par
    concurrency:
      on_error: collect
      branches:
        a: {steps: [{id: x, block: work, params: {}}, {id: y, block: work, params: {}}]}
        b: {steps: [{id: x, block: work, params: {}}, {id: y, block: work, params: {}}]}
  - {id: s, block: work, params: {}}
""",
)
def budget_together(stage: Stage) -> None:
    run = stage.start("spends")
    stage.play()
    assert (stage.status(run), stage.error(run)) == ("failed", "budget-exceeded")
    used = stage.world.kernel.status(run).budget.used["max_transitions"]
    # A block that was in flight when the run was stopped is stored as well.
    assert len(stage.kinds(run, "step.completed")) == used
    before = [event.kind for event in stage.log() if event.run == run]
    assert before[: before.index("step.failed")].count("step.completed") == 3
    assert stage.times_begun(run, "s") == 0


@scenario(
    "a second visit of a loop sending its own Idempotency-Key",
    """
workflow: loops
budget: {max_transitions: 20}
steps:
  - {id: s, block: count, params: {}, retry: {max_attempts: 3, delay: 1s}, next: "{s.more ? 's' : 'end'}"}
""",
    faults=("restart", "hand_back", "back", "pass", "die"),
)
def idempotency_keys(stage: Stage) -> None:
    from interlock.engine.ports import Success

    seen: dict[tuple[int, int], int] = {}

    def count(task):  # type: ignore[no-untyped-def]
        seen[(task.visit, task.attempt)] = seen.get((task.visit, task.attempt), 0) + 1
        return REFUSED if task.attempt == 1 else Success({"more": task.visit < 3})

    stage.answers["count"] = count
    stage._strikes = min(stage._strikes, 2)
    run = stage.start("loops")
    stage.play()
    assert stage.status(run) == "completed"
    keys = list(dict.fromkeys(each.key for each in stage.begun))
    assert keys == [f"{run}/s/{visit}" for visit in (1, 2, 3)]
    assert {attempt for _, attempt in seen} == {1, 2}


@scenario(
    "dispatch repeated with the same key from two processes at once",
    """
workflow: once
inputs: {n: {type: integer, default: 0}}
concurrency: {limit: 1}
steps: [{id: s, block: work, params: {}}]
---
workflow: own
inputs: {n: {type: integer, default: 0}}
idempotency_key: "own:{inputs.n}"
steps: [{id: s, block: work, params: {}}]
""",
)
def same_key(stage: Stage) -> None:
    for _ in range(stage.random.randint(2, 5)):
        stage.sometime("a dispatch", lambda: stage.start("once", key="same", n=stage.random.randrange(9)))
        stage.sometime("its own key", lambda: stage.start("own", n=3))
    stage.play()
    rows = stage.world.kernel.runs()
    assert sorted(row.workflow for row in rows) == ["once", "own"]
    assert len(stage.runs) == 2
    assert all(row.status == "completed" for row in rows)
    assert "run.deduplicated" in stage.kinds(stage.runs[0]) + stage.kinds(stage.runs[1])


ASKS = """
workflow: asks
steps:
  - {id: a, block: work, params: {}}
  - {id: ask, wait_for_signal: {name: go, result_key: first}}
  - {id: again, wait_for_signal: {name: go, result_key: second}}
"""


@scenario("a signal before its wait, twice, and after the end", ASKS)
def signals(stage: Stage) -> None:
    go = stage.held_up("a")
    run = stage.start("asks")
    send = lambda number: stage.world.kernel.signal(run, "go", {"n": number}, signal_id=f"s{number}")  # noqa: E731
    stage.when("before the wait", lambda: stage.is_at(run, "a"), lambda: send(1))
    sent = lambda: "signal.received" in stage.kinds(run)  # noqa: E731
    stage.when("the same again", sent, stage.refusing(lambda: send(1)))
    stage.when("the block ends", sent, go)
    stage.when("the second", lambda: stage.status(run) == "waiting_for_signal" and not _same_left(stage),
               lambda: send(2))  # fmt: skip
    stage.when("after the end", lambda: stage.status(run) == "completed", stage.refusing(lambda: send(3)))
    stage.play()
    assert stage.status(run) == "completed"
    assert (stage.state(run)["first"], stage.state(run)["second"]) == ({"n": 1}, {"n": 2})
    assert stage.refused == ["run-ended"]
    assert len(stage.kinds(run, "signal.received")) == 2
    assert len(stage.kinds(run, "signal.consumed")) == 2
    assert len(stage.kinds(run, "signal.refused")) == 1


def _same_left(stage: Stage) -> bool:
    return any(event.name == "the same again" for event in stage.events)
