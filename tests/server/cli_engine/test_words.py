"""What the commands say to a person: names, hints that can be copied, and orders that stay the same."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from datetime import datetime
from typing import Any

import pytest

from interlock.engine.shown import Event
from interlock.server.cli.live import Lines

INTERRUPT = b"\x03"
DECISION = "workflow: w\nsteps: [{id: d, wait_for_decision: {}}]\n"


def dispatch(inside: Any, text: str, *words: str) -> str:
    run: str = inside("dispatch", inside.write("w.workflow.yaml", text), "--json", *words).json["run"]
    return run


def test_a_started_run_is_named_and_not_the_one_that_started_it(inside: Any) -> None:
    text = (
        "workflow: parent\nsteps:\n  - id: c\n    run_workflow: {workflow: child, result_key: r}\n"
        "---\nworkflow: child\nsteps: [{id: a, block: set}]\n"
    )
    done = inside("run", inside.write("p.workflow.yaml", text))
    assert done.code == 0, done
    (child,) = [one["run"] for one in inside("runs", "--json").json if one["workflow"] == "child"]
    assert f"c started the run {child}\n" in done.out


def at_terminal(interlock: Any, text: str, answers: list[tuple[bytes, bytes]]) -> str:
    """The screen of `run` at a terminal, where each text is answered in turn."""
    screen, terminal = pty.openpty()
    interlock.environment |= {"TERM": "xterm", "COLUMNS": "140", "LINES": "30"}
    process = subprocess.Popen(
        [sys.executable, "-m", "interlock.server.cli.main", "run", interlock.write("w.workflow.yaml", text)],
        cwd=interlock.folder,
        env=interlock.environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    interlock.started.append(process)
    os.close(terminal)
    seen, at = b"", 0
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        ready, _, _ = select.select([screen], [], [], 0.2)
        try:
            seen += os.read(screen, 65536) if ready else b""
        except OSError:
            break
        while answers and (found := seen.find(answers[0][0], at)) >= 0:
            at = found + len(answers[0][0])
            answer = answers.pop(0)[1]
            if answer == INTERRUPT:
                process.send_signal(signal.SIGINT)
            else:
                os.write(screen, answer)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(20)
    process.kill()
    os.close(screen)
    assert answers == [], seen.decode("utf-8", "replace")
    return seen.decode("utf-8", "replace")


def test_a_mistyped_answer_is_asked_again_and_the_run_is_named_from_the_start(interlock: Any) -> None:
    text = DECISION + "outputs: {o: '{decision.outcome}'}\n"
    shown = at_terminal(
        interlock, text, [(b"leave it open: ", b"maybe\n"), (b"Please answer y or n.", b""), (b"open: ", b"n\n")]
    )
    assert '"o": "rejected"' in shown
    run = interlock.run_id()
    assert f"run {run} of w" in shown
    assert shown.index(run) < shown.index("approve?")


def test_a_question_left_open_says_how_to_answer_it_later(interlock: Any) -> None:
    shown = at_terminal(interlock, DECISION, [(b"leave it open: ", b"\n"), (b"interlock reject", INTERRUPT)])
    run = interlock.run_id()
    assert f"interlock approve {run}, or interlock reject {run}" in shown


def test_a_status_says_how_to_answer_and_names_what_is_waited_for(inside: Any) -> None:
    run = dispatch(inside, DECISION)
    assert f"answer with: interlock approve {run}, or interlock reject {run}\n" in inside("status", run).out
    assert inside.status(run)["positions"][0]["waits_for"] == ["approved", "rejected"]
    run = dispatch(inside, "workflow: w\nsteps: [{id: d, wait_for_approval: {}}]\n")
    assert f"answer with: interlock approve {run}\n" in inside("status", run).out
    run = dispatch(inside, "workflow: w\nsteps: [{id: d, wait_for_signal: {name: go, result_key: r}}]\n")
    assert f"answer with: interlock signal {run} go --data JSON\n" in inside("status", run).out


def test_a_status_ends_with_the_definition_and_shows_only_declared_budgets(inside: Any) -> None:
    out = inside("status", dispatch(inside, DECISION)).out
    assert "budget" not in out
    assert out.splitlines()[-1].startswith("  definition  ")
    out = inside("status", dispatch(inside, DECISION + "budget: {max_state_bytes: 4000}\n")).out
    assert "  budget      state_bytes " in out
    assert "/4,000\n" in out


def test_maps_in_outputs_are_shown_by_their_keys(inside: Any) -> None:
    text = (
        "workflow: w\ninputs: {m: object}\nsteps: [{id: a, block: set, params: {m: '{inputs.m}'}}]\n"
        "outputs: {z: '{a.m}', b: 1}\n"
    )
    done = inside("run", inside.write("w.workflow.yaml", text), "--input", 'm={"y": 1, "c": {"q": 1, "d": 2}}')
    shown = json.loads(done.out[done.out.index("outputs:") + len("outputs:") :], object_pairs_hook=list)
    assert shown == [("z", [("c", [("d", 2), ("q", 1)]), ("y", 1)]), ("b", 1)]


NEAR = """
workflow: deploy
inputs: {max: {type: integer, default: 1}}
secrets: [TOKEN]
steps: [{id: a, block: set}]
"""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "n.workflow.yaml", "--input", "mx=2", "--secret", "TOKEN"), '"mx"; did you mean "max"?'),
        (("run", "n.workflow.yaml", "--workflow", "deplo"), '"deplo" here; did you mean "deploy"?'),
        (("run", "n.workflow.yaml", "--secret", "TOKN=TOKEN"), 'declares no secret "TOKN"; did you mean "TOKEN"?'),
        (("run", "n.workflow.yaml", "--secret", "OTHER=TOKEN"), 'declares no secret "OTHER"; leave it out'),
        (("review", "x", "commited"), 'no decision "commited"; did you mean "committed"?'),
        (("runs", "--status", "complete"), 'no status "complete"; did you mean "completed"?'),
        (("runs", "--account", ""), "--account: it is a text of at least one character"),
        (("runs", "--status", "waiting"), '"waiting_for_signal"'),
        (("runs", "--status", "odd"), "it is one of queued, running"),
    ],
)
def test_a_near_name_is_offered(
    inside: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.setenv("TOKEN", "a-secret-value")
    inside.write("n.workflow.yaml", NEAR)
    done = inside(*words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert says in done.err


def test_a_retry_that_has_failed_again_says_so(inside: Any) -> None:
    text = "workflow: w\ninputs: {n: integer}\nsteps:\n  - {id: b, block: set, params: {x: '{10 / inputs.n}'}}\n"
    run = dispatch(inside, text, "--input", "n=0")
    assert inside.status(run)["status"] == "failed"
    done = inside("retry", run)
    assert done.code == 1, done
    assert f"The run {run} failed at b: " in done.out
    assert "goes on" not in done.out


KEYED = """
workflow: w
inputs: {n: integer}
idempotency_key: "k"
steps: [{id: a, block: log, params: {message: "n is {inputs.n}"}}]
outputs: {n: "{inputs.n}"}
"""


def test_a_key_that_was_used_before_shows_no_old_history_as_if_it_were_new(inside: Any) -> None:
    file = inside.write("w.workflow.yaml", KEYED)
    assert "n is 1" in inside("run", file, "--input", "n=1").out
    run = inside.run_id()
    again = inside("run", file, "--input", "n=2")
    told = f"this idempotency key was used before, by run {run} of w: nothing new was started"
    assert again.code == 0
    assert f"{told}\n" in again.out
    assert "a started" not in again.out
    assert f"run {run} of w has completed; there is nothing left to do" in again.out
    inside.write("w.workflow.yaml", KEYED.replace("n is", "m is"))
    assert f"{told}, and the definition has changed since\n" in inside("run", file, "--input", "n=2").out
    inside("prune", "--older-than", "0")
    gone = inside("run", file, "--input", "n=2")
    assert (gone.code, gone.out) == (2, "")
    assert "ended and was pruned; nothing was run" in gone.err


def test_a_run_that_fails_says_so_to_those_who_wait_for_it(inside: Any) -> None:
    text = """
workflow: parent
steps: [{id: c, run_workflow: {workflow: child, result_key: r}}]
---
workflow: child
steps: [{id: f, block: fail, params: {message: no such tenant, code: no-tenant}}]
"""
    done = inside("run", inside.write("w.workflow.yaml", text))
    assert done.code == 1
    assert '" is failed. "child" failed with: no such tenant (no-tenant).' in done.out


def test_a_cancellation_has_a_reason_and_an_id_belongs_to_one_signal(inside: Any) -> None:
    run = dispatch(
        inside, "workflow: w\nsteps: [{id: d, wait_for_decision: {}}, {id: e, wait_for_signal: {name: go}}]\n"
    )
    assert inside("approve", run, "--id", "d1").code == 0
    rejected = inside("reject", run, "--id", "d1")
    assert rejected.code == 2
    assert 'The id "d1" is that of the signal "approved", which was sent before; take another id.' in rejected.err
    assert inside("approve", run, "--id", "d1").out == "This answer had been given before; nothing happened.\n"
    inside("cancel", run, "--reason", "wrong branch")
    asked = next(
        each
        for each in map(json.loads, inside("events", run, "--json").out.splitlines())
        if each["kind"] == "run.stop_requested"
    )
    assert asked["data"] == {"kind": "cancel", "reason": "wrong branch"}


def test_the_folder_of_the_store_is_kept_out_of_git(inside: Any) -> None:
    dispatch(inside, "workflow: w\nsteps: [{id: d, wait_for_decision: {}}]\n")
    assert (inside.folder / ".interlock" / ".gitignore").read_text() == "*\n"


def test_a_completed_run_that_is_resumed_says_that_it_has_completed(inside: Any) -> None:
    inside("run", inside.write("w.workflow.yaml", "workflow: w\nsteps: [{id: a, block: set}]\n"))
    run = inside.run_id()
    done = inside("run", "--resume", run)
    assert done.code == 0
    assert f"run {run} of w has completed" in done.out
    assert "goes on" not in done.out


def test_a_hint_to_go_on_names_the_secrets(inside: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "a-secret-value")
    text = "workflow: w\nsecrets: [TOKEN]\nsteps: [{id: no, block: fail, params: {message: m, code: c}}]\n"
    inside("run", inside.write("w.workflow.yaml", text), "--secret", "TOKEN")
    run = inside.run_id()
    assert f"interlock run --resume {run} --secret TOKEN, or" in inside("retry", run).out


def test_an_ended_run_logs_no_more_than_the_refusal_of_a_signal(inside: Any) -> None:
    run = dispatch(inside, "workflow: w\nsteps: [{id: a, wait_for_approval: {}}]\n")
    assert inside("approve", run).code == 0
    for words in (("approve", run), ("signal", run, "other")):
        done = inside(*words)
        assert (done.code, done.err.count("\n")) == (2, 1), done
    kinds = [json.loads(line)["kind"] for line in inside("events", run, "--json").out.splitlines()]
    assert set(kinds[kinds.index("run.completed") + 1 :]) <= {"signal.refused"}


def test_the_loss_of_a_worker_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    for number, (worker, path) in enumerate((("w1", "a"), ("w1", "b"), ("w2", "c"))):
        lines.event(Event(number, "r", 1.0, "worker.lost", path, 1, {"worker": worker}))
    shown = capsys.readouterr().out.splitlines()
    assert [line.split("s  ")[1] for line in shown] == ["a worker was lost: w1", "a worker was lost: w2"]


def test_a_refusal_is_json_for_a_program_and_words_for_a_person(inside: Any) -> None:
    wrong = inside.write("w.workflow.yaml", "workflow: w\nsteps: [{id: d, dely: 3s}]\n")
    for command in ("dispatch", "run"):
        done = inside(command, wrong, "--json")
        assert done.code == 2
        assert done.json["error"]["code"] == "definition-refused"
        (found,) = done.json["diagnostics"]
        assert (found["code"], found["line"], found["file"]) == ("IL103", 2, "w.workflow.yaml")
        assert '"dely" is no field of a step.' in done.err
    unknown = inside("status", "nobody", "--json")
    assert (unknown.code, unknown.json["error"]["code"]) == (2, "unknown-run")
    assert unknown.err == f"interlock: {unknown.json['error']['message']} (unknown-run)\n"


def test_events_tell_a_person_the_time_of_day(inside: Any) -> None:
    run = dispatch(inside, "workflow: w\nsteps: [{id: d, delay: 1h}]\n")
    told = inside("events", run).out
    (opened,) = [line for line in told.splitlines() if "wait.opened" in line]
    (event,) = [json.loads(line) for line in inside("events", run, "--json").out.splitlines() if "wait.opened" in line]
    moment = datetime.fromtimestamp(event["data"]["until"]).strftime("%Y-%m-%d %H:%M:%S")
    assert opened.endswith(f"until={moment}")


def test_a_secret_that_is_too_short_to_be_hidden_is_told(inside: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT", "abcde")
    monkeypatch.setenv("LONG", "abcdef")
    text = "workflow: w\nsecrets: [SHORT, LONG]\nsteps: [{id: a, block: set, params: {x: 1}}]\n"
    done = inside("run", inside.write("w.workflow.yaml", text), "--secret", "SHORT", "--secret", "LONG")
    assert done.code == 0
    told = [line for line in done.err.splitlines() if "not hidden" in line]
    assert told == ['interlock: the secret "SHORT" has fewer than 6 characters, so it is not hidden in what is shown']


def test_what_a_person_decides_is_json_for_a_program(inside: Any) -> None:
    text = "workflow: w\nsteps: [{id: a, wait_for_approval: {}}, {id: s, wait_for_signal: {name: go}}]\n"
    run = dispatch(inside, text)

    def line(*words: str) -> Any:
        done = inside(*words, "--json")
        assert done.code == 0, done
        assert done.out.count("\n") == 1
        return json.loads(done.out)

    early = {"run": run, "id": "i1", "repeated": False, "consumed": False}
    assert line("signal", run, "later", "--id", "i1") == early
    assert line("signal", run, "later", "--id", "i1") == early | {"repeated": True}
    assert line("approve", run, "--id", "i2") == {"run": run, "id": "i2", "repeated": False, "consumed": True}
    assert line("cancel", run) == {"run": run, "status": "cancelled"}
    assert line("prune", "--older-than", "0") == {"removed": 1}
    broken = "workflow: f\ninputs: {n: integer}\nsteps: [{id: a, block: set, params: {x: '{1 / inputs.n}'}}]\n"
    failed = dispatch(inside, broken, "--input", "n=0")
    retried = inside("retry", failed, "--json")
    assert retried.code == 1
    told = json.loads(retried.out)
    assert (told["run"], told["status"], told["error"]["code"]) == (failed, "failed", "expression")


def test_status_tells_what_was_not_undone_and_how_the_children_stand(inside: Any) -> None:
    text = """
workflow: w
steps:
  - {id: c, run_workflow: {workflow: child, result_key: r}}
  - id: a
    block: set
    params: {x: 1}
    compensate: {block: fail, params: {message: the bank is closed, code: bank-closed}}
  - {id: ask, wait_for_approval: {}}
---
workflow: child
steps: [{id: s, block: set, params: {x: 1}}]
"""
    run = dispatch(inside, text)
    worker = inside.start("worker")
    inside.until("the approval", lambda: inside.status(run)["status"] == "waiting_for_signal")
    inside("cancel", run)
    inside.until("the end", lambda: inside.status(run)["status"] == "cancelled")
    worker.terminate()
    inside.end(worker)
    told = inside("status", run).out
    assert "not undone  a: the bank is closed (bank-closed)" in told
    (child,) = [line for line in told.splitlines() if line.startswith("  child  ")]
    assert child.endswith("  child  completed")
