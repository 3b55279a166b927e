"""The tree of a YAML document: scalars, mappings, sequences and aliases with their spans.

Nodes are as written: aliases are not expanded and merge keys not merged (``resolve`` helps the
reader with both).  Nodes never form a cycle: an alias that would close one has no target.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from interlock.analyzer.source.text import Piece, SourceText, Span

Style: TypeAlias = Literal["plain", "single", "double", "literal", "folded"]
Plain: TypeAlias = str | int | float | bool | None


class Scalar(msgspec.Struct, frozen=True, eq=False, gc=False):
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


class Entry(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One ``key: value`` of a mapping; a merge is an entry whose key is a plain ``<<``."""

    key: Node
    value: Node


class Mapping(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A block mapping reaches from its first key to its last value, a flow one from ``{`` to ``}``.

    The root of a document that was cut into pieces counts from the piece of its first key, and so
    may end behind that piece's text.
    """

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


class Sequence(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A block sequence reaches from its first ``-`` to its last item, a flow one from ``[`` to ``]``.

    A top-level ``steps`` that was cut counts from the piece of its first item.
    """

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


class Alias(msgspec.Struct, frozen=True, eq=False, gc=False):
    """``*name``; ``target`` is None where no such anchor stands before it (then IL101 was reported).

    An alias that may not be followed has ``target`` None and ``cyclic`` true: it stands inside its
    own anchor, or expanding it would pass the bound of nodes or of depth (this was reported).
    ``size`` is how many nodes it stands for when everything in it is expanded, ``height`` how many
    levels.
    """

    piece: Piece
    start: int
    end: int
    name: str
    target: Node | None
    cyclic: bool = False
    size: int = 1
    height: int = 1

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


class Chunk(msgspec.Struct, eq=False):
    """What one piece gave: kept with the tree, so that an unchanged piece is not read again.

    ``kind`` says as what it was read (``document``, ``head``, ``item``, ``entry``, ``tail``,
    ``remark``); ``key`` is the text that was read.  ``anchors`` are those it defines, ``uses`` those
    it took from pieces before it, ``expanded`` the nodes its aliases stand for.
    """

    kind: str
    key: str
    piece: Piece
    root: Node | None
    problems: tuple[SyntaxProblem, ...]
    comments: tuple[Comment, ...]
    anchors: dict[str, Node]
    uses: dict[str, Node]
    expanded: int
    reusable: bool
    open_ended: bool = False
    broken: tuple[Span, ...] = ()
    broken_ids: tuple[str, ...] = ()
    broken_keys: tuple[str, ...] = ()
    broken_anchors: tuple[str, ...] = ()


class Document(msgspec.Struct, frozen=True, eq=False):
    """One YAML document; ``root`` is None where nothing of it could be read.

    ``broken`` are the spans that recovery fenced off: what stands in them is in no node.
    ``broken_ids`` are the ``id``s that stand in them and ``broken_keys`` the top-level keys: nothing
    should be called unknown or missing that may stand there.  ``pieces`` are in the order of the text.
    """

    root: Node | None
    pieces: tuple[Piece, ...]
    problems: tuple[SyntaxProblem, ...]
    broken: tuple[Span, ...] = ()
    broken_ids: tuple[str, ...] = ()
    broken_keys: tuple[str, ...] = ()


class Tree(msgspec.Struct, frozen=True, eq=False):
    """A whole file.  ``documents`` leaves out those that hold only comments.

    ``problems`` are those of all documents in the order of the text, ``chunks`` the memory for the
    next parse.
    """

    source: SourceText
    documents: tuple[Document, ...]
    problems: tuple[SyntaxProblem, ...]
    comments: tuple[Comment, ...]
    chunks: tuple[Chunk, ...] = ()
