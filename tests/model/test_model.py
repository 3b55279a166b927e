"""The model in short: the checks that take seconds, and traces of the simulation that it accepts and refuses."""

from __future__ import annotations

import pytest

from model import traces
from model.check import CHECKS, Check, explore, missing

pytestmark = pytest.mark.skipif(missing() is not None, reason=f"{missing()} is not installed")

QUICK = [check for check in CHECKS if check.quick]


@pytest.mark.parametrize("check", QUICK, ids=lambda check: check.title)
def test_the_model_holds_and_with_a_fault_it_does_not(check: Check) -> None:
    found = explore(check)
    assert (found.errors == 0) == check.holds, found.said


@pytest.mark.parametrize("seed", range(3))
def test_the_model_accepts_what_the_simulation_decides_and_nothing_else(seed: int) -> None:
    played = refused = 0
    for kind, decisions in traces.traces(seed):
        text = traces.promela(kind, decisions)
        if text is None:
            continue
        assert traces.accepted(text), text
        played += 1
        for each in traces.faults(decisions)[:2] if kind == "key" else []:
            faulty = traces.promela(kind, each)
            assert faulty is not None
            assert not traces.accepted(faulty), faulty
            refused += 1
    assert played > 3
    assert refused > 3
