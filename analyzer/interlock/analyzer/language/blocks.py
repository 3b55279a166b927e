"""What the analyzer knows of blocks: the built-in ones as a table, a host's from its manifest (5.1).

One row says for a block what it takes, what it gives, what it costs, whether it acts on the
outside, and which of its results are secret.  The engine's blocks are held against this table by
its tests.  Running a block, and checking values against a schema, is left to others.

Schemas are JSON Schema 2020-12; the words that the rules understand are ``type``, ``enum``,
``const``, ``properties``, ``required``, ``additionalProperties``, ``items``, ``prefixItems``, ``anyOf``,
``default``, ``description``, ``minimum``, ``maximum``, ``exclusiveMinimum``, ``exclusiveMaximum``,
``minLength``, ``maxLength``, ``minItems``, ``maxItems``, ``pattern``; any other word is kept and says
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

if TYPE_CHECKING:
    from interlock.analyzer.model.values import MapValue

Schema: TypeAlias = dict[str, Any]

MAX_MANIFEST_BYTES = 4 * 1024 * 1024
MAX_BLOCKS = 10_000
MAX_SCHEMA_DEPTH = 32
BLOCK_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[.-][A-Za-z0-9_]+)*", re.ASCII)
PYTHON_CALL = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"


class EffectsUnless(msgspec.Struct, frozen=True):
    """Effects that depend on one parameter: none where it is one of ``values``.

    ``default`` is what the parameter counts as where it is absent.  A parameter that is not known
    before the run counts as having effects.
    """

    param: str
    values: tuple[str, ...]
    default: str


class BlockSpec(msgspec.Struct, frozen=True):
    """One block.  ``result`` is None where nothing is known of what it gives.

    ``secret_results`` are paths into the result; ``*`` stands for any key or item, and the empty
    path for the whole result.
    """

    name: str
    doc: str
    params: Schema
    result: Schema | None = None
    effects: bool | EffectsUnless = True
    cost_units: int = 1
    secret_results: tuple[tuple[str, ...], ...] = ()
    built_in: bool = False


class ManifestProblem(msgspec.Struct, frozen=True):
    """What is wrong with a manifest: where in it (``blocks.fetch.params``), and its byte if known."""

    message: str
    where: str = ""
    offset: int | None = None


def _object(required: tuple[str, ...] = (), extra: bool | Schema = False, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": extra}
    if required:
        schema["required"] = list(required)
    return schema


def _field(doc: str, **schema: Any) -> Schema:
    return {**schema, "description": doc}


_SCALAR: Schema = {"type": ["string", "number", "boolean"]}
_TEXT: Schema = {"type": "string"}

_HTTP_PARAMS = _object(
    required=("url",),
    url=_field("The address, `http://` or `https://`.", type="string", minLength=1),
    method=_field(
        "The method of the request.",
        type="string",
        enum=["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"],
        default="GET",
    ),
    query=_field(
        "Parameters added to the address; a list repeats its name.",
        type="object",
        additionalProperties={"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]},
    ),
    headers=_field("Headers of the request.", type="object", additionalProperties=_SCALAR),
    json=_field("The body as JSON; any value. Not together with `body`."),
    body=_field("The body as text. Not together with `json`.", type="string"),
    expect=_field(
        "The statuses that count as success; without it 200 to 299.",
        type="array",
        items={"type": "integer", "minimum": 100, "maximum": 599},
        minItems=1,
    ),
    follow=_field("Whether redirects are followed, at most 5.", type="boolean", default=False),
    max_response_bytes=_field(
        "The largest response body that is read; a larger one fails the block.",
        type="integer",
        minimum=1,
        default=1_048_576,
    ),
) | {"not": {"required": ["json", "body"]}}

_HTTP_RESULT = _object(
    required=("status", "headers", "text", "json", "url"),
    status=_field("The status of the response.", type="integer"),
    headers=_field("The headers of the response, names in lower case.", type="object", additionalProperties=_TEXT),
    text=_field("The body as text.", type="string"),
    json=_field("The body as JSON; null where it is not JSON."),
    url=_field("The address that answered.", type="string"),
)

_SHELL_PARAMS = _object(
    required=("command",),
    command=_field(
        "What to run: a text for the shell, or a program and its arguments.",
        anyOf=[
            {"type": "string", "minLength": 1},
            {"type": "array", "items": _SCALAR, "minItems": 1},
        ],
    ),
    env=_field("Variables added to the environment.", type="object", additionalProperties=_SCALAR),
    cwd=_field("The folder to run in.", type="string"),
    stdin=_field("The text that it reads.", type="string"),
)

_SHELL_RESULT = _object(
    required=("exit_code", "stdout", "stderr", "json"),
    exit_code=_field("Its exit code; another than 0 fails the block.", type="integer"),
    stdout=_field("What it wrote to standard output.", type="string"),
    stderr=_field("What it wrote to standard error.", type="string"),
    json=_field("Standard output as JSON; null where it is not JSON."),
)

_BUILT_IN = (
    BlockSpec(
        name="http",
        doc="Sends one HTTP request.",
        params=_HTTP_PARAMS,
        result=_HTTP_RESULT,
        effects=EffectsUnless("method", ("GET", "HEAD", "OPTIONS"), "GET"),
        built_in=True,
    ),
    BlockSpec(
        name="set",
        doc="Gives its params as its result.",
        params={"type": "object"},
        result={"type": "object"},
        effects=False,
        built_in=True,
    ),
    BlockSpec(
        name="log",
        doc="Writes a line to the log of the worker that does the step; it is no event of the run.",
        params=_object(
            required=("message",),
            message=_field("What to write; any value, written as text."),
            level=_field(
                "How grave it is.",
                type="string",
                enum=["debug", "info", "warning", "error"],
                default="info",
            ),
        ),
        result=_object(),
        effects=False,
        built_in=True,
    ),
    BlockSpec(
        name="fail",
        doc="Fails the step.",
        params=_object(
            required=("message",),
            message=_field("What went wrong; any value, written as text."),
            code=_field(
                "The error code of the step.",
                type="string",
                pattern="^[A-Za-z_][A-Za-z0-9_-]*$",
                default="failed",
            ),
        ),
        result=_object(),
        effects=False,
        built_in=True,
    ),
    BlockSpec(
        name="shell",
        doc="Runs a command; refused unless the host allows `shell`.",
        params=_SHELL_PARAMS,
        result=_SHELL_RESULT,
        effects=True,
        built_in=True,
    ),
    BlockSpec(
        name="python",
        doc="Calls a Python function in a process of its own; refused unless the host allows `python`.",
        params=_object(
            required=("call",),
            call=_field("The function, as `module:function`.", type="string", pattern=PYTHON_CALL),
            args=_field("Its arguments: a list by position, or a mapping by name.", type=["array", "object"]),
        ),
        result=None,
        effects=True,
        built_in=True,
    ),
)

BUILT_IN: dict[str, BlockSpec] = {spec.name: spec for spec in _BUILT_IN}

# Blocks that act only where the host has allowed them by name.
NEEDS_PERMISSION = frozenset({"shell", "python"})


def has_effects(spec: BlockSpec, params: MapValue | Mapping[str, Any] | None) -> bool:
    """Whether a call acts on the outside, as far as its literal params tell.

    ``params`` is the model's map, or a plain mapping whose templates are their text; a parameter
    given by a template counts as an effect (section 6.4).
    """
    effects = spec.effects
    if isinstance(effects, bool):
        return effects
    value = params.get(effects.param) if params is not None else None
    if value is None:
        return effects.default not in effects.values
    # A literal of the model carries its datum; a template or a plain value is judged as it is.
    return getattr(value, "data", value) not in effects.values


# --- manifests ---------------------------------------------------------------------------------

_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_FIELDS = ("doc", "params", "result", "effects", "cost_units", "secret_results")


class _Reader:
    """Reads one manifest, gathering every problem instead of stopping at the first."""

    def __init__(self) -> None:
        self.problems: list[ManifestProblem] = []

    def say(self, where: str, message: str) -> None:
        self.problems.append(ManifestProblem(message, where))

    def blocks(self, data: object) -> dict[str, BlockSpec]:
        if not isinstance(data, dict):
            self.say("", 'A manifest is a JSON object with "version" and "blocks"; this is not an object.')
            return {}
        for name in data:
            if name not in ("$schema", "version", "blocks"):
                self.say(name, f'"{name}" is not a field of a manifest; remove it.')
        if data.get("version") != 1 or isinstance(data.get("version"), bool):
            self.say("version", 'This tool reads manifests of "version": 1; write that, or export it again.')
            return {}
        blocks = data.get("blocks")
        if not isinstance(blocks, dict):
            self.say("blocks", '"blocks" must be an object from block names to their descriptions.')
            return {}
        if len(blocks) > MAX_BLOCKS:
            self.say("blocks", f"A manifest may describe at most {MAX_BLOCKS:,} blocks; this has {len(blocks):,}.")
            return {}
        found: dict[str, BlockSpec] = {}
        for name, row in blocks.items():
            before = len(self.problems)
            spec = self.block(name, row)
            if spec is not None and len(self.problems) == before:
                found[name] = spec
        return found

    def block(self, name: str, row: object) -> BlockSpec | None:
        where = f"blocks.{name}"
        if len(name) > 128 or not BLOCK_NAME.fullmatch(name):
            self.say(
                where,
                f'"{name[:140]}" is not a block name: letters, digits and "_", parts joined by "." or "-".',
            )
        if name in BUILT_IN:
            self.say(where, f'"{name}" is a built-in block and cannot be described again; choose another name.')
        if not isinstance(row, dict):
            self.say(where, f'The description of block "{name}" must be an object.')
            return None
        for field in row:
            if field not in _FIELDS:
                self.say(
                    f"{where}.{field}",
                    f'"{field}" is not a field of a block; there are {", ".join(_FIELDS)}.',
                )
        doc = row.get("doc", "")
        if not isinstance(doc, str):
            self.say(f"{where}.doc", '"doc" must be text.')
        cost = row.get("cost_units", 1)
        if not isinstance(cost, int) or isinstance(cost, bool) or cost < 1:
            self.say(f"{where}.cost_units", '"cost_units" must be a whole number of at least 1.')
        params = self.schema(f"{where}.params", row.get("params", {"type": "object"}))
        if params is not None and params.get("type", "object") != "object":
            self.say(f"{where}.params", 'The schema of "params" must have "type": "object".')
        given = row.get("result")
        result = None if given is None else self.schema(f"{where}.result", given)
        effects = self.effects(f"{where}.effects", row.get("effects", True), params)
        secrets = self.secrets(f"{where}.secret_results", row.get("secret_results", []), result)
        return BlockSpec(str(name), str(doc), params or {}, result, effects, cost, secrets)

    def effects(self, where: str, value: object, params: Schema | None) -> bool | EffectsUnless:
        if isinstance(value, bool):
            return value
        try:
            found = msgspec.convert(value, EffectsUnless)
        except msgspec.ValidationError:
            self.say(
                where,
                '"effects" must be true, false, or {"param": NAME, "values": [TEXT…], "default": TEXT}.',
            )
            return True
        known = _astray(params, (found.param,))
        if known is not None:
            told = _instead(found.param, known)
            self.say(where, f'"effects" goes by the param "{found.param}", which it does not take{told}')
        return found

    def secrets(self, where: str, value: object, result: Schema | None) -> tuple[tuple[str, ...], ...]:
        if value is True:
            return ((),)
        if not isinstance(value, list) or not all(isinstance(path, str) and all(path.split(".")) for path in value):
            self.say(where, '"secret_results" must be true, or a list of paths such as "token" or "auth.key".')
            return ()
        paths = tuple(tuple(path.split(".")) for path in value)
        for text, path in zip(value, paths, strict=True):
            known = _astray(result, path)
            if known is not None:
                told = _instead(text, known)
                self.say(where, f'"secret_results" names "{text}", which its result does not have{told}')
        return paths

    def schema(self, where: str, value: object) -> Schema | None:
        """The schema if it is one; otherwise says what is wrong with it."""
        if not isinstance(value, dict):
            self.say(where, "A schema must be a JSON object.")
            return None
        stack: list[tuple[str, dict[str, Any], int]] = [(where, value, 1)]
        while stack:
            at, schema, depth = stack.pop()
            if depth > MAX_SCHEMA_DEPTH:
                self.say(at, f"A schema may be nested at most {MAX_SCHEMA_DEPTH} deep.")
                return None
            stack.extend((*part, depth + 1) for part in self.words(at, schema))
        return value

    def words(self, at: str, schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Checks the words of one schema; the schemas inside it are returned."""
        inner: list[tuple[str, Any]] = []
        types = schema.get("type", [])
        for word in [types] if isinstance(types, str) else types if isinstance(types, list) else [types]:
            if not isinstance(word, str) or word not in _TYPES:
                self.say(f"{at}.type", f'"type" must name one or more of {", ".join(sorted(_TYPES))}.')
        properties = schema.get("properties", {})
        if isinstance(properties, dict):
            inner += [(f"{at}.properties.{name}", part) for name, part in properties.items()]
        else:
            self.say(f"{at}.properties", '"properties" must be an object of schemas.')
        required = schema.get("required", [])
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            self.say(f"{at}.required", '"required" must be a list of names.')
        if not isinstance(schema.get("enum", []), list):
            self.say(f"{at}.enum", '"enum" must be a list of values.')
        for word in ("items", "additionalProperties"):
            if not isinstance(schema.get(word, True), bool):
                inner.append((f"{at}.{word}", schema[word]))
        for word in ("anyOf", "oneOf", "allOf"):
            parts = schema.get(word, [])
            if isinstance(parts, list):
                inner += [(f"{at}.{word}.{number}", part) for number, part in enumerate(parts)]
            else:
                self.say(f"{at}.{word}", f'"{word}" must be a list of schemas.')
        return [(place, part) for place, part in inner if self.is_schema(place, part)]

    def is_schema(self, at: str, part: object) -> bool:
        if isinstance(part, bool):
            return False
        if not isinstance(part, dict):
            self.say(at, "A schema must be a JSON object.")
            return False
        return True


def _astray(schema: object, path: tuple[str, ...]) -> list[str] | None:
    """None where a path may lead somewhere in the values of a schema; else the names that it could go on with."""
    if schema is False:
        return []
    if not path or not isinstance(schema, dict) or "$ref" in schema or "allOf" in schema:
        return None
    for word in ("anyOf", "oneOf"):
        options = schema.get(word)
        if isinstance(options, list) and options:
            return _best(_astray(option, path) for option in options)
    kinds = schema.get("type", "object" if "properties" in schema else [])
    kinds = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    ways: list[list[str] | None] = [] if kinds else [None]
    first, rest = path[0], path[1:]
    if "object" in kinds:
        names = schema.get("properties")
        names = names if isinstance(names, dict) else {}
        other = schema.get("additionalProperties", True)
        if first in names:
            ways.append(_astray(names[first], rest))
        elif first == "*":
            ways += [_astray(inner, rest) for inner in (*names.values(), other)]
        else:
            ways.append(sorted(names) if other is False else _astray(other, rest))
    if "array" in kinds and (first == "*" or first.isdecimal()):
        front = schema.get("prefixItems")
        items = [*(front if isinstance(front, list) else ()), schema.get("items", True)]
        ways += [_astray(inner, rest) for inner in items]
    return _best(ways)


def _best(ways: Iterable[list[str] | None]) -> list[str] | None:
    """Of several alternatives the one that leads somewhere, else the one with most names to offer."""
    found = list(ways)
    return None if None in found else max((way for way in found if way is not None), key=len, default=[])


def _instead(path: str, known: list[str]) -> str:
    """The end of the sentence about a path that leads nowhere: what stands where it went astray."""
    from interlock.analyzer.language.nearest import nearest

    near = next((near for part in path.split(".") if (near := nearest(part, known)) is not None), None)
    if near is not None:
        return f'; did you mean "{near}"?'
    return f"; there are {', '.join(known[:12])}{' …' if len(known) > 12 else ''}." if known else "."


def read_row(name: str, row: Mapping[str, Any]) -> tuple[BlockSpec | None, tuple[ManifestProblem, ...]]:
    """One block of a manifest by its name and its description, and what `load_manifest` would say of it."""
    reader = _Reader()
    spec = reader.block(name, dict(row))
    return spec, tuple(reader.problems)


def load_manifest(text: str | bytes) -> tuple[dict[str, BlockSpec], tuple[ManifestProblem, ...]]:
    """The blocks that a manifest describes, and what is wrong with it.

    A block with a problem is left out; the others stand.  Never raises, whatever the text is.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > MAX_MANIFEST_BYTES:
        size = MAX_MANIFEST_BYTES // (1024 * 1024)
        return {}, (ManifestProblem(f"The manifest is larger than {size} MiB and was not read."),)
    try:
        data = msgspec.json.decode(raw.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        return {}, (ManifestProblem("The manifest is nested too deeply to be read."),)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        found = re.search(r"\(byte (\d+)\)", str(error))
        at = int(found.group(1)) if found else None
        return {}, (ManifestProblem("The manifest is not JSON; export it again.", "", at),)
    reader = _Reader()
    return reader.blocks(data), tuple(reader.problems)


def manifest_row(spec: BlockSpec) -> dict[str, Any]:
    """The description of a block as a manifest holds it; ``load_manifest`` gives the block back."""
    row: dict[str, Any] = {"doc": spec.doc, "params": spec.params, "result": spec.result}
    effects = spec.effects
    row["effects"] = effects if isinstance(effects, bool) else msgspec.to_builtins(effects)
    row["cost_units"] = spec.cost_units
    if spec.secret_results == ((),):
        row["secret_results"] = True
    else:
        row["secret_results"] = [".".join(path) for path in spec.secret_results]
    return row
