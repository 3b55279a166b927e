"""``interlock export``: writes a run with its definition and events as JSON, secrets hidden."""

from __future__ import annotations

import argparse
import json

import msgspec

from interlock.server.cli import engine_commands as common
from interlock.server.cli.main import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN")
    parser.add_argument("--output", "-o", metavar="FILE", help="the file to write (default: standard output)")
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    with common.engine_of(options) as engine:
        export = engine.export(options.run_id)
    if options.output is None:
        common.write_json(export)
        return 0
    try:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(msgspec.to_builtins(export), file, indent=2, ensure_ascii=False)
            file.write("\n")
    except OSError as error:
        raise UsageError(f'"{options.output}" cannot be written: {error.strerror or error}') from None
    print(f'Written to "{options.output}".')
    return 0
