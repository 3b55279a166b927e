"""A world per test: simulated time, a real SQLite store, invariants checked after every transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.engine.errors import CallerError
from interlock.engine.simulate.world import World


def is_closed(world: World) -> bool:
    try:
        world.kernel.stats()
    except CallerError as error:
        return error.code == "store-readonly"
    return False


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(text: str, **given: Any) -> World:
        given.setdefault("path", str(tmp_path / f"store{len(made)}.db"))
        made.append(World(text, **given))
        return made[-1]

    yield make
    # Whatever a test makes of its runs, each must be decided the same again from its journal.
    for each in made:
        if is_closed(each):
            continue
        whole = [row.run for row in each.kernel.runs(limit=50) if not each.kernel.export(row.run).cut]
        again = [each.kernel.replay(run) for run in whole]
        assert [one for one in again if not one.same] == []
