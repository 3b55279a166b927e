"""What an expression reads, under which guards, and which of it flows into the result.

For the rules on the order of steps, on absent values and on secrets, and for comparing expressions. A
macro's variable is never a use; what it goes through is. Types are the checker's part.
"""

from __future__ import annotations

import json
from typing import Literal as Choice

import msgspec

from interlock.analyzer.expressions.ast import (
    Binary,
    Call,
    Comprehension,
    Has,
    Ident,
    Index,
    ListLiteral,
    Literal,
    Logic,
    MapLiteral,
    Message,
    Node,
    Select,
    Ternary,
    Unary,
    children,
    walk,
)
from interlock.analyzer.expressions.functions import FUNCTIONS
from interlock.analyzer.expressions.paths import (
    NOTHING,
    Facts,
    Guard,
    Locals,
    Names,
    Path,
    conditions,
    facts,
    is_name,
    path_of,
)

__all__ = [
    "Flow",
    "Guard",
    "Use",
    "canonical",
    "conditions",
    "flows",
    "flows_at",
    "references",
    "string_literals",
    "uses",
]


class Use(msgspec.Struct, frozen=True, eq=False):
    """A path that the expression reads.

    ``starts``, ``ends`` and ``optional`` run alongside ``path``. ``dynamic``: an index that is not constant
    follows, so more is read than the path says. ``test``: the last member is only looked for (``has``) or
    compared with null (``null``), or selected with a question mark on the way (``optional``).

    ``guards`` hold where the value is read, reading ``&&``, ``||`` and ``? :`` from left to right.
    ``absorbed`` hold wherever a failure to read it would come through: the same, and what operands further
    right decide: ``x.a > 0 && has(x.a)`` is false, not an error, where ``a`` is absent.
    """

    path: Names
    start: int
    end: int
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    optional: tuple[bool, ...]
    guards: tuple[Guard, ...] = ()
    absorbed: tuple[Guard, ...] = ()
    dynamic: bool = False
    test: Choice["", "has", "null", "optional"] = ""


class Flow(msgspec.Struct, frozen=True, eq=False):
    """Uses whose values flow into one place of the result: ``path`` leads through its map literals."""

    path: Names
    uses: tuple[Use, ...]


def uses(tree: Node) -> tuple[Use, ...]:
    """Everything the expression reads, in the order of the text."""
    reader = _Reader()
    reader.visit(tree, (), (), NOTHING)
    return tuple(sorted(reader.found, key=lambda use: use.start))


_MOST_OPERANDS = 200
"""Operands of one chain up to which they guard each other: the work grows with the square of them."""


class _Reader:
    def __init__(self) -> None:
        self.found: list[Use] = []

    def add(
        self,
        path: Path,
        guards: Facts,
        absorbed: Facts,
        dynamic: bool = False,
        test: Choice["", "has", "null", "optional"] = "",
    ) -> None:
        if not test and any(path.optional):
            test = "optional"
        self.found.append(
            Use(
                path.names,
                path.start,
                path.end,
                path.starts,
                path.ends,
                path.optional,
                tuple(dict.fromkeys(guards)),
                tuple(dict.fromkeys(absorbed)),
                dynamic,
                test,
            )
        )

    def visit(self, node: Node, guards: Facts, absorbed: Facts, local: Locals) -> None:
        if isinstance(node, (Ident, Select, Index)):
            self.path(node, guards, absorbed, local)
        elif isinstance(node, Has):
            path = path_of(node.arg, local)
            if path is not None:
                self.add(path, guards, absorbed, test="has")
            else:
                self.path(node.arg, guards, absorbed, local)
        elif isinstance(node, Logic):
            self.logic(node, guards, absorbed, local)
        elif isinstance(node, Ternary):
            self.visit(node.condition, guards, absorbed, local)
            for branch, truth in ((node.then, True), (node.otherwise, False)):
                known = facts(node.condition, truth, local) or ()
                self.visit(branch, guards + known, absorbed + known, local)
        elif isinstance(node, Comprehension):
            self.comprehension(node, guards, absorbed, local)
        elif isinstance(node, Binary) and node.op in ("==", "!="):
            for operand, other in ((node.left, node.right), (node.right, node.left)):
                path = path_of(operand, local)
                if path is not None and isinstance(other, Literal) and other.kind == "null":
                    self.add(path, guards, absorbed, test="null")
                else:
                    self.visit(operand, guards, absorbed, local)
        elif isinstance(node, Call) and _namespaced(node, local):
            for arg in node.args:
                self.visit(arg, guards, absorbed, local)
        else:
            for child in children(node):
                self.visit(child, guards, absorbed, local)

    def path(self, node: Node, guards: Facts, absorbed: Facts, local: Locals) -> None:
        """A selection: the longest constant path in it, and what else its indexes and operand read."""
        dynamic = False
        while True:
            path = path_of(node, local)
            if path is not None:
                self.add(path, guards, absorbed, dynamic)
                return
            if isinstance(node, Select):
                node = node.operand
            elif isinstance(node, Index):
                if not isinstance(node.index, Literal) or not isinstance(node.index.value, str):
                    dynamic = True
                self.visit(node.index, guards, absorbed, local)
                node = node.operand
            else:
                if not isinstance(node, Ident):
                    self.visit(node, guards, absorbed, local)
                return

    def logic(self, node: Logic, guards: Facts, absorbed: Facts, local: Locals) -> None:
        """An operand matters only where no other one decides, and the runtime asks them in any order."""
        decisive = node.op == "&&"
        few = len(node.operands) <= _MOST_OPERANDS
        decided = [facts(operand, decisive, local, implied=False) or () for operand in node.operands]
        before: Facts = ()
        for at, operand in enumerate(node.operands):
            after: Facts = ()
            if few:
                after = tuple(fact for later in decided[at + 1 :] for fact in later)
            self.visit(operand, guards + before, absorbed + before + after, local)
            if few:
                before += facts(operand, decisive, local) or ()

    def comprehension(self, node: Comprehension, guards: Facts, absorbed: Facts, local: Locals) -> None:
        self.visit(node.target, guards, absorbed, local)
        if node.name in ("optMap", "optFlatMap"):
            path = path_of(node.target, local)
            if path is not None and any(path.optional):
                guards = (*guards, Guard("has", path.names))
                absorbed = (*absorbed, Guard("has", path.names))
        inner = local | {node.variable.name}
        for at, arg in enumerate(node.args):
            self.visit(arg, guards, absorbed, inner)
            if node.name == "map" and at == 0 and len(node.args) == 2:
                known = facts(arg, True, inner) or ()
                guards, absorbed = guards + known, absorbed + known


def _namespaced(node: Call, local: Locals) -> bool:
    """``math.abs(x)``: the word before the dot is no name."""
    target = node.target
    return isinstance(target, Ident) and not target.absolute and f"{target.name}.{node.function}" in FUNCTIONS


# -- flow ----------------------------------------------------------------------------------------------

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})


def flows(tree: Node) -> tuple[Use, ...]:
    """The uses whose value flows into the result, in the order of the text.

    A comparison (``in`` is one: it compares elements), ``has`` and ``size()`` give nothing away; all else
    does, the condition of ``? :`` included.
    """
    carried = _carried(tree, NOTHING)[0]
    return tuple(use for use in uses(tree) if use.starts[0] in carried)


def flows_at(tree: Node) -> tuple[Flow, ...]:
    """Flow by place: one entry per member of a map literal with literal keys, else one for the whole."""
    every = uses(tree)

    def visit(node: Node, path: Names) -> list[Flow]:
        if isinstance(node, MapLiteral) and node.entries:
            keys = [entry.key.value if isinstance(entry.key, Literal) else None for entry in node.entries]
            if all(isinstance(key, str) for key in keys):
                found: list[Flow] = []
                for key, entry in zip(keys, node.entries, strict=True):
                    found.extend(visit(entry.value, (*path, str(key))))
                return found
        carried = _carried(node, NOTHING)[0]
        return [Flow(path, tuple(use for use in every if use.starts[0] in carried))]

    return tuple(visit(tree, ()))


def _clean(node: Node) -> bool:
    if isinstance(node, Binary):
        return node.op in _COMPARISONS
    return isinstance(node, Has) or (isinstance(node, Call) and node.function == "size")


def _carried(node: Node, local: Locals) -> tuple[set[int], set[str]]:
    """Starts of the paths that flow into the value of a node, and the macro variables that do."""
    starts: set[int] = set()
    variables: set[str] = set()

    def take(child: Node, inner: Locals = local) -> None:
        found, names = _carried(child, inner)
        starts.update(found)
        variables.update(names)

    if isinstance(node, Ident):
        if not node.absolute and node.name in local:
            variables.add(node.name)
        elif is_name(node, local):
            starts.add(node.end - len(node.name))
    elif _clean(node):
        pass
    elif isinstance(node, Call) and _namespaced(node, local):
        for arg in node.args:
            take(arg)
    elif isinstance(node, Comprehension):
        inner = local | {node.variable.name}
        for arg in node.args:
            take(arg, inner)
        through = node.variable.name in variables or node.name == "filter"
        variables -= {node.variable.name} - local
        if through:
            take(node.target)
    else:
        for child in children(node):
            take(child)
    return starts, variables


# -- comparing and scanning ----------------------------------------------------------------------------


def references(tree: Node) -> bool:
    """Whether the expression reads any name at all."""
    return bool(uses(tree))


def string_literals(tree: Node) -> tuple[Literal, ...]:
    """All string literals, in the order of the text."""
    found = [node for node in walk(tree) if isinstance(node, Literal) and node.kind == "string"]
    return tuple(sorted(found, key=lambda node: node.start))


_RELATION, _SUM, _PRODUCT, _UNARY, _MEMBER = 3, 4, 5, 6, 7
_LEVELS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}


def canonical(tree: Node) -> str:
    """The expression as text without blanks, comments and parentheses that change nothing.

    Two expressions that differ only in those, or in how a literal is written, give the same text.
    """
    return _text(tree, 0)


def _text(node: Node, level: int) -> str:
    """``level`` is how tightly the place binds; a looser operator gets parentheses."""
    own, text = _LEVEL.get(node.__class__, _MEMBER), ""
    if isinstance(node, Literal):
        text = _literal(node)
        if text.startswith("-"):
            own = _UNARY
    elif isinstance(node, Ident):
        text = f".{node.name}" if node.absolute else node.name
    elif isinstance(node, Select):
        field = node.field if node.field.isidentifier() and node.field.isascii() else f"`{node.field}`"
        text = f"{_text(node.operand, _MEMBER)}.{'?' * node.optional}{field}"
    elif isinstance(node, Index):
        text = f"{_text(node.operand, _MEMBER)}[{'?' * node.optional}{_text(node.index, 0)}]"
    elif isinstance(node, Has):
        text = f"has({_text(node.arg, 0)})"
    elif isinstance(node, (Call, Comprehension)):
        text = _call_text(node)
    elif isinstance(node, Unary):
        operand = _text(node.operand, _MEMBER)
        # A sign directly before a number would become part of it.
        signed = node.op == "-" and operand[:1] in set("0123456789.")
        text = node.op * node.count + (f"({operand})" if signed else operand)
    elif isinstance(node, Binary):
        own = _LEVELS.get(node.op, _RELATION)
        op = " in " if node.op == "in" else node.op
        text = f"{_text(node.left, own)}{op}{_text(node.right, own + 1)}"
    elif isinstance(node, Logic):
        own = 1 if node.op == "||" else 2
        text = node.op.join(_text(operand, own + 1) for operand in node.operands)
    elif isinstance(node, Ternary):
        text = f"{_text(node.condition, 1)}?{_text(node.then, 1)}:{_text(node.otherwise, 0)}"
    elif isinstance(node, ListLiteral):
        text = "[" + ",".join("?" * item.optional + _text(item.value, 0) for item in node.items) + "]"
    elif isinstance(node, MapLiteral):
        entries = (f"{'?' * e.optional}{_text(e.key, 0)}:{_text(e.value, 0)}" for e in node.entries)
        text = "{" + ",".join(entries) + "}"
    elif isinstance(node, Message):
        fields = (f"{'?' * field.optional}{field.name}:{_text(field.value, 0)}" for field in node.fields)
        text = f"{node.name}{{{','.join(fields)}}}"
    return f"({text})" if own < level else text


_LEVEL: dict[type[Node], int] = {Unary: _UNARY, Ternary: 0}


def _call_text(node: Call | Comprehension) -> str:
    if isinstance(node, Comprehension):
        parts = [node.variable.name, *(_text(arg, 0) for arg in node.args)]
        return f"{_text(node.target, _MEMBER)}.{node.name}({','.join(parts)})"
    args = ",".join(_text(arg, 0) for arg in node.args)
    if node.target is not None:
        return f"{_text(node.target, _MEMBER)}.{node.function}({args})"
    return f"{'.' * node.absolute}{node.function}({args})"


def _literal(node: Literal) -> str:
    value = node.value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bytes):
        return "b" + repr(value)[1:]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "1e999" if value > 0 else "-1e999"
    return f"{value}u" if node.kind == "uint" else repr(value)
