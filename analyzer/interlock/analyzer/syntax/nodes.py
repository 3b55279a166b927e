"""The tree of a YAML document: scalars, mappings, sequences and aliases with their spans.

Nodes are as written: aliases are not expanded and merge keys not merged; the reader does both.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from interlock.analyzer.source.text import Piece, SourceText, Span

Style: TypeAlias = Literal["plain", "single", "double", "literal", "folded"]
Plain: TypeAlias = str | int | float | bool | None


class Scalar(msgspec.Struct, frozen=True, eq=False):
    """A scalar: its text as YAML gives it, and its value by the core schema.

    ``start`` and ``end`` frame the scalar as written, quotes included (for a block scalar from
    its ``|`` or ``>`` to the end of its text), without anchor and tag.
    """

    piece: Piece
    start: int
    end: int
    value: str
    style: Style
    data: Plain
    anchor: str | None = None
    tag: str | None = None

    @property
    def span(self) -> Span:
        return Span(self.piece, self.start, self.end)


class Entry(msgspec.Struct, frozen=True, eq=False):
    """One ``key: value`` of a mapping; a merge is an entry whose key is a plain ``<<``."""

    key: Node
    value: Node


class Mapping(msgspec.Struct, frozen=True, eq=False):
    piece: Piece
    start: int
    end: int
    entries: tuple[Entry, ...]
    flow: bool
    anchor: str | None = None
    tag: str | None = None

    @property
    def span(self) -> Span:
        return Span(self.piece, self.start, self.end)


class Sequence(msgspec.Struct, frozen=True, eq=False):
    piece: Piece
    start: int
    end: int
    items: tuple[Node, ...]
    flow: bool
    anchor: str | None = None
    tag: str | None = None

    @property
    def span(self) -> Span:
        return Span(self.piece, self.start, self.end)


class Alias(msgspec.Struct, frozen=True, eq=False):
    """``*name``; ``target`` is None where no such anchor stands before it (then IL101 was reported).

    An alias inside its own anchor has ``target`` None and ``cyclic`` true (IL110 was reported).
    """

    piece: Piece
    start: int
    end: int
    name: str
    target: Node | None
    cyclic: bool = False

    @property
    def span(self) -> Span:
        return Span(self.piece, self.start, self.end)


Node: TypeAlias = Scalar | Mapping | Sequence | Alias


class SyntaxProblem(msgspec.Struct, frozen=True):
    """Something that is wrong with the YAML itself: IL101, IL102 or IL110."""

    code: str
    span: Span
    message: str
    hint: str | None = None
    related: tuple[tuple[Span, str], ...] = ()


class Comment(msgspec.Struct, frozen=True):
    """A comment: its text without the ``#``, where it is, and whether it has the line to itself."""

    text: str
    span: Span
    alone: bool


class Document(msgspec.Struct, frozen=True, eq=False):
    """One YAML document; ``root`` is None where nothing of it could be read.

    ``broken`` are the spans that recovery fenced off: what stands in them is in no node.
    ``pieces`` are in the order of the text.
    """

    root: Node | None
    pieces: tuple[Piece, ...]
    problems: tuple[SyntaxProblem, ...]
    broken: tuple[Span, ...] = ()


class Tree(msgspec.Struct, frozen=True, eq=False):
    """A whole file.  ``documents`` leaves out those that hold only comments."""

    source: SourceText
    documents: tuple[Document, ...]
    problems: tuple[SyntaxProblem, ...]
    comments: tuple[Comment, ...]
