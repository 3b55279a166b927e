"""Renders templates with Google's CEL runtime, as section 3 says.

A template that is exactly one expression keeps the type of its value; in a text every value is
written as text.  Templates of block params that read ``secrets`` are left as `Deferred` for the
worker, which completes them with `fill`.  Finding mistakes before a run is the analyzer's part;
here what remains of them becomes an `EvaluationError`.

The runtime is native code, and some input ends its process: texts with NUL are cut, deeply nested
values and optionals inside maps crash it, and small expressions can ask for gigabytes.  So values
are made safe on the way in, results are read with care on the way out, and what may grow large
runs in a process of its own (``sandbox``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from cel_expr_python import cel
from cel_expr_python.ext import ext_encoders, ext_math, ext_optional, ext_strings

from interlock.analyzer.expressions import ast
from interlock.analyzer.expressions.syntax import parse
from interlock.analyzer.expressions.template import split
from interlock.analyzer.model.nodes import Condition
from interlock.analyzer.model.values import Expression, ListValue, MapValue, Template, Value
from interlock.engine.growth import bounds
from interlock.engine.macros import MOST_ITEMS, PIECE, Macro, outer_macros
from interlock.engine.ports import Deferred, EvaluationError, Json, Rendered, Scope
from interlock.engine.values import MAX_DEPTH, NotJson, as_text, dump, json_value, too_deep

MAX_KEY = 512
LARGE = 64 * 1024 * 1024
"""Bytes that an expression may produce, or work through, in this process."""

_CACHE = 20_000
_STATUS = re.compile(r"^[A-Z_]{5,}: | \[[A-Z_]{5,}\]$")
_OPTIONAL = re.compile(r"\?|optional|first|last")

_env = cel.NewEnv(
    extensions=[
        ext_optional.ExtOptional(),
        ext_strings.ExtStrings(),
        ext_math.ExtMath(),
        ext_encoders.ExtEncoders(),
    ]
)
_ERROR = cel.Type.ERROR


class _Compiled:
    """One expression, ready to run.

    ``reads`` names the roots that it may read, each with the fields of it that are read, or None
    where it is read whole; ``risky`` says that its result can be larger than what it reads.
    """

    __slots__ = ("macros", "optionals", "program", "reads", "risky", "shown", "source", "tree")

    def __init__(self, source: str, shown: str) -> None:
        self.source = source
        self.shown = shown
        parsed = parse(source)
        self.tree = parsed.tree
        self.reads = _reads(self.tree)
        self.risky = any(isinstance(node, ast.Comprehension | ast.Call) for node in ast.walk(self.tree))
        self.macros = outer_macros(self.tree, source) if self.risky else ()
        self.optionals = _OPTIONAL.search(source) is not None
        try:
            self.program = _env.compile(source, disable_check=True)
        except Exception as error:
            raise EvaluationError("expression", _said(shown, str(error))) from None


_compiled: dict[tuple[str, str], _Compiled] = {}


def _compile(source: str, shown: str | None = None) -> _Compiled:
    """The expression ready to run; messages show ``shown`` where it was made of another one."""
    key = (source, source if shown is None else shown)
    found = _compiled.get(key)
    if found is None:
        if len(_compiled) >= _CACHE:
            _compiled.clear()
        found = _compiled[key] = _Compiled(*key)
    return found


def _reads(tree: ast.Node) -> dict[str, frozenset[str] | None]:
    """The names that a tree may read; those of macros are among them, which does no harm."""
    fields: dict[str, set[str]] = {}
    selected: set[int] = set()
    whole: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Select) and isinstance(node.operand, ast.Ident):
            selected.add(id(node.operand))
            fields.setdefault(node.operand.name, set()).add(node.field)
        elif isinstance(node, ast.Ident) and id(node) not in selected:
            whole.add(node.name)
    reads: dict[str, frozenset[str] | None] = {name: frozenset(names) for name, names in fields.items()}
    return reads | dict.fromkeys(whole)


def _said(source: str, message: str) -> str:
    shown = source.strip()
    if len(shown) > 120:
        shown = shown[:117] + "…"
    first = _STATUS.sub("", message.split("\n", 1)[0]).removeprefix("ERROR: ")
    first = re.sub(r"^<input>:\d+:-?\d+: ", "", first)
    for technical, plain in _PLAIN:
        first = technical.sub(plain, first)
    return f'The expression "{shown}" failed: {first}.'.replace("..", ".")


_PLAIN = (
    (re.compile(r"^Key not found in map : (.*)$"), r"the map has no key \1"),
    (re.compile(r'^No value with name "(.*)" found in Activation$'), r'there is no "\1" here'),
    (re.compile(r"^Index error: index=(-?\d+) size=(\d+)$"), r"the list has \2 items, and none at \1"),
    (re.compile(r"^Iteration budget exceeded$"), "it goes through more than 10,000 items"),
    (re.compile(r"^No matching overloads found : (.*)$"), r"nothing takes these types: \1"),
    (re.compile(r"^Applying SELECT to non-message type$"), "a field is read of a value that is no map"),
    (re.compile(r"int64"), "int"),
)


# --- one expression ----------------------------------------------------------------------------


def _data(code: _Compiled, scope: Scope) -> dict[str, Json]:
    """What an expression reads of a scope, and no more: handing over a value costs by its size."""
    data: dict[str, Json] = {}
    for name, fields in code.reads.items():
        if name not in scope:
            continue
        value = scope[name]
        if fields is not None and isinstance(value, Mapping):
            value = {field: value[field] for field in fields if field in value}
        data[name] = value
    return data


def _raw(code: _Compiled, data: dict[str, Json]) -> Any:
    """The runtime's own value of an expression over data that is safe to give to it."""
    try:
        packed = dump(data)
    except (RecursionError, UnicodeEncodeError, TypeError) as error:
        raise EvaluationError("bad-value", f'What "{code.source}" reads is no JSON: {error}.') from None
    if too_deep(packed):
        raise EvaluationError("bad-value", f'What "{code.source}" reads is nested more than {MAX_DEPTH} deep.')
    stand_in = None
    if b"\\u0000" in packed:
        stand_in, data = _without_nul(data)
    if code.macros and len(packed) > PIECE:
        code, data = _unrolled(code, data)
        packed = dump(data)
    if code.risky:
        size, work = bounds(code.tree, packed, code.source)
        if size > LARGE or work > 20 * LARGE:
            return _elsewhere(code, data, stand_in)
    result = _result(code, _run(code, data))
    return result if stand_in is None else _restore(result, stand_in)


def _unrolled(code: _Compiled, data: dict[str, Json]) -> tuple[_Compiled, dict[str, Json]]:
    """The expression with each macro over a long list replaced by its result.

    What fails here is left as it stands: it may never be asked for, and if it is, it fails again.
    """
    source, moved = code.source, 0
    for number, macro in enumerate(code.macros):
        name = f"macro_{number}_"
        try:
            items = _raw(_compile(macro.items), data)
            if not isinstance(items, list) or len(items) <= PIECE or name in code.reads:
                continue
            instead = name
            if len(items) > MOST_ITEMS:
                # Refused by the runtime's own limit, if it is asked for, before it copies anything.
                instead, made = f"{name}.exists(i, false)", items
            else:
                made = _in_pieces(macro, items, data)
        except EvaluationError:
            continue
        source = source[: macro.start + moved] + instead + source[macro.end + moved :]
        moved = len(source) - len(code.source)
        data = {**data, name: made}
    return (code, data) if source == code.source else (_compile(source, code.shown), data)


def _in_pieces(macro: Macro, items: list[Json], data: dict[str, Json]) -> list[Json]:
    """The list that a macro makes of these items."""
    call = _compile(f"macro_items_.{macro.call}")
    others = _data(call, data)
    made: list[Json] = []
    for start in range(0, len(items), PIECE):
        made += _raw(call, {**others, "macro_items_": items[start : start + PIECE]})
    return made


def _run(code: _Compiled, data: dict[str, Json]) -> Any:
    try:
        return code.program.eval(data=data)
    except MemoryError:
        raise EvaluationError("expression", _said(code.shown, "it needs too much memory")) from None
    except Exception as error:
        raise EvaluationError("expression", _said(code.shown, str(error))) from None


def _result(code: _Compiled, value: Any) -> Any:
    """A Python value of the runtime's one; timestamps, durations and bytes stay what they are."""
    if value.type() == _ERROR:
        try:
            message = value.value()
        except TypeError:
            message = "its value is an optional; add .orValue(…)"
        raise EvaluationError("expression", _said(code.shown, str(message)))
    if code.optionals:
        return _walk(code, value)
    try:
        return value.plain_value()
    except Exception as error:
        raise EvaluationError("expression", _said(code.shown, str(error))) from None


def _walk(code: _Compiled, value: Any) -> Any:
    """As `_result` for a value that may hold optionals: unpacking those at once kills the process."""
    if value.type() == _ERROR:
        raise EvaluationError("expression", _said(code.shown, "it holds an optional; add .orValue(…)"))
    plain = value.value()
    if isinstance(plain, list):
        return [_walk(code, item) for item in plain]
    if isinstance(plain, dict):
        return {key: _walk(code, item) for key, item in plain.items()}
    return plain


def _without_nul(data: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    """The data with a character that does not occur in it for each NUL, at which the runtime cuts."""
    packed = dump(data).decode()
    stand_in = next(mark for mark in map(chr, range(0xFDD0, 0xFDF0)) if mark not in packed)
    return stand_in, _swap(data, "\0", stand_in)


def _restore(value: Any, stand_in: str) -> Any:
    return _swap(value, stand_in, "\0")


def _swap(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, list):
        return [_swap(item, old, new) for item in value]
    if isinstance(value, dict):
        return {_swap(key, old, new): _swap(item, old, new) for key, item in value.items()}
    return value


def _elsewhere(code: _Compiled, data: dict[str, Json], stand_in: str | None) -> Any:
    from interlock.engine.sandbox import Exceeded, evaluate_elsewhere

    try:
        value = evaluate_elsewhere(code.source, data)
    except Exceeded as error:
        raise EvaluationError("expression", _said(code.shown, str(error))) from None
    return value if stand_in is None else _restore(value, stand_in)


def evaluate_here(source: str, data: dict[str, Json]) -> Json:
    """The JSON value of an expression over safe data, however large it may become (for ``sandbox``)."""
    code = _compile(source)
    return _json(source, _result(code, _run(code, data)))


def evaluate(source: str, scope: Scope) -> Any:
    """The value of one expression as Python has it; `EvaluationError` where it fails.

    Timestamps, durations and bytes are given as Python's own; everything else is JSON.
    """
    code = _compile(source)
    return _raw(code, _data(code, scope))


def _final(source: str, scope: Scope) -> Json:
    return _json(source, evaluate(source, scope))


def _json(source: str, value: Any) -> Json:
    try:
        return json_value(value, "it")
    except NotJson as error:
        raise EvaluationError("expression", _said(source, f"its value is not JSON, for {error}")) from None


# --- templates ---------------------------------------------------------------------------------


def _pieces(parts: tuple[str | Expression, ...]) -> list[tuple[bool, str]]:
    return [(False, part) if isinstance(part, str) else (True, part.source) for part in parts]


def _written(pieces: list[tuple[bool, str]], scope: Scope, keyed: bool = False) -> str:
    """The text of a template's parts."""
    made: list[str] = []
    for computed, part in pieces:
        if not computed:
            made.append(part)
            continue
        value = _final(part, scope)
        if value is None:
            raise EvaluationError(
                "null-in-text",
                f'The value of "{part.strip()}" is null, which has no text; give it a default.',
            )
        if keyed and isinstance(value, list | dict):
            kind = "a list" if isinstance(value, list) else "a map"
            raise EvaluationError("bad-key", f'The value of "{part.strip()}" is {kind}, and a key is made of texts.')
        made.append(as_text(value))
    return "".join(made)


class TemplateEvaluator:
    """The `Evaluator` of the engine; it holds nothing and may be used from any thread."""

    def value(self, value: Value, scope: Scope) -> Json:
        """The JSON value of a literal, template, list or map; a whole template keeps its type."""
        if isinstance(value, Template):
            if value.whole:
                return _final(value.expressions[0].source, scope)
            return _written(_pieces(value.parts), scope)
        if isinstance(value, ListValue):
            return [self.value(item, scope) for item in value.items]
        if isinstance(value, MapValue):
            return {member.name: self.value(member.value, scope) for member in value.members}
        return self._literal(value.data)

    def _literal(self, data: object) -> Json:
        try:
            return json_value(data, "the literal")
        except NotJson as error:
            raise EvaluationError("bad-value", f"{str(error).capitalize()}.") from None

    def text(self, value: Value, scope: Scope) -> str:
        """The value of a field that takes text; ``null-in-text`` where null would be written."""
        if isinstance(value, Template):
            return _written(_pieces(value.parts), scope)
        made = self.value(value, scope)
        if made is None:
            raise EvaluationError("null-in-text", "The value is null, which has no text.")
        return as_text(made)

    def key(self, value: Value, scope: Scope) -> str:
        """A resource, supersession or idempotency key; `EvaluationError` ``bad-key`` or ``null-in-text``."""
        if isinstance(value, Template):
            made = _written(_pieces(value.parts), scope, keyed=True)
        elif isinstance(value, ListValue | MapValue):
            raise EvaluationError("bad-key", "A key is a text, not a list or a map.")
        else:
            made = self.text(value, scope)
        return check_key(made)

    def condition(self, condition: Condition, scope: Scope) -> bool:
        """A ``when``; anything but a boolean is the error ``expression``."""
        if isinstance(condition.value, bool):
            return condition.value
        value = self.value(condition.value, scope)
        if not isinstance(value, bool):
            raise EvaluationError(
                "expression", f'"{condition.value.text}" must be true or false, and is {_shown(value)}.'
            )
        return value

    def params(self, value: MapValue | None, scope: Scope) -> Rendered:
        """A block's params; templates that read ``secrets`` are left for `fill`."""
        if value is None:
            return Rendered({})
        deferred: list[Deferred] = []
        made = self._params(value, scope, (), deferred)
        return Rendered(made, tuple(deferred))

    def _params(self, value: Value, scope: Scope, at: tuple[str | int, ...], deferred: list[Deferred]) -> Json:
        if isinstance(value, MapValue):
            return {
                member.name: self._params(member.value, scope, (*at, member.name), deferred) for member in value.members
            }
        if isinstance(value, ListValue):
            return [self._params(item, scope, (*at, place), deferred) for place, item in enumerate(value.items)]
        if isinstance(value, Template):
            codes = [_compile(part.source) for part in value.expressions]
            if any("secrets" in code.reads for code in codes):
                names: dict[str, Json] = {}
                for code in codes:
                    names = _merge(names, _data(code, scope))
                names.pop("secrets", None)
                deferred.append(Deferred(at, value.text, value.whole, names))
                return None
        return self.value(value, scope)

    def next(self, template: Template, scope: Scope) -> str:
        """The text of a ``next`` template; anything but a string is the error ``bad-next``."""
        value = self.value(template, scope)
        if not isinstance(value, str):
            raise EvaluationError("bad-next", f'"{template.text}" must give the id of a step, and is {_shown(value)}.')
        return value

    def until(self, value: Value, scope: Scope) -> float:
        """A timestamp, or RFC 3339 text, as seconds since 1970; else the error ``bad-value``."""
        if isinstance(value, Template) and value.whole:
            made = evaluate(value.expressions[0].source, scope)
        else:
            made = self.value(value, scope)
        if isinstance(made, datetime):
            return made.timestamp()
        return moment(made)


def _merge(left: dict[str, Json], right: dict[str, Json]) -> dict[str, Json]:
    """Two extracts of one scope as one; each may hold other fields of the same root."""
    merged = dict(left)
    for name, value in right.items():
        known = merged.get(name)
        merged[name] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


def _shown(value: Json) -> str:
    """The whole value or none of it: a part of a secret would not be found and hidden."""
    text = as_text(value)
    if len(text) <= 60:
        return text
    kind = "text" if isinstance(value, str) else "list" if isinstance(value, list) else "map"
    return f"a {kind} of {len(text):,} characters"


def check_key(text: str) -> str:
    """The key if it may be one: not empty, at most 512 characters; else the error ``bad-key``."""
    if not text:
        raise EvaluationError("bad-key", "The key is empty; it must name something.")
    if len(text) > MAX_KEY:
        raise EvaluationError("bad-key", f"The key has {len(text):,} characters, and at most {MAX_KEY} are allowed.")
    return text


_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def moment(value: object) -> float:
    """RFC 3339 text as seconds since 1970; the error ``bad-value`` for anything else."""
    found = _RFC3339.fullmatch(value) if isinstance(value, str) else None
    if found is not None:
        day, time, fraction, zone = found.groups()
        offset = "+00:00" if zone in "Zz" else zone
        try:
            whole = datetime.fromisoformat(f"{day}T{time}{offset}").astimezone(UTC).timestamp()
        except (ValueError, OverflowError):
            pass
        else:
            return whole + float(fraction or 0)
    shown = _shown(value) if isinstance(value, str | int | float | bool | list | dict) else "something else"
    raise EvaluationError("bad-value", f'A time such as "2030-01-31T08:00:00Z" is needed, not {shown}.')


# --- secrets -----------------------------------------------------------------------------------


def secret_names(deferred: tuple[Deferred, ...]) -> frozenset[str]:
    """The secrets that deferred templates read by name."""
    names: set[str] = set()
    for item in deferred:
        for hole in split(item.text).holes:
            names |= _compile(hole.source).reads.get("secrets") or frozenset()
    return frozenset(names)


def fill(params: Json, deferred: tuple[Deferred, ...], secrets: Mapping[str, str]) -> Json:
    """The params with their deferred templates rendered; `EvaluationError` where one fails.

    The params given stay as they are; the result must never be stored or shown.
    """
    made = msgspec.json.decode(dump(params)) if deferred else params
    for item in deferred:
        scope = {**item.names, "secrets": dict(secrets)}
        pieces = [(False, part) if isinstance(part, str) else (True, part.source) for part in split(item.text).parts]
        value = _final(pieces[0][1], scope) if item.whole else _written(pieces, scope)
        if not item.where:
            made = value
            continue
        place = made
        for step in item.where[:-1]:
            place = place[step]
        place[item.where[-1]] = value
    return made
