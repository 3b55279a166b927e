"""``interlock events``: what happened in a run, or in all of them."""

from __future__ import annotations

import argparse
import time
from datetime import datetime

from interlock.engine.shown import Event
from interlock.server.cli import engine_commands as common

_MOMENTS = ("until", "at")
"""What events tell as seconds since 1970, and a person reads as a time."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", nargs="?", help="one run (default: all)")
    parser.add_argument("--follow", "-f", action="store_true", help="go on as more happens")
    parser.add_argument("--after", type=int, default=0, metavar="N", help="only after this number")
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    with common.engine_of(options) as engine:
        if options.run_id is not None and options.follow:
            for event in engine.follow(options.run_id, after=options.after):
                show(event, options.json, one_run=True)
            return 0
        after = options.after
        while True:
            found = engine.events(options.run_id, after=after)
            for event in found:
                show(event, options.json, one_run=options.run_id is not None)
                after = event.seq
            if not found:
                if not options.follow:
                    return 0
                time.sleep(0.2)


def show(event: Event, as_json: bool, *, one_run: bool) -> None:
    """One event: a JSON line, or a line to read."""
    if as_json:
        common.write_json_line(event)
        return
    at = datetime.fromtimestamp(event.at).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    who = "" if one_run else f"{event.run}  "
    path = f"  {event.path}" if event.path else ""
    visit = f" (visit {event.visit})" if event.visit is not None and event.visit > 1 else ""
    data = "".join(f"  {name}={_shown(name, value)}" for name, value in event.data.items())
    print(f"{event.seq:>6}  {at}  {who}{event.kind}{path}{visit}{data}", flush=True)


def _shown(name: str, value: object) -> str:
    if name in _MOMENTS and isinstance(value, float):
        return common.when(value)
    return common.short(value)
