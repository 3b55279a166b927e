"""Near names: the measure, and what it makes of many candidates."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from interlock.analyzer.language.nearest import near_words, nearest, osa

WORDS = st.text(alphabet="abc_1é", max_size=8)


def by_definition(a: str, b: str) -> int:
    """Optimal string alignment as it is defined, without a limit."""

    @cache
    def between(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        best = min(between(i - 1, j) + 1, between(i, j - 1) + 1, between(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            best = min(best, between(i - 2, j - 2) + 1)
        return best

    return between(len(a), len(b))


@given(WORDS, WORDS, st.integers(1, 3))
def test_the_distance_is_exact_up_to_its_limit(a: str, b: str, limit: int) -> None:
    assert min(osa(a, b, limit), limit + 1) == min(by_definition(a, b), limit + 1)


@given(WORDS, st.lists(WORDS, max_size=12))
def test_only_near_words_decide_what_is_nearest(word: str, candidates: list[str]) -> None:
    near = near_words(word, candidates)
    limit = 1 if len(word) <= 4 else 2
    assert near == [one for one in candidates if by_definition(word, one) <= limit]
    assert nearest(word, near) == nearest(word, candidates)
