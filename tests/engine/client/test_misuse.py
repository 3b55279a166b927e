"""The Python API in the hands of a program that makes mistakes: each is told at once, and harms nothing else."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.engine.blocks.registry import Registry
from interlock.engine.client import AsyncEngine, Engine
from interlock.engine.errors import CallerError

OK = "workflow: ok\nsteps: [{id: a, block: set, params: {x: 1}}]\n"
ASKS = "workflow: asks\nsteps: [{id: a, wait_for_approval: {}}]\n"


def refused(code: str, act: Any, *given: Any, **named: Any) -> str:
    with pytest.raises(CallerError) as found:
        act(*given, **named)
    assert found.value.code == code
    return found.value.message


# --- definitions -----------------------------------------------------------------------------------


def test_the_errors_of_one_text_are_no_other_texts() -> None:
    with Engine.open("memory:") as engine:
        engine.define(OK)
        params = "{url: 'http://127.0.0.1:9/', headers: {authorization: '{secrets.B}'}}"
        engine.define(f"workflow: b\nsecrets: [B]\nsteps: [{{id: a, block: http, params: {params}}}]")
        error = engine.run("b").error
        assert error is not None
        assert error.code == "secret-unavailable"


@pytest.mark.parametrize("secrets", [{"A": 5}, {"A": b"bytes"}, 5, ["A"]])
def test_secrets_are_texts(secrets: Any) -> None:
    with pytest.raises(TypeError, match=r"^(The secret \"A\"|secrets) is a .*\.$"):
        Engine.open("memory:", secrets=secrets)


# --- event loops -----------------------------------------------------------------------------------


def test_running_inside_an_event_loop_is_refused_before_anything_is_stored() -> None:
    async def main(engine: Engine) -> None:
        with pytest.raises(RuntimeError, match=r"inside one use AsyncEngine\.run\.$"):
            engine.run("ok")
        with pytest.raises(RuntimeError, match=r"inside one use AsyncEngine\.resume\.$"):
            engine.resume("r")

    with Engine.open("memory:") as engine:
        engine.define(OK)
        asyncio.run(main(engine))
        assert engine.runs() == []


def test_every_verb_of_the_engine_is_there_awaited(tmp_path: Path) -> None:
    verbs = {name for name in vars(Engine) if not name.startswith("_") and callable(getattr(Engine, name))}
    inner = {"close", "definition", "finish", "worker", "result", "answer_name", "still_there"}
    assert verbs - inner <= set(vars(AsyncEngine))

    async def main() -> None:
        async with AsyncEngine.open(f"sqlite:///{tmp_path / 's.db'}") as engine:
            assert await engine.define(ASKS) == ("asks",)
            run = (await engine.dispatch("asks")).run
            await engine.approve(run)
            assert (await engine.resume(run)).completed
            assert [row.run for row in await engine.runs(status="completed")] == [run]
            kinds = [event.kind async for event in engine.follow(run)]
            assert (kinds[0], kinds[-1]) == ("run.dispatched", "run.completed")
            assert await engine.leases() == []
            assert await engine.queue() == []
            assert (await engine.stats()).runs == {"completed": 1}
            assert (await engine.wait(run, timedelta(seconds=1))).completed

    asyncio.run(main())


# --- arguments -------------------------------------------------------------------------------------


def test_the_key_of_a_run_that_was_pruned_says_so(tmp_path: Path) -> None:
    with Engine.open(f"sqlite:///{tmp_path / 's.db'}") as engine:
        engine.define(OK)
        first = engine.run("ok", idempotency_key="once")
        assert engine.run("ok", idempotency_key="once") == first
        assert engine.prune(0) == 1
        again = engine.dispatch("ok", idempotency_key="once")
        assert (again.run, again.created) == (first.run, False)
        message = refused("unknown-run", engine.run, "ok", idempotency_key="once")
        assert message == (
            f'The idempotency key is that of the run "{first.run}", which ended and was pruned; nothing was run.'
        )


def test_wrong_arguments_are_told_in_one_sentence() -> None:
    with Engine.open("memory:") as engine:
        engine.define(OK)
        assert refused("inputs-refused", engine.dispatch, "ok", ["a"]) == (
            "The inputs are a mapping from names to values, not of type list."
        )
        refused("needs-store", engine.dispatch, "ok", idempotency_key="k")
        run = engine.run("ok").run
        for act, sentence in [
            (lambda: engine.wait(run, "1s"), "timeout is a number of seconds or a timedelta, not '1s'."),
            (lambda: engine.prune("30d"), "older_than is a number of seconds or a timedelta, not '30d'."),
            (lambda: engine.dispatch("ok", account=5), "account is a text, not 5."),
            (lambda: engine.worker(concurrency="2"), "concurrency is a whole number, not '2'."),
            (lambda: engine.worker(grace="1s"), "grace is a number of seconds or a timedelta, not '1s'."),
        ]:
            with pytest.raises(TypeError) as wrong:
                act()  # type: ignore[no-untyped-call]
            assert str(wrong.value) == sentence
        for act, sentence in [
            (lambda: engine.prune(-1), "older_than is 0 seconds or more, not -1."),
            (lambda: engine.prune(float("nan")), "older_than is 0 seconds or more, not nan."),
            (lambda: engine.dispatch("ok", account=""), "account is a text of at least one character."),
            (lambda: engine.worker(concurrency=0), "concurrency is 1 or more, not 0."),
        ]:
            with pytest.raises(ValueError, match=r"not|least") as found:
                act()  # type: ignore[no-untyped-call]
            assert str(found.value) == sentence
        with pytest.raises(ValueError, match=r"^status is one of queued, .*, superseded, not 'done'\.$"):
            engine.runs(status="done")
        assert engine.prune(timedelta(days=1)) == 0


def test_a_registry_knows_itself_what_is_allowed() -> None:
    with pytest.raises(TypeError, match=r"^Where blocks is a Registry, it is that Registry which is given allow\.$"):
        Engine.open("memory:", blocks=Registry(), allow=["shell"])
    with Engine.open("memory:", blocks=Registry(allow=["shell"])) as engine:
        assert engine.registry.may_run("shell")


def test_an_idempotency_key_is_a_text(tmp_path: Path) -> None:
    with Engine.open(f"sqlite:///{tmp_path / 's.db'}") as engine:
        engine.define(OK)
        for key in (5, "", "k" * 513):
            assert refused("inputs-refused", engine.dispatch, "ok", idempotency_key=key) == (
                "An idempotency key is a text of 1 to 512 characters."
            )
