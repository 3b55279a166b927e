"""The campaigns in short: seeds hold on both stores, replay exactly, and what is broken is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.engine.cells import keys, waits
from interlock.engine.simulate.leases import RUNS
from interlock.engine.simulate.simulation import Simulation
from simulation import campaign
from simulation.generated import Generated


@pytest.mark.parametrize("first", range(0, 64, 16))
def test_seeds_hold(first: int) -> None:
    found = campaign.chunk(first, 16, "cells")
    assert found.faults == []
    assert found.seeds == 16


def test_keys_and_queues_alone_answer_as_the_model_does() -> None:
    found = campaign.chunk(0, 4, "leases")
    assert found.faults == []
    assert found.transitions == 4 * campaign.LEASE_DECISIONS


def test_a_key_that_serves_the_last_one_first_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = keys._serve

    def unfair(key: keys.Key, now: float, tickets: keys.Tickets, out: keys.KeyChanges) -> None:
        class Backwards:
            def first(self, after: int) -> keys.Ticket | None:
                left = [tickets.of(run) for run in RUNS]
                rows = [ticket for mine in left for ticket in mine if ticket.number not in out.unqueued]
                return max(rows, key=lambda ticket: ticket.number, default=None)

            def of(self, run: str) -> list[keys.Ticket]:
                return tickets.of(run)

        real(key, now, Backwards(), out)

    monkeypatch.setattr(keys, "_serve", unfair)
    found = campaign.chunk(0, 1, "leases")
    assert "should have been" in found.faults[0]


def digest(seed: int, folder: Path, store: campaign.Store) -> str:
    sim = Generated(seed, str(folder / f"{store}.db"), store=store)
    try:
        return sim.run()
    finally:
        sim.close()


@pytest.mark.parametrize("seed", [2, 6, 10])
def test_a_generated_workflow_goes_the_same_way_on_both_stores(seed: int, tmp_path: Path) -> None:
    first = digest(seed, tmp_path, "sqlite")
    assert digest(seed, tmp_path, "cells") == first


def test_a_run_that_is_never_told_of_an_end_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "run_ended", lambda turn, message: None)
    told = []
    for seed in range(12):
        sim = Simulation(seed, str(tmp_path / "unused"), store="cells", actions=150)
        try:
            sim.run()
        except AssertionError as error:
            told.append(str(error))
    assert any("wait for nobody" in each for each in told)


def test_a_fault_tells_how_to_replay_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "run_ended", lambda turn, message: None)
    found = campaign.chunk(0, 16, "cells")
    assert found.faults
    seed = int(found.faults[0].split()[1])
    assert found.faults[0].endswith(f".venv/bin/python tests/simulation/campaign.py --store cells --seed {seed} --one")
    assert campaign.one(seed, "cells") == 1
