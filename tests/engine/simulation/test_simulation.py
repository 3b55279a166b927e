"""The seeded simulation: invariants hold for every seed, a seed replays exactly, and the net catches."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from interlock.engine.cells import admission, keys
from interlock.engine.cells.messages import Acquire, Join
from interlock.engine.simulate.leases import Leases
from interlock.engine.simulate.rows import Broken
from interlock.engine.simulate.simulation import Simulation
from interlock.engine.store import cells


def play(seed: int, path: Path, actions: int = 150, store: Literal["sqlite", "cells"] = "sqlite") -> str:
    sim = Simulation(seed, str(path), actions=actions, store=store)
    try:
        return sim.run()
    finally:
        sim.close()


@pytest.mark.parametrize("seed", range(10))
def test_every_invariant_holds_after_every_transaction(seed: int, tmp_path: Path) -> None:
    assert play(seed, tmp_path / "store.db")


@pytest.mark.parametrize("seed", range(10, 14))
def test_dictionaries_answer_as_sqlite_does(seed: int, tmp_path: Path) -> None:
    assert play(seed, tmp_path / "one.db", store="cells") == play(seed, tmp_path / "two.db")


def test_a_seed_replays_exactly(tmp_path: Path) -> None:
    first = play(7, tmp_path / "one.db")
    assert play(7, tmp_path / "two.db") == first
    assert play(8, tmp_path / "three.db") != first


def caught(tmp_path: Path) -> str:
    for seed in range(8):
        try:
            play(seed, tmp_path / f"{seed}.db", store="cells")
        except Broken as broken:
            return str(broken)
    return ""


def test_a_run_that_goes_to_the_tail_instead_of_the_place_of_the_one_it_replaces_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = admission._join

    def last(queue: admission.Queue, ask: Join, line: admission.Line, out: admission.QueueChanges) -> None:
        real(queue, ask, line, out)
        out.joined[-1] = msgspec.structs.replace(out.joined[-1], position=queue.next_position)
        queue.next_position += 1

    monkeypatch.setattr(admission, "_join", last)
    with pytest.raises(Broken, match="and it should be"):
        Leases(0).run(2000)


def test_a_key_that_grants_one_too_many_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = keys._acquire

    def generous(key: keys.Key, ask: Acquire, *rest: object) -> None:
        if ask.run not in key.holders and key.holders and key.limit == ask.limit:
            keys._grant(key, ask.run, [(ask.path, ask.visit, ask.lifetime)], 0.0, rest[2])  # type: ignore[arg-type]
        else:
            real(key, ask, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(keys, "_acquire", generous)
    assert "holders and a limit of" in caught(tmp_path)


def test_a_fence_that_repeats_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = cells.Rows.save_key

    def forgetful(self: cells.Rows, key: keys.Key) -> None:
        if not key.holders:
            key.next_fence = 1
        real(self, key)

    monkeypatch.setattr(cells.Rows, "save_key", forgetful)
    assert "went back" in caught(tmp_path)


def test_a_waiter_that_is_forgotten_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = keys._serve

    def forgetful(key: keys.Key, now: float, tickets: keys.Tickets, out: keys.KeyChanges) -> None:
        if tickets.first(0) is None:
            real(key, now, tickets, out)

    monkeypatch.setattr(keys, "_serve", forgetful)
    assert "has room, and a waiter" in caught(tmp_path)


def test_a_slot_that_is_not_given_on_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = admission._admit

    def lazy(line: admission.Line, out: admission.QueueChanges, freed: int) -> None:
        if not freed:
            real(line, out, freed)

    monkeypatch.setattr(admission, "_admit", lazy)
    assert "has a slot for" in caught(tmp_path)
