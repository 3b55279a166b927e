"""The types of expressions, and how JSON Schema and JSON values become types.

Unknown stays unknown: ``Dyn`` stands for what cannot be known, and nothing is ever reported about it.
What operators do with types is the checker's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec


class Type(msgspec.Struct, frozen=True):
    """Base of all types; equality is structural."""


class Dyn(Type, frozen=True):
    """Anything."""


class Null(Type, frozen=True):
    pass


class Bool(Type, frozen=True):
    pass


class Int(Type, frozen=True):
    """An integer; ``values`` are all that it can be, None where they are not known."""

    values: tuple[int, ...] | None = None


class Uint(Type, frozen=True):
    pass


class Double(Type, frozen=True):
    """A double; ``values`` as for ``Int``."""

    values: tuple[float, ...] | None = None


class String(Type, frozen=True):
    """A string; ``words`` are all the values that it can have, None where they are not known."""

    words: tuple[str, ...] | None = None


class Bytes(Type, frozen=True):
    pass


class Timestamp(Type, frozen=True):
    pass


class Duration(Type, frozen=True):
    pass


class TypeOf(Type, frozen=True):
    """The type of a type, as ``type(x)`` and the bare name ``int`` have it."""


class List(Type, frozen=True):
    item: Type


class Map(Type, frozen=True):
    """A map whose keys are not known; JSON has string keys, map literals of CEL may have others."""

    value: Type
    key: Type = String()


class Record(Type, frozen=True):
    """A map with known members. Of an ``open`` one, members that are not listed are ``Dyn``.

    ``name`` says whose members they are, for messages: ``the inputs``, ``the result of "fetch"``.
    ``owners`` are those who give names to the members (the branch or step whose outputs they are, the step
    whose branches, the workflow by its name), so that a name is known again wherever the value goes.
    """

    fields: dict[str, Type]
    open: bool = False
    name: str = ""
    owners: tuple[object, ...] = ()


class Optional(Type, frozen=True):
    of: Type


class OneOf(Type, frozen=True):
    """One of several types, none of which is ``Dyn`` or ``OneOf``; made by ``one_of``."""

    options: tuple[Type, ...]


class Var(Type, frozen=True):
    """A type variable in the signature of a function."""

    name: str


DYN = Dyn()
NULL = Null()
BOOL = Bool()
INT = Int()
UINT = Uint()
DOUBLE = Double()
STRING = String()
BYTES = Bytes()
TIMESTAMP = Timestamp()
DURATION = Duration()
TYPE = TypeOf()


def options(type: Type) -> tuple[Type, ...]:
    """The alternatives of a type; itself where it has none."""
    return type.options if isinstance(type, OneOf) else (type,)


def one_of(types: Iterable[Type]) -> Type:
    """One type for several alternatives; ``Dyn`` as soon as one is ``Dyn``, or where there is none."""
    found: list[Type] = []
    for candidate in types:
        for option in options(candidate):
            if isinstance(option, Dyn):
                return DYN
            for at, known in enumerate(found):
                if (both := _merge(known, option)) is not None:
                    found[at] = both
                    break
            else:
                found.append(option)
    if not found:
        return DYN
    return found[0] if len(found) == 1 else OneOf(tuple(found))


def join(a: Type, b: Type) -> Type:
    """The type of a value that is either of the two."""
    if a is b or a == b:
        return a
    return one_of((a, b))


MAX_WORDS = 500
"""Known values of one string; beyond that they count as not known."""


def _merge(a: Type, b: Type) -> Type | None:
    """One type for both, where they are of one kind; else None."""
    if a == b:
        return a
    if isinstance(a, String) and isinstance(b, String):
        if a.words is None or b.words is None:
            return STRING
        words = tuple(dict.fromkeys(a.words + b.words))
        return String(words) if len(words) <= MAX_WORDS else STRING
    if isinstance(a, Int) and isinstance(b, Int):
        return INT
    if isinstance(a, Double) and isinstance(b, Double):
        return DOUBLE
    if isinstance(a, List) and isinstance(b, List):
        return List(join(a.item, b.item))
    if isinstance(a, Optional) and isinstance(b, Optional):
        return Optional(join(a.of, b.of))
    if isinstance(a, Map) and isinstance(b, Map):
        return Map(join(a.value, b.value), join(a.key, b.key))
    if isinstance(a, Record) and isinstance(b, Record):
        shared = {name: join(a.fields[name], b.fields[name]) for name in a.fields if name in b.fields}
        owners = tuple(dict.fromkeys(a.owners + b.owners))
        if a.fields.keys() == b.fields.keys():
            return Record(shared, a.open or b.open, a.name if a.name == b.name else "", owners)
        # A member of only one may be read where the program knows which one it has.
        return Record(shared, True, "", owners)
    if isinstance(a, (Map, Record)) and isinstance(b, (Map, Record)):
        values = [t.value if isinstance(t, Map) else DYN for t in (a, b)]
        keys = [t.key if isinstance(t, Map) else STRING for t in (a, b)]
        return Map(join(*values), join(*keys))
    return None


_NAMES: dict[type[Type], tuple[str, str]] = {
    Dyn: ("any value", "any values"),
    Null: ("null", "nulls"),
    Bool: ("a boolean", "booleans"),
    Int: ("an integer", "integers"),
    Uint: ("an unsigned integer", "unsigned integers"),
    Double: ("a floating-point number", "floating-point numbers"),
    String: ("a string", "strings"),
    Bytes: ("bytes", "bytes"),
    Timestamp: ("a timestamp", "timestamps"),
    Duration: ("a duration", "durations"),
    TypeOf: ("a type", "types"),
    List: ("a list", "lists"),
    Map: ("a map", "maps"),
    Record: ("a map", "maps"),
    Optional: ("an optional value", "optional values"),
    Var: ("any value", "any values"),
}


def describe(type: Type) -> str:
    """The type in words, with its article: ``a list of strings``, ``null or a string``."""
    if isinstance(type, OneOf):
        *most, last = (describe(option) for option in type.options)
        return f"{', '.join(most)} or {last}"
    if isinstance(type, List) and not isinstance(type.item, (Dyn, Var)):
        return f"a list of {plural(type.item)}"
    if isinstance(type, Map) and not isinstance(type.value, (Dyn, Var)):
        return f"a map of {plural(type.value)}"
    if isinstance(type, Optional) and not isinstance(type.of, (Dyn, Var)):
        return f"an optional value ({describe(type.of)})"
    return _NAMES[type.__class__][0]


def plural(type: Type) -> str:
    """Values of the type in words: ``lists of integers``."""
    if isinstance(type, OneOf):
        *most, last = (plural(option) for option in type.options)
        return f"{', '.join(most)} or {last}"
    if isinstance(type, List) and not isinstance(type.item, (Dyn, Var)):
        return f"lists of {plural(type.item)}"
    if isinstance(type, Map) and not isinstance(type.value, (Dyn, Var)):
        return f"maps of {plural(type.value)}"
    return _NAMES[type.__class__][1]


def signature_name(type: Type) -> str:
    """The type as signatures write it: ``string``, ``list(int)``, ``optional(T)``."""
    if isinstance(type, OneOf):
        return " | ".join(signature_name(option) for option in type.options)
    if isinstance(type, List):
        return f"list({signature_name(type.item)})"
    if isinstance(type, Map):
        return f"map({signature_name(type.value)})"
    if isinstance(type, Optional):
        return f"optional({signature_name(type.of)})"
    if isinstance(type, Var):
        return type.name
    if isinstance(type, Record):
        return "map"
    return "type" if isinstance(type, TypeOf) else type.__class__.__name__.lower()


_SCALARS: dict[str, Type] = {
    "string": STRING,
    "integer": INT,
    "number": DOUBLE,
    "boolean": BOOL,
    "null": NULL,
}
_MAX_SCHEMA_DEPTH = 32


def from_json_schema(schema: Any, name: str = "", _depth: int = 0) -> Type:
    """The type of the values that a JSON Schema allows; what it leaves open is ``Dyn``.

    ``properties`` are members; the record is closed only where ``additionalProperties`` is false.
    ``name`` names the record in messages. References are not followed.
    """
    if not isinstance(schema, Mapping) or _depth > _MAX_SCHEMA_DEPTH or "$ref" in schema:
        return DYN
    if "const" in schema:
        return of_json(schema["const"], words=True)
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return one_of(of_json(value, words=True) for value in values)
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if isinstance(branches, list) and branches:
            return one_of(from_json_schema(branch, name, _depth + 1) for branch in branches)
    kind = schema.get("type")
    if isinstance(kind, list):
        return one_of(from_json_schema({**schema, "type": one}, name, _depth + 1) for one in kind)
    if kind == "array":
        return List(from_json_schema(schema.get("items"), "", _depth + 1))
    if kind == "object" or (kind is None and "properties" in schema):
        return _object(schema, name, _depth)
    return _SCALARS.get(kind, DYN) if isinstance(kind, str) else DYN


def _object(schema: Mapping[str, Any], name: str, depth: int) -> Type:
    properties = schema.get("properties")
    others = schema.get("additionalProperties", True)
    if not isinstance(properties, Mapping) or not properties:
        if others is False:
            return Record({}, False, name)
        return Map(from_json_schema(others, "", depth + 1))
    fields = {str(key): from_json_schema(value, "", depth + 1) for key, value in properties.items()}
    is_open = others is not False or "patternProperties" in schema
    return Record(fields, is_open, name)


def of_json(value: Any, name: str = "", words: bool = False) -> Type:
    """The type of a JSON value: maps are closed records. With ``words`` strings keep their value."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT if -(1 << 63) <= value < 1 << 63 else DOUBLE
    if isinstance(value, float):
        return DOUBLE
    if isinstance(value, str):
        return String((value,)) if words else STRING
    if isinstance(value, list):
        return List(one_of(of_json(item, "", words) for item in value))
    if isinstance(value, Mapping):
        return Record({str(key): of_json(item, "", words) for key, item in value.items()}, False, name)
    return DYN


def assignable(actual: Type, wanted: Type) -> bool:
    """Whether a value of type ``actual`` can be one of ``wanted``: false only where it never can.

    An integer is fine where a number is wanted; an alternative is enough.
    """
    if isinstance(actual, (Dyn, Var)) or isinstance(wanted, (Dyn, Var)):
        return True
    if isinstance(actual, OneOf):
        return any(assignable(option, wanted) for option in actual.options)
    if isinstance(wanted, OneOf):
        return any(assignable(actual, option) for option in wanted.options)
    if isinstance(wanted, Double):
        return isinstance(actual, (Double, Int, Uint))
    if isinstance(wanted, String) and isinstance(actual, String):
        if wanted.words is None or actual.words is None:
            return True
        return any(word in wanted.words for word in actual.words)
    if isinstance(wanted, List) and isinstance(actual, List):
        return assignable(actual.item, wanted.item)
    if isinstance(wanted, Optional) and isinstance(actual, Optional):
        return assignable(actual.of, wanted.of)
    if isinstance(wanted, Map):
        if isinstance(actual, Record):
            return all(assignable(field, wanted.value) for field in actual.fields.values())
        return isinstance(actual, Map) and assignable(actual.value, wanted.value)
    if isinstance(wanted, Record):
        if isinstance(actual, Map):
            return True
        if not isinstance(actual, Record):
            return False
        return all(
            assignable(actual.fields[key], field) for key, field in wanted.fields.items() if key in actual.fields
        )
    return type(actual) is type(wanted)


def may_be_null(type: Type) -> bool:
    """Whether null is one of the alternatives; of ``Dyn`` nothing is said."""
    return any(isinstance(option, Null) for option in options(type))


def without_null(type: Type) -> Type:
    """The type after a test for null."""
    rest = [option for option in options(type) if not isinstance(option, Null)]
    return one_of(rest) if rest else type


def is_json(type: Type) -> bool:
    """Whether a value of the type can be JSON, at every depth; false only where it never is."""
    if isinstance(type, OneOf):
        return any(is_json(option) for option in type.options)
    if isinstance(type, List):
        return is_json(type.item)
    if isinstance(type, Map):
        return is_json(type.value) and isinstance(type.key, (String, Dyn, OneOf))
    if isinstance(type, Record):
        return all(is_json(field) for field in type.fields.values())
    return not isinstance(type, (Bytes, Duration, Timestamp, Optional, TypeOf))


def text_type_problem(type: Type, key: bool = False) -> str | None:
    """Why a value of the type can never stand in text; None where it can, or where it is not known.

    In text null is refused, and what is no JSON; in a ``key`` lists and maps too. The answer completes
    "the value is …, and".
    """
    if isinstance(type, OneOf):
        answers = [text_type_problem(option, key) for option in type.options]
        return None if None in answers else answers[0]
    if isinstance(type, Null):
        return "null cannot be written as text"
    if key and isinstance(type, (List, Map, Record)):
        return "a key is made of texts, numbers and booleans"
    if not is_json(type):
        return "it has no form as text"
    return None
