"""The nodes and texts of pieces, as they are put together to one document.

Small questions that ``parse`` asks of what it has read; which pieces there are is its own business.
"""

from __future__ import annotations

import re

from interlock.analyzer.source.text import Piece, Span
from interlock.analyzer.syntax.build import Refusal, duplicates
from interlock.analyzer.syntax.nodes import Alias, Chunk, Entry, Mapping, Node, Scalar, Sequence, SyntaxProblem


class Unsuitable(Exception):
    """A cut that the parsed pieces do not bear out."""


def key_column(item: str, indent: int) -> int:
    """The column in which the keys of an item begin, counted from 0."""
    found = re.match(r" *- +(?=[^\s#])", item)
    return found.end() if found else indent + 2


def first_line(text: str, place: int) -> int:
    """Where the first line begins, from a place on, that is neither blank nor a comment."""
    while place < len(text) and (text[place] in "#\r\n" or text.startswith("---\n", place)):
        place = text.find("\n", place) + 1 or len(text)
    return place


def is_open_ended(refusal: Refusal, text: str) -> bool:
    """Whether the text was refused only because it ended: what follows might complete it."""
    return not refusal.deep and refusal.at >= len(text.rstrip())


def piece_at(chunks: list[Chunk], offset: int) -> Piece:
    for chunk in chunks:
        if offset < chunk.piece.base + len(chunk.piece.text):
            return chunk.piece
    return chunks[-1].piece


def within(piece: Piece, start: int, end: int) -> Span:
    """A span between two offsets of the file, as far as it lies in the piece."""
    first = max(0, min(start - piece.base, len(piece.text)))
    return Span(piece, first, max(first, min(end - piece.base, len(piece.text))))


def is_block(node: Node | None) -> bool:
    return isinstance(node, Mapping | Sequence) and not node.flow


def has_properties(node: Node) -> bool:
    return not isinstance(node, Alias) and (node.anchor is not None or node.tag is not None)


def root_entries(chunk: Chunk) -> tuple[Entry, ...]:
    """The entries that a piece gives to the root."""
    root = chunk.root
    if chunk.broken or root is None:
        return ()
    if chunk.kind == "entry":
        return root.entries if isinstance(root, Mapping) and not root.flow else ()
    if isinstance(root, Mapping) and not root.flow and not has_properties(root):
        return root.entries
    raise Unsuitable


def items_of(chunk: Chunk) -> tuple[Node, ...]:
    root = chunk.root
    return root.items if isinstance(root, Sequence) and not root.flow else ()


def awaits_items(entry: Entry) -> bool:
    """Whether this is ``steps:`` with nothing behind it."""
    key, value = entry.key, entry.value
    return (
        isinstance(key, Scalar)
        and key.value == "steps"
        and key.style == "plain"
        and isinstance(value, Scalar)
        and value.start == value.end
        and value.anchor is None
        and value.tag is None
    )


def end_offset(node: Node) -> int:
    return node.piece.base + node.end


def joined_root(entries: list[Entry]) -> Mapping:
    piece = entries[0].key.piece
    start = entries[0].key.start
    return Mapping(piece, start, end_offset(entries[-1].value) - piece.base, tuple(entries), False)


def duplicate_keys(root: Node | None) -> list[SyntaxProblem]:
    """Duplicates among keys that were read as parts of different pieces, or of a head or tail."""
    return duplicates([entry.key for entry in root.entries]) if isinstance(root, Mapping) else []
