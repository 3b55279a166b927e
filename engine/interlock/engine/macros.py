"""Finds the macros of an expression that build lists, so that they can run over a list in pieces.

The runtime builds the list of ``map`` and ``filter`` by copying it for every item: 10,000 items cost
five seconds and most of a gigabyte.  In pieces of a few hundred the same result costs milliseconds.
"""

from __future__ import annotations

import msgspec

from interlock.analyzer.expressions import ast

PIECE = 250
"""Items that a macro is given at once."""

MOST_ITEMS = 10_000
"""Items that a list may have in a macro (section 3)."""


class Macro(msgspec.Struct, frozen=True):
    """One macro that stands in no other: where it stands, its list, and what is called on that."""

    start: int
    end: int
    items: str
    call: str


def outer_macros(tree: ast.Node, source: str) -> tuple[Macro, ...]:
    """The outermost macros that build lists, in the order of the text."""
    found: list[Macro] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.Comprehension):
            waiting.extend(ast.children(node))
        elif node.name in ("map", "filter"):
            items = source[node.target.start : node.target.end]
            found.append(Macro(node.start, node.end, items, source[node.name_start : node.end]))
        else:
            waiting.append(node.target)
    return tuple(sorted(found, key=lambda macro: macro.start))
