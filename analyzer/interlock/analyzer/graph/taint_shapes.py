"""What is known of the secrets in a value: which of its members carry one, and the way they took.

A shape is a tree over the members of a value; None stands for a value without any secret.  How
shapes arise from expressions and steps is the part of ``taint_eval`` and ``taint``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from interlock.analyzer.source.text import Span

#: A shape that grows past these is taken as secret in the whole: loops could nest it without end.
MAX_DEPTH = 6
MAX_NODES = 200


class Trace(msgspec.Struct, frozen=True, eq=False):
    """One hop of the way of a secret; ``before`` is the hop before it, None at the source.

    ``source`` is the secret as a person calls it (``secrets.TOKEN``).  ``fresh`` says that it has
    not yet reached a place where it is stored: the first such place is reported, no later one.
    A hop without text is the place of a reading inside an expression.
    """

    span: Span
    text: str
    source: str
    before: Trace | None = None
    fresh: bool = True


class Shape(msgspec.Struct, frozen=True, eq=False):
    """``own``: the value itself is secret.  ``rest`` is what any member that is not named may be."""

    own: tuple[Trace, ...] = ()
    members: dict[str, Shape] = {}
    rest: Shape | None = None


def hops(trace: Trace) -> list[Trace]:
    """The way from the source to the last hop; readings are left out."""
    way: list[Trace] = []
    at: Trace | None = trace
    while at is not None:
        if at.text:
            way.append(at)
        at = at.before
    way.reverse()
    return way


def shape_of(own: tuple[Trace, ...], members: dict[str, Shape | None], rest: Shape | None = None) -> Shape | None:
    """A shape of these parts; None where none of them carries a secret."""
    kept = {name: shape for name, shape in members.items() if shape is not None}
    if not own and not kept and rest is None:
        return None
    return Shape(own, kept, rest)


def member(shape: Shape | None, name: str) -> Shape | None:
    """What a named member carries."""
    if shape is None:
        return None
    if shape.own:
        return Shape(shape.own)
    found = shape.members.get(name)
    return found if found is not None else shape.rest


def element(shape: Shape | None) -> Shape | None:
    """What a member that is not known before the run carries: any of them."""
    if shape is None:
        return None
    if shape.own:
        return Shape(shape.own)
    found = shape.rest
    for inner in shape.members.values():
        found = join(found, inner)
    return found


def traces(shape: Shape | None) -> tuple[Trace, ...]:
    """All secrets in a value, one for each place of reading."""
    found: dict[tuple[object, int, int], Trace] = {}
    for trace in _all(shape):
        key = (trace.span.piece, trace.span.start, trace.span.end)
        known = found.get(key)
        if known is None or (trace.fresh and not known.fresh):
            found[key] = trace
    return tuple(found.values())


def _all(shape: Shape | None) -> Iterator[Trace]:
    if shape is None:
        return
    yield from shape.own
    for inner in shape.members.values():
        yield from _all(inner)
    yield from _all(shape.rest)


def whole(*shapes: Shape | None) -> Shape | None:
    """A value computed from others in some way: secret in the whole where one of them is."""
    own = tuple(trace for shape in shapes for trace in traces(shape))
    return Shape(own) if own else None


def join(one: Shape | None, other: Shape | None) -> Shape | None:
    """What either of two values may carry."""
    if one is None or other is None or one is other:
        return one if other is None else other
    members: dict[str, Shape | None] = dict(one.members)
    for name, inner in other.members.items():
        members[name] = join(one.members.get(name), inner)
    return shape_of(_either(one.own, other.own), members, join(one.rest, other.rest))


def _either(one: tuple[Trace, ...], other: tuple[Trace, ...]) -> tuple[Trace, ...]:
    known = {(trace.span.piece, trace.span.start, trace.span.end) for trace in one}
    return one + tuple(t for t in other if (t.span.piece, t.span.start, t.span.end) not in known)


def retrace(shape: Shape | None, change: Callable[[tuple[Trace, ...]], tuple[Trace, ...]]) -> Shape | None:
    """The same shape with other traces."""
    if shape is None:
        return None
    return shape_of(
        change(shape.own) if shape.own else (),
        {name: retrace(inner, change) for name, inner in shape.members.items()},
        retrace(shape.rest, change),
    )


def read_at(shape: Shape | None, span: Span) -> Shape | None:
    """A value as an expression reads it there."""
    if shape is None:
        return None
    return retrace(shape, lambda own: tuple(Trace(span, "", trace.source, trace, trace.fresh) for trace in own))


def hop(shape: Shape | None, span: Span, text: str, keep_fresh: bool) -> Shape | None:
    """A value after it went on to the place that the text names; each part keeps one way there."""

    def change(own: tuple[Trace, ...]) -> tuple[Trace, ...]:
        best = next((trace for trace in own if trace.fresh), own[0])
        before = best.before if not best.text and best.before is not None else best
        return (Trace(span, text, best.source, before, best.fresh and keep_fresh),)

    return retrace(bounded(shape), change)


def bounded(shape: Shape | None) -> Shape | None:
    """The shape, taken as secret in the whole where it is too deep or too wide to be followed."""
    if shape is None or (_depth(shape) <= MAX_DEPTH and sum(1 for _ in _nodes(shape)) <= MAX_NODES):
        return shape
    return Shape(traces(shape)[:1])


def _depth(shape: Shape) -> int:
    inner = [*shape.members.values(), *([shape.rest] if shape.rest is not None else [])]
    return 1 + max((_depth(one) for one in inner), default=0)


def _nodes(shape: Shape) -> Iterator[Shape]:
    yield shape
    for inner in shape.members.values():
        yield from _nodes(inner)
    if shape.rest is not None:
        yield from _nodes(shape.rest)


def covers(known: Shape | None, new: Shape | None) -> bool:
    """Whether the known shape already says all that the new one does."""
    if new is None:
        return True
    if known is None:
        return False
    if new.own and not known.own:
        return False
    if any(trace.fresh for trace in new.own) and not any(trace.fresh for trace in known.own):
        return False
    return covers(known.rest, new.rest) and all(
        covers(known.members.get(name), inner) for name, inner in new.members.items()
    )
