"""Types from schemas and values, joining, and what can stand where."""

from __future__ import annotations

import pytest

from interlock.analyzer.expressions import types as t


def test_schema_of_an_object() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "tone": {"enum": ["plain", "formal"]}},
        "additionalProperties": False,
    }
    assert t.from_json_schema(schema, "the inputs") == t.Record(
        {"n": t.INT, "tone": t.String(("plain", "formal"))}, False, "the inputs"
    )


@pytest.mark.parametrize(
    ("schema", "type"),
    [
        ({"type": "number"}, t.DOUBLE),
        ({"type": "array", "items": {"type": "string"}}, t.List(t.STRING)),
        ({"type": "array"}, t.List(t.DYN)),
        ({"type": "object"}, t.Map(t.DYN)),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, t.Map(t.BOOL)),
        ({"type": ["string", "null"]}, t.OneOf((t.STRING, t.NULL))),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, t.OneOf((t.INT, t.NULL))),
        ({"properties": {"a": {"type": "string"}}}, t.Record({"a": t.STRING}, True)),
        ({"const": "x"}, t.String(("x",))),
        ({"enum": [1, 2]}, t.INT),
        ({}, t.DYN),
        (True, t.DYN),
        ({"$ref": "#/x"}, t.DYN),
        ({"anyOf": [{"type": "integer"}, {}]}, t.DYN),
    ],
)
def test_schemas(schema: object, type: t.Type) -> None:
    assert t.from_json_schema(schema) == type


def test_a_schema_without_end_is_cut_off() -> None:
    schema: dict[str, object] = {"type": "array"}
    schema["items"] = schema
    type = t.from_json_schema(schema)
    for _ in range(30):
        assert isinstance(type, t.List)
        type = type.item


def test_values() -> None:
    assert t.of_json({"a": 1, "b": [1, 2.0], "c": None, "d": []}) == t.Record(
        {"a": t.INT, "b": t.List(t.OneOf((t.INT, t.DOUBLE))), "c": t.NULL, "d": t.List(t.DYN)}
    )
    assert t.of_json(2**63) == t.DOUBLE
    assert t.of_json(True) == t.BOOL


def test_joining() -> None:
    assert t.join(t.INT, t.INT) == t.INT
    assert t.join(t.INT, t.DYN) == t.DYN
    assert t.join(t.String(("a",)), t.String(("b", "a"))) == t.String(("a", "b"))
    assert t.join(t.String(("a",)), t.STRING) == t.STRING
    assert t.join(t.List(t.INT), t.List(t.STRING)) == t.List(t.OneOf((t.INT, t.STRING)))
    assert t.join(t.OneOf((t.NULL, t.INT)), t.STRING) == t.OneOf((t.NULL, t.INT, t.STRING))
    assert t.join(t.Record({"a": t.INT}), t.Record({"a": t.STRING})) == t.Record({"a": t.OneOf((t.INT, t.STRING))})
    assert t.join(t.Record({"a": t.INT}), t.Record({"a": t.INT, "b": t.INT})) == t.Record({"a": t.INT}, True)


@pytest.mark.parametrize(
    ("type", "words"),
    [
        (t.STRING, "a string"),
        (t.INT, "an integer"),
        (t.List(t.STRING), "a list of strings"),
        (t.List(t.DYN), "a list"),
        (t.List(t.List(t.INT)), "a list of lists of integers"),
        (t.Map(t.BOOL), "a map of booleans"),
        (t.Record({}), "a map"),
        (t.OneOf((t.NULL, t.STRING)), "null or a string"),
        (t.List(t.OneOf((t.INT, t.DOUBLE))), "a list of integers or floating-point numbers"),
        (t.Optional(t.INT), "an optional value (an integer)"),
    ],
)
def test_descriptions(type: t.Type, words: str) -> None:
    assert t.describe(type) == words


@pytest.mark.parametrize(
    ("actual", "wanted", "fits"),
    [
        (t.INT, t.DOUBLE, True),
        (t.DOUBLE, t.INT, False),
        (t.DYN, t.INT, True),
        (t.OneOf((t.NULL, t.STRING)), t.STRING, True),
        (t.OneOf((t.NULL, t.INT)), t.STRING, False),
        (t.STRING, t.String(("a",)), True),
        (t.String(("b",)), t.String(("a",)), False),
        (t.List(t.INT), t.List(t.STRING), False),
        (t.List(t.DYN), t.List(t.STRING), True),
        (t.Record({"a": t.INT}), t.Map(t.STRING), False),
        (t.Record({"a": t.INT}), t.Record({"a": t.STRING}), False),
        (t.Map(t.INT), t.Record({"a": t.STRING}), True),
        (t.NULL, t.Record({}), False),
    ],
)
def test_assignable(actual: t.Type, wanted: t.Type, fits: bool) -> None:
    assert t.assignable(actual, wanted) is fits


def test_text_and_json() -> None:
    assert t.text_type_problem(t.NULL) is not None
    assert t.text_type_problem(t.OneOf((t.NULL, t.STRING))) is None
    assert t.text_type_problem(t.List(t.INT)) is None
    assert t.text_type_problem(t.List(t.INT), key=True) is not None
    assert t.text_type_problem(t.Optional(t.STRING)) is not None
    assert t.text_type_problem(t.DYN, key=True) is None
    assert not t.is_json(t.BYTES)
    assert not t.is_json(t.Record({"a": t.List(t.DURATION)}))
    assert t.is_json(t.OneOf((t.BYTES, t.STRING)))
    assert t.may_be_null(t.OneOf((t.NULL, t.STRING)))
    assert not t.may_be_null(t.DYN)
    assert t.without_null(t.OneOf((t.NULL, t.STRING))) == t.STRING
