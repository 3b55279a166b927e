"""IL207: values that may be absent where they are used (section 3)."""

from __future__ import annotations

from msgspec import structs

from interlock.analyzer.expressions.paths import Guard, is_not_null
from interlock.analyzer.expressions.types import (
    DYN,
    Dyn,
    Map,
    Record,
    Type,
    may_be_null,
    without_null,
)
from interlock.analyzer.expressions.uses import Use
from interlock.analyzer.findings import Related, Sink
from interlock.analyzer.graph.facts import Facts, implied, own_condition
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.results import STATUSES
from interlock.analyzer.graph.sites import KEYS, Site
from interlock.analyzer.model.nodes import BlockCall, Branches, ForEach, Section, Step

#: Parameters that are written as text whatever surrounds them (sections 3 and 5.1).
TEXT_PARAMS = frozenset({("http", "url"), ("log", "message")})


def maybe_absent(unit: Unit, sink: Sink) -> None:
    for site in unit.sites:
        if site.expression.tree is None:
            continue
        unknown = any(problem.code in ("IL202", "IL205") for problem in unit.scopes.checked(site).problems)
        for use in unit.uses(site.expression):
            if unknown and (path := unit.scopes.meant(site, use.path)) != use.path:
                use = structs.replace(use, path=path)
            _judge(unit, site, use, sink)


def _judge(unit: Unit, site: Site, use: Use, sink: Sink) -> None:
    named = unit.scopes.at(site).find(use.path[0])
    if named is None:
        return
    step = named.step
    skippable = step is not None and step.when is not None and step.when.value is not True
    if not skippable and len(use.path) < 2:
        return
    known: Facts | None = None
    if skippable and step is not None and not isinstance(step.kind, Section) and _reads_member(use):
        known = _known(unit, site, use)
        if not _not_skipped(step, use, known):
            _report_skipped(site, use, step, sink)
            return
    prefix = _null_prefix(unit, named.type, use)
    if prefix is None:
        prefix = _null_in_text(unit, site, use, named.type)
    if prefix is None:
        return
    if known is None:
        known = _known(unit, site, use)
    if not _not_null(step, prefix, known):
        _report_null(site, use, prefix, step, sink)


def _known(unit: Unit, site: Site, use: Use) -> Facts:
    known = unit.facts.at(site.flow, site.at)
    step = site.step
    if step is not None and site.place not in ("when", "outputs"):
        known = known | own_condition(step)
    local: set[Guard] = set()
    for guard in (*use.guards, *use.absorbed):
        try:
            local.add(guard)
        except TypeError:
            continue
    return known | frozenset(local) if local else known


def _reads_member(use: Use) -> bool:
    """Whether a member of the root is needed: read, and not only looked for."""
    if len(use.path) < 2 or use.optional[1]:
        return False
    return not (len(use.path) == 2 and use.test in ("has", "optional"))


def _not_skipped(step: Step, use: Use, known: Facts) -> bool:
    """Whether the step is known not to have been skipped where the use stands."""
    root = use.path[0]
    for fact in known:
        if isinstance(fact, Guard) and len(fact.path) >= 2 and fact.path[0] == root and not fact.negated:
            return True
    return implied(own_condition(step), known)


def _null_prefix(unit: Unit, type: Type, use: Use) -> tuple[str, ...] | None:
    """The first part of the path that may be null while a member of it is read."""
    current = type
    for number in range(1, len(use.path)):
        if may_be_null(current) or _optional_input(unit, use.path[:number]):
            return use.path[:number]
        current = _member(current, use.path[number])
    return None


def _optional_input(unit: Unit, path: tuple[str, ...]) -> bool:
    """Whether a path is an input that a dispatch need not give: it is null then, whatever its type."""
    if len(path) != 2 or path[0] != "inputs":
        return False
    declared = unit.workflow.inputs.get(path[1])
    return declared is not None and not declared.required and declared.default is None


def _member(type: Type, name: str) -> Type:
    type = without_null(type)
    if isinstance(type, Record):
        return type.fields.get(name, DYN)
    if isinstance(type, Map):
        return type.value
    return DYN


def _null_in_text(unit: Unit, site: Site, use: Use, type: Type) -> tuple[str, ...] | None:
    """The path itself, where it may be null and becomes text."""
    if use.test in ("has", "null") or use.dynamic:
        return None
    if not (site.text or site.place in KEYS or _text_param(site)):
        return None
    for name in use.path[1:]:
        type = _member(type, name)
    whole = unit.scopes.checked(site).type
    if _optional_input(unit, use.path) and (may_be_null(whole) or isinstance(whole, Dyn)):
        return use.path
    return use.path if may_be_null(type) and may_be_null(whole) else None


def _text_param(site: Site) -> bool:
    kind = site.step.kind if site.step is not None else None
    if not isinstance(kind, BlockCall) or kind.block is None or site.place != "params":
        return False
    return len(site.path) == 1 and (kind.block.value, site.path[0]) in TEXT_PARAMS


def _not_null(step: Step | None, prefix: tuple[str, ...], known: Facts) -> bool:
    """Whether a path is known not to be null."""
    size = len(prefix)
    for fact in known:
        if not isinstance(fact, Guard):
            continue
        if fact.path == prefix and is_not_null(fact):
            return True
        if len(fact.path) > size and fact.path[:size] == prefix and not (fact.kind == "has" and fact.negated):
            return True
        if step is not None and _stands_for(step, prefix, fact):
            return True
    if step is not None and isinstance(step.kind, Section) and step.kind.on_busy != "skip":
        return implied(own_condition(step), known)
    return False


def _stands_for(step: Step, prefix: tuple[str, ...], fact: Guard) -> bool:
    """Whether a fact about another member says that the prefix is there.

    For a lease that is ``acquired``, its ``fence`` or its ``output``; for a branch its ``status``,
    or that the other of its ``output`` and ``error`` is null.
    """
    kind = step.kind
    if isinstance(kind, Section) and fact.path[:1] == prefix[:1] and len(fact.path) == 2:
        if fact.path[1] == "acquired":
            return _is_true(fact)
        return fact.path[1] in ("fence", "output") and is_not_null(fact)
    if isinstance(kind, Branches) and len(prefix) >= 4 and fact.path[:3] == prefix[:3] and len(fact.path) == 4:
        # A completed branch has an output and no error, a failed one an error and no output.
        there, other = ("failed", "output") if prefix[3] == "error" else ("completed", "error")
        if fact.path[3] == "status" and fact.kind == "equals":
            return fact.value in STATUSES and (fact.value == there) != fact.negated
        return fact.path[3] == other and not is_not_null(fact) and fact.kind in ("not_null", "equals")
    if isinstance(kind, ForEach) and fact.kind == "equals" and fact.path == (prefix[0], "succeeded"):
        return fact.negated == (fact.value == 0)
    return False


def _is_true(fact: Guard) -> bool:
    if fact.kind == "truthy":
        return not fact.negated
    return fact.kind == "equals" and isinstance(fact.value, bool) and fact.value != fact.negated


def _report_skipped(site: Site, use: Use, step: Step, sink: Sink) -> None:
    path = ".".join(use.path)
    assert step.when is not None
    sink.add(
        "IL207",
        site.expression.at(use.start, use.end),
        f'"{path}" may be absent: {step.called} is skipped when its condition is false, and gives an empty map then.',
        f"Read it as {'.?'.join(use.path)}.orValue(…), or give this step the condition of {step.called}.",
        related=(Related(step.when.key, f"{step.called} may be skipped by this condition"),),
    )


def _report_null(site: Site, use: Use, prefix: tuple[str, ...], step: Step | None, sink: Sink) -> None:
    path = ".".join(prefix)
    why, hint = f"{path} may be null", f"Test it first: {path} == null ? … : {'.'.join(use.path)}."
    related: tuple[Related, ...] = ()
    if prefix[0] == "inputs":
        why = f'"{path}" is an input that need not be given, and is null then'
    elif step is None:
        why = f'"{path}" may be null'
    elif isinstance(step.kind, Section):
        why = f'the lease of {step.called} may not have been acquired, and "{path}" is null then'
        hint = f'Give this step the condition "{{{step.id}.acquired}}".'
    elif isinstance(step.kind, Branches) and prefix[3:4] == ("error",):
        why = f'the branch may have completed, and "{path}" is null then'
        hint = f"Test it first: {'.'.join(prefix[:3])}.status == 'failed'."
    elif isinstance(step.kind, Branches):
        why = f'the branch may have failed (`on_error: collect`), and "{path}" is null then'
        hint = f"Test it first: {'.'.join(prefix[:3])}.status == 'completed'."
    elif isinstance(step.kind, ForEach):
        why = f'there may be no item, and "{path}" is null then'
    if step is not None:
        related = (Related(step.id_span, f"{step.called} is this step"),)
    what = ".".join(use.path)
    sink.add(
        "IL207",
        site.expression.at(use.start, use.end),
        f'"{what}" may be absent: {why}.',
        hint,
        related=related,
    )


RULES = (maybe_absent,)
