"""``interlock blocks``: lists the blocks that are known here, or writes the manifest of the host's own."""

from __future__ import annotations

import argparse
import json

from interlock.analyzer.language.blocks import BlockSpec, EffectsUnless, load_manifest
from interlock.engine.blocks.registry import Registry
from interlock.server.cli import engine_commands as common
from interlock.server.cli.main import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("list", "export"), default="list", help="list them, or export the manifest"
    )
    parser.add_argument("--output", "-o", metavar="FILE", help="export: the file to write (default: standard output)")
    parser.add_argument("--json", action="store_true", help="write JSON")
    common.add_blocks(parser)


@common.speaking
def run(options: common.Options) -> int:
    registry = common.registry_of(options)
    if options.action == "export":
        return _export(registry, options.output)
    specs = sorted(registry.specs.values(), key=lambda spec: (not spec.built_in, spec.name))
    if options.json:
        common.write_json(specs)
        return 0
    rows = [[spec.name, _effects(spec), str(spec.cost_units), _allowed(registry, spec), spec.doc] for spec in specs]
    print(common.table(rows, ["BLOCK", "EFFECTS", "COST", "MAY RUN", "WHAT IT DOES"]))
    return 0


def _effects(spec: BlockSpec) -> str:
    if isinstance(spec.effects, EffectsUnless):
        return f"by {spec.effects.param}"
    return "yes" if spec.effects else "no"


def _allowed(registry: Registry, spec: BlockSpec) -> str:
    return "yes" if registry.may_run(spec.name) else f"--allow {spec.name}"


def _export(registry: Registry, path: str | None) -> int:
    text = json.dumps(registry.manifest(), indent=2, ensure_ascii=False) + "\n"
    _, problems = load_manifest(text)
    if problems:  # too large as a whole, or too many: each block by itself has been judged when it was added
        raise UsageError(f"these blocks cannot be described: {problems[0].message}")
    if path is None:
        print(text, end="")
        return 0
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f'"{path}" cannot be written: {error.strerror or error}') from None
    print(f'Written to "{path}".')
    return 0
