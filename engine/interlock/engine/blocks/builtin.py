"""The built-in blocks as code; what they take and give is said once, in the analyzer's table."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from interlock.analyzer.language.blocks import BUILT_IN, PYTHON_CALL
from interlock.engine.blocks.context import BlockFailed, Context, OwnFailure
from interlock.engine.blocks.http import HttpParams, send
from interlock.engine.blocks.process import ShellParams, run_command
from interlock.engine.blocks.registry import Block
from interlock.engine.blocks.schemas import Signature
from interlock.engine.ports import Json
from interlock.engine.values import as_text


def message_text(value: Json) -> str:
    """A message as text (section 3); `BlockFailed` ``null-in-text`` for null."""
    if value is None:
        raise BlockFailed("The message is null, which has no text.", effect="none", code="null-in-text")
    return as_text(value)


async def set_values(params: dict[str, Any]) -> dict[str, Any]:
    return params


class LogParams(msgspec.Struct, forbid_unknown_fields=True):
    message: Any
    level: Literal["debug", "info", "warning", "error"] = "info"


async def log(params: LogParams, context: Context) -> dict[str, Any]:
    context.log(message_text(params.message), params.level)
    return {}


class FailParams(msgspec.Struct, forbid_unknown_fields=True):
    message: Any
    code: Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_-]*$")] = "failed"


async def fail(params: FailParams) -> dict[str, Any]:
    raise OwnFailure(message_text(params.message), params.code)


class PythonParams(msgspec.Struct, forbid_unknown_fields=True):
    call: Annotated[str, Meta(pattern=PYTHON_CALL)]
    args: list[Any] | dict[str, Any] = []


async def python(params: PythonParams, context: Context) -> Any:
    from interlock.engine.blocks.children import Children

    children = context.services.get("children")
    if not isinstance(children, Children):
        raise BlockFailed("No child processes are at hand here.", effect="none", code="block-unavailable")
    module, name = params.call.split(":")
    return await children.call((module, name), params.args, None, context)


def _built_in(name: str, function: Any, params: Any, context: bool) -> Block:
    signature = Signature(params, Any, "params", "context" if context else None)
    return Block(BUILT_IN[name], signature, function, True)


BUILT_IN_BLOCKS = (
    _built_in("http", send, HttpParams, True),
    _built_in("set", set_values, dict[str, Any], False),
    _built_in("log", log, LogParams, True),
    _built_in("fail", fail, FailParams, False),
    _built_in("shell", run_command, ShellParams, True),
    _built_in("python", python, PythonParams, True),
)
