"""Canonical JSON (RFC 8785) and the texts of numbers."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.values import NotJson, canonical, json_value, load, number_text


# The examples of RFC 8785, appendix B.
@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_read_as_the_standard_says(bits: str, text: str) -> None:
    assert number_text(struct.unpack(">d", bytes.fromhex(bits))[0]) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_text_gives_the_number_back(value: float) -> None:
    assert float(number_text(value)) == value


def test_keys_are_sorted_by_utf16_units_and_texts_escaped() -> None:
    value = {"\ufb33": 1, "😀": 2, "é": 3, "1": 4, "\r": '\x0f\n"\\€/'}
    assert canonical(value) == '{"\\r":"\\u000f\\n\\"\\\\€/","1":4,"é":3,"😀":2,"\ufb33":1}'


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(-(2.0**53), 2.0**53)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@given(json_values)
def test_canonical_text_is_json_of_the_same_value(value: object) -> None:
    assert json.loads(canonical(value)) == value
    assert load(canonical(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {1: 2}, b"x", {"a": [object()]}, 10**400])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(NotJson):
        json_value(value)
