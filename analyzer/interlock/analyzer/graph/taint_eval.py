"""Expressions under the abstract interpretation for secrets: which parts of the result carry one.

A comparison and ``size()`` give nothing away; all else carries what it reads, ``has`` too (section
11).  Members are followed as far as the expression names them.  Which names carry what is told by
the caller.
"""

from __future__ import annotations

from collections.abc import Callable

from interlock.analyzer.expressions.ast import (
    Binary,
    Call,
    Comprehension,
    Has,
    Ident,
    Index,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    Ternary,
    children,
)
from interlock.analyzer.expressions.functions import FUNCTIONS, TYPE_NAMES
from interlock.analyzer.graph.taint_shapes import (
    Shape,
    Trace,
    element,
    join,
    member,
    read_at,
    shape_of,
    traces,
    whole,
)
from interlock.analyzer.model.values import Expression

_RELATIONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
_UNWRAP = frozenset({"orValue", "or", "value", "of", "ofNonZeroValue"})


def evaluate(expression: Expression, root: Callable[[str], Shape | None]) -> Shape | None:
    """What the value of an expression carries; ``root`` gives that of a bare name."""
    if expression.tree is None:
        return None
    return _Evaluator(expression, root).visit(expression.tree, {})


class _Evaluator:
    def __init__(self, expression: Expression, root: Callable[[str], Shape | None]) -> None:
        self.expression = expression
        self.root = root

    def visit(self, node: Node, local: dict[str, Shape | None]) -> Shape | None:
        if isinstance(node, Ident | Select | Index):
            return self.chain(node, local)
        if isinstance(node, Literal):
            return None
        if isinstance(node, Has):
            return whole(self.visit(node.arg, local))
        if isinstance(node, Binary):
            if node.op in _RELATIONS:
                return None
            return join(self.visit(node.left, local), self.visit(node.right, local))
        if isinstance(node, Ternary):
            ways = join(self.visit(node.then, local), self.visit(node.otherwise, local))
            return join(whole(self.visit(node.condition, local)), ways)
        if isinstance(node, ListLiteral):
            items: Shape | None = None
            for item in node.items:
                items = join(items, self.visit(item.value, local))
            return shape_of((), {}, items)
        if isinstance(node, MapLiteral):
            return self.map(node, local)
        if isinstance(node, Comprehension):
            return self.comprehension(node, local)
        if isinstance(node, Call):
            return self.call(node, local)
        return whole(*(self.visit(child, local) for child in children(node)))

    def chain(self, node: Node, local: dict[str, Shape | None]) -> Shape | None:
        """Selections from a name or from a computed value."""
        members: list[str | Node] = []
        at = node
        while isinstance(at, Select | Index):
            if isinstance(at, Select):
                members.append(at.field)
            elif isinstance(at.index, Literal) and isinstance(at.index.value, str):
                members.append(at.index.value)
            else:
                members.append(at.index)
            at = at.operand
        named = isinstance(at, Ident) and (at.absolute or at.name not in local)
        if not isinstance(at, Ident):
            shape = self.visit(at, local)
        elif not named:
            shape = local[at.name]
        else:
            shape = None if at.name in TYPE_NAMES else self.root(at.name)
        indexes: list[Trace] = []
        for name in reversed(members):
            if isinstance(name, str):
                shape = member(shape, name)
            else:
                shape = element(shape)
                indexes.extend(traces(self.visit(name, local)))
        if named and shape is not None:
            shape = read_at(shape, self.expression.at(node.start, node.end))
        return join(shape, Shape(tuple(indexes))) if indexes else shape

    def map(self, node: MapLiteral, local: dict[str, Shape | None]) -> Shape | None:
        members: dict[str, Shape | None] = {}
        rest: Shape | None = None
        keys: list[Shape | None] = []
        for entry in node.entries:
            value = self.visit(entry.value, local)
            if isinstance(entry.key, Literal) and isinstance(entry.key.value, str):
                members[entry.key.value] = join(members.get(entry.key.value), value)
            else:
                keys.append(self.visit(entry.key, local))
                rest = join(rest, value)
        return shape_of(tuple(t for key in keys for t in traces(key)), members, rest)

    def call(self, node: Call, local: dict[str, Shape | None]) -> Shape | None:
        if node.function == "size":
            return None
        target = node.target
        namespaced = (
            isinstance(target, Ident)
            and not target.absolute
            and target.name not in local
            and f"{target.name}.{node.function}" in FUNCTIONS
        )
        parts = [self.visit(arg, local) for arg in node.args]
        if target is not None and not namespaced:
            parts.insert(0, self.visit(target, local))
        if node.function in _UNWRAP:
            found: Shape | None = None
            for part in parts:
                found = join(found, part)
            return found
        return whole(*parts)

    def comprehension(self, node: Comprehension, local: dict[str, Shape | None]) -> Shape | None:
        target = self.visit(node.target, local)
        optional = node.name in ("optMap", "optFlatMap")
        inner = {**local, node.variable.name: target if optional else element(target)}
        args = [self.visit(arg, inner) for arg in node.args]
        if node.name == "filter":
            return join(target, whole(*args))
        if node.name == "map" and args:
            return join(shape_of((), {}, args[-1]), whole(*args[:-1]))
        if optional and args:
            return args[-1]
        return whole(*args)
