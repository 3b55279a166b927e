"""Expressions in a process of their own: bounded in the time of the processor and in memory."""

from __future__ import annotations

import pytest

from interlock.engine import sandbox
from interlock.engine.ports import EvaluationError

SLOW = "xs.map(x, text.replace('a', 'b').size())"


def test_an_expression_that_takes_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 1)
    with pytest.raises(sandbox.Exceeded, match=r"^it takes longer than 1 s$"):
        sandbox.evaluate_elsewhere(SLOW, {"xs": list(range(9_000)), "text": "ab" * 500_000})


def test_one_that_is_quick_has_its_value() -> None:
    assert sandbox.evaluate_elsewhere(SLOW, {"xs": [1, 2], "text": "ab"}) == [2, 2]


def test_one_that_needs_much_memory_is_stopped() -> None:
    with pytest.raises((sandbox.Exceeded, EvaluationError), match=r"it needs too much memory\.?$"):
        sandbox.evaluate_elsewhere("xs.map(x, text + 'x')", {"xs": list(range(2_000)), "text": "ab" * 500_000})
