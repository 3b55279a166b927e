"""IL201 to IL206 and IL215, as far as expressions show them: names, members, types of operators."""

from __future__ import annotations

from interlock.analyzer.expressions.problem import Problem
from interlock.analyzer.expressions.uses import Use
from interlock.analyzer.findings import Edit, Fix, Related, Sink, sentence
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.scope import Hidden
from interlock.analyzer.graph.sites import Site
from interlock.analyzer.model.nodes import Branches, ForEach, Section, StartWorkflows, Step, walk
from interlock.analyzer.model.values import MapValue, Setting, Template
from interlock.analyzer.source.text import Span


def expressions(unit: Unit, sink: Sink) -> None:
    """What the checker of expressions finds, placed in the file."""
    for site in unit.sites:
        if site.expression.tree is None:
            continue
        for problem in unit.scopes.checked(site).problems:
            _place(unit, site, problem, sink)
        for use in unit.uses(site.expression):
            _reference(unit, site, use, sink)


def _place(unit: Unit, site: Site, problem: Problem, sink: Sink) -> None:
    span = site.expression.at(problem.start, problem.end)
    fix = None
    if problem.fix is not None:
        start, end, text = problem.fix
        place = site.expression.at(start, end)
        if _writable(place, site, start, end):
            shown = text if text[:1] in ("'", '"') else f'"{text}"'
            # Of one letter nothing tells what was meant: it is as near to any other.
            sure = problem.code not in ("IL202", "IL205") or min(end - start, len(text)) > 1
            fix = Fix(f"Change it to {shown}", (Edit(place, text),), sure)
    hint = sentence(problem.hint) if problem.hint is not None else None
    beside = _sources(unit, site) if span.via is not None else None
    sink.add(problem.code, span, sentence(problem.message), hint, fix=fix, beside=beside)


def _sources(unit: Unit, site: Site) -> tuple[Span, ...]:
    """Where the names of an expression come from that are not the same in the whole workflow."""
    scope = unit.scopes.at(site)
    around = [step.id_span for step in unit.flow.enclosing(site.step)] if site.step is not None else []
    found: list[Span] = []
    for use in unit.uses(site.expression):
        name = use.path[0]
        named = scope.find(name)
        if named is not None and named.step is not None:
            found.append(named.step.id_span)
        elif name not in unit.scopes.roots and (
            named is not None or unit.scopes.hidden(unit.flow.top, name) is not None
        ):
            found.extend(around)
    return tuple(found)


def _writable(place: Span, site: Site, start: int, end: int) -> bool:
    """Whether the text in the file is the text of the expression: no escapes or line ends between."""
    return place.via is None and place.text == site.expression.source[start:end]


def _reference(unit: Unit, site: Site, use: Use, sink: Sink) -> None:
    name = use.path[0]
    scope = unit.scopes.at(site)
    if scope.find(name) is not None:
        if name == "state" and use.path[1:2] and use.path[1].startswith("_"):
            _private(site, use, sink)
        return
    hidden = unit.scopes.hidden(site.flow, name)
    if hidden is None:
        return
    span = site.expression.at(use.starts[0], use.ends[0])
    if hidden.why == "later":
        _later(unit, site, use, hidden, span, sink)
    elif hidden.why == "inside":
        _inside(use, hidden, span, sink)
    elif hidden.why == "keyed":
        _keyed(name, hidden, span, sink)
    elif hidden.why == "handler":
        _behind(unit, name, use, hidden, span, sink)
    elif name == "state":
        message = '"state" stands only in steps and outputs: this is evaluated before the run has any.'
        sink.add("IL202", span, message, "Build the key from inputs.")
    else:
        home = "a section under a lease" if name == "lease" else "a `for_each`"
        if hidden.owner is not None:
            home = f"the items of {hidden.owner.called}"
        sink.add("IL202", span, f'"{name}" stands only inside {home}, and this place is not.')


def _private(site: Site, use: Use, sink: Sink) -> None:
    name = use.path[1]
    sink.add(
        "IL205",
        site.expression.at(use.starts[1], use.ends[1]),
        f'"{name}" is private (it starts with `_`), and never in the state.',
        f'Where it stands, it is read as "{name}".',
    )


def _later(unit: Unit, site: Site, use: Use, hidden: Hidden, span: Span, sink: Sink) -> None:
    name, step = use.path[0], hidden.step
    assert step is not None
    if site.flow is None:
        message = f'"{name}" is a step, and this is evaluated before any step has run.'
    elif step is site.step:
        message = f'"{name}" is this very step: it has no result before it has settled.'
    elif step in tuple(unit.flow.enclosing(site.step)) if site.step is not None else False:
        message = f'"{name}" is the step around this one: it has no result before it has settled.'
    else:
        message = f'"{name}" has not settled before this on every path.'
    sink.add(
        "IL203",
        span,
        message,
        _where_it_ran(use)
        if _may_have_run(unit, site, step)
        else "Read only what stands before this place, whatever way the run takes to it.",
        related=(Related(step.id_span, f'"{name}" is written by this step'),),
        beside=(step.id_span,),
    )


def _may_have_run(unit: Unit, site: Site, step: Step) -> bool:
    """Whether a step of the workflow's own list has settled on some way to the place: then the state holds it."""
    flow, at = site.flow, site.at
    while flow is not None and flow.parent is not None and flow.owner is not None:
        at = unit.flow.of(flow.owner)[1]
        flow = flow.parent
    if flow is None or flow.role != "workflow" or unit.flow.of(step)[0] is not flow:
        return False
    number = unit.flow.of(step)[1]
    return number in (flow.may_have_settled(at) if at < len(flow.steps) else flow.reachable)


def _where_it_ran(use: Use) -> str:
    return f"Read it as state.?{'.?'.join(use.path)}.orValue(…): it is there where the step has run."


def _behind(unit: Unit, name: str, use: Use, hidden: Hidden, span: Span, sink: Sink) -> None:
    """A handler that reads a step."""
    step = hidden.step
    assert step is not None
    flow, _ = unit.flow.of(step)
    hint = None
    if flow.role == "workflow" and not name.startswith("_"):
        hint = _where_it_ran(use)
    elif flow.role != "handler":
        hint = "Give what contains it an output that reads it, and read that through `state`."
    sink.add(
        "IL202",
        span,
        f'"{name}" is a step, and handlers see no step by its name: the run may have stopped before it.'
        if flow.role != "handler"
        else f'"{name}" is a step of a handler, and handlers see no step by its name.',
        hint,
        related=(Related(step.id_span, f'"{name}" is written by this step'),),
    )


def _inside(use: Use, hidden: Hidden, span: Span, sink: Sink) -> None:
    owner, name = hidden.owner, use.path[0]
    assert owner is not None
    home, way = _export(owner, use, hidden.step)
    related = []
    if hidden.step is not None:
        related.append(Related(hidden.step.id_span, f'"{name}" stands here, inside {owner.called}'))
    sink.add(
        "IL204",
        span,
        f'"{name}" is a step inside {home}, which shows only its outputs.',
        way,
        related=tuple(related),
    )


def _export(owner: Step, use: Use, inner: Step | None) -> tuple[str, str]:
    """What contains a name, and how what it stands for is read from outside."""
    kind = owner.kind
    if isinstance(kind, Branches):
        branch = next((one for one in kind.branches if one.steps and inner in tuple(walk(one.steps))), None)
        if branch is None:
            return f"a branch of {owner.called}", _through(None, "the branch", f"{owner.id}.branches.….output", use)
        way = _through(branch.outputs, "the branch", f"{owner.id}.branches.{branch.name}.output", use)
        return f'the branch "{branch.name}" of {owner.called}', way
    if isinstance(kind, Section):
        way = _through(kind.outputs, "the section", f"{owner.id}.output", use)
        return f"the section {owner.called}", way
    assert isinstance(kind, ForEach)
    return f"the items of {owner.called}", _through(kind.outputs, "the items", f"{owner.id}.results[0]", use)


def _through(outputs: Setting[MapValue] | None, what: str, path: str, use: Use) -> str:
    """How to read it by an output that there is already, else by one that is to be written."""
    for member in outputs.value.members if outputs is not None else ():
        value = member.value
        if isinstance(value, Template) and value.whole and value.expressions[0].tree is not None:
            text = value.expressions[0].source.strip()
            for length in range(len(use.path), 0, -1):
                if text == ".".join(use.path[:length]):
                    rest = "".join(f".{name}" for name in use.path[length:])
                    return f"Read the output that shows it: {{{path}.{member.name}{rest}}}."
    return f"Give {what} an output that reads it, and read that: {{{path}.{use.path[0]}}}."


def _keyed(name: str, hidden: Hidden, span: Span, sink: Sink) -> None:
    step = hidden.step
    assert step is not None
    if hidden.key is not None:
        hint = f'Its result is under its result key: read "{hidden.key}".'
    elif isinstance(step.kind, StartWorkflows):
        hint = "Give it a `result_key`, which the run ids go to, and read that."
    else:
        hint = "It merges what it gets into the state: read that through `state`, or give it a `result_key`."
    sink.add(
        "IL202",
        span,
        f'"{name}" writes nothing under its id.',
        hint,
        related=(Related(step.kind.key, f'"{name}" is a {step.kind_name} step'),),
    )


RULES = (expressions,)
