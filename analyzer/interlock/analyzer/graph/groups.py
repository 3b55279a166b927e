"""The runs that a workflow starts: before which steps, and which waits are for them (section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.analyzer.graph.flow import ListFlow
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.model.nodes import DependencyWait, StartWorkflows, Step, walk
from interlock.analyzer.model.values import expressions

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit


class Groups:
    """The steps of a workflow that start runs, and what they stand before."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.starters: tuple[Step, ...] = tuple(
            step for step in walk(unit.workflow.steps) if isinstance(step.kind, StartWorkflows)
        )

    def before(self, step: Step) -> list[Step]:
        """The starting steps that may have settled before a step: those of its own list, of the lists
        around it, and those inside steps of these lists."""
        if not self.starters:
            return []
        chain = dict(self._chain(step))
        found: list[Step] = []
        for starter in self.starters:
            for flow, number in self._chain(starter):
                place = chain.get(flow)
                if place is not None:
                    if number in flow.may_have_settled(place):
                        found.append(starter)
                        break
        return found

    def waited_for(self, kind: DependencyWait) -> list[StartWorkflows]:
        """The starts whose runs a wait may be for: those of its group, or those whose result it reads."""
        starts = [step.kind for step in self.starters if isinstance(step.kind, StartWorkflows)]
        if kind.form == "group":
            if kind.group is None:
                return []
            keys = {one.group_key.value for one in starts if one.group_key is not None}
            name = kind.group.value if kind.group.value in keys else nearest(kind.group.value, keys)
            return [one for one in starts if one.group_key is not None and one.group_key.value == name]
        if kind.runs is None:
            read = {"agent_workflow_ids"} if kind.agents and "workflows" not in kind.fields else set()
        else:
            uses = [use for expression in expressions(kind.runs.value) for use in self.unit.uses(expression)]
            read = {use.path[1] if use.path[0] == "state" and use.path[1:] else use.path[0] for use in uses}
        return [one for one in starts if one.result_key in read]

    def reaches(self, step: Step) -> bool:
        """Whether any path leads to the step."""
        return all(number in flow.reachable for flow, number in self._chain(step))

    def _chain(self, step: Step) -> list[tuple[ListFlow, int]]:
        """The place of the step in its list, and of what contains it in theirs, from the inside out."""
        places: list[tuple[ListFlow, int]] = []
        at: Step | None = step
        while at is not None:
            flow, number = self.unit.flow.of(at)
            places.append((flow, number))
            at = flow.owner
        return places
