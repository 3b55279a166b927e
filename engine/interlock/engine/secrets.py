"""Encryption of what is secret at rest, and its redaction wherever text is shown (section 11).

The key is the environment's ``INTERLOCK_KEY``, else a file of mode 0600 beside an SQLite store, made
when the first secret is stored.  Which values are secret is left to the core.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import json
import os
import re
import secrets as randomness
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import quote, quote_plus

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from interlock.engine.errors import CallerError

STARS = "***"
SHORTEST = 6
"""Texts of fewer characters are never looked for: they occur in everything."""

_PLAIN = re.compile(r"[A-Za-z0-9._~-]+")  # what nobody encodes in an address
_CODE = re.compile(r"%[0-9A-F]{2}")
_VERSION = b"\x01"
_KEY_BYTES = 32
_ID_BYTES = 4
_NONCE_BYTES = 12


# --- forms of a secret -------------------------------------------------------------------------


def _base64_forms(data: bytes) -> Iterable[str]:
    """The stretch of base64 that shows the data whatever stands before and after it.

    Three bytes make four characters, so there is one form for each of three alignments, without the
    characters at its ends that neighbours also decide.
    """
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        first = -(-shift * 8 // 6)
        last = (shift + len(data)) * 8 // 6
        form = encoded[first:last]
        yield form
        yield form.replace("+", "-").replace("/", "_")


def forms(secret: str) -> frozenset[str]:
    """The ways in which a secret is recognised: plain, as base64, URL-encoded, escaped in JSON and by Python.

    URL-encoded here is all or nothing; `_partly_encoded` knows what lies between.
    """
    raw = secret.encode("utf-8", "surrogatepass")
    found = {secret, *_base64_forms(raw)}
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        found.add(encoded)
    for ascii_only in (True, False):
        found.add(json.dumps(secret, ensure_ascii=ascii_only)[1:-1])
    found.update((repr(secret)[1:-1], repr(raw)[2:-1]))
    return frozenset(form for form in found if len(form) >= SHORTEST)


@lru_cache(maxsize=512)
def _pattern(secrets: frozenset[str]) -> re.Pattern[str] | None:
    """One pattern for all forms of all secrets, the longest first where several begin alike.

    Grouped by their first two characters: with hundreds of secrets a place in a text is then looked at once, and
    not once for each form.
    """
    groups: dict[str, dict[str, dict[str, int]]] = {}
    for secret in secrets:
        if len(secret) < SHORTEST:
            continue
        written = [_written(form) for form in forms(secret)]
        if not _PLAIN.fullmatch(secret):
            written.append(_partly_encoded(secret))
        for parts in written:
            size = len(parts)
            for lead, rest in _leads(parts, 2):
                groups.setdefault(lead[0], {}).setdefault(lead[1], {})[_regex(rest)] = size
    if not groups:
        return None
    firsts = []
    for first, seconds in sorted(groups.items()):
        inner = [
            re.escape(second) + _either(sorted(rests, key=lambda rest, sizes=rests: (-sizes[rest], -len(rest), rest)))
            for second, rests in sorted(seconds.items())
        ]
        firsts.append(re.escape(first) + _either(inner))
    return re.compile("|".join(firsts))


Part: TypeAlias = "str | tuple[tuple[str, ...], ...]"
"""What stands at one place of a form: one of the characters of a text, or one of several rows of such texts."""


def _written(form: str) -> list[Part]:
    """A form as its parts.  URL-encoding writes its hexadecimal digits in either case."""
    parts: list[Part] = []
    at = 0
    for code in _CODE.finditer(form):
        parts += form[at : code.start()]
        parts += _code(code[0])
        at = code.end()
    return [*parts, *form[at:]]


def _code(code: str) -> tuple[str, ...]:
    return tuple(digit if digit == digit.lower() else digit + digit.lower() for digit in code)


def _partly_encoded(secret: str) -> list[Part]:
    """The secret in an address: which characters are encoded there is each program's own choice."""
    parts: list[Part] = []
    for character in secret:
        if _PLAIN.fullmatch(character):
            parts.append(character)
            continue
        encoded = "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
        ways = [(character,), _code(encoded)]
        parts.append((*ways, ("+",)) if character == " " else tuple(ways))
    return parts


def _leads(parts: Sequence[Part], size: int) -> Iterator[tuple[str, Sequence[Part]]]:
    """The ways in which the first characters can be written, each with the parts after them."""
    if not size or not parts:
        yield "", parts
        return
    head, tail = parts[0], parts[1:]
    if isinstance(head, str):
        for character in head:
            for lead, rest in _leads(tail, size - 1):
                yield character + lead, rest
    else:
        for way in head:
            yield from _leads([*way, *tail], size)


def _regex(parts: Iterable[Part]) -> str:
    return "".join(_one_of(part) if isinstance(part, str) else _either(map(_regex, part)) for part in parts)


def _one_of(characters: str) -> str:
    return re.escape(characters) if len(characters) == 1 else f"[{characters}]"


def _either(ways: Iterable[str]) -> str:
    return f"(?:{'|'.join(ways)})"


def texts_in(value: Any) -> Iterable[str]:
    """Every text of a JSON value that is long enough to be looked for; numbers by their digits."""
    if isinstance(value, dict):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value)
        if len(text) >= SHORTEST:
            yield text


# --- the key -----------------------------------------------------------------------------------


def _given_key(text: str) -> bytes:
    """The key that ``INTERLOCK_KEY`` says: 32 bytes in base64, or a passphrase."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raw = b""
    if len(raw) == _KEY_BYTES:
        return raw
    if len(text) < 16:
        raise CallerError(
            "store-key",
            "INTERLOCK_KEY is too short; use 32 random bytes in base64, or 16 characters or more.",
        )
    return hashlib.scrypt(text.encode(), salt=b"interlock store key", n=2**14, r=8, p=1, dklen=_KEY_BYTES)


def _read_key(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o077
            raw = file.read(4096)
    except FileNotFoundError:
        raise CallerError(
            "store-key", f'The key file "{path}" is missing; put it back, or set INTERLOCK_KEY.'
        ) from None
    except OSError as error:
        raise CallerError("store-key", f'The key file "{path}" cannot be read: {error.strerror or error}.') from None
    if mode:
        raise CallerError("store-key", f'The key file "{path}" is open to others; do: chmod 600 "{path}".')
    try:
        key = base64.b64decode(raw.strip(), validate=True)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise CallerError("store-key", f'The key file "{path}" holds no key; put the right one back.')
    return key


def _make_key(path: str) -> bytes:
    """The key of a file that is made now, or of the one that another process made first."""
    temporary = f"{path}.{os.getpid()}.{randomness.token_hex(4)}"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(base64.b64encode(randomness.token_bytes(_KEY_BYTES)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            # A link is made whole or not at all, and never over another's file.
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(temporary)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CallerError("store-full", "The disk is full; nothing was stored.") from None
        raise CallerError(
            "store-key",
            f'The key file "{path}" cannot be made: {error.strerror or error}; set INTERLOCK_KEY.',
        ) from None
    return _read_key(path)


def _sync_folder(path: str) -> None:
    """Have the name of a file on the disk, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class StoreCipher:
    """Seals with AES-256-GCM, and hides secrets in text (a `Cipher`).

    ``path`` is the key file; None without one (then ``INTERLOCK_KEY`` is needed, unless
    ``temporary`` makes a key for this process only, as for a store in memory).  ``secrets`` are the
    host's own, hidden everywhere.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
        temporary: bool = False,
    ) -> None:
        self._path = path
        self._given = (os.environ if environment is None else environment).get("INTERLOCK_KEY") or None
        self._key: bytes | None = randomness.token_bytes(_KEY_BYTES) if temporary else None
        self._secrets = frozenset(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Hide these texts of the host from now on."""
        self._secrets |= frozenset(secrets)

    def _known_key(self, make: bool) -> bytes:
        if self._key is None:
            if self._given is not None:
                self._key = _given_key(self._given)
            elif self._path is None:
                raise CallerError("store-key", "This store keeps secrets only with a key; set INTERLOCK_KEY.")
            elif make:
                self._key = _read_key(self._path) if os.path.exists(self._path) else _make_key(self._path)
                # What is sealed from now on is worth nothing if a loss of power takes the file's name again.
                _sync_folder(self._path)
            else:
                self._key = _read_key(self._path)
        return self._key

    def seal(self, data: bytes) -> bytes:
        """The data encrypted and authenticated; `CallerError` ``store-key`` without a key."""
        key = self._known_key(make=True)
        nonce = randomness.token_bytes(_NONCE_BYTES)
        return _VERSION + _key_id(key) + nonce + AESGCM(key).encrypt(nonce, data, None)

    def unseal(self, data: bytes) -> bytes:
        """What was sealed; `CallerError` ``store-key`` for another key, ``store-corrupt`` for damage."""
        key = self._known_key(make=False)
        head = len(_VERSION) + _ID_BYTES
        if data[:1] != _VERSION or len(data) < head + _NONCE_BYTES:
            raise CallerError("store-corrupt", "A sealed value of the store is damaged.")
        if data[1:head] != _key_id(key):
            raise CallerError(
                "store-key", "This store's secrets were sealed under another key; give the one used before."
            )
        try:
            return AESGCM(key).decrypt(data[head : head + _NONCE_BYTES], data[head + _NONCE_BYTES :], None)
        except InvalidTag:
            raise CallerError("store-corrupt", "A sealed value of the store is damaged.") from None

    def own_in(self, text: str) -> tuple[str, ...]:
        """The host's secrets that occur in a text in any form; whoever stores it must remember them."""
        pattern = _pattern(self._secrets) if self._secrets else None
        if pattern is None or pattern.search(text) is None:
            return ()
        found = []
        for secret in sorted(self._secrets):
            one = _pattern(frozenset((secret,)))
            if one is not None and one.search(text) is not None:
                found.append(secret)
        return tuple(found)

    def finds(self, text: str, known: Sequence[str]) -> bool:
        """Whether a secret of 6 characters or more occurs in the text in any of its forms."""
        pattern = self._looked_for(known)
        return pattern is not None and pattern.search(text) is not None

    def redact(self, text: str, known: Sequence[str]) -> str:
        """The text with every secret, in all its forms, as ``***``."""
        pattern = self._looked_for(known)
        return text if pattern is None else pattern.sub(STARS, text)

    def redact_value(self, value: Any, known: Sequence[str] = ()) -> Any:
        """A JSON value with every text in it redacted, keys included."""
        pattern = self._looked_for(known)
        return value if pattern is None else _redacted(value, pattern)

    def _looked_for(self, known: Sequence[str]) -> re.Pattern[str] | None:
        secrets = self._secrets.union(known) if known else self._secrets
        return _pattern(secrets) if secrets else None


def _key_id(key: bytes) -> bytes:
    return hashlib.sha256(b"interlock key id" + key).digest()[:_ID_BYTES]


def _redacted(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return pattern.sub(STARS, value)
    if isinstance(value, list):
        return [_redacted(item, pattern) for item in value]
    if isinstance(value, dict):
        return {pattern.sub(STARS, key): _redacted(item, pattern) for key, item in value.items()}
    return value
