"""A world per test: simulated time, a real SQLite store, invariants checked after every transaction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.engine.simulate.world import World


@pytest.fixture
def world(tmp_path: Path) -> Callable[..., World]:
    made: list[World] = []

    def make(text: str, **given: Any) -> World:
        given.setdefault("path", str(tmp_path / f"store{len(made)}.db"))
        made.append(World(text, **given))
        return made[-1]

    return make
