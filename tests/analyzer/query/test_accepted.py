"""What is offered can be taken: no completion puts an error of form into a text, wherever it is asked for."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support import Asked

from interlock.analyzer.analysis import judge, program_of, read_file
from interlock.analyzer.language.blocks import BUILT_IN, load_manifest
from interlock.analyzer.query.complete import Completions, complete
from interlock.analyzer.source.text import SourceText

FORM = {"IL101", "IL102", "IL103", "IL109", "IL508"}
ADDRESS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "street": {"type": "string"},
        "zip": {"type": "string"},
        "doors": {"type": "array", "items": {"anyOf": [{"type": "null"}, {"properties": {"floor": {}}}]}},
    },
    "required": ["zip"],
}
MAIL = {
    "doc": "Sends a mail.",
    "params": {"type": "object", "properties": {"who": {"type": "string"}, "address": ADDRESS}},
}
SPECS, _ = load_manifest(json.dumps({"version": 1, "blocks": {"mail": MAIL}}))
HEAD = """\
workflow: a
inputs: {who: string}
secrets: [TOK]
steps:
  - id: first
    block: mail
    params:
      who: x
"""


class Own(Asked):
    """With a block of a host."""

    def __init__(self, text: str) -> None:
        super().__init__(text, {})
        self.program = program_of(self.files, {**BUILT_IN, **SPECS})

    def found(self) -> Completions:
        return complete(self.file, self.program, self.unit, self.offset)

    def accepted(self, label: str) -> str:
        """The text with an item taken, tab stops filled with what they suggest, else with a word."""
        found = self.found()
        item = next(one for one in found.items if one.label == label)
        insert = item.insert or item.label
        if item.snippet:
            insert = re.sub(r"\$\{\d+:([^}]*)\}|\$\d+", lambda stop: stop[1] or "", insert)
        line = self.text[self.text.rfind("\n", 0, found.start) + 1 : found.start]
        indent = line[: len(line) - len(line.lstrip(" "))]
        return self.text[: found.start] + insert.replace("\n", "\n" + indent) + self.text[found.end :]


def codes(text: str) -> list[str]:
    file = read_file(SourceText("here.workflow.yaml", text))
    return sorted(one.code for one in judge([file], SPECS) if one.code in FORM)


PLACES = [
    "  |\n",
    "   |\n",
    "     |\n",
    "    |\n",
    "  |\n  - {id: last, block: log, params: {message: x}}\n",
    "    |\n    timeout: 3\n",
    "      |\n",
    "      address: {|}\n",
    "      address: {zip: a, |}\n",
    "      address:\n        |\n",
    "      address:\n        doors:\n          |\n",
    "      address:\n        doors:\n          - |\n",
    "      address: {doors: [{|}]}\n",
    "      address: {street: {|}}\n",
    "    timeout: 3\n|\n",
    '    when: "{|}"\n',
    "    when: {|}\n",
    'outputs: {x: "{|}"}\n',
    '    next: "{|}"\n',
    "  - id: b\n    block: http\n    params:\n      url: http://x.example\n      expect:\n        - 200\n        |\n",
    "  - id: b\n    concurrency:\n      branches:\n        left:\n          steps:\n            |\n",
]


@pytest.mark.parametrize("tail", PLACES)
def test_what_is_offered_brings_no_error_of_form(tail: str) -> None:
    asked = Own(HEAD + tail)
    for label in asked.labels():
        assert codes(asked.accepted(label)) == [], label


@pytest.mark.parametrize(
    ("tail", "wanted"),
    [
        ("      address: {|}\n", ["zip", "doors", "street"]),
        ("      address: {|\n", ["zip", "doors", "street"]),
        ("      address: {s|}\n", ["zip", "doors", "street"]),
        ("      address:\n        |\n", ["zip", "doors", "street"]),
        ("      address:\n        zip: a\n        |\n", ["doors", "street"]),
        ("      address:\n        doors:\n          - |\n", ["floor"]),
        ("      address: {doors: [{|}]}\n", ["floor"]),
    ],
)
def test_members_of_a_parameter_at_any_depth(tail: str, wanted: list[str]) -> None:
    assert Own(HEAD + tail).labels() == wanted


@pytest.mark.parametrize(
    ("tail", "label", "wanted"),
    [
        ("  |\n", "id", "  - id: \n"),
        ("   |\n", "id", "  - id: \n"),
        ("  |\n", "delay", "  - id: \n    delay: 10m\n"),
        ("      who: {in|}\n", "inputs", '      who: "{inputs}"\n'),
        ("      who: {inputs.w|}\n", "who", '      who: "{inputs.who}"\n'),
        ("      who: {|\n", "inputs", '      who: "{inputs}"\n'),
    ],
)
def test_how_it_is_taken(tail: str, label: str, wanted: str) -> None:
    assert Own(HEAD + tail).accepted(label) == HEAD + wanted


@pytest.mark.parametrize(
    ("tail", "offered"),
    [
        ('    when: "{|}"\n', False),
        ('outputs: {x: "{|}"}\n', False),
        ('    next: "{|}"\n', False),
        ('      address: {zip: "{|}"}\n', True),
        ('    compensate: {block: mail, params: {who: "{|}"}}\n', True),
    ],
)
def test_secrets_are_offered_where_they_may_stand(tail: str, offered: bool) -> None:
    assert ("secrets" in Own(HEAD + tail).labels()) is offered
