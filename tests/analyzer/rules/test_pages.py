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

#: Where the message leaves nothing to add.
SAYS_IT_ALL = {"IL201", "IL209", "IL413"}

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


def hints_for(text: str) -> list[str]:
    return [one.hint or "" for one in check_texts({"example.workflow.yaml": text})]


@every_rule
def test_an_error_of_the_bad_example_says_what_to_do(code: str) -> None:
    """By a hint or a fix, or in the message itself: a message that only names the mistake is not enough."""
    for one in check_texts({"example.workflow.yaml": example_of(code, "Bad")}):
        assert one.message.endswith(".")
        assert one.message[:1] == one.message[:1].upper()
        assert one.hint or one.fix or ";" in one.message or code in SAYS_IT_ALL, one.message


def test_hints_name_the_legal_form() -> None:
    assert hints_for(example_of("IL106", "Bad")) == ['Write it as "fetch_image", here and where it is read.']
    assert hints_for(example_of("IL105", "Bad")) == ['Put quotes around it: "1.10".']
    assert [hint.partition("{")[2] for hint in hints_for(example_of("IL204", "Bad"))] == [
        "gather.branches.price.output.price_of}.",
        "gather.branches.text.output.text_of}.",
    ]
    assert hints_for(example_of("IL304", "Bad")) == [
        '"supersede" is a policy for the admission of runs, at the top level.'
    ]
