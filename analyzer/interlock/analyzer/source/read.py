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
        return Unreadable("it is UTF-16, and only UTF-8 is read; save it as UTF-8")
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
    try:
        size = os.stat(name)
        if size.st_size > MAX_BYTES:
            return _too_large(size.st_size)
        with open(name, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return Unreadable(_reason(error))
    except ValueError:  # a path with a NUL in it
        return Unreadable("no such file")
    found = decode(data)
    return found if isinstance(found, Unreadable) else SourceText(name, found.text)


def _too_large(size: int) -> Unreadable:
    mebibytes = 1024 * 1024
    return Unreadable(f"it has {size:,} bytes, and at most {MAX_BYTES // mebibytes} MiB are read")


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
