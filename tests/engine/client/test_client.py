"""The Python API, with and without a loop."""

from __future__ import annotations

import asyncio
import doctest
import threading
from pathlib import Path
from typing import Any

import pytest

import interlock.engine.blocks.registry
import interlock.engine.client.asynchronous
import interlock.engine.client.sync
from interlock.engine.client import AsyncEngine, Engine
from interlock.engine.errors import CallerError
from interlock.engine.project import Refused

WAITS = """
workflow: waits
inputs: {n: number}
steps:
  - {id: a, block: set, params: {n: "{inputs.n * 2.0}"}}
  - {id: ok, wait_for_decision: {}}
outputs: {n: "{a.n}", outcome: "{decision.outcome}"}
"""


@pytest.mark.parametrize(
    "module", [interlock.engine.client.sync, interlock.engine.client.asynchronous, interlock.engine.blocks.registry]
)
def test_the_examples_of_the_documentation_run(module: Any) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_a_run_goes_from_dispatch_to_its_end(tmp_path: Path) -> None:
    with Engine.open(f"sqlite:///{tmp_path}/deep/er/s.db") as engine:
        assert engine.define(WAITS) == ("waits",)
        done = engine.dispatch("waits", {"n": 2}, idempotency_key="once")
        assert done.created
        assert engine.dispatch("waits", {"n": 3}, idempotency_key="once") == type(done)(done.run, False)
        assert engine.wait(done.run, timeout=0.05).status == "running"
        threading.Timer(0.3, lambda: engine.approve(done.run)).start()
        result = engine.resume(done.run)
        assert result.completed
        assert result.outputs == {"n": 4.0, "outcome": "approved"}
        assert [row.run for row in engine.runs(workflow="waits", status="completed")] == [done.run]
        assert [event.kind for event in engine.follow(done.run)][-1] == "run.completed"
        assert engine.export(done.run).definition["workflow"] == "waits"
        assert engine.stats().runs == {"completed": 1}
        assert engine.prune(0) == 1
        with pytest.raises(CallerError, match="unknown-run"):
            engine.status(done.run)


def test_the_same_verbs_are_awaited_in_a_loop(tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncEngine.open(f"sqlite:///{tmp_path}/s.db") as engine:
            engine.sync.define(WAITS)
            running = asyncio.create_task(engine.run("waits", {"n": 1.5}))
            while not (runs := engine.sync.runs()):
                await asyncio.sleep(0.01)
            run = runs[0].run
            await engine.reject(run, {"why": "no"})
            assert (await running).outputs == {"n": 3.0, "outcome": "rejected"}
            assert (await engine.wait(run, 1)).completed
            assert (await engine.status(run)).status == "completed"
            assert (await engine.events(run))[0].kind == "run.dispatched"
            with pytest.raises(CallerError, match="run-ended"):
                await engine.cancel(run)

    asyncio.run(main())


def test_a_definition_with_errors_is_refused_with_its_diagnostics(tmp_path: Path) -> None:
    with Engine.open(f"sqlite:///{tmp_path}/s.db") as engine:
        engine.define("workflow: w\nsteps:\n  - {id: a, block: htpp, params: {url: 'http://x'}}\n", "w.workflow.yaml")
        with pytest.raises(Refused, match=r"w\.workflow\.yaml:3") as caught:
            engine.dispatch("w")
        assert caught.value.code == "definition-refused"
        assert [one.name for one in caught.value.diagnostics] == ["unknown-block"]
        assert engine.runs() == []


@pytest.mark.parametrize(
    ("verb", "code"),
    [
        (lambda engine: engine.dispatch("nobody"), "unknown-workflow"),
        (lambda engine: engine.dispatch("waits"), "inputs-refused"),
        (lambda engine: engine.dispatch("waits", {"n": "x"}), "inputs-refused"),
        (lambda engine: engine.dispatch("waits", {"n": float("nan")}), "inputs-refused"),
        (lambda engine: engine.dispatch("waits", {"n": 1, "more": 1}), "inputs-refused"),
        (lambda engine: engine.dispatch("acts"), "not-allowed"),
        (lambda engine: engine.dispatch("cleans"), "not-allowed"),
        (lambda engine: engine.status("x"), "unknown-run"),
        (lambda engine: engine.status("x\udcff"), "bad-payload"),
        (lambda engine: engine.events("x\udcff"), "bad-payload"),
        (lambda engine: engine.cancel("x\udcff"), "bad-payload"),
        (lambda engine: engine.dispatch("waits", {"n": 1}, idempotency_key="\ud800"), "bad-payload"),
        (lambda engine: engine.load("/no/such/file.yaml"), "definition-refused"),
    ],
)
def test_refusals_have_a_code_and_store_nothing(tmp_path: Path, verb: Any, code: str) -> None:
    with Engine.open(f"sqlite:///{tmp_path}/s.db") as engine:
        engine.define(WAITS)
        engine.define("workflow: acts\nsteps: [{id: a, block: shell, params: {command: ls}}]\n")
        engine.define(
            "workflow: cleans\nsteps: [{id: a, block: set}]\n"
            "on_cancel: [{id: c, block: shell, params: {command: ls}}]\n"
        )
        with pytest.raises(CallerError) as caught:
            verb(engine)
        assert caught.value.code == code
        assert engine.runs() == []


def test_a_store_in_memory_refuses_what_needs_a_durable_one() -> None:
    with Engine.open("memory:") as engine:
        engine.define(WAITS)
        with pytest.raises(CallerError, match="wait of step") as caught:
            engine.dispatch("waits", {"n": 1})
        assert caught.value.code == "needs-store"


@pytest.mark.parametrize("url", ["", "sqlite:", "sqlite:///", "mysql://x", "/a/path"])
def test_an_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(CallerError) as caught:
        Engine.open(url)
    assert caught.value.code == "not-allowed"


@pytest.mark.parametrize(
    ("given", "shown"), [(1.0, "1.0"), (0.0, "0.0"), (True, "true"), (None, "null"), (2**70, "1.1805916207174113e21")]
)
def test_an_input_that_does_not_fit_is_shown_as_it_was_given(given, shown):
    with Engine.open("memory:") as engine:
        engine.define("workflow: w\ninputs: {n: integer}\nsteps: [{id: a, block: set}]")
        with pytest.raises(CallerError) as refused:
            engine.dispatch("w", {"n": given})
    assert str(refused.value).endswith(f"was given {shown}.")
