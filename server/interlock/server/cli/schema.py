"""``interlock schema``: the JSON Schema of workflow files, for editors without a language server."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", "-o", metavar="FILE", help="write it to a file instead of standard output")


def run(options: argparse.Namespace) -> int:
    import json

    from interlock.analyzer.language.schema import json_schema
    from interlock.server.cli.main import UsageError

    text = json.dumps(json_schema(), indent=2) + "\n"
    if options.output is None:
        sys.stdout.write(text)
        return 0
    try:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f'"{options.output}" cannot be written: {(error.strerror or "error").lower()}.') from error
    return 0
