"""The blocks that a worker can run: the built-in ones and those that a host adds.

A host writes a function with typed parameters and a typed result, and marks it::

    @block("image.resize", cost_units=3)
    def resize(path: str, width: int = 800) -> dict[str, int]:
        ...

An ``async`` function runs in the worker's loop; any other runs in a child process, so that it can
be stopped.  Packages offer blocks under the entry point group ``interlock.blocks``; each entry
leads to a marked function, a class, or a list of them.
"""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from interlock.analyzer.language.blocks import (
    BLOCK_NAME,
    BUILT_IN,
    NEEDS_PERMISSION,
    BlockSpec,
    EffectsUnless,
    has_effects,
    manifest_row,
    read_row,
)
from interlock.engine.arguments import names
from interlock.engine.blocks.schemas import Signature, read_signature, result_schema, schema_of
from interlock.engine.ports import Json
from interlock.engine.values import NotJson, json_value

Target = TypeVar("Target", bound=Callable[..., Any])
ENTRY_POINTS = "interlock.blocks"


class Block(msgspec.Struct, frozen=True, eq=False):
    """One block, ready to run.

    ``function`` is called in the loop where it is asynchronous.  Else ``place`` says where a child
    process finds it: (module or file, qualified name).
    """

    spec: BlockSpec
    signature: Signature
    function: Callable[..., Any]
    asynchronous: bool
    place: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def begins(self) -> bool:
        """Whether its context always knows if it has begun: built in, or run in a child process."""
        return self.spec.built_in or self.place is not None


class BlockMark(msgspec.Struct, frozen=True):
    """What `block` notes on a function or class."""

    name: str
    effects: bool | EffectsUnless
    cost_units: int
    secret_results: tuple[tuple[str, ...], ...]
    doc: str | None


def block(
    name: str,
    *,
    effects: bool | EffectsUnless = True,
    cost_units: int = 1,
    secret_results: bool | Iterable[str] = (),
    doc: str | None = None,
) -> Callable[[Target], Target]:
    """Marks a function, or a class with a method ``run``, as a block.

    ``effects`` says whether it acts on the outside.  ``secret_results`` are paths of its result that
    are secret, such as ``["token"]`` or ``["accounts.*.key"]``; true stands for all of it.  The first line
    of its docstring is its documentation, unless ``doc`` is given.

    TypeError or ValueError, in one sentence, where an argument is none that a manifest could hold, or a
    secret is none of the result; where its type has a name that comes later, `Registry` tells.

    >>> @block("text.upper", effects=False)
    ... async def upper(text: str) -> str:
    ...     return text.upper()
    """
    if not isinstance(name, str):
        raise TypeError('"@block" needs the name of the block before what it marks: @block("shop.price").')
    if not BLOCK_NAME.fullmatch(name) or len(name) > 128:
        raise ValueError(f'"{name}" is no block name: letters, digits and "_", parts joined by "." or "-".')
    if name in BUILT_IN:
        raise ValueError(f'"{name}" is a built-in block; choose another name.')
    if not isinstance(secret_results, bool):
        secret_results = list(names(secret_results, f'Block "{name}": secret_results'))
    row = {"effects": _plain(effects), "cost_units": cost_units, "secret_results": secret_results or []}
    spec = _held(name, row if doc is None else row | {"doc": doc})
    made = BlockMark(name, spec.effects, spec.cost_units, spec.secret_results, doc)

    def mark(target: Target) -> Target:
        _hold_results(target, name, row["secret_results"])
        try:
            target.__interlock_block__ = made  # type: ignore[attr-defined]
        except (AttributeError, TypeError):
            raise TypeError(f'Block "{name}" must be a function, or a class with a method "run".') from None
        return target

    return mark


def _plain(effects: object) -> object:
    return msgspec.to_builtins(effects) if isinstance(effects, EffectsUnless) else effects


def _held(name: str, row: Mapping[str, Any]) -> BlockSpec:
    """The block that a manifest describes so; TypeError, in one sentence, where none can."""
    spec, problems = read_row(name, row)
    if spec is None or problems:
        raise TypeError(f'Block "{name}": {problems[0].message}')
    return spec


def _hold_results(target: Any, name: str, secrets: object) -> None:
    """Hold the secret results of a block against its result, where the type of that is known already."""
    function = getattr(target, "run", None) if inspect.isclass(target) else target
    try:
        result = result_schema(typing.get_type_hints(function, include_extras=True)["return"])
    except Exception:
        return  # a name that comes later in the module, or what `make_block` tells
    _held(name, {"result": result, "secret_results": secrets})


def make_block(target: Any) -> Block:
    """The block of a marked function or class; TypeError says what it lacks."""
    mark = getattr(target, "__interlock_block__", None)
    if not isinstance(mark, BlockMark):
        raise TypeError(f"{target!r} is no block: mark it with @block(NAME).")
    function = _function(target, mark.name)
    signature = read_signature(function, mark.name)
    doc = mark.doc if mark.doc is not None else (inspect.getdoc(target) or "").partition("\n")[0]
    params = schema_of(signature.params)
    if params.get("type") != "object":
        raise TypeError(f'Block "{mark.name}": the type of "params" must be a mapping of names.')
    if "properties" in params:
        # The names of the params are told by the step, where another one is a slip.
        params.setdefault("additionalProperties", False)
    result = result_schema(signature.result)
    spec = BlockSpec(mark.name, doc, params, result, mark.effects, mark.cost_units, mark.secret_results)
    try:
        row = json_value(msgspec.to_builtins(manifest_row(spec)), "its description")
    except NotJson as error:
        raise TypeError(f'Block "{mark.name}" cannot be described in a manifest: {error}.') from None
    assert isinstance(row, dict)
    _held(mark.name, row)
    asynchronous = inspect.iscoroutinefunction(function)
    return Block(spec, signature, function, asynchronous, None if asynchronous else _place(target, mark.name))


def _function(target: Any, name: str) -> Any:
    """What is called: the marked function, or the method ``run`` of an object of the marked class."""
    function = target
    if inspect.isclass(target):
        try:
            function = getattr(target(), "run", None)
        except Exception as error:
            raise TypeError(
                f'Block "{name}": its class is made without arguments, and that fails: {type(error).__name__}: {error}'
            ) from error
        if not callable(function):
            raise TypeError(f'Block "{name}": the class needs a method "run".')
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f'Block "{name}" must return its result; it yields.')
    return function


def _place(target: Any, name: str) -> tuple[str, str]:
    """Where a child process finds a function: its module, or the file that was started."""
    qualified = target.__qualname__
    if "<locals>" in qualified:
        raise TypeError(
            f'Block "{name}" is defined inside a function, where its child process cannot find it; '
            "move it to the top of a module, or make it async."
        )
    module = target.__module__
    if module == "__main__":
        module = getattr(importlib.import_module("__main__"), "__file__", None) or ""
        if not module:
            raise TypeError(f'Block "{name}" has no file that its child process could load; make it async.')
    return module, qualified


class Registry:
    """Blocks by name; also what the core must know of them (`ports.Blocks`).

    ``allow`` names the blocks that act only where the host allows them (``shell``, ``python``).
    """

    def __init__(self, blocks: Iterable[Any] = (), *, allow: Iterable[str] = ()) -> None:
        from interlock.engine.blocks.builtin import BUILT_IN_BLOCKS

        self.allowed = frozenset(names(allow, "allow"))
        unknown = self.allowed - NEEDS_PERMISSION
        if unknown:
            raise ValueError(f'"{min(unknown)}" needs no permission; only shell and python do.')
        self._blocks: dict[str, Block] = {item.name: item for item in BUILT_IN_BLOCKS}
        if isinstance(blocks, str | bytes | Mapping) or not isinstance(blocks, Iterable):
            raise TypeError(f"blocks is a list of marked functions or classes, not {blocks!r}.")
        for target in blocks:
            self.add(target)

    def add(self, target: Any) -> Block:
        """Add a marked function or class; ValueError where its name is taken."""
        made = target if isinstance(target, Block) else make_block(target)
        known = self._blocks.get(made.name)
        if known is not None and known.function is not made.function:
            raise ValueError(f'Two blocks are called "{made.name}".')
        self._blocks[made.name] = made
        return made

    def load_entry_points(self) -> list[str]:
        """Add what installed packages offer; one sentence for each entry that cannot be loaded."""
        from importlib.metadata import entry_points

        problems: list[str] = []
        for entry in entry_points(group=ENTRY_POINTS):
            try:
                loaded = entry.load()
                for target in loaded if isinstance(loaded, list | tuple) else [loaded]:
                    self.add(target)
            except Exception as error:
                problems.append(f'The blocks of "{entry.name}" ({entry.value}) cannot be loaded: {error}')
        return problems

    def load(self, name: str) -> None:
        """Add the blocks of a module: every marked function and class at its top."""
        module = importlib.import_module(name)
        for target in vars(module).values():
            if isinstance(getattr(target, "__interlock_block__", None), BlockMark):
                self.add(target)

    def get(self, name: str) -> Block | None:
        return self._blocks.get(name)

    @property
    def runnable(self) -> frozenset[str]:
        """The names of the blocks that may run here."""
        return frozenset(name for name in self._blocks if self.may_run(name))

    def may_run(self, name: str) -> bool:
        return name not in NEEDS_PERMISSION or name in self.allowed

    @property
    def specs(self) -> dict[str, BlockSpec]:
        """What the analyzer needs to know of every block, by name."""
        return {name: item.spec for name, item in self._blocks.items()}

    def cost(self, block: str) -> int:
        """The block's own default ``cost_units``; 1 for an unknown one."""
        found = self._blocks.get(block)
        return found.spec.cost_units if found is not None else 1

    def effects(self, block: str, params: Json) -> bool:
        """Whether a call has outside effects; true for an unknown block."""
        found = self._blocks.get(block)
        return True if found is None else has_effects(found.spec, params if isinstance(params, dict) else None)

    def manifest(self) -> dict[str, Json]:
        """The manifest that describes the host's blocks to the analyzer."""
        rows = {name: manifest_row(item.spec) for name, item in sorted(self._blocks.items()) if not item.spec.built_in}
        return {"version": 1, "blocks": rows}
