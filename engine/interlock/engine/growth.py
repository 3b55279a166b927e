"""How large the value of an expression can become, and how much work it can take, before it runs.

The runtime has no limit of memory or time: ``x.replace('a', x)`` squares a text, a macro repeats its
body for every item.  These are upper bounds from the tree and the size of what it reads; they are
meant to tell the ordinary from what needs a process of its own, not to be close.
"""

from __future__ import annotations

from interlock.analyzer.expressions import ast

MOST_ITEMS = 10_000
MOST_NESTED = 8
_CEILING = 1 << 60
_GROWING = frozenset({"replace", "join", "format"})


class _Bound:
    """The bounds of one tree: every free name counts as large as all the data together."""

    def __init__(self, size: int, literal: int, items: int) -> None:
        self.size = size
        self.literal = literal
        self.items = items
        self.depth = 0

    def of(self, node: ast.Node, bound: dict[str, int]) -> tuple[int, int]:
        """The size of the node's value, and the work to make it; ``bound`` sizes the macros' names."""
        if isinstance(node, ast.Ident):
            return bound.get(node.name, self.size), 1
        if isinstance(node, ast.Comprehension):
            return self.comprehension(node, bound)
        parts = [self.of(child, bound) for child in ast.children(node)]
        sizes = [size for size, _ in parts]
        work = sum(work for _, work in parts)
        if isinstance(node, ast.Call) and node.function in _GROWING and sizes:
            rest = sum(sizes[1:]) + self.literal
            size = (sizes[0] + 1) * (rest + 1)
            return _cap(size), _cap(work + size)
        if isinstance(node, ast.Select | ast.Has | ast.Index):
            return sizes[0], work + 1
        size = sum(sizes) + (node.end - node.start) + 16
        return _cap(size), _cap(work + size)

    def comprehension(self, node: ast.Comprehension, bound: dict[str, int]) -> tuple[int, int]:
        size, work = self.of(node.target, bound)
        # A call such as split can make more items of a text than any list has.
        made_here = any(isinstance(part, ast.Call) for part in ast.walk(node.target))
        count = min(MOST_ITEMS, size // 2 + 1, size if made_here else self.items)
        if self.depth >= MOST_NESTED:
            return _CEILING, _CEILING
        # What a body does with its item is at least linear, so all items together cost no more than
        # one item of the whole size, and each what it costs without any item.
        self.depth += 1
        empty_size, empty_work = self.body(node, bound, 0)
        full_size, full_work = self.body(node, bound, size)
        self.depth -= 1
        made = count * empty_size + full_size + size
        if node.name in ("map", "filter"):
            # The runtime copies the list that it builds for every item of it.
            made += 16 * count * count
        return _cap(made), _cap(work + count * empty_work + full_work + made)

    def body(self, node: ast.Comprehension, bound: dict[str, int], item: int) -> tuple[int, int]:
        inner = {**bound, node.variable.name: item}
        parts = [self.of(arg, inner) for arg in node.args]
        return sum(size for size, _ in parts), sum(work for _, work in parts) + 1


def _cap(value: int) -> int:
    return min(value, _CEILING)


def bounds(tree: ast.Node, data: bytes, source: str) -> tuple[int, int]:
    """Upper bounds of the bytes of a tree's value and of the steps to it.

    ``data`` is all that it reads, as JSON, and ``source`` its own text.
    """
    items = data.count(b",") + source.count(",") + 1
    return _Bound(len(data), len(source), items).of(tree, {})
