"""Mappings as the reader wants them: aliases followed, merge keys merged.

Nodes stay as written; nothing is copied.  What is wrong with a merge is handed to the caller, who knows
how to report it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from interlock.analyzer.syntax.nodes import Alias, Mapping, Node, Scalar, Sequence

MERGE_MESSAGE = '"<<" merges mappings: write an alias of a mapping, a mapping, or a list of them behind it'


class Pair(NamedTuple):
    """One ``key: value`` that a mapping has once merges are made.

    ``via`` is the alias through which it came, None for what is written in the mapping itself.
    ``value`` may be an alias still.
    """

    key: Node
    value: Node
    via: Alias | None


def deref(node: Node) -> tuple[Node, Alias | None]:
    """The node that an alias stands for, and the alias; an alias that may not be followed stays itself."""
    if isinstance(node, Alias) and node.target is not None:
        return node.target, node
    return node, None


def is_merge(key: Node) -> bool:
    """Whether a key is the merge key, a plain ``<<``."""
    return isinstance(key, Scalar) and key.value == "<<" and key.style == "plain" and key.tag is None


def pairs(mapping: Mapping, wrong: list[Node] | None = None) -> Iterator[Pair]:
    """The pairs of a mapping in the order of the text, merged ones where their ``<<`` stands.

    Explicit keys win over merged ones, and what is merged earlier over what is merged later.  Of a key
    written twice both come (IL102 tells).  Nodes that ``<<`` cannot merge are appended to ``wrong``.
    """
    if not any(is_merge(entry.key) for entry in mapping.entries):
        for entry in mapping.entries:
            yield Pair(entry.key, entry.value, None)
        return
    taken = {_name(entry.key) for entry in mapping.entries if not is_merge(entry.key)}
    for entry in mapping.entries:
        if not is_merge(entry.key):
            yield Pair(entry.key, entry.value, None)
            continue
        for source, via in _sources(entry.value, wrong):
            inner_wrong: list[Node] = []  # reported where that mapping itself is read
            for pair in list(pairs(source, inner_wrong)):
                name = _name(pair.key)
                if name not in taken:
                    taken.add(name)
                    yield Pair(pair.key, pair.value, via or pair.via)
            if via is None and wrong is not None:
                wrong.extend(inner_wrong)


def _sources(value: Node, wrong: list[Node] | None) -> Iterator[tuple[Mapping, Alias | None]]:
    """The mappings that one ``<<`` merges, each with the alias it came through."""
    node, via = deref(value)
    if isinstance(node, Mapping):
        yield node, via
        return
    if isinstance(node, Sequence):
        strange: list[Node] = []
        for item in node.items:
            one, inner = deref(item)
            if isinstance(one, Mapping):
                yield one, via or inner
            elif not isinstance(one, Alias):
                strange.append(item)
        if wrong is not None and strange:
            # Where it is defined the list may be a good one: the mistake is to merge it.
            wrong.extend(strange if via is None else (value,))
        return
    if not isinstance(node, Alias) and wrong is not None:  # an alias left has been reported already
        wrong.append(value)


def _name(key: Node) -> object:
    """What makes two keys the same: value and type of a scalar; any other is only itself."""
    node, _ = deref(key)
    if isinstance(node, Scalar):
        return type(node.data), node.data
    return id(node)
