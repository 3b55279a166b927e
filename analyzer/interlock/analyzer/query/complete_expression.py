"""What may be written in an expression: names in scope, members, functions, and words of comparisons."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from interlock.analyzer.expressions.ast import Binary, Call, Comprehension, Ident, Index, Node, Select
from interlock.analyzer.expressions.ast import Literal as CelLiteral
from interlock.analyzer.expressions.functions import (
    FUNCTIONS,
    GLOBAL_NAMES,
    MACROS,
    METHODS,
    NAMESPACES,
    Function,
    Macro,
)
from interlock.analyzer.expressions.types import Dyn, List, Map, Optional, Record, String, Type, assignable, options
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.query import words
from interlock.analyzer.query.expression import LocalScope, Within, path_to, scope_at, type_of
from interlock.analyzer.query.hover import ROOT_DOCS, input_text, step_text
from interlock.analyzer.query.items import Item
from interlock.analyzer.query.mend import MARK

#: Where secrets may stand (IL508).
_SECRETS = frozenset({"params", "compensate"})


def complete_expression(within: Within, unit: Unit) -> Iterator[Item]:
    """What may stand where the mark is."""
    way = path_to(within.tree, within.at)
    node = way[-1]
    scope = scope_at(within)
    if isinstance(node, Select) and (MARK in node.field or not node.field):
        yield from _members(within, unit, scope, node)
        return
    if isinstance(node, CelLiteral) and isinstance(node.value, str):
        yield from _strings(within, scope, way)
        return
    if isinstance(node, Call) and node.target is not None and MARK in node.function:
        yield from _methods(type_of(node.target, scope))
        return
    yield from _names(within, scope)


def _names(within: Within, scope: LocalScope) -> Iterator[Item]:
    seen: set[str] = set()
    for name in scope.names():
        if name in seen or MARK in name or (name == "secrets" and within.site.place not in _SECRETS):
            continue
        seen.add(name)
        kind = scope.resolve(name)
        text = words.shape_text(kind, 1) if kind is not None else ""
        named = None if name in scope.variables else within.scope.find(name)
        if named is not None and named.step is not None:
            yield Item(name, "step", text, step_text(named.step), rank=0)
        elif name not in ROOT_DOCS:
            yield Item(name, "name", text, "", rank=0)
        else:
            yield Item(name, "name", text, ROOT_DOCS[name], rank=1)
    for name in GLOBAL_NAMES:
        yield _function(name, FUNCTIONS.get(name) or MACROS[name])
    for name in sorted(NAMESPACES):
        yield Item(name, "keyword", "functions", rank=4)
    for word in ("true", "false", "null"):
        yield Item(word, "keyword", rank=5)


def _function(name: str, found: Function | Macro, rank: int = 3) -> Item:
    signatures = found.signatures() if isinstance(found, Function) else found.signatures
    doc = "```\n" + "\n".join(signatures) + f"\n```\n\n{found.doc}"
    takes = any("()" not in one.rsplit("->", 1)[0] for one in signatures)
    insert = f"{name}($0)" if takes else f"{name}()"
    return Item(name, "function", signatures[0], doc, insert, takes, rank)


def _members(within: Within, unit: Unit, scope: LocalScope, node: Select) -> Iterator[Item]:
    operand = node.operand
    if isinstance(operand, Ident) and operand.name in NAMESPACES and scope.resolve(operand.name) is None:
        prefix = operand.name + "."
        for name, found in FUNCTIONS.items():
            if name.startswith(prefix):
                item = _function(name.removeprefix(prefix), found, 0)
                yield item
        return
    kind = type_of(operand, scope)
    for option in options(kind):
        base = option.of if isinstance(option, Optional) else option
        if isinstance(base, Record):
            for number, (name, member) in enumerate(base.fields.items()):
                doc = ""
                if isinstance(operand, Ident) and operand.name == "inputs" and name in unit.workflow.inputs:
                    doc = input_text(unit, name)
                yield Item(name, "member", words.shape_text(member, 1), doc, rank=0, order=number)
    if isinstance(operand, Ident) and operand.name == "state":
        yield from _state(unit)
    yield from _methods(kind)


def _state(unit: Unit) -> Iterator[Item]:
    """The keys of the public state that are known: what the steps of the top write."""
    top = unit.flow.top
    if top is None:
        return
    for number, name in enumerate(unit.scopes.writers(top)):
        if MARK not in name and not name.startswith("_"):
            yield Item(name, "member", "key of the state", rank=0, order=number)


def _methods(kind: Type) -> Iterator[Item]:
    if isinstance(kind, Record):
        kind = Map(Dyn())
    for name, found in METHODS.items():
        fitting = tuple(one for one in found.overloads if one.receiver is not None and assignable(kind, one.receiver))
        if fitting:
            yield _function(name, msgspec.structs.replace(found, overloads=fitting), 2)
    for name, macro in MACROS.items():
        if macro.receiver and _takes_macro(kind, name):
            yield _function(name, macro, 2)


def _takes_macro(kind: Type, name: str) -> bool:
    wanted = (Optional,) if name.startswith("opt") else (List, Map)
    return any(isinstance(option, (Dyn, *wanted)) for option in options(kind))


def _strings(within: Within, scope: LocalScope, way: list[Node]) -> Iterator[Item]:
    """Words in quotes: what the other side of a comparison can be, members of an index, targets of ``next``."""
    above = way[-2] if len(way) > 1 else None
    if isinstance(above, Binary) and above.op in ("==", "!="):
        other = above.right if above.left is way[-1] else above.left
        for option in options(type_of(other, scope)):
            if isinstance(option, String) and option.words is not None:
                for number, word in enumerate(option.words):
                    yield Item(word, "value", rank=0, order=number)
    elif isinstance(above, Index):
        for option in options(type_of(above.operand, scope)):
            if isinstance(option, Record):
                for name, member in option.fields.items():
                    yield Item(name, "member", words.shape_text(member, 1), rank=0)
    elif within.site.place == "next" and within.site.flow is not None:
        for number, step in enumerate(within.site.flow.steps):
            if step.id and step is not within.site.step:
                yield Item(step.id, "step", step.kind_name, rank=0, order=number)
        yield Item("end", "value", "the end of this list", rank=1)


class Signature(msgspec.Struct, frozen=True):
    """The forms of a call, and which argument is being written (from 0)."""

    labels: tuple[str, ...]
    doc: str
    active: int


def signature_at(within: Within) -> Signature | None:
    """The innermost call whose parentheses the cursor is in."""
    scope = scope_at(within)
    for node in reversed(path_to(within.tree, within.at)):
        if isinstance(node, Comprehension):
            if within.at <= node.name_end:
                continue
            before = sum(arg.end < within.at for arg in (node.variable, *node.args))
            macro = MACROS[node.name]
            return Signature(macro.signatures, macro.doc, before)
        if not isinstance(node, Call) or within.at < node.open:
            continue
        active = sum(comma < within.at for comma in node.commas)
        found = _called(node, scope)
        if found is not None:
            labels = found.signatures() if isinstance(found, Function) else found.signatures
            return Signature(labels, found.doc, active)
    return None


def _called(node: Call, scope: LocalScope) -> Function | Macro | None:
    target = node.target
    if target is None:
        return FUNCTIONS.get(node.function) or MACROS.get(node.function)
    if isinstance(target, Ident) and f"{target.name}.{node.function}" in FUNCTIONS:
        return FUNCTIONS[f"{target.name}.{node.function}"]
    macro = MACROS.get(node.function)
    if macro is not None and macro.receiver:
        return macro
    found = METHODS.get(node.function)
    if found is None:
        return None
    kind = type_of(target, scope)
    fitting = tuple(one for one in found.overloads if one.receiver is not None and assignable(kind, one.receiver))
    return msgspec.structs.replace(found, overloads=fitting) if fitting else found
