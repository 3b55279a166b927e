"""``interlock rules`` and ``interlock explain``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from check_support import Run

from interlock.analyzer.rules.catalog import RULES


def test_every_rule_is_listed(run: Run) -> None:
    done = run("rules")
    assert done.code == 0
    lines = done.out.splitlines()
    assert [line.split()[:2] for line in lines] == [[rule.code, rule.name] for rule in RULES.values()]
    listed = run("rules", "--json").json
    assert {row["code"] for row in listed["rules"] if row["fixable"]} == {r.code for r in RULES.values() if r.fixable}
    suppressible = {row["code"] for row in listed["rules"] if row["suppressible"] and row["severity"] == "error"}
    assert suppressible == {"IL310", "IL408", "IL409", "IL414"}


@pytest.mark.parametrize("word", ["nested-wait", "IL401", "il401"])
def test_a_rule_is_explained_by_its_name_or_code(run: Run, word: str) -> None:
    done = run("explain", word)
    assert done.code == 0
    assert done.out.startswith("# IL401 nested-wait\n")
    assert "The engine refuses it" in done.out.replace("the engine", "The engine")
    assert done.out.count("```yaml") == 2


def test_an_explanation_as_json_has_its_parts(run: Run) -> None:
    page = run("explain", "nested-wait", "--json").json
    assert (page["code"], page["severity"], page["fixable"]) == ("IL401", "error", False)
    assert all(page[part].strip() for part in ("summary", "why", "bad", "good"))
    assert page["bad"] != page["good"]


@pytest.mark.parametrize("word", ["nested-wait", "NESTED-WAIT", "Nested-Wait", "il401", "IL401"])
def test_a_rule_is_named_in_capitals_or_not(run: Run, word: str) -> None:
    done = run("explain", word)
    assert (done.code, done.out.split("\n")[0]) == (0, "# IL401 nested-wait")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("nested-wiat", 'did you mean "nested-wait"?'),
        ("NESTED-WIAT", 'did you mean "nested-wait"?'),
        ("qqqqqqq", "interlock rules lists them"),
        ("IL4", "rules are named one by one, and interlock rules lists them"),
    ],
)
def test_an_unknown_rule_is_one_line(run: Run, word: str, hint: str) -> None:
    done = run("explain", word)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert hint in done.err


def test_pages_are_written_with_an_index_and_old_ones_go(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "rules"
    folder.mkdir(parents=True)
    (folder / "IL999-gone-rule.md").write_text("old")
    (folder / "notes.md").write_text("mine")
    assert run("rules", "--write", "docs/rules").code == 0
    names = {path.name for path in folder.iterdir()}
    assert names == {"README.md", "notes.md", *(f"{rule.code}-{rule.name}.md" for rule in RULES.values())}
    index = (folder / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([^)]+)\)", index)) == names - {"README.md", "notes.md"}
    (tmp_path / "file").write_text("")
    done = run("rules", "--write", "file")
    assert (done.code, done.err.count("\n")) == (2, 1)
