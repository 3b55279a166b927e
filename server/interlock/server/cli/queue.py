"""``interlock queue``: the admission queues: which runs are active, which wait, in which order."""

from __future__ import annotations

import argparse

from interlock.server.cli import engine_commands as common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workflow", metavar="WORKFLOW", nargs="?", help="only this workflow's")
    common.add_account(parser)
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    with common.engine_of(options) as engine:
        found = engine.queue(options.workflow)
    if options.json:
        common.write_json(found)
        return 0
    if not found:
        print("No run is admitted or waits to be.")
    for queue in found:
        print(queue.workflow)
        for active in queue.active:
            print(f"  active    {active}")
        for place, waiting in enumerate(queue.waiting, 1):
            print(f"  {place:>2}. waits  {waiting}")
    return 0
