"""What the commands of the engine share: their options, the open store, and errors in one sentence."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from typing import Any, TypeAlias

import msgspec

from interlock.analyzer.report.plain import plain
from interlock.engine.blocks.registry import Registry
from interlock.engine.client import Engine
from interlock.engine.errors import CallerError
from interlock.engine.host import DEFAULT_STORE
from interlock.engine.secrets import SHORTEST
from interlock.engine.shown import SignalReceipt
from interlock.engine.values import NotJson, as_text, load
from interlock.server.cli.choices import not_empty
from interlock.server.cli.main import UsageError

Options: TypeAlias = argparse.Namespace


# --- options -----------------------------------------------------------------------------------


def add_store(parser: argparse.ArgumentParser, *, as_json: bool = False) -> None:
    """``--store``, and ``--json`` where a program would read the answer."""
    parser.add_argument("--store", default=DEFAULT_STORE, metavar="URL", help=f"the store (default: {DEFAULT_STORE})")
    if as_json:
        parser.add_argument("--json", action="store_true", help="write JSON")


def add_account(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--account", type=not_empty, default="default", metavar="A", help="the account (default: default)"
    )


def add_blocks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--allow", action="append", default=[], metavar="BLOCK", help="allow the block shell or python")
    parser.add_argument(
        "--blocks", action="append", default=[], metavar="MODULE", help="a Python module with blocks of your own"
    )


def add_secrets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--secret",
        action="append",
        default=[],
        metavar="NAME[=ENV]",
        help="give the secret NAME the value of the environment variable ENV (default: NAME)",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workflow", metavar="NAME", help="the workflow, where the file holds several")
    parser.add_argument("--input", action="append", default=[], metavar="K=V", help="one input")
    parser.add_argument("--inputs", metavar="F.json", help="a JSON file of inputs (- for standard input)")
    parser.add_argument("--idempotency-key", metavar="K", help="dispatch only once for this key")


def given_secrets(options: Options) -> tuple[dict[str, str], frozenset[str]]:
    """The secrets by name, and the variables that hold them; `UsageError` where one is not set."""
    values: dict[str, str] = {}
    variables: set[str] = set()
    for item in options.secret:
        name, _, variable = item.partition("=")
        variable = variable or name
        value = os.environ.get(variable)
        if value is None:
            raise UsageError(f'the environment variable "{variable}" for the secret "{name}" is not set')
        if len(value) < SHORTEST:
            text = f'the secret "{name}" has fewer than {SHORTEST} characters, so it is not hidden in what is shown'
            print(f"interlock: {text}", file=sys.stderr)
        values[name] = value
        variables.add(variable)
    return values, frozenset(variables)


def registry_of(options: Options) -> Registry:
    """The blocks that may run here: built in, of installed packages, and of ``--blocks``."""
    try:
        registry = Registry(allow=options.allow)
    except ValueError as error:
        raise UsageError(f"--allow: {error}") from None
    for problem in registry.load_entry_points():
        print(f"interlock: {problem}", file=sys.stderr)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    for module in options.blocks:
        try:
            registry.load(module)
        except Exception as error:
            raise UsageError(f"--blocks {module}: {type(error).__name__}: {error}") from None
    return registry


@contextmanager
def engine_of(
    options: Options, *, make: bool = False, registry: Registry | None = None, secrets: dict[str, str] | None = None
) -> Iterator[Engine]:
    """The engine of ``--store``; a reading command makes no store."""
    engine = Engine(
        options.store,
        blocks=registry if registry is not None else (),
        secrets=secrets,
        account=getattr(options, "account", None) or "default",
        make=make,
    )
    try:
        yield engine
    finally:
        engine.close()


def speaking(run: Callable[[Options], int]) -> Callable[[Options], int]:
    """A command whose refusals by the engine become one sentence and exit code 2."""

    @wraps(run)
    def guarded(options: Options) -> int:
        try:
            return run(options)
        except CallerError as error:
            return refused(error, as_json=getattr(options, "json", False))
        except RecursionError:
            raise UsageError("the input is nested too deeply") from None

    return guarded


def tell(options: Options, sentence: str, **data: Any) -> None:
    """What a command has done: one line of JSON for a program, a sentence for a person."""
    if options.json:
        write_json_line(data)
    else:
        print(sentence)


def tell_receipt(options: Options, receipt: SignalReceipt, sentence: str) -> None:
    """What became of a signal; ``consumed`` where a step that waited has taken it."""
    tell(options, sentence, run=receipt.run, id=receipt.id, repeated=receipt.repeated, consumed=receipt.consumed)


def answered(engine: Engine, receipt: SignalReceipt, word: str, store: str) -> str:
    """What an answer has done, as one sentence; where nothing took it, with what the run waits for instead."""
    if receipt.repeated:
        return "This answer had been given before; nothing happened."
    if receipt.consumed:
        return f"{word}: {receipt.run}."
    from interlock.server.cli.hints import hints

    status = engine.status(receipt.run)
    said = f"Stored: nothing in {receipt.run} waits for this answer now; a step that asks for it later takes it "
    said += f"(interlock status {receipt.run} shows where the run is)."
    return "\n".join([said, *(hint for position in status.positions for hint in hints(status, position, store))])


def refused(error: CallerError, *, as_json: bool = False) -> int:
    """Print a refusal: the diagnostics as `check` prints them, then one sentence; exit code 2.

    A program reads one line of JSON, ``{"error": {"code", "message"}, "diagnostics": […]}``, from stdout; what
    a person reads then goes to stderr.
    """
    from interlock.engine.project import Refused

    found = error.diagnostics if isinstance(error, Refused) else ()
    if as_json:
        from interlock.analyzer.report.json import as_json as diagnostic_json

        told: dict[str, Any] = {"error": {"code": error.code, "message": error.message}}
        if found:
            told["diagnostics"] = [diagnostic_json(one) for one in found]
        write_json_line(told)
    if isinstance(error, Refused) and found:
        from interlock.analyzer.report.text import render_text

        stream = sys.stderr if as_json else sys.stdout
        files = {one.file for one in found}
        color = stream.isatty() and "NO_COLOR" not in os.environ
        stream.write(render_text(found, error.sources, len(files), color=color))
        stream.flush()
        print("interlock: refused: the definition has errors, and nothing was stored.", file=sys.stderr)
        return 2
    print(f"interlock: {error.message} ({error.code})", file=sys.stderr)
    return 2


# --- values ------------------------------------------------------------------------------------


def json_argument(text: str | None, what: str) -> Any:
    """A JSON argument; ``@FILE`` reads it from a file, ``@-`` from standard input."""
    if text is None:
        return None
    data = read_data(text[1:], what) if text.startswith("@") else text.encode("utf-8", "surrogateescape")
    try:
        return load(data)
    except NotJson as error:
        raise UsageError(f"{what}: {error}") from None


MOST_BYTES = 64 * 1024 * 1024
"""No file or standard input that a command reads may be larger; the engine's own limits are far below."""


def read_data(path: str, what: str) -> bytes:
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise UsageError(f'{what}: "{path}" is larger than 64 MiB')
        return data
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f'{what}: "{path}" cannot be read: {reason}') from None


# --- output ------------------------------------------------------------------------------------


def write_json(value: Any) -> None:
    """One JSON value, indented, as the output of a reading command."""
    plain = msgspec.to_builtins(value)
    print(json.dumps(plain, indent=2, ensure_ascii=False))


def ordered(outputs: Any) -> Any:
    """Outputs for a person: in the order of the definition, the maps in them by their keys."""
    if isinstance(outputs, dict):
        return {name: _sorted(value) for name, value in outputs.items()}
    return _sorted(outputs)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list | tuple) else value


def write_json_line(value: Any) -> None:
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def when(moment: float | None) -> str:
    """A moment in local time, to the second."""
    if moment is None:
        return "-"
    return datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M:%S")


def span(seconds: float) -> str:
    """A stretch of time in the language's own words."""
    if seconds < 60:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours < 48 else f"{hours // 24}d{hours % 24}h"


def ago(moment: float) -> str:
    return f"{span(max(0.0, time.time() - moment))} ago"


def short(value: Any, width: int = 100) -> str:
    """A value on one line."""
    text = as_text(value)
    text = "".join(character if character.isprintable() else "·" for character in text)
    return text if len(text) <= width else text[: width - 1] + "…"


def table(rows: list[list[str]], head: list[str]) -> str:
    """Aligned columns; the last is not padded."""
    everything = [head, *([plain(cell) for cell in row] for row in rows)]
    widths = [max(len(row[place]) for row in everything) for place in range(len(head))]
    lines = []
    for row in everything:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
