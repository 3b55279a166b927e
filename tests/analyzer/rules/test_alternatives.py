"""IL209 where a parameter may be one of several things: the fault of the one that was meant is told."""

from __future__ import annotations

from typing import Any

import pytest
from found import diagnostics

from interlock.analyzer.language.blocks import BlockSpec

TEXT = {"type": "string"}
NULL = {"type": "null"}


def closed(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


ADDRESS = closed("street", "zip", street=TEXT, zip={"type": "integer"})
CARD = closed("kind", "number", kind={"enum": ["card"]}, number=TEXT)
BANK = closed("kind", "iban", kind={"enum": ["bank"]}, iban=TEXT)
CASH = closed("kind", kind={"const": "cash"})


def said(schema: Any, written: str) -> list[str]:
    spec = BlockSpec("n.a", "", closed(v=schema))
    step = f"{{id: a, block: n.a, params: {{v: {written}}}}}"
    text = f"workflow: w\ninputs: {{x: any}}\nsteps: [{step}]\noutputs: {{x: '{{inputs.x}}'}}\n"
    return [f"{one.code} {one.message}" for one in diagnostics(text, blocks={"n.a": spec})]


@pytest.mark.parametrize("options", [[ADDRESS, NULL], [NULL, ADDRESS], [TEXT, ADDRESS, NULL], [{"anyOf": [ADDRESS]}]])
@pytest.mark.parametrize(
    ("written", "says"),
    [
        (
            "{street: 3, zip: y}",
            [
                'IL209 "v.street" of "n.a" takes a text, not 3.',
                'IL209 "v.zip" of "n.a" takes a whole number, not the text "y".',
            ],
        ),
        ("{street: s}", ['IL209 "v" of "n.a" needs "zip", and it is missing.']),
        ("{street: s, zip: 1, town: t}", ['IL209 "v" of "n.a" has no parameter "town".']),
        ("{street: 's {inputs.x}', zip: 'z {inputs.x}'}", ['IL206 "v.zip" of "n.a" takes a whole number, and this']),
        ("{street: s, zip: '{inputs.x}'}", []),
    ],
)
def test_a_mapping_is_held_against_the_alternative_that_is_one(options: Any, written: str, says: list[str]) -> None:
    found = said({"anyOf": options}, written)
    assert len(found) == len(says)
    assert all(one.startswith(start) for one, start in zip(found, says, strict=True))


@pytest.mark.parametrize(
    ("schema", "written", "says"),
    [
        ({"anyOf": [ADDRESS, NULL]}, "5", 'IL209 "v" of "n.a" takes a mapping or null, not 5.'),
        ({"anyOf": [ADDRESS, NULL]}, "[]", 'IL209 "v" of "n.a" takes a mapping or null, not a list.'),
        ({"anyOf": [{"enum": ["red", "blue"]}, NULL]}, "rad", 'IL209 "v" of "n.a" is one of red, blue, not the text'),
        ({"anyOf": [{"type": "integer", "minimum": 5}, NULL]}, "4", 'IL209 "v" of "n.a" is at least 5, not 4.'),
        (
            {"anyOf": [{"type": "array", "items": ADDRESS}, NULL]},
            "[{street: s, zip: 1}, {street: 3, zip: 1}]",
            'IL209 "v.1.street" of "n.a" takes a text, not 3.',
        ),
        ({"anyOf": [{"enum": [1, 2]}, TEXT]}, "2.5", 'IL209 "v" of "n.a" is one of 1, 2, not 2.5.'),
    ],
)
def test_other_values_are_told_the_fault_of_their_kind(schema: Any, written: str, says: str) -> None:
    (only,) = said(schema, written)
    assert only.startswith(says)


@pytest.mark.parametrize(
    ("schema", "right", "wrong", "says"),
    [
        ({"type": "integer", "minimum": 1}, "1", "0", '"v" of "n.a" is at least 1, not 0.'),
        ({"type": "integer", "maximum": 1}, "1", "2", '"v" of "n.a" is at most 1, not 2.'),
        ({"type": "integer", "exclusiveMinimum": 1}, "2", "1", '"v" of "n.a" is more than 1, not 1.'),
        ({"type": "number", "exclusiveMaximum": 1}, "0.5", "1.0", '"v" of "n.a" is less than 1, not 1.0.'),
        ({"type": "string", "maxLength": 2}, "ab", "abc", '"v" of "n.a" takes at most 2 characters, and this has 3.'),
        ({"type": "array", "maxItems": 1}, "[1]", "[1, 2]", '"v" of "n.a" takes at most 1 items, and this has 2.'),
        (
            {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False},
            "[a, 1]",
            "[a, b]",
            '"v.1" of "n.a" takes a whole number, not the text "b".',
        ),
    ],
)
def test_what_the_types_of_a_block_can_bound_is_held(schema: Any, right: str, wrong: str, says: str) -> None:
    assert said(schema, right) == []
    assert said(schema, wrong) == [f"IL209 {says}"]


@pytest.mark.parametrize(
    ("kind", "written", "says"),
    [
        ("integer", "5", None),
        ("integer", "-9223372036854775808", None),
        ("number", "5", None),
        ("number", "5.0", None),
        ("number", "9223372036854775808", None),
        ("integer", "5.0", '"v" of "n.a" takes a whole number, not 5.0.'),
        ("integer", "1e3", '"v" of "n.a" takes a whole number, not 1000.0.'),
        ("integer", "9223372036854775808", '"v" of "n.a" takes a whole number, not 9.223372036854776e+18.'),
    ],
)
def test_a_whole_number_is_one_without_a_fraction_and_within_64_bits(kind: str, written: str, says: str | None) -> None:
    """As the engine reads them, which refuses a double where a block takes a whole number."""
    assert said({"type": kind}, written) == ([f"IL209 {says}"] if says else [])


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("{kind: bank, iban: 5}", ['IL209 "v.iban" of "n.a" takes a text, not 5.']),
        ("{kind: card, iban: x}", ['IL209 "v" of "n.a" needs "number"', 'IL209 "v" of "n.a" has no parameter "iban".']),
        ("{kind: cash, iban: x}", ['IL209 "v" of "n.a" has no parameter "iban".']),
        ("{kind: bnk, iban: x}", ['IL209 "v.kind" of "n.a" is one of card, bank, cash, not the text "bnk".']),
        ("{iban: x}", ['IL209 "v" of "n.a" needs "kind", and it is missing.']),
        ("{kind: bank, iban: x}", []),
        ("{kind: '{inputs.x}', iban: x}", []),
        ("null", []),
    ],
)
def test_mappings_with_a_word_that_tells_them_apart_are_judged_by_it(written: str, says: list[str]) -> None:
    for schema in ({"anyOf": [CARD, BANK, CASH, NULL]}, {"anyOf": [{"anyOf": [CARD, BANK, CASH]}, NULL]}):
        found = said(schema, written)
        assert len(found) == len(says)
        assert all(one.startswith(start) for one, start in zip(found, says, strict=True))
