"""The rules in their order: those of one workflow, and those of the whole workspace.

A rule is a function that gets a unit (one workflow with all that is derived from it) or the
program, and a sink.  A module holds one family, and names its rules in ``RULES`` (for units) and
``WORKSPACE_RULES`` (for the program).  ``WHOLE_RULES`` are those of ``RULES`` that look at a workflow as
a whole; the others say of a step what follows from it, the workflow's own fields, and the names in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TypeAlias

from interlock.analyzer.findings import Sink
from interlock.analyzer.graph.program import Program, Unit

UnitRule: TypeAlias = Callable[[Unit, Sink], None]
ProgramRule: TypeAlias = Callable[[Program, Sink], None]

UNIT_FAMILIES = (
    "names",
    "references",
    "types",
    "absence",
    "blocks",
    "flow",
    "places",
    "leases",
    "protected",
    "calls",
    "secrets",
    "credentials",
    "budgets",
)
WORKSPACE_FAMILIES = ("names", "lock_order", "call_cycles")


def _family(name: str, table: str) -> tuple[Callable[..., None], ...]:
    if find_spec(f"interlock.analyzer.rules.{name}") is None:
        return ()
    module = import_module(f"interlock.analyzer.rules.{name}")
    rules: tuple[Callable[..., None], ...] = getattr(module, table, ())
    return rules


@cache
def unit_rules() -> tuple[UnitRule, ...]:
    return tuple(rule for name in UNIT_FAMILIES for rule in _family(name, "RULES"))


@cache
def whole_rules() -> tuple[UnitRule, ...]:
    """Those of the unit rules that look at a workflow as a whole."""
    return tuple(rule for name in UNIT_FAMILIES for rule in _family(name, "WHOLE_RULES"))


@cache
def step_rules() -> tuple[UnitRule, ...]:
    """Those of the unit rules whose findings in a step follow from it and what its names stand for."""
    return tuple(rule for rule in unit_rules() if rule not in whole_rules())


@cache
def workspace_rules() -> tuple[ProgramRule, ...]:
    return tuple(rule for name in WORKSPACE_FAMILIES for rule in _family(name, "WORKSPACE_RULES"))
