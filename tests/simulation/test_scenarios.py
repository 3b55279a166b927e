"""Every named scenario, in the simulation, under a few seeds; ``make campaign-simulation`` plays many more."""

from __future__ import annotations

import pytest

import simulation.scenarios_faults
import simulation.scenarios_leases
import simulation.scenarios_other_runs
import simulation.scenarios_stops  # noqa: F401  (the four fill the table)
from simulation.scenario import SCENARIOS, perform


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    for seed in range(max(1, round(6 * SCENARIOS[name].share))):
        perform(name, seed, "sqlite" if seed % 2 else "cells")
