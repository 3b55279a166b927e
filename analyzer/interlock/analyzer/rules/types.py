"""IL206 and IL211 where a field meets a type: conditions, lists, keys, texts, JSON values."""

from __future__ import annotations

from datetime import datetime

from interlock.analyzer.expressions.types import (
    BOOL,
    DYN,
    STRING,
    List,
    Type,
    assignable,
    describe,
    is_json,
    may_be_null,
    text_type_problem,
    without_null,
)
from interlock.analyzer.expressions.uses import references
from interlock.analyzer.findings import Sink
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.sites import KEYS, Site
from interlock.analyzer.model.nodes import Delay, DependencyWait
from interlock.analyzer.model.values import Literal


def field_types(unit: Unit, sink: Sink) -> None:
    """Each expression against what its place takes."""
    for site in unit.sites:
        if site.expression.tree is None:
            continue
        checked = unit.scopes.checked(site)
        if any(problem.code in ("IL202", "IL206") for problem in checked.problems):
            continue
        _field(site, checked.type, sink)


def _wrong(site: Site, sink: Sink, message: str, hint: str | None = None) -> None:
    sink.add("IL206", site.expression.span, message, hint)


def _field(site: Site, type: Type, sink: Sink) -> None:
    place = site.place
    if site.text or place in KEYS:
        _text(site, type, sink)
        return
    if place == "when":
        if not assignable(type, BOOL):
            _wrong(site, sink, f'"when" takes a boolean, and this is {describe(type)}.')
    elif place == "items" and not site.path:
        if not assignable(type, List(DYN)):
            _wrong(site, sink, f'"items" takes a list, and this is {describe(type)}.')
    elif place == "runs":
        _runs(site, type, sink)
    elif place == "next":
        if not assignable(type, STRING):
            _wrong(site, sink, f'"next" takes the id of a step, and this is {describe(type)}.')
    elif place == "until":
        _until(site, type, sink)
    elif not is_json(type):
        _wrong(
            site,
            sink,
            f"A value must be JSON, and {describe(type)} is not.",
            "Turn it into a text, a number, a list or a map first.",
        )


def _text(site: Site, type: Type, sink: Sink) -> None:
    if site.place == "when":
        _wrong(site, sink, '"when" takes a boolean, and text around an expression makes it a text.')
        return
    if site.place == "items" and not site.path:
        _wrong(site, sink, '"items" takes a list, and text around an expression makes it a text.')
        return
    is_key = site.place in KEYS
    # What may be null is the rule on absence's; what is always null, or no text at all, is this one's.
    certain = without_null(type) if may_be_null(type) and len(getattr(type, "options", ())) > 1 else type
    why = text_type_problem(certain, is_key)
    if why is not None:
        where = "a key" if is_key else "a text"
        _wrong(site, sink, f"{_capital(describe(certain))} cannot stand in {where}: {why}.")


def _runs(site: Site, type: Type, sink: Sink) -> None:
    kind = site.step.kind if site.step is not None else None
    many = isinstance(kind, DependencyWait) and kind.form == "many" and not site.path
    if many and not assignable(type, List(STRING)):
        _wrong(site, sink, f'"workflows" takes a list of run ids, and this is {describe(type)}.')
    elif not many and not assignable(type, STRING):
        _wrong(site, sink, f"A run id is a text, and this is {describe(type)}.")


def _until(site: Site, type: Type, sink: Sink) -> None:
    from interlock.analyzer.expressions.types import TIMESTAMP

    if not assignable(type, TIMESTAMP) and not assignable(type, STRING):
        _wrong(site, sink, f'"until" takes a time, and this is {describe(type)}.', "Use timestamp(…).")


def literal_times(unit: Unit, sink: Sink) -> None:
    """A literal ``until`` must be a time as RFC 3339 writes it."""
    for step in unit.flow.steps():
        kind = step.kind
        if not isinstance(kind, Delay) or kind.until is None:
            continue
        value = kind.until.value
        if isinstance(value, Literal) and not _is_time(str(value.data)):
            sink.add(
                "IL206",
                value.span,
                f'"{value.data}" is no time.',
                "Write it as 2026-01-31T08:00:00Z, or as a template that gives a timestamp.",
            )


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def constant_conditions(unit: Unit, sink: Sink) -> None:
    """IL211: a template that reads nothing is always the same."""
    for site in unit.sites:
        tree = site.expression.tree
        if site.place == "when" and site.whole and tree is not None and not references(tree):
            if not assignable(unit.scopes.checked(site).type, BOOL):
                continue  # no condition at all, which is said already
            sink.add(
                "IL211",
                site.template.span,
                f'"{site.expression.source.strip()}" reads nothing, so it is the same in every run.',
                "Write true or false, or read something.",
            )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


RULES = (field_types, literal_times, constant_conditions)
