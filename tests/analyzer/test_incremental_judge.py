"""Whatever is edited, judging again gives what judging anew gives."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.analyzer.analysis import FileModel, diagnose, judge, read_file
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.incremental import Judge
from interlock.analyzer.source.text import SourceText

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from workflow_texts import workflow_text  # noqa: E402

FAULTY = """\
workflow: faulty
inputs:
  a: string
  b: {type: integer, required: false}
  token: {type: string, secret: true}
secrets: [KEY]
steps:
  - id: one
    when: "{inputs.a != ''}"
    block: http
    params: {url: "http://x.example/{inputs.b}", method: GET}
  - id: two
    block: set
    params: {v: "{one.json}", s: "{secrets.KEY}"}
  - id: three
    block: log
    params: {message: "{two.s} {one.status} {four.status} {nothing} {state.one}"}
  - id: four
    block: http
    params: {url: 5, expect: [x], extra: 1}
    retry: {max_attempts: 0}
  - id: many
    for_each:
      items: [1, 2]
      steps:
        - id: one
          block: log
          params: {message: "{item + 1} {index} {two.v.x} ghp_abcdefghijklmnopqrstuvwxyz0123456789"}
  - id: sides
    concurrency:
      limit: 9
      branches:
        left:
          steps:
            - id: inner
              block: log
              params: {message: "{four.nothing}"}
        right:
          steps:
            - id: other
              block: fail
              params: {message: "{inner.x}"}
  - id: ask
    wait_for_decision: {result_key: two}
  - id: lock
    concurrency:
      resource: "k:{secrets.KEY}"
      steps:
        - id: write
          block: http
          params: {url: "http://x.example", method: POST}
        - id: again
          block: http
          params: {url: "http://x.example", method: POST}
outputs:
  x: "{two.s}"
"""
LETTERS = [
    "x",
    "1",
    " ",
    "{",
    "}",
    '"',
    "inputs.a",
    "secrets.KEY",
    "one",
    "two.v",
    ".",
    "size(",
    ")",
    "\n",
    "#",
    ": ",
    "&n ",
    "*n",
]


def texts() -> Iterator[tuple[str, str]]:
    yield "faulty", FAULTY
    yield "ordinary", workflow_text(150, seed=3)
    for name in ("absent_a", "form", "scope", "secret_flows"):
        yield name, (ROOT / f"tests/analyzer/cases/{name}.workflow.yaml").read_text("utf-8")


def checked(files: list[FileModel], judge_them: Judge | None) -> list[Diagnostic]:
    return diagnose(files, judge(files) if judge_them is None else judge_them.judge(files))


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in texts()])
def test_edits_of_any_kind(text: str) -> None:
    chance = random.Random(len(text))
    again = Judge()
    model: FileModel | None = None
    now = text
    for number in range(40):
        if number % 12 == 0:
            now = text
        else:
            at = chance.randint(0, len(now))
            end = min(len(now), at + chance.choice((0, 0, 0, 1, 2, 8)))
            now = now[:at] + (chance.choice(LETTERS) if chance.random() < 0.75 else "") + now[end:]
        model = read_file(SourceText("a.workflow.yaml", now), model)
        fresh = read_file(SourceText("a.workflow.yaml", now))
        assert checked([model], again) == checked([fresh], None), now


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in texts()])
def test_edits_of_letters_alone(text: str) -> None:
    chance = random.Random(len(text))
    again, model, now = Judge(), None, text
    places = [at for at, letter in enumerate(text) if letter.isalpha()]
    for number in range(40):
        if number % 10 == 0:
            now = text
        at = chance.choice(places)
        now = now[:at] + chance.choice("abxyz019_") + now[at + 1 :]
        if chance.random() < 0.3:
            now = text[:at] + chance.choice(("q", "", "é")) + text[at:]
        model = read_file(SourceText("a.workflow.yaml", now), model)
        fresh = read_file(SourceText("a.workflow.yaml", now))
        assert checked([model], again) == checked([fresh], None), now


def test_an_inner_edit_judges_one_step_and_not_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    import interlock.analyzer.incremental as incremental

    seen: list[int] = []
    original = incremental._judge_unit

    def watched(unit: object, give_way: object) -> object:
        seen.append(len(unit.workflow.steps.steps))  # type: ignore[attr-defined]
        return original(unit, give_way)  # type: ignore[arg-type]

    monkeypatch.setattr(incremental, "_judge_unit", watched)
    text = workflow_text(600, seed=1)
    again = Judge()
    model = read_file(SourceText("a.workflow.yaml", text))
    again.judge([model])
    at = text.index("/items/", len(text) // 2) + 1
    model = read_file(SourceText("a.workflow.yaml", text[:at] + "x" + text[at:]), model)
    again.judge([model])
    assert len(seen) == 2
    assert seen[1] < 5 < seen[0]
