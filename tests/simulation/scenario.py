"""The table of scenarios: a name in words, the definitions, the faults that may strike, and the play.

A play says what happens outside and claims what must hold at the end, on every schedule: the stage draws
the rest from the seed (`interlock.engine.simulate.stage`).  ``share`` is how many of the seeds play it:
1, or less for those that take long.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from interlock.engine.simulate.rows import Broken
from interlock.engine.simulate.stage import HARMLESS, Stage

Play = Callable[[Stage], None]


class Scenario(msgspec.Struct, frozen=True, eq=False):
    name: str
    text: str
    play: Play
    faults: tuple[str, ...]
    share: float
    secrets: tuple[str, ...]


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    name: str,
    text: str,
    *,
    faults: tuple[str, ...] = HARMLESS,
    share: float = 1.0,
    secrets: tuple[str, ...] = (),
) -> Callable[[Play], Play]:
    """Put a play into the table."""

    def put(play: Play) -> Play:
        assert name not in SCENARIOS
        SCENARIOS[name] = Scenario(name, text, play, faults, share, secrets)
        return play

    return put


def perform(name: str, seed: int, store: Literal["sqlite", "cells"] = "sqlite") -> int:
    """Play a scenario under a seed; returns the transitions.  Raises AssertionError with the seed in it."""
    chosen = SCENARIOS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "store.db")
        stage = Stage(chosen.text, seed, path, store=store, faults=chosen.faults, secrets=chosen.secrets)
        try:
            chosen.play(stage)
            stage.end()
        except AssertionError as error:
            raise Broken(f'scenario "{name}", seed {seed}: {type(error).__name__}: {error}') from error
        finally:
            stage.close()
        return stage.world.tape.total
