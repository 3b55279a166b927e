"""``interlock replay``: decides a stored or exported run again, and names the first difference."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from interlock.engine.client import replay_export
from interlock.engine.shown import Replayed
from interlock.server.cli import engine_commands as common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", metavar="RUN|EXPORT.json", help="a stored run, or the file of an exported one (- reads stdin)"
    )
    parser.add_argument("--any-version", action="store_true", help="also where another version decided it")
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    """Exit 0: the same; 1: otherwise; 2: it cannot be said."""
    if _is_file(options.run):
        data = common.read_data(options.run, "the export")
        found = replay_export(data, any_version=options.any_version)
    else:
        with common.engine_of(options) as engine:
            found = engine.replay(options.run, any_version=options.any_version)
    if options.json:
        common.write_json(found)
    else:
        print("\n".join(describe(found)))
    return {True: 0, False: 1, None: 2}[found.same]


def _is_file(word: str) -> bool:
    return word == "-" or word.endswith(".json") or os.sep in word or os.path.isfile(word)


def describe(found: Replayed) -> Iterator[str]:
    """The answer in lines for a person."""
    turns = f"{found.turns} turn{'' if found.turns == 1 else 's'}"
    if found.same:
        yield f"The run {found.run} of {found.workflow} decides the same again: {turns} by version {found.here}."
        return
    difference = found.difference
    if difference is not None:
        where = f"at turn {difference.turn} ({difference.event})" if difference.turn else "at the end"
        yield f"The run {found.run} of {found.workflow} decides otherwise {where}, in its {difference.what}:"
        yield f"  then  {common.short(difference.then, 400)}"
        yield f"  now   {common.short(difference.now, 400)}"
    if found.reason is not None:
        yield found.reason
