"""IL310, IL407 and IL408: what the leases of a workspace mean for each other (section 6.3)."""

from __future__ import annotations

from collections.abc import Iterable

from interlock.analyzer.findings import Related, Sink
from interlock.analyzer.graph.keys import Key
from interlock.analyzer.graph.leases import Acquisition, Wait
from interlock.analyzer.graph.locks import LockEdge, is_gate
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.model.nodes import RunWorkflow
from interlock.analyzer.rules.leases import shown
from interlock.analyzer.source.text import Span

#: How many leases a message names before it says only how many more there are.
_MOST = 20


#: The end of a hint.  Behind such a gate IL407 remains, whose hint speaks of it.
_GATE = "or take one key of limit 1 before them everywhere, and suppress the hold-and-wait that remains."


def limit_conflicts(program: Program, sink: Sink) -> None:
    """IL310: one literal key with different limits; each place is held against the first one."""
    for key, takers in program.lock_order.takers.items():
        if key.template or len(takers) < 2:
            continue
        first: Acquisition | None = None
        for one in takers:
            limit = one.limit
            if limit is None:
                continue
            if first is None:
                first = one
            elif limit != first.limit:
                sink.add(
                    "IL310",
                    one.section.fields.get("limit", one.resource_key),
                    f"{shown(key)} has {_limit(one)} here and {_limit(first)} in {_where(first)}: while one is "
                    "held or waited for, the other is refused.",
                    "Give the key one limit everywhere.",
                    related=(
                        Related(
                            first.section.fields.get("limit", first.resource_key),
                            f"{shown(key)} has {_limit(first)} here",
                        ),
                    ),
                )


def _limit(one: Acquisition) -> str:
    written = one.section.limit_field is not None
    return f"limit {one.limit}" if written else f"the default limit {one.limit}"


def _where(one: Acquisition) -> str:
    return f'{one.step.called} of "{one.unit.name}"'


def hold_and_wait(program: Program, sink: Sink) -> None:
    """IL407 and IL408: blocking while a lease may be held, and orders of leases that close a cycle."""
    cycles = program.lock_order.cycles
    for wait in program.lock_order.waits():
        found = cycles.get(wait)
        if found:
            _cycle(wait, found, sink)
        elif wait.bits:
            _hold(program, wait, sink)


# -- IL407 ---------------------------------------------------------------------------------------


def _hold(program: Program, wait: Wait, sink: Sink) -> None:
    held = _by_key(wait.held)
    names = [shown(one.key) for one in held[:3]]
    listed = ", ".join(names) + (" and others" if len(held) > 3 else "")
    one = wait.acquisition
    if one is not None:
        does = f"waits for {shown(one.key)}"
    elif isinstance(wait.step.kind, RunWorkflow):
        does = "waits for its child run"
    else:
        does = "waits for other runs"
    gate = _gate(program, wait, held)
    if gate is not None:
        hint = (
            f"If all who take these keys take {shown(gate)} before them, its limit of 1 keeps them from a deadlock: "
            'then say so in "# interlock: ignore[hold-and-wait] …". Else use "on_busy: skip" or "fail" here'
        )
    else:
        hint = "Take all leases first, in one order everywhere"
        if one is not None:
            hint += ', or use "on_busy: skip" or "fail" here'
    sink.add(
        "IL407",
        wait.span,
        f"{wait.step.called} {does} while this run may still hold {listed}, which others may need until it ends.",
        hint + ", or give the lease back earlier with a section.",
        related=_leases(held),
    )


def _gate(program: Program, wait: Wait, held: list[Acquisition]) -> Key | None:
    """The first key that the run surely holds, and holds alone, while it waits for another one."""
    wanted = wait.acquisition.key if wait.acquisition is not None else None
    if wanted is None:
        return None
    for one in held:
        key = one.key
        if key is not None and key != wanted and key in wait.sure and program.lock_order.excludes(key):
            return key if is_gate(key, wanted) else None
    return None


def _by_key(held: Iterable[Acquisition]) -> list[Acquisition]:
    """The first acquisition of each key; one more of them than are told at the most."""
    first: dict[Key | None, Acquisition] = {}
    for one in held:
        first.setdefault(one.key, one)
        if len(first) > _MOST:
            break
    return list(first.values())


def _leases(held: list[Acquisition]) -> tuple[Related, ...]:
    told = [
        Related(one.resource_key, f"{one.step.called} takes {shown(one.key)} until the run ends")
        for one in held[:_MOST]
    ]
    if len(held) > _MOST:
        told.append(Related(held[_MOST].resource_key, "more leases are taken from here on"))
    return tuple(told)


# -- IL408 ---------------------------------------------------------------------------------------


def _cycle(wait: Wait, cycles: list[tuple[LockEdge, ...]], sink: Sink) -> None:
    cycle = min(cycles, key=len)
    sink.add(
        "IL408",
        _span(wait),
        _message(wait, cycle),
        _hint(cycle),
        related=tuple(_story(wait, cycle, cycles)),
    )


def _span(wait: Wait) -> Span:
    kind = wait.step.kind
    return kind.workflow.span if isinstance(kind, RunWorkflow) and kind.workflow is not None else wait.span


def _message(wait: Wait, cycle: tuple[LockEdge, ...]) -> str:
    edge = cycle[0]
    held, wanted = shown(edge.held_key), shown(edge.wanted_key)
    may = any(one.held_key.template for one in cycle)
    can = "may deadlock (it depends on what the templates give)" if may else "can deadlock"
    step = f"{wait.step.called}"
    if edge.calls:
        child = f'"{edge.wanted.unit.name}"'
        if len(cycle) == 1 and edge.held_key == edge.wanted_key:
            return (
                f"{step} {can}: this run may hold {held} while it waits for its child, and {child} waits for "
                "that key, which is given back only when this run ends."
            )
        does = f"waits for its child, in which {child} waits for {wanted}"
    elif edge.held_key == edge.wanted_key:
        return (
            f"{step} {can}: it waits for {wanted} while this run may already hold another key of that form, "
            "and two runs may take them in opposite orders."
        )
    else:
        does = f"waits for {wanted}"
    ring = " → ".join(shown(key) for key in (*(one.held_key for one in cycle), cycle[0].held_key))
    return f"{step} {can}: it {does} while {held} may be held, which closes the cycle {ring} of the lock order."


def _hint(cycle: tuple[LockEdge, ...]) -> str:
    if len(cycle) == 1 and cycle[0].calls:
        return "Take the key in only one of the two workflows."
    if len(cycle) == 1:
        return f'Take one such key in a run, use "on_busy: skip" or "fail", {_GATE}'
    return f'Take the keys in one order everywhere, use "on_busy: skip" or "fail", {_GATE}'


def _story(wait: Wait, cycle: tuple[LockEdge, ...], cycles: list[tuple[LockEdge, ...]]) -> list[Related]:
    """Who takes what and who waits for what, along the cycle; then what else is held meanwhile."""
    told: list[Related] = []
    for edge in cycle:
        told.append(Related(edge.taken.resource_key, f"{_run(edge.taken.unit)} takes {shown(edge.held_key)} here"))
        if edge.calls:
            told.append(
                Related(_span(edge.wait), f"{_run(edge.wait.unit)} then waits for its child in {edge.wait.step.called}")
            )
            told.append(
                Related(edge.wanted.policy_key, f"{_run(edge.wanted.unit)} waits for {shown(edge.wanted_key)} here")
            )
        else:
            told.append(Related(edge.wait.span, f"{_run(edge.wait.unit)} then waits for {shown(edge.wanted_key)} here"))
    by_taken = {other[0].taken: other for other in reversed(cycles) if other[0].taken is not cycle[0].taken}
    others = list(reversed(by_taken.values()))
    told.extend(
        Related(
            other[0].taken.resource_key,
            f"{shown(other[0].held_key)}, taken here, may be held then, too, and closes a cycle of its own",
        )
        for other in others[:_MOST]
    )
    return told


def _run(unit: Unit) -> str:
    return f'a run of "{unit.name}"' if unit.name else "a run"


WORKSPACE_RULES = (limit_conflicts, hold_and_wait)
