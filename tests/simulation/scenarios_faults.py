"""Scenarios of workers and clocks: death, sleep, late results, poison, secrets in errors, time that jumps (12)."""

from __future__ import annotations

from interlock.engine.ports import Failed, Task
from interlock.engine.simulate.stage import HARMLESS, Stage
from simulation.scenario import scenario

HOLDS = """
workflow: holds
steps:
  - id: hold
    concurrency:
      resource: k
      steps: [{id: s, block: work, params: {fence: "{lease.fence}"}}]
      outputs: {fence: "{s.params.fence}"}
---
workflow: taker
steps: [{id: h, concurrency: {resource: k, steps: [{id: t, block: work, params: {}}]}}]
"""
WRITES = """
workflow: writes
steps:
  - id: pub
    concurrency: {resource: k, protected: true, steps: [{id: act, block: write, params: {}}]}
  - {id: after, block: work, params: {}}
"""
GENTLE = tuple(fault for fault in HARMLESS if fault != "hand_back")


@scenario("kill -9 of a holder", HOLDS, faults=GENTLE)
def killed_holder(stage: Stage) -> None:
    go = stage.held_up("hold/s")
    run = stage.start("holds")
    stage.when("a waiter", lambda: stage.is_at(run, "hold/s"), lambda: stage.start("taker"))

    def kill() -> None:
        stage.die(stage.worker_of(run, "hold/s"))
        assert stage.holders("k") == [run]
        assert stage.waiters("k") == stage.runs[1:]
        go()

    stage.when("the death", lambda: stage.waiters("k") != [], kill)
    stage.play()
    assert [stage.status(each) for each in stage.runs] == ["completed", "completed"]
    first, second = stage.fences(run, "hold/s")[0], stage.fences(run, "hold/s")[-1]
    assert first is not None
    assert second is not None
    assert first < second
    assert stage.state(run)["hold"]["output"] == {"fence": second}
    assert stage.order("lease.granted") == stage.runs
    assert stage.kinds(run, "worker.lost") == ["worker.lost"]
    assert stage.kinds(run, "lease.refenced") == ["lease.refenced"]


@scenario("the reaper meeting a live worker", HOLDS, faults=GENTLE)
def reaper_and_live_worker(stage: Stage) -> None:
    """A worker that beats is never taken for dead, however long its block takes."""
    go = stage.held_up("hold/s")
    run = stage.start("holds")
    passed = stage.random.randint(3, 12)
    for _ in range(passed):
        stage.when("time", lambda: stage.is_at(run, "hold/s"), lambda: stage.pass_time(14))

    def both_look() -> None:
        for kernel in stage.kernels:
            stage.world.be(kernel)
            kernel.tick()
        go()

    stage.when("the end", lambda: not any(event.name == "time" for event in stage.events), both_look)
    stage.play()
    assert stage.status(run) == "completed"
    assert "worker.lost" not in stage.kinds(run)
    assert stage.times_begun(run, "hold/s") == 1


@scenario("a sleeping worker that wakes late in a plain section", HOLDS, faults=GENTLE)
def wakes_late(stage: Stage) -> None:
    go = stage.held_up("hold/s")
    run = stage.start("holds")
    slept: list[Task] = []

    def sleep() -> None:
        slept.extend(stage.sleep(stage.worker_of(run, "hold/s")))
        go()

    taken: list[bool] = []
    stage.when("the sleep", lambda: stage.is_at(run, "hold/s"), sleep)
    stage.when("the waking", lambda: bool(slept), lambda: taken.append(stage.wake(slept[0])))
    stage.play()
    assert stage.status(run) == "completed"
    assert taken == [False]
    assert stage.kinds(run, "task.late_result") == ["task.late_result"]
    assert [each for each in stage.log() if each.path == "hold/s" and each.kind == "step.completed"] != []
    assert stage.state(run)["hold"]["output"] == {"fence": stage.fences(run, "hold/s")[-1]}


@scenario("a sleeping worker that wakes late in a protected section", WRITES, faults=GENTLE)
def wakes_late_protected(stage: Stage) -> None:
    go = stage.held_up("pub/act")
    run = stage.start("writes")
    slept: list[Task] = []
    taken: list[bool] = []
    decision = stage.random.choice(["committed", "not-committed", "abandon"])

    def sleep() -> None:
        slept.extend(stage.sleep(stage.worker_of(run, "pub/act")))
        assert stage.status(run) == "held_for_review"
        go()

    def decide() -> None:
        (review,) = stage.world.kernel.status(run).reviews
        assert [each["result"] for each in review.evidence] == [{"late": True}]
        assert stage.times_begun(run, "pub/act") == 1
        stage.world.kernel.review(run, decision, result={} if decision == "committed" else None)  # type: ignore[arg-type]

    stage.when("the sleep", lambda: stage.is_at(run, "pub/act"), sleep)
    stage.when("the waking", lambda: bool(slept), lambda: taken.append(stage.wake(slept[0])))
    stage.when("the decision", lambda: bool(taken), decide)
    stage.play()
    assert taken == [False]
    end = {"committed": ("completed", 1), "not-committed": ("completed", 2), "abandon": ("failed", 1)}[decision]
    assert (stage.status(run), stage.times_begun(run, "pub/act")) == end


@scenario(
    "a poison item that kills its worker",
    """
workflow: items
steps:
  - id: all
    for_each:
      items: [0, 1, 2]
      mode: quorum
      quorum: 2
      steps: [{id: s, block: work, params: {n: "{item}"}}]
      outputs: {n: "{item}"}
  - {id: after, block: work, params: {}}
""",
    faults=GENTLE,
)
def poison(stage: Stage) -> None:
    stage.script("all/1/s", None)
    slow = stage.held_up("all/2/s")
    run = stage.start("items")
    for number in range(3):

        def kill() -> None:
            # What else the worker has is no poison: it is handed back before.
            worker = stage.worker_of(run, "all/1/s")
            stage.hand_back([task for name, task in stage.claims if name == worker and task.path != "all/1/s"])
            stage.die(worker)

        stage.when(f"death {number}", lambda: stage.is_at(run, "all/1/s"), kill)
    stage.when("the others", lambda: not any(each.name.startswith("death") for each in stage.events), slow)
    stage.play()
    assert stage.status(run) == "completed"
    result = stage.state(run)["all"]
    assert [(each["index"], each["error"]["code"]) for each in result["failures"]] == [(1, "poisoned")]
    assert result["succeeded"] == 2
    assert stage.times_begun(run, "all/1/s") == 3


SECRET = "hunter2-hunter2"


@scenario(
    "a secret inside an error message",
    """
workflow: leaks
secrets: [TOKEN]
steps:
  - {id: s, block: work, params: {token: "{secrets.TOKEN}"}, retry: {max_attempts: 2, delay: 1s}}
compensate_on_failure: true
""",
    secrets=(SECRET,),
)
def secret_in_error(stage: Stage) -> None:
    stage.script("s", Failed("block-failed", f"the server said {SECRET} is wrong", "none"))
    run = stage.start("leaks")
    stage.play()
    status = stage.world.kernel.status(run)
    assert status.error is not None
    assert status.error.message == "the server said *** is wrong"
    assert SECRET not in repr(status)
    assert all(SECRET not in repr(event) for event in stage.log())
    export = stage.world.kernel.export(run)
    assert SECRET not in repr(export)


@scenario(
    "clock going backwards and jumping ahead",
    """
workflow: sleeps
steps:
  - {id: nap, delay: 10m}
  - id: hold
    concurrency: {resource: k, steps: [{id: s, block: work, params: {}}, {id: nap2, delay: 30m}]}
---
workflow: taker
steps: [{id: h, concurrency: {resource: k, steps: [{id: t, block: work, params: {}}]}}]
""",
    faults=("back", "ahead", "back", "ahead", "restart", "pass"),
)
def clocks(stage: Stage) -> None:
    go = stage.held_up("hold/s")
    first = stage.start("sleeps")
    stage.when("another", lambda: stage.holders("k") == [first], lambda: stage.start("taker"))
    stage.when("on", lambda: stage.waiters("k") != [], go)
    stage.play()
    assert [stage.status(run) for run in stage.runs] == ["completed", "completed"]
    times = [event.at for event in stage.log()]
    assert times == sorted(times)
    assert stage.order("lease.granted") == stage.runs
    for run in stage.runs:
        assert "worker.lost" not in stage.kinds(run)


@scenario(
    "deaths, sleeps and late results at any moment",
    HOLDS + "---" + WRITES,
    faults=("die", "sleep", "wake", "restart", "back", "pass"),
)
def troubles(stage: Stage) -> None:
    """Whatever strikes, a person finds every write that may have happened, and the rest ends by itself."""
    runs = [stage.start(name) for name in ("holds", "taker", "writes")]
    writes = runs[2]
    stage.world.kernel.tick()
    stage.play()
    while stage.status(writes) == "held_for_review":
        stage.world.kernel.review(writes, "not-committed")
        stage.play()
    poisoned = [run for run in runs if stage.error(run) == "poisoned"]
    for run in runs:
        assert stage.status(run) == "completed" or run in poisoned
    opened = len(stage.kinds(writes, "review.opened"))
    assert stage.times_begun(writes, "pub/act") <= 1 + opened
    accepted = [each for each in stage.log() if each.path == "pub/act" and each.kind == "step.completed"]
    assert len(accepted) == 1 or writes in poisoned
