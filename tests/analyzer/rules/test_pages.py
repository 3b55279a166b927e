"""The page of each rule: there is one, it has its parts, and its examples are what they claim to be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.analyzer.analysis import check_texts
from interlock.analyzer.rules import catalog
from interlock.analyzer.rules.catalog import RULES

PAGES = Path(catalog.__file__).parent / "pages"
HEADINGS = ("Why", "Bad", "Good", "How to mend it")
#: An error that cannot be suppressed is reported beside the suppression that tried it.
BESIDE = {"IL703": {"IL111"}}

every_rule = pytest.mark.parametrize("code", RULES)


def page_of(code: str) -> str:
    return (PAGES / f"{code}-{RULES[code].name}.md").read_text(encoding="utf-8")


def parts_of(page: str) -> dict[str, str]:
    """The text under each heading; the one above the first heading is under an empty name."""
    pieces = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)
    names = ["", *pieces[1::2]]
    assert len(set(names)) == len(names), "a heading stands twice"
    return dict(zip(names, pieces[::2], strict=True))


def example_of(code: str, part: str) -> str:
    found = re.fullmatch(r"\n```yaml\n(.*?)^```\n*", parts_of(page_of(code))[part], re.MULTILINE | re.DOTALL)
    assert found, f'"{part}" of {code} is not one example'
    return found[1]


def codes_in(text: str) -> set[str]:
    return {one.code for one in check_texts({"example.workflow.yaml": text})}


def test_each_rule_has_one_page() -> None:
    assert sorted(path.name for path in PAGES.iterdir()) == sorted(
        f"{rule.code}-{rule.name}.md" for rule in RULES.values()
    )


@every_rule
def test_the_page_has_its_parts_in_order(code: str) -> None:
    page = page_of(code)
    parts = parts_of(page)
    headings = [name for name in parts if name]
    assert headings in (list(HEADINGS), list(HEADINGS[:3]))
    title, _, says = parts[""].partition("\n")
    assert title == f"# {code} {RULES[code].name}"
    assert says.strip()
    assert len(re.findall(r"[.:;]\s", parts["Why"])) >= 2
    assert "How to mend it" not in parts or parts["How to mend it"].strip()
    assert page.endswith("\n")
    assert not page.endswith("\n\n")


@every_rule
def test_the_bad_example_breaks_this_rule_and_no_other(code: str) -> None:
    assert codes_in(example_of(code, "Bad")) == {code} | BESIDE.get(code, set())


@every_rule
def test_the_good_example_is_clean(code: str) -> None:
    assert codes_in(example_of(code, "Good")) == set()


@every_rule
def test_the_good_example_is_a_change_of_the_bad_one(code: str) -> None:
    assert example_of(code, "Bad") != example_of(code, "Good")
    bad, good = ({line.strip() for line in example_of(code, part).splitlines()} for part in ("Bad", "Good"))
    assert len(bad & good) * 2 >= len(good), "most of it should stay as it was"
