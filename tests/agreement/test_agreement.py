"""What the analyzer passes, the engine runs; what the engine would refuse, the analyzer has said.

The short form: some hundred generated workspaces.  ``make campaign-agreement`` is the long one.  Every
failure names the seed, and ``python tests/agreement/campaign.py --seed S --count 1`` replays it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agreement import checks
from agreement.blocks import SPECS
from agreement.drive import CALM, Drive
from agreement.generate import make
from agreement.plant import PLANTINGS, plant
from agreement.shrink import shrunk
from agreement.write import Style, write
from interlock.analyzer.rules.catalog import RULES
from interlock.analyzer.source.text import SourceText
from interlock.engine.client import Engine
from interlock.engine.project import Project

SEEDS = range(400)
CHUNK = 20
STARTS = SEEDS[::CHUNK]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.open("memory:") as opened:
        yield opened


@pytest.mark.parametrize("start", STARTS)
def test_what_has_no_errors_is_taken_and_runs_to_its_end(start: int) -> None:
    faults = {seed: found for seed in range(start, start + CHUNK) if (found := checks.valid(seed))}
    assert not faults


@pytest.mark.parametrize("start", STARTS[::2])
def test_a_planted_mistake_is_found_at_its_place_by_its_own_rule_and_refused(start: int, engine: Engine) -> None:
    faults = {
        (seed, name): found
        for seed in range(start, start + CHUNK)
        for name, found in checks.planted(seed, engine, 0.12)
        if found
    }
    assert not faults


@pytest.mark.parametrize("start", STARTS[::4])
def test_the_hash_is_that_of_the_meaning(start: int) -> None:
    faults = {seed: found for seed in range(start, start + CHUNK) if (found := checks.hashed(seed))}
    assert not faults


def test_the_driver_sees_what_a_rule_should_have_prevented() -> None:
    """A warning does not refuse: what it warns of happens, and is told."""
    mistake = plant(make(3, 4), "unguarded_read", 3)
    assert mistake is not None
    source = SourceText(checks.FILE, write(mistake.documents, Style(3)).text)
    name = mistake.documents[mistake.path[0]]["workflow"]
    drive = Drive(Project([source], SPECS).definition(name), CALM, 3)
    assert any("expression" in fault.what for fault in drive.run())


def test_every_kind_of_mistake_can_be_planted_somewhere(engine: Engine) -> None:
    """A catalogue entry that never finds a place would prove nothing."""
    wanting = set(PLANTINGS)
    for seed in range(5000, 5400):
        if not wanting:
            break
        workspace = make(seed, checks.size_of(seed))
        wanting -= {name for name in wanting if plant(workspace, name, seed) is not None}
    assert not wanting


#: Errors that are planted nowhere, and where they are tried instead.
ELSEWHERE = {
    "IL101": "broken texts are tried by tests/analyzer/syntax",
    "IL110": "aliases without bound are tried by tests/analyzer/syntax",
}


def test_every_error_is_planted() -> None:
    planted = {code for code, _ in PLANTINGS.values()}
    errors = {code for code, rule in RULES.items() if rule.severity == "error"}
    assert errors - planted == set(ELSEWHERE)


def test_a_failing_workspace_is_cut_down_to_what_fails() -> None:
    workspace = make(12, 20)
    steps = workspace.documents[0]["steps"]
    steps.insert(3, {"id": "culprit", "block": "set", "params": {"x": 1, "y": 2}})
    left = shrunk(workspace.documents, lambda docs: any(step.get("id") == "culprit" for step in docs[0]["steps"]))
    assert left == [{"steps": [{"id": "culprit"}]}]
