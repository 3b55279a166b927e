"""``interlock runs``: lists runs, newest first."""

from __future__ import annotations

import argparse

from interlock.engine.client import STATUSES
from interlock.server.cli import engine_commands as common
from interlock.server.cli.choices import not_empty, one_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workflow", metavar="NAME", help="only of this workflow")
    parser.add_argument("--status", type=one_of("status", STATUSES), metavar="STATUS", help="only in this status")
    parser.add_argument("--account", type=not_empty, metavar="A", help="only of this account")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="at most so many (default: 50)")
    parser.add_argument("--before", metavar="RUN", help="older than this run")
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    with common.engine_of(options) as engine:
        found = engine.runs(
            workflow=options.workflow,
            status=options.status,
            account=options.account,
            limit=max(1, options.limit),
            before=options.before,
        )
    if options.json:
        common.write_json(found)
        return 0
    if not found:
        print("There are no such runs.")
        return 0
    rows = [
        [
            one.run,
            one.workflow,
            one.status,
            common.when(one.dispatched_at),
            common.span(one.ended_at - one.dispatched_at) if one.ended_at is not None else "-",
            one.error or "",
        ]
        for one in found
    ]
    print(common.table(rows, ["RUN", "WORKFLOW", "STATUS", "DISPATCHED", "TOOK", "ERROR"]))
    return 0
