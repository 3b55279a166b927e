"""``interlock check``: lints files and folders (section 14)."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from interlock.analyzer.diagnostics import Diagnostic
from interlock.server.cli.checking import Asked, Result, check, choice_of, read_stdin
from interlock.server.cli.main import UsageError

FORMATS = ("text", "json", "sarif", "github", "junit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files and folders; without any, the whole workspace; - reads stdin")
    add("--format", choices=FORMATS, default="text", help="how to report (default: text)")
    add("--fix", action="store_true", help="mend what can be mended, and report the rest")
    add("--diff", action="store_true", help="show what --fix would change, and write nothing")
    add("--select", action="append", default=[], metavar="RULES", help="report only these rules (names or codes)")
    add("--ignore", action="append", default=[], metavar="RULES", help="do not report these warnings and hints")
    add("--baseline", metavar="FILE", help="report only what this file does not know")
    add("--update-baseline", action="store_true", help="write what is found now to the file of --baseline")
    add(
        "--changed-since",
        metavar="REV",
        help="report only in files that differ from this git revision, and in those that start their workflows",
    )
    add("--stdin-filename", metavar="NAME", help="the path that the text on stdin has")
    add("--statistics", action="store_true", help="also count by rule, and show what each workflow may use")
    add("--watch", action="store_true", help="check again whenever a file changes")
    add("--strict", action="store_true", help="exit with 1 for warnings, too")
    add("--no-cache", action="store_true", help="neither use nor write what was found before")


def run(options: argparse.Namespace) -> int:
    _judge_options(options)
    # A process that ends soon need not look for garbage; models have hundreds of thousands of parts.
    gc.disable()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    asked = _asked(options)
    if options.watch:
        from interlock.server.cli.watch import watch

        gc.enable()
        return watch(lambda: _once(options, asked), asked)
    return _once(options, asked)


def _judge_options(options: argparse.Namespace) -> None:
    if options.fix and options.diff:
        raise UsageError("--fix writes and --diff does not: choose one of them")
    if options.update_baseline and not options.baseline:
        raise UsageError("--update-baseline needs --baseline FILE, the file to write")
    if options.update_baseline and (options.fix or options.diff):
        raise UsageError("--update-baseline writes down what is there: mend with --fix first, then call it alone")
    if options.paths.count("-") and len(options.paths) > 1:
        raise UsageError("- reads one text from stdin, and takes no other paths beside it")
    if options.stdin_filename is not None and options.paths not in ([], ["-"]):
        raise UsageError('--stdin-filename names the text on stdin: give "-" as the only path')
    if options.watch and (options.paths == ["-"] or options.stdin_filename is not None):
        raise UsageError("--watch needs files, and stdin is none")


def _asked(options: argparse.Namespace) -> Asked:
    choice, warnings = choice_of(options.select, options.ignore)
    for warning in warnings:
        _say(warning)
    paths, stdin, name = tuple(options.paths), None, options.stdin_filename
    if paths == ("-",) or name is not None:
        stdin = read_stdin()
        name = name or "stdin.workflow.yaml"
        paths = (name,)
    return Asked(paths, choice, not options.no_cache, stdin, name, options.changed_since)


def _say(text: str) -> None:
    from interlock.analyzer.report.plain import plain

    print(f"interlock check: {plain(text)}", file=sys.stderr)


def _once(options: argparse.Namespace, asked: Asked) -> int:
    from interlock.server.cli.progress import Progress

    with Progress() as progress:
        result = check(asked, _processes(), progress.reading)
    found = result.found
    for line in (*result.complaints, *result.notes):
        _say(line)
    if asked.stdin is not None and options.stdin_filename is None and any(one.code == "IL114" for one in found):
        _say("stdin counts as a file of its own; if its text is that of another one, name that by --stdin-filename")
    if not result.checked:
        return 2
    if options.baseline and not options.update_baseline:
        found = only_new(options.baseline, found, result)
    if options.update_baseline:
        _update(options.baseline, found, result)
        return 2 if result.complaints else 0
    if options.fix or options.diff:
        from interlock.server.cli.mending import mend

        return mend(options, asked, result, found)
    write_report(options, result, found)
    return exit_code(options, result, found)


def exit_code(options: argparse.Namespace, result: Result, found: Sequence[Diagnostic]) -> int:
    if result.complaints:
        return 2
    worst = {one.severity for one in found}
    return 1 if "error" in worst or (options.strict and "warning" in worst) else 0


def _processes() -> int:
    """As many as there are processors; INTERLOCK_PROCESSES says otherwise."""
    given = os.environ.get("INTERLOCK_PROCESSES", "")
    if given.isdigit() and int(given) > 0:
        return int(given) if hasattr(os, "fork") else 1
    # Asked without importing what would do the work: mostly the cache has every answer.
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 8) if hasattr(os, "fork") else 1


# -- reports -------------------------------------------------------------------------------------


def write_report(
    options: argparse.Namespace, result: Result, found: Sequence[Diagnostic], fixed: dict[str, int] | None = None
) -> None:
    """Writes the report in the format that was asked for; ``fixed`` counts, by rule, what was mended."""
    statistics = None
    if options.statistics:
        from interlock.server.cli.statistics import statistics_of

        statistics = statistics_of(result, found)
    if options.format == "json":
        from interlock.analyzer.report.json import render_json

        text = render_json(found, len(result.files), statistics=statistics, fixed=fixed)
    elif options.format == "sarif":
        from importlib.metadata import version

        from interlock.analyzer.report.sarif import render_sarif

        text = render_sarif(found, version("interlock"))
    elif options.format == "github":
        from interlock.analyzer.report.github import render_github

        text = render_github(found)
    elif options.format == "junit":
        from interlock.analyzer.report.junit import render_junit

        text = render_junit(found, result.files)
    else:
        text = _text(result, found, fixed)
    write(text)
    if statistics is not None and options.format != "json":
        from interlock.server.cli.statistics import render_statistics

        # Beside a report that other programs read, figures for people go to the other stream.
        (write if options.format == "text" else sys.stderr.write)(render_statistics(statistics))


def _text(result: Result, found: Sequence[Diagnostic], fixed: dict[str, int] | None) -> str:
    from interlock.analyzer.report.text import render_text

    if result.complaints and not result.files and not found:
        return ""  # nothing could be read, and what was complained of is not clean

    terminal = sys.stdout.isatty()
    width = None
    if terminal:
        width = os.get_terminal_size(sys.stdout.fileno()).columns or None
    color = (terminal and "NO_COLOR" not in os.environ) or os.environ.get("FORCE_COLOR", "0") not in ("", "0")
    text = render_text(found, result.sources, len(result.files), color=color, width=width)
    if fixed:
        count = sum(fixed.values())
        rules = ", ".join(f"{name} {number}" if number > 1 else name for name, number in sorted(fixed.items()))
        text += f"Mended {count} {'place' if count == 1 else 'places'}: {rules}.\n"
    return text


def write(text: str) -> None:
    sys.stdout.write(text)


# -- baselines -----------------------------------------------------------------------------------


def only_new(path: str, found: list[Diagnostic], result: Result) -> list[Diagnostic]:
    from interlock.analyzer.report.baseline import BadBaseline, new_ones, read_baseline

    try:
        with open(path, "rb") as file:
            known = read_baseline(file.read())
    except FileNotFoundError as error:
        raise UsageError(f'there is no baseline "{path}"; --update-baseline writes one') from error
    except OSError as error:
        raise UsageError(f'the baseline "{path}" cannot be read: {(error.strerror or "error").lower()}') from error
    except BadBaseline as error:
        raise UsageError(f'the baseline "{path}" cannot be used: {error}') from error
    return new_ones(found, known, result.sources, result.relative)


def _update(path: str, found: list[Diagnostic], result: Result) -> None:
    from interlock.analyzer.report.baseline import write_baseline

    try:
        with open(path, "wb") as file:
            file.write(write_baseline(found, result.sources, result.relative))
    except OSError as error:
        raise UsageError(f'the baseline "{path}" cannot be written: {(error.strerror or "error").lower()}') from error
    _say(f'wrote {len(found)} known {"diagnostic" if len(found) == 1 else "diagnostics"} to "{path}"')
