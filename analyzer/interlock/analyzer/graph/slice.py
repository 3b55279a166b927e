"""The part of a workflow that decides what is wrong in one step, where that is little.

An edit inside of one step that changes nothing others can see (a literal in the parameters of a block)
leaves the findings of all other steps as they were, and those of its own depend only on the steps whose
results it reads, at any distance.  Whatever is not as simple as that has no slice, and is judged whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from interlock.analyzer.expressions.uses import Use, uses
from interlock.analyzer.graph.flow import never_completes
from interlock.analyzer.graph.scope import result_name
from interlock.analyzer.language.blocks import BlockSpec, EffectsUnless
from interlock.analyzer.language.names import ROOTS
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branches,
    Delay,
    ForEach,
    SignalWait,
    Step,
    StepList,
    Workflow,
)
from interlock.analyzer.model.values import Expression, Literal, Template, expressions
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.nodes import Scalar

_ROOTS = frozenset(ROOTS) - {"state"}


class EditedStep(msgspec.Struct, frozen=True, eq=False):
    """A step before and after an edit, and the slice of the workflow in which the new one is judged."""

    old: Step
    new: Step
    slice: Workflow


def edited_step(before: Workflow, after: Workflow, blocks: Mapping[str, BlockSpec]) -> EditedStep | None:
    """The one step in which two readings of a workflow differ, if others cannot see the difference."""
    old, new = before.steps, after.steps
    if old is None or new is None or before.broken or after.broken or len(old.steps) != len(new.steps):
        return None
    if old.key.piece is not new.key.piece or before.fields.keys() != after.fields.keys():
        return None
    if before.broken_ids != after.broken_ids:
        return None
    if any(span.piece is not after.fields[name].piece for name, span in before.fields.items()):
        return None  # something was written anew that is no step
    differing = [at for at, (a, b) in enumerate(zip(old.steps, new.steps, strict=True)) if a is not b]
    if len(differing) != 1:
        return None
    at = differing[0]
    a, b = old.steps[at], new.steps[at]
    try:
        if not _simple(a) or not _simple(b) or _outward(a, blocks) != _outward(b, blocks):
            return None
        kept = _kept(new.steps, at)
    except _Intricate:
        return None
    steps = StepList(new.key, new.span, tuple(new.steps[number] for number in sorted(kept)))
    return EditedStep(a, b, msgspec.structs.replace(after, steps=steps))


class _Intricate(Exception):
    """Something that is not decided here."""


def _simple(step: Step) -> bool:
    """Whether leases, other runs and jumps have nothing to do with a step, at any depth."""
    if not isinstance(step.kind, BlockCall | Branches | ForEach | SignalWait | Delay):
        return False
    return all(_simple(inner) for _, steps in step.inner() for inner in steps.steps)


# -- what others see -----------------------------------------------------------------------------


def _outward(value: object, blocks: Mapping[str, BlockSpec]) -> object:
    """Everything of a step that can matter to others, comparable; places in the text do not."""
    if value is None or isinstance(value, str | int | float):
        return (type(value), value)
    if isinstance(value, Span):
        if value.via is not None:
            raise _Intricate
        return None
    if isinstance(value, Scalar):
        return None
    if isinstance(value, Literal):
        return _outward(value.data, blocks)
    if isinstance(value, Template):
        return tuple(part if isinstance(part, str) else (part.source,) for part in value.parts)
    if isinstance(value, BlockCall):
        return _outward_block(value, blocks)
    if isinstance(value, tuple | list):
        return tuple([_outward(one, blocks) for one in value])
    if isinstance(value, dict):
        return tuple([(name, _outward(one, blocks)) for name, one in value.items()])
    if isinstance(value, msgspec.Struct):
        fields = [_outward(getattr(value, name), blocks) for name in value.__struct_fields__]
        return (type(value), *fields)
    raise _Intricate


def _outward_block(call: BlockCall, blocks: Mapping[str, BlockSpec]) -> object:
    """Of a block's parameters others see only what is read in them, and what tells its effects."""
    name = call.block.value if call.block is not None else None
    spec = blocks.get(name) if name is not None else None
    if spec is None or name == "set" or call.params is None:
        fields = [_outward(getattr(call, field), blocks) for field in call.__struct_fields__]
        return (BlockCall, *fields)
    for member in call.params.value.members:
        _outward(member.key, blocks)  # an alias is not decided here
    read = frozenset((use.path, use.test, use.dynamic) for one in expressions(call.params.value) for use in _uses(one))
    effects = spec.effects
    told = call.params.value.get(effects.param) if isinstance(effects, EffectsUnless) else None
    return (BlockCall, name, read, _outward(told, blocks))


def _uses(expression: Expression) -> tuple[Use, ...]:
    if expression.tree is None or expression.via is not None:
        raise _Intricate
    return uses(expression.tree)


# -- what it depends on --------------------------------------------------------------------------


def _kept(steps: tuple[Step, ...], at: int) -> set[int]:
    """The numbers of the steps that a step depends on, with itself; raises where that is not known."""
    writers: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        if step.next is not None or never_completes(step):
            raise _Intricate
        for name in {step.id, result_name(step)}:
            if name:
                writers.setdefault(name, []).append(number)
    kept = {at}
    for name in _defined(steps[at]):
        kept.update(writers.get(name, ()))
    todo = sorted(kept)
    while todo:
        number = todo.pop()
        inside = _defined(steps[number])
        for name in _read(steps[number]):
            if name in _ROOTS or (name in inside and name not in writers):
                continue
            found = [one for one in writers.get(name, ()) if one < number]
            if not found or result_name(steps[found[0]]) != name:
                if number == at or name == "state":
                    raise _Intricate
                continue  # what is wrong there is told there
            for one in writers[name]:
                if one not in kept:
                    kept.add(one)
                    todo.append(one)
    return kept


def _defined(step: Step) -> set[str]:
    """Every bare name that a step, or a step inside of it, brings in."""
    found = {name for name in (step.id, result_name(step)) if name}
    if isinstance(step.kind, ForEach):
        found.add(step.kind.as_name)
    for _, steps in step.inner():
        for inner in steps.steps:
            found |= _defined(inner)
    return found


def _read(step: Step) -> set[str]:
    """Every bare name that is read in a step, at any depth."""
    found: set[str] = set()
    for expression in _expressions(step):
        if expression.tree is not None:
            found.update(use.path[0] for use in uses(expression.tree))
    return found


def _expressions(value: object) -> Iterator[Expression]:
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _expressions(one)
    elif isinstance(value, msgspec.Struct) and not isinstance(value, Span | Scalar):
        for name in value.__struct_fields__:
            yield from _expressions(getattr(value, name))
