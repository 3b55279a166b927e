"""Names and words of a stranger do nothing to the terminal that shows them."""

import re

import pytest

from interlock.analyzer.analysis import diagnose, judge, read_file
from interlock.analyzer.report.github import render_github
from interlock.analyzer.report.junit import render_junit
from interlock.analyzer.report.plain import plain
from interlock.analyzer.report.text import render_text
from interlock.analyzer.source.text import SourceText

NAME = "a\n\x1b]0;owned\x07\x9b31m\u202eb.workflow.yaml"
TEXT = 'workflow: w\nsteps:\n  - id: "a\\e[2J\\nb"\n    "bl\\x9bock": log\n'
ACTIVE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture
def found():
    file = read_file(SourceText(NAME, TEXT))
    found = diagnose([file], judge([file]))
    assert len(found) >= 2
    return found


def test_the_report_for_people(found):
    report = render_text(found, {NAME: SourceText(NAME, TEXT)}, 1)
    assert not ACTIVE.search(report)
    assert report.count("a\\n\\e]0;owned\\x07\\x9b31m\\u202eb.workflow.yaml:") == len(found)


def test_annotations(found):
    report = render_github(found)
    assert not ACTIVE.search(report)
    assert report.count("\n") == len(found)
    assert "file=a%0A\\e]0;owned" in report


def test_junit(found):
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", render_junit(found, [NAME]))


def test_plain_text_stays_and_what_is_kept_too():
    assert plain("é 👩‍💻 → ok") == "é 👩‍💻 → ok"
    assert plain("a\tb\nc\x1b", "\n") == "a\\tb\nc\\e"
