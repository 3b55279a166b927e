"""The functions and macros of CEL that the runtime has, as data: for checking, hover and completion.

Exactly what Google's runtime evaluates with its standard library and the optional, strings, math and
encoders extensions; where its checker and its evaluator disagree, the evaluator is right, since
expressions are evaluated unchecked.
"""

from __future__ import annotations

import msgspec

from interlock.analyzer.expressions.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    List,
    Map,
    OneOf,
    Optional,
    Type,
    Var,
    signature_name,
)


class Overload(msgspec.Struct, frozen=True):
    """One form of a function. ``receiver`` is the type before the dot of a method, else None.

    ``variadic``: the last argument may be repeated.
    """

    receiver: Type | None
    args: tuple[Type, ...]
    result: Type
    variadic: bool = False


class Function(msgspec.Struct, frozen=True):
    """A function by its full name (``size``, ``math.abs``) or a method by its own (``contains``)."""

    name: str
    overloads: tuple[Overload, ...]
    doc: str

    def signatures(self) -> tuple[str, ...]:
        """One text per overload: ``string.indexOf(string, int) -> int``."""
        return tuple(signature(self.name, overload) for overload in self.overloads)


class Macro(msgspec.Struct, frozen=True):
    """A macro: ``receiver`` tells whether it is called on a value."""

    name: str
    receiver: bool
    signatures: tuple[str, ...]
    doc: str


def signature(name: str, overload: Overload) -> str:
    """The overload as text."""
    args = ", ".join(signature_name(arg) for arg in overload.args) + (", …" if overload.variadic else "")
    owner = "" if overload.receiver is None else _owner(overload.receiver) + "."
    return f"{owner}{name}({args}) -> {signature_name(overload.result)}"


def _owner(type: Type) -> str:
    text = signature_name(type)
    return f"({text})" if "|" in text else text


_T = Var("T")
_SHORT: dict[str, Type] = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "bool": BOOL,
    "dyn": DYN,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "type": TYPE,
    "list": List(_T),
    "strings": List(STRING),
    "map": Map(DYN, DYN),
    "optional": Optional(_T),
    "optionals": List(Optional(_T)),
    "T": _T,
    "number": OneOf((INT, UINT, DOUBLE)),
    "numbers": List(OneOf((INT, UINT, DOUBLE))),
}

# name, forms ("[receiver.](arguments)result", several parted by ";"), documentation
_GLOBAL = (
    ("size", "(string)int;(bytes)int;(list)int;(map)int", "The length of a string, list, map or bytes."),
    ("bool", "(bool)bool;(string)bool", "Reads a boolean from a string such as `true`."),
    (
        "int",
        "(int)int;(uint)int;(double)int;(string)int;(bool)int;(timestamp)int",
        "Converts to an integer: a number is cut towards zero, a timestamp becomes Unix seconds.",
    ),
    ("uint", "(int)uint;(uint)uint;(double)uint;(string)uint", "Converts to an unsigned integer."),
    (
        "double",
        "(int)double;(uint)double;(double)double;(string)double",
        "Converts to a floating-point number.",
    ),
    (
        "string",
        "(int)string;(uint)string;(double)string;(string)string;(bytes)string;(bool)string;(timestamp)string;"
        "(duration)string",
        "Writes a scalar as text.",
    ),
    ("bytes", "(string)bytes;(bytes)bytes", "The UTF-8 bytes of a string."),
    (
        "timestamp",
        "(string)timestamp;(int)timestamp;(timestamp)timestamp",
        "A point in time from RFC 3339 text or Unix seconds.",
    ),
    ("duration", "(string)duration;(duration)duration", "A duration from text such as `1h30m`."),
    ("dyn", "(T)dyn", "The same value, its type forgotten."),
    ("type", "(T)type", "The type of a value, to compare with `int`, `string`, `list`…"),
    ("matches", "(string,string)bool", "Whether a regular expression (RE2) is found in the string."),
    ("math.greatest", "(number,number...)number;(numbers)number", "The greatest of several numbers."),
    ("math.least", "(number,number...)number;(numbers)number", "The least of several numbers."),
    ("math.ceil", "(double)double", "Rounds up."),
    ("math.floor", "(double)double", "Rounds down."),
    ("math.round", "(double)double", "Rounds to the nearest integer, halves away from zero."),
    ("math.trunc", "(double)double", "Cuts off the fraction."),
    ("math.abs", "(int)int;(uint)uint;(double)double", "The absolute value."),
    ("math.sign", "(int)int;(uint)uint;(double)double", "-1, 0 or 1."),
    ("math.sqrt", "(double)double;(int)double;(uint)double", "The square root."),
    ("math.isInf", "(double)bool", "Whether the number is infinite."),
    ("math.isNaN", "(double)bool", "Whether the value is not a number."),
    ("math.isFinite", "(double)bool", "Whether the number is neither infinite nor NaN."),
    ("math.bitAnd", "(int,int)int;(uint,uint)uint", "Bitwise and."),
    ("math.bitOr", "(int,int)int;(uint,uint)uint", "Bitwise or."),
    ("math.bitXor", "(int,int)int;(uint,uint)uint", "Bitwise exclusive or."),
    ("math.bitNot", "(int)int;(uint)uint", "Bitwise complement."),
    ("math.bitShiftLeft", "(int,int)int;(uint,int)uint", "Shifts the bits to the left."),
    ("math.bitShiftRight", "(int,int)int;(uint,int)uint", "Shifts the bits to the right."),
    ("base64.encode", "(bytes)string", "Bytes as base64 text; for a string: `base64.encode(bytes(s))`."),
    ("base64.decode", "(string)bytes", "The bytes that base64 text stands for."),
    ("strings.quote", "(string)string", "The string in quotes, special characters escaped."),
    ("optional.of", "(T)optional", "An optional value that is there."),
    ("optional.none", "()optional", "An optional value that is not there."),
    (
        "optional.ofNonZeroValue",
        "(T)optional",
        "An optional value, absent for null, zero, false and empty ones.",
    ),
    ("optional.unwrap", "(optionals)list", "The values of a list of optionals that are there."),
)
_TIME = "timestamp.()int;timestamp.(string)int"
_METHODS = (
    ("size", "string.()int;bytes.()int;list.()int;map.()int", "The length of a string, list, map or bytes."),
    ("contains", "string.(string)bool", "Whether the string contains another."),
    ("startsWith", "string.(string)bool", "Whether the string begins with another."),
    ("endsWith", "string.(string)bool", "Whether the string ends with another."),
    ("matches", "string.(string)bool", "Whether a regular expression (RE2) is found in the string."),
    ("charAt", "string.(int)string", "The character at a position, counted from 0."),
    ("indexOf", "string.(string)int;string.(string,int)int", "Where the other string first stands, or -1."),
    (
        "lastIndexOf",
        "string.(string)int;string.(string,int)int",
        "Where the other string last stands, or -1.",
    ),
    ("lowerAscii", "string.()string", "ASCII letters in lower case."),
    ("upperAscii", "string.()string", "ASCII letters in upper case."),
    (
        "replace",
        "string.(string,string)string;string.(string,string,int)string",
        "Replaces a text by another, at most so many times.",
    ),
    ("reverse", "string.()string", "The characters in reverse order."),
    ("split", "string.(string)strings;string.(string,int)strings", "The parts between separators."),
    (
        "join",
        "strings.()string;strings.(string)string",
        "The strings of a list in one, with a separator between.",
    ),
    ("substring", "string.(int)string;string.(int,int)string", "The part from a position, up to another."),
    ("trim", "string.()string", "Without blanks at both ends."),
    ("format", "string.(list)string", "Fills `%s`, `%d`, `%f`… from a list."),
    ("getFullYear", _TIME, "The year; in UTC, or in the named time zone."),
    ("getMonth", _TIME, "The month, January being 0."),
    ("getDate", _TIME, "The day of the month, from 1."),
    ("getDayOfMonth", _TIME, "The day of the month, from 0."),
    ("getDayOfWeek", _TIME, "The day of the week, Sunday being 0."),
    ("getDayOfYear", _TIME, "The day of the year, from 0."),
    ("getHours", _TIME + ";duration.()int", "The hour of the day, or the whole hours of a duration."),
    ("getMinutes", _TIME + ";duration.()int", "The minute of the hour, or the whole minutes of a duration."),
    (
        "getSeconds",
        _TIME + ";duration.()int",
        "The second of the minute, or the whole seconds of a duration.",
    ),
    ("getMilliseconds", _TIME + ";duration.()int", "The milliseconds of the second."),
    ("hasValue", "optional.()bool", "Whether the optional value is there."),
    ("value", "optional.()T", "The value; fails where it is not there."),
    ("orValue", "optional.(T)T", "The value, or the given one where it is not there."),
    ("or", "optional.(optional)optional", "This optional value, or the other where it is not there."),
    ("first", "list.()optional", "The first element, if there is one."),
    ("last", "list.()optional", "The last element, if there is one."),
    ("unwrapOpt", "optionals.()list", "The values of a list of optionals that are there."),
)
MACROS: dict[str, Macro] = {
    macro.name: macro
    for macro in (
        Macro("has", False, ("has(x.member) -> bool",), "Whether the member is there; fails where x is null."),
        Macro("all", True, ("list.all(x, bool) -> bool",), "Whether the condition holds for every element."),
        Macro("exists", True, ("list.exists(x, bool) -> bool",), "Whether the condition holds for an element."),
        Macro(
            "exists_one",
            True,
            ("list.exists_one(x, bool) -> bool",),
            "Whether it holds for exactly one element.",
        ),
        Macro("filter", True, ("list.filter(x, bool) -> list",), "The elements for which the condition holds."),
        Macro(
            "map",
            True,
            ("list.map(x, T) -> list(T)", "list.map(x, bool, T) -> list(T)"),
            "A new value for every element, or for those for which the condition holds.",
        ),
        Macro(
            "optMap",
            True,
            ("optional.optMap(x, T) -> optional(T)",),
            "A new value where the optional value is there.",
        ),
        Macro(
            "optFlatMap",
            True,
            ("optional.optFlatMap(x, optional(T)) -> optional(T)",),
            "Another optional value where this one is there.",
        ),
    )
}
"""Macros other than ``math.greatest`` and ``math.least``, which are listed with the functions."""


def _table(rows: tuple[tuple[str, str, str], ...]) -> dict[str, Function]:
    return {name: Function(name, tuple(map(_overload, forms.split(";"))), doc) for name, forms, doc in rows}


def _overload(form: str) -> Overload:
    head, _, rest = form.partition("(")
    inside, _, result = rest.partition(")")
    receiver = _SHORT[head.rstrip(".")] if head else None
    names = inside.split(",") if inside else []
    variadic = bool(names) and names[-1].endswith("...")
    if variadic:
        names = names[:-1]
    return Overload(receiver, tuple(_SHORT[name] for name in names), _SHORT[result], variadic)


FUNCTIONS: dict[str, Function] = _table(_GLOBAL)
"""Global functions by full name."""

METHODS: dict[str, Function] = _table(_METHODS)
"""Functions called on a value, by name."""

NAMESPACES: frozenset[str] = frozenset(name.split(".")[0] for name in FUNCTIONS if "." in name)
"""Words that stand before the dot of a global function: ``math``, ``base64``, ``optional``, ``strings``."""

TYPE_NAMES: frozenset[str] = frozenset(
    {"bool", "bytes", "double", "int", "list", "map", "null_type", "optional_type", "string", "type", "uint"}
)
"""Names that the runtime knows as types where they stand bare."""


METHOD_NAMES: tuple[str, ...] = (*METHODS, *(name for name, macro in MACROS.items() if macro.receiver))
"""Everything that can be called on a value."""

GLOBAL_NAMES: tuple[str, ...] = (*(name for name in FUNCTIONS if "." not in name), "has")
"""Everything that can be called bare."""
