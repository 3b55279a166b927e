"""IL314, IL319 and IL401 to IL406: what may stand inside a section (sections 6.3 and 6.4)."""

from __future__ import annotations

from interlock.analyzer.findings import Related, Sink
from interlock.analyzer.graph.leases import Acquisition, held_sections
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.writes import Writes, acts
from interlock.analyzer.model.nodes import (
    BlockCall,
    Delay,
    DependencyWait,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
    walk,
)
from interlock.analyzer.model.values import Literal, Template
from interlock.analyzer.rules.leases import shown


def protected_without_steps(unit: Unit, sink: Sink) -> None:
    """IL314: there is nothing to protect."""
    for one in unit.leases.acquisitions:
        setting = one.section.protected_field
        if setting is not None and setting.value and one.empty:
            sink.add(
                "IL314",
                setting.key,
                "A protected section is one outside write and the storing of its result, and this has no steps.",
                'Put the write into "steps", or remove "protected".',
            )


def inside_sections(unit: Unit, sink: Sink) -> None:
    """IL319 and IL401 to IL406: each step inside a section, at any depth."""
    writes: dict[Step, Writes] = {}
    for step in walk(unit.workflow.steps) if unit.leases.acquisitions else ():
        around = held_sections(unit, step)
        if not around:
            continue
        protected = [outer for outer in around if isinstance(outer.kind, Section) and outer.kind.protected]
        counts = None
        if protected:
            outermost = protected[-1]
            counts = writes.get(outermost)
            if counts is None:
                counts = writes[outermost] = Writes(unit, outermost)
        kind = step.kind
        if isinstance(kind, Section):
            if step in unit.leases.by_step:
                _acquires(unit.leases.by_step[step], around[0], protected, counts, sink)
        elif protected:
            assert counts is not None
            _in_protected(unit, step, protected[0], counts, sink)
        elif isinstance(kind, DependencyWait | RunWorkflow):
            sink.add(
                "IL405",
                kind.key,
                f"{step.called} waits for other runs inside {around[0].called}, which holds {_key(around[0])} "
                "meanwhile: if one of them needs it, neither can go on.",
                "Wait before the section or after it.",
                related=_holding(around),
            )


def _key(section: Step) -> str:
    kind = section.kind
    value = kind.resource.value if isinstance(kind, Section) and kind.resource is not None else None
    text = value.text if isinstance(value, Template) else value.data if isinstance(value, Literal) else None
    if not isinstance(text, str):
        return "its resource"
    return f'"{text}"' if len(text) <= 80 else f'"{text[:77]}…"'


def _holding(around: list[Step]) -> tuple[Related, ...]:
    return tuple(
        Related(
            outer.kind.fields["resource"],
            f"{outer.called} holds {_key(outer)} here" + (", protected" if outer.kind.protected else ""),
        )
        for outer in around
        if isinstance(outer.kind, Section)
    )


def _writing(counts: Writes, step: Step) -> tuple[Related, ...]:
    return tuple(
        Related(other.kind.key, f"{other.called} has outside effects") for other in counts.acting if other is not step
    )


def _acquires(one: Acquisition, outer: Step, protected: list[Step], counts: Writes | None, sink: Sink) -> None:
    """IL401 to IL403, of which the most specific one is told; nothing for what IL308 says."""
    step, section = one.step, one.section
    related = _holding([outer])
    if one.holds_nothing:
        return
    if counts is not None and counts.may_have_begun(step):
        sink.add(
            "IL403",
            section.key,
            f"{step.called} takes {shown(one.key)} inside the protected section {protected[-1].called} after its "
            "write may have begun: from then on nothing may be acquired.",
            "Take it before the first block with outside effects, on every path.",
            related=(*_holding(protected[-1:]), *_writing(counts, step)),
        )
    elif not section.empty:
        sink.add(
            "IL402",
            section.key,
            f"{step.called} is a section inside the section {outer.called}: while {_key(outer)} is held, only an "
            'empty claim with "lifetime: run" and "on_busy: skip" or "fail" may stand.',
            "Move it before or after the section.",
            related=related,
        )
    elif one.empty and one.outlives and one.policy == "wait":
        sink.add(
            "IL401",
            one.policy_key,
            f"{step.called} waits for {shown(one.key)} while {outer.called} holds {_key(outer)}: two runs that take "
            "them in different orders would wait for each other.",
            'Take it before the section, or use "on_busy: skip" or "fail".',
            related=related,
        )


_PAUSES = {
    SignalWait: "waits for the outside",
    Delay: "pauses",
    DependencyWait: "waits for other runs",
    RunWorkflow: "waits for a child run",
    StartWorkflows: "starts runs",
}


def _in_protected(unit: Unit, step: Step, section: Step, counts: Writes, sink: Sink) -> None:
    kind = step.kind
    for pause, does in _PAUSES.items():
        if isinstance(kind, pause):
            sink.add(
                "IL404",
                kind.key,
                f"{step.called} {does} inside the protected section {section.called}, which must be one short "
                "outside write and the storing of its result.",
                "Move it before the section or after it.",
                related=_holding([section]),
            )
    if step.retry is not None:
        sink.add(
            "IL406",
            step.retry.key,
            f"{step.called} may not be retried inside the protected section {section.called}: after a failure the "
            "write may have happened, and a person has to look first.",
            'Remove "retry": a failure that did nothing fails the section, and any other opens a review.',
            related=_holding([section]),
        )
    if isinstance(kind, BlockCall) and counts.may_be_second(step) and acts(unit, step):
        sink.add(
            "IL319",
            kind.key,
            f"{step.called} may be the second block with outside effects in the protected section "
            f"{section.called}: when it fails, the first write stands, and a review has to settle both.",
            "Give each write a protected section of its own.",
            related=(*_holding([section]), *_writing(counts, step)),
        )


RULES = (protected_without_steps, inside_sections)
