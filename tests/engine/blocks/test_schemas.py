"""What the types of a block say to the analyzer, and that what a block gives has the form they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
import pytest

from interlock.analyzer.analysis import check_texts
from interlock.analyzer.language.blocks import load_manifest
from interlock.engine.blocks import Registry, block
from interlock.engine.blocks.schemas import result_schema, schema_of
from interlock.engine.ports import Failed, Outcome, Success

Run = Callable[..., Outcome]


class Tax(TypedDict):
    rate: int
    note: NotRequired[str]


@dataclass
class Line:
    net: int
    tax: Tax


class Bill(msgspec.Struct):
    gross: int
    lines: list[Line]
    by_name: dict[str, Line]
    first: Line | None = None
    title: str = ""


BILL = {"gross": 2, "lines": [], "by_name": {}, "first": None, "title": ""}


class Words(TypedDict):
    default: int
    enum: str


class Odd(msgspec.Struct):
    words: Words
    options: Annotated[Words, msgspec.Meta(description="The words.")]
    given: dict[str, Any] = msgspec.field(default_factory=dict)


@block("bill.struct", effects=False)
def struct_bill() -> Bill:
    line = {"net": 1, "tax": {"rate": 20, "rest": 1}}
    return Bill(2, [line], {"a": line}, line)  # type: ignore[list-item, dict-item, arg-type]


class Longer(Bill):
    more: int = 5


@block("bill.longer", effects=False)
async def longer_bill() -> Bill:
    return Longer(2, [], {})


@block("bill.dict", effects=False)
async def dict_bill() -> Tax:
    return {"rate": 20, "rest": 1}  # type: ignore[typeddict-unknown-key]


@block("bill.float", effects=False)
async def float_bill() -> float:
    return 3


@block("bill.open", effects=False)
async def open_bill() -> dict[str, int]:
    return {"anything": 1}


@block("bill.title", effects=False)
async def title_bill(title: str, line: Line | None = None) -> Any:
    return title


BLOCKS = (struct_bill, longer_bill, dict_bill, float_bill, open_bill, title_bill)


def found(expression: str, block: str = "bill.struct") -> list[str]:
    specs, problems = load_manifest(msgspec.json.encode(Registry(BLOCKS).manifest()))
    assert problems == ()
    text = f"workflow: w\nsteps: [{{id: a, block: {block}}}]\noutputs: {{x: '{{{expression}}}'}}\n"
    return [f"{one.code} {one.message}" for one in check_texts({"w.workflow.yaml": text}, specs)]


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("a.grosss", "grosss"),
        ("a.lines[0].nett", "nett"),
        ("a.lines[0].tax.rates", "rates"),
        ("a.by_name.any.nett", "nett"),
        ("a.first != null ? a.first.nett : 0", "nett"),
        ("a.lines.map(line, line.tax.rates)", "rates"),
    ],
)
def test_a_name_that_a_result_does_not_have_is_found(expression: str, name: str) -> None:
    (only,) = found(expression)
    assert only.startswith("IL205 ")
    assert f'"{name}"' in only


@pytest.mark.parametrize(
    "expression",
    ["a.gross", "a.title", "a.lines[0].tax.note", "a.by_name.anything.net", "a.first", "has(a.lines[0].tax.note)"],
)
def test_a_name_that_a_result_has_or_may_have_is_not(expression: str) -> None:
    assert found(expression) == []


def test_what_is_a_dict_stays_open() -> None:
    assert found("a.whatever", "bill.open") == []
    assert result_schema(dict[str, int]) == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert result_schema(dict[str, Any]) == {"type": "object"}
    assert result_schema(Any) is None


@block("keys", effects=False)
async def keys(given: dict[int, str]) -> dict[date, int]:
    return {date(2026, 1, key): key for key in given}


def test_keys_that_are_written_as_text_are_converted(run: Run) -> None:
    outcome = run("keys", {"given": {"1": "a", "12": "b"}}, blocks=(keys,))
    assert outcome == Success({"2026-01-01": 1, "2026-01-12": 12})
    refused = run("keys", {"given": {"one": "a"}}, blocks=(keys,))
    assert isinstance(refused, Failed)
    assert (refused.code, refused.effect) == ("bad-value", "none")


class Order(TypedDict):
    name: str
    line: NotRequired[Line]


@block("order.whole", effects=False)
async def whole_order(params: Order) -> str:
    return params["name"]


def test_names_of_params_are_held_also_where_they_are_taken_as_a_whole(run: Run) -> None:
    spec = Registry([whole_order]).specs["order.whole"]
    assert spec.params["additionalProperties"] is False
    assert "additionalProperties" not in spec.params["properties"]["line"]
    assert run("order.whole", {"name": "n"}, blocks=(whole_order,)) == Success("n")
    assert run("order.whole", {"name": "n", "lin": 1}, blocks=(whole_order,)) == Failed(
        "bad-value", 'Block "order.whole" has no parameter "lin".', "none"
    )


def test_what_is_taken_may_hold_more_where_its_type_says_nothing_against_it() -> None:
    class Strict(msgspec.Struct, forbid_unknown_fields=True):
        line: Line

    assert schema_of(Strict)["additionalProperties"] is False
    assert "additionalProperties" not in schema_of(Strict)["properties"]["line"]
    assert result_schema(Strict)["properties"]["line"]["additionalProperties"] is False  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (
            "bill.struct",
            BILL
            | {
                "lines": [{"net": 1, "tax": {"rate": 20}}],
                "by_name": {"a": {"net": 1, "tax": {"rate": 20}}},
                "first": {"net": 1, "tax": {"rate": 20}},
            },
        ),
        ("bill.longer", BILL),
        ("bill.dict", {"rate": 20}),
        ("bill.open", {"anything": 1}),
    ],
)
def test_a_result_holds_what_its_type_says_and_no_more(run: Run, name: str, given: Any) -> None:
    assert run(name, {}, blocks=BLOCKS) == Success(given)


def test_a_result_that_is_said_to_be_a_float_is_one(run: Run) -> None:
    outcome = run("bill.float", {}, blocks=BLOCKS)
    assert isinstance(outcome, Success)
    assert type(outcome.result) is float


def test_a_name_is_no_word_of_the_schema(run: Run) -> None:
    """A parameter or a field may be called as a word of JSON Schema is."""
    params = Registry(BLOCKS).specs["bill.title"].params
    assert params["properties"]["title"] == {"type": "string"}
    assert params["required"] == ["title"]
    assert found("a.title") == []

    made = schema_of(Odd)
    assert set(made["properties"]["words"]["properties"]) == {"default", "enum"}
    assert made["properties"]["options"]["description"] == "The words."
    assert made["properties"]["given"]["default"] == {}


def test_a_default_stands_in_the_schema_as_it_is() -> None:
    class Said(msgspec.Struct):
        what: tuple[Any, ...] = ({"title": "x", "$ref": "y"},)

    assert [*schema_of(Said)["properties"]["what"]["default"]] == [{"title": "x", "$ref": "y"}]


@block("say", effects=False)
async def say(what: dict[str, list[int]] = {"a": [1]}) -> dict[str, list[int]]:  # noqa: B006
    what["a"].append(2)
    return what


def test_a_default_that_can_be_changed_is_new_at_each_call(run: Run) -> None:
    assert run("say", {}, blocks=(say,), repeat=2) == Success({"a": [1, 2]})
