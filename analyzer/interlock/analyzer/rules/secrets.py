"""Where ``secrets`` may be written, and where what is secret must not flow (section 11).

The flow itself is the part of ``graph.taint``; credentials that stand in the text are judged by
``credentials``.
"""

from __future__ import annotations

from interlock.analyzer.expressions.uses import Use
from interlock.analyzer.findings import Edit, Fix, Related, Sink
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.sites import KEYS, Site
from interlock.analyzer.graph.taint import Leak
from interlock.analyzer.graph.taint_shapes import hops
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.source.text import Span

_KEY_CODES = {"resource": "IL501", "supersession_key": "IL502", "idempotency_key": "IL503"}
_KEY_TITLES = {
    "resource": "resource key",
    "supersession_key": "supersession key",
    "idempotency_key": "idempotency key",
}
_PLACES = {
    "when": "a condition",
    "items": "the items of a step",
    "outputs": "outputs",
    "inputs": "the inputs of another run",
    "runs": "the run ids of a wait",
    "match": "the match of a signal",
    "until": "the time of a delay",
    "next": "a jump",
}
_KEY_HINT = "A key is shown to everybody: build it from values that are not secret, such as an id."


def leaks(unit: Unit, sink: Sink) -> None:
    """IL501, IL502, IL503, IL505, IL507: secrets that reach a place where they must not be."""
    for leak in unit.program.taint.leaks(unit):
        message, hint = _story(leak)
        way = [Related(hop.span, hop.text) for hop in hops(leak.trace) if hop.span != leak.span]
        sink.add(leak.code, leak.span, message, hint, related=tuple(way))


def _story(leak: Leak) -> tuple[str, str]:
    source = leak.trace.source
    if leak.code == "IL505":
        return (
            f'The secret "{source}" would be stored: it reaches {leak.place} here.',
            'Keep it inside the step that needs it, or hand it to an input with "secret: true".'
            if leak.place.startswith("input ")
            else "Keep it inside the params of the block that needs it, and store only what is not secret.",
        )
    if leak.code == "IL507":
        return (
            f'The secret "{source}" is written to the log here.',
            "Log something that tells the values apart without giving them away, such as an id.",
        )
    return f'The secret "{source}" becomes part of {leak.place}.', _KEY_HINT


def placement(unit: Unit, sink: Sink) -> None:
    """IL508 and IL506: ``secrets`` outside params, and names that ``secrets`` does not declare."""
    carried = {(leak.span.piece, leak.span.start) for leak in unit.program.taint.leaks(unit)}
    for site in unit.sites:
        if "secrets" not in site.expression.source:
            continue
        for use in unit.uses(site.expression):
            if use.path[0] != "secrets":
                continue
            _declared(unit, site, use, sink)
            if site.place in ("params", "compensate"):
                continue
            span = site.expression.at(use.start, use.end)
            if site.place in KEYS:
                if (span.piece, span.start) not in carried:
                    _in_key(site, use, span, sink)
            else:
                sink.add(
                    "IL508",
                    span,
                    f'"{_name(use)}" cannot stand in {_PLACES.get(site.place, site.place)}: '
                    "secrets are known only to blocks.",
                    'Use it in the "params" of a block, which gets it when it runs.',
                )


def _name(use: Use) -> str:
    return ".".join(use.path[:2])


def _in_key(site: Site, use: Use, span: Span, sink: Sink) -> None:
    """A key that only compares or measures a secret: no secret flows, yet none is known there."""
    sink.add(
        _KEY_CODES[site.place],
        span,
        f'"{_name(use)}" cannot stand in a {_KEY_TITLES[site.place]}: secrets are known only to blocks.',
        _KEY_HINT,
    )


def _declared(unit: Unit, site: Site, use: Use, sink: Sink) -> None:
    workflow = unit.workflow
    names = [secret.name for secret in workflow.secrets]
    if len(use.path) < 2 or use.path[1] in names or _unreadable(unit):
        return
    name = use.path[1]
    span = site.expression.at(use.starts[1], use.ends[1])
    near = nearest(name, names)
    if near is not None:
        hint = f'Did you mean "{near}"?'
        fix: Fix | None = Fix(f'Change it to "{near}"', (Edit(span, near),)) if span.via is None else None
    else:
        hint = f'Add it: "secrets: [{", ".join([*names, name])}]".'
        fix = _declare(unit, name)
    sink.add("IL506", span, f'The secret "{name}" is not declared in "secrets".', hint, fix=fix)


def _unreadable(unit: Unit) -> bool:
    """Whether the declaration may stand in a part that could not be read."""
    workflow = unit.workflow
    key = workflow.fields.get("secrets")
    if key is None:
        return workflow.broken
    if workflow.secrets:
        return False
    return not key.piece.text[key.end :].lstrip(" \t:").startswith("[")


def _declare(unit: Unit, name: str) -> Fix | None:
    """A fix that adds a name to ``secrets``, in the style in which the list is written."""
    workflow = unit.workflow
    title = f'Declare "{name}" in "secrets"'
    if workflow.secrets:
        last = workflow.secrets[-1].span
        text = last.piece.text
        line = text.rfind("\n", 0, last.start) + 1
        before = text[line : last.start]
        if last.via is not None:
            return None
        if before.strip() == "-":
            return Fix(title, (Edit(_point(last, last.end), f"\n{before}{name}"),))
        return Fix(title, (Edit(_point(last, last.end), f", {name}"),))
    key = workflow.fields.get("steps")
    if key is None or key.via is not None or "secrets" in workflow.fields:
        return None
    line = key.piece.text.rfind("\n", 0, key.start) + 1
    indent = key.piece.text[line : key.start]
    if indent.strip():
        return None
    return Fix(title, (Edit(_point(key, line), f"{indent}secrets: [{name}]\n"),))


def _point(span: Span, at: int) -> Span:
    return Span(span.piece, at, at)


RULES = (leaks, placement)
