"""Texts made worse: bytes, characters, lines and the words of the language, put in, taken out and exchanged."""

from __future__ import annotations

import random
from pathlib import Path

from interlock.analyzer.language.table import KINDS, SHAPES

ROOT = Path(__file__).parents[2]
MOST = 20_000
"""Bytes of a mutated text: what is found in larger ones is found in these too."""

WORDS = sorted(
    {name for shape in SHAPES.values() for name in shape.fields}
    | set(KINDS)
    | {
        "true",
        "false",
        "null",
        "~",
        "<<",
        "log",
        "http",
        "set",
        "fail",
        "shell",
        "wait",
        "skip",
        "supersede",
        "all",
        "any",
    }
)
PIECES = [
    "{inputs.a}",
    "{",
    "}",
    "{{",
    "}}",
    "{state.x}",
    "{has(a.b)}",
    "{a.map(x, x.y)}",
    "{'",
    '{"',
    "{secrets.T}",
    "{1 + 'a'}",
    "&a ",
    "*a",
    "*a.b",
    "<<: *a",
    "!!str ",
    "!x ",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "? ",
    ": ",
    "- ",
    "-",
    "#",
    " #",
    "|",
    ">-",
    "|2\n",
    "'",
    '"',
    "\\",
    "[",
    "]",
    ",",
    "\t",
    "\r\n",
    "\r",
    "\u2028",
    "\x85",
    "\x0c",
    "\ufeff",
    "\x00",
    "é",
    "👩‍💻",
    "0x1F",
    "010",
    "1e3",
    ".inf",
    "-0",
    "99999999999999999999",
    "1h30m",
    "0s",
    "\n\n",
    "<<<<<<< a\n",
    "{{- if x }}\n",
    "# interlock: ignore[",
]


def corpus() -> list[bytes]:
    """The texts to begin with: examples, the examples of the rules, and the cases of the tests."""
    found = [path.read_bytes() for path in sorted((ROOT / "examples").rglob("*.workflow.yaml"))]
    found += [path.read_bytes() for path in sorted((ROOT / "tests/analyzer/cases").glob("*.yaml"))]
    for page in sorted((ROOT / "analyzer/interlock/analyzer/rules/pages").glob("*.md")):
        found += [part.split("```")[0].encode() for part in page.read_text("utf-8").split("```yaml\n")[1:]]
    found += [path.read_bytes() for path in sorted((Path(__file__).parent / "corpus").iterdir())]
    return found


def mutated(rng: random.Random, texts: list[bytes]) -> bytes:
    """One of the texts after one to eight changes."""
    data = bytearray(rng.choice(texts)[:MOST])
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        _change(data, rng, texts)
    return bytes(data[:MOST])


def _change(data: bytearray, rng: random.Random, texts: list[bytes]) -> None:
    at = rng.randint(0, len(data))
    way = rng.randrange(9)
    if way == 0 and data:
        data[at % len(data)] = rng.randrange(256)
    elif way == 1:
        del data[at : at + rng.choice((1, 1, 2, 5, 20, 80))]
    elif way == 2:
        data[at:at] = rng.choice(PIECES).encode("utf-8", "surrogatepass")
    elif way == 3:
        data[at:at] = rng.choice(WORDS).encode()
    elif way == 4:
        _word(data, rng)
    elif way in (5, 6):
        _line(data, rng)
    elif way == 7:
        other = rng.choice(texts)
        start = rng.randint(0, len(other))
        data[at:at] = other[start : start + rng.choice((5, 20, 100, 400))]
    else:
        data[at : at + 1] = data[at : at + 1] * rng.choice((2, 3, 40))


def _word(data: bytearray, rng: random.Random) -> None:
    """A word is exchanged for one of the language, or for a piece of syntax."""
    words = [place for place, byte in enumerate(data) if byte in b" :\n{[" and place + 1 < len(data)]
    if not words:
        return
    start = rng.choice(words) + 1
    end = start
    while end < len(data) and (chr(data[end]).isalnum() or data[end] in b"_."):
        end += 1
    data[start:end] = rng.choice((rng.choice(WORDS), rng.choice(PIECES))).encode("utf-8", "surrogatepass")


def _line(data: bytearray, rng: random.Random) -> None:
    """A line is doubled, dropped, moved, or indented otherwise."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        lines.insert(rng.randint(0, len(lines)), lines[at])
    elif way == 1:
        del lines[at]
    elif way == 2:
        lines.insert(rng.randint(0, len(lines) - 1), lines.pop(at))
    elif way == 3:
        lines[at] = b" " * rng.randint(1, 4) + lines[at]
    else:
        lines[at] = lines[at][rng.randint(1, 4) :]
    data[:] = b"\n".join(lines)
