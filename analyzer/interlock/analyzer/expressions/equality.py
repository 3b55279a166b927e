"""``==``, ``!=`` and ``in``: comparisons that can only come out one way.

The runtime never fails on an equality: of unlike types it is false. What is written so is a mistake all the
same, and is reported where the types are certain. Part of the checker; other operators are its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.analyzer.expressions import operators as ops
from interlock.analyzer.expressions.ast import Binary, ListLiteral, Literal, Node
from interlock.analyzer.expressions.types import (
    BOOL,
    Double,
    Dyn,
    Int,
    List,
    Map,
    Null,
    Optional,
    Record,
    String,
    Type,
    Uint,
    Var,
    describe,
    options,
)
from interlock.analyzer.language.nearest import nearest

if TYPE_CHECKING:
    from interlock.analyzer.expressions.check import Checker

_FAMILIES: dict[type[Type], type[Type]] = {Uint: Int, Double: Int, Record: Map}
"""Types whose values can be equal to those of another one."""


def equal(checker: Checker, node: Binary, left: Type, right: Type) -> Type:
    """The type of ``left == right``: IL215 for a literal that never occurs, IL206 for unlike types."""
    known = _outside(checker, node.left, left, node.right) or _outside(checker, node.right, right, node.left)
    if not known and not may_be_equal(left, right):
        outcome = "false" if node.op == "==" else "true"
        message = f"{describe(left)} is never equal to {describe(right)}, so this is always {outcome}"
        hint = _way_out(node.left, left, node.right, right)
        checker.report("IL206", node.start, node.end, message, hint)
    return BOOL


def contained(checker: Checker, node: Binary, left: Type, right: Type) -> Type:
    """The type of ``left in right``, judged as an equality with each item."""
    items = node.right.items if isinstance(node.right, ListLiteral) else ()
    outside = [_outside(checker, node.left, left, item.value) for item in items]
    constant = any(isinstance(item.value, Literal) for item in items)
    fits = False
    for option in options(right):
        if isinstance(option, (Dyn, List)):
            fits = True
            if isinstance(option, List) and not constant:
                outside.append(_outside(checker, node.right, option.item, node.left))
        elif isinstance(option, (Map, Record)):
            if ops.may_be(left, *ops.KEYS, Double):
                fits = True
            elif not isinstance(right, (Map, Record)):
                continue
            else:
                message = f"{describe(left)} is never the key of a map"
                checker.report("IL206", node.left.start, node.left.end, message)
                return BOOL
    if not fits:
        message = f'"in" looks into lists and maps, and this is {describe(right)}'
        hint = "use contains() to look into a string" if isinstance(right, String) else None
        checker.report("IL206", node.right.start, node.right.end, message, hint)
    elif isinstance(right, List) and not any(outside) and not may_be_equal(left, right.item):
        message = f"{describe(left)} is never in {describe(right)}, so this is always false"
        first = items[0].value if items else node.right
        checker.report("IL206", node.start, node.end, message, _way_out(node.left, left, first, right.item))
    return BOOL


def may_be_equal(left: Type, right: Type) -> bool:
    """Whether a value of one can be equal to one of the other; a comparison with null is a guard, and fine."""
    for a in options(left):
        for b in options(right):
            if isinstance(a, (Dyn, Var)) or isinstance(b, (Dyn, Var)):
                return True
            if _FAMILIES.get(a.__class__, a.__class__) is _FAMILIES.get(b.__class__, b.__class__):
                return True
    return isinstance(left, Null) or isinstance(right, Null)


def _way_out(left: Node, left_type: Type, right: Node, right_type: Type) -> str:
    """What to write instead."""
    if any(isinstance(type, Optional) for type in (left_type, right_type)):
        return "take the value out with orValue() first"
    for node, other in ((right, left_type), (left, right_type)):
        if not isinstance(node, Literal):
            continue
        if isinstance(node.value, str) and node.kind == "string" and _reads_as(node.value, other):
            return f"write {node.value} without quotes"
        if node.kind in ("int", "double", "bool") and ops.may_be(other, String):
            return f"write it as a string: '{str(node.value).lower()}'"
    return "convert one side, as in string(x)"


def _reads_as(text: str, type: Type) -> bool:
    """Whether a text is how a value of the type is written."""
    if any(ops.is_number(option) for option in options(type)):
        return text.isascii() and text.removeprefix("-").isdigit()
    return text in ("true", "false") and not ops.may_be(type, String)


def _outside(checker: Checker, node: Node, type: Type, other: Node) -> bool:
    """Report ``other`` where it is a literal that is none of the values that ``type`` has; whether it is."""
    if not isinstance(other, Literal) or other.kind == "null" or isinstance(node, Literal):
        return False
    values: list[str | int | float] = []
    for option in options(type):
        if isinstance(option, String) and option.words is not None:
            values.extend(option.words)
        elif isinstance(option, (Int, Double)) and option.values is not None:
            values.extend(option.values)
        elif not isinstance(option, Null):
            return False
    if not values or (other.kind != "bool" and other.value in values):
        return False
    value = f'"{other.value}"' if isinstance(other.value, str) else str(other.value).lower()
    message = f"this is never {value}: it is {_either(values)}"
    words = [word for word in values if isinstance(word, str)]
    near = nearest(str(other.value), words) if other.kind == "string" else None
    hint: str | None = None
    fix: tuple[int, int, str] | None = None
    if near is not None:
        hint = f'did you mean "{near}"?'
        if other.quote and near.isprintable() and not set(near) & set("\\'\"`"):
            if other.end - other.start == len(str(other.value)) + 2:
                # Only the word: the quotes around it may be written twice in the file.
                fix = (other.start + 1, other.end - 1, near)
            else:
                fix = (other.start, other.end, f"{other.quote}{near}{other.quote}")
    checker.report("IL215", other.start, other.end, message, hint, fix)
    return True


def _either(values: list[str | int | float]) -> str:
    shown = [f'"{value}"' if isinstance(value, str) else str(value) for value in dict.fromkeys(values)]
    if len(shown) == 1:
        return shown[0]
    if len(shown) > 8:
        return ", ".join(shown[:8]) + ", …"
    return f"{', '.join(shown[:-1])} or {shown[-1]}"
