"""Bytes to text: what may be read at all, and one clear sentence for what may not.

Decoding only; which files to read, and what their text means, is decided elsewhere.
"""

from __future__ import annotations

import errno
import os

import msgspec

from interlock.analyzer.source.text import SourceText

MAX_BYTES = 4 * 1024 * 1024
"""How large a file may be: far above what a person writes (50,000 lines are 2.5 MB), and checked in seconds."""

_BOM = b"\xef\xbb\xbf"


class Decoded(msgspec.Struct, frozen=True):
    """A text without its byte order mark, which counts in no column, and whether it had one."""

    text: str
    had_bom: bool


class Unreadable(msgspec.Struct, frozen=True):
    """Why a file could not be read, as one sentence that does not name the file."""

    reason: str


def decode(data: bytes) -> Decoded | Unreadable:
    """The text of a file's bytes: UTF-8, with or without a byte order mark, at most 4 MiB."""
    if len(data) > MAX_BYTES:
        return _too_large(len(data))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        kind = "UTF-32" if data.startswith(b"\xff\xfe\0\0") else "UTF-16"
        return Unreadable(f"it is {kind}, and only UTF-8 is read; save it as UTF-8")
    if b"\0" in data:
        return Unreadable("it holds NUL bytes, so it is a binary file and not YAML")
    had_bom = data.startswith(_BOM)
    try:
        return Decoded(data[3 if had_bom else 0 :].decode("utf-8"), had_bom)
    except UnicodeDecodeError as error:
        start = error.start + (3 if had_bom else 0)
        line = data.count(b"\n", 0, start) + 1
        return Unreadable(
            f"it is not UTF-8: byte 0x{data[start]:02x} on line {line} begins no character; save it as UTF-8"
        )


def read_source(path: str | os.PathLike[str]) -> SourceText | Unreadable:
    """The text of the file at ``path``, under that path."""
    name = os.fspath(path)
    data = read_bytes(name)
    found = data if isinstance(data, Unreadable) else decode(data)
    return found if isinstance(found, Unreadable) else SourceText(name, found.text)


def read_bytes(path: str) -> bytes | Unreadable:
    """What a file holds; no more is read than a text may have, though a device may never end."""
    try:
        with open(path, "rb", opener=_open) as file:
            data = file.read(MAX_BYTES + 1)
            return data if len(data) <= MAX_BYTES else _too_large(os.fstat(file.fileno()).st_size)
    except OSError as error:
        return Unreadable(_reason(error))
    except ValueError:  # a path with a NUL in it
        return Unreadable("no such file")


def _open(path: str, flags: int) -> int:
    """Opens a file for reading; a pipe that nobody writes into is empty, and not waited for."""
    if not hasattr(os, "O_NONBLOCK"):
        return os.open(path, flags)
    number = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(number, True)
    return number


def _too_large(size: int) -> Unreadable:
    mebibytes = 1024 * 1024
    # A pipe or a device does not say how much there is.
    tenths = size * 10 // mebibytes
    known = f"it has {tenths / 10:.1f} MiB, and" if tenths * mebibytes > MAX_BYTES * 10 else "it is too large:"
    return Unreadable(f"{known} at most {MAX_BYTES // mebibytes} MiB are read")


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "it is a folder, not a file"
    if isinstance(error, PermissionError):
        return "it may not be read: permission denied"
    if error.errno == errno.ELOOP:
        return "its symbolic links go round in a circle"
    return f"it could not be read: {(error.strerror or 'input/output error').lower()}"
