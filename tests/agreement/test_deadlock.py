"""A circle that the analyzer tells of deadlocks in some schedule; without one no schedule does."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from agreement.deadlock import KINDS, Start, case, search
from interlock.analyzer.analysis import check_texts
from interlock.analyzer.rules.catalog import WORKSPACE_ERRORS

SEEDS = range(5)


def codes(text: str) -> set[str]:
    return {one.code for one in check_texts({"a.workflow.yaml": text})} & WORKSPACE_ERRORS


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_circle_that_is_told_of_deadlocks(kind: str, seed: int) -> None:
    made = case(kind, seed, circle=True)
    assert codes(made.text) == {made.code}
    assert search(made.text, made.starts) is not None, made.text


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_where_no_circle_is_told_of_no_schedule_deadlocks(kind: str, seed: int) -> None:
    made = case(kind, seed, circle=False)
    assert codes(made.text) == set()
    assert search(made.text, made.starts, 12) is None, made.text


def example(code: str, part: str) -> str:
    """The bad or good example of a rule's page."""
    folder = files("interlock.analyzer.rules") / "pages"
    page = next(each for each in folder.iterdir() if each.name.startswith(code))
    found = re.search(rf"## {part}\n\n```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


PAGES: dict[str, list[Start]] = {
    "IL408": [("payout.send", {}), ("payout.send", {}), ("day.close", {})],
    "IL414": [("folder.index", {"folder": "top"})],
}


@pytest.mark.parametrize("code", PAGES)
def test_the_bad_example_of_the_page_deadlocks(code: str) -> None:
    text = example(code, "Bad")
    assert code in codes(text)
    assert search(text, PAGES[code]) is not None


def test_the_good_example_of_a_lock_order_does_not() -> None:
    text = example("IL408", "Good")
    assert codes(text) == set()
    assert search(text, PAGES["IL408"], 30) is None
