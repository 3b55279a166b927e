"""``interlock run``: checks a workflow, dispatches it, and works until the run has ended.

Exit 0: completed; 1: failed or stopped; 2: wrong usage, or refused before anything was stored.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from interlock.engine.client import TERMINAL, Engine, RunResult
from interlock.engine.errors import CallerError
from interlock.engine.ports import Definition
from interlock.engine.shown import RunStatus
from interlock.engine.worker import LogLine, Worker
from interlock.server.cli import definitions
from interlock.server.cli import engine_commands as common
from interlock.server.cli.hints import failure, in_store, resuming
from interlock.server.cli.live import View, view_for
from interlock.server.cli.main import UsageError, silence
from interlock.server.cli.questions import Questions

_ENDS = frozenset(f"run.{status}" for status in TERMINAL)
LOOK_SECONDS = 0.08
STANDING_SECONDS = 0.4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?")
    parser.add_argument("--others", action="store_true", help="also work on the other runs of the store")
    parser.add_argument("--resume", metavar="RUN", help="go on with a stored run instead")
    common.add_inputs(parser)
    common.add_secrets(parser)
    common.add_store(parser, as_json=True)
    common.add_account(parser)
    common.add_blocks(parser)


@common.speaking
def run(options: common.Options) -> int:
    if (options.file is None) == (options.resume is None):
        raise UsageError("name a workflow FILE, or --resume RUN")
    if options.resume is not None and (options.input or options.inputs or options.idempotency_key):
        raise UsageError("a resumed run has its inputs already")
    secrets, variables = common.given_secrets(options)
    registry = common.registry_of(options)
    if options.file is not None:
        definition = definitions.definition_of(options, registry)
        definitions.check_code(definition, registry)
        definitions.check_secrets(definition, secrets, others=options.others)
        inputs = definitions.inputs_of(options, definition.workflow)
    with common.engine_of(options, make=options.resume is None, registry=registry, secrets=secrets) as engine:
        before = ""
        if options.resume is not None:
            name = _resumable(engine, options.resume, secrets, options.others)
        else:
            done = engine.dispatch(definition, inputs, idempotency_key=options.idempotency_key)
            name = done.run
            if not done.created:
                engine.still_there(done)
                before = _used_before(engine.status(name), definition)
        session = _Session(engine, name, options, variables, before)
        return asyncio.run(session.drive())


def _resumable(engine: Engine, name: str, secrets: dict[str, str], others: bool) -> str:
    """The run if it can go on here; its definition is the stored one."""
    status = engine.status(name)
    if status.status in TERMINAL and status.status != "completed":
        how = f"; go on with: interlock retry {name}" if status.retryable else ""
        raise CallerError("run-ended", f'The run "{name}" has ended: it is {status.status}{how}.')
    if status.status == "completed":
        return name
    definition = definitions.stored_definition(engine, name)
    engine.definition(definition)
    definitions.check_code(definition, engine.registry)
    definitions.check_secrets(definition, secrets, others=others)
    return name


def _used_before(status: RunStatus, definition: Definition) -> str:
    """What to tell a person whose idempotency key stands for a run that is there already."""
    told = f"this idempotency key was used before, by run {status.run} of {status.workflow}: nothing new was started"
    if status.workflow != definition.name:
        return f"{told}, and that is another workflow"
    if status.closure_hash != definition.closure_hash:
        return f"{told}, and the definition has changed since"
    return told


class _Session:
    """One run, the worker that does it, and the person who looks on."""

    def __init__(
        self, engine: Engine, name: str, options: common.Options, variables: frozenset[str], before: str
    ) -> None:
        self.engine = engine
        self.name = name
        self.options = options
        self.view: View = view_for(options.json, options.store)
        self.questions = Questions(engine, self.view, options.store)
        self.worker: Worker = engine.worker(
            only_for=name, others=options.others, on_log=self._log, hidden_environment=variables
        )
        self.interrupted = 0
        self._seen = 0
        self._over = False
        if before:
            self._say(self.view.note, before)
        if options.resume is not None or before:
            self._skip_history()

    def _skip_history(self) -> None:
        """What happened before is not shown again: it would look as if it were done again."""
        done = 0
        while found := self.engine.events(self.name, after=self._seen):
            self._seen = found[-1].seq
            done += sum(event.kind == "step.completed" for event in found)
        status = self.engine.status(self.name)
        self._over = status.status in TERMINAL
        if self._over and status.status != "completed":
            self._say(self.view.note, f"run {self.name} of {status.workflow} has ended: it is {status.status}")
            return
        if status.status == "completed":
            self._say(
                self.view.note, f"run {self.name} of {status.workflow} has completed; there is nothing left to do"
            )
            return
        self._say(
            self.view.note,
            f"run {self.name} of {status.workflow} goes on: {done} step{'s' if done != 1 else ''} done so far",
        )

    async def drive(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt)
        working = asyncio.create_task(self.worker.run())
        try:
            await self._look_on(working)
        finally:
            self.worker.stop()
            failed = (await asyncio.gather(working, return_exceptions=True))[0]
            self._show_events()
            self._say(self.view.close)
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
        result = self.engine.result(self.name)
        if isinstance(failed, CallerError) and result.status not in TERMINAL:
            raise failed
        return self._end(result)

    async def _look_on(self, working: asyncio.Task[None]) -> None:
        looked = 0.0
        loop = asyncio.get_running_loop()
        asking: asyncio.Task[None] | None = None
        while not working.done() and not self._show_events():
            if loop.time() - looked >= STANDING_SECONDS:
                looked = loop.time()
                status = self.engine.status(self.name)
                if status.status in TERMINAL:
                    break
                if asking is None or asking.done():
                    asking = None
                    self._say(self.view.standing, status)
                    questions = self.questions.open_questions(status)
                    if questions:
                        asking = asyncio.create_task(self.questions.ask(status, questions[0]))
            await asyncio.wait([working], timeout=LOOK_SECONDS)
        if asking is not None:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    def _show_events(self) -> bool:
        """Show what happened since the last look; whether the run has ended."""
        for event in self.engine.events(self.name, after=self._seen):
            self._seen = event.seq
            self._say(self.view.event, event)
            self._over = self._over or event.kind in _ENDS
        return self._over

    def _log(self, line: LogLine) -> None:
        self._show_events()
        if line.run != self.name:
            # The worker helps other runs of the store along; their words must not look like ours.
            line = msgspec.structs.replace(line, path=f"{line.run} {line.path}")
        # Where the line cannot be written, that is no fault of the block; what is written next tells of it.
        with suppress(OSError):
            self._say(self.view.log, line)

    def _say(self, tell: Callable[..., None], *given: Any) -> None:
        """Tell the person; where nobody reads any more, the run goes on all the same and the exit code tells."""
        try:
            tell(*given)
            sys.stdout.flush()
        except BrokenPipeError:
            silence()

    def _interrupt(self) -> None:
        self.interrupted += 1
        if self.interrupted == 1 and self.worker.running:
            self._say(self.view.note, "Stopping: waits for what is in flight; once more leaves it.")
            self.worker.stop()
        else:
            self.worker.hurry()

    def _end(self, result: RunResult) -> int:
        if result.status not in TERMINAL:
            if self.options.store == "memory:":
                self._say(self.view.note, "Interrupted; a run in memory cannot go on.")
            else:
                secrets = self.options.secret or definitions.secrets_of(self.engine, self.name)
                command = resuming(self.name, secrets, self.options.store)
                self._say(self.view.note, f"Interrupted; go on with: {command}")
            return 130
        self._say(self._tell_end, result)
        return 0 if result.status == "completed" else 1

    def _tell_end(self, result: RunResult) -> None:
        if self.options.json:
            common.write_json(result)
        elif result.status == "completed":
            print("outputs:")
            common.write_json(common.ordered(result.outputs))
        else:
            self._explain(result)

    def _explain(self, result: RunResult) -> None:
        print(failure(result))
        if self.engine.status(result.run).retryable and self.options.store != "memory:":
            sys.stdout.flush()
            print(f"Go on from the failed step: interlock retry {result.run}{in_store(self.options.store)}")
