"""The tree of a CEL expression, each node with its exact span in the text that was parsed.

Parentheses leave no node (``(a).b`` starts at its parenthesis, the operand at ``a``). A run of ``!`` or
of ``-`` is one node, as is an unbroken chain of ``&&`` or ``||``: so the runtime reads them, and its
limit of depth counts them so. Half-typed text gives ``Missing`` where something ought to stand.
"""

from __future__ import annotations

from typing import Literal as Choice
from typing import TypeAlias

import msgspec

Value: TypeAlias = int | float | str | bytes | bool | None


class Node(msgspec.Struct, frozen=True, eq=False):
    """``start`` and ``end`` are code-point offsets; ``end`` is exclusive."""

    start: int
    end: int


class Missing(Node, frozen=True, eq=False):
    """Nothing where an expression belongs, or text that could not be read as one."""


class Literal(Node, frozen=True, eq=False):
    """A literal; a sign directly before a number belongs to it.

    ``quote`` is the opening delimiter of a string without its prefix, else empty; ``plain`` says that an
    int was written in decimal.
    """

    kind: Choice["int", "uint", "double", "string", "bytes", "bool", "null"]
    value: Value
    quote: str = ""
    plain: bool = False


class Ident(Node, frozen=True, eq=False):
    """A bare name; ``absolute`` where a dot stands before it."""

    name: str
    absolute: bool = False


class Select(Node, frozen=True, eq=False):
    """``operand.field`` or, when ``optional``, ``operand.?field``; an empty field is still being typed."""

    operand: Node
    field: str
    field_start: int
    field_end: int
    optional: bool = False


class Index(Node, frozen=True, eq=False):
    """``operand[index]`` or, when ``optional``, ``operand[?index]``."""

    operand: Node
    index: Node
    optional: bool = False


class Call(Node, frozen=True, eq=False):
    """``function(args)`` or, with a target, ``target.function(args)``.

    ``open`` is the offset just after the opening parenthesis, and ``commas`` those of the commas between
    arguments, for signature help.
    """

    function: str
    name_start: int
    name_end: int
    target: Node | None
    args: tuple[Node, ...]
    open: int
    commas: tuple[int, ...] = ()
    absolute: bool = False


class Has(Node, frozen=True, eq=False):
    """``has(operand.field)``."""

    arg: Select


class Comprehension(Node, frozen=True, eq=False):
    """A macro that binds a variable: ``target.name(variable, args…)``."""

    name: str
    name_start: int
    name_end: int
    target: Node
    variable: Ident
    args: tuple[Node, ...]


class Unary(Node, frozen=True, eq=False):
    """``count`` times the same operator, ``!`` or ``-``, before an operand."""

    op: str
    count: int
    operand: Node


class Binary(Node, frozen=True, eq=False):
    """Arithmetic, a relation or ``in``."""

    op: str
    left: Node
    right: Node
    op_start: int
    op_end: int


class Logic(Node, frozen=True, eq=False):
    """A chain of ``&&`` or of ``||``; at least two operands."""

    op: str
    operands: tuple[Node, ...]


class Ternary(Node, frozen=True, eq=False):
    condition: Node
    then: Node
    otherwise: Node


class Item(msgspec.Struct, frozen=True, eq=False):
    """An element of a list literal; ``optional`` where a ``?`` stands before it."""

    value: Node
    optional: bool = False


class ListLiteral(Node, frozen=True, eq=False):
    items: tuple[Item, ...]


class Entry(msgspec.Struct, frozen=True, eq=False):
    """An entry of a map literal; ``optional`` where a ``?`` stands before its key."""

    key: Node
    value: Node
    optional: bool = False


class MapLiteral(Node, frozen=True, eq=False):
    entries: tuple[Entry, ...]


class Field(msgspec.Struct, frozen=True, eq=False):
    """A field of a message literal, with the span of its name."""

    name: str
    start: int
    end: int
    value: Node
    optional: bool = False


class Message(Node, frozen=True, eq=False):
    """``Name{field: value}``; ``name_end`` is where the type's name ends."""

    name: str
    name_end: int
    fields: tuple[Field, ...]


def children(node: Node) -> tuple[Node, ...]:
    """The direct children in the order of the text, a macro's variable left out."""
    if isinstance(node, (Missing, Literal, Ident)):
        return ()
    if isinstance(node, Select):
        return (node.operand,)
    if isinstance(node, Index):
        return (node.operand, node.index)
    if isinstance(node, Call):
        return node.args if node.target is None else (node.target, *node.args)
    if isinstance(node, Has):
        return (node.arg,)
    if isinstance(node, Comprehension):
        return (node.target, *node.args)
    if isinstance(node, Unary):
        return (node.operand,)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Logic):
        return node.operands
    if isinstance(node, Ternary):
        return (node.condition, node.then, node.otherwise)
    if isinstance(node, ListLiteral):
        return tuple(item.value for item in node.items)
    if isinstance(node, MapLiteral):
        return tuple(part for entry in node.entries for part in (entry.key, entry.value))
    if isinstance(node, Message):
        return tuple(field.value for field in node.fields)
    raise TypeError(f"not a node of an expression: {node!r}")


def walk(node: Node) -> list[Node]:
    """The node and everything below it, parents first."""
    found = [node]
    for parent in found:
        found.extend(children(parent))
    return found
