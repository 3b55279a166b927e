"""What may be written in a settings file: settings, tables, rules, and what a rule can be set to.

The text is half typed TOML, so it is read line by line, as far as what is asked needs; what the settings mean
is left to ``config``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from interlock.analyzer.config import KEYS
from interlock.analyzer.query.complete import Completions
from interlock.analyzer.query.items import Item
from interlock.analyzer.rules.catalog import RULES, can_suppress

_DOCS = {
    "patterns": "The paths that make a file a workflow file.",
    "exclude": "Paths that are left alone.",
    "select": "The only rules that are asked for.",
    "ignore": "Rules that are not asked for.",
    "severity": "How grave what a rule finds is: a table of rules.",
    "per-file-ignores": "Rules that are not asked for in some files: a table of patterns.",
    "blocks": "The manifests of blocks.",
}
_TABLES = ("severity", "per-file-ignores")
_LEVELS = ("error", "warning", "hint", "off")
_HEADER = re.compile(r"[ \t]*\[([^\[\]\n]*)\][ \t]*(?:#.*)?")
_PAIR = re.compile(r"[ \t]*(\"[^\"\n]*\"|'[^'\n]*'|[\w.-]+)[ \t]*=")
_WORD = re.compile(r"[\w-]*")


def complete_settings(text: str, offset: int, shared: bool) -> Completions:
    """Everything that may be written at an offset; ``shared`` is a file that holds the settings of others, too."""
    start = offset
    while start > 0 and _WORD.fullmatch(text[start - 1]):
        start -= 1
    found = _WORD.match(text, offset)
    end = found.end() if found is not None else offset
    before = text[:start].split("\n")
    table, key = _around(before)
    inside = table.removeprefix("tool.interlock").lstrip(".") if shared else table
    if shared and not (table + ".").startswith("tool.interlock."):
        inside = "?"
    items = tuple(_items(before[-1], text[end:], inside, key))
    return Completions(items, start, end)


def _around(lines: list[str]) -> tuple[str, str | None]:
    """The table that the last line is in, and the key whose value is being written there."""
    table = ""
    key: str | None = None
    value = ""
    for line in lines:
        header = _HEADER.fullmatch(line)
        pair = _PAIR.match(line)
        if header is not None:
            table, key = "".join(header[1].split()), None
        elif pair is not None:
            key, value = pair[1].strip("\"'"), line[pair.end() :]
        elif key is not None:
            value += "\n" + line
        if key is not None and line is not lines[-1] and _is_whole(value):
            key = None
    return table, key


def _is_whole(value: str) -> bool:
    bare = re.sub(r"\"[^\"\n]*\"|'[^'\n]*'|#.*", "", value)
    return bare.count("[") <= bare.count("]") and bare.count("{") <= bare.count("}")


def _items(line: str, rest: str, table: str, key: str | None) -> Iterator[Item]:
    quoted = line.endswith(('"', "'"))
    if key is None and line.lstrip().startswith("["):
        for name in _TABLES:
            yield Item(name, "field", "table", _DOCS[name])
    elif "#" in re.sub(r"\"[^\"\n]*\"|'[^'\n]*'", "", line):
        return
    elif key is None:
        if line.strip() not in ("", '"', "'"):
            return
        followed = rest.lstrip(" \t\"'").startswith("=")
        if table == "severity":
            yield from _rules(lambda name: name if followed or quoted else f'{name} = "$0"')
        elif table == "":
            for name in KEYS:
                insert = name if followed or quoted else f"{name} = {{$0}}" if name in _TABLES else f'{name} = ["$0"]'
                yield Item(name, "field", "setting", _DOCS[name], insert, snippet="$0" in insert)
    elif (table == "" and key in ("select", "ignore")) or table == "per-file-ignores":
        if line.rstrip().endswith(("[", ",", '"', "'")) or not line.strip():
            yield from _rules(lambda name: name if quoted else f'"{name}"')
    elif table == "severity":
        for number, level in enumerate(_LEVELS):
            yield Item(level, "value", insert=level if quoted else f'"{level}"', order=number)


def _rules(insert: Callable[[str], str]) -> Iterator[Item]:
    for rule in RULES.values():
        if can_suppress(rule):
            text = insert(rule.name)
            yield Item(rule.name, "value", f"{rule.code} · {rule.severity}", rule.title, text, snippet="$0" in text)
