"""The checker: what type an expression has, and what in it cannot work.

Judges by what the runtime would do with the values unchecked: what must fail is reported, and an equality
that cannot come out otherwise because the types are unlike; nothing is said about what cannot be known. One
mistake gives one problem: what depends on it is taken as unknown, and a name with one near match as that
match. Which names stand where is the scope's part; syntax is the parser's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from interlock.analyzer.expressions import calls, equality
from interlock.analyzer.expressions import operators as ops
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
    Missing,
    Node,
    Select,
    Ternary,
    Unary,
)
from interlock.analyzer.expressions.functions import FUNCTIONS, NAMESPACES, TYPE_NAMES
from interlock.analyzer.expressions.paths import Names, facts, is_not_null, path_of
from interlock.analyzer.expressions.problem import Problem
from interlock.analyzer.expressions.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    TYPE,
    UINT,
    Bool,
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
    describe,
    join,
    one_of,
    options,
    plural,
    without_null,
)
from interlock.analyzer.language.nearest import nearest

MOST_LISTED = 8
"""How many names a message lists at the most."""


class Scope(Protocol):
    """The names that stand where the expression stands."""

    def resolve(self, name: str) -> Type | None:
        """The type of a name, ``Dyn`` where it is known and its type is not; None for no such name."""

    def names(self) -> Iterable[str]:
        """All names, to offer near ones."""


class Checked(msgspec.Struct, frozen=True, eq=False):
    """The type of the whole expression, and the problems in the order they stand in it."""

    type: Type
    problems: tuple[Problem, ...]


def check(tree: Node, scope: Scope) -> Checked:
    """Check a tree. Codes: IL202 names, IL205 members, IL206 types, IL215 impossible comparisons."""
    checker = Checker(scope)
    type = checker.infer(tree)
    problems = checker.problems
    if len(problems) > 1:
        problems.sort(key=lambda problem: (problem.start, problem.end))
    return Checked(type, tuple(problems))


_OTHER_WORDS = {"True": "true", "False": "false", "None": "null", "nil": "null", "undefined": "null"}
_CONSTANTS: dict[str, Type] = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "bytes": BYTES,
    "bool": BOOL,
    "null": NULL,
}


class Checker:
    """Infers types bottom up, collecting problems on the way."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.problems: list[Problem] = []
        self.locals: dict[str, Type] = {}
        self.present: frozenset[Names] = frozenset()

    def infer(self, node: Node) -> Type:
        """The type of a node; reports what is wrong in it."""
        found = _HANDLERS[node.__class__](self, node)
        if self.present and isinstance(node, (Ident, Select, Index)):
            path = path_of(node, frozenset(self.locals))
            if path is not None and path.names in self.present:
                return without_null(found)
        return found

    def report(
        self,
        code: str,
        start: int,
        end: int,
        message: str,
        hint: str | None = None,
        fix: tuple[int, int, str] | None = None,
    ) -> None:
        self.problems.append(Problem(code, start, end, message, hint, fix))

    # -- names and members -------------------------------------------------------------------------

    def ident(self, node: Ident) -> Type:
        name = node.name
        if not node.absolute and name in self.locals:
            return self.locals[name]
        found = self.scope.resolve(name)
        if found is not None:
            return found
        if name in TYPE_NAMES:
            return TYPE
        start = node.end - len(name)
        if name in _OTHER_WORDS:
            word = _OTHER_WORDS[name]
            fix = (start, node.end, word)
            self.report("IL202", start, node.end, f'"{name}" is not a value of an expression', f'write "{word}"', fix)
            return BOOL if word != "null" else NULL
        candidates = (*self.locals, *self.scope.names())
        near = nearest(name, candidates)
        if near is not None:
            self.report(
                "IL202",
                start,
                node.end,
                f'"{name}" is not a name that stands here',
                f'did you mean "{near}"?',
                (start, node.end, near),
            )
            known = self.locals.get(near)
            return known if known is not None else self.scope.resolve(near) or DYN
        hint: str | None = None
        if name in NAMESPACES:
            example = next(function for function in FUNCTIONS if function.startswith(f"{name}."))
            hint = f"it only begins the names of functions, such as {example}()"
        elif name in FUNCTIONS:
            hint = f"it is a function: write {name}(…)"
        elif candidates:
            hint = f"what stands here: {_listed(candidates)}"
        self.report("IL202", start, node.end, f'"{name}" is not a name that stands here', hint)
        return DYN

    def select(self, node: Select) -> Type:
        operand = self.infer(node.operand)
        if not node.field:
            return DYN
        # In a path the later names are IL205, whatever it is that has no such member (section 13).
        code = "IL205" if _in_path(node.operand) else "IL206"
        found = self.member(operand, node.field, node.field_start, node.field_end, code)
        if node.optional:
            return found if isinstance(found, Optional) and ops.may_be(operand, Optional) else Optional(found)
        return found

    def member(self, owner: Type, name: str, start: int, end: int, code: str) -> Type:
        """The type of a member, reported at ``start`` to ``end`` where there can be none."""
        found: list[Type] = []
        closed: list[Record] = []
        for option in options(owner):
            inner = option.of if isinstance(option, Optional) else option
            results: list[Type] = []
            for part in options(inner):
                if isinstance(part, Dyn):
                    results.append(DYN)
                elif isinstance(part, Record):
                    if name in part.fields:
                        results.append(part.fields[name])
                    elif part.open:
                        results.append(DYN)
                    else:
                        closed.append(part)
                elif isinstance(part, Map) and ops.may_be(part.key, String):
                    results.append(part.value)
            if results:
                joined = one_of(results)
                wrap = isinstance(option, Optional) and not isinstance(joined, Optional)
                found.append(Optional(joined) if wrap else joined)
        if found:
            return one_of(found)
        if closed:
            return self.unknown_member(closed[0], name, start, end)
        hint = None
        if ops.may_be(owner, List):
            hint = "name an element by its position, as in x[0], or go through all with map()"
        elif ops.may_be(owner, Null):
            hint = "test it for null first"
        message = f'"{name}" cannot be read from {describe(owner)}, which has no members'
        self.report("IL206" if isinstance(owner, Null) else code, start, end, message, hint)
        return DYN

    def unknown_member(self, record: Record, name: str, start: int, end: int) -> Type:
        owner = record.name or "this map"
        near = nearest(name, record.fields)
        message = f'there is no member "{name}" in {owner}'
        if near is not None:
            self.report("IL205", start, end, message, f'did you mean "{near}"?', (start, end, near))
            return record.fields[near]
        hint = f"it has: {_listed(record.fields)}" if record.fields else "it has no members at all"
        self.report("IL205", start, end, message, hint)
        return DYN

    def has(self, node: Has) -> Type:
        self.select(node.arg)
        return BOOL

    def index(self, node: Index) -> Type:
        operand = self.infer(node.operand)
        index = self.infer(node.index)
        literal = node.index if isinstance(node.index, Literal) else None
        found: list[Type] = []
        missing: list[Record] = []
        for option in options(operand):
            inner = option.of if isinstance(option, Optional) else option
            for part in options(inner):
                got = _element(part, index, literal)
                if got is not None:
                    wrap = isinstance(option, Optional) and not isinstance(got, Optional)
                    found.append(Optional(got) if wrap else got)
                elif isinstance(part, Record) and literal is not None and literal.kind == "string":
                    missing.append(part)
        if found:
            result = one_of(found)
            if node.optional and not (isinstance(result, Optional) and ops.may_be(operand, Optional)):
                return Optional(result)
            return result
        start, end = node.index.start, node.index.end
        if missing and isinstance(literal, Literal):
            width = len(literal.quote)
            return self.unknown_member(missing[0], str(literal.value), start + width, end - width)
        self.bad_index(operand, index, node)
        return DYN

    def bad_index(self, operand: Type, index: Type, node: Index) -> None:
        if isinstance(operand, List):
            message = f"a list is indexed by an integer, and this is {describe(index)}"
            self.report("IL206", node.index.start, node.index.end, message)
        elif isinstance(operand, (Map, Record)):
            key = operand.key if isinstance(operand, Map) else STRING
            message = f"the keys of this map are {plural(key)}, and this is {describe(index)}"
            self.report("IL206", node.index.start, node.index.end, message)
        else:
            hint = "use charAt() or substring() for a part of a string" if isinstance(operand, String) else None
            message = f"only lists and maps are indexed, and this is {describe(operand)}"
            self.report("IL206", node.operand.start, node.operand.end, message, hint)

    # -- operators ---------------------------------------------------------------------------------

    def unary(self, node: Unary) -> Type:
        operand = self.infer(node.operand)
        if node.count % 2 == 0:
            return operand  # the runtime drops an even run without looking at the value
        if node.op == "!":
            self.boolean(node.operand, operand, '"!"')
            return BOOL
        fitting = [option for option in options(operand) if isinstance(option, (Dyn, *ops.NEGATABLE))]
        if fitting:
            return one_of(fitting)
        message = f"{describe(operand)} has no negative"
        self.report("IL206", node.operand.start, node.operand.end, message)
        return DYN

    def boolean(self, node: Node, type: Type, who: str) -> None:
        if not ops.may_be(type, Bool):
            message = f"{who} takes booleans, and this is {describe(type)}"
            hint = None
            if ops.may_be(type, String):
                hint = "compare it with something, as in x == 'yes'"
            elif any(ops.is_number(option) for option in options(type)):
                hint = "compare it with something, as in x > 0"
            self.report("IL206", node.start, node.end, message, hint)

    def logic(self, node: Logic) -> Type:
        for operand in node.operands:
            self.boolean(operand, self.infer(operand), f'"{node.op}"')
        return BOOL

    def ternary(self, node: Ternary) -> Type:
        self.boolean(node.condition, self.infer(node.condition), 'the condition before "?"')
        then = self.infer_where(node.condition, True, node.then)
        return join(then, self.infer_where(node.condition, False, node.otherwise))

    def infer_where(self, condition: Node, truth: bool, node: Node) -> Type:
        """The type of a node where a condition has come out so: what was tested for null is none there."""
        before = self.present
        known = facts(condition, truth, frozenset(self.locals)) or ()
        self.present = before | {guard.path for guard in known if is_not_null(guard)}
        found = self.infer(node)
        self.present = before
        return found

    def binary(self, node: Binary) -> Type:
        op = node.op
        left = self.infer(node.left)
        right = self.infer(node.right)
        if op == "==" or op == "!=":
            return equality.equal(self, node, left, right)
        if op == "in":
            return equality.contained(self, node, left, right)
        found = ops.result(op, left, right)
        if found is not None:
            return found
        return self.bad_operands(node, left, right)

    def bad_operands(self, node: Binary, left: Type, right: Type) -> Type:
        op = node.op
        verb = ops.VERBS.get(op)
        for side, (operand, type) in enumerate(((node.left, left), (node.right, right))):
            if not ops.takes(op, type, side):
                what = f"cannot be {verb}" if verb else "has no order"
                message = f"{describe(type)} {what}"
                way_out = "test it for null first" if isinstance(type, Null) else None
                self.report("IL206", operand.start, operand.end, message, way_out)
                return BOOL if verb is None else DYN
        if verb is None:
            message = f'"{op}" cannot compare {describe(left)} with {describe(right)}'
            self.report("IL206", node.start, node.end, message, "convert one side, as in int(x)")
            return BOOL
        message = f"{describe(left)} and {describe(right)} cannot be {verb}"
        hint: str | None = None
        fix: tuple[int, int, str] | None = None
        if ops.is_number(left) and ops.is_number(right):
            message = f"{message}: arithmetic does not mix kinds of numbers"
            hint = "convert one side, as in double(x)"
            for operand, other in ((node.left, right), (node.right, left)):
                number = operand.value if isinstance(operand, Literal) and operand.plain else None
                if isinstance(number, int) and isinstance(other, Double):
                    text = f"{number}.0"
                    hint, fix = f'write "{text}"', (operand.start, operand.end, text)
        elif isinstance(left, String) or isinstance(right, String):
            hint = "convert the other side with string(x)"
        self.report("IL206", node.start, node.end, message, hint, fix)
        return DYN

    # -- calls and macros --------------------------------------------------------------------------

    def call(self, node: Call) -> Type:
        return calls.infer(self, node)

    def comprehension(self, node: Comprehension) -> Type:
        target = self.infer(node.target)
        name = node.name
        if name in ("optMap", "optFlatMap"):
            return self.optional_body(node, target)
        items: list[Type] = []
        for option in options(target):
            if isinstance(option, Dyn):
                items.append(DYN)
            elif isinstance(option, List):
                items.append(option.item)
            elif isinstance(option, Map):
                items.append(option.key)
            elif isinstance(option, Record):
                items.append(STRING)
        if not items:
            message = f"{name}() goes through a list or the keys of a map, and this is {describe(target)}"
            self.report("IL206", node.target.start, node.target.end, message)
        item = one_of(items)
        body = [self.within(node.variable.name, item, arg) for arg in node.args]
        if name == "map":
            if len(body) == 2:
                self.boolean(node.args[0], body[0], "the condition of map()")
            return List(body[-1])
        self.boolean(node.args[0], body[0], f"the condition of {name}()")
        return List(item) if name == "filter" else BOOL

    def optional_body(self, node: Comprehension, target: Type) -> Type:
        items = [t.of if isinstance(t, Optional) else t for t in options(target) if isinstance(t, (Dyn, Optional))]
        if not items:
            message = f"{node.name}() is for optional values, and this is {describe(target)}"
            self.report("IL206", node.target.start, node.target.end, message, "read the member with .? to get one")
        body = self.within(node.variable.name, one_of(items), node.args[0])
        if node.name == "optMap":
            return Optional(body)
        if not ops.may_be(body, Optional):
            message = f"optFlatMap() takes an optional value as its result, and this is {describe(body)}"
            self.report("IL206", node.args[0].start, node.args[0].end, message, "use optMap()")
            return Optional(body)
        return body

    def within(self, name: str, type: Type, body: Node) -> Type:
        """The type of ``body`` with the macro's variable in scope."""
        outer = self.locals
        self.locals = {**outer, name: type}
        try:
            return self.infer(body)
        finally:
            self.locals = outer

    # -- literals ----------------------------------------------------------------------------------

    def literal(self, node: Literal) -> Type:
        if node.kind == "string":
            return String((str(node.value),))
        return _CONSTANTS[node.kind]

    def missing(self, node: Missing) -> Type:
        return DYN

    def optional_entry(self, node: Node) -> Type:
        type = self.infer(node)
        found = [t.of if isinstance(t, Optional) else t for t in options(type) if isinstance(t, (Dyn, Optional))]
        if not found:
            message = f'"?" takes an optional value, and this is {describe(type)}'
            self.report("IL206", node.start, node.end, message, 'leave out the "?"')
            return type
        return one_of(found)

    def list_literal(self, node: ListLiteral) -> Type:
        types = [self.optional_entry(item.value) if item.optional else self.infer(item.value) for item in node.items]
        return List(one_of(types))

    def map_literal(self, node: MapLiteral) -> Type:
        fields: dict[str, Type] = {}
        keys: list[Type] = []
        values: list[Type] = []
        named = True
        seen: set[tuple[str, object]] = set()
        for entry in node.entries:
            key = entry.key
            key_type = self.infer(key)
            value = self.optional_entry(entry.value) if entry.optional else self.infer(entry.value)
            keys.append(key_type)
            values.append(value)
            if not ops.may_be(key_type, *ops.KEYS):
                message = f"a key of a map is a string, an integer or a boolean, and this is {describe(key_type)}"
                self.report("IL206", key.start, key.end, message)
            if isinstance(key, Literal):
                if (key.kind, key.value) in seen:
                    self.report("IL206", key.start, key.end, "this key stands twice in the map")
                seen.add((key.kind, key.value))
            if isinstance(key, Literal) and key.kind == "string":
                fields[str(key.value)] = value
            else:
                named = False
        return Record(fields) if named else Map(one_of(values), one_of(keys))

    def message(self, node: Message) -> Type:
        for field in node.fields:
            self.infer(field.value)
        message = f'there is no message type "{node.name}" here'
        self.report("IL202", node.start, node.name_end, message, "write a map: {'name': value}")
        return DYN


def _element(owner: Type, index: Type, literal: Literal | None) -> Type | None:
    """The type of ``owner[index]``, None where that must fail."""
    if isinstance(owner, Dyn):
        return DYN
    if isinstance(owner, List):
        if literal is not None and isinstance(literal.value, float):
            return owner.item if literal.value.is_integer() else None
        return owner.item if ops.may_be(index, Int, Uint, Double) else None
    if isinstance(owner, Map):
        numeric = isinstance(index, (Int, Uint, Double)) and ops.may_be(owner.key, Int, Uint)
        same = any(ops.may_be(owner.key, option.__class__) for option in options(index) if isinstance(option, ops.KEYS))
        return owner.value if numeric or same or ops.may_be(index) else None
    if isinstance(owner, Record):
        if literal is not None and literal.kind == "string":
            name = str(literal.value)
            return owner.fields.get(name, DYN if owner.open else None)
        if ops.may_be(index, String):
            return DYN if owner.open or not owner.fields else one_of(owner.fields.values())
    return None


def _listed(names: Iterable[str], most: int = MOST_LISTED) -> str:
    shown = list(dict.fromkeys(names))
    text = ", ".join(shown[:most])
    return f"{text}, …" if len(shown) > most else text


def _in_path(node: Node) -> bool:
    """Whether a selection from a node goes on a path: a name, and members and elements of it."""
    while isinstance(node, (Select, Index)):
        node = node.operand
    return isinstance(node, Ident)


_HANDLERS: dict[type[Node], Callable[[Checker, Any], Type]] = {
    Ident: Checker.ident,
    Select: Checker.select,
    Has: Checker.has,
    Index: Checker.index,
    Call: Checker.call,
    Comprehension: Checker.comprehension,
    Unary: Checker.unary,
    Binary: Checker.binary,
    Logic: Checker.logic,
    Ternary: Checker.ternary,
    Literal: Checker.literal,
    ListLiteral: Checker.list_literal,
    MapLiteral: Checker.map_literal,
    Message: Checker.message,
    Missing: Checker.missing,
}
