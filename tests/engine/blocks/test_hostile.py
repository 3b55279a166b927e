"""Blocks that fork, fail with what is no text, or wait for a place: they harm neither others nor the worker."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.engine.blocks import BlockFailed, Context, Registry, block
from interlock.engine.blocks.children import Children
from interlock.engine.blocks.running import run_block
from interlock.engine.client import AsyncEngine, Engine
from interlock.engine.ports import Failed, Outcome, Success

Run = Callable[..., Outcome]


@block("fork.both", effects=False)
def both() -> dict[str, bool]:
    return {"copy": os.fork() == 0}


@block("fork.left", effects=False)
def left() -> None:
    if os.fork():
        os._exit(3)
    time.sleep(600)


@block("sleeps", effects=True)
def sleeps(seconds: float) -> str:
    time.sleep(seconds)
    return "done"


class Unsayable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def _fail(how: str) -> None:
    if how == "unsayable":
        raise Unsayable
    if how == "half a pair":
        raise ValueError("\ud800")
    raise BlockFailed(5, effect="maybe", code=7)  # type: ignore[arg-type]


@block("fails.here", effects=False)
async def fails_here(how: str) -> None:
    _fail(how)


@block("fails.there", effects=False)
def fails_there(how: str) -> None:
    _fail(how)


def test_the_copy_of_a_process_that_forks_gives_no_second_answer(run: Run) -> None:
    assert run("fork.both", {}, blocks=(both,), repeat=5) == Success({"copy": False})


def test_a_copy_that_is_left_does_not_hide_that_the_process_has_ended(run: Run) -> None:
    outcome = run("fork.left", {}, blocks=(left,))
    assert isinstance(outcome, Failed)
    assert outcome.code == "block-failed"
    assert "ended without an answer" in outcome.message


@pytest.mark.parametrize("name", ["fails.here", "fails.there"])
@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("unsayable", Failed("block-failed", "Unsayable: its text cannot be written", "none")),
        ("half a pair", Failed("block-failed", "ValueError: ?", "none")),
        ("no words", Failed("effect-unknown", "5", "unknown")),
    ],
)
def test_whatever_a_block_says_of_its_failure_can_be_stored(run: Run, name: str, how: str, expected: Failed) -> None:
    assert run(name, {"how": how}, blocks=(fails_here, fails_there)) == expected


def test_the_wait_for_a_place_is_no_time_of_the_block() -> None:
    async def main() -> list[Outcome]:
        children = Children(limit=1)
        registry = Registry([sleeps])
        context = Context(services={"children": children})
        try:
            await run_block(registry, "sleeps", {"seconds": 0}, context)  # the child stands
            calls = [
                run_block(registry, "sleeps", {"seconds": 2}, Context(services={"children": children}), timeout=5)
                for _ in range(4)
            ]
            return await asyncio.gather(*calls)
        finally:
            await children.close()

    assert asyncio.run(main()) == [Success("done")] * 4


WAITS = "workflow: waits\nsteps: [{id: ok, wait_for_approval: {result_key: answer}}]\n"


def test_many_that_wait_keep_no_thread_and_can_be_cancelled(tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncEngine.open(f"sqlite:///{tmp_path}/s.db") as engine:
            engine.sync.define(WAITS)
            run = (await engine.dispatch("waits")).run
            waiting = [asyncio.create_task(engine.wait(run)) for _ in range(80)]
            await asyncio.sleep(0.3)
            assert (await engine.status(run)).status == "waiting_for_signal"
            for task in waiting:
                task.cancel()
            ends = await asyncio.gather(*waiting, return_exceptions=True)
            assert {type(end) for end in ends} == {asyncio.CancelledError}

    asyncio.run(asyncio.wait_for(main(), 60))


def test_numbers_beyond_the_stores_own_are_counts_too(tmp_path: Path) -> None:
    with Engine.open(f"sqlite:///{tmp_path}/s.db") as engine:
        engine.define(WAITS)
        run: Any = engine.dispatch("waits").run
        assert [row.run for row in engine.runs(limit=10**30)] == [run]
        assert engine.events(run, after=10**30) == []
        assert len(engine.events(run, limit=sys.maxsize * 4)) == len(engine.events(run)) > 0
