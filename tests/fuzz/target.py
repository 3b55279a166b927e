"""Everything that reads a text, run on one: nothing may raise, and what comes out must hold together.

The whole way of a file through the analyzer: bytes, tree, model, rules, fixes, reports, pictures; then what an
editor asks at some offsets; then an edit, whose incremental result must be that of a fresh analysis.
"""

from __future__ import annotations

import json
import random

from interlock.analyzer.analysis import FileModel, diagnose, judge, program_of, read_file
from interlock.analyzer.batch import Loaded, load_bytes
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.drawing.json import as_json
from interlock.analyzer.drawing.layout import place
from interlock.analyzer.drawing.mermaid import dot, mermaid
from interlock.analyzer.drawing.outline import outline as drawn
from interlock.analyzer.drawing.svg import svg
from interlock.analyzer.fixes import Fixer
from interlock.analyzer.language.blocks import BUILT_IN
from interlock.analyzer.query.actions import changes_at
from interlock.analyzer.query.complete import complete
from interlock.analyzer.query.hints import hints, lenses
from interlock.analyzer.query.hover import hover
from interlock.analyzer.query.outline import folds
from interlock.analyzer.query.outline import outline as symbols
from interlock.analyzer.query.place import document_at
from interlock.analyzer.query.symbols import occurrences
from interlock.analyzer.query.tokens import tokens
from interlock.analyzer.report.json import render_json
from interlock.analyzer.report.sarif import render_sarif
from interlock.analyzer.report.text import render_text
from interlock.analyzer.source.text import SourceText

NAME = "fuzzed.workflow.yaml"


def everything(data: bytes, seed: int = 0) -> list[Diagnostic]:
    """Run it all; raises what a part raises, and `AssertionError` where the parts do not agree."""
    loaded = load_bytes(data, NAME)
    if not isinstance(loaded, Loaded):
        return []
    rng = random.Random(seed)
    file = read_file(loaded.source)
    found = diagnose([file], judge([file]))
    _reports(loaded, found)
    _pictures(file)
    _questions(file, found, rng)
    _edit(file, rng)
    if found and rng.random() < 0.3:
        errors = sum(one.severity == "error" for one in found)
        fixed = Fixer([loaded], [NAME], lambda every: every).run()
        for mended in fixed.files.values():
            again = read_file(mended.source)
            left = sum(one.severity == "error" for one in diagnose([again], judge([again])))
            assert left <= errors, f"{errors} errors before the fixes, and {left} after"
    return found


def _reports(loaded: Loaded, found: list[Diagnostic]) -> None:
    text = loaded.source.text
    for one in found:
        assert 0 <= one.offset <= one.end_offset <= len(text), f"{one.code} lies outside of the text"
        assert (one.line, one.column) <= (one.end_line, one.end_column), f"{one.code} ends before it begins"
    render_text(found, {NAME: loaded.source}, 1)
    json.loads(render_json(found, 1))
    json.loads(render_sarif(found, "0"))


def _pictures(file: FileModel) -> None:
    for unit in program_of([file]).units:
        if unit.workflow.steps is None:
            continue
        picture = drawn(unit)
        mermaid(picture)
        dot(picture)
        placed = place(picture)
        as_json(placed)
        svg(placed)


def _questions(file: FileModel, found: list[Diagnostic], rng: random.Random) -> None:
    program = program_of([file])
    size = len(file.source.text)
    codes = {one.code for one in found}
    list(tokens(file.tree, BUILT_IN))
    folds(file.tree)
    for unit in program.units:
        symbols(unit.workflow)
        occurrences(unit)
        list(hints(unit, 0, size))
        list(lenses(unit))
    for _ in range(4):
        offset = rng.randint(0, size)
        document = document_at(file.tree.documents, offset)
        units = [each for each in program.units if each.workflow.span.offset <= offset]
        unit = units[-1] if units else None
        complete(file, program, unit, offset)
        hover(program, unit, file.tree.documents, file.suppressions, offset)
        list(changes_at(unit, document, BUILT_IN, offset, codes))


def _edit(file: FileModel, rng: random.Random) -> None:
    """A piece of the text is replaced: reading on from what is known gives what reading anew gives."""
    text = file.source.text
    start = rng.randint(0, len(text))
    end = min(len(text), start + rng.randint(0, 12))
    put = rng.choice(["", "x", '"', "{", "}", ": ", "- ", "\n", "\n  - id: z\n", "#", "&a ", "*a", "|\n", "{inputs."])
    changed = SourceText(NAME, text[:start] + put + text[end:])
    after, fresh = read_file(changed, file), read_file(SourceText(NAME, changed.text))
    one, other = diagnose([after], judge([after])), diagnose([fresh], judge([fresh]))
    assert one == other, f"after {put!r} at {start} to {end}: {set(one) ^ set(other)}"
