"""Blocks of a host as names: which one is meant at an offset, and where a manifest describes it."""

from __future__ import annotations

import re

from interlock.analyzer.expressions.ast import Select
from interlock.analyzer.expressions.paths import NOTHING, path_of
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.language import fields as f
from interlock.analyzer.language.blocks import BlockSpec
from interlock.analyzer.model.nodes import BlockCall
from interlock.analyzer.query.expression import expression_at, path_to
from interlock.analyzer.query.place import document_at, place_at
from interlock.analyzer.syntax.nodes import Document, Mapping, Scalar

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


def described_at(unit: Unit, documents: tuple[Document, ...], offset: int) -> tuple[str, ...] | None:
    """Where in a manifest what stands at an offset is described: as keys from the manifest's root.

    That is a block by its name, one of its parameters by its key, or a member of its result in an expression.
    """
    within = expression_at(unit, offset)
    if within is not None:
        node = path_to(within.tree, within.at)[-1]
        path = path_of(node, NOTHING) if isinstance(node, Select) else None
        named = within.scope.find(path.names[0]) if path is not None else None
        kind = named.step.kind if named is not None and named.step is not None else None
        if path is None or not isinstance(kind, BlockCall) or kind.block is None:
            return None
        inner = [word for name in path.names[1:] for word in ("properties", name)]
        return _of_host(unit.program.blocks, kind.block.value, "result", *inner)
    document = document_at(documents, offset)
    place = place_at(document, offset, unit.program.blocks) if document is not None else None
    if place is None:
        return None
    leaf = place.leaf
    if place.on == "value" and isinstance(leaf.type, f.Name) and leaf.type.kind == "block":
        return _of_host(unit.program.blocks, leaf.node.value) if isinstance(leaf.node, Scalar) else None
    if place.on == "key" and place.entry is not None and isinstance(place.entry.key, Scalar):
        names = [place.entry.key.value]
        for level in reversed(place.levels):
            if level.block is not None:
                inner = [word for name in names for word in ("properties", name)]
                return _of_host(unit.program.blocks, level.block, "params", *inner)
            if not isinstance(level.name, str) or not isinstance(level.node, Mapping):
                return None
            names.insert(0, level.name)
    return None


def _of_host(blocks: dict[str, BlockSpec], name: str, *inner: str) -> tuple[str, ...] | None:
    spec = blocks.get(name)
    return None if spec is None or spec.built_in else ("blocks", name, *inner)


def key_in_json(text: str, path: tuple[str, ...]) -> tuple[int, int] | None:
    """Where the key at the end of a path stands in a JSON text, without its quotes; None where there is none."""
    import json

    depth, at_key, found = 0, False, 0
    stack: list[str] = []
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "{[":
            depth += 1
            stack.append(sign)
            at_key = sign == "{"
        elif sign in "}]":
            depth -= 1
            stack = stack[:-1]
            found = min(found, max(depth - 1, 0))
            at_key = False
        elif sign == ",":
            at_key = bool(stack) and stack[-1] == "{"
        elif sign == ":":
            at_key = False
        elif at_key and depth == found + 1 and "[" not in stack:
            try:
                name = json.loads(sign)
            except ValueError:
                return None
            if name == path[found]:
                found += 1
                if found == len(path):
                    return token.start() + 1, token.end() - 1
    return None
