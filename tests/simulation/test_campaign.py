"""The campaigns in short: seeds hold on both stores, replay exactly, and what is broken is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.engine.cells import waits
from interlock.engine.simulate.simulation import Simulation
from simulation import campaign
from simulation.generated import Generated


@pytest.mark.parametrize("first", range(0, 64, 16))
def test_seeds_hold(first: int) -> None:
    found = campaign.chunk(first, 16, "cells")
    assert found.faults == []
    assert found.seeds == 16


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
