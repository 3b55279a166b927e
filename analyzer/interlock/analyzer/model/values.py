"""Values as a workflow writes them: literals, templates, and lists and maps of both (section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeAlias, TypeVar

import msgspec

from interlock.analyzer.expressions.ast import Node as Expr
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.locate import locate
from interlock.analyzer.syntax.nodes import Plain, Scalar

T = TypeVar("T")


class Setting(msgspec.Struct, Generic[T], frozen=True, eq=False):
    """A field that was written: what it says, and where its key and its value stand.

    For an item of a list, ``key`` is the item itself.
    """

    value: T
    key: Span
    span: Span


class Expression(msgspec.Struct, frozen=True, eq=False):
    """What stands between the braces of a template: one CEL expression.

    ``tree`` is None where it could not be read (IL201 was reported).  ``start`` is where
    ``source`` begins in the decoded text of the scalar.
    """

    source: str
    tree: Expr | None
    scalar: Scalar
    start: int
    via: Span | None = None

    def at(self, start: int, end: int) -> Span:
        """The span in the file of a stretch of ``source``."""
        first = locate(self.scalar, self.start + start)
        last = locate(self.scalar, self.start + end) if end > start else first
        return Span(self.scalar.piece, first, max(first, last), self.via)

    @property
    def span(self) -> Span:
        return self.at(0, len(self.source))


class Literal(msgspec.Struct, frozen=True, eq=False):
    """A scalar without expressions; ``{{`` and ``}}`` are single braces already."""

    data: Plain
    span: Span
    scalar: Scalar


class Template(msgspec.Struct, frozen=True, eq=False):
    """A string with at least one expression.

    ``whole`` says that it is exactly one expression and keeps the type of its value, unless the
    field takes text.
    """

    text: str
    parts: tuple[str | Expression, ...]
    whole: bool
    span: Span
    scalar: Scalar

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(part for part in self.parts if not isinstance(part, str))


class ListValue(msgspec.Struct, frozen=True, eq=False):
    items: tuple[Value, ...]
    span: Span


class Member(msgspec.Struct, frozen=True, eq=False):
    """One entry of a map: its key as text, where the key stands, and its value."""

    name: str
    key: Span
    value: Value


class MapValue(msgspec.Struct, frozen=True, eq=False):
    members: tuple[Member, ...]
    span: Span

    def get(self, name: str) -> Value | None:
        for member in self.members:
            if member.name == name:
                return member.value
        return None

    def member(self, name: str) -> Member | None:
        for member in self.members:
            if member.name == name:
                return member
        return None


Value: TypeAlias = Literal | Template | ListValue | MapValue


def leaves(value: Value) -> Iterator[Literal | Template]:
    """The scalars of a value at any depth, in the order of the text."""
    stack: list[Value] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, ListValue):
            stack.extend(reversed(item.items))
        elif isinstance(item, MapValue):
            stack.extend(member.value for member in reversed(item.members))
        else:
            yield item


def expressions(value: Value) -> Iterator[Expression]:
    """The expressions of a value at any depth, in the order of the text."""
    for leaf in leaves(value):
        if isinstance(leaf, Template):
            yield from leaf.expressions


def is_literal(value: Value) -> bool:
    """Whether no expression stands anywhere in it."""
    return not any(isinstance(leaf, Template) for leaf in leaves(value))


def plain(value: Value) -> object:
    """The JSON value of a literal value; templates are given as their text."""
    if isinstance(value, ListValue):
        return [plain(item) for item in value.items]
    if isinstance(value, MapValue):
        return {member.name: plain(member.value) for member in value.members}
    return value.text if isinstance(value, Template) else value.data
