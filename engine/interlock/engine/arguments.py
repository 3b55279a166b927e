"""What a program hands to the Python API, judged before anything is done with it.

A wrong type is a `TypeError` and a wrong value a `ValueError`, each with one sentence: mistakes of the program,
where `CallerError` is for what only shows at a run or a store.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from datetime import timedelta
from typing import TypeAlias

Seconds: TypeAlias = float | timedelta
"""A span of time: a number of seconds, or a `timedelta`."""


def seconds(value: object, what: str) -> float:
    """A span of time in seconds, at least 0."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{what} is a number of seconds or a timedelta, not {_shown(value)}.")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{what} is 0 seconds or more, not {value}.")
    return float(value)


def whole(value: object, what: str, least: int = 0) -> int:
    """A whole number, at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} is a whole number, not {_shown(value)}.")
    if value < least:
        raise ValueError(f"{what} is {least} or more, not {value}.")
    return value


def name(value: object, what: str) -> str:
    """A text that is not empty."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not {_shown(value)}.")
    if not value:
        raise ValueError(f"{what} is a text of at least one character.")
    return value


def names(value: object, what: str) -> tuple[str, ...]:
    """Names that a collection holds; one text is no collection of its letters."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f'{what} is a list of texts, such as ["{_example(value)}"], not {_shown(value)}.')
    found = tuple(value)
    for each in found:
        if not isinstance(each, str):
            raise TypeError(f"{what} is a list of texts, and {_shown(each)} is none.")
    return tuple(sorted(found)) if isinstance(value, Set) else found


def _example(value: object) -> str:
    return value if isinstance(value, str) and value.isidentifier() else "name"


def secret_texts(source: object) -> list[str]:
    """The secrets that a mapping holds now (``None`` is one that is not given); none of a function's."""
    if source is None or (callable(source) and not isinstance(source, Mapping)):
        return []
    if not isinstance(source, Mapping):
        raise TypeError(f"secrets is a mapping from names to texts, or a function, not {_shown(source)}.")
    for key, value in source.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f'The secret "{key}" is a text or None, not of type {type(value).__name__}.')
    return [value for value in source.values() if value is not None]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]} …"
