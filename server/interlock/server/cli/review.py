"""``interlock review``: a person says what became of a protected write that is held for review."""

from __future__ import annotations

import argparse
import getpass

from interlock.server.cli import engine_commands as common
from interlock.server.cli.choices import one_of
from interlock.server.cli.hints import DECISIONS
from interlock.server.cli.main import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN")
    parser.add_argument(
        "decision",
        type=one_of("decision", DECISIONS),
        metavar="DECISION",
        help="committed (the write happened), not-committed (do it again), or abandon (fail)",
    )
    parser.add_argument("--path", metavar="PATH", help="the section, where several are in review")
    parser.add_argument("--result", metavar="JSON", help="with committed: the section's outputs (@FILE, @-)")
    parser.add_argument("--by", metavar="NAME", help="who decides (default: the user's name)")
    common.add_store(parser, as_json=True)


@common.speaking
def run(options: common.Options) -> int:
    if options.result is not None and options.decision != "committed":
        raise UsageError("--result goes with committed only")
    result = common.json_argument(options.result, "--result")
    with common.engine_of(options) as engine:
        open_reviews = engine.status(options.run_id).reviews
        if options.path is None and len(open_reviews) > 1:
            paths = ", ".join(f'"{review.path}"' for review in open_reviews)
            raise UsageError(f"several sections are in review ({paths}); name one with --path PATH")
        engine.review(options.run_id, options.decision, path=options.path, result=result, by=options.by or user())
        status = engine.status(options.run_id).status
    sentence = f"Settled as {options.decision}: {options.run_id}."
    common.tell(options, sentence, run=options.run_id, decision=options.decision, status=status)
    return 0


def user() -> str:
    """Who sits at the terminal, as far as the system knows."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
