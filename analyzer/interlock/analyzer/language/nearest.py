"""Near names: the one measure behind every "did you mean".

Optimal string alignment: insertions, deletions, substitutions and swaps of two neighbours cost one
each. Near is a distance of 1 for words of up to 4 characters and of 2 above; a tie is no match.
What counts as a candidate is the caller's business.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache


def osa(a: str, b: str, limit: int) -> int:
    """The distance between two words, or ``limit + 1`` as soon as it is known to be above ``limit``."""
    if a == b:
        return 0
    if not a or not b:
        return min(len(a) + len(b), limit + 1)
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    if a[0] == b[0] or a[-1] == b[-1]:
        # What both begin or end with costs nothing, and most names are alike there.
        start, most = 0, min(len(a), len(b))
        while start < most and a[start] == b[start]:
            start += 1
        end = 0
        while end < most - start and a[-1 - end] == b[-1 - end]:
            end += 1
        a, b = a[start : len(a) - end], b[start : len(b) - end]
        if not a or not b:
            return len(a) + len(b)
        if abs(len(a) - len(b)) <= limit and (len(a) == 1 or len(b) == 1):
            return min(max(len(a), len(b)) - (a in b or b in a), limit + 1)
    width = len(b) + 1
    before: list[int] = []
    above = list(range(width))
    for i, letter in enumerate(a, 1):
        row = [i] * width
        for j in range(1, width):
            other = b[j - 1]
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                best = min(best, before[j - 2] + 1)
            row[j] = best
        # A swap reaches back two rows, so only two rows past the limit end the search.
        if min(row) > limit and min(above) > limit:
            return limit + 1
        before, above = above, row
    return min(above[-1], limit + 1)


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The one candidate that is near ``word``; None where none is, or where two are equally near."""
    best: str | None = None
    distance = limit_of(word) + 1
    for candidate in near_words(word, dict.fromkeys(candidates)):
        found = osa(word, candidate, distance)
        if found < distance:
            best, distance = candidate, found
        elif found == distance:
            best = None
    return best


def limit_of(word: str) -> int:
    """How far a name may be from a word to be near it."""
    return 1 if len(word) <= 4 else 2


def near_words(word: str, candidates: Iterable[str]) -> list[str]:
    """The candidates that are near ``word``: no other can be its nearest one, or make it a tie."""
    limit = limit_of(word)
    shortest, longest, mine = len(word) - limit, len(word) + limit, _letters(word)
    found: list[str] = []
    for one in candidates:
        if not shortest <= len(one) <= longest:
            continue
        letters = _letters(one)
        if (mine & ~letters).bit_count() > limit or (letters & ~mine).bit_count() > limit:
            continue  # each change brings in or takes away one letter at the most
        if osa(word, one, limit) <= limit:
            found.append(one)
    return found


@lru_cache(maxsize=50_000)
def _letters(word: str) -> int:
    """The set of the characters of a word, as bits; unlike ones may share a bit."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 127)
    return bits
