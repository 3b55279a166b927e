"""What the rules look at: the workflows of a workspace, each with what is derived from it.

Derived things (flow, types, held leases, taint, budgets) are made when a rule first asks for
them, once for each workflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from interlock.analyzer.expressions.uses import Use, uses
from interlock.analyzer.graph.flow import Flow
from interlock.analyzer.graph.sites import Site, sites
from interlock.analyzer.language.blocks import BlockSpec
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.model.nodes import Step, Workflow
from interlock.analyzer.model.values import Expression, Setting

if TYPE_CHECKING:
    from interlock.analyzer.graph.calls import CallGraph
    from interlock.analyzer.graph.facts import KnownFacts
    from interlock.analyzer.graph.groups import Groups
    from interlock.analyzer.graph.intervals import Least
    from interlock.analyzer.graph.leases import Leases
    from interlock.analyzer.graph.locks import LockOrder
    from interlock.analyzer.graph.mentions import Ties
    from interlock.analyzer.graph.scope import Scopes
    from interlock.analyzer.graph.taint import Taint


class Unit:
    """One workflow under judgement.

    With ``before``, an earlier reading of the same workflow, what was derived for parts that are still the
    same is taken over; ``before`` must not be used any more.
    """

    def __init__(self, workflow: Workflow, program: Program, before: Unit | None = None) -> None:
        self.workflow = workflow
        self.program = program
        self._uses: dict[Expression, tuple[Use, ...]] = {}
        #: The newest flow of this workflow and its other readings, if any.
        self._flows: list[Flow] = []
        #: The least that steps take of a quantity, see ``intervals``.
        self.least: dict[str, dict[Step, Least | None]] = {}
        #: How its steps hang together, where that has been found out: then some questions need no search.
        self.ties: Ties | None = None
        if before is not None:
            self._uses = before._uses
            self._flows = before._flows

    def aside(self, workflow: Workflow) -> Unit:
        """Another reading of this workflow, for one question: this one derives again what it lends to it."""
        self.let_go()
        other = Unit(workflow, self.program, self)
        other._uses = {}
        return other

    def let_go(self, all_of_it: bool = False) -> None:
        """Gives up what is derived again when somebody asks for it; ``all_of_it`` also what another reading takes."""
        for name in ("flow", "scopes", "facts", "leases", "groups", "sites"):
            self.__dict__.pop(name, None)
        if all_of_it:
            self._uses = {}
            self._flows = []

    def forget(self, expressions: Iterable[Expression]) -> None:
        """Drops what was kept for expressions that are no more."""
        for expression in expressions:
            self._uses.pop(expression, None)

    @property
    def name(self) -> str:
        return self.workflow.name.value if self.workflow.name else ""

    @cached_property
    def flow(self) -> Flow:
        newest = Flow(self.workflow, self._flows[0] if self._flows else None)
        self._flows[:] = [newest]
        return newest

    @cached_property
    def scopes(self) -> Scopes:
        from interlock.analyzer.graph.scope import Scopes

        return Scopes(self)

    @cached_property
    def facts(self) -> KnownFacts:
        from interlock.analyzer.graph.facts import KnownFacts

        return KnownFacts(self)

    @cached_property
    def leases(self) -> Leases:
        from interlock.analyzer.graph.leases import Leases

        return Leases(self)

    @cached_property
    def groups(self) -> Groups:
        from interlock.analyzer.graph.groups import Groups

        return Groups(self)

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        return tuple(sites(self.workflow, self.flow))

    def uses(self, expression: Expression) -> tuple[Use, ...]:
        """What an expression reads; nothing where it could not be read."""
        found = self._uses.get(expression)
        if found is None:
            found = uses(expression.tree) if expression.tree is not None else ()
            self._uses[expression] = found
        return found


class Program:
    """All workflows that are seen together, and the blocks they may use.

    ``units`` are in the order of files and positions; where two have one name, the first one
    stands for it.  ``kept`` are units of an earlier program for which nothing has changed, in it or in what
    it calls, and ``before`` earlier readings of workflows that have: both go over to this program.
    """

    def __init__(
        self,
        workflows: list[Workflow],
        blocks: dict[str, BlockSpec],
        kept: Mapping[Workflow, Unit] | None = None,
        before: Mapping[Workflow, Unit] | None = None,
    ) -> None:
        self.blocks = blocks
        self.units: list[Unit] = []
        for workflow in workflows:
            unit = kept.get(workflow) if kept else None
            if unit is None:
                unit = Unit(workflow, self, before.get(workflow) if before else None)
            unit.program = self
            self.units.append(unit)
        self.by_name: dict[str, Unit] = {}
        for unit in self.units:
            if unit.name:
                self.by_name.setdefault(unit.name, unit)

    @cached_property
    def taint(self) -> Taint:
        from interlock.analyzer.graph.taint import Taint

        return Taint(self)

    @cached_property
    def calls(self) -> CallGraph:
        from interlock.analyzer.graph.calls import CallGraph

        return CallGraph(self)

    @cached_property
    def lock_order(self) -> LockOrder:
        from interlock.analyzer.graph.locks import LockOrder

        return LockOrder(self)

    def child(self, name: Setting[str] | None) -> Unit | None:
        """The workflow that a reference stands for: of that name, or of the one near name (IL412)."""
        if name is None:
            return None
        unit = self.by_name.get(name.value)
        if unit is None and (near := nearest(name.value, self.by_name)):
            unit = self.by_name[near]
        return unit

    def block(self, name: Setting[str] | None) -> BlockSpec | None:
        """The block that a name stands for: of that name, or of the one near name (IL208)."""
        if name is None:
            return None
        spec = self.blocks.get(name.value)
        if spec is None and (near := nearest(name.value, self.blocks)):
            spec = self.blocks[near]
        return spec
