"""The command line: finds the command, imports only what it needs, and keeps errors to one line.

Each command is a module with ``add_arguments(parser)`` and ``run(options) -> int``; exit codes
are those of section 14: 0 fine, 1 found or failed, 2 wrong usage or nothing could be done.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import NoReturn, TextIO

#: Command, module, one line of help.
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("check", "check", "find what is wrong in workflow files"),
    ("explain", "explain", "explain a rule"),
    ("rules", "rules", "list the rules"),
    ("graph", "graph", "draw a workflow"),
    ("schema", "schema", "print a JSON Schema for editors"),
    ("run", "run", "check a workflow and run it here"),
    ("dispatch", "dispatch", "put a run into the store for a worker"),
    ("worker", "worker", "work on stored runs until told to stop"),
    ("runs", "runs", "list runs"),
    ("status", "status", "show where a run is and what it waits for"),
    ("events", "events", "show what happened in a run"),
    ("leases", "leases", "show who holds and who waits for resources"),
    ("queue", "queue", "show the admission queues"),
    ("signal", "signal", "send a signal to a run"),
    ("approve", "approve", "approve what a run waits for"),
    ("reject", "reject", "reject what a run waits for"),
    ("cancel", "cancel", "ask a run to stop"),
    ("retry", "retry", "go on with a failed run"),
    ("review", "review", "settle a protected write that is held for review"),
    ("export", "export", "write a run with its definition and events as JSON"),
    ("replay", "replay", "decide a run again and say whether it comes out the same"),
    ("prune", "prune", "remove old runs that have ended"),
    ("blocks", "blocks", "list blocks, or write their manifest"),
    ("lsp", "lsp", "run the language server"),
)


class UsageError(Exception):
    """Something that the caller has to change; its text is the whole message."""


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Help as wide as the terminal.  argparse makes one for each argument, and would import shutil to ask."""
    try:
        width = int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns)
    except (OSError, ValueError):
        width = 80
    return argparse.HelpFormatter(prog, width=max(width, 40) - 2)


def _plain(text: str) -> str:
    """Text for a terminal; what makes it so is needed only where something is wrong."""
    from interlock.analyzer.report.plain import plain

    return plain(text)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {_plain(message)}\n")


def _usage() -> str:
    lines = ["usage: interlock COMMAND [OPTIONS]", ""]
    width = max(len(name) for name, _, _ in COMMANDS)
    lines += [f"  {name.ljust(width)}  {text}" for name, _, text in COMMANDS]
    lines += ["", "interlock COMMAND --help tells more about one of them."]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; the answer is the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    # A stream that was closed before we began takes nothing: whatever is said goes nowhere.
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    if not words or words[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0 if words else 2
    if words[0] in ("-V", "--version", "version"):
        from importlib.metadata import version

        print(f"interlock {version('interlock')}")
        return 0
    known = {name: (module, text) for name, module, text in COMMANDS}
    if words[0] not in known:
        return _unknown(words[0], list(known))
    return _run(words[0], *known[words[0]], words[1:])


def program() -> NoReturn:
    """The process: runs the command that it was given, and ends.

    `check` holds nothing by then that would have to be put away, so Python does not take hundreds of thousands of
    parts of models down one by one, which would take as long as reading a small file.
    """
    code = main()
    if sys.argv[1:2] == ["check"]:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            sys.exit(code)  # as Python ends where a stream takes no more
        os._exit(code)
    sys.exit(code)


def _unknown(word: str, known: list[str]) -> int:
    from interlock.analyzer.language.nearest import nearest

    near = nearest(word, known)
    hint = f'; did you mean "{near}"?' if near else "; interlock --help lists the commands"
    print(f'interlock: there is no command "{_plain(word)}"{hint}', file=sys.stderr)
    return 2


def _run(name: str, module_name: str, text: str, words: list[str]) -> int:
    module = import_module(f"interlock.server.cli.{module_name}")
    parser = _Parser(
        prog=f"interlock {name}", description=text[:1].upper() + text[1:] + ".", formatter_class=_formatter
    )
    module.add_arguments(parser)
    options = parser.parse_args(words)
    try:
        code: int = module.run(options)
        sys.stdout.flush()
        return code
    except UsageError as error:
        print(f"interlock {name}: {_plain(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader went away: nothing more can be said, and that is no failure of ours.
        silence()
        return 0
    except OSError as error:
        silence()
        where = f'"{error.filename}": ' if error.filename is not None else ""
        print(f"interlock {name}: {_plain(where)}{(error.strerror or 'input/output error').lower()}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"interlock {name}: interrupted", file=sys.stderr)
        return 130


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def silence() -> None:
    """What stdout still holds is dropped, or Python would try to write it once more at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


if __name__ == "__main__":
    # Under its own name, so that the commands' UsageError is the one that is caught here.
    from interlock.server.cli.main import program as run_program

    run_program()
