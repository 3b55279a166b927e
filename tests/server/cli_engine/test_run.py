"""``interlock run``: what it shows, its exit codes, and that a run outlives its process."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import time
from typing import Any

import pytest

HELLO = """
workflow: hello
inputs:
  name: string
  n: {type: integer, default: 1}
  any: {type: any, required: false}
steps:
  - {id: sum, block: set, params: {x: "{inputs.n + 1}"}}
  - {id: say, block: log, params: {message: "hi {inputs.name} {sum.x}"}}
  - {id: odd, when: "{inputs.n > 100}", block: set}
outputs: {x: "{sum.x}", half: "{double(inputs.n) / 2.0}"}
"""


def test_a_run_shows_its_steps_and_ends_with_its_outputs(interlock: Any) -> None:
    done = interlock("run", interlock.write("h.workflow.yaml", HELLO), "--input", "name=a=b", "--input", "n=4")
    assert done.code == 0
    lines = [re.sub(r"^ *([0-9.]+s)? +", "", line) for line in done.out.splitlines()]
    for earlier, later in (
        ("sum started", "sum done"),
        ("sum done", "say started"),
        ("say started", "say [info] hi a=b 5"),
        ("say [info] hi a=b 5", "say done"),
        ("say done", "odd skipped"),
        ("odd skipped", "completed"),
    ):
        assert lines.index(earlier) < lines.index(later), done
    assert done.out.endswith('outputs:\n{\n  "x": 5,\n  "half": 2.0\n}\n')


def test_the_result_alone_as_json(interlock: Any) -> None:
    interlock.write("in.json", '{"name": "x", "n": 2, "any": [1.0, null]}')
    done = interlock("run", interlock.write("h.workflow.yaml", HELLO), "--inputs", "in.json", "--json")
    assert done.code == 0
    assert done.json["status"] == "completed"
    assert done.json["outputs"] == {"x": 3, "half": 1.0}
    assert '"half": 1.0' in done.out


def test_a_failed_run_says_where_and_why_and_how_to_go_on(interlock: Any) -> None:
    text = "workflow: w\nsteps:\n  - {id: no, block: fail, params: {message: out of stock, code: no_stock}}\n"
    done = interlock("run", interlock.write("w.workflow.yaml", text))
    assert done.code == 1
    run = interlock.run_id()
    assert f"The run {run} failed at no: out of stock (no_stock)" in done.out
    assert f"interlock retry {run}" in done.out


def test_a_definition_with_errors_is_refused_with_the_diagnostics_of_check(interlock: Any) -> None:
    name = interlock.write(
        "w.workflow.yaml", "workflow: w\nsteps:\n  - {id: a, blok: http, params: {}}\n  - {id: a, block: set}\n"
    )
    refused = interlock("run", name)
    checked = interlock("check", name)
    assert refused.code == 2
    assert refused.out == checked.out
    assert "unknown-field" in refused.out
    assert not (interlock.folder / ".interlock").exists()


def test_a_workflow_is_judged_with_those_it_starts_and_no_others(interlock: Any) -> None:
    interlock.write("interlock.toml", "")
    interlock.write(
        "child.workflow.yaml", "workflow: child\nsteps: [{id: a, block: set, params: {v: 7}}]\noutputs: {v: '{a.v}'}\n"
    )
    interlock.write("bad.workflow.yaml", "workflow: bad\nsteps: [{id: a, block: nope}]\n")
    parent = "workflow: parent\nsteps:\n  - id: c\n    run_workflow: {workflow: %s, result_key: r}\n"
    good = interlock("run", interlock.write("p.workflow.yaml", parent % "child"))
    assert good.code == 0, good
    bad = interlock("run", interlock.write("q.workflow.yaml", parent % "bad"))
    assert bad.code == 2
    assert "unknown-block" in bad.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "FILE"),
        (["h.workflow.yaml", "--resume", "x"], "FILE"),
        (["nothing.yaml"], "no such file"),
        (["."], "folder"),
        (["h.workflow.yaml"], '"name"'),
        (["h.workflow.yaml", "--input", "name"], "NAME=VALUE"),
        (["h.workflow.yaml", "--input", "name=x", "--input", "n=many"], "whole number"),
        (["h.workflow.yaml", "--input", "name=x", "--input", "n=1.5"], '"n"'),
        (["h.workflow.yaml", "--input", "nam=x"], '"nam"'),
        (["h.workflow.yaml", "--inputs", "none.json"], "cannot be read"),
        (["h.workflow.yaml", "--inputs", "h.workflow.yaml"], "JSON"),
        (["h.workflow.yaml", "--secret", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE"),
        (["h.workflow.yaml", "--allow", "http"], "needs no permission"),
        (["h.workflow.yaml", "--blocks", "no_such_module"], "no_such_module"),
        (["h.workflow.yaml", "--workflow", "other", "--input", "name=x"], "other"),
        (["h.workflow.yaml", "--store", "mysql://x", "--input", "name=x"], "store"),
        (["h.workflow.yaml", "--bogus"], "--bogus"),
        (["--resume", "unknown"], "store"),
        (["shell.workflow.yaml"], "--allow shell"),
        (["two.workflow.yaml"], "several"),
        (["wait.workflow.yaml", "--store", "memory:"], "wait"),
        (["secret.workflow.yaml"], "--secret TOKEN"),
        (["binary.workflow.yaml"], "binary"),
    ],
)
def test_wrong_usage_is_one_clear_line_and_stores_nothing(inside: Any, words: list[str], says: str) -> None:
    inside.write("h.workflow.yaml", HELLO)
    inside.write("shell.workflow.yaml", "workflow: s\nsteps: [{id: a, block: shell, params: {command: ls}}]\n")
    inside.write("wait.workflow.yaml", "workflow: s\nsteps: [{id: a, wait_for_approval: {}}]\n")
    inside.write(
        "two.workflow.yaml",
        "workflow: a\nsteps: [{id: a, block: set}]\n---\nworkflow: b\nsteps: [{id: a, block: set}]\n",
    )
    inside.write("secret.workflow.yaml", "workflow: s\nsecrets: [TOKEN]\nsteps: [{id: a, block: set}]\n")
    (inside.folder / "binary.workflow.yaml").write_bytes(b"a\0b")
    done = inside("run", *words)
    assert done.code == 2, done
    assert says in done.err
    assert done.err.count("\n") == 1, done
    if (inside.folder / ".interlock" / "state.db").exists():
        assert inside("runs", "--json").json == []


STEPS = """
workflow: steps
steps:
  - {id: one, block: shell, params: {command: "echo one >> trace"}}
  - {id: two, block: shell, params: {command: "echo two >> trace; test -e go || sleep 600"}}
  - {id: three, block: shell, params: {command: "echo three >> trace"}}
"""


@pytest.mark.parametrize("by", ["resume", "worker"])
def test_a_run_killed_in_the_middle_goes_on_without_repeating_what_settled(interlock: Any, by: str) -> None:
    killed = interlock.start("run", interlock.write("s.workflow.yaml", STEPS), "--allow", "shell")
    interlock.until("the second step", lambda: "two" in interlock.read("trace"))
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    interlock.write("go", "")
    run = interlock.run_id()
    assert interlock.status(run)["status"] == "running"
    if by == "resume":
        done = interlock("run", "--resume", run, "--allow", "shell")
        assert done.code == 0
        assert "1 step done so far" in done.out
    else:
        worker = interlock.start("worker", "--allow", "shell", "--json")
        interlock.until("the end", lambda: interlock.status(run)["status"] == "completed")
        worker.send_signal(signal.SIGTERM)
        assert interlock.end(worker).code == 0
    assert interlock.read("trace") == "one\ntwo\ntwo\nthree\n"


def test_ctrl_c_leaves_a_run_that_can_go_on_and_says_how(interlock: Any) -> None:
    text = "workflow: w\nsteps:\n  - {id: a, block: set}\n  - {id: ok, wait_for_approval: {}}\n"
    process = interlock.start("run", interlock.write("w.workflow.yaml", text))
    run = interlock.until(
        "a run",
        lambda: (
            (interlock.folder / ".interlock/state.db").exists()
            and (interlock("runs", "--json").json or [{}])[0].get("run")
        ),
    )
    interlock.until("the wait", lambda: interlock.status(run)["status"] == "waiting_for_signal")
    process.send_signal(signal.SIGINT)
    done = interlock.end(process)
    assert done.code == 130
    assert f"interlock approve {run}" in done.out
    assert f"interlock run --resume {run}" in done.out
    assert interlock("approve", run).code == 0
    assert interlock("run", "--resume", run).code == 0
    again = interlock("run", "--resume", run, "--json")
    assert again.json["status"] == "completed"


def test_a_key_dispatches_once(interlock: Any) -> None:
    name = interlock.write("h.workflow.yaml", HELLO)
    words = ("run", name, "--input", "name=x", "--idempotency-key", "k1", "--json")
    assert interlock(*words).json["run"] == interlock(*words).json["run"]


def test_a_secret_is_used_and_never_shown(interlock: Any) -> None:
    text = """
workflow: w
secrets: [TOKEN]
steps:
  - id: use
    block: shell
    params:
      command: "printf %s \\"$T\\" | base64; printf %s \\"$T\\" > used; echo $T >&2; exit 3"
      env: {T: "{secrets.TOKEN}"}
"""
    interlock.environment["MY_TOKEN"] = "s3cr3t-value"
    name = interlock.write("w.workflow.yaml", text)
    done = interlock("run", name, "--allow", "shell", "--secret", "TOKEN=MY_TOKEN")
    assert done.code == 1
    assert interlock.read("used") == "s3cr3t-value"
    run = interlock.run_id()
    shown = [done, *(interlock(*words, run) for words in (("status",), ("events",), ("export",)))]
    for each in shown:
        assert "s3cr3t-value" not in each.out + each.err
    assert "***" in done.out
    for path in (interlock.folder / ".interlock").iterdir():
        assert b"s3cr3t-value" not in path.read_bytes()


def test_a_secret_in_a_result_stays_hidden_from_processes_that_do_not_know_it(interlock: Any) -> None:
    text = """
workflow: w
secrets: [TOKEN]
steps:
  - {id: echo, block: shell, params: {command: 'echo "token $T"', env: {T: "{secrets.TOKEN}"}}}
  - {id: copy, block: set, params: {again: "{echo.stdout}"}}
outputs: {o: "{copy.again}"}
"""
    interlock.environment["TOKEN"] = "s3cr3t-value"
    name = interlock.write("w.workflow.yaml", text)
    done = interlock("run", name, "--allow", "shell", "--secret", "TOKEN")
    assert done.code == 0
    del interlock.environment["TOKEN"]
    run = interlock.run_id()
    for each in (done, *(interlock(*words, run) for words in (("status",), ("events",), ("export",)))):
        assert "s3cr3t-value" not in each.out + each.err
    assert interlock.status(run)["outputs"] == {"o": "token ***\n"}
    for path in (interlock.folder / ".interlock").iterdir():
        assert b"s3cr3t-value" not in path.read_bytes()


def test_blocks_of_a_module_and_their_manifest(interlock: Any) -> None:
    interlock.write(
        "mine.py",
        "from interlock.engine.blocks import block\n"
        "@block('text.repeat', effects=False)\n"
        "def repeat(text: str, times: int = 2) -> str:\n"
        '    """Repeats a text."""\n'
        "    return text * times\n",
    )
    name = interlock.write(
        "w.workflow.yaml",
        "workflow: w\nsteps:\n  - {id: a, block: text.repeat, params: {text: ab}}\noutputs: {a: '{a}'}\n",
    )
    assert interlock("run", name).code == 2
    done = interlock("run", name, "--blocks", "mine", "--json")
    assert done.json["outputs"] == {"a": "abab"}
    assert interlock("blocks", "export", "--blocks", "mine", "-o", "interlock.blocks.json").code == 0
    assert interlock("check", name).code == 0
    without = interlock("run", name)
    assert without.code == 2
    assert "--blocks" in without.err
    assert "text.repeat" in interlock("blocks", "--blocks", "mine").out


def test_a_manifest_that_is_not_what_the_blocks_say_is_told(interlock: Any) -> None:
    code = (
        "from interlock.engine.blocks import block\n"
        "@block('text.repeat', effects=False)\n"
        "def repeat(text: str, times: int = 2) -> str:\n"
        "    return text * times\n"
    )
    more = "@block('text.upper', effects=False)\ndef upper(text: str) -> str:\n    return text.upper()\n"
    check = ("blocks", "export", "--check", "--blocks", "mine")
    interlock.write("mine.py", code)
    done = interlock(*check)
    assert (done.code, done.out) == (1, "")
    assert 'is not there; write it again with interlock blocks export --blocks mine --output "interlock.' in done.err
    manifest = interlock.folder / "interlock.blocks.json"
    assert not manifest.exists()
    assert interlock("blocks", "export", "--blocks", "mine", "-o", manifest.name).code == 0
    assert interlock(*check).code == 0
    manifest.write_text(json.dumps({"$schema": "x", **json.loads(manifest.read_text("utf-8"))}), "utf-8")
    assert interlock(*check).code == 0

    interlock.write("mine.py", code.replace("times: int = 2", "times: int = 3") + more)
    before = manifest.read_bytes()
    done = interlock(*check)
    assert done.code == 1
    assert '"text.upper" is missing, "text.repeat" has changed; write it again' in done.err
    assert manifest.read_bytes() == before
    assert interlock("blocks", "export", "--blocks", "mine", "-o", "other.json").code == 0
    assert interlock(*check, "--output", "other.json").code == 0
    interlock.write("mine.py", code.replace("times: int = 2", "times: int = 3"))
    done = interlock(*check, "--output", "other.json")
    assert done.code == 1
    assert '"text.upper" is no longer there; write it again' in done.err

    manifest.write_text("{", "utf-8")
    done = interlock(*check)
    assert done.code == 1
    assert "cannot be read as a manifest: The manifest is not JSON" in done.err
    assert interlock(*check, "--output", ".").code == 2
    done = interlock("blocks", "--check", "--blocks", "mine")
    assert done.code == 2
    assert "interlock blocks export --check" in done.err


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ("@block('t', effects='no')", '"effects" must be true, false'),
        ("@block('t', secret_results='token')", 'secret_results is a list of texts, such as ["token"]'),
        ("@block('t', doc=5)", '"doc" must be text.'),
        ("@block", 'needs the name of the block before what it marks: @block("shop.price").'),
    ],
)
def test_a_wrong_mark_is_one_sentence_and_writes_no_manifest(interlock: Any, mark: str, says: str) -> None:
    interlock.write(
        "mine.py", f"from interlock.engine.blocks import block\n{mark}\ndef f(text: str) -> str:\n    return text\n"
    )
    for words in (("list",), ("export", "--output", "interlock.blocks.json")):
        done = interlock("blocks", *words, "--blocks", "mine")
        assert (done.code, done.out) == (2, "")
        assert says in done.err
        assert "Traceback" not in done.err
        assert done.err.count("\n") == 1
    assert not (interlock.folder / "interlock.blocks.json").exists()


def test_the_terminal_asks_for_what_a_run_waits_for(interlock: Any) -> None:
    text = """
workflow: w
steps:
  - {id: ok, wait_for_decision: {}}
  - {id: more, wait_for_signal: {name: note, result_key: note}}
outputs: {outcome: "{decision.outcome}", note: "{note}"}
"""
    name = interlock.write("w.workflow.yaml", text)
    screen, terminal = pty.openpty()
    interlock.environment |= {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    import subprocess
    import sys

    process = subprocess.Popen(
        [sys.executable, "-m", "interlock.server.cli.main", "run", name],
        cwd=interlock.folder,
        env=interlock.environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    seen = b""
    answers = [(b"approve? [y]es", b"y\n"), (b'the signal "note"', b"nonsense\n"), (b"That is no JSON", b'{"a": 1}\n')]
    limit = time.monotonic() + 40
    while time.monotonic() < limit:
        try:
            part = os.read(screen, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
        if answers and answers[0][0] in seen:
            os.write(screen, answers.pop(0)[1])
    assert process.wait(10) == 0, seen.decode("utf-8", "replace")
    os.close(screen)
    shown = seen.decode("utf-8", "replace")
    assert '"outcome": "approved"' in shown
    assert '"a": 1' in shown
