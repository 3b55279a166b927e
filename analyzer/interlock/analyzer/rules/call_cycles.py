"""IL409, IL414 and IL417: workflows that run or start each other in a circle (section 8)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from interlock.analyzer.findings import Related, Sink
from interlock.analyzer.graph.calls import Call, always_happens, can_happen
from interlock.analyzer.graph.cycles import Ways, components
from interlock.analyzer.graph.program import Program, Unit


class _Circles:
    """The calls that lie on cycles of some calls, each with the way back."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self._numbers: dict[Unit, int] = {}
        self._between: dict[tuple[int, int], Call] = {}
        self._successors: dict[int, set[int]] = {}
        self.calls: list[tuple[Call, int, int]] = []
        for call in calls:
            if call.child is None:
                continue
            source, target = self._number(call.unit), self._number(call.child)
            self.calls.append((call, source, target))
            self._between.setdefault((source, target), call)
            self._successors.setdefault(source, set()).add(target)
        self.parts = components(self._successors)
        self._ways: Ways | None = None
        self._part = {number: at for at, part in enumerate(self.parts) for number in part}

    def _number(self, unit: Unit) -> int:
        return self._numbers.setdefault(unit, len(self._numbers))

    def part(self, unit: Unit) -> int | None:
        """Which set of workflows that can reach each other it belongs to, by its place in ``parts``."""
        return self._part.get(self._numbers.get(unit, -1))

    def on_cycles(self) -> list[Call]:
        """The calls on cycles, by file and position."""
        return [
            call
            for call, source, target in self.calls
            if source in self._part and self._part[source] == self._part.get(target)
        ]

    def way(self, call: Call, over: Unit | None = None) -> list[Call]:
        """A cycle that begins with the call, over a workflow where one is given."""
        assert call.child is not None
        start, end = self._numbers[call.child], self._numbers[call.unit]
        stops = [start, *([self._numbers[over]] if over is not None else []), end]
        found = [call]
        self._ways = self._ways or Ways(self._successors)
        for source, target in pairwise(stops):
            if source == target:
                continue  # there already
            path = self._ways.shortest(source, target)
            found.extend(self._between[pair] for pair in pairwise(path))
        return found


def _ring(calls: list[Call]) -> str:
    names = [call.unit.name for call in calls] + [calls[0].unit.name]
    return " → ".join(f'"{name}"' for name in names)


def _story(calls: list[Call]) -> tuple[Related, ...]:
    told: dict[Call, Related] = {}
    for call in calls:
        assert call.child is not None
        does = "starts" if call.starts else "runs"
        told.setdefault(
            call, Related(call.name.span, f'"{call.unit.name}" {does} "{call.child.name}" in {call.step.called}')
        )
    return tuple(told.values())


def waits(program: Program, sink: Sink) -> None:
    """IL409, and IL414 where it is not said already."""
    runs = [call for call in program.calls.calls() if not call.starts]
    possible = _Circles(call for call in runs if call.child is not None and can_happen(call))
    around = possible.on_cycles()
    if not around:
        return
    surely = _Circles(call for call in around if always_happens(call))
    endless = surely.on_cycles()
    for call in endless:
        way = surely.way(call)
        sink.add(
            "IL409",
            call.name.span,
            f"No run of {_ring(way)} can end: each runs the next one and waits for it, with no condition on the way.",
            'Give one of the calls a "when", or start the run with start_workflows, which does not wait.',
            related=_story(way),
        )
    said = set(endless)
    _slots(possible, [call for call in around if call not in said], sink)


def _slots(circles: _Circles, calls: list[Call], sink: Sink) -> None:
    """IL414: a chain that comes back to a workflow whose only slot it holds."""
    single: dict[int, Unit] = {}
    for call, _, _ in circles.calls:
        part = circles.part(call.unit)
        if part is not None and _one_at_a_time(call.unit):
            single.setdefault(part, call.unit)
    for call in calls:
        part = circles.part(call.unit)
        unit = single.get(part) if part is not None else None
        if unit is None:
            continue
        limit = unit.workflow.concurrency
        assert limit is not None
        assert limit.limit_field is not None
        way = circles.way(call, unit)
        sink.add(
            "IL414",
            call.name.span,
            f'This chain of runs comes back to "{unit.name}", which admits one run at a time: the inner run waits '
            "for the slot that the outer one holds until it ends.",
            f'Raise the limit of "{unit.name}", or start the run with start_workflows, which does not wait.',
            related=(Related(limit.limit_field.key, f'"{unit.name}" admits one run at a time'), *_story(way)),
        )


def _one_at_a_time(unit: Unit) -> bool:
    runs = unit.workflow.concurrency
    return runs is not None and runs.limit_field is not None and runs.limit_field.value == 1


def starts(program: Program, sink: Sink) -> None:
    """IL417: a cycle without a condition that goes over a start."""
    every = list(program.calls.calls())
    if not any(call.starts for call in every):
        return
    possible = _Circles(call for call in every if call.child is not None and can_happen(call))
    around = possible.on_cycles()
    if not any(call.starts for call in around):
        return
    surely = _Circles(call for call in around if always_happens(call))
    for call in surely.on_cycles():
        if not call.starts:
            continue
        way = surely.way(call)
        sink.add(
            "IL417",
            call.name.span,
            f"The runs of {_ring(way)} start each other with no condition on the way, so there is always one more.",
            'Give one of the calls a "when" that ends it.',
            related=_story(way),
        )


WORKSPACE_RULES = (waits, starts)
