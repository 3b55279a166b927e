"""SQL by name: the statements of a dialect's files, and its numbered migrations."""

from __future__ import annotations

import os
import re

_HERE = os.path.join(os.path.dirname(__file__), "sql")
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def statements(dialect: str) -> dict[str, str]:
    """Every named statement of a dialect.  Raises ValueError where a name is given twice."""
    found: dict[str, str] = {}
    folder = os.path.join(_HERE, dialect)
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".sql"):
            continue
        with open(os.path.join(folder, file), encoding="utf-8") as source:
            parts = _NAME.split(source.read())
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise ValueError(f'the statement "{name}" stands twice')
            found[name] = text.strip().rstrip(";")
    return found


def migrations(dialect: str) -> list[tuple[int, str]]:
    """The migrations of a dialect in order: (number, script)."""
    folder = os.path.join(_HERE, dialect, "migrations")
    found = []
    for file in sorted(os.listdir(folder)):
        if file.endswith(".sql"):
            with open(os.path.join(folder, file), encoding="utf-8") as source:
                found.append((int(file.split("_", 1)[0]), source.read()))
    return found
