"""From a workflow file on the command line to a definition: its workspace, its manifests, its inputs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from interlock.analyzer.config import ConfigError
from interlock.analyzer.language.blocks import BlockSpec, load_manifest
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.model.nodes import Workflow
from interlock.analyzer.source.read import Unreadable, read_source
from interlock.analyzer.source.text import SourceText
from interlock.analyzer.workspace import MissingPath, Workspace, shown_path, workspaces
from interlock.engine.blocks.registry import Registry
from interlock.engine.client import Engine
from interlock.engine.definition import Stored, load_definition
from interlock.engine.errors import CallerError
from interlock.engine.project import Project
from interlock.engine.values import NotJson, canonical, json_value, load
from interlock.server.cli.engine_commands import Options, read_data
from interlock.server.cli.main import UsageError


def definition_of(options: Options, registry: Registry) -> Stored:
    """The definition that ``FILE`` (and ``--workflow``) stands for.

    Workflows that it starts are looked for in the file, then in its workspace.  `CallerError`
    where it is refused.
    """
    path = shown_path(os.path.abspath(options.file), os.getcwd())
    source = read_source(path)
    if isinstance(source, Unreadable):
        raise UsageError(f'"{options.file}" cannot be read: {source.reason}')
    try:
        around = workspaces([options.file])
    except (MissingPath, ConfigError) as error:
        raise UsageError(str(error)) from None
    project = Project([source], {**_manifests(around), **registry.specs})
    if project.missing():
        for other in _others(around, path):
            project.add(other)
    name = options.workflow or project.main(path)
    definition = project.definition(name)
    _check_blocks(definition, registry)
    return definition


def _others(around: list[Workspace], path: str) -> Iterator[SourceText]:
    for workspace in around:
        for member in workspace.members:
            if member.shown != path:
                source = read_source(member.shown)
                if not isinstance(source, Unreadable):
                    yield source


def _manifests(around: list[Workspace]) -> dict[str, BlockSpec]:
    found: dict[str, BlockSpec] = {}
    for workspace in around:
        for path in workspace.config.manifests:
            blocks, problems = load_manifest(read_data(path, "the manifest"))
            if problems:
                raise UsageError(f'the manifest "{path}": {problems[0].where or "it"}: {problems[0].message}')
            found.update(blocks)
    return found


def _check_blocks(definition: Stored, registry: Registry) -> None:
    from interlock.engine.client import blocks_of

    for each in (definition, *definition.closure.values()):
        for name in sorted(blocks_of(each)):
            if not registry.may_run(name):
                raise CallerError(
                    "not-allowed", f'"{each.name}" uses the block "{name}"; give --allow {name} to let it act.'
                )


def check_code(definition: Stored, registry: Registry) -> None:
    """`UsageError` where a block has a description and no code here, so that no run could go on."""
    from interlock.engine.client import blocks_of

    for each in (definition, *definition.closure.values()):
        for name in sorted(blocks_of(each)):
            if registry.get(name) is None:
                raise UsageError(f'there is no code for the block "{name}" here; name its module with --blocks')


def secrets_of(engine: Engine, run: str) -> list[str]:
    """The secrets that a stored run needs, of the workflows that it can start as well."""
    return _declared(stored_definition(engine, run))


def stored_definition(engine: Engine, run: str) -> Stored:
    """The definition that a run was dispatched with."""
    export = engine.export(run)
    closure = {each: canonical(value) for each, value in export.closure.items()}
    return load_definition(canonical(export.definition), closure)


def _declared(definition: Stored) -> list[str]:
    every = (definition, *definition.closure.values())
    return list(dict.fromkeys(secret.name for each in every for secret in each.workflow.secrets))


def check_secrets(definition: Stored, given: dict[str, str], *, others: bool = False) -> None:
    """`UsageError` where a declared secret is not given, or, unless for ``others`` too, one is given in vain."""
    declared = _declared(definition)
    for name in given:
        if name not in declared and not others:
            near = nearest(name, declared)
            hint = f'did you mean "{near}"?' if near else "leave it out, or declare it under secrets"
            raise UsageError(f'"{definition.name}" declares no secret "{name}"; {hint}')
    for each in (definition, *definition.closure.values()):
        for secret in each.workflow.secrets:
            if secret.name not in given:
                raise UsageError(
                    f'"{each.name}" needs the secret "{secret.name}"; give it with --secret {secret.name}[=ENV]'
                )


def inputs_of(options: Options, workflow: Workflow) -> dict[str, Any]:
    """The inputs of ``--inputs`` and ``--input``, the latter read by their declared types."""
    inputs: dict[str, Any] = {}
    if options.inputs is not None:
        try:
            loaded = load(read_data(options.inputs, "--inputs"))
        except NotJson as error:
            raise UsageError(f"--inputs: {error}") from None
        if not isinstance(loaded, dict):
            raise UsageError("--inputs: the file must hold a JSON object of inputs by name")
        inputs.update(loaded)
    for item in options.input:
        name, sign, text = item.partition("=")
        if not sign or not name:
            raise UsageError(f'--input: "{item}" is not of the form NAME=VALUE')
        declared = workflow.inputs.get(name)
        inputs[name] = _value(name, text, declared.type if declared is not None else "any")
    return inputs


def _value(name: str, text: str, type_name: str) -> Any:
    if type_name == "string":
        return text
    try:
        value = json_value(json.loads(text), "it")
    except (ValueError, RecursionError):
        if type_name == "any":
            return text
        raise UsageError(
            f'--input {name}: "{text}" is no JSON value, and the input takes {_TAKES[type_name]}'
        ) from None
    return value


_TAKES = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a JSON list",
    "object": "a JSON object",
}
