"""Secrets at rest and in text."""

import base64
import errno
import json
import os
import stat
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.engine.errors import CallerError
from interlock.engine.secrets import StoreCipher

SECRET = 'p@ss/w+rd "é"'


def code_of(error: pytest.ExceptionInfo[CallerError]) -> str:
    return error.value.code


def test_what_is_sealed_is_unreadable_and_comes_back(tmp_path: Path) -> None:
    path = str(tmp_path / "state.db.key")
    sealed = StoreCipher(path, environment={}).seal(b"the secret")
    assert b"secret" not in sealed
    assert StoreCipher(path, environment={}).unseal(sealed) == b"the secret"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(tmp_path) == ["state.db.key"]


def test_the_key_of_the_environment_wins_and_makes_no_file(tmp_path: Path) -> None:
    path = str(tmp_path / "state.db.key")
    for key in ("a passphrase that is long", base64.b64encode(bytes(range(32))).decode()):
        sealed = StoreCipher(path, environment={"INTERLOCK_KEY": key}).seal(b"x")
        assert StoreCipher(None, environment={"INTERLOCK_KEY": key}).unseal(sealed) == b"x"
    assert os.listdir(tmp_path) == []


def test_the_name_of_a_new_key_is_on_the_disk_before_anything_is_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loss of power must not leave a store that is sealed with a key that is gone."""
    synced: list[tuple[int, bool]] = []
    path, sync = tmp_path / "s.db.key", os.fsync

    def heard(file: int) -> None:
        synced.append((os.fstat(file).st_ino, path.exists()))
        sync(file)

    monkeypatch.setattr(os, "fsync", heard)
    first = StoreCipher(str(path), environment={})
    first.seal(b"x")
    assert synced == [(path.stat().st_ino, False), (tmp_path.stat().st_ino, True)]
    first.seal(b"y")
    assert len(synced) == 2
    synced.clear()
    # Another process may have made it and not have come so far.
    StoreCipher(str(path), environment={}).seal(b"z")
    assert synced == [(tmp_path.stat().st_ino, True)]


def test_a_disk_that_is_full_when_the_key_is_made_is_said_and_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cipher = StoreCipher(str(tmp_path / "s.db.key"), environment={})

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(CallerError) as found:
            cipher.seal(b"x")
    assert found.value.code == "store-full"
    assert list(tmp_path.iterdir()) == []
    assert cipher.unseal(cipher.seal(b"x")) == b"x"


def test_another_key_is_told_from_damage(tmp_path: Path) -> None:
    one = StoreCipher(environment={"INTERLOCK_KEY": "one passphrase, long"})
    two = StoreCipher(environment={"INTERLOCK_KEY": "two passphrase, long"})
    sealed = one.seal(b"x")
    with pytest.raises(CallerError) as caught:
        two.unseal(sealed)
    assert code_of(caught) == "store-key"
    for damaged in (sealed[:-1] + bytes([sealed[-1] ^ 1]), b"", sealed[:10], b"\x07" + sealed[1:]):
        with pytest.raises(CallerError) as caught:
            one.unseal(damaged)
        assert code_of(caught) == "store-corrupt"


@pytest.mark.parametrize("how", ["missing", "open", "broken", "folder"])
def test_a_key_file_that_cannot_serve_is_refused(tmp_path: Path, how: str) -> None:
    path = tmp_path / "k"
    sealed = StoreCipher(str(path), environment={}).seal(b"x")
    if how == "open":
        path.chmod(0o644)
    else:
        path.unlink()
    if how == "broken":
        path.write_text("no key")
        path.chmod(0o600)
    if how == "folder":
        path.mkdir()
    with pytest.raises(CallerError) as caught:
        StoreCipher(str(path), environment={}).unseal(sealed)
    assert code_of(caught) == "store-key"


def test_without_any_key_sealing_is_refused() -> None:
    for environment in ({}, {"INTERLOCK_KEY": "short"}):
        with pytest.raises(CallerError) as caught:
            StoreCipher(environment=environment).seal(b"x")
        assert code_of(caught) == "store-key"
    assert StoreCipher(temporary=True, environment={}).seal(b"x")


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        quote(SECRET),
        quote_plus(SECRET),
        quote(SECRET, safe="@+=&?:"),
        repr(SECRET),
        repr(SECRET.encode()),
        quote(SECRET, safe="").replace("%C3", "%c3").replace("%A9", "%a9"),
        json.dumps({"a": SECRET}),
        json.dumps({"a": SECRET}, ensure_ascii=False),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        *(base64.b64encode(before + SECRET.encode() + b"after").decode() for before in (b"u", b"u:", b"us:")),
    ],
)
def test_a_secret_is_hidden_in_every_form(text: str) -> None:
    for cipher, known in ((StoreCipher(secrets=[SECRET]), []), (StoreCipher(), [SECRET])):
        assert cipher.finds(text, known)
        assert not cipher.finds(cipher.redact(f"<{text}>", known), known)
        assert cipher.redact(f"<{text}>", known).startswith("<")


@given(st.binary(min_size=0, max_size=5), st.text(min_size=6, max_size=30), st.binary(max_size=5))
def test_base64_shows_a_secret_at_every_alignment(before: bytes, secret: str, after: bytes) -> None:
    try:
        raw = secret.encode()
    except UnicodeEncodeError:
        return
    encoded = base64.b64encode(before + raw + after).decode()
    assert StoreCipher().finds(encoded, [secret])


def test_short_texts_and_strangers_are_left_alone() -> None:
    cipher = StoreCipher(secrets=["abc"])
    assert cipher.redact("abc and def", ["def"]) == "abc and def"
    assert not cipher.finds("nothing here", ["other-secret"])


def test_a_value_is_redacted_at_any_depth() -> None:
    value = {"a": ["x token-1234 y", 5, None], "token-1234": True}
    assert StoreCipher(secrets=["token-1234"]).redact_value(value) == {"a": ["x *** y", 5, None], "***": True}
