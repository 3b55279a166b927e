"""Near names: distance 1 up to four characters, 2 above, and no answer on a tie."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.analyzer.language.nearest import nearest, osa

words = st.text(alphabet="abc", max_size=6)


def reference(a: str, b: str) -> int:
    """The textbook recurrence over the full table."""
    table = [[i + j if not i or not j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            best = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, table[i - 2][j - 2] + 1)
            table[i][j] = best
    return table[-1][-1]


@given(words, words, st.integers(0, 4))
def test_the_distance_is_exact_up_to_the_limit(a: str, b: str, limit: int) -> None:
    assert osa(a, b, limit) == min(reference(a, b), limit + 1)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("stpes", "steps"),
        ("blok", "block"),
        ("cocnurrencyy", "concurrency"),
        ("concurrencyyyy", None),
        ("if", "id"),
        ("ad", None),
        ("steps", "steps"),
    ],
)
def test_nearest(word: str, found: str | None) -> None:
    assert nearest(word, ["steps", "block", "concurrency", "id", "as"]) == found


def test_a_candidate_named_twice_is_no_tie() -> None:
    assert nearest("stepz", ["steps", "steps"]) == "steps"
