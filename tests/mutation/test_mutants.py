"""A mutant is one change, put into the functions of this process and into no file."""

from __future__ import annotations

import ast
import random
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interlock.engine.cells import keys
from interlock.engine.cells.messages import Acquire, Granted, Queued
from interlock.engine.simulate.leases import Tickets
from mutation.campaign import GROUPS, module_of
from mutation.mutants import Mutant, changes, functions, mutants_of, put_in

KEYS = next(path for path in GROUPS["cells"] if path.name == "keys.py")


@pytest.fixture
def kept() -> Iterator[None]:
    """What a test puts in is taken out again."""
    codes = {each: each.__code__ for each in vars(keys).values() if isinstance(each, types.FunctionType)}
    yield
    for function, code in codes.items():
        function.__code__ = code


def mutant(what: str, function: str) -> Mutant:
    found = [each for each in mutants_of(module_of(KEYS), KEYS) if each.what == what and each.function == function]
    assert len(found) == 1
    return found[0]


def second_ask() -> object:
    key, tickets = keys.Key("a", "k"), Tickets()
    for run in ("one", "two"):
        out = keys.decide(key, Acquire("a", "k", run, "claim", 1, 1, "run", "wait"), 0.0, tickets)
        tickets.apply(out)
    return out.messages[0]


def test_a_mutant_changes_what_the_core_does(kept: None) -> None:
    assert isinstance(second_ask(), Queued)
    source = KEYS.read_bytes()
    put_in(mutant("Lt -> LtE in `len(key.holders) < ask.limit`", "_acquire"), keys)
    assert isinstance(second_ask(), Granted)
    assert KEYS.read_bytes() == source


def test_a_statement_is_dropped(kept: None) -> None:
    put_in(mutant("drop `key.next_fence += 1`", "_grant"), keys)
    key = keys.Key("a", "k")
    for run in ("one", "two"):
        keys.decide(key, Acquire("a", "k", run, "claim", 1, 2, "run", "wait"), 0.0, Tickets())
    assert [holder.fence for holder in key.holders.values()] == [1, 1]


@pytest.mark.parametrize("path", [path for group in GROUPS.values() for path in group], ids=lambda path: path.stem)
def test_every_change_is_one_and_can_be_compiled(path: Path) -> None:
    source = path.read_text("utf-8")
    before = ast.unparse(ast.parse(source))

    def listed(tree: ast.Module) -> list[Callable[[], None]]:
        return [act for _, function in functions(tree) for _, _, act in changes(function)]

    count = len(listed(ast.parse(source)))
    assert count == len(mutants_of(module_of(path), path))
    for number in random.Random(1).sample(range(count), min(8, count)):
        tree = ast.parse(source)
        listed(tree)[number]()
        compile(ast.fix_missing_locations(tree), str(path), "exec")
        assert ast.unparse(tree) != before


def test_a_function_that_the_module_does_not_have_is_refused() -> None:
    empty = types.ModuleType("empty")
    empty.__file__ = str(KEYS)
    with pytest.raises(LookupError):
        put_in(mutants_of(module_of(KEYS), KEYS)[0], empty)
