"""What each word of a file is, for colours: keys, words of the language, names, and parts of expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from interlock.analyzer.expressions.ast import (
    Call,
    Comprehension,
    Has,
    Ident,
    Node,
    Select,
    walk,
)
from interlock.analyzer.expressions.ast import (
    Literal as CelLiteral,
)
from interlock.analyzer.expressions.functions import NAMESPACES
from interlock.analyzer.expressions.lexer import TOKEN
from interlock.analyzer.expressions.syntax import parse
from interlock.analyzer.expressions.template import split
from interlock.analyzer.language import fields as f
from interlock.analyzer.language.blocks import BlockSpec
from interlock.analyzer.language.table import WORKFLOW
from interlock.analyzer.query.place import Level, end_of, item_level, start_of, value_level
from interlock.analyzer.syntax.locate import places
from interlock.analyzer.syntax.nodes import Alias, Mapping, Scalar, Sequence, Tree

TokenKind: TypeAlias = Literal[
    "keyword", "property", "enumMember", "namespace", "class", "variable", "parameter", "function", "method",
    "macro", "operator", "number", "string", "type", "decorator",
]  # fmt: skip

KINDS: tuple[TokenKind, ...] = (
    "keyword", "property", "enumMember", "namespace", "class", "variable", "parameter", "function", "method",
    "macro", "operator", "number", "string", "type", "decorator",
)  # fmt: skip


class Token(msgspec.Struct, frozen=True):
    """A word and what it is; ``declares`` where it gives a name."""

    start: int
    end: int
    kind: TokenKind
    declares: bool = False


def tokens(tree: Tree, blocks: dict[str, BlockSpec], start: int = 0, end: int = 1 << 60) -> list[Token]:
    """The tokens of a file between two offsets, in the order of the text; none overlaps another."""
    found: list[Token] = []
    for document in tree.documents:
        if document.root is not None:
            found.extend(_of(Level(document.root, None, WORKFLOW), blocks, start, end))
    found.sort(key=lambda one: one.start)
    kept: list[Token] = []
    for one in found:
        if one.end > one.start and (not kept or kept[-1].end <= one.start):
            kept.append(one)
    return kept


_ROOTS: dict[str, TokenKind] = {"inputs": "parameter"}


def _of(root: Level, blocks: dict[str, BlockSpec], start: int, end: int) -> Iterator[Token]:
    stack = [root]
    while stack:
        level = stack.pop()
        node = level.node
        if start_of(node) > end or end_of(node) < start:
            continue
        if isinstance(node, Mapping):
            for entry in node.entries:
                if start_of(entry.key) > end:
                    break
                if max(end_of(entry.key), end_of(entry.value)) < start:
                    continue
                below = value_level(level, entry, blocks)
                if isinstance(entry.key, Scalar) and entry.value is not None:
                    yield _key(level, below, entry.key)
                stack.append(below)
        elif isinstance(node, Sequence):
            stack.extend(item_level(level, number) for number in range(len(node.items)))
        elif isinstance(node, Alias):
            yield Token(start_of(node), end_of(node), "decorator")
        else:
            yield from _scalar(level, node)


def _key(level: Level, below: Level, key: Scalar) -> Token:
    kind: TokenKind = "property"
    declares = False
    if isinstance(below.row, f.KindRow):
        kind = "keyword"
    elif isinstance(level.type, f.MapOf):
        kind, declares = ("parameter" if level.type.names == "input" else "class"), True
    elif level.shape is WORKFLOW and below.row is not None:
        kind = "keyword"
    return Token(start_of(key), end_of(key), kind, declares)


_NAMES: dict[str, TokenKind] = {
    "block": "namespace",
    "workflow": "class",
    "workflow reference": "class",
    "secret": "parameter",
    "group": "variable",
    "group reference": "variable",
}


def _scalar(level: Level, node: Scalar) -> Iterator[Token]:
    kind = level.type
    start, end = start_of(node), end_of(node)
    if isinstance(node.data, str) and "{" in node.value:
        yield from _template(node)
        return
    if "\n" in node.piece.text[node.start : node.end]:
        return
    if isinstance(kind, f.Choice):
        yield Token(start, end, "type" if "string" in kind.words else "enumMember")
    elif isinstance(kind, f.Name):
        yield Token(start, end, _NAMES.get(kind.kind, "variable"), kind.kind not in ("block", "workflow reference"))
    elif isinstance(kind, f.Duration) or (isinstance(node.data, int | float) and not isinstance(node.data, bool)):
        yield Token(start, end, "number")
    elif isinstance(node.data, bool) or (node.data is None and end > start):
        yield Token(start, end, "keyword")
    elif level.row is not None and level.row.name == "next":
        yield Token(start, end, "variable")


def _template(node: Scalar) -> Iterator[Token]:
    where = places(node)
    base = node.piece.base
    for hole in split(node.value).holes:
        if hole.closed:
            for token in _expression(hole.source):
                first, last = where[hole.start + token.start], where[hole.start + token.end]
                if "\n" not in node.piece.text[first:last]:
                    yield Token(base + first, base + last, token.kind)


def _expression(source: str) -> Iterator[Token]:
    """The words of an expression, as its tree explains them."""
    named = _named(parse(source).tree)
    at = 0
    while at < len(source) and (found := TOKEN.match(source, at)) is not None:
        word = found.lastgroup
        start, at = found.start(), max(found.end(), at + 1)
        if start in named:
            yield Token(start, found.end(), named[start])
        elif word == "ident":
            known: dict[str, TokenKind] = {"true": "keyword", "false": "keyword", "null": "keyword", "in": "operator"}
            if found[0] in known:
                yield Token(start, found.end(), known[found[0]])
        elif word in ("string", "bytes"):
            yield Token(start, found.end(), "string")
        elif word in ("double", "int", "uint"):
            yield Token(start, found.end(), "number")
        elif word == "punct" and found[0] not in ".,()[]{}":
            yield Token(start, found.end(), "operator")


def _named(tree: Node) -> dict[int, TokenKind]:
    named: dict[int, TokenKind] = {}
    for node in walk(tree):
        if isinstance(node, Ident):
            kind: TokenKind = "namespace" if node.name in NAMESPACES else _ROOTS.get(node.name, "variable")
            named.setdefault(node.end - len(node.name), kind)
        elif isinstance(node, Select) and node.field:
            root = node.operand
            kind = "parameter" if isinstance(root, Ident) and root.name in ("inputs", "secrets") else "property"
            named[node.field_start] = kind
        elif isinstance(node, Call):
            named[node.name_start] = "function" if node.target is None else "method"
        elif isinstance(node, Comprehension):
            named[node.name_start] = "macro"
            named[node.variable.start] = "parameter"
        elif isinstance(node, Has):
            named[node.start] = "macro"
        elif isinstance(node, CelLiteral) and node.kind in ("bool", "null"):
            named[node.start] = "keyword"
    return named
