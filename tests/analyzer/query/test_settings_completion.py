"""Completion in settings files: what is offered can be taken, and makes settings that can be read."""

from __future__ import annotations

import pytest

from interlock.analyzer.config import KEYS, read_config
from interlock.analyzer.query.settings import complete_settings
from interlock.analyzer.rules.catalog import RULES, can_suppress
from interlock.analyzer.source.text import SourceText

NAMES = {rule.name for rule in RULES.values() if can_suppress(rule)}
LEVELS = {"error", "warning", "hint", "off"}


def asked(text: str, shared: bool = False) -> dict[str, str]:
    """What is offered at the bar, with the text that taking it gives."""
    offset = text.index("|")
    text = text.replace("|", "", 1)
    found = complete_settings(text, offset, shared)
    given = {item.label: (item.insert or item.label).replace("$0", "") for item in found.items}
    return {label: text[: found.start] + insert + text[found.end :] for label, insert in given.items()}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("|", set(KEYS)),
        ("# x\nig|", set(KEYS)),
        ("se| = []", set(KEYS)),
        ("[|]", {"severity", "per-file-ignores"}),
        ("ignore = [|]", NAMES),
        ('ignore = ["unused-input", "|"]', NAMES),
        ('ignore = [\n  "unused-input",\n  |\n]', NAMES),
        ("[severity]\n|", NAMES),
        ("[severity]\nunused-input = |", LEVELS),
        ('[severity]\nunused-input = "|"', LEVELS),
        ('[per-file-ignores]\n"a/*" = [|]', NAMES),
        ("patterns = [|]", set()),
        ("ignore = []  # |", set()),
        ('ignore = ["unused-input"]\n|', set(KEYS)),
    ],
)
def test_what_is_offered(text: str, wanted: set[str]) -> None:
    assert asked(text).keys() == wanted


@pytest.mark.parametrize("text", ["|\n", "ignore = [|]", 'select = ["|"]', "[severity]\nunused-input = |", "[|]"])
def test_what_is_taken_can_be_read(text: str) -> None:
    for label, taken in asked(text).items():
        if label in ("patterns", "exclude", "select", "ignore", "blocks") or "severity" in taken.split("=")[0]:
            taken = taken.replace('[""]', "[]")  # the tab stop is in the quotes
        assert read_config("interlock.toml", SourceText("interlock.toml", taken)).problems == (), label


def test_a_file_of_others_has_settings_in_one_table_only() -> None:
    assert asked("[project]\n|", True) == {}
    assert asked("[tool.interlock]\n|", True).keys() == set(KEYS)
    assert asked("[tool.interlock.severity]\n|", True).keys() == NAMES
