"""A setting that cannot be is taken out of the text, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.analyzer.config import load_config
from interlock.analyzer.setting_fixes import mend_settings

CASES = [
    # the only item, with and without a comma after it
    ('ignore = ["nested-wait"]\n', "ignore = []\n"),
    ('ignore = ["nested-wait" , ]\n', "ignore = [ ]\n"),
    # first, middle and last on one line
    ('ignore = ["nested-wait", "unused-input"]\n', 'ignore = ["unused-input"]\n'),
    ('ignore = ["unused-input", "nested-wait"]\n', 'ignore = ["unused-input"]\n'),
    ('ignore = ["nested-wait", "bad-duration"] # both\n', "ignore = [] # both\n"),
    # a line of its own goes with its comment
    (
        'ignore = [\n  "unused-input",  # kept\n  "nested-wait",  # goes\n]\nexclude = ["x"]\n',
        'ignore = [\n  "unused-input",  # kept\n]\nexclude = ["x"]\n',
    ),
    ('ignore = [ # why\n  "nested-wait"]\n', "ignore = [ # why\n  ]\n"),
    ('severity.nested-wait = "off"\nseverity.unused-input = "off"\n', 'severity.unused-input = "off"\n'),
    ('[severity]\nnested-wait = "hint"\n"unused-input" = "off"\n', '[severity]\n"unused-input" = "off"\n'),
    ('severity = { nested-wait = "off", unused-input = "off" }\n', 'severity = { unused-input = "off" }\n'),
    ('severity = { unused-input = "off", nested-wait = "off" }\n', 'severity = { unused-input = "off" }\n'),
    (
        'per-file-ignores."a/**" = ["bad-duration", "unused-input"]\r\n',
        'per-file-ignores."a/**" = ["unused-input"]\r\n',
    ),
]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_the_setting_goes_and_the_rest_stays(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "interlock.toml"
    path.write_bytes(before.encode())
    config, applied = mend_settings(load_config(str(path)), list)
    assert config.source is not None
    assert config.source.text == after
    assert applied["cannot-suppress"] >= 1
    assert not config.problems


def test_what_is_not_reported_stays(tmp_path: Path) -> None:
    path = tmp_path / "interlock.toml"
    path.write_text('ignore = ["nested-wait"]\n')
    config, applied = mend_settings(load_config(str(path)), lambda _: [])
    assert (applied, config.source and config.source.text) == ({}, 'ignore = ["nested-wait"]\n')


def test_a_rule_that_does_not_exist_has_no_fix(tmp_path: Path) -> None:
    path = tmp_path / "interlock.toml"
    path.write_text('ignore = ["lock-oder"]\n')
    config, applied = mend_settings(load_config(str(path)), list)
    assert [one.code for one in config.problems] == ["IL702"]
    assert applied == {}
