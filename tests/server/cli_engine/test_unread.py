"""``run`` and ``worker`` where whoever read their output has gone away."""

from __future__ import annotations

import signal
from typing import Any

import pytest

TALKS = """
workflow: talks
steps:
  - id: all
    for_each:
      items: [1, 2, 3]
      steps: [{id: say, block: log, params: {message: "line {item}"}}]
  - {id: rest, delay: 1s}
  - {id: last, block: log, params: {message: last}}
  - {id: answer, block: ANSWER}
"""


@pytest.mark.parametrize(
    ("answer", "code", "status"),
    [("set", 0, "completed"), ("fail, params: {message: 'no'}", 1, "failed")],
)
def test_a_run_that_nobody_reads_goes_on_and_its_exit_code_tells(
    interlock: Any, answer: str, code: int, status: str
) -> None:
    interlock.write("talks.workflow.yaml", TALKS.replace("ANSWER", answer))
    process = interlock.start("run", "talks.workflow.yaml")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == code
    assert process.stderr.read() == ""
    run = interlock.status(interlock.run_id())
    assert run["status"] == status
    assert run["error"] is None or run["error"]["path"] == "answer"


def test_a_worker_that_nobody_reads_fails_no_block_and_ends(interlock: Any) -> None:
    interlock.write("talks.workflow.yaml", TALKS.replace("ANSWER", "set"))
    worker = interlock.start("worker", "--json")
    worker.stdout.readline()
    worker.stdout.readline()
    worker.stdout.close()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0
    assert worker.stderr.read() == ""
