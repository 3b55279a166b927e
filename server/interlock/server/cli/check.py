"""``interlock check``: lints files and folders (section 14)."""

from __future__ import annotations

import argparse
import os
import sys

from interlock.analyzer.analysis import diagnose, judge, read_file
from interlock.analyzer.report.json import render_json
from interlock.analyzer.report.text import render_text
from interlock.analyzer.source.read import Unreadable, read_source
from interlock.server.cli.main import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--strict", action="store_true")


def run(options: argparse.Namespace) -> int:
    files = []
    for path in options.paths:
        source = read_source(path)
        if isinstance(source, Unreadable):
            raise UsageError(f'"{path}" cannot be read: {source.reason}.')
        files.append(read_file(source))
    found = diagnose(files, judge(files))
    if options.format == "json":
        sys.stdout.write(render_json(found, len(files)))
    else:
        sources = {file.source.path: file.source for file in files}
        sys.stdout.write(render_text(found, sources, len(files), color=sys.stdout.isatty() and "NO_COLOR" not in os.environ))
    worst = {one.severity for one in found}
    return 1 if "error" in worst or (options.strict and "warning" in worst) else 0
