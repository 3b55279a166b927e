"""``interlock prune``: removes runs that ended long ago; keys, fences and idempotency keys stay."""

from __future__ import annotations

import argparse

from interlock.analyzer.language.names import duration
from interlock.server.cli import engine_commands as common
from interlock.server.cli.main import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than", default="30d", metavar="DURATION", help="ended longer ago than this (default: 30d)"
    )
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    seconds = 0.0 if options.older_than in ("0", "0s") else duration(options.older_than)
    if seconds is None or (seconds and options.older_than.isdecimal()):
        # A number alone would be seconds, and who means days would lose nearly all runs.
        raise UsageError(f'--older-than: "{options.older_than}" is no duration; write 30d, 12h or 90m')
    with common.engine_of(options) as engine:
        removed = engine.prune(seconds)
    common.tell(options, f"Removed {removed} run{'' if removed == 1 else 's'}.", removed=removed)
    return 0
