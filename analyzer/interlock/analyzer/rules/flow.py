"""IL212 and IL213: jumps that lead nowhere, and steps that no path reaches."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.analyzer.findings import Edit, Fix, Related, Sink
from interlock.analyzer.graph.flow import ListFlow, given_literals, never_completes
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.model.nodes import Step
from interlock.analyzer.model.values import Template
from interlock.analyzer.source.text import Span


def jumps(unit: Unit, sink: Sink) -> None:
    """IL213: a ``next`` that is, or gives where a condition says so, a literal that is no id of its list."""
    for flow in unit.flow.lists:
        for step in flow.steps:
            for target, span in _literal_targets(step):
                if target == "end" or target in flow.index or target in unit.workflow.broken_ids:
                    continue
                near = nearest(target, [*flow.index, "end"])
                sink.add(
                    "IL213",
                    span,
                    f'"next" names no step of this list: "{target}".',
                    f'Did you mean "{near}"?' if near else _elsewhere(unit, flow, target),
                    fix=_offer(span, near) if near else None,
                    beside=tuple(one.id_span for one in flow.steps),
                )


def _offer(span: Span, near: str) -> Fix | None:
    """What puts a near id in the place of one that is none, in the quotes that it has."""
    written = span.text
    quote = written[:1] if written[:1] in ("'", '"') else ""
    if span.via is not None or not written.removeprefix(quote).removesuffix(quote).isidentifier():
        return None
    return Fix(f'Change it to "{near}"', (Edit(span, f"{quote}{near}{quote}"),), sure=False)


def _literal_targets(step: Step) -> Iterator[tuple[str, Span]]:
    """The literals that a ``next`` may come out as, with their places."""
    if step.next is None:
        return
    value = step.next.value
    if isinstance(value, Template):
        yield from given_literals(value)
    else:
        yield value, step.next.span


def _elsewhere(unit: Unit, flow: ListFlow, target: str) -> str:
    for other in unit.flow.lists:
        if other is not flow and target in other.index:
            return f'"{target}" stands in another list, and a jump cannot leave its own.'
    return 'Name a step of the same list, or "end".'


def unreachable(unit: Unit, sink: Sink) -> None:
    """IL212: once for each stretch of steps that no path reaches."""
    for flow in unit.flow.lists:
        before = True
        for number, step in enumerate(flow.steps):
            here = number in flow.reachable
            if before and not here:
                span = Span(step.span.piece, step.span.start, step.span.start, step.span.via)
                sink.add(
                    "IL212",
                    span,
                    f'No path reaches "{step.id}".' if step.id else "No path reaches this step.",
                    "Remove it, or lead a path to it.",
                    related=_turn(flow, number),
                )
            before = here


def _turn(flow: ListFlow, number: int) -> tuple[Related, ...]:
    """The step before the stretch, which goes elsewhere."""
    step = flow.steps[number - 1] if number else None
    if step is None:
        return ()
    if step.next is not None:
        return (Related(step.next.key, f"{step.called} goes elsewhere"),)
    if never_completes(step):
        return (Related(step.kind.key, f"{step.called} always fails"),)
    return ()


RULES = (jumps, unreachable)
