"""Expressions under the cursor: which one, in which scope, and which of its nodes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from interlock.analyzer.expressions.ast import Comprehension, Node, children
from interlock.analyzer.expressions.check import Checker
from interlock.analyzer.expressions.syntax import parse
from interlock.analyzer.expressions.types import DYN, List, Optional, Type
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.scope import SiteScope
from interlock.analyzer.graph.sites import Site, step_sites, workflow_sites
from interlock.analyzer.model.nodes import Step, StepList, Workflow
from interlock.analyzer.source.text import SourceText, Span
from interlock.analyzer.syntax.locate import index_at


def covers(span: Span, offset: int, source: SourceText | None = None) -> bool:
    """Whether an offset of a text lies in a span; without ``source``, of the text that the span is of."""
    if source is not None and span.source is not source:
        return False
    return span.via is None and span.offset <= offset <= span.end_offset


def steps_at(workflow: Workflow, offset: int, source: SourceText | None = None) -> list[Step]:
    """The steps around an offset, from the outside in."""
    found: list[Step] = []
    lists: list[StepList | None] = [workflow.steps, workflow.on_cancel, workflow.on_deadline]
    while lists:
        here = lists.pop()
        if here is None:
            continue
        step = _step_at(here, offset, source)
        if step is not None:
            found.append(step)
            lists = [inner for _, inner in step.inner()]
    return found


def _step_at(steps: StepList, offset: int, source: SourceText | None) -> Step | None:
    for step in steps.steps:
        if covers(step.span, offset, source):
            return step
    return None


def sites_near(unit: Unit, offset: int, source: SourceText | None = None) -> Iterator[Site]:
    """The expressions of the steps around an offset, and the workflow's own."""
    for step in reversed(steps_at(unit.workflow, offset, source)):
        yield from step_sites(unit.flow, step)
    yield from workflow_sites(unit.workflow, unit.flow)


class Within(msgspec.Struct, frozen=True, eq=False):
    """An expression with a cursor in it.  ``at`` counts in its source; ``tree`` is read tolerantly."""

    site: Site
    tree: Node
    at: int
    scope: SiteScope


def expression_at(unit: Unit, offset: int, source: SourceText | None = None) -> Within | None:
    """The expression in which an offset lies, its braces left out."""
    for site in sites_near(unit, offset, source):
        scalar = site.expression.scalar
        if not covers(Span(scalar.piece, scalar.start, scalar.end), offset, source):
            continue
        at = index_at(scalar, offset - scalar.piece.base) - site.expression.start
        if 0 <= at <= len(site.expression.source):
            return Within(site, parse(site.expression.source).tree, at, unit.scopes.at(site))
    return None


def path_to(tree: Node, at: int) -> list[Node]:
    """The nodes of an expression around a place, from the outside in."""
    way = [tree]
    while True:
        inner = [child for child in children(way[-1]) if child.start <= at <= child.end]
        if not inner:
            return way
        way.append(inner[-1])


class LocalScope:
    """A scope with the variables of the macros around a place."""

    def __init__(self, outer: SiteScope, variables: dict[str, Type]) -> None:
        self.outer = outer
        self.variables = variables

    def resolve(self, name: str) -> Type | None:
        return self.variables[name] if name in self.variables else self.outer.resolve(name)

    def names(self) -> Iterator[str]:
        yield from self.variables
        yield from self.outer.names()


def scope_at(within: Within) -> LocalScope:
    """The names that can be read at the cursor."""
    scope = LocalScope(within.scope, {})
    for node in path_to(within.tree, within.at):
        if isinstance(node, Comprehension) and node.args and within.at >= node.args[0].start:
            target = type_of(node.target, scope)
            item = target.item if isinstance(target, List) else target.of if isinstance(target, Optional) else DYN
            scope = LocalScope(within.scope, {**scope.variables, node.variable.name: item})
    return scope


def type_of(node: Node, scope: LocalScope | SiteScope) -> Type:
    """The type of a part of an expression; what is wrong in it is nobody's business here."""
    return Checker(scope).infer(node)
