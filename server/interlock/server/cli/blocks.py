"""``interlock blocks``: lists the blocks that are known here, or writes or checks the manifest of the host's own."""

from __future__ import annotations

import argparse
import json
import sys

from interlock.analyzer.config import DEFAULT_MANIFEST
from interlock.analyzer.language.blocks import BlockSpec, EffectsUnless, load_manifest
from interlock.analyzer.report.plain import plain
from interlock.engine.blocks.registry import Registry
from interlock.server.cli import engine_commands as common
from interlock.server.cli.main import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("list", "export"), default="list", help="list them, or export the manifest"
    )
    parser.add_argument("--output", "-o", metavar="FILE", help="export: the file to write (default: standard output)")
    parser.add_argument(
        "--check",
        action="store_true",
        help=f"export: write nothing, and fail if FILE (default: {DEFAULT_MANIFEST}) is not what the blocks say now",
    )
    parser.add_argument("--json", action="store_true", help="write JSON")
    common.add_blocks(parser)


@common.speaking
def run(options: common.Options) -> int:
    if options.check and options.action != "export":
        raise UsageError("--check belongs to export: interlock blocks export --check")
    registry = common.registry_of(options)
    if options.check:
        return _check(registry, options.output or DEFAULT_MANIFEST, options.blocks)
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


def _check(registry: Registry, path: str, modules: list[str]) -> int:
    """Whether a manifest describes the blocks as they are; 1 and a sentence where it does not."""
    words = "".join(f"--blocks {module} " for module in modules)
    again = f'write it again with interlock blocks export {words}--output "{path}"'
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except FileNotFoundError:
        print(f'"{path}" is not there; {again}.', file=sys.stderr)
        return 1
    except OSError as error:
        raise UsageError(f'"{path}" cannot be read: {error.strerror or error}') from None
    written, problems = load_manifest(raw)
    if problems:
        print(f'"{path}" cannot be read as a manifest: {plain(problems[0].message)}', file=sys.stderr)
        return 1
    now, _ = load_manifest(json.dumps(registry.manifest()))
    told = [
        *(f'"{name}" is missing' for name in now if name not in written),
        *(f'"{name}" is no longer there' for name in written if name not in now),
        *(f'"{name}" has changed' for name in now if name in written and written[name] != now[name]),
    ]
    if told:
        print(f'"{path}" is not what the blocks say now: {", ".join(told)}; {again}.', file=sys.stderr)
        return 1
    print(f'"{path}" is what the blocks say now.')
    return 0


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
