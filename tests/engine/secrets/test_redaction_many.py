"""Hundreds of secrets are looked for at once: each is found in each of its forms, and the longer one first."""

from __future__ import annotations

import random

import pytest

from interlock.engine.secrets import StoreCipher, forms

ALPHABET = "abcABC019+/=%&é \"'\\ß"


def some(rng: random.Random) -> list[str]:
    """Secrets that begin alike, hold each other, and have to be encoded in many places."""
    made = ["".join(rng.choice(ALPHABET) for _ in range(rng.randint(6, 12))) for _ in range(60)]
    return made + [each + "".join(rng.choice(ALPHABET) for _ in range(4)) for each in made[:20]]


@pytest.mark.parametrize("seed", range(20))
def test_every_form_of_every_secret_is_hidden_whole(seed: int) -> None:
    rng = random.Random(seed)
    secrets = some(rng)
    cipher = StoreCipher(temporary=True, secrets=secrets)
    for secret in secrets:
        for form in forms(secret):
            assert cipher.redact(f"<{form}>", ()) == "<***>"
            assert cipher.redact(f"<{form.replace('%2F', '%2f')}>", ()) == "<***>"


def test_a_secret_that_begins_like_another_is_hidden_to_its_end() -> None:
    cipher = StoreCipher(temporary=True, secrets=["abc/de", 'abc/de"xyz', "abc/de more"])
    assert cipher.redact(r"1 abc/de\"xyz 2 abc%2fde+more 3 abc/de 4", ()) == "1 *** 2 *** 3 *** 4"
