"""IL308, IL311, IL312, IL316, IL317 and IL318 on leases: what one claim or section is worth by itself.

Sections inside sections are the business of ``protected``; leases against each other, of
``lock_order``.
"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.analyzer.findings import Related, Sink
from interlock.analyzer.graph.flow import ListFlow
from interlock.analyzer.graph.keys import LONGEST, Key, known_text
from interlock.analyzer.graph.leases import Acquisition, is_off, runs_twice
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.graph.scope import result_name
from interlock.analyzer.graph.sites import Site
from interlock.analyzer.model.nodes import Branches, ForEach, StartWorkflows, Step, StepList, walk
from interlock.analyzer.model.values import Literal, Template, expressions


def shown(key: Key | None) -> str:
    """A key as messages quote it."""
    if key is None:
        return "the resource"
    return f'"{key.text}"' if len(key.text) <= 80 else f'"{key.text[:77]}…"'


def empty_sections(unit: Unit, sink: Sink) -> None:
    """IL308: a section without steps gives its lease back at once."""
    for one in unit.leases.acquisitions:
        if one.holds_nothing and not one.section.protected:
            sink.add(
                "IL308",
                one.section.key,
                f"This section has no steps, so {shown(one.key)} would be given back at once.",
                'Add "steps", or "lifetime: run" to hold it until the run ends.',
            )


def key_length(unit: Unit, sink: Sink) -> None:
    """IL311: a key that is empty or too long, as far as its literal text tells."""
    for one in unit.leases.acquisitions:
        setting = one.section.resource
        if setting is None:
            continue
        value = setting.value
        text = known_text(value)
        if text is not None:
            length = len(text)
            if not length:
                sink.add("IL311", setting.span, "A resource key must not be empty.", "Name the resource.")
        else:
            parts = value.parts if isinstance(value, Template) else ()
            length = sum(len(part) for part in parts if isinstance(part, str))
        if length > LONGEST:
            sink.add(
                "IL311",
                setting.span,
                f"A resource key has at most {LONGEST} characters, and this has {length} or more."
                if isinstance(value, Template)
                else f"A resource key has at most {LONGEST} characters, and this has {length}.",
                "Use a shorter name, or a digest of it.",
            )


# -- IL312 ---------------------------------------------------------------------------------------


def shared_leases(unit: Unit, sink: Sink) -> None:
    """IL312: parts of one run that take the same key do not exclude each other."""
    leases = unit.leases
    told: set[Acquisition] = set()
    for step in walk(unit.workflow.steps) if leases.acquisitions else ():
        kind = step.kind
        if is_off(step):
            continue
        if isinstance(kind, Branches) and kind.limit > 1:
            _shared_by_branches(unit, step, told, sink)
        elif isinstance(kind, ForEach) and kind.limit > 1 and runs_twice(kind) and kind.steps is not None:
            for one in _inside(unit, kind.steps):
                if one not in told and not _differs(unit, one, step):
                    told.add(one)
                    sink.add(
                        "IL312",
                        one.resource_key,
                        f"The items of {step.called} all take {shown(one.key)}: leases belong to the run, "
                        "so they share one lease and do not exclude each other.",
                        'Use "limit: 1" on the for_each to do one item at a time, or put the item into the key.',
                        related=(Related(kind.key, f"the items of {step.called} run beside each other"),),
                    )


def _shared_by_branches(unit: Unit, step: Step, told: set[Acquisition], sink: Sink) -> None:
    first: dict[Key, tuple[str, Acquisition]] = {}
    assert isinstance(step.kind, Branches)
    for branch in step.kind.branches:
        if branch.steps is None:
            continue
        here: dict[Key, tuple[str, Acquisition]] = {}
        for one in _inside(unit, branch.steps):
            if one.key is None or _differs(unit, one, step):
                continue
            if one.key not in first:
                here.setdefault(one.key, (branch.name, one))
            elif one not in told:
                told.add(one)
                name, other = first[one.key]
                sink.add(
                    "IL312",
                    one.resource_key,
                    f'Branches "{name}" and "{branch.name}" of {step.called} both take {shown(one.key)}: '
                    "leases belong to the run, so they share one lease and do not exclude each other.",
                    'Use "limit: 1" on the branches to run them one after another, or different keys.',
                    related=(Related(other.resource_key, f'branch "{name}" takes it here'),),
                )
        first.update(here)


def _inside(unit: Unit, steps: StepList) -> Iterator[Acquisition]:
    """The acquisitions of a list at any depth whose keys are known."""
    for step in walk(steps):
        one = unit.leases.by_step.get(step)
        if one is not None and one.key is not None and not one.holds_nothing and not is_off(step):
            yield one


def _differs(unit: Unit, one: Acquisition, container: Step) -> bool:
    """Whether the key reads something that is defined inside the container, once for each part of it."""
    assert one.key is not None
    if one.key.stable:
        return False
    roots = one.key.roots
    flow: ListFlow | None = unit.flow.of(one.step)[0]
    while flow is not None and flow.owner is not None:
        if any(result_name(step) in roots or step.id in roots for step in flow.steps):
            return True
        owner = flow.owner
        if any(name in roots for name in unit.scopes.added_names(owner)):
            return True
        if owner is container:
            return False
        flow = flow.parent
    return False


# -- IL316 ---------------------------------------------------------------------------------------


def unchecked_claims(unit: Unit, sink: Sink) -> None:
    """IL316: whether the claim was granted must be asked, or it protects nothing."""
    if unit.workflow.broken:
        return
    for one in unit.leases.acquisitions:
        step = one.step
        if not one.empty or one.policy != "skip" or one.lifetime != "run" or not step.id or is_off(step):
            continue
        if not any(_reads_claim(unit, one, site) for site in unit.sites) and not _handed_on(unit, one):
            sink.add(
                "IL316",
                one.policy_key,
                f"Nothing later reads whether {step.called} was granted, so the run goes on without "
                f"{shown(one.key)} when another run holds it.",
                f'Ask for it, as in when: "{{{step.id}.acquired}}", or use "on_busy: fail" or "wait".',
            )


def _reads_claim(unit: Unit, one: Acquisition, site: Site) -> bool:
    flow, number = unit.flow.of(one.step)
    by_name = _follows(unit, site, flow, number)
    in_handler = site.flow is not None and site.flow.role == "handler"
    by_state = flow.role == "workflow" and (by_name or in_handler)
    if not by_name and not by_state:
        return False
    name = one.step.id
    if site.expression.tree is None:
        return name in site.expression.source or "state" in site.expression.source
    for use in unit.uses(site.expression):
        path = use.path
        if by_state and path[0] == "state":
            path = path[1:] or (name,)
        elif not by_name:
            continue
        if path[0] == name and (len(path) == 1 or path[1] == "acquired"):
            return True
    return False


def _follows(unit: Unit, site: Site, flow: ListFlow, number: int) -> bool:
    """Whether an expression sees the step at ``number`` of ``flow`` after it has settled."""
    at, place = site.flow, site.at
    own = site.own
    while at is not None:
        if at is flow:
            if place >= len(flow.steps) or (own and place == number):
                return True
            return number in flow.may_have_settled(place)
        if at.owner is None:
            return False
        at, place = unit.flow.of(at.owner)
        own = False
    return False


def _handed_on(unit: Unit, one: Acquisition) -> bool:
    """Whether started runs inherit the claim: they declare an input of its name."""
    if unit.flow.of(one.step)[0].role != "workflow":
        return False
    for call in unit.program.calls.of.get(unit, ()):
        kind = call.kind
        if isinstance(kind, StartWorkflows) and kind.inherit_state and call.child is not None:
            if one.step.id in call.child.workflow.inputs:
                return True
    return False


# -- IL317, IL318 --------------------------------------------------------------------------------


def constant_keys(unit: Unit, sink: Sink) -> None:
    """IL317: an idempotency key that is the same for all runs, a resource that is another for each."""
    setting = unit.workflow.idempotency_key
    if setting is not None and isinstance(setting.value, Literal):
        sink.add(
            "IL317",
            setting.span,
            f'"{setting.value.data}" is the same for every run: after the first dispatch, every other one '
            "gives that run back and starts nothing.",
            'Put what tells the runs apart into it, as in "{inputs.id}".',
        )
    for one in unit.leases.acquisitions:
        resource = one.section.resource
        if resource is None:
            continue
        for expression in expressions(resource.value):
            if any(use.path[:2] == ("run", "id") for use in unit.uses(expression)):
                sink.add(
                    "IL317",
                    resource.span,
                    f'{shown(one.key)} holds "run.id", so every run has a key of its own and excludes nobody.',
                    "Name the thing that the runs share.",
                )
                break


def idle_timeouts(unit: Unit, sink: Sink) -> None:
    """IL318: a time-out bounds a wait, and this policy never waits."""
    for one in unit.leases.acquisitions:
        timeout = one.step.timeout
        if timeout is not None and one.policy in ("skip", "fail"):
            sink.add(
                "IL318",
                timeout.key,
                f'"timeout" has no effect here: with "on_busy: {one.policy}" nothing waits for '
                f"{shown(one.key)}, and it does not bound the section.",
                'Remove it, or use "on_busy: wait".',
                related=(Related(one.policy_key, f'"{one.policy}" decides at once'),),
            )


RULES = (empty_sections, key_length, shared_leases, unchecked_claims, constant_keys, idle_timeouts)

__all__ = ["RULES", "shown"]
