"""What the tests of the syntax share, as fixtures: a tree as plain data, and texts to try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock.analyzer.source.text import SourceText
from interlock.analyzer.syntax.nodes import Alias, Mapping, Node, Scalar, Tree
from interlock.analyzer.syntax.parse import parse_tree


def _node(node: Node | None) -> Any:
    if node is None:
        return None
    place = (node.piece.base + node.start, node.piece.base + node.end)
    if isinstance(node, Scalar):
        kind = type(node.data).__name__
        return ("scalar", place, node.value, node.style, kind, repr(node.data), node.anchor, node.tag)
    if isinstance(node, Alias):
        target = node.target and node.target.piece.base + node.target.start
        return ("alias", place, node.name, node.cyclic, target, node.size, node.height)
    if isinstance(node, Mapping):
        entries = [(_node(entry.key), _node(entry.value)) for entry in node.entries]
        return ("mapping", place, node.flow, node.anchor, node.tag, entries)
    return ("sequence", place, node.flow, node.anchor, node.tag, [_node(item) for item in node.items])


def _flat(tree: Tree) -> dict[str, Any]:
    return {
        "documents": [
            (
                _node(document.root),
                [(span.offset, span.end_offset) for span in document.broken],
                document.broken_ids,
                document.broken_keys,
            )
            for document in tree.documents
        ],
        "problems": [
            (
                problem.code,
                problem.span.offset,
                problem.span.end_offset,
                problem.message,
                [(span.offset, message) for span, message in problem.related],
            )
            for problem in tree.problems
        ],
        "comments": [
            (comment.text, comment.span.offset, comment.span.end_offset, comment.alone) for comment in tree.comments
        ],
    }


def _data(node: Node | None) -> Any:
    if node is None:
        return None
    if isinstance(node, Scalar):
        return node.data
    if isinstance(node, Alias):
        return "*" + node.name if node.target is None else _data(node.target)
    if isinstance(node, Mapping):
        return {_data(entry.key): _data(entry.value) for entry in node.entries}
    return [_data(item) for item in node.items]


@pytest.fixture(scope="session")
def flat() -> Callable[[Tree], dict[str, Any]]:
    """Everything that a tree says, with offsets in the file, to compare two trees."""
    return _flat


@pytest.fixture(scope="session")
def parse() -> Callable[..., Tree]:
    def parsed(text: str, previous: Tree | None = None, *, pure: bool = False) -> Tree:
        return parse_tree(SourceText("a.workflow.yaml", text), previous, pure=pure)

    return parsed


@pytest.fixture(scope="session")
def load(parse: Callable[..., Tree]) -> Callable[[str], Any]:
    """The values of a text's only document, aliases followed; the text must have no problem."""

    def loaded(text: str) -> Any:
        tree = parse(text)
        assert tree.problems == ()
        (document,) = tree.documents
        return _data(document.root)

    return loaded


@pytest.fixture(scope="session")
def problems(parse: Callable[..., Tree]) -> Callable[[str], list[tuple[str, int, int]]]:
    """The code, line and column of each problem; the same without the C extension, and never cascading."""

    def found(text: str) -> list[tuple[str, int, int]]:
        tree, pure = parse(text), parse(text, pure=True)
        assert _flat(tree) == _flat(pure)
        return [(problem.code, *problem.span.position) for problem in tree.problems]

    return found


@pytest.fixture(scope="session")
def step_ids(parse: Callable[..., Tree]) -> Callable[[str], list[Any]]:
    """The ids of the steps that are in the tree of a text's first document."""

    def ids(text: str) -> list[Any]:
        root = parse(text).documents[0].root
        assert isinstance(root, Mapping)
        (steps,) = [entry.value for entry in root.entries if _data(entry.key) == "steps"]
        return [item.get("id") if isinstance(item, dict) else item for item in _data(steps)]

    return ids
