"""Macros of CEL, as the runtime expands them at parse time: what their arguments must look like.

Which macros there are for people to use, with documentation, is in ``functions``.
"""

from __future__ import annotations

from typing import Protocol

from interlock.analyzer.expressions.ast import (
    Call,
    Comprehension,
    Has,
    Ident,
    Index,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Missing,
    Node,
    Select,
    Unary,
)

_BINDING = {
    **dict.fromkeys(("all", "exists", "exists_one", "filter", "optMap", "optFlatMap"), (2,)),
    "map": (2, 3),
}
_NOT_NUMERIC = frozenset({"string", "bytes", "bool", "null"})

MACROS = frozenset({"has", *_BINDING, "greatest", "least"})
"""Names of calls that may be macros."""


class Fail(Protocol):
    """Reports a syntax problem over a range of the text."""

    def __call__(self, start: int, end: int, message: str, hint: str | None = None) -> None: ...


def expand(call: Call, fail: Fail) -> Node:
    """The node that a call is read as: itself where it is no macro. Reports what a macro refuses."""
    name, args, target = call.function, call.args, call.target
    if target is None:
        if name == "has" and len(args) == 1:
            return _has(call, args[0], fail)
    elif name in _BINDING and len(args) in _BINDING[name]:
        return _binding(call, target, fail)
    elif name in ("greatest", "least"):
        owner = _effective(target)
        if isinstance(owner, Ident) and owner.name == "math" and not owner.absolute:
            _extremum(call, fail)
    return call


def _has(call: Call, arg: Node, fail: Fail) -> Node:
    arg = _effective(arg)
    if isinstance(arg, Select) and not arg.optional:
        return Has(call.start, call.end, arg)
    if not isinstance(arg, Missing):
        hint = "write it with a dot: has(x.name)"
        if isinstance(arg, Select):
            hint = "leave out the question mark: has() does not fail on a missing member"
        elif isinstance(arg, Index):
            hint = 'write has(x.name), has(x.`some name`), or "name" in x'
        fail(arg.start, arg.end, "has() takes the selection of one member", hint)
    return call


def _binding(call: Call, target: Node, fail: Fail) -> Node:
    variable = _effective(call.args[0])
    name = call.function
    if not isinstance(variable, Ident) or variable.absolute:
        if not isinstance(variable, Missing):
            fail(
                variable.start,
                variable.end,
                f"the first argument of {name}() is the name of the item, one plain word",
                f"write {name}(x, …) and use x in what follows",
            )
        return call
    if variable.name == "__result__":
        fail(variable.start, variable.end, '"__result__" is a name that CEL keeps for itself')
    return Comprehension(call.start, call.end, name, call.name_start, call.name_end, target, variable, call.args[1:])


def _extremum(call: Call, fail: Fail) -> None:
    """``math.greatest`` and ``math.least`` are macros that refuse literals other than numbers."""
    name = f"math.{call.function}()"
    if not call.args:
        fail(call.name_start, call.end, f"{name} needs at least one number")
    elif len(call.args) == 1:
        only = _effective(call.args[0])
        items = only.items if isinstance(only, ListLiteral) else None
        bad = _not_numeric(only) if items is None else not items or any(_not_numeric(i.value) for i in items)
        if bad:
            fail(only.start, only.end, f"{name} takes numbers, or one list of numbers")
    else:
        for arg in call.args:
            if _not_numeric(_effective(arg)):
                fail(arg.start, arg.end, f"{name} takes numbers, or one list of numbers")


def _effective(node: Node) -> Node:
    """What the runtime's macros see: an even run of ``!`` or ``-`` is nothing to it."""
    while isinstance(node, Unary) and node.count % 2 == 0:
        node = node.operand
    return node


def _not_numeric(node: Node) -> bool:
    node = _effective(node)
    if isinstance(node, Literal):
        return node.kind in _NOT_NUMERIC
    return isinstance(node, (ListLiteral, MapLiteral, Message))
