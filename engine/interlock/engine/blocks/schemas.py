"""From the types of a block's function to the JSON Schemas of its params and result."""

from __future__ import annotations

import copy
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from interlock.analyzer.language.blocks import MAX_SCHEMA_DEPTH, Schema
from interlock.engine.blocks.context import Context

_VALUES = frozenset({"default", "enum", "const", "examples"})
"""Words of a schema that hold values, in which nothing is a schema."""
_LEFT_OUT = frozenset({"title", "discriminator"})
"""Names of types, and references to them, which mean nothing once references are written out."""


class Signature(msgspec.Struct, frozen=True, eq=False):
    """How a function is called.

    ``params`` is the type that the params are converted to.  With ``whole`` the function takes that
    object as its parameter of this name, else its fields by name.  ``context`` names the parameter
    that takes the `Context`.
    """

    params: Any
    result: Any
    whole: str | None
    context: str | None


def read_signature(function: Callable[..., Any], name: str) -> Signature:
    """The types of a function; TypeError, with what to do, where they do not suffice."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        parameters = list(inspect.signature(function).parameters.values())
    except (NameError, TypeError, ValueError) as error:
        raise TypeError(f'Block "{name}": the types of its function cannot be read: {_in_one_line(error)}.') from None
    fields: list[Any] = []
    context: str | None = None
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f'Block "{name}": parameter "{parameter.name}" must be a named one, not * or /.')
        if parameter.name not in hints:
            raise TypeError(f'Block "{name}": parameter "{parameter.name}" needs a type.')
        hint = hints[parameter.name]
        if _is_context(hint):
            if context is not None:
                raise TypeError(f'Block "{name}": only one parameter can be the Context; "{context}" is one already.')
            context = parameter.name
        elif parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, hint, _default(parameter.default)))
    if "return" not in hints:
        raise TypeError(f'Block "{name}" needs the type of its result ("-> …"); write "-> Any" where it varies.')
    for known, what in (*((each[1], f'the type of "{each[0]}"') for each in fields), (hints["return"], "its result")):
        try:
            schema_of(known)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f'Block "{name}": {what} has no JSON Schema: {_in_one_line(error)}.') from None
    if len(fields) == 1 and fields[0][0] == "params" and len(fields[0]) == 2:
        return Signature(fields[0][1], hints["return"], "params", context)
    try:
        made = msgspec.defstruct("Params", fields, kw_only=True, forbid_unknown_fields=True)
        schema_of(made)
    except (TypeError, ValueError) as error:
        raise TypeError(f'Block "{name}": its parameters have no JSON Schema: {_in_one_line(error)}.') from None
    return Signature(made, hints["return"], None, context)


def _is_context(hint: Any) -> bool:
    """Whether a parameter takes the `Context`: alone, annotated, or where it may be None as well."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _is_context(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return [kind for kind in typing.get_args(hint) if kind is not type(None)] == [Context]
    return hint is Context


def _in_one_line(error: Exception) -> str:
    """Why a type cannot be used, in one line; advice for programs that make schemas themselves is left out."""
    return str(error).rpartition("\n")[2].rstrip(".")


def _default(value: Any) -> Any:
    """The default of a parameter as that of a field: new at each call where a block could change it."""
    if isinstance(value, list | dict | set) and value:
        return msgspec.field(default_factory=lambda: copy.deepcopy(value))
    return value


def schema_of(type_: Any, *, exact: bool = False) -> Schema:
    """The JSON Schema of a type, references written out; ``{}`` for what may be anything.

    With ``exact`` a `TypedDict`, dataclass or struct has its own fields and no others, at every level:
    so it is with results, which are given the form of their type.  What is taken may hold more where
    the type says nothing against it.
    """
    made = msgspec.json.schema(type_)
    definitions = made.pop("$defs", {})
    if exact:
        # All that is defined as an object comes from a class with fields; a dict is written in place.
        for definition in definitions.values():
            if definition.get("type") == "object":
                definition.setdefault("additionalProperties", False)
    inlined = _inline(made, definitions, (), 1)
    return inlined if isinstance(inlined, dict) else {}


def _inline(part: Any, definitions: dict[str, Any], inside: tuple[str, ...], depth: int) -> Any:
    """The schema with each reference replaced; a type inside itself may be anything there."""
    if isinstance(part, list):
        return [_inline(item, definitions, inside, depth) for item in part]
    if not isinstance(part, dict):
        return part
    if depth > MAX_SCHEMA_DEPTH - 2:
        return {}
    target = part.get("$ref")
    if isinstance(target, str):
        name = target.rsplit("/", 1)[-1]
        beside = {word: item for word, item in part.items() if word not in ("$ref", *_LEFT_OUT)}
        found = {} if name in inside else _inline(definitions[name], definitions, (*inside, name), depth)
        return found | beside
    made: dict[str, Any] = {}
    for word, item in part.items():
        if word == "properties":
            made[word] = {name: _inline(inner, definitions, inside, depth + 1) for name, inner in item.items()}
        elif word in _VALUES:
            made[word] = item
        elif word not in _LEFT_OUT:
            made[word] = _inline(item, definitions, inside, depth + 1)
    return made


def result_schema(type_: Any) -> Schema | None:
    """The schema of a result, None where nothing is known of it."""
    schema = {"type": "null"} if type_ is type(None) else schema_of(type_, exact=True)
    return schema or None
