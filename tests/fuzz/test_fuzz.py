"""Texts that once broke something, and some hundred mutated ones: nothing raises, nothing hangs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz.campaign import tried
from fuzz.mutate import corpus, mutated

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_a_text_that_once_broke_something(path: Path) -> None:
    for seed in range(5):
        assert tried(path.read_bytes(), seed) is None


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_mutated_texts(first: int) -> None:
    texts = corpus()
    for seed in range(first, first + 100):
        assert tried(mutated(random.Random(seed), texts), seed) is None, f"seed {seed}"
