"""The scanner finds every key and value that the parser of the standard library reads."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.analyzer.toml_places import Path, Places

TEXTS = [
    'a = 1\nb = "x # y"  # note\n',
    "[tool.interlock]\nignore = ['a', \"b\"]\n[tool.interlock.severity]\n\"x-y\" = 'off'\n",
    'a.b."c d" = [ [1, 2], [], ["x"] ]\n',
    'a = """\nmany \\" lines\n"""\nb = \'\'\'x\'y\'\'\'\nc = """"quoted""""\n',
    "[[list]]\nx = 1\n[[list]]\nx = 2\n[list.inner]\ny = 3\n",
    "t = {a = 1, b = {c = [1, 2,], d = 'x'}}\n",
    "\ufeffa = 1979-05-27T07:32:00Z # when\nb = +1.5e3\r\nc = true\r\n",
    "a = [\n  # first\n  'x', # after x\n  'y'\n]\n",
]


def walk(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    rows: list[tuple[Path, Any]] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            rows += walk(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            rows += walk(inner, (*path, number))
    else:
        rows.append((path, value))
    return rows


@pytest.mark.parametrize("text", TEXTS)
def test_every_value_is_found_where_it_stands(text: str) -> None:
    places = Places(text)
    data = tomllib.loads(text.lstrip("\ufeff"))
    rows = walk(data)
    assert rows
    for path, value in rows:
        start, end = places.values[path]
        assert tomllib.loads(f"x = {text[start:end]}") == {"x": value}


keys = st.text("abcé-_. \"'\\", min_size=1, max_size=6)
leaves = st.one_of(st.booleans(), st.integers(-9, 9), st.text("ab#\"'\\[]{}=,\n", max_size=6))
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3), max_leaves=6)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def written(value: Any) -> str:
    if isinstance(value, list):
        return "[" + " ,\n ".join(map(written, value)) + "]"
    if isinstance(value, str):
        return quoted(value)
    return str(value).lower()


@given(st.dictionaries(keys, values, min_size=1, max_size=4))
def test_generated_documents_agree_with_the_parser(data: dict[str, Any]) -> None:
    text = "".join(f"{quoted(key)} = {written(value)} # {{[\n" for key, value in data.items())
    assert tomllib.loads(text) == data
    places = Places(text)
    for path, value in walk(data):
        start, end = places.values[path]
        assert tomllib.loads(f"x = {text[start:end]}") == {"x": value}
    assert {path[0] for path in places.keys} == set(data)
