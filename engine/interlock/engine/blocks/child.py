"""The program of a child process: runs synchronous blocks one after another (see ``children``).

Requests and answers are JSON with a length of four bytes before them, over standard input and what
was standard output; what blocks print goes to standard error instead.
"""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from types import SimpleNamespace
from typing import Any, BinaryIO

import msgspec

from interlock.engine.blocks.context import BlockFailed, Context, as_failure
from interlock.engine.values import NotJson, dump, json_value

_SELF = os.getpid()
_loaded: dict[str, Any] = {}
_blocks: dict[tuple[str, str], Any] = {}


def _module(name: str) -> Any:
    """A module by its name, or the namespace of a file that was started as a program."""
    found = _loaded.get(name)
    if found is None:
        if name.endswith(".py") or os.sep in name:
            found = SimpleNamespace(**runpy.run_path(name, run_name="__interlock_child__"))
        else:
            found = importlib.import_module(name)
        _loaded[name] = found
    return found


def _find(module: str, name: str) -> Any:
    try:
        found = _module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise BlockFailed(
            f'"{module}:{name}" cannot be loaded: {type(error).__name__}: {error}', effect="none"
        ) from None
    return found


def _block(module: str, name: str) -> Any:
    """The block at a place, made once: what an object of its class keeps, it keeps over the calls."""
    from interlock.engine.blocks.registry import make_block

    found = _blocks.get((module, name))
    if found is None:
        try:
            found = make_block(_find(module, name))
        except TypeError as error:
            raise BlockFailed(str(error), effect="none") from None
        _blocks[module, name] = found
    return found


def _typed(block: Any, params: Any, context: Context) -> Any:
    from interlock.engine.blocks.running import arguments, converted_result

    return converted_result(block, block.function(**arguments(block, params, context)))


def _plain(result: Any) -> Any:
    try:
        return json_value(msgspec.to_builtins(result), "what it returned")
    except (NotJson, TypeError, RecursionError) as error:
        raise BlockFailed(f"The result is no JSON value: {error}.", code="result-invalid") from None


def answer(call: dict[str, Any]) -> dict[str, Any]:
    """Run one call; the answer holds its result, or how it failed, and what it logged."""
    log: list[tuple[str, str]] = []
    context = Context(log=lambda level, message: log.append((level, message)), **call["context"])
    for path in call["path"]:
        if path not in sys.path:
            sys.path.append(path)
    made: dict[str, Any] = {}
    try:
        if call["typed"]:
            result = _typed(_block(call["module"], call["name"]), call["params"], context)
        else:
            target = _find(call["module"], call["name"])
            given = call["params"]
            result = target(*given) if isinstance(given, list) else target(**given)
        made["result"] = _plain(result)
    except BaseException as error:
        # A block that ends the program has failed; a copy of this process that it made may end as it likes.
        if isinstance(error, SystemExit) and os.getpid() != _SELF:
            raise
        message, effect, code = as_failure(error)
        made |= {"message": message, "effect": effect, "code": code}
    return made | {"log": log}


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer calls until there are no more.

    A block may fork: the copy has neither pipe, so that it gives no second answer, takes no call, and does
    not hold open what tells the worker that this process has ended.
    """
    pipes = requests.fileno(), answers.fileno()
    original = os.getpid()

    def let_go() -> None:
        null = os.open(os.devnull, os.O_RDWR)
        for pipe in pipes:
            os.dup2(null, pipe, inheritable=False)
        os.close(null)

    os.register_at_fork(after_in_child=let_go)
    while len(head := requests.read(4)) == 4:
        call = msgspec.json.decode(requests.read(int.from_bytes(head, "big")))
        packed = dump(answer(call))
        if os.getpid() != original:
            os._exit(0)
        answers.write(len(packed).to_bytes(4, "big") + packed)
        answers.flush()


def _end_with_parent() -> None:
    """Let the system end this process when the worker is killed: nobody would take its answer."""
    if sys.platform == "linux":
        import ctypes

        set_death_signal, kill = 1, 9
        ctypes.CDLL(None).prctl(set_death_signal, kill, 0, 0, 0)


def main() -> int:
    _end_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    sys.path.insert(0, os.getcwd())
    serve(requests, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
