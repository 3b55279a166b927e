"""Where the keys and values of a TOML text stand, for errors that name a line.

``tomllib`` reads the values and refuses what is not TOML; it tells no places.  This scanner goes
over a text that ``tomllib`` has accepted, and only finds where things are.
"""

from __future__ import annotations

from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]


class Places:
    """Offsets of what a TOML document holds: ``keys`` of each key, ``values`` of each value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.keys: dict[Path, tuple[int, int]] = {}
        self.values: dict[Path, tuple[int, int]] = {}
        self._at = 0
        self._document()

    def of(self, path: Path) -> tuple[int, int]:
        """The place of a value, else of its key, else of the nearest key around it."""
        while path:
            found = self.values.get(path) or self.keys.get(path)
            if found is not None:
                return found
            path = path[:-1]
        return (0, 0)

    def _document(self) -> None:
        table: Path = ()
        counts: dict[Path, int] = {}
        while self._skip("\r\n"):
            if self.text[self._at] == "[":
                double = self.text.startswith("[[", self._at)
                self._at += 2 if double else 1
                start = self._at
                table = ()
                for part in self._key_path():
                    # A header counts from the last table of a list that it goes through.
                    if table in counts:
                        table = (*table, counts[table])
                    table = (*table, part)
                self.keys.setdefault(table, (start, self._at))
                if double:
                    counts[table] = counts.get(table, -1) + 1
                    table = (*table, counts[table])
                self._at = self._line_end()
            else:
                self._pair(table)

    def _pair(self, table: Path) -> None:
        start = self._at
        path = (*table, *self._key_path())
        self.keys[path] = (start, self._at)
        self._skip("")
        self._at += 1  # the equals sign
        self._skip("")
        self._value(path)

    def _value(self, path: Path) -> None:
        start = self._at
        first = self.text[start]
        if first == "[":
            self._at += 1
            number = 0
            while self._skip("\r\n,") and self.text[self._at] != "]":
                self._value((*path, number))
                number += 1
            self._at += 1
        elif first == "{":
            self._at += 1
            while self._skip("\r\n,") and self.text[self._at] != "}":
                self._pair(path)
            self._at += 1
        elif first in "\"'":
            self._string()
        else:
            while self._at < len(self.text) and self.text[self._at] not in ",]}\r\n#":
                self._at += 1
            end = len(self.text[start : self._at].rstrip()) + start
            self.values[path] = (start, end)
            return
        self.values[path] = (start, self._at)

    def _key_path(self) -> list[str]:
        parts: list[str] = []
        while True:
            self._skip("")
            start = self._at
            if self.text[start] in "\"'":
                self._string()
                parts.append(_plain(self.text[start : self._at]))
            else:
                while self._at < len(self.text) and (self.text[self._at].isalnum() or self.text[self._at] in "-_"):
                    self._at += 1
                parts.append(self.text[start : self._at])
            end = self._at
            self._skip("")
            if self._at < len(self.text) and self.text[self._at] == ".":
                self._at += 1
                continue
            self._at = end
            return parts

    def _string(self) -> None:
        quote = self.text[self._at]
        mark = quote * 3 if self.text.startswith(quote * 3, self._at) else quote
        at = self._at + len(mark)
        while at < len(self.text) and not self.text.startswith(mark, at):
            at += 2 if quote == '"' and self.text[at] == "\\" else 1
        at += len(mark)
        while len(mark) == 3 and self.text.startswith(quote, at):  # a quote may stand before the end mark
            at += 1
        self._at = at

    def _skip(self, more: str) -> bool:
        """Goes over blanks, comments and the given characters; whether anything is left."""
        text = self.text
        while self._at < len(text):
            here = text[self._at]
            if here == "#":
                self._at = self._line_end()
            elif here in " \t\ufeff" or here in more:
                self._at += 1
            else:
                return True
        return False

    def _line_end(self) -> int:
        end = self.text.find("\n", self._at)
        return len(self.text) if end < 0 else end


def _plain(quoted: str) -> str:
    """The text of a quoted key."""
    if quoted.startswith("'"):
        return quoted[1:-1]
    import tomllib

    return next(iter(tomllib.loads(f"{quoted} = 1")))
