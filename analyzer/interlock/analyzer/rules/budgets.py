"""Budgets, deadlines and loops: what cannot fit, what nothing bounds, what never ends (section 10).

Values of a wrong form (IL601, IL606) are the reader's part; the amounts come from
``graph.intervals``, the ways out of loops from ``graph.loop_exits``.
"""

from __future__ import annotations

from interlock.analyzer.findings import Related, Sink
from interlock.analyzer.graph.flow import ListFlow, Loop
from interlock.analyzer.graph.intervals import Bounds, Least, Part, Quantity, known_length
from interlock.analyzer.graph.loop_exits import LoopExits
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.language.names import spell_duration
from interlock.analyzer.model.nodes import NAMELESS, ForEach, StartWorkflows, Step, walk
from interlock.analyzer.model.values import Setting, Value
from interlock.analyzer.source.text import Span

#: What a quantity is called, and what a step of a path takes of it.
_WORDS: dict[Quantity, tuple[str, str]] = {
    "transitions": ("completes at least {} {}", "step"),
    "cost_units": ("costs at least {} {}", "unit"),
    "for_each_items": ("has a `for_each` over at least {} {}", "item"),
    "started_workflows": ("starts at least {} {}", "run"),
    "state_bytes": ("stores a state of at least {} {}", "byte"),
}
_SHOWN_STEPS = 12
_SHOWN_RELATED = 12


def items_over_budget(unit: Unit, sink: Sink) -> None:
    """IL604: a list in the text that is longer than what the budget allows at once."""
    for quantity, step, items, length, limit in _too_long(unit):
        field = f"max_{quantity}"
        sink.add(
            "IL604",
            items.span,
            f'{step.called} has {length:,} items here, and "{field}" allows {limit.value:,}: the run would fail.',
            f'Raise "{field}", or shorten the list.',
            related=(Related(limit.key, f'"{field}" is {limit.value:,}'),),
        )


def _too_long(unit: Unit) -> list[tuple[Quantity, Step, Setting[Value], int, Setting[int]]]:
    budget = unit.workflow.budget
    found: list[tuple[Quantity, Step, Setting[Value], int, Setting[int]]] = []
    if budget is None or (budget.max_for_each_items is None and budget.max_started_workflows is None):
        return found
    for step in walk(unit.workflow.steps):
        kind = step.kind
        quantity: Quantity
        if isinstance(kind, ForEach):
            quantity, limit = "for_each_items", budget.max_for_each_items
        elif isinstance(kind, StartWorkflows):
            quantity, limit = "started_workflows", budget.max_started_workflows
        else:
            continue
        length = known_length(kind.items)
        if kind.items is not None and length is not None and limit is not None and length > limit.value:
            found.append((quantity, step, kind.items, length, limit))
    return found


def budget_too_small(unit: Unit, sink: Sink) -> None:
    """IL603: even the cheapest path needs more than the budget."""
    workflow = unit.workflow
    if workflow.budget is None or workflow.broken:
        return
    told = {quantity for quantity, *_ in _too_long(unit)}
    for quantity, (does, word) in _WORDS.items():
        limit: Setting[int] | None = getattr(workflow.budget, f"max_{quantity}")
        if limit is None or quantity in told:
            continue
        least = Bounds(unit, quantity).least()
        if least is None or least.amount <= limit.value:
            continue
        amount = round(least.amount)
        sink.add(
            "IL603",
            limit.key,
            f'Every path through "{unit.name}" {does.format(f"{amount:,}", _plural(word, amount))}, and '
            f'"max_{quantity}" allows {limit.value:,}; the cheapest path is {_path(least.path)}.',
            f"Raise it to at least {amount}, or leave steps out.",
            related=_places(least, quantity, word),
        )


def _plural(word: str, amount: int) -> str:
    return word if amount == 1 else word + "s"


def _path(path: tuple[Part, ...]) -> str:
    """The steps of a path with what each takes; the middle of a long one is left out."""
    words = [f"{part.step.name or NAMELESS} ({part.amount:g})" for part in path if part.amount]
    if len(words) > _SHOWN_STEPS:
        half = _SHOWN_STEPS // 2
        words = [*words[:half], f"… {len(words) - 2 * half} more …", *words[-half:]]
    return " → ".join(words) or "empty"


def _places(least: Least, quantity: Quantity, word: str) -> tuple[Related, ...]:
    parts = least.path if quantity == "state_bytes" else least.parts
    shown = [part for part in parts if part.amount][:_SHOWN_RELATED]
    return tuple(
        Related(part.step.id_span, f"{part.step.called} takes {part.amount:g} {_plural(word, round(part.amount))}")
        for part in shown
    )


def unbounded_fan_out(unit: Unit, sink: Sink) -> None:
    """IL605: runs started for items that are known only at run time, without their budget."""
    workflow = unit.workflow
    budget = workflow.budget
    if budget is not None and "max_started_workflows" in budget.fields:
        return
    if budget is None and ("budget" in workflow.fields or workflow.broken):
        return
    for step in walk(workflow.steps):
        kind = step.kind
        if isinstance(kind, StartWorkflows) and kind.items is not None and known_length(kind.items) is None:
            sink.add(
                "IL605",
                kind.key,
                f"{step.called} starts one run for each item of a list that is known only at run time, "
                "and nothing limits how many.",
                'Give the workflow a "budget" with "max_started_workflows".',
                related=(Related(kind.items.span, "the items come from here"),),
            )


def deadline_too_short(unit: Unit, sink: Sink) -> None:
    """IL607: the delays alone take longer than the deadline."""
    workflow = unit.workflow
    if workflow.deadline is None or workflow.broken:
        return
    least = Bounds(unit, "delay").least()
    if least is None or least.amount <= workflow.deadline.value:
        return
    related = [
        Related(part.step.kind.key, f"{part.step.called} waits for {spell_duration(part.amount)}")
        for part in least.parts[:_SHOWN_RELATED]
    ]
    sink.add(
        "IL607",
        workflow.deadline.key,
        f'Every path through "{unit.name}" waits for at least {spell_duration(least.amount)}, and its deadline '
        f"is {spell_duration(workflow.deadline.value)}: no run can end in time.",
        "Give it more time, or shorten the delays.",
        related=tuple(related),
    )


def loops(unit: Unit, sink: Sink) -> None:
    """IL602 and IL608: loops that nothing bounds, and loops whose way out never changes."""
    workflow = unit.workflow
    if workflow.broken or (unit.ties is not None and not unit.ties.jumping):
        return
    budget = workflow.budget
    bounded = "deadline" in workflow.fields or (
        "max_transitions" in budget.fields if budget is not None else "budget" in workflow.fields
    )
    for flow in unit.flow.lists:
        for whole in flow.loops:
            told = False
            for number in whole.closing:
                told |= _loop(unit, flow, flow.round(whole, number), number, bounded, sink)
            if not told and not LoopExits(unit, flow, whole).exits:
                # Each can be left for another one, and none for anything else.
                for number in whole.closing:
                    _loop(unit, flow, whole, number, bounded, sink)


def _loop(unit: Unit, flow: ListFlow, loop: Loop, closing: int, bounded: bool, sink: Sink) -> bool:
    """What is wrong with the loop that the ``next`` of a step closes; whether anything is."""
    step = flow.steps[closing]
    if step.next is None:
        return False
    exits = LoopExits(unit, flow, loop)
    members = [flow.steps[number] for number in sorted(loop.members)]
    unbounded = not bounded and flow.role != "handler"
    stuck = bool(exits.exits) and exits.stuck()
    if not exits.exits:
        _no_way_out(step, step.next.key, members, sink)
    elif unbounded:
        _without_bound(unit, step, step.next.key, members, sink)
    if stuck:
        _stuck(step, step.next.key, exits, members, sink)
    return stuck or unbounded or not exits.exits


def _way(members: list[Step]) -> str:
    return " → ".join(f"{step.called}" for step in members[:_SHOWN_STEPS])


def _members(members: list[Step], but: Step) -> tuple[Related, ...]:
    return tuple(
        Related(step.id_span, f"{step.called} is in the loop") for step in members[:_SHOWN_RELATED] if step is not but
    )


def _no_way_out(step: Step, at: Span, members: list[Step], sink: Sink) -> None:
    sink.add(
        "IL602",
        at,
        f"This jump closes a loop that no step leaves: {_way(members)}.",
        'Give a step of the loop a "when", or a "next" that leads out of it.',
        related=_members(members, step),
    )


def _without_bound(unit: Unit, step: Step, at: Span, members: list[Step], sink: Sink) -> None:
    sink.add(
        "IL602",
        at,
        f'This jump closes a loop ({_way(members)}), and "{unit.name}" has neither "max_transitions" nor a '
        '"deadline" that would end it.',
        'Give the workflow "budget: {max_transitions: …}" or a "deadline".',
        related=_members(members, step),
    )


def _stuck(step: Step, at: Span, exits: LoopExits, members: list[Step], sink: Sink) -> None:
    deciding = tuple(
        Related(expression.span, "this decides whether the loop is left, and the loop does not change what it reads")
        for way in exits.exits
        for expression in way.deciding
    )
    sink.add(
        "IL608",
        at,
        f"This jump closes a loop ({_way(members)}) whose way out reads nothing that the loop changes: once "
        "in it, a run never leaves it.",
        "Let the condition read the result of a step of the loop.",
        related=deciding,
    )


RULES = (items_over_budget, budget_too_small, unbounded_fan_out, deadline_too_short, loops)
WHOLE_RULES = (budget_too_small, deadline_too_short, loops)
