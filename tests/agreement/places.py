"""Where things stand in generated documents: every step with what is around it, and what can be changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from agreement.write import Path

Document = dict[str, Any]


class Spot(msgspec.Struct, frozen=True):
    """One step: its path, the list that it stands in, and whether a lease is held around it."""

    path: Path
    step: Document
    steps: list[Any]
    at: int
    document: Document
    held: bool = False
    protected: bool = False
    each: bool = False
    inner: bool = False

    @property
    def kind(self) -> str:
        """The key that gives the step's kind; ``branches`` or ``resource`` where that is ``concurrency``."""
        for name in self.step:
            if name == "concurrency":
                return "branches" if "branches" in self.step[name] else "resource"
            if name in KINDS or name.startswith("wait_for_"):
                return str(name)
        return ""

    @property
    def body(self) -> Any:
        for name in self.step:
            if name in KINDS or name.startswith("wait_for_"):
                return self.step[name]
        raise LookupError(self.step)

    @property
    def kind_key(self) -> str:
        return "concurrency" if self.kind in ("branches", "resource") else self.kind


KINDS = frozenset({"block", "concurrency", "for_each", "run_workflow", "start_workflows", "start_agents", "delay"})


def spots(documents: list[Any]) -> list[Spot]:
    """Every step of every document, handlers aside."""
    return [
        spot
        for number, document in enumerate(documents)
        for spot in _in_list(document["steps"], (number, "steps"), document, {})
    ]


def _in_list(steps: list[Any], path: Path, document: Document, around: dict[str, bool]) -> Iterator[Spot]:
    for at, step in enumerate(steps):
        here = (*path, at)
        yield Spot(here, step, steps, at, document, **around)
        body = step.get("concurrency") or step.get("for_each")
        if not body:
            continue
        kind = "concurrency" if "concurrency" in step else "for_each"
        inner = {**around, "inner": True}
        if kind == "for_each":
            inner["each"] = True
        elif "resource" in body:
            inner["held"] = True
            inner["protected"] = bool(body.get("protected"))
        for name, branch in body.get("branches", {}).items():
            yield from _in_list(branch["steps"], (*here, kind, "branches", name, "steps"), document, inner)
        if body.get("steps"):
            yield from _in_list(body["steps"], (*here, kind, "steps"), document, inner)


def texts(node: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Every text below a node."""
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, dict):
        for name, item in node.items():
            yield from texts(item, (*path, name))
    elif isinstance(node, list):
        for at, item in enumerate(node):
            yield from texts(item, (*path, at))


def at_path(documents: list[Any], path: Path) -> Any:
    node: Any = documents
    for part in path:
        node = node[part]
    return node


def put(documents: list[Any], path: Path, value: Any) -> None:
    at_path(documents, path[:-1])[path[-1]] = value


def rename(mapping: Document, old: str, new: str) -> None:
    """Another name for a key, at the same place."""
    items = [(new if name == old else name, value) for name, value in mapping.items()]
    mapping.clear()
    mapping.update(items)


def misspell(word: str, taken: Callable[[str], bool], number: int) -> str | None:
    """The word with one slip of the finger, that no other word is as near to."""
    if len(word) < 5:
        return None
    at = 1 + number % (len(word) - 2)
    forms = [
        word[:at] + word[at + 1 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + word[at] + word[at:],
    ]
    new = forms[number % 3]
    return None if new == word or taken(new) else new


def ends_early(steps: list[Any]) -> bool:
    """Whether some step of a list goes to its end, or fails: what is added behind may never be reached."""
    return any(
        "'end'" in str(step.get("next")) or step.get("next") == "end" or step.get("block") == "fail" for step in steps
    )
