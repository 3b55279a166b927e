"""Every case of the public YAML test suite: the right tree for what is YAML, a refusal for what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from yaml_suite.suite import Case, cases, fault

NARROWED = {"2JQS": "IL102"}
"""Cases that the language refuses, with the rule: a key stands once in a mapping, an empty one too."""

PAGE = Path(__file__).parents[2] / "docs" / "yaml.md"


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
@pytest.mark.parametrize("pure", [False, True], ids=["fast", "pure"])
def test_a_case_is_read_as_the_suite_says(case: Case, pure: bool) -> None:
    found = fault(case, pure=pure)
    if case.id in NARROWED:
        assert found is not None
        assert found.startswith(f"refused ({NARROWED[case.id]}:")
    else:
        assert found is None, case.yaml


def test_the_page_counts_what_there_is() -> None:
    every = cases()
    refused = sum(case.fail for case in every)
    agreeing = len(every) - len(NARROWED)
    text = PAGE.read_text(encoding="utf-8")
    assert f"{len(every)} cases, {refused} of them no YAML: {agreeing} agree" in text
    assert all(f"| {name} |" in text for name in NARROWED)
