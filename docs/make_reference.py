"""Writes the tables of docs/*.md that come from the software itself; the prose around them is by hand.

A page asks for a table with ``<!-- make: WHAT -->``, and everything up to ``<!-- end -->`` is written
anew:  ``fields SHAPE``, ``kinds``, ``block NAME``, ``commands``, ``options COMMAND``.  With ``--check``
nothing is written, and the exit code is 1 where a page is not as it would be written.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from interlock.analyzer.language import fields as f
from interlock.analyzer.language.blocks import BUILT_IN, EffectsUnless
from interlock.analyzer.language.table import FAMILY_TITLES, KINDS, SHAPES
from interlock.server.cli.main import COMMANDS

DOCS = Path(__file__).resolve().parent
MARK = re.compile(r"(<!-- make: ([a-z_ -]+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


# --- the language ---------------------------------------------------------------------------------


def _takes(kind: Any) -> str:
    """A field's type in a few words."""
    match kind:
        case f.Text():
            return "text" + (", with templates" if kind.template else "")
        case f.Name():
            return "a name"
        case f.Duration():
            return "a duration"
        case f.Whole():
            return f"a whole number ≥ {kind.minimum}"
        case f.Flag():
            return "`true` or `false`" + (", or a template" if kind.template else "")
        case f.Choice():
            return ", ".join(f"`{word}`" for word in kind.words)
        case f.Any():
            return "any value" + (", with templates" if kind.template else "")
        case f.Object():
            return "a mapping" + (", with templates" if kind.template else "")
        case f.ListOf():
            return f"a list of {_plural(_takes(kind.of))}" + (", or a template" if kind.template else "")
        case f.Nested():
            link = f"[{SHAPES[kind.shape].title}](#{anchor(kind.shape)})"
            return link if kind.scalar is None else f"{link}, or {_takes(kind.scalar)}"
        case f.MapOf():
            return f"names, each with {_takes(kind.of)}"
        case f.Steps():
            return "a list of blocks" if kind.blocks_only else "a list of [steps](#shape-step)"
        case _:
            raise TypeError(f"no words for {kind!r}")


def _plural(text: str) -> str:
    return {"a name": "names"}.get(text, text.replace("text", "texts").replace("any value", "values"))


def anchor(shape: str) -> str:
    return "shape-" + re.sub(r"[^a-z]+", "-", shape)


def _where(on: frozenset[str]) -> str:
    titles = [FAMILY_TITLES[name] for name in FAMILY_TITLES if name in on]
    return f" On {', '.join(titles)} only." if titles else ""


def table_of_fields(shape_name: str) -> str:
    shape = SHAPES[shape_name]
    rows = []
    for field in shape.fields.values():
        if field.on == {"runs"}:
            continue
        default = "required" if field.required else f"`{field.default}`" if field.default is not None else ""
        rows.append([f"`{field.name}`", _takes(field.type), default, field.doc + _where(field.on)])
    return f'<a id="{anchor(shape_name)}"></a>\n\n' + _table(["field", "takes", "default", "meaning"], rows)


def table_of_kinds() -> str:
    rows = []
    for kind in KINDS.values():
        nested = isinstance(kind.type, f.Nested)
        value = _takes(kind.type) if nested else "the name of a block"
        rows.append([f"`{kind.name}`", value, kind.doc])
    return _table(["kind", "takes", "what it does"], rows)


def table_of_block(name: str) -> str:
    spec = BUILT_IN[name]
    effects = spec.effects
    if isinstance(effects, EffectsUnless):
        acts = f"unless `{effects.param}` is {', '.join(effects.values)}"
    else:
        acts = "always" if effects else "never"
    parts = [f"{spec.doc} Acts on the outside: {acts}."]
    required = spec.params.get("required", [])
    rows = [
        [f"`{param}`", _schema(schema), "required" if param in required else _default(schema), _doc(schema)]
        for param, schema in spec.params.get("properties", {}).items()
    ]
    if rows:
        parts.append(_table(["param", "takes", "default", "meaning"], rows))
    results = (spec.result or {}).get("properties", {})
    if results:
        parts.append(
            _table(["result", "is", "meaning"], [[f"`{key}`", _schema(one), _doc(one)] for key, one in results.items()])
        )
    return "\n".join(parts)


def _doc(schema: dict[str, Any]) -> str:
    return str(schema.get("description", ""))


def _default(schema: dict[str, Any]) -> str:
    if "default" not in schema:
        return ""
    value = schema["default"]
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _schema(schema: dict[str, Any]) -> str:
    """A JSON Schema in a few words."""
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_schema(one) for one in schema["anyOf"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(_schema({"type": one}) for one in kind)
    words = {"object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number"}
    words |= {"number": "a number", "boolean": "`true` or `false`"}
    return words.get(kind, "any value") if isinstance(kind, str) else "any value"


# --- the command line -----------------------------------------------------------------------------


def parser_of(command: str) -> argparse.ArgumentParser:
    """The parser of one command, as `interlock` makes it."""
    for name, module_name, text in COMMANDS:
        if name == command:
            parser = argparse.ArgumentParser(prog=f"interlock {name}", description=text, add_help=False)
            import_module(f"interlock.server.cli.{module_name}").add_arguments(parser)
            return parser
    raise KeyError(command)


def table_of_commands() -> str:
    rows = [[f"[`{name}`](#{name})", text] for name, _, text in COMMANDS]
    return _table(["command", "what it does"], rows)


def table_of_options(command: str) -> str:
    parser = parser_of(command)
    words = [f"interlock {command}"]
    rows = []
    for action in parser._actions:
        value = action.metavar or ("|".join(action.choices) if action.choices else action.dest.upper())
        shown = f"`{', '.join(action.option_strings)}{'' if action.nargs == 0 else f' {value}'}`"
        if not action.option_strings:
            shown = f"`{value}`"
            words.append(f"[{value}…]" if action.nargs == "*" else f"[{value}]" if action.nargs == "?" else str(value))
        choices = f" One of {', '.join(f'`{one}`' for one in action.choices)}." if action.choices else ""
        text = (action.help or "").replace("%%", "%")
        rows.append([shown, (text[:1].upper() + text[1:] + "." if text else "") + choices])
    words.append("[OPTIONS]" if any(action.option_strings for action in parser._actions) else "")
    return f"```text\n{' '.join(words).strip()}\n```\n\n" + _table(["argument", "meaning"], rows)


# --- pages ----------------------------------------------------------------------------------------


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in lines)


MAKERS: dict[str, Callable[..., str]] = {
    "fields": table_of_fields,
    "kinds": table_of_kinds,
    "block": table_of_block,
    "commands": table_of_commands,
    "options": table_of_options,
}


def written(page: str) -> str:
    """The page with its tables made anew."""

    def make(found: re.Match[str]) -> str:
        word, _, rest = found[2].partition(" ")
        return f"{found[1]}\n{MAKERS[word](*([rest] if rest else []))}\n{found[4]}"

    return MARK.sub(make, page)


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--check", action="store_true", help="write nothing; 1 where a page is out of date")
    check = options.parse_args().check
    late = 0
    for path in sorted(DOCS.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        made = written(page)
        if made == page:
            continue
        late += 1
        if check:
            print(f"docs/{path.name} is out of date; make docs writes it anew", file=sys.stderr)
        else:
            path.write_text(made, encoding="utf-8")
            print(f"docs/{path.name} written")
    return 1 if check and late else 0


if __name__ == "__main__":
    sys.exit(main())
