"""The part of a workflow that decides what is wrong in some of its steps.

What is wrong in a step follows from it and from the steps whose names it reads, at any distance (see
``mentions``).  A slice holds these as they are, and of every other step at most its names and its place.
Rules of steps find the same in it as in the whole; which steps are asked about is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from interlock.analyzer.expressions.check import MOST_LISTED
from interlock.analyzer.expressions.uses import Use, uses
from interlock.analyzer.graph.flow import never_completes
from interlock.analyzer.graph.mentions import WHOLE_STATE, Ties
from interlock.analyzer.graph.scope import result_name
from interlock.analyzer.language.blocks import BlockSpec, EffectsUnless
from interlock.analyzer.language.nearest import near_words, nearest
from interlock.analyzer.model.nodes import BlockCall, Delay, SignalWait, Step, StepList, Workflow
from interlock.analyzer.model.values import Expression, Literal, Setting, Template, expressions
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.nodes import Scalar


def changed_steps(before: StepList, after: StepList) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The steps in which two readings of a list differ: those in the one, and those in the other.

    Where there are as many as before, those that are others at their places; else all of the stretch in which
    the two differ.
    """
    old, new = before.steps, after.steps
    first, most = 0, min(len(old), len(new))
    while first < most and old[first] is new[first]:
        first += 1
    last = 0
    while last < most - first and old[len(old) - 1 - last] is new[len(new) - 1 - last]:
        last += 1
    went, came = old[first : len(old) - last], new[first : len(new) - last]
    if len(went) != len(came):
        return went, came
    pairs = [(one, other) for one, other in zip(went, came, strict=True) if one is not other]
    return tuple([one for one, _ in pairs]), tuple([other for _, other in pairs])


class Dependence(msgspec.Struct, frozen=True, eq=False):
    """What some steps depend on: ``kept`` are steps (with those themselves), of ``named`` only the names."""

    kept: set[Step | None]
    named: set[Step | None]


def slice_of(workflow: Workflow, ties: Ties, needed: Dependence, shells: dict[Step, Step]) -> Workflow:
    """The workflow with the steps that are needed; ``shells`` remembers what stands for the others.

    They are left out where neither their places nor their names can matter: of a name that is unknown, it is
    told which names there are, the first ones.
    """
    assert workflow.steps is not None
    all_steps, kept = workflow.steps.steps, needed.kept
    if ties.turning or not kept.isdisjoint(ties.merging):
        named: set[Step | None] = set(all_steps)
    elif ties.unknown():
        named = needed.named | _first_named(all_steps)
    else:
        named = needed.named
    steps = [
        step if step in kept else shells.get(step) or _shell(step, shells)
        for step in all_steps
        if step in kept or step in named
    ]
    return msgspec.structs.replace(workflow, steps=msgspec.structs.replace(workflow.steps, steps=tuple(steps)))


def _first_named(steps: tuple[Step, ...]) -> set[Step]:
    """The steps that give the first names of a list."""
    found: dict[str, Step] = {}
    first: set[Step] = set()
    for step in steps:
        name = result_name(step)
        if name is not None:
            found.setdefault(name, step)
            first.add(step)
        if len(found) > MOST_LISTED:
            break
    return first


def only(workflow: Workflow, ties: Ties) -> Workflow:
    """The workflow with nothing but the steps that hold leases, or have to do with other runs."""
    assert workflow.steps is not None
    steps = tuple([step for step in workflow.steps.steps if ties.known[step].holds])
    return msgspec.structs.replace(workflow, steps=msgspec.structs.replace(workflow.steps, steps=steps))


def _shell(step: Step, shells: dict[Step, Step]) -> Step:
    """A step of the same names that does nothing."""
    name = result_name(step)
    kind: Delay | SignalWait = Delay(step.kind.key)
    if name != (step.id or None):
        field = getattr(step.kind, "result_key_field", None)
        if field is None and name is not None:
            field = Setting(name, step.kind.key, step.kind.key)
        kind = SignalWait(step.kind.key, "signal", (), None, field)
    shell = Step(step.id, step.id_span, step.span, kind, "delay", written=step.written)
    shells[step] = shell
    return shell


def depended_on(ties: Ties, asked: set[Step | None]) -> Dependence | None:
    """All that some steps depend on; None where that is everything."""
    kept = set(asked)
    todo = list(asked)
    near = _Near(ties)
    while todo:
        step = todo.pop()
        one = ties.known[step]
        if WHOLE_STATE in one.free:
            return None
        found: set[Step | None] = set()
        for name in one.free:
            found.update(ties.outer.get(name, ()))
            if name not in ties.outer and name not in ties.lost:
                found |= ties.first_inside(name)
            if name in near.unknown:
                found.update(near.meant(step, name))
        for name in one.inner | one.outer:
            found.update(ties.outer.get(name, ()))
        if one.claims:
            if WHOLE_STATE in ties.free:
                return None
            for name in one.claims:
                found.update(ties.free.get(name, ()))
        todo.extend(found - kept)
        kept |= found
    kept.update(ties.turning)
    return Dependence(kept, near.named)


class _Near:
    """The names that unknown ones may be meant for.  ``named`` are the steps that bring any such name."""

    def __init__(self, ties: Ties) -> None:
        self.ties = ties
        self.unknown = set(ties.unknown())
        self.named: set[Step | None] = set()
        self._words: dict[str, list[str]] = {}

    def meant(self, step: Step | None, name: str) -> set[Step | None]:
        """The steps that an unknown name counts as where a step reads it."""
        ties = self.ties
        words = self._words.get(name)
        if words is None:
            words = self._words[name] = near_words(name, ties.outer)
        for word in words:
            self.named.update(ties.outer[word])
        if not ties.turning:
            place = ties.order[step]
            words = [word for word in words if min([ties.order[one] for one in ties.outer[word]]) < place]
            best = nearest(name, words)
            words = [best] if best is not None else []
        return {one for word in words for one in ties.outer[word]}


class Intricate(Exception):
    """Something of which it is not decided here whether it looks the same."""


def looks_the_same(old: Step, new: Step, blocks: Mapping[str, BlockSpec]) -> bool:
    """Whether no other step, and nothing of the workflow as a whole, can tell two readings of a step apart."""
    try:
        return outward(old, blocks) == outward(new, blocks)
    except Intricate:
        return False


def goes_on_alike(old: Step, new: Step, blocks: Mapping[str, BlockSpec]) -> bool:
    """Whether the ways through a list are the same with either reading of a step, and what is known on them."""
    if (old.id, result_name(old), never_completes(old)) != (new.id, result_name(new), never_completes(new)):
        return False
    try:
        return outward((old.when, old.next), blocks) == outward((new.when, new.next), blocks)
    except Intricate:
        return False


def outward(value: object, blocks: Mapping[str, BlockSpec]) -> object:
    """Everything of a step or a field that can matter to others, comparable; places in the text do not.

    Raises ``Intricate`` where aliases or unreadable expressions are in it.
    """
    if value is None or isinstance(value, str | int | float):
        return (type(value), value)
    if isinstance(value, Span):
        if value.via is not None:
            raise Intricate
        return None
    if isinstance(value, Scalar):
        return None
    if isinstance(value, Literal):
        return outward(value.data, blocks)
    if isinstance(value, Template):
        return tuple(part if isinstance(part, str) else (part.source,) for part in value.parts)
    if isinstance(value, BlockCall):
        return _outward_block(value, blocks)
    if isinstance(value, tuple | list):
        return tuple([outward(one, blocks) for one in value])
    if isinstance(value, dict):
        return tuple([(name, outward(one, blocks)) for name, one in value.items()])
    if isinstance(value, msgspec.Struct):
        fields = [outward(getattr(value, name), blocks) for name in value.__struct_fields__]
        return (type(value), *fields)
    raise Intricate


def _outward_block(call: BlockCall, blocks: Mapping[str, BlockSpec]) -> object:
    """Of a block's parameters others see only what is read in them, and what tells its effects."""
    name = call.block.value if call.block is not None else None
    spec = blocks.get(name) if name is not None else None
    if spec is None or name == "set" or call.params is None:
        fields = [outward(getattr(call, field), blocks) for field in call.__struct_fields__]
        return (BlockCall, *fields)
    for member in call.params.value.members:
        outward(member.key, blocks)  # an alias is not decided here
    read = frozenset((use.path, use.test, use.dynamic) for one in expressions(call.params.value) for use in _uses(one))
    effects = spec.effects
    told = call.params.value.get(effects.param) if isinstance(effects, EffectsUnless) else None
    return (BlockCall, name, read, outward(told, blocks))


def _uses(expression: Expression) -> tuple[Use, ...]:
    if expression.tree is None or expression.via is not None:
        raise Intricate
    return uses(expression.tree)


def expressions_of(value: object) -> Iterator[Expression]:
    """Every expression in a step, at any depth."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from expressions_of(one)
    elif isinstance(value, msgspec.Struct) and not isinstance(value, Span | Scalar):
        for name in value.__struct_fields__:
            yield from expressions_of(getattr(value, name))
