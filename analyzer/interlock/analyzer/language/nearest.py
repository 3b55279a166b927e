"""Near names: the one measure behind every "did you mean".

Optimal string alignment: insertions, deletions, substitutions and swaps of two neighbours cost one
each. Near is a distance of 1 for words of up to 4 characters and of 2 above; a tie is no match.
What counts as a candidate is the caller's business.
"""

from __future__ import annotations

from collections.abc import Iterable


def osa(a: str, b: str, limit: int) -> int:
    """The distance between two words, or ``limit + 1`` as soon as it is known to be above ``limit``."""
    if a == b:
        return 0
    if abs(len(a) - len(b)) > limit:
        return limit + 1
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
    limit = 1 if len(word) <= 4 else 2
    best: str | None = None
    distance = limit + 1
    for candidate in dict.fromkeys(candidates):
        found = osa(word, candidate, limit)
        if found < distance:
            best, distance = candidate, found
        elif found == distance:
            best = None
    return best
