"""Constant paths in expressions, and the facts that conditions establish about them.

A path is a root name and the members selected from it, as far as they are constant: ``a.b['c'].?d`` is
``("a", "b", "c", "d")``. Facts are what must hold where a condition was true or false; only what follows
soundly is given, so an empty answer means nothing is known. Who needs which fact is decided elsewhere.
"""

from __future__ import annotations

from typing import Literal as Choice
from typing import TypeAlias

import msgspec

from interlock.analyzer.expressions.ast import (
    Binary,
    Call,
    Has,
    Ident,
    Index,
    ListLiteral,
    Literal,
    Logic,
    Node,
    Select,
    Ternary,
    Unary,
    Value,
)
from interlock.analyzer.expressions.functions import TYPE_NAMES

Names: TypeAlias = tuple[str, ...]


class Guard(msgspec.Struct, frozen=True):
    """A fact about a path; ``negated`` turns it round.

    ``has``: the member is there. ``not_null``: the value is not null (negated: it is null). ``equals``: it
    equals ``value``. ``truthy``: it is the boolean true (negated: false).
    """

    kind: Choice["has", "not_null", "equals", "truthy"]
    path: Names
    value: Value = None
    negated: bool = False


def is_not_null(guard: Guard) -> bool:
    """Whether a fact says that the value of its path is not null."""
    if guard.kind == "not_null":
        return not guard.negated
    if guard.kind == "equals":
        return guard.negated == (guard.value is None)
    return guard.kind == "truthy"


class Path(msgspec.Struct, frozen=True, eq=False):
    """A constant path as written; the tuples run alongside ``names``.

    ``starts`` and ``ends`` frame each name (the text within the quotes for ``['x']``), ``optional`` tells
    which were selected with a question mark.
    """

    names: Names
    start: int
    end: int
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    optional: tuple[bool, ...]


Facts: TypeAlias = tuple[Guard, ...]
Locals: TypeAlias = frozenset[str]

NOTHING: Locals = frozenset()


def path_of(node: Node, local: Locals = NOTHING) -> Path | None:
    """The path that the whole node is; None where it is none, or begins at a macro's variable."""
    steps: list[tuple[str, int, int, bool]] = []
    at = node
    while True:
        if isinstance(at, Select):
            if not at.field:
                return None
            steps.append((at.field, at.field_start, at.field_end, at.optional))
            at = at.operand
        elif isinstance(at, Index):
            key = at.index
            if not isinstance(key, Literal) or not isinstance(key.value, str):
                return None
            width = len(key.quote)
            steps.append((key.value, key.start + width, key.end - width, at.optional))
            at = at.operand
        elif isinstance(at, Ident):
            if not is_name(at, local):
                return None
            steps.append((at.name, at.end - len(at.name), at.end, False))
            steps.reverse()
            names, starts, ends, optional = zip(*steps, strict=True)
            return Path(names, node.start, node.end, starts, ends, optional)
        else:
            return None


def is_name(node: Ident, local: Locals) -> bool:
    """Whether a bare word is a name of the scope: no macro's variable and no name of a type."""
    return (node.absolute or node.name not in local) and node.name not in TYPE_NAMES


def conditions(tree: Node) -> Facts:
    """The facts that hold where a boolean expression is true."""
    return facts(tree, True, NOTHING) or ()


def facts(node: Node, truth: bool, local: Locals, implied: bool = True) -> Facts | None:
    """What holds where ``node`` has come out as ``truth``; None where it never does.

    With ``implied`` also what must hold for the evaluation not to fail. Without it, only facts whose
    opposite would surely make ``node`` come out the other way, without failing.
    """
    if isinstance(node, Logic):
        parts = [facts(operand, truth, local, implied) for operand in node.operands]
        return _all(parts) if truth == (node.op == "&&") else _any(parts)
    if isinstance(node, Unary) and (node.op == "!" or node.count % 2 == 0):
        return facts(node.operand, truth == (node.count % 2 == 0), local, implied)
    if isinstance(node, Ternary):
        if not implied:
            return ()  # whatever the branches say, the condition may fail
        return _any(
            [
                _all([facts(node.condition, True, local, implied), facts(node.then, truth, local, implied)]),
                _all(
                    [
                        facts(node.condition, False, local, implied),
                        facts(node.otherwise, truth, local, implied),
                    ]
                ),
            ]
        )
    if isinstance(node, Literal):
        return () if node.value is truth else None if isinstance(node.value, bool) else ()
    if isinstance(node, Has):
        return _has(path_of(node.arg, local), truth, implied)
    if isinstance(node, Binary):
        return _relation(node, truth, local, implied)
    if isinstance(node, Call):
        return _call(node, truth, local)
    path = path_of(node, local)
    return _read(path, (Guard("truthy", path.names, None, not truth),), implied) if path is not None else ()


def _all(parts: list[Facts | None]) -> Facts | None:
    found: list[Guard] = []
    for part in parts:
        if part is None:
            return None
        found.extend(part)
    return tuple(dict.fromkeys(found))


def _any(parts: list[Facts | None]) -> Facts | None:
    possible = [part for part in parts if part is not None]
    if not possible:
        return None
    first, *rest = possible
    return tuple(fact for fact in first if all(fact in other for other in rest))


def _has(path: Path | None, truth: bool, implied: bool) -> Facts:
    if path is None:
        return ()
    above = _parents(path) if implied else ()
    return (Guard("has", path.names, None, not truth), *above)


def _parents(path: Path) -> Facts:
    """A member could be looked for, so what it is looked for in was there and was no null.

    Not so from the first question mark on: there an absent parent is no failure.
    """
    known: list[Guard] = []
    for at in range(len(path.names) - 1, 0, -1):
        if any(path.optional[: at + 1]):
            continue
        known.append(Guard("not_null", path.names[:at]))
        if at > 1:
            known.append(Guard("has", path.names[:at]))
    return tuple(known)


def _read(path: Path, found: Facts, implied: bool) -> Facts:
    """Facts about a value that was read, and with ``implied`` that it was there to be read."""
    if any(path.optional):
        return ()
    if not implied:
        return found
    there = (Guard("has", path.names),) if len(path.names) > 1 else ()
    return (*found, *there, *_parents(path))


def _relation(node: Binary, truth: bool, local: Locals, implied: bool) -> Facts:
    left, right = node.left, node.right
    if node.op == "in":
        return _contained(left, right, truth, local, implied)
    if node.op not in ("==", "!="):
        return ()
    if isinstance(left, Literal):
        left, right = right, left
    if not isinstance(right, Literal):
        return ()
    return _equals(left, right, truth == (node.op == "=="), local, implied)


def _equals(node: Node, literal: Literal, equal: bool, local: Locals, implied: bool) -> Facts:
    value = literal.value
    default = _defaulted(node, local)
    if default is not None:
        path, fallback = default
        if equal and fallback is not _UNKNOWN and not _same(fallback, value):
            names = path.names
            found = [Guard("has", names), Guard("equals", names, value)]
            return (*found, Guard("not_null", names, None, value is None))
        return ()
    if literal.kind == "bool":
        # Not the facts of the other truth: `x == true` is also false where x is no boolean.
        if equal:
            return facts(node, value is True, local, implied) or ()
    path_here = path_of(node, local)
    if path_here is None:
        return ()
    names = path_here.names
    if value is None:
        return _read(path_here, (Guard("not_null", names, None, equal),), implied)
    found_here = [] if literal.kind == "bool" else [Guard("equals", names, value, not equal)]
    if equal:
        found_here.append(Guard("not_null", names))
    return _read(path_here, tuple(found_here), implied)


def _same(a: object, b: object) -> bool:
    return type(a) is type(b) and a == b


def _contained(left: Node, right: Node, truth: bool, local: Locals, implied: bool) -> Facts:
    if isinstance(right, ListLiteral):
        if len(right.items) == 1 and isinstance(only := right.items[0].value, Literal):
            return _equals(left, only, truth, local, implied)
        path = path_of(left, local)
        values = [item.value for item in right.items]
        if path is None or not values or not all(isinstance(v, Literal) and v.kind != "null" for v in values):
            return ()
        if truth:
            return _read(path, (Guard("not_null", path.names),), implied)
        others = [Guard("equals", path.names, v.value, True) for v in values if isinstance(v, Literal)]
        return _read(path, tuple(others), implied)
    if isinstance(left, Literal) and isinstance(left.value, str):
        owner = path_of(right, local)
        if owner is not None and not any(owner.optional):
            # True of a list with that element too, but then nobody reads the member.
            return _read(owner, (Guard("has", (*owner.names, left.value), None, not truth),), implied)
    return ()


_UNKNOWN = object()


def _defaulted(node: Node, local: Locals) -> tuple[Path, object] | None:
    """``p.?x.orValue(default)``: the path and the default, ``_UNKNOWN`` where that is no literal."""
    if not isinstance(node, Call) or node.function != "orValue" or node.target is None or len(node.args) != 1:
        return None
    path = path_of(node.target, local)
    if path is None or not any(path.optional):
        return None
    default = node.args[0]
    return path, default.value if isinstance(default, Literal) else _UNKNOWN


def _call(node: Call, truth: bool, local: Locals) -> Facts:
    if node.function == "hasValue" and node.target is not None and not node.args:
        path = path_of(node.target, local)
        if path is not None and any(path.optional):
            return (Guard("has", path.names, None, not truth),)
        return ()
    default = _defaulted(node, local)
    if default is not None:
        path, fallback = default
        if isinstance(fallback, bool) and fallback is not truth:
            return (Guard("has", path.names), Guard("truthy", path.names, None, not truth))
    return ()
