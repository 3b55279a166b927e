"""Runs one attempt of a block and says what became of it: params checked, result checked, effect told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec

from interlock.engine.blocks.children import Children
from interlock.engine.blocks.context import BlockFailed, Context, OwnFailure, as_failure
from interlock.engine.blocks.registry import Block, Registry
from interlock.engine.errors import RUN_CODES
from interlock.engine.ports import Effect, Failed, Json, Outcome, Success
from interlock.engine.secrets import texts_in
from interlock.engine.values import NotJson, json_value


def arguments(block: Block, params: Json, context: Context) -> dict[str, Any]:
    """The arguments of the block's function; `BlockFailed` ``bad-value`` where the params do not fit."""
    signature = block.signature
    try:
        made = msgspec.convert(params, signature.params, str_keys=True)
    except msgspec.ValidationError as error:
        raise BlockFailed(
            f'The params of block "{block.name}" do not fit: {_plainly(error)}.',
            effect="none",
            code="bad-value",
        ) from None
    given: dict[str, Any] = {}
    if signature.whole is not None:
        _hold_names(block, params)
        given[signature.whole] = made
    else:
        given = {name: getattr(made, name) for name in signature.params.__struct_fields__}
    if signature.context is not None:
        given[signature.context] = context
    return given


def _hold_names(block: Block, params: Json) -> None:
    """Refuse params that the block does not have, also where their type as a whole would pass over them."""
    schema = block.spec.params
    if schema.get("additionalProperties") is False and isinstance(params, dict):
        for name in params:
            if name not in schema["properties"]:
                raise BlockFailed(f'Block "{block.name}" has no parameter "{name}".', effect="none", code="bad-value")


def _plainly(error: Exception) -> str:
    return str(error).replace("Object ", "they ", 1).replace(" - at `$.", ' at "').replace("`", '"')


def converted_result(block: Block, result: Any) -> Json:
    """A block's result as JSON, in the form of its type; `BlockFailed` ``result-invalid`` where it does not fit.

    The form is what the manifest says: no fields but those of the type, and a float where it says float.
    """
    try:
        plain = msgspec.to_builtins(result, str_keys=True)
        if block.signature.result is not Any:
            made = msgspec.convert(plain, block.signature.result, str_keys=True)
            plain = msgspec.to_builtins(made, str_keys=True)
        return json_value(plain, "it")
    except (msgspec.ValidationError, NotJson, TypeError, RecursionError) as error:
        raise BlockFailed(
            f'What block "{block.name}" returned does not fit its result: {_plainly(error)}.',
            code="result-invalid",
        ) from None


def secret_texts(result: Json, paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The texts of a result that stand at secret paths; ``*`` is any key or item."""
    found: list[str] = []
    for path in paths:
        places = [result]
        for part in path:
            inner: list[Json] = []
            for place in places:
                if part == "*" and isinstance(place, dict | list):
                    inner.extend(place.values() if isinstance(place, dict) else place)
                elif isinstance(place, dict) and part in place:
                    inner.append(place[part])
                elif isinstance(place, list) and part.isdecimal() and int(part) < len(place):
                    inner.append(place[int(part)])
            places = inner
        for place in places:
            found.extend(texts_in(place))
    return tuple(dict.fromkeys(found))


def failed(error: BaseException, effects: bool) -> Failed:
    """The outcome of a block that raised; its code is of the closed list, or the workflow's own."""
    message, said, code = as_failure(error)
    effect: Effect = said or ("unknown" if effects else "none")
    if isinstance(error, OwnFailure):
        return Failed(code or "failed", message, "none", own=True)
    if code is None or code not in RUN_CODES:
        code = "effect-unknown" if effect == "unknown" else "block-failed"
    return Failed(code, message, effect)


async def run_block(
    registry: Registry,
    name: str,
    params: Json,
    context: Context,
    *,
    timeout: float | None = None,
) -> Outcome:
    """One attempt of a block by its name; never raises, except when it is cancelled or the keyboard interrupts.

    A time-out is the error ``timeout``; its effect is unknown once the block had begun.  It counts from when
    the block has a place to run at.  Whatever the block raises, also to end the program or as if it had been
    cancelled, is its own failure.  Services that blocks use (``http``, ``children``) come with the context.
    """
    block = registry.get(name)
    if block is None:
        return Failed("block-unavailable", f'No block is called "{name}" here.', "none")
    if not registry.may_run(name):
        return Failed("block-unavailable", f'Block "{name}" is not allowed here; allow it by name.', "none")
    effects = registry.effects(name, params)
    limit = asyncio.timeout(timeout)
    loop = asyncio.get_running_loop()
    if timeout is not None:
        context.on_wait(lambda waiting: limit.reschedule(None if waiting else loop.time() + timeout))
    try:
        async with limit:
            result = await _run(block, params, context)
        return Success(result, secret_texts(result, block.spec.secret_results))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        stopped = isinstance(error, asyncio.CancelledError)
        if limit.expired() and (stopped or isinstance(error, TimeoutError)):
            known = not effects or (block.begins and not context.begun)
            took = f"{timeout:g}" if timeout is not None else "?"
            return Failed("timeout", f"The block took longer than {took} seconds.", "none" if known else "unknown")
        task = asyncio.current_task()
        if stopped and task is not None and task.cancelling():
            raise
        return failed(error, effects)


async def _run(block: Block, params: Json, context: Context) -> Json:
    given = arguments(block, params, context)
    if block.asynchronous:
        return converted_result(block, await block.function(**given))
    children = context.services.get("children")
    if not isinstance(children, Children) or block.place is None:
        raise BlockFailed("No child processes are at hand here.", effect="none", code="block-unavailable")
    return await children.call(block.place, params, block, context)
