"""A piece of a file read as if it were finished at the cursor, in the workflow that is around it.

Only the piece with the cursor (one step, or what stands before and behind the steps) is read, so that this
costs the same in a file of any length; the steps of the rest come from the file as it was read.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from interlock.analyzer.analysis import FileModel
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.model.nodes import StepList, Workflow
from interlock.analyzer.model.read import read_document
from interlock.analyzer.query.mend import MARK, Mended, mended
from interlock.analyzer.query.place import Place, document_at, place_at
from interlock.analyzer.source.text import SourceText
from interlock.analyzer.syntax.nodes import Chunk, Document, Mapping, Node, Scalar, Sequence
from interlock.analyzer.syntax.parse import parse_tree

_HEAD = "steps:\n"


class Draft(msgspec.Struct, frozen=True, eq=False):
    """The finished piece.  ``offset`` is that of the mark in ``source``; ``place`` what stands there.

    ``start`` is where in the file what is written has to begin, if not at the word, and with ``dash`` it has to
    begin with one.  ``unit`` is the whole workflow with this piece in it; None where there is none to be had.
    """

    source: SourceText
    offset: int
    word: str
    dash: bool
    start: int | None
    place: Place
    unit: Unit | None
    sound: bool


def drafts(file: FileModel, program: Program, unit: Unit | None, offset: int) -> Iterator[Draft]:
    """The ways to finish the text at an offset that can be read, the likeliest first; sound YAML before other."""
    broken: list[Draft] = []
    for head, text, at, chunk in _pieces(file, offset):
        for one in mended(text, at):
            draft = _read(file, program, unit, head, one, chunk)
            if draft is not None:
                start = None if one.start is None else one.start + offset - at
                draft = msgspec.structs.replace(draft, start=start)
                if draft.sound:
                    yield draft
                else:
                    broken.append(draft)
    yield from broken


def _pieces(file: FileModel, offset: int) -> Iterator[tuple[str, str, int, Chunk | None]]:
    """What to read: the text to put before, the text, the cursor in it, and the step's piece if it is one."""
    whole = file.source.text
    document = document_at(file.tree.documents, offset)
    mine = {id(piece) for piece in document.pieces} if document is not None else set()
    chunks = [chunk for chunk in file.tree.chunks if id(chunk.piece) in mine]
    here = next((one for one in reversed(chunks) if one.piece.base <= offset), None)
    if here is not None and here.kind == "item":
        yield _HEAD, here.piece.text, offset - here.piece.base, here
    if here is not None and len(chunks) > 1 and here.kind != "item":
        before = "".join(
            chunk.piece.text for chunk in chunks if chunk.kind != "item" and chunk.piece.base < here.piece.base
        )
        behind = "".join(
            chunk.piece.text for chunk in chunks if chunk.kind != "item" and chunk.piece.base > here.piece.base
        )
        yield before, here.piece.text + behind, offset - here.piece.base, None
    elif here is None or here.kind != "item":
        start = chunks[0].piece.base if chunks else 0
        stop = chunks[-1].piece.base + len(chunks[-1].piece.text) if chunks else len(whole)
        if not start <= offset <= stop:
            start, stop = 0, len(whole)
        yield "", whole[start:stop], offset - start, None


def _read(
    file: FileModel, program: Program, unit: Unit | None, head: str, one: Mended, chunk: Chunk | None
) -> Draft | None:
    source = SourceText(file.source.path, head + one.text)
    tree = parse_tree(source)
    at = len(head) + one.offset
    document = document_at(tree.documents, at)
    if document is None or not _holds_mark(document, at):
        return None
    place = place_at(document, at, program.blocks)
    if place is None:
        return None
    workflow, _ = read_document(document)
    if workflow is not None:
        workflow = _compose(unit.workflow if unit is not None else None, workflow, chunk)
    if workflow is None:
        whole = None
    else:
        whole = unit.aside(workflow) if unit is not None else Unit(workflow, program)
    return Draft(source, at, one.word, one.dash, None, place, whole, all(one.code != "IL101" for one in tree.problems))


def _holds_mark(document: Document, offset: int) -> bool:
    """Whether the mark was read: it stands in a scalar of the tree."""
    node: Node | None = document.root
    while node is not None:
        if isinstance(node, Scalar):
            return MARK in node.value
        parts: list[Node] = []
        if isinstance(node, Mapping):
            parts = [part for entry in node.entries for part in (entry.key, entry.value)]
        elif isinstance(node, Sequence):
            parts = list(node.items)
        node = next((one for one in reversed(parts) if one.piece.base + one.start <= offset), None)
    return False


def _compose(real: Workflow | None, piece: Workflow, chunk: Chunk | None) -> Workflow:
    """The real workflow with the piece in its place."""
    if real is None:
        return piece
    if chunk is None:
        return piece if piece.steps is not None else msgspec.structs.replace(piece, steps=real.steps)
    start, stop = chunk.piece.base, chunk.piece.base + len(chunk.piece.text)
    new = piece.steps.steps if piece.steps is not None else ()
    old = real.steps.steps if real.steps is not None else ()
    steps = (
        *(step for step in old if step.span.offset < start),
        *new,
        *(step for step in old if step.span.offset >= stop),
    )
    anchor = real.steps or piece.steps
    if anchor is None:
        return real
    return msgspec.structs.replace(real, steps=StepList(anchor.key, anchor.span, steps))
