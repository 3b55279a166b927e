"""The table of built-in blocks and the reading of manifests."""

import json
from importlib.resources import files

import jsonschema
import pytest

from interlock.analyzer.language.blocks import (
    BUILT_IN,
    BlockSpec,
    EffectsUnless,
    has_effects,
    load_manifest,
    manifest_row,
)

SCHEMA = json.loads((files("interlock.analyzer.language") / "blocks.schema.json").read_text("utf-8"))


def manifest(**blocks: object) -> str:
    return json.dumps({"version": 1, "blocks": blocks})


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_the_schemas_of_the_built_in_blocks_are_json_schema(name: str) -> None:
    spec = BUILT_IN[name]
    jsonschema.Draft202012Validator.check_schema(spec.params)
    if spec.result is not None:
        jsonschema.Draft202012Validator.check_schema(spec.result)


@pytest.mark.parametrize(
    ("params", "effects"),
    [
        ({}, False),
        (None, False),
        ({"method": "HEAD"}, False),
        ({"method": "POST"}, True),
        ({"method": "{inputs.method}"}, True),
    ],
)
def test_http_has_effects_by_its_method(params: dict[str, str] | None, effects: bool) -> None:
    assert has_effects(BUILT_IN["http"], params) is effects


def test_a_manifest_gives_back_what_it_was_made_from() -> None:
    spec = BlockSpec(
        name="image.resize",
        doc="Resizes.",
        params={"type": "object", "properties": {"mode": {"enum": ["a", "b"]}}, "required": ["mode"]},
        result={"type": "object"},
        effects=EffectsUnless("mode", ("a",), "a"),
        cost_units=3,
        secret_results=(("token",), ("auth", "*", "key")),
    )
    text = manifest(**{spec.name: manifest_row(spec)})
    jsonschema.validate(json.loads(text), SCHEMA)
    assert load_manifest(text) == ({spec.name: spec}, ())


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ([], "blocks.b"),
        ({"params": []}, "blocks.b.params"),
        ({"params": {"type": "array"}}, "blocks.b.params"),
        ({"params": {"type": "objekt"}}, "blocks.b.params.type"),
        ({"params": {"properties": {"x": 1}}}, "blocks.b.params.properties.x"),
        ({"result": {"items": {"enum": 3}}}, "blocks.b.result.items.enum"),
        ({"cost_units": 0}, "blocks.b.cost_units"),
        ({"cost_units": True}, "blocks.b.cost_units"),
        ({"effects": "yes"}, "blocks.b.effects"),
        ({"secret_results": "token"}, "blocks.b.secret_results"),
        ({"secret_results": ["a..b"]}, "blocks.b.secret_results"),
        ({"secret_results": [""]}, "blocks.b.secret_results"),
        ({"colour": "red"}, "blocks.b.colour"),
    ],
)
def test_a_wrong_block_is_named_and_the_others_stand(row: object, where: str) -> None:
    text = manifest(b=row, good={})
    blocks, problems = load_manifest(text)
    assert list(blocks) == ["good"]
    assert where in [problem.where for problem in problems]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(text), SCHEMA)


CLOSED = {"type": "object", "properties": {"token": {"type": "string"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("result", "path"),
    [
        (CLOSED, "tokn"),
        (CLOSED, "token.x"),
        ({"anyOf": [CLOSED, {"type": "null"}]}, "tokn"),
        ({"type": "array", "items": CLOSED}, "*.tokn"),
        ({"type": "array", "items": CLOSED}, "token"),
        ({"type": "array", "prefixItems": [CLOSED], "items": False}, "0.tokn"),
        ({"type": "string"}, "*"),
        ({"type": ["string", "null"]}, "x"),
        ({"type": "object", "additionalProperties": CLOSED}, "any.tokn"),
        ({"type": "object", "properties": {"a": False}, "additionalProperties": False}, "a"),
    ],
)
def test_a_secret_that_the_result_cannot_hold_is_named(result: object, path: str) -> None:
    _, problems = load_manifest(manifest(b={"result": result, "secret_results": [path]}))
    assert [problem.where for problem in problems] == ["blocks.b.secret_results"]
    assert f'names "{path}", which its result does not have' in problems[0].message


@pytest.mark.parametrize(
    ("result", "path"),
    [
        (CLOSED, "token"),
        (CLOSED, "*"),
        ({"anyOf": [CLOSED, {"type": "null"}]}, "token"),
        ({"oneOf": [{"type": "null"}, CLOSED]}, "token"),
        ({"type": ["array", "object"], "items": CLOSED}, "*.token"),
        ({"type": "array"}, "0.anything"),
        ({"properties": {"a": {}}}, "b"),
        ({"properties": {"a": {}}}, "a.b"),
        ({"$ref": "#/a"}, "a"),
        ({"allOf": [CLOSED]}, "a"),
        ({}, "a"),
        (None, "a"),
    ],
)
def test_a_secret_that_the_result_may_hold_is_taken(result: object, path: str) -> None:
    blocks, problems = load_manifest(manifest(b={"result": result, "secret_results": [path]}))
    assert problems == ()
    assert blocks["b"].secret_results == (tuple(path.split(".")),)


@pytest.mark.parametrize(
    "result",
    [{"type": 5}, {"type": [5]}, {"type": "array", "prefixItems": 5}, {"properties": 5}, {"anyOf": 5}, {"items": 5}],
)
def test_a_broken_schema_does_not_keep_its_secrets_from_being_judged(result: object) -> None:
    load_manifest(manifest(b={"result": result, "secret_results": ["a.b", "*", "0"]}))


def test_effects_go_by_a_param_that_there_is() -> None:
    effects = {"param": "tokn", "values": ["a"], "default": "a"}
    _, problems = load_manifest(manifest(b={"params": CLOSED, "effects": effects}))
    assert [problem.message for problem in problems] == [
        '"effects" goes by the param "tokn", which it does not take; did you mean "token"?'
    ]


@pytest.mark.parametrize("name", ["http", "no spaces", "", "a..b", "x" * 129])
def test_a_wrong_name_of_a_block_is_refused(name: str) -> None:
    blocks, problems = load_manifest(manifest(**{name: {}}))
    assert not blocks
    assert len(problems) == 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": 1, "blocks": {name: {}}}, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        b"\xff\xfe",
        '"\ud800"',
        "[" * 100_000,
        '{"version": 2, "blocks": {}}',
        '{"version": true, "blocks": {}}',
        '{"version": 1}',
        '{"version": 1, "blocks": []}',
        " " * (5 * 1024 * 1024),
        manifest(b={"params": json.loads('{"items":' * 60 + "{}" + "}" * 60)}),
    ],
    ids=range(12),
)
def test_a_broken_manifest_gives_one_problem(text: str | bytes) -> None:
    blocks, problems = load_manifest(text)
    assert not blocks
    assert len(problems) == 1


def test_every_problem_of_a_manifest_is_told() -> None:
    _, problems = load_manifest('{"version": 1, "extra": 1, "blocks": {"a": 1, "b": {"doc": 2, "effects": 3}}}')
    assert [problem.where for problem in problems] == [
        "extra",
        "blocks.a",
        "blocks.b.doc",
        "blocks.b.effects",
    ]
