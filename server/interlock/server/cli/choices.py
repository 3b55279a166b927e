"""Arguments that are not just any text: a wrong one is refused with what was meant."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from interlock.analyzer.language.nearest import nearest


def one_of(what: str, words: Sequence[str]) -> Callable[[str], str]:
    """The ``type=`` of such an argument; ``what`` names its kind."""

    def chosen(word: str) -> str:
        if word in words:
            return word
        begun = [each for each in words if word and each.startswith(word)]
        near = nearest(word, words)
        meant = [near] if near is not None else begun
        if meant:
            hint = "did you mean " + " or ".join(f'"{each}"' for each in meant) + "?"
        else:
            hint = "it is one of " + ", ".join(words)
        raise argparse.ArgumentTypeError(f'there is no {what} "{word}"; {hint}')

    return chosen


def not_empty(word: str) -> str:
    """The ``type=`` of a name of the user's own."""
    if not word:
        raise argparse.ArgumentTypeError("it is a text of at least one character")
    return word
