"""The shape of a file: its symbols as a tree, what can be folded, and what encloses a place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from interlock.analyzer.graph.program import Program
from interlock.analyzer.model.nodes import Branches, RunWorkflow, StartWorkflows, Step, StepList, Workflow, walk
from interlock.analyzer.query.expression import expression_at, path_to
from interlock.analyzer.query.place import document_at, end_of, place_at, start_of
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.nodes import Mapping, Node, Sequence, Tree

OutlineKind: TypeAlias = Literal["workflow", "input", "secret", "step", "branch", "output", "handler"]


class Outline(msgspec.Struct, frozen=True, eq=False):
    """One symbol: offsets of the whole and of its name, and what is inside it."""

    name: str
    kind: OutlineKind
    detail: str
    start: int
    end: int
    name_start: int
    name_end: int
    inner: tuple[Outline, ...] = ()


def outline(workflow: Workflow) -> Outline:
    """The symbols of a workflow, in the order of the text."""
    inner: list[Outline] = []
    for name, declared in workflow.inputs.items():
        inner.append(_leaf(name, "input", declared.type, declared.key))
    inner.extend(_leaf(secret.name, "secret", "", secret.span) for secret in workflow.secrets)
    inner.extend(_steps(workflow.steps))
    if workflow.outputs is not None:
        inner.extend(_leaf(member.name, "output", "", member.key) for member in workflow.outputs.value.members)
    for word, handlers in (("on_cancel", workflow.on_cancel), ("on_deadline", workflow.on_deadline)):
        if handlers is not None:
            inner.append(_whole(word, "handler", "", handlers.span, handlers.key, tuple(_steps(handlers))))
    title = workflow.name
    span = workflow.span
    at = title.span if title is not None else Span(span.piece, span.start, span.start)
    inner.sort(key=lambda one: one.start)
    ends = [span.end_offset, *(one.end for one in inner)]
    version = workflow.version.value if workflow.version is not None else ""
    return Outline(
        title.value if title is not None else "(no name)",
        "workflow",
        version,
        min(span.offset, at.offset),
        max(ends),
        at.offset,
        at.end_offset,
        tuple(inner),
    )


def _steps(steps: StepList | None) -> Iterator[Outline]:
    for step in steps.steps if steps is not None else ():
        yield _step(step)


def _step(step: Step) -> Outline:
    inner: list[Outline] = []
    kind = step.kind
    if isinstance(kind, Branches):
        for branch in kind.branches:
            span = branch.steps.span if branch.steps is not None else branch.key
            inner.append(
                _whole(branch.name or "(no name)", "branch", "", span, branch.key, tuple(_steps(branch.steps)))
            )
    else:
        for _, steps in step.inner():
            inner.extend(_steps(steps))
    name = step.id or "(no id)"
    return _whole(name, "step", step.kind_name, step.span, step.id_span, tuple(inner))


def _leaf(name: str, kind: OutlineKind, detail: str, span: Span) -> Outline:
    return _whole(name, kind, detail, span, span, ())


def _whole(name: str, kind: OutlineKind, detail: str, span: Span, at: Span, inner: tuple[Outline, ...]) -> Outline:
    """A symbol; what came through an alias stands at the alias."""
    span, at = span.via or span, at.via or at
    start, end = min(span.offset, at.offset), max(span.end_offset, at.end_offset)
    if span.source is not at.source:
        start, end = at.offset, at.end_offset
    end = max([end, *(one.end for one in inner)])
    start = min([start, *(one.start for one in inner)])
    return Outline(name, kind, detail, start, end, at.offset, at.end_offset, inner)


# -- folding and selection -----------------------------------------------------------------------


class Fold(msgspec.Struct, frozen=True):
    """A stretch that can be folded to its first line."""

    start: int
    end: int
    comment: bool = False


def folds(tree: Tree) -> list[Fold]:
    """Every mapping entry and list item of more than one line, and every run of comments."""
    found: list[Fold] = []
    stack: list[Node] = [document.root for document in tree.documents if document.root is not None]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            for entry in node.entries:
                found.append(Fold(start_of(entry.key), end_of(entry.value)))
                stack.append(entry.value)
        elif isinstance(node, Sequence):
            for item in node.items:
                found.append(Fold(start_of(item), end_of(item)))
                stack.append(item)
    found.extend(_comments(tree))
    return found


def _comments(tree: Tree) -> Iterator[Fold]:
    text = tree.source.text
    start = end = -1
    for comment in tree.comments:
        if not comment.alone:
            continue
        if (
            start >= 0
            and not text[end : comment.span.offset].strip()
            and text.count("\n", end, comment.span.offset) == 1
        ):
            end = comment.span.end_offset
            continue
        if start >= 0:
            yield Fold(start, end, True)
        start, end = comment.span.offset, comment.span.end_offset
    if start >= 0:
        yield Fold(start, end, True)


def enclosing(program: Program, tree: Tree, workflow_at: object, offset: int) -> list[tuple[int, int]]:
    """The stretches around an offset, from the inside out, each larger than the one before."""
    from interlock.analyzer.graph.program import Unit

    ranges: list[tuple[int, int]] = []
    document = document_at(tree.documents, offset)
    if document is None or document.root is None:
        return ranges
    place = place_at(document, offset, program.blocks)
    if place is not None:
        for level in place.levels:
            ranges.append((start_of(level.node), end_of(level.node)))
            if level.key is not None:
                ranges.append((start_of(level.key), end_of(level.node)))
        if place.entry is not None:
            ranges.append((start_of(place.entry.key), max(end_of(place.entry.key), end_of(place.entry.value))))
            if place.on == "key":
                ranges.append((start_of(place.entry.key), end_of(place.entry.key)))
    if isinstance(workflow_at, Unit):
        within = expression_at(workflow_at, offset)
        if within is not None:
            expression = within.site.expression
            for node in path_to(within.tree, within.at):
                span = expression.at(node.start, node.end)
                ranges.append((span.offset, span.end_offset))
    ranges = [one for one in ranges if one[0] <= offset <= one[1]]
    ranges.sort(key=lambda one: one[1] - one[0])
    kept: list[tuple[int, int]] = []
    for one in ranges:
        if not kept or (one[0] <= kept[-1][0] and kept[-1][1] <= one[1] and one != kept[-1]):
            kept.append(one)
    return kept


def calls_in(workflow: Workflow) -> Iterator[tuple[Step, str, Span, bool]]:
    """The steps that run or start other workflows: step, name, where the name stands, whether it waits."""
    for step in walk(workflow.steps):
        kind = step.kind
        if isinstance(kind, RunWorkflow | StartWorkflows) and kind.workflow is not None:
            yield step, kind.workflow.value, kind.workflow.span, isinstance(kind, RunWorkflow)
