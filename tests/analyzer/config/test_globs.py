"""Path patterns, as the settings mean them."""

from __future__ import annotations

import pytest

from interlock.analyzer.globs import Globs, problem


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.workflow.yaml", "a.workflow.yaml", True),
        ("*.workflow.yaml", "deep/down/a.workflow.yaml", True),
        ("*.workflow.yaml", "a.workflow.yaml.bak", False),
        ("flows/*.yaml", "flows/a.yaml", True),
        ("flows/*.yaml", "x/flows/a.yaml", False),
        ("flows/*.yaml", "flows/deep/a.yaml", False),
        ("flows/**/*.yaml", "flows/a.yaml", True),
        ("flows/**/*.yaml", "flows/deep/down/a.yaml", True),
        ("**/a.yaml", "a.yaml", True),
        ("**/a.yaml", "x/y/a.yaml", True),
        ("./flows/a.yaml", "flows/a.yaml", True),
        ("/a.yaml", "a.yaml", True),
        ("/a.yaml", "x/a.yaml", False),
        ("a?.yaml", "ab.yaml", True),
        ("a?.yaml", "a/.yaml", False),
        ("a[bc].yaml", "ac.yaml", True),
        ("a[!bc].yaml", "ac.yaml", False),
        ("a[!bc].yaml", "ad.yaml", True),
        ("a+(b).yaml", "a+(b).yaml", True),
        ("[.yaml", "[.yaml", True),
    ],
)
def test_a_pattern(pattern: str, path: str, matches: bool) -> None:
    assert Globs([pattern]).match(path) is matches


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("vendor", "vendor/deep/a.yaml", True),
        ("vendor", "x/vendor/a.yaml", True),
        ("vendor/", "vendor/a.yaml", True),
        ("x/vendor", "vendor/a.yaml", False),
        ("vendor", "vendors/a.yaml", False),
    ],
)
def test_a_pattern_for_folders_means_all_that_is_in_them(pattern: str, path: str, matches: bool) -> None:
    assert Globs([pattern], folders=True).match(path) is matches


def test_no_pattern_matches_nothing() -> None:
    assert not Globs([]).match("a.yaml")


def test_what_is_no_pattern_says_why() -> None:
    assert problem("a[b-d].yaml") is None
    assert problem("/") is not None
    assert problem("[z-a]") is not None
