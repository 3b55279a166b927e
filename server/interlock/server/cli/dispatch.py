"""``interlock dispatch``: checks a workflow and stores a run of it for a worker."""

from __future__ import annotations

import argparse

from interlock.server.cli import engine_commands as common
from interlock.server.cli.definitions import definition_of, inputs_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    common.add_inputs(parser)
    common.add_store(parser, as_json=True)
    common.add_account(parser)
    common.add_blocks(parser)


@common.speaking
def run(options: common.Options) -> int:
    registry = common.registry_of(options)
    definition = definition_of(options, registry)
    inputs = inputs_of(options, definition.workflow)
    with common.engine_of(options, make=True, registry=registry) as engine:
        done = engine.dispatch(definition, inputs, idempotency_key=options.idempotency_key)
    if options.json:
        common.write_json(done)
    elif done.created:
        print(done.run)
    else:
        print(f"{done.run}  (this key was used before, nothing was created)")
    return 0
