"""``interlock check --fix`` and ``--diff``: mends files, or shows how."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

import msgspec

from interlock.analyzer.batch import Batch, Loaded, loaded
from interlock.analyzer.config import Config
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.fixes import Fixed, Fixer, unified_diff, write_text
from interlock.analyzer.setting_fixes import mend_settings
from interlock.server.cli.check import exit_code, write, write_report
from interlock.server.cli.checking import Asked, Checked, Result


def mend(options: argparse.Namespace, asked: Asked, result: Result, found: Sequence[Diagnostic]) -> int:
    """Mends what is in ``found``; the exit code is that of what remains (of what is there, for --diff)."""
    done = [(part, *_mended(part, found, options, asked.stdin is None)) for part in result.checked]
    if options.diff:
        return _show(options, result, found, done)
    if asked.stdin is not None:
        return _pass_on(options, result, done)
    complaints = list(result.complaints)
    applied: Counter[str] = Counter()
    mended: list[Checked] = []
    for part, fixed, config in done:
        paths = {member.shown: member.path for member in part.workspace.members}
        for path, file in [*((paths[shown], file) for shown, file in fixed.files.items()), *_settings(part, config)]:
            try:
                write_text(path, file)
            except OSError as error:
                reason = (error.strerror or "input/output error").lower()
                complaints.append(f'"{file.shown}" cannot be written: {reason}.')
                print(f"interlock check: {complaints[-1]}", file=sys.stderr)
        applied.update(fixed.applied)
        mended.append(_again(part, fixed, config))
    after = Result(tuple(mended), tuple(complaints), result.notes)
    left = _reported(options, after)
    write_report(options, after, left, dict(applied))
    return exit_code(options, after, left)


def _mended(
    part: Checked, found: Sequence[Diagnostic], options: argparse.Namespace, settings: bool
) -> tuple[Fixed, Config]:
    """The files with their new texts, and the settings, also mended where that is wanted."""
    known = {(one.file, one.code, one.message) for one in found} if options.baseline else None

    def report(all_found: list[Diagnostic]) -> list[Diagnostic]:
        kept = part.settings.apply(all_found, part.relative)
        return kept if known is None else [one for one in kept if (one.file, one.code, one.message) in known]

    wanted = [one.shown for one in part.wanted]
    fixed = Fixer(part.batch.files, wanted, report, part.blocks, part.batch.cache).run()
    if not settings:
        return fixed, part.workspace.config
    config, applied = mend_settings(part.workspace.config, report)
    return msgspec.structs.replace(fixed, applied={**fixed.applied, **applied}), config


def _settings(part: Checked, config: Config) -> list[tuple[str, Loaded]]:
    """The path and the new text of the settings, where they were mended."""
    if config is part.workspace.config or config.path is None or config.source is None:
        return []
    with open(config.path, "rb") as file:
        had_bom = file.read(3) == b"\xef\xbb\xbf"
    return [(config.path, loaded(config.source.path, config.source.text, had_bom))]


def _again(part: Checked, fixed: Fixed, config: Config) -> Checked:
    """The workspace with its new texts, and what is left in it."""
    files = [fixed.files.get(one.shown, one) for one in part.batch.files]
    batch = Batch(files, part.blocks, part.batch.cache, part.batch.processes)
    found = batch.check(part.workspace.wanted)
    part.batch.cache.save()
    left = part.settings.apply([*config.problems, *found], part.relative)
    wanted = tuple(fixed.files.get(one.shown, one) for one in part.wanted)
    workspace = msgspec.structs.replace(part.workspace, config=config)
    return msgspec.structs.replace(part, workspace=workspace, batch=batch, found=left, wanted=wanted)


def _reported(options: argparse.Namespace, result: Result) -> list[Diagnostic]:
    if not options.baseline:
        return result.found
    from interlock.server.cli.check import only_new

    return only_new(options.baseline, result.found, result)


def _show(
    options: argparse.Namespace,
    result: Result,
    found: Sequence[Diagnostic],
    done: Sequence[tuple[Checked, Fixed, Config]],
) -> int:
    count = files = 0
    for part, fixed, config in done:
        before = {one.shown: one.source.text for one in part.batch.files}
        if part.workspace.config.source is not None:
            before[part.workspace.config.source.path] = part.workspace.config.source.text
        changed = [*fixed.files.values(), *(file for _, file in _settings(part, config))]
        for file in changed:
            write(unified_diff(file.shown, before[file.shown], file.source.text))
        count += fixed.count
        files += len(changed)
    places = f"{count} {'place' if count == 1 else 'places'} in {files} {'file' if files == 1 else 'files'}"
    print(
        f"interlock check: --fix would mend {places}" if count else "interlock check: nothing to mend", file=sys.stderr
    )
    return exit_code(options, result, found)


def _pass_on(options: argparse.Namespace, result: Result, done: Sequence[tuple[Checked, Fixed, Config]]) -> int:
    """The text of stdin, mended, to stdout; what is left is told on the other stream."""
    after = Result(tuple(_again(part, fixed, config) for part, fixed, config in done), result.complaints, result.notes)
    left = _reported(options, after)
    for part in after.checked:
        for one in part.wanted:
            mark = "\ufeff" if one.had_bom else ""
            sys.stdout.flush()
            sys.stdout.buffer.write((mark + one.source.text).encode("utf-8"))
    for problem in left:
        print(
            f"{problem.file}:{problem.line}:{problem.column}: {problem.severity}[{problem.name}] {problem.message}",
            file=sys.stderr,
        )
    return exit_code(options, after, left)
