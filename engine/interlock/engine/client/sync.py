"""The engine for programs without an event loop: one `Engine` is one open store."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, ParamSpec, TypeVar

import msgspec

from interlock.analyzer.model import nodes
from interlock.analyzer.source.text import SourceText
from interlock.engine import arguments
from interlock.engine.arguments import Seconds
from interlock.engine.blocks.registry import Registry
from interlock.engine.errors import CallerError
from interlock.engine.host import DEFAULT_STORE, SecretSource, open_store, services_of
from interlock.engine.ports import Definition, Json
from interlock.engine.project import Project, read_text_of
from interlock.engine.secrets import StoreCipher
from interlock.engine.shown import (
    AdmissionInfo,
    Dispatched,
    ErrorInfo,
    Event,
    Export,
    LeaseInfo,
    Replayed,
    RunRow,
    RunStatus,
    SignalReceipt,
    Stats,
)
from interlock.engine.worker import LogLine, Worker

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

TERMINAL = frozenset({"completed", "failed", "cancelled", "superseded"})
STATUSES = (
    "queued",
    "running",
    "waiting_for_workflows",
    "waiting_for_signal",
    "waiting_for_resource",
    "delayed",
    "held_for_review",
    "completed",
    "failed",
    "cancelled",
    "superseded",
)
"""Section 12's, in the order in which a run may have them."""
PRUNED_AT_ONCE = 1000
Decision = Literal["committed", "not-committed", "abandon"]


class RunResult(msgspec.Struct, frozen=True):
    """How a run ended.  ``outputs`` are what it gives to its dependents, None unless it completed."""

    run: str
    status: str
    outputs: Json = None
    error: ErrorInfo | None = None

    @property
    def completed(self) -> bool:
        return self.status == "completed"


class Engine:
    """One open store.

    ``blocks`` are marked functions or classes, ``allow`` names ``shell`` or ``python`` where they
    may run, ``secrets`` are the host's, by name.  The store is made where it is absent.

    >>> with Engine.open("memory:") as engine:
    ...     engine.define("workflow: hello\\nsteps: [{id: a, block: set, params: {x: 1}}]")
    ...     result = engine.run("hello")
    ...     result.status, result.outputs
    ('hello',)
    ('completed', {'a': {'x': 1}})
    """

    def __init__(
        self,
        url: str = DEFAULT_STORE,
        *,
        blocks: Iterable[Any] | Registry = (),
        allow: Iterable[str] = (),
        secrets: SecretSource | None = None,
        account: str = "default",
        make: bool = True,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
    ) -> None:
        if isinstance(blocks, Registry):
            if tuple(allow):
                raise TypeError("Where blocks is a Registry, it is that Registry which is given allow.")
            self.registry = blocks
        else:
            self.registry = Registry(blocks, allow=allow)
        self.secrets = secrets
        self.account = arguments.name(account, "account")
        self.url = url
        self.project = Project((), self.registry.specs)
        self._texts = 0
        self._defining = threading.Lock()
        known = arguments.secret_texts(secrets)
        self.kernel, self.cipher = open_store(url, self.registry, secrets=known, make=make, synchronous=synchronous)

    @classmethod
    def open(
        cls,
        url: str = DEFAULT_STORE,
        *,
        blocks: Iterable[Any] | Registry = (),
        allow: Iterable[str] = (),
        secrets: SecretSource | None = None,
        account: str = "default",
    ) -> Engine:
        """Open the store at ``sqlite:///PATH`` or ``memory:``; see the class."""
        return cls(url, blocks=blocks, allow=allow, secrets=secrets, account=account)

    def close(self) -> None:
        """Close the store; what was stored stays."""
        self.kernel.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- definitions ---

    def load(self, *paths: str | os.PathLike[str]) -> tuple[str, ...]:
        """Read workflow files; the names of all workflows that are known now.

        A file that was read before is read again, and what it says now counts.  `Refused` where a file cannot be
        read or holds no workflow; other errors come when a workflow is used.
        """
        for path in paths:
            source = read_text_of(path)
            with self._defining:
                self.project.put(source)
        return self.project.names

    def define(self, text: str, path: str | None = None) -> tuple[str, ...]:
        """Read workflows from a text; the names of all workflows that are known now.

        A text whose workflows are all defined again by a later one is forgotten.  ``path`` is how diagnostics
        call the text.  Errors are those of `load`.
        """
        with self._defining:
            if path is None:
                self._texts += 1
                path = "<text>" if self._texts == 1 else f"<text {self._texts}>"
            self.project.put(SourceText(path, text))
            return self.project.names

    def definition(self, workflow: str | Definition) -> Definition:
        """The definition that a name stands for, refused if it has errors.

        Codes: definition-refused (`Refused`, with the diagnostics), unknown-workflow, not-allowed.
        """
        if isinstance(workflow, str):
            with self._defining:
                made: Definition = self.project.definition(workflow)
        else:
            made = workflow
        for each in (made, *made.closure.values()):
            for name in blocks_of(each):
                if not self.registry.may_run(name):
                    raise CallerError(
                        "not-allowed", f'"{each.name}" uses the block "{name}", which is not allowed here by name.'
                    )
        return made

    # --- runs ---

    def dispatch(
        self,
        workflow: str | Definition,
        inputs: Mapping[str, Json] | None = None,
        *,
        account: str | None = None,
        idempotency_key: str | None = None,
    ) -> Dispatched:
        """Store a new run for a worker to take up; nothing runs yet.

        Codes: those of `definition`, inputs-refused, needs-store.

        >>> with Engine.open("memory:") as engine:
        ...     engine.define("workflow: hello\\nsteps: [{id: a, block: set}]")
        ...     engine.dispatch("hello").created
        ('hello',)
        True
        """
        definition = self.definition(workflow)
        return self.kernel.dispatch(
            definition,
            {} if inputs is None else inputs,
            account=self._account(account),
            idempotency_key=idempotency_key,
        )

    def run(
        self,
        workflow: str | Definition,
        inputs: Mapping[str, Json] | None = None,
        *,
        account: str | None = None,
        idempotency_key: str | None = None,
        on_log: Callable[[LogLine], None] | None = None,
    ) -> RunResult:
        """Dispatch a run and work until it has ended.

        Code ``unknown-run`` besides those of `dispatch`: the idempotency key is that of a run which was pruned.
        `RuntimeError` inside an event loop, where `AsyncEngine.run` is at home.
        """
        _outside_of_loops("run")
        done = self.dispatch(workflow, inputs, account=account, idempotency_key=idempotency_key)
        self.still_there(done)
        return asyncio.run(self.finish(done.run, on_log=on_log))

    def resume(self, run: str, *, on_log: Callable[[LogLine], None] | None = None) -> RunResult:
        """Work until a stored run has ended; settled steps are not repeated.

        `RuntimeError` inside an event loop, where `AsyncEngine.resume` is at home.
        """
        _outside_of_loops("resume")
        self.kernel.status(run)
        return asyncio.run(self.finish(run, on_log=on_log))

    def _account(self, account: str | None) -> str:
        return self.account if account is None else arguments.name(account, "account")

    def still_there(self, done: Dispatched) -> None:
        """A key of an earlier dispatch may stand for a run that has been pruned."""
        if done.created:
            return
        try:
            self.kernel.status(done.run)
        except CallerError as error:
            if error.code != "unknown-run":
                raise
            text = f'The idempotency key is that of the run "{done.run}", which ended and was pruned; nothing was run.'
            raise CallerError("unknown-run", text) from None

    async def finish(self, run: str, *, on_log: Callable[[LogLine], None] | None = None) -> RunResult:
        """Work in this process until a run has ended."""
        worker = self.worker(only_for=run, on_log=on_log)
        working = asyncio.create_task(worker.run())
        ended = asyncio.create_task(self._ended(run))
        try:
            done, _ = await asyncio.wait([working, ended], return_when=asyncio.FIRST_COMPLETED)
            (ended if ended in done else working).result()
        finally:
            ended.cancel()
            worker.stop()
            await asyncio.gather(working, ended, return_exceptions=True)
        return self.result(run)

    def worker(
        self,
        *,
        concurrency: int = 32,
        grace: Seconds = 30.0,
        only_for: str | None = None,
        others: bool = False,
        on_log: Callable[[LogLine], None] | None = None,
        hidden_environment: frozenset[str] = frozenset(),
    ) -> Worker:
        """A worker on this store; `Worker.run` works until it is stopped.

        ``only_for`` names a run for which no other worker is expected: its work is taken, and that of the
        runs that it started or waits for; what cannot be done here fails.  With ``others`` the worker
        helps every other run along as well.
        """
        return Worker(
            self.kernel,
            self.registry,
            cipher=self.cipher,
            secrets=self.secrets,
            concurrency=arguments.whole(concurrency, "concurrency", 1),
            grace=arguments.seconds(grace, "grace"),
            only_for=only_for,
            others=others,
            on_log=on_log,
            hidden_environment=hidden_environment,
        )

    def result(self, run: str) -> RunResult:
        """How a run ended, or where it stands; secrets in it are hidden."""
        status = self.kernel.status(run)
        return RunResult(run, status.status, status.outputs, status.error)

    async def _ended(self, run: str) -> None:
        for pause in pauses(None):
            if self.kernel.status(run).status in TERMINAL:
                return
            await asyncio.sleep(pause)

    def wait(self, run: str, timeout: Seconds | None = None) -> RunResult:
        """Wait until a run has ended, or ``timeout`` has passed; others do its work."""
        result = self.result(run)
        for pause in pauses(timeout):
            if result.status in TERMINAL:
                break
            time.sleep(pause)
            result = self.result(run)
        return result

    # --- people ---

    def signal(self, run: str, name: str, payload: Json = None, *, signal_id: str | None = None) -> SignalReceipt:
        """Send a signal.  With ``signal_id`` a repeated send is harmless.

        Codes: unknown-run, run-ended, bad-payload, payload-too-large, budget-exceeded.
        """
        return self.kernel.signal(run, name, payload, signal_id=signal_id)

    def approve(self, run: str, payload: Json = None, *, signal_id: str | None = None) -> SignalReceipt:
        """Approve what a run waits for: the signal ``approved`` to a decision, else ``approval``."""
        name = self.answer_name(run, "approve")
        return self.kernel.signal(run, name, {} if payload is None else payload, signal_id=signal_id)

    def reject(self, run: str, payload: Json = None, *, signal_id: str | None = None) -> SignalReceipt:
        """Reject what a run waits to be decided: the signal ``rejected``."""
        name = self.answer_name(run, "reject")
        return self.kernel.signal(run, name, {} if payload is None else payload, signal_id=signal_id)

    def answer_name(self, run: str, answer: Literal["approve", "reject"]) -> str:
        """The signal that an answer is, by what the run waits for now, else by what it can wait for."""
        names = {name for position in self.kernel.status(run).positions for name in position.waits_for}
        if not {"approved", "rejected", "approval"} & names:
            names = self._can_wait_for(run)
        if answer == "reject":
            if "approval" in names and "rejected" not in names:
                raise CallerError(
                    "bad-payload", f'The run "{run}" waits for an approval, which can be given or the run cancelled.'
                )
            return "rejected"
        return "approval" if "approval" in names and "approved" not in names else "approved"

    def _can_wait_for(self, run: str) -> set[str]:
        text = msgspec.json.encode(self.kernel.export(run).definition).decode()
        kinds = {"wait_for_decision": "approved", "wait_for_approval": "approval"}
        return {name for kind, name in kinds.items() if f'"{kind}"' in text}

    def cancel(self, run: str, *, reason: str = "") -> None:
        """Ask a run to stop; acknowledged when stored.  Codes: unknown-run, run-ended."""
        self.kernel.cancel(run, reason=reason)

    def retry(self, run: str) -> None:
        """Let a failed run go on from its failed step.  Codes: unknown-run, not-retryable."""
        self.kernel.retry(run)

    def review(
        self, run: str, decision: Decision, *, path: str | None = None, result: Json = None, by: str = ""
    ) -> None:
        """Settle a protected write that is held for review.

        ``committed``, with the section's outputs as ``result``: the run goes on as if it had returned
        them.  ``not-committed``: the section runs again.  ``abandon``: the run fails.
        Codes: unknown-run, not-in-review, bad-payload.
        """
        self.kernel.review(run, decision, path=path, result=result, by=by)

    # --- looking ---

    def status(self, run: str) -> RunStatus:
        """Where a run stands, what it waits for and holds.  Code: unknown-run."""
        return self.kernel.status(run)

    def runs(
        self,
        *,
        workflow: str | None = None,
        status: str | None = None,
        account: str | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[RunRow]:
        """Runs, newest first; ``account`` None means those of every account."""
        if status is not None and status not in STATUSES:
            raise ValueError(f"status is one of {', '.join(STATUSES)}, not {status!r}.")
        return self.kernel.runs(account=account, workflow=workflow, status=status, limit=limit, before=before)

    def events(self, run: str | None = None, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """What happened, in order; ``after`` is the last sequence number already seen."""
        return self.kernel.events(run, after=after, limit=limit)

    def follow(self, run: str, *, after: int = 0, poll: float = 0.1) -> Iterator[Event]:
        """The events of a run as they come, until it has ended."""
        while True:
            ended = self.kernel.status(run).status in TERMINAL
            while found := self.kernel.events(run, after=after):
                after = found[-1].seq
                yield from found
            if ended:
                return
            time.sleep(poll)

    def leases(self, account: str | None = None) -> list[LeaseInfo]:
        """Who holds and who waits for the keys of an account."""
        return self.kernel.leases(self._account(account))

    def queue(self, workflow: str | None = None, account: str | None = None) -> list[AdmissionInfo]:
        """The admission queues of an account."""
        return self.kernel.queue(self._account(account), workflow)

    def stats(self) -> Stats:
        """Counts over the store."""
        return self.kernel.stats()

    def export(self, run: str) -> Export:
        """A run with its definition and events, secrets hidden."""
        return self.kernel.export(run)

    def replay(self, run: str, *, any_version: bool = False) -> Replayed:
        """Decide a stored run again from its journal: does it come out the same, or where not?

        Code: unknown-run.  A run of another version is only decided again with ``any_version``.

        >>> with Engine.open("memory:") as engine:
        ...     engine.define("workflow: hello\\nsteps: [{id: a, block: set}]")
        ...     engine.replay(engine.run("hello").run).same
        ('hello',)
        True
        """
        return self.kernel.replay(run, any_version=any_version)

    def prune(self, older_than: Seconds) -> int:
        """Remove runs that ended longer ago than this; how many they were.

        Definitions that no run has go with them.  Keys, fences and idempotency keys outlive it.
        """
        before = time.time() - arguments.seconds(older_than, "older_than")
        removed, gone = 0, PRUNED_AT_ONCE
        while gone == PRUNED_AT_ONCE:
            gone = self.kernel.prune(before, limit=PRUNED_AT_ONCE)
            removed += gone
        return removed


def _outside_of_loops(verb: str) -> None:
    """Refuse, before anything is stored, where an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(f"Engine.{verb} has an event loop of its own; inside one use AsyncEngine.{verb}.")


def pauses(timeout: Seconds | None) -> Iterator[float]:
    """How long to wait before each next look, in seconds; they end with the time-out."""
    until = float("inf") if timeout is None else time.monotonic() + arguments.seconds(timeout, "timeout")
    pause = 0.01
    while (left := until - time.monotonic()) > 0:
        yield min(pause, left)
        pause = min(pause * 1.3, 0.25)


def replay_export(data: bytes, *, any_version: bool = False) -> Replayed:
    """What `Engine.replay` does, for the JSON of an export; needs no store.  Code: bad-payload."""
    from interlock.engine.replay import read_export, replay

    services = services_of(Registry(), StoreCipher(None, environment={}, temporary=True))
    return replay(read_export(data), services, any_version=any_version)


def blocks_of(definition: Definition) -> set[str]:
    """The names of the blocks that a definition uses itself, compensations and handlers included."""
    return nodes.blocks_of(definition.workflow)
