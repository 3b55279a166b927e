"""``interlock graph``: a picture of the workflows of a file.

What could not be read is not in the picture: then a line on stderr says so, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from interlock.server.cli.main import UsageError

if TYPE_CHECKING:
    from interlock.analyzer.analysis import FileModel
    from interlock.analyzer.graph.program import Unit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--format", choices=("mermaid", "dot", "json", "svg"), default="mermaid")
    parser.add_argument("--workflow", metavar="NAME", help="which workflow, where the file holds several")
    parser.add_argument("--output", "-o", metavar="FILE", help="write it to a file instead of standard output")


def run(options: argparse.Namespace) -> int:
    from interlock.analyzer.analysis import read_file
    from interlock.analyzer.source.read import Unreadable, read_source

    source = read_source(options.file)
    if isinstance(source, Unreadable):
        raise UsageError(f'"{options.file}" cannot be read: {source.reason}.')
    model = read_file(source)
    text = render(_unit(options, model), options.format)
    if options.output is None:
        sys.stdout.write(text)
    else:
        try:
            with open(options.output, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            reason = (error.strerror or "error").lower()
            raise UsageError(f'"{options.output}" cannot be written: {reason}.') from error
    return _complete(options.file, model)


def _complete(path: str, model: FileModel) -> int:
    """The exit code: 1 where something of the file could not be read, and may be missing from the picture."""
    from interlock.analyzer.rules.catalog import RULES

    wrong = [one for one in model.findings if RULES[one.code].severity == "error"]
    if not wrong:
        return 0
    count = f"{len(wrong)} {'error' if len(wrong) == 1 else 'errors'} of form"
    said = f'"{path}" has {count}, so the picture may lack a part; interlock check tells more'
    print(f"interlock graph: {said}", file=sys.stderr)
    return 1


def _unit(options: argparse.Namespace, model: FileModel) -> Unit:
    from interlock.analyzer.analysis import program_of

    units = [unit for unit in program_of([model]).units if unit.workflow.steps is not None]
    names = ", ".join(unit.name or "(unnamed)" for unit in units)
    if options.workflow is not None:
        for unit in units:
            if unit.name == options.workflow:
                return unit
        raise UsageError(f'"{options.file}" holds no workflow "{options.workflow}"; it holds {names or "none"}.')
    if not units:
        raise UsageError(f'"{options.file}" holds no workflow that can be drawn.')
    if len(units) > 1:
        print(f"interlock graph: drawing {units[0].name}; --workflow chooses among {names}", file=sys.stderr)
    return units[0]


def render(unit: Unit, form: str) -> str:
    """The picture of a workflow in one of the four forms."""
    from interlock.analyzer.drawing.layout import place
    from interlock.analyzer.drawing.mermaid import dot, mermaid
    from interlock.analyzer.drawing.outline import outline

    drawn = outline(unit)
    if form == "mermaid":
        return mermaid(drawn)
    if form == "dot":
        return dot(drawn)
    if form == "svg":
        from interlock.analyzer.drawing.svg import svg

        return svg(place(drawn))
    import msgspec

    from interlock.analyzer.drawing.json import as_json

    return msgspec.json.format(msgspec.json.encode(as_json(place(drawn))), indent=2).decode() + "\n"
