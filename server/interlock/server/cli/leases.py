"""``interlock leases``: who holds a key, who waits for it in which order, and what is in review."""

from __future__ import annotations

import argparse

from interlock.server.cli import engine_commands as common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_account(parser)
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    with common.engine_of(options) as engine:
        found = engine.leases()
    if options.json:
        common.write_json(found)
        return 0
    if not found:
        print("Nobody holds or waits for anything.")
    for lease in found:
        print(f'"{lease.key}"  {len(lease.holders)} of {lease.limit or "-"} held')
        for holder in lease.holders:
            review = "  in review" if holder.review else ""
            since = common.ago(holder.since)
            print(f"  held by   {holder.run}  fence {holder.fence}  for the {holder.lifetime}  {since}{review}")
        for place, waiter in enumerate(lease.waiters, 1):
            print(
                f"  {place:>2}. waits  {waiter.run}  {waiter.path}  ticket {waiter.ticket}  {common.ago(waiter.since)}"
            )
    return 0
