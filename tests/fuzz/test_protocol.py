"""Conversations with the language server by chance, and what once broke one."""

from __future__ import annotations

import pytest

from fuzz.protocol import session


@pytest.mark.parametrize(
    "seed",
    [
        1,  # an id that is a list
        9,  # a command that nobody knows
        32,  # a request is given up by an id that is a mapping
        1000,
    ],
)
def test_every_request_is_answered_and_nothing_ends_it(seed: int) -> None:
    assert session(seed, 200) == []
