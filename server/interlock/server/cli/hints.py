"""What a person can do next about a run, as commands to copy; who says them is left to others."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from interlock.engine.client import RunResult
from interlock.engine.host import DEFAULT_STORE
from interlock.engine.shown import Position, RunStatus

DECISIONS = ("committed", "not-committed", "abandon")


def in_store(store: str) -> str:
    """The option that names the store, empty for the default one."""
    return "" if store == DEFAULT_STORE else f" --store {shlex.quote(store)}"


def answers(run: str, names: Iterable[str], store: str = DEFAULT_STORE) -> str:
    """How to answer a wait for these signals, one command or several joined by "or"; empty for no names."""
    where = in_store(store)
    rest = list(names)
    commands = []
    if "approved" in rest and "rejected" in rest:
        commands = [f"interlock approve {run}{where}", f"interlock reject {run}{where}"]
        rest = [name for name in rest if name not in ("approved", "rejected")]
    elif "approval" in rest:
        commands = [f"interlock approve {run}{where}"]
        rest.remove("approval")
    commands += [f"interlock signal {run} {shlex.quote(name)} --data JSON{where}" for name in rest]
    return ", or ".join(commands)


def settling(run: str, path: str, store: str = DEFAULT_STORE) -> str:
    """How to settle the review of one section."""
    return f"interlock review {run} {'|'.join(DECISIONS)} --path {shlex.quote(path)}{in_store(store)}"


def resuming(run: str, secrets: Iterable[str], store: str = DEFAULT_STORE) -> str:
    """How to go on with a run here; ``secrets`` as they are given, NAME or NAME=ENV."""
    options = "".join(f" --secret {shlex.quote(secret)}" for secret in secrets)
    return f"interlock run --resume {run}{options}{in_store(store)}"


def failure(result: RunResult) -> str:
    """How a run ended that did not complete, in one sentence."""
    error = result.error
    if error is None:
        return f"The run {result.run} is {result.status}."
    place = f" at {error.path}" if error.path else ""
    return f"The run {result.run} {result.status}{place}: {error.message} ({error.code})"


def hints(status: RunStatus, position: Position, store: str = DEFAULT_STORE) -> list[str]:
    """What a person can do about a line of the run that waits for one."""
    if position.waits_for:
        names = position.waits_for
        how = "decide" if "approved" in names else "approve" if "approval" in names else "send it"
        return [f"{position.path}: {how} with: {answers(status.run, names, store)}"]
    if position.status == "review":
        return [f"{position.path}: settle it with: {settling(status.run, position.path, store)}"]
    return []
