"""The other commands of the engine, on a real store, between processes."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

LEASE = """
workflow: lease
inputs: {image: string}
steps:
  - id: hold
    concurrency:
      resource: "image:{inputs.image}"
      steps:
        - {id: ok, wait_for_approval: {}}
"""


def dispatch(interlock: Any, text: str, *words: str) -> str:
    name = interlock.write("w.workflow.yaml", text)
    done = interlock("dispatch", name, "--json", *words)
    assert done.code == 0, done
    assert done.json["created"] is True
    run: str = done.json["run"]
    return run


def test_status_and_leases_say_who_holds_what_and_who_waits(inside: Any) -> None:
    first = dispatch(inside, LEASE, "--input", "image=7")
    second = dispatch(inside, LEASE, "--input", "image=7")
    waiting = inside("status", second).out
    assert f'hold: waits for the key "image:7", held by {first} since' in waiting
    assert "place 1 in line" in waiting
    assert 'holds       "image:7" (fence 1, for the step)' in inside("status", first).out
    (lease,) = inside("leases", "--json").json
    assert [lease["key"], lease["limit"]] == ["image:7", 1]
    assert [holder["run"] for holder in lease["holders"]] == [first]
    assert [waiter["run"] for waiter in lease["waiters"]] == [second]
    shown = inside("leases").out
    assert f"held by   {first}  fence 1" in shown
    assert f"1. waits  {second}" in shown
    assert inside("approve", first).code == 0
    assert inside.status(second)["holds"][0]["fence"] == 2
    assert inside("cancel", second, "--reason", "enough").out == f"Cancelled: {second}.\n"
    assert inside("leases").out == "Nobody holds or waits for anything.\n"


def test_the_queue_shows_active_and_waiting_runs(inside: Any) -> None:
    text = "workflow: q\nconcurrency: {limit: 1}\nsteps: [{id: ok, wait_for_approval: {}}]\n"
    first, second = dispatch(inside, text), dispatch(inside, text)
    assert inside("queue", "--json").json == [{"workflow": "q", "active": [first], "waiting": [second]}]
    assert f"1. waits  {second}" in inside("queue", "q").out
    assert f"queue       place 1, the slots are held by {first}" in inside("status", second).out


@pytest.mark.parametrize(
    ("step", "command", "outcome"),
    [
        ("{id: d, wait_for_decision: {}}", ("approve",), "approved"),
        ("{id: d, wait_for_decision: {}}", ("reject",), "rejected"),
        ("{id: d, wait_for_decision: {result_key: decision}}", ("signal", "rejected"), "rejected"),
    ],
)
def test_a_decision_is_answered_from_elsewhere(inside: Any, step: str, command: tuple[str, ...], outcome: str) -> None:
    run = dispatch(inside, f"workflow: w\nsteps: [{step}]\noutputs: {{o: '{{decision.outcome}}'}}\n")
    verb, *more = command
    assert inside(verb, run, *more, "--data", '{"why": "x"}', "--id", "s1").code == 0
    assert inside.status(run)["outputs"] == {"o": outcome}


def test_a_signal_sent_twice_with_its_id_counts_once(inside: Any) -> None:
    text = "workflow: w\nsteps: [{id: a, wait_for_signal: {name: go, result_key: r}}, {id: b, wait_for_approval: {}}]\n"
    run = dispatch(inside, text)
    inside.write("data.json", '{"n": 1.0}')
    assert inside("signal", run, "go", "--data", "@data.json", "--id", "7").out.startswith("Sent")
    assert "before" in inside("signal", run, "go", "--data", "@data.json", "--id", "7").out
    assert '"n": 1.0' in inside("status", run, "--json").out


def test_an_approval_cannot_be_rejected(inside: Any) -> None:
    run = dispatch(inside, "workflow: w\nsteps: [{id: a, wait_for_approval: {}}]\n")
    done = inside("reject", run)
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_an_answer_that_nothing_waits_for_is_said_to_be_stored(inside: Any) -> None:
    run = dispatch(inside, "workflow: w\nsteps: [{id: a, wait_for_decision: {}}, {id: b, delay: 1h}]\n")
    assert inside("approve", run).out == f"Approved: {run}.\n"
    late = inside("reject", run)
    assert (late.code, late.out.split(":")[0]) == (0, "Stored")
    kinds = [json.loads(line)["kind"] for line in inside("events", run, "--json").out.splitlines()]
    assert (kinds.count("signal.received"), kinds.count("signal.consumed")) == (2, 1)


def test_events_follow_a_run_to_its_end(interlock: Any) -> None:
    run = dispatch(interlock, "workflow: w\nsteps: [{id: a, block: set}, {id: b, wait_for_approval: {}}]\n")
    follower = interlock.start("events", run, "--follow", "--json")
    worker = interlock.start("worker", "--json")
    interlock.until("the wait", lambda: interlock.status(run)["status"] == "waiting_for_signal")
    interlock("approve", run)
    done = interlock.end(follower)
    kinds = [json.loads(line)["kind"] for line in done.out.splitlines()]
    assert kinds[0] == "run.dispatched"
    assert kinds[-1] == "run.completed"
    assert kinds.count("step.started") == 1
    worker.send_signal(signal.SIGTERM)
    said = [json.loads(line)["what"] for line in interlock.end(worker).out.splitlines()]
    assert said[0] == "working"
    assert said[-1] == "stopped"


def test_export_is_the_run_with_its_definition_and_events(inside: Any) -> None:
    run = dispatch(inside, "workflow: w\nsteps: [{id: a, wait_for_approval: {}}]\n")
    assert inside("export", run, "-o", "run.json").code == 0
    export = json.loads(inside.read("run.json"))
    assert export["definition"]["workflow"] == "w"
    assert export["status"]["run"] == run
    assert export["events"][0]["kind"] == "run.dispatched"
    assert inside("export", run).json == export


def test_a_failed_run_goes_on_from_its_failed_step(interlock: Any) -> None:
    text = (
        "workflow: w\nsteps:\n"
        "  - {id: a, block: shell, params: {command: 'echo a >> trace'}}\n"
        "  - {id: b, block: shell, params: {command: 'test -e go'}}\n"
    )
    name = interlock.write("w.workflow.yaml", text)
    assert interlock("run", name, "--allow", "shell").code == 1
    run = interlock.run_id()
    assert f"interlock retry {run}" in interlock("status", run).out
    assert interlock("run", "--resume", run, "--allow", "shell").code == 2
    interlock.write("go", "")
    assert interlock("retry", run).code == 0
    assert interlock("run", "--resume", run, "--allow", "shell").code == 0
    assert interlock.read("trace") == "a\n"


def test_prune_removes_what_ended_long_ago(inside: Any) -> None:
    name = inside.write("w.workflow.yaml", "workflow: w\nsteps: [{id: a, block: set}]\n")
    inside("run", name)
    assert inside("prune").out == "Removed 0 runs.\n"
    assert inside("prune", "--older-than", "0").out == "Removed 1 run.\n"
    assert inside("runs").out == "There are no such runs.\n"
    for wrong in ("soon", "7"):
        done = inside("prune", "--older-than", wrong)
        assert (done.code, done.err) == (
            2,
            f'interlock prune: --older-than: "{wrong}" is no duration; write 30d, 12h or 90m\n',
        )


REVIEW = """
workflow: pay
steps:
  - id: write
    concurrency:
      resource: account
      protected: true
      steps: [{id: post, block: shell, params: {command: "echo paid >> trace; test -e ok"}}]
      outputs: {n: 1}
outputs: {n: "{write.output.n}"}
"""


@pytest.mark.parametrize(
    ("decision", "ends", "trace"),
    [
        (("committed", "--result", '{"n": 9}'), "completed", "paid\n"),
        (("not-committed",), "completed", "paid\npaid\n"),
        (("abandon",), "failed", "paid\n"),
    ],
)
def test_a_write_whose_effect_is_unknown_is_settled_by_a_person(
    interlock: Any, decision: tuple[str, ...], ends: str, trace: str
) -> None:
    process = interlock.start("run", interlock.write("p.workflow.yaml", REVIEW), "--allow", "shell")
    run = interlock.until(
        "a run",
        lambda: (
            (interlock.folder / ".interlock/state.db").exists()
            and (interlock("runs", "--json").json or [{}])[0].get("run")
        ),
    )
    interlock.until("the review", lambda: interlock.status(run)["status"] == "held_for_review")
    assert f"interlock review {run}" in interlock("status", run).out
    assert "in review" in interlock("leases").out
    approved = interlock("approve", run)
    assert approved.out.startswith("Stored: ")
    assert f"interlock review {run}" in approved.out
    interlock.write("ok", "")
    assert interlock("review", run, *decision, "--by", "ann").code == 0
    done = interlock.end(process)
    assert done.code == (0 if ends == "completed" else 1)
    assert interlock.status(run)["status"] == ends
    assert interlock.read("trace") == trace
    assert interlock("review", run, "abandon").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("status", "nope"),
        ("events", "nope"),
        ("signal", "nope", "x"),
        ("approve", "nope"),
        ("reject", "nope"),
        ("cancel", "nope"),
        ("retry", "nope"),
        ("review", "nope", "abandon"),
        ("export", "nope"),
        ("runs", "--before", "nope"),
        ("runs", "--status", "odd"),
        ("review", "nope", "maybe"),
        ("review", "nope", "abandon", "--result", "1"),
        ("signal", "nope", "x", "--data", "{"),
        ("signal", "nope", "x", "--data", "@none"),
        ("worker", "--concurrency", "0"),
        ("worker", "--store", "memory:"),
    ],
)
@pytest.mark.parametrize("store", ["none", "empty", "damaged"])
def test_what_cannot_be_done_is_one_clear_line(inside: Any, words: tuple[str, ...], store: str) -> None:
    if store == "empty":
        inside("run", inside.write("w.workflow.yaml", "workflow: w\nsteps: [{id: a, block: set}]\n"))
    elif store == "damaged":
        (inside.folder / ".interlock").mkdir()
        (inside.folder / ".interlock" / "state.db").write_bytes(b"this is no database at all" * 100)
    done = inside(*words)
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.count("\n") == 1, done


def test_replay_says_that_a_run_and_its_export_decide_the_same(inside: Any) -> None:
    run = dispatch(inside, LEASE, "--input", "image=7")
    assert inside("approve", run).code == 0
    done = inside("replay", run)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"The run {run} of lease decides the same again: 3 turns by version ")
    inside("export", run, "--output", "run.json")
    again = inside("replay", "run.json", "--json")
    assert again.code == 0
    assert again.json["same"] is True
    assert again.json["turns"] == 3


def test_replay_names_the_first_difference_and_says_when_another_version_decided(inside: Any) -> None:
    run = dispatch(inside, LEASE, "--input", "image=7")
    inside("export", run, "--output", "run.json")
    export = json.loads(inside.read("run.json"))
    export["events"][1]["kind"] = "lease.skipped"
    inside.write("changed.json", json.dumps(export))
    done = inside("replay", "changed.json")
    assert done.code == 1
    assert f"The run {run} of lease decides otherwise at turn 1 (begun), in its events:" in done.out
    assert "lease.skipped" in done.out
    for entry in export["journal"]:
        entry["version"] = "0.0.1"
    inside.write("older.json", json.dumps(export))
    done = inside("replay", "older.json")
    assert done.code == 2
    assert done.out.startswith("The run was decided by version 0.0.1, and this is ")
    assert inside("replay", "older.json", "--any-version").code == 1


def test_replay_refuses_what_is_no_export_or_no_run(inside: Any) -> None:
    dispatch(inside, LEASE, "--input", "image=7")
    inside.write("odd.json", "[1]")
    for words in (["odd.json"], ["missing.json"], ["nosuchrun"]):
        done = inside("replay", *words)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1
