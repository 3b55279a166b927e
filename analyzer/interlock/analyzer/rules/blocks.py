"""IL208 and IL209: blocks that nobody provides, and parameters that a block does not take.

Parameters are judged against the JSON Schema of the block as far as they are literal; a whole
template is judged by its type (IL206).  Words of JSON Schema that are not understood say nothing.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from interlock.analyzer.expressions.types import assignable, describe, from_json_schema
from interlock.analyzer.findings import Edit, Finding, Fix, Sink
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.scope import Scopes
from interlock.analyzer.language.addresses import ADDRESS_PARAMS, WHAT_IT_IS, is_address, may_become_address
from interlock.analyzer.language.blocks import BlockSpec
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.language.table import STEP
from interlock.analyzer.model.nodes import BlockCall
from interlock.analyzer.model.values import ListValue, Literal, MapValue, Setting, Template, Value, plain
from interlock.analyzer.rules.absence import TEXT_PARAMS
from interlock.analyzer.source.text import Span

_TYPES: dict[str, str] = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}

_BOUNDS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "minimum": (operator.ge, "at least"),
    "maximum": (operator.le, "at most"),
    "exclusiveMinimum": (operator.gt, "more than"),
    "exclusiveMaximum": (operator.lt, "less than"),
}


def blocks(unit: Unit, sink: Sink) -> None:
    for step in unit.flow.steps():
        if isinstance(step.kind, BlockCall):
            _call(unit, step.kind.block, step.kind.params, step.strange or "params" in step.fields, sink)
        if step.compensate is not None:
            undo = step.compensate
            _call(unit, undo.block, undo.params, "params" in undo.fields, sink)


def _call(unit: Unit, block: Setting[str] | None, params: Setting[MapValue] | None, written: bool, sink: Sink) -> None:
    if block is None:
        return
    known = unit.program.blocks
    spec = unit.program.block(block)
    if block.value not in known:
        near = spec.name if spec is not None else None
        fix = Fix(f'Change it to "{near}"', (Edit(block.span, near),)) if near else None
        sink.add(
            "IL208",
            block.span,
            f'No block is called "{block.value}".',
            f'Did you mean "{near}"?' if near else "Blocks of your own come in by a manifest, interlock.blocks.json.",
            fix=fix,
        )
    if spec is None:
        return
    judge = _Params(unit.scopes, sink, spec, block.key)
    if params is not None:
        judge.value(params.value, spec.params, (), params.key)
    elif not written:
        judge.missing(spec.params, (), block.key, set())


class _Params:
    """Holds the parameters of one call against the schema of the block."""

    def __init__(self, scopes: Scopes, sink: Sink, spec: BlockSpec, block: Span) -> None:
        self.block = block
        self.scopes = scopes
        self.sink = sink
        self.spec = spec

    def say(self, span: Span, message: str, hint: str | None = None, near: str | None = None) -> None:
        """Reports; with ``near`` it asks whether that was meant, and offers to write it."""
        fix = None
        if near is not None:
            hint = f'Did you mean "{near}"?'
            if span.via is None:
                fix = Fix(f'Change it to "{near}"', (Edit(span, near),), sure=False)
        self.sink.add("IL209", span, message, hint, fix=fix, beside=(self.block,))

    def title(self, path: tuple[str | int, ...]) -> str:
        return f'"{".".join(str(part) for part in path)}" of "{self.spec.name}"' if path else f'"{self.spec.name}"'

    def value(self, value: Value, schema: Any, path: tuple[str | int, ...], key: Span) -> None:
        if not isinstance(schema, dict):
            return
        if isinstance(value, Template):
            self._template(value, schema, path)
            return
        if "anyOf" in schema:
            self._any_of(value, schema["anyOf"], path, key)
            return
        if not self._type(value, schema, path):
            return
        if isinstance(value, MapValue):
            self._map(value, schema, path, key)
        elif isinstance(value, ListValue):
            self._list(value, schema, path, key)
        else:
            self._literal(value, schema, path)

    def _template(self, value: Template, schema: dict[str, Any], path: tuple[str | int, ...]) -> None:
        if not value.whole:
            start = value.parts[0]
            if self._takes_address(path) and isinstance(start, str) and not may_become_address(start):
                self.say(
                    value.span, f'{self.title(path)} cannot be "{value.text}": {WHAT_IT_IS}.', _address_hint(start)
                )
            elif not _accepts(schema, "string"):
                self.sink.add("IL206", value.span, f"{self.title(path)} takes {_wanted(schema)}, and this is a text.")
            return
        if len(path) == 1 and (self.spec.name, path[0]) in TEXT_PARAMS:
            return
        site = self.scopes.site_of(value)
        if site is None or site.expression.tree is None:
            return
        checked = self.scopes.checked(site)
        if any(problem.code in ("IL202", "IL206") for problem in checked.problems):
            return
        if not assignable(checked.type, from_json_schema(schema)):
            self.sink.add(
                "IL206",
                site.expression.span,
                f"{self.title(path)} takes {_wanted(schema)}, and this is {describe(checked.type)}.",
            )

    def _any_of(self, value: Value, options: Any, path: tuple[str | int, ...], key: Span) -> None:
        """One alternative has to fit; else the fault is told by the one that was meant, as far as that shows."""
        if not isinstance(options, list):
            return
        meant: list[tuple[Finding, ...]] = []
        fitting = [option for option in options if _kind_fits(value, option)]
        for option in fitting:
            trial = Sink()
            _Params(self.scopes, trial, self.spec, self.block).value(value, option, path, key)
            if not trial.findings():
                return
            meant.append(trial.since(0))
        if not fitting:
            wanted = " or ".join(dict.fromkeys(_wanted(option) for option in options if isinstance(option, dict)))
            self.say(value.span, f"{self.title(path)} takes {wanted}, not {_shown(value)}.")
        elif not self._tagged(value, fitting, path, key):
            fewest = min(len(found) for found in meant)
            self.sink.extend(next(found for found in meant if len(found) == fewest))

    def _tagged(self, value: Value, options: list[Any], path: tuple[str | int, ...], key: Span) -> bool:
        """Mappings that are told apart by the word under one name: what is said where the word is there, or none is.

        Whether anything was said.
        """
        name = _tag(options) if isinstance(value, MapValue) else None
        if name is None or not isinstance(value, MapValue):
            return False
        words = [word for option in options for word in _words(option["properties"][name])]
        given = next((member for member in value.members if member.name == name), None)
        if given is None:
            self.missing({"required": [name]}, path, key, set())
            return True
        if not isinstance(given.value, Literal):
            return False
        data = given.value.data
        chosen = [option for option in options if any(_equal(data, w) for w in _words(option["properties"][name]))]
        if len(chosen) != 1:
            self.value(given.value, {"enum": words}, (*path, name), given.key)
            return not chosen
        self.value(value, chosen[0], path, key)
        return True

    def _type(self, value: Value, schema: dict[str, Any], path: tuple[str | int, ...]) -> bool:
        data = plain(value)
        if _matches(data, schema.get("type")):
            return True
        self.say(value.span, f"{self.title(path)} takes {_wanted(schema)}, not {_shown(value)}.")
        return False

    def _map(self, value: MapValue, schema: dict[str, Any], path: tuple[str | int, ...], key: Span) -> None:
        known = schema.get("properties")
        known = known if isinstance(known, dict) else {}
        extra = schema.get("additionalProperties", True)
        present: set[str] = {member.name for member in value.members}
        for member in value.members:
            name = member.name
            if name not in known and extra is False:
                near = nearest(name, known)
                hint = _takes(known)
                if not path and name in STEP.fields:
                    hint = f'"{name}" belongs to the step, beside params.'
                self.say(member.key, f'{self.title(path)} has no parameter "{name}".', hint, near)
                if near is None or near in present:
                    continue
                present.add(near)
                name = near
            inner = known.get(name, extra if isinstance(extra, dict) else None)
            self.value(member.value, inner, (*path, name), member.key)
        self._together(value, schema, path)
        self.missing(schema, path, key, present)

    def _together(self, value: MapValue, schema: dict[str, Any], path: tuple[str | int, ...]) -> None:
        """Parameters of which one excludes another: ``{"not": {"required": [A, B]}}``; said at the last one."""
        ban = schema.get("not")
        names = ban.get("required") if isinstance(ban, dict) and ban.keys() == {"required"} else None
        if not isinstance(names, list) or len(names) < 2:
            return
        given = [member for member in value.members if member.name in names]
        if len({member.name for member in given}) == len(names):
            words = " and ".join(f'"{member.name}"' for member in given)
            self.say(given[-1].key, f"{self.title(path)} takes only one of {words}.", "Keep the one that is meant.")

    def missing(self, schema: dict[str, Any], path: tuple[str | int, ...], key: Span, present: set[str]) -> None:
        required = schema.get("required")
        for name in required if isinstance(required, list) else ():
            if name not in present:
                self.say(key, f'{self.title(path)} needs "{name}", and it is missing.')

    def _takes_address(self, path: tuple[str | int, ...]) -> bool:
        return self.spec.built_in and len(path) == 1 and (self.spec.name, path[0]) in ADDRESS_PARAMS

    def _list(self, value: ListValue, schema: dict[str, Any], path: tuple[str | int, ...], key: Span) -> None:
        least = schema.get("minItems")
        if isinstance(least, int) and len(value.items) < least:
            self.say(
                value.span,
                f"{self.title(path)} takes at least {least} items, and this has {len(value.items)}.",
            )
        most = schema.get("maxItems")
        if isinstance(most, int) and len(value.items) > most:
            self.say(
                value.span,
                f"{self.title(path)} takes at most {most} items, and this has {len(value.items)}.",
            )
        front = schema.get("prefixItems")
        front = front if isinstance(front, list) else []
        for number, item in enumerate(value.items):
            inner = front[number] if number < len(front) else schema.get("items")
            self.value(item, inner, (*path, number), key)

    def _literal(self, value: Literal, schema: dict[str, Any], path: tuple[str | int, ...]) -> None:
        data = value.data
        words = schema.get("enum")
        if isinstance(words, list) and not any(_equal(data, word) for word in words):
            near = nearest(str(data), [str(word) for word in words])
            listed = ", ".join(str(word) for word in words)
            self.say(
                value.span,
                f"{self.title(path)} is one of {listed}, not {_shown(value)}.",
                near=near,
            )
            return
        if "const" in schema and not _equal(data, schema["const"]):
            self.say(value.span, f"{self.title(path)} is always {schema['const']}.")
            return
        self._bounds(value, schema, path)

    def _bounds(self, value: Literal, schema: dict[str, Any], path: tuple[str | int, ...]) -> None:
        data = value.data
        if isinstance(data, int | float) and not isinstance(data, bool):
            for word, (passes, wanted) in _BOUNDS.items():
                bound = schema.get(word)
                if isinstance(bound, int | float) and not passes(data, bound):
                    self.say(value.span, f"{self.title(path)} is {wanted} {bound}, not {data}.")
                    return
        elif isinstance(data, str):
            least, most = schema.get("minLength"), schema.get("maxLength")
            if isinstance(least, int) and len(data) < least:
                what = "must not be empty" if least == 1 else f"takes at least {least} characters"
                self.say(value.span, f"{self.title(path)} {what}.")
            elif isinstance(most, int) and len(data) > most:
                self.say(value.span, f"{self.title(path)} takes at most {most} characters, and this has {len(data)}.")
            elif self._takes_address(path) and not is_address(data):
                near = _near_address(data)
                self.say(value.span, f'{self.title(path)} cannot be "{data}": {WHAT_IT_IS}.', near=near)
            elif not _fits(schema.get("pattern"), data):
                self.say(value.span, f'{self.title(path)} cannot be "{data}": it must match {schema["pattern"]}.')


def _near_scheme(text: str) -> tuple[str, str] | None:
    """What an address was meant to begin with, where that shows, and what follows it."""
    scheme, separator, rest = text.partition("://")
    if separator:
        meant = nearest(scheme.lower(), ("http", "https"))
        return None if meant is None or meant == scheme.lower() else (f"{meant}://", rest)
    host = re.split(r"[/:?#]", text, maxsplit=1)[0]
    return ("https://", text) if "." in host.strip(".") else None


def _near_address(text: str) -> str | None:
    meant = _near_scheme(text)
    return "".join(meant) if meant is not None and is_address("".join(meant)) else None


def _address_hint(start: str) -> str | None:
    """For a text whose end is not known."""
    meant = _near_scheme(start)
    if meant is None or not may_become_address("".join(meant)):
        return None
    return f'Did you mean "{meant[0]}{meant[1]}…"?'


def _fits(pattern: Any, data: str) -> bool:
    if not isinstance(pattern, str) or len(data) > 1000:
        return True
    try:
        return re.search(pattern, data) is not None
    except re.error:
        return True


def _equal(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _names(kind: Any) -> list[str]:
    return (
        [kind] if isinstance(kind, str) else [k for k in kind if isinstance(k, str)] if isinstance(kind, list) else []
    )


def _matches(data: object, kind: Any) -> bool:
    names = _names(kind)
    if not names:
        return True
    actual: set[str] = set()
    if data is None:
        actual = {"null"}
    elif isinstance(data, bool):
        actual = {"boolean"}
    elif isinstance(data, int):
        actual = {"integer", "number"}
    elif isinstance(data, float):
        # A fraction makes a double, also one of 0, and so does a number beyond 64 bits (section 3).
        actual = {"number"}
    elif isinstance(data, str):
        actual = {"string"}
    elif isinstance(data, list):
        actual = {"array"}
    elif isinstance(data, dict):
        actual = {"object"}
    return bool(actual & set(names))


def _kind_fits(value: Value, schema: Any) -> bool:
    """Whether a value is of the kind that a schema wants, whatever else is wrong with it; a template may be any."""
    if not isinstance(schema, dict) or isinstance(value, Template):
        return True
    options = schema.get("anyOf")
    if isinstance(options, list):
        return any(_kind_fits(value, option) for option in options)
    data = plain(value)
    words = _words(schema)
    return _matches(data, schema.get("type")) and (not words or any(_kind(data) is _kind(word) for word in words))


def _kind(data: object) -> type:
    """What a JSON value is, numbers taken as one."""
    return float if isinstance(data, int) and not isinstance(data, bool) else type(data)


def _words(schema: Any) -> list[Any]:
    """The values that a schema lists, if it does."""
    if not isinstance(schema, dict):
        return []
    words = schema.get("enum")
    return words if isinstance(words, list) else [schema["const"]] if "const" in schema else []


def _tag(options: list[Any]) -> str | None:
    """The name under which each of several mappings has words of its own."""
    if len(options) < 2 or not all(
        isinstance(each, dict) and isinstance(each.get("properties"), dict) for each in options
    ):
        return None
    first, *others = (each["properties"] for each in options)
    names = (name for name in first if _words(first[name]) and all(_words(other.get(name)) for other in others))
    return next(names, None)


def _accepts(schema: dict[str, Any], kind: str) -> bool:
    options = schema.get("anyOf")
    if isinstance(options, list):
        return any(isinstance(option, dict) and _accepts(option, kind) for option in options)
    names = _names(schema.get("type"))
    return not names or kind in names


def _wanted(schema: dict[str, Any]) -> str:
    options = schema.get("anyOf")
    if isinstance(options, list):
        return " or ".join(dict.fromkeys(_wanted(option) for option in options if isinstance(option, dict)))
    names = _names(schema.get("type"))
    return " or ".join(_TYPES.get(name, name) for name in names) if names else "another value"


def _takes(known: dict[str, Any]) -> str | None:
    return f"It takes {', '.join(sorted(known))}." if known else "It takes none."


def _shown(value: Value) -> str:
    if isinstance(value, MapValue):
        return "a mapping"
    if isinstance(value, ListValue):
        return "a list"
    data = plain(value)
    return f'the text "{data}"' if isinstance(data, str) else "null" if data is None else str(data).lower()


RULES = (blocks,)
