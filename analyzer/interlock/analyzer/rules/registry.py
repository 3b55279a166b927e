"""The rules in their order: those of one workflow, and those of the whole workspace.

A rule is a function that gets a unit (one workflow with all that is derived from it) or the
program, and a sink.  A module holds one family, and names its rules in ``RULES`` (for units) and
``WORKSPACE_RULES`` (for the program).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from interlock.analyzer.findings import Sink
from interlock.analyzer.graph.program import Program, Unit

UnitRule: TypeAlias = Callable[[Unit, Sink], None]
ProgramRule: TypeAlias = Callable[[Program, Sink], None]


def unit_rules() -> tuple[UnitRule, ...]:
    from interlock.analyzer.rules import (
        absence,
        blocks,
        budgets,
        calls,
        credentials,
        flow,
        leases,
        names,
        places,
        protected,
        references,
        secrets,
        types,
    )

    families = (
        names, references, types, absence, blocks, flow, places, leases, protected, calls, secrets, credentials, budgets,
    )  # fmt: skip
    return tuple(rule for family in families for rule in family.RULES)


def workspace_rules() -> tuple[ProgramRule, ...]:
    from interlock.analyzer.rules import call_cycles, lock_order, names

    return (*names.WORKSPACE_RULES, *lock_order.WORKSPACE_RULES, *call_cycles.WORKSPACE_RULES)
