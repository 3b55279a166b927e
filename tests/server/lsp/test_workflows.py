"""What a client is told of the workflows of a file before it starts a run."""

from __future__ import annotations

from typing import Any

from client import Client
from documents import Opened

CALLER = """\
workflow: caller
inputs:
  count: {type: integer, default: 3}
  tone: {type: string, enum: [plain, formal]}
  pin: {type: string, secret: true, required: false}
secrets: [ZED]
steps:
  - id: call
    run_workflow: {workflow: called.from.here, inputs: {}, result_key: answer}
---
workflow: called.from.here
secrets: [ALPHA]
steps:
  - id: go
    block: shell
    params: {command: "true"}
    compensate: {block: log, params: {message: undone}}
"""


def asked(client: Client, uri: str) -> Any:
    return client.request("workspace/executeCommand", {"command": "interlock.workflows", "arguments": [uri]})


def test_the_workflows_of_a_file_with_their_inputs(shared: Client) -> None:
    caller, called = asked(shared, Opened(shared, CALLER).uri)
    assert [caller["name"], called["name"]] == ["caller", "called.from.here"]
    border, end = CALLER[: CALLER.index("---")].count("\n"), CALLER.count("\n")
    assert [(one["document"]["start"]["line"], one["document"]["end"]["line"]) for one in (caller, called)] == [
        (0, border),
        (border, end),
    ]
    assert caller["inputs"] == [
        {"name": "count", "type": "integer", "secret": False, "required": False, "default": 3},
        {"name": "tone", "type": "string", "secret": False, "required": True, "enum": ["plain", "formal"]},
        {"name": "pin", "type": "string", "secret": True, "required": False},
    ]
    assert called["range"] == {"start": {"line": 10, "character": 10}, "end": {"line": 10, "character": 26}}


def test_secrets_and_blocks_are_those_of_everything_that_a_run_can_start(shared: Client) -> None:
    caller, called = asked(shared, Opened(shared, CALLER).uri)
    assert caller["secrets"] == ["ALPHA", "ZED"]
    assert caller["blocks"] == called["blocks"] == ["log", "shell"]
    assert called["secrets"] == ["ALPHA"]


def test_a_file_that_is_no_workflow_file_has_none(shared: Client) -> None:
    assert asked(shared, "file:///nowhere/values.yaml") is None
