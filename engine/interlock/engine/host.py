"""What a process brings to the engine: clock, ids, secrets, and the store's place and key."""

from __future__ import annotations

import os
import random
import secrets as randomness
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from interlock.engine.blocks.registry import Registry
from interlock.engine.definition import load_definition
from interlock.engine.errors import CallerError
from interlock.engine.evaluate import TemplateEvaluator
from interlock.engine.kernel import SqliteKernel, open_kernel
from interlock.engine.ports import Services
from interlock.engine.secrets import StoreCipher

DEFAULT_STORE = "sqlite:///.interlock/state.db"
SQLITE = "sqlite:///"
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"

SecretSource: TypeAlias = Mapping[str, str | None] | Callable[[str], str | None]
"""The host's secrets by name: a mapping, or a function that is asked at each use."""


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class SystemIds:
    """Ids that sort by the time they were made: nine characters of time, eleven at random."""

    def run(self) -> str:
        moment = time.time_ns() // 1_000_000
        value = (moment << 55) | randomness.randbits(55)
        return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(95, -1, -5))

    def token(self) -> str:
        return randomness.token_hex(8)

    def jitter(self) -> float:
        return random.random()


def secret_value(source: SecretSource | None, name: str) -> str | None:
    """A secret of the host, None where it has none of this name."""
    if source is None:
        return None
    return source.get(name) if isinstance(source, Mapping) else source(name)


def store_file(url: str) -> str | None:
    """The path of an SQLite store, None for another kind of store."""
    return url.removeprefix(SQLITE) if url.startswith(SQLITE) else None


def open_store(
    url: str,
    registry: Registry,
    *,
    secrets: Iterable[str] = (),
    synchronous: str = "FULL",
    make: bool = True,
) -> tuple[SqliteKernel, StoreCipher]:
    """The kernel of a store, and the cipher that hides these secrets in all that it shows.

    With ``make`` false a store that does not exist is `CallerError` ``unknown-run``: a reading
    command makes none.  Other codes are those of `open_kernel`.
    """
    path = store_file(url)
    if path is not None:
        if path in ("", "."):
            raise CallerError("not-allowed", f'"{url}" names no file; use sqlite:///PATH.')
        if not os.path.exists(path):
            if not make:
                raise CallerError("unknown-run", f'There is no store at "{path}" yet.')
            _make_folder(path)
    cipher = StoreCipher(f"{path}.key" if path is not None else None, secrets=secrets, temporary=path is None)
    return open_kernel(url, services_of(registry, cipher, synchronous)), cipher


def services_of(registry: Registry, cipher: StoreCipher, synchronous: str = "FULL") -> Services:
    """What a kernel of this process is given."""
    return Services(
        evaluator=TemplateEvaluator(),
        blocks=registry,
        clock=SystemClock(),
        ids=SystemIds(),
        cipher=cipher,
        load=load_definition,
        synchronous="NORMAL" if synchronous == "NORMAL" else "FULL",
    )


def _make_folder(path: str) -> None:
    folder = os.path.dirname(path)
    try:
        if folder and not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)
            if os.path.basename(folder) == ".interlock":
                # What is in it belongs to this machine, the key most of all.
                with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as file:
                    file.write("*\n")
    except OSError as error:
        raise CallerError(
            "store-readonly", f'The folder "{folder}" cannot be made: {error.strerror or error}.'
        ) from None
