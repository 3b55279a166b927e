"""Typed CEL expressions over the names of a scope, each read behind the guard that it needs.

Types are words (``string``, ``integer``, ``number``, ``boolean``, ``dyn``), ``List`` and ``Record``.
Values stay small whatever a run does: whole numbers are kept below 1,000, texts grow by literals only.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec


class List(msgspec.Struct, frozen=True):
    item: Type


class Record(msgspec.Struct, frozen=True):
    """A map with known fields."""

    fields: dict[str, Type]


class Words(msgspec.Struct, frozen=True):
    """A string that is one of a few words."""

    words: tuple[str, ...]


class Maybe(msgspec.Struct, frozen=True):
    """A value that may be null."""

    type: Type


Type: TypeAlias = "str | List | Record | Words | Maybe"

SCALARS = ("string", "integer", "number", "boolean")


class Entry(msgspec.Struct, frozen=True):
    """A name that can be read.  ``when`` is the condition of the step that gives it, None without one."""

    name: str
    type: Type
    when: str | None = None


class Leaf(msgspec.Struct, frozen=True):
    """One way to read a value: ``before`` is what must hold, as an expression, or empty."""

    text: str
    type: Type
    guard: str = ""
    optional: str = ""


class Scope:
    """What an expression may read at one place.

    ``left`` are the names at the earliest way out of the list (None where there is only its end): what
    its outputs may read.
    """

    def __init__(self, entries: list[Entry], left: list[Entry] | None = None) -> None:
        self.entries = entries
        self.left = left

    def inner(self, *more: Entry) -> Scope:
        return Scope([*self.entries, *more])

    def copy(self) -> Scope:
        return Scope(list(self.entries), self.left)

    def leave(self) -> None:
        """A step may go to the end from here."""
        if self.left is None:
            self.left = list(self.entries)

    @property
    def at_end(self) -> Scope:
        return Scope(self.left if self.left is not None else self.entries)

    def leaves(self, when: str | None = None) -> Iterator[Leaf]:
        """Every value that can be read; with ``when``, as a step with that condition reads."""
        for entry in self.entries:
            skippable = entry.when is not None and entry.when != when
            if skippable and isinstance(entry.type, Record):
                for name, type_ in entry.type.fields.items():
                    guard, optional = f"has({entry.name}.{name})", f"{entry.name}.?{name}"
                    yield from _parts(f"{entry.name}.{name}", type_, guard, optional, 1)
            elif not skippable:
                yield from _parts(entry.name, entry.type, "", "", 0)


def _parts(text: str, type_: Type, guard: str, optional: str, depth: int) -> Iterator[Leaf]:
    if isinstance(type_, Maybe):
        if guard:
            return
        yield from _parts(text, type_.type, f"{text} != null", "", depth)
        return
    if text != "inputs" and text not in ("run", "lease"):
        yield Leaf(text, type_, guard, optional)
    if isinstance(type_, Record) and depth < 5:
        for name, part in type_.fields.items():
            yield from _parts(f"{text}.{name}", part, guard, "", depth + 1)


ALWAYS = Entry("run", Record({"id": "string", "workflow": "string", "account": "string", "attempt": "integer"}))


class Writer:
    """Writes expressions of asked types."""

    def __init__(self, rng: random.Random) -> None:
        self.random = rng
        self.variables = 0

    def literal(self, type_: Type) -> str:
        pick = self.random
        if isinstance(type_, Words):
            return f"'{pick.choice(type_.words)}'"
        if isinstance(type_, List):
            return f"[{', '.join(self.literal(type_.item) for _ in range(pick.randint(1, 3)))}]"
        if isinstance(type_, Record):
            return "{" + ", ".join(f"'{name}': {self.literal(part)}" for name, part in type_.fields.items()) + "}"
        if isinstance(type_, Maybe):
            return "null"
        if type_ == "string":
            return pick.choice(["'north'", '"it\'s"', "'a {b}'", "'é'", "r'x\\d'", "'plain'"])
        if type_ == "integer":
            return str(pick.randint(0, 99))
        if type_ == "number":
            return f"{pick.randint(0, 40)}.{pick.choice([0, 5, 25])}"
        if type_ == "boolean":
            return pick.choice(["true", "false"])
        return pick.choice(["1", "'x'", "[1, 'a']", "{'k': null}"])

    def read(self, scope: Scope, type_: Type, when: str | None = None) -> str | None:
        """A guarded read of a value of a type; None where nothing of it can be read."""
        fitting = [leaf for leaf in scope.leaves(when) if _fits(leaf.type, type_)]
        if not fitting:
            return None
        leaf = self.random.choice(fitting)
        if not leaf.guard:
            return leaf.text
        other = self.literal(leaf.type)
        if leaf.optional and self.random.random() < 0.5:
            return f"{leaf.optional}.orValue({other})"
        return f"({leaf.guard} ? {leaf.text} : {other})"

    def make(self, scope: Scope, type_: Type, depth: int = 2, when: str | None = None) -> str:
        """An expression of a type."""
        roll = self.random.random()
        if depth <= 0 or roll < 0.35:
            found = self.read(scope, type_, when) if self.random.random() < 0.8 else None
            return found if found is not None else self.literal(type_)
        if roll < 0.45:
            test, one, two = (self.make(scope, each, depth - 1, when) for each in ("boolean", type_, type_))
            return f"({test} ? {one} : {two})"
        made = self._composite(scope, type_, depth, when)
        return made if made is not None else self.make(scope, type_, 0, when)

    def _one_of(self, makers: list[Callable[[], str]]) -> str:
        return self.random.choice(makers)()

    def _composite(self, scope: Scope, type_: Type, depth: int, when: str | None) -> str | None:
        def part(wanted: Type) -> str:
            return self.make(scope, wanted, depth - 1, when)

        pick = self.random
        if type_ == "integer":
            return self._one_of(
                [
                    lambda: f"(({part('integer')} {pick.choice('+-')} {part('integer')}) % 97)",
                    lambda: f"(({part('integer')}) / {pick.randint(1, 9)})",
                    lambda: f"size({part('string')})",
                    lambda: f"size({part(List('integer'))})",
                    lambda: f"math.greatest({part('integer')}, {part('integer')})",
                    lambda: f"math.abs({part('integer')})",
                ]
            )
        if type_ == "number":
            return self._one_of(
                [
                    lambda: f"({part('number')} {pick.choice('+-')} {part('number')})",
                    lambda: f"({part('number')} * 0.5)",
                    lambda: f"double({part('integer')})",
                ]
            )
        if type_ == "string":
            return self._one_of(
                [
                    lambda: f"({part('string')} + '{pick.choice('xyz')}')",
                    lambda: f"string({part('integer')})",
                    lambda: f"({part('string')}).lowerAscii()",
                    lambda: f"({part('string')}).replace('a', 'o')",
                    lambda: f"{self._of(scope, List('string'), depth, when)}.join('-')",
                ]
            )
        if type_ == "boolean":
            return self._boolean(scope, depth, when)
        if isinstance(type_, List) and type_.item in SCALARS:
            items = self._of(scope, type_, depth, when)
            return self._one_of(
                [
                    lambda: f"[{part(type_.item)}, {part(type_.item)}]",
                    lambda: self._macro(items, "map", type_.item, type_.item),
                    lambda: f"({items} + [{part(type_.item)}])",
                    lambda: self._macro(self._of(scope, List("integer"), depth, when), "map", "integer", type_.item),
                ]
            )
        if isinstance(type_, Record):
            return "{" + ", ".join(f"'{name}': {part(each)}" for name, each in type_.fields.items()) + "}"
        return None

    def _of(self, scope: Scope, type_: Type, depth: int, when: str | None) -> str:
        return f"({self.make(scope, type_, depth - 1, when)})"

    def _macro(self, items: str, macro: str, item: Type, result: Type) -> str:
        """A comprehension whose body reads its own variable only."""
        self.variables += 1
        name = f"v{self.variables}"
        body = self.make(Scope([Entry(name, item)]), result, 1)
        return f"{items}.{macro}({name}, {body})"

    def _boolean(self, scope: Scope, depth: int, when: str | None) -> str:
        pick = self.random

        def part(wanted: Type) -> str:
            return self.make(scope, wanted, depth - 1, when)

        words = [leaf for leaf in scope.leaves(when) if isinstance(leaf.type, Words) and not leaf.guard]
        if words and pick.random() < 0.4:
            leaf = pick.choice(words)
            return f"({leaf.text} {pick.choice(['==', '!='])} {self.literal(leaf.type)})"
        kind = pick.choice(SCALARS[:3])
        return self._one_of(
            [
                lambda: f"({part('boolean')} {pick.choice(['&&', '||'])} {part('boolean')})",
                lambda: f"!({part('boolean')})",
                lambda: f"({part(kind)} {pick.choice(['==', '!=', '<', '<=', '>', '>='])} {part(kind)})",
                lambda: f"({part('integer')} < {part('number')})",
                lambda: f"({part(kind)} in {self._of(scope, List(kind), depth, when)})",
                lambda: self._macro(
                    self._of(scope, List(kind), depth, when), pick.choice(["exists", "all"]), kind, "boolean"
                ),
                lambda: f"({part('string')}).startsWith({part('string')})",
                lambda: f"({part('string')}).matches('^[a-z]+$')",
            ]
        )

    def condition(self, scope: Scope) -> str:
        """A boolean expression that reads something."""
        read = self.read(scope, self.random.choice(["boolean", "integer", "string"]))
        if read is None:
            read = "run.attempt"
        for leaf in ("run.attempt < 9", "run.workflow != 'nothing'"):
            if self.random.random() < 0.1:
                return f"{leaf} && {self.make(scope, 'boolean', 1)}"
        made = self.make(scope, "boolean", 2)
        return f"({made}) || run.attempt > 3" if self.random.random() < 0.5 else f"{made} && size(run.id) > 0"

    def template(self, scope: Scope, when: str | None = None, *, key: bool = False) -> str:
        """Text around one or two values that can be written as text."""
        parts = [self.random.choice(["item ", "no. ", "x{{y}} ", "at "]) if not key else ""]
        for _ in range(1 if key else self.random.randint(1, 2)):
            kind = self.random.choice(SCALARS[:2] if key else SCALARS)
            parts.append("{" + self.space(self.make(scope, kind, 1, when)) + "}")
        return "/".join(parts) if key else " ".join(parts).strip()

    def space(self, text: str) -> str:
        return f" {text} " if self.random.random() < 0.1 else text


def _fits(have: Type, want: Type) -> bool:
    if have == want:
        return True
    return isinstance(have, Words) and want == "string"
