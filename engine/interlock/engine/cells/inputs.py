"""The inputs of a run against what its workflow declares, and the head of a new run (section 4)."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.model.nodes import Input, Workflow
from interlock.analyzer.model.values import plain
from interlock.engine.cells.messages import Join
from interlock.engine.cells.state import Run
from interlock.engine.cells.turn import NewRun, run_root
from interlock.engine.ports import Definition, Evaluator, Json
from interlock.engine.values import dump


class InputsRefused(Exception):
    """The inputs do not fit; carries one sentence."""


def check_inputs(workflow: Workflow, given: Mapping[str, Json]) -> dict[str, Json]:
    """The inputs as the run keeps them: defaults filled in, doubles where ``number`` is declared."""
    name = workflow.name.value if workflow.name is not None else ""
    for key in given:
        if key not in workflow.inputs:
            near = nearest(key, workflow.inputs)
            if near is not None:
                raise InputsRefused(f'"{name}" has no input "{key}"; did you mean "{near}"?')
            known = ", ".join(f'"{each}"' for each in workflow.inputs) or "none"
            raise InputsRefused(f'"{name}" has no input "{key}"; it declares {known}.')
    taken: dict[str, Json] = {}
    for key, declared in workflow.inputs.items():
        if key in given:
            taken[key] = _fit(name, declared, given[key])
        elif declared.default is not None:
            taken[key] = _fit(name, declared, plain(declared.default.value))
        elif declared.required:
            raise InputsRefused(f'The input "{key}" of "{name}" is missing; it takes {_word(declared.type)}.')
        else:
            taken[key] = None
    return taken


def _fit(workflow: str, declared: Input, value: Json) -> Json:
    optional = declared.default is None and not declared.required
    if value is None and optional:
        return None
    fits = {
        "string": isinstance(value, str),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
        "any": True,
    }[declared.type]
    if not fits:
        raise InputsRefused(
            f'The input "{declared.name}" of "{workflow}" takes {_word(declared.type)}, and was given'
            f" {_shown(declared, value)}."
        )
    if declared.enum is not None:
        allowed = [plain(item) for item in declared.enum.value.items]
        if not any(_equal(value, each) for each in allowed):
            choices = ", ".join(str(each) for each in allowed)
            raise InputsRefused(
                f'The input "{declared.name}" of "{workflow}" must be one of {choices}, and was given'
                f" {_shown(declared, value)}."
            )
    return float(value) if declared.type == "number" else value


def _equal(one: Json, other: Json) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _word(type: str) -> str:
    article = "an" if type[0] in "aio" else "a"
    return "any value" if type == "any" else f"{article} {type}"


def _shown(declared: Input, value: Json) -> str:
    if declared.secret:
        return "something else"
    if isinstance(value, str):
        return f'the text "{value[:60]}"'
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return dump(value).decode()


def new_run(
    definition: Definition,
    inputs: dict[str, Json],
    *,
    run: str,
    account: str,
    now: float,
    key: str | None = None,
    parent: tuple[str, str, int] | None = None,
    starter: str | None = None,
) -> NewRun:
    """The head of a run that is dispatched now, with inputs that `check_inputs` has passed."""
    workflow = definition.workflow
    deadline = now + workflow.deadline.value if workflow.deadline is not None else None
    head = Run(
        id=run,
        account=account,
        workflow=definition.name,
        version=workflow.version.value if workflow.version is not None else "",
        hash=definition.hash,
        closure_hash=definition.closure_hash,
        dispatched_at=now,
        key=key,
        deadline=deadline,
        parent=parent,
        starter=starter,
        slot=workflow.concurrency is not None,
    )
    return NewRun(head, definition, inputs)


def own_key(definition: Definition, evaluator: Evaluator, new: NewRun) -> str | None:
    """The idempotency key that the definition gives.  Raises EvaluationError."""
    setting = definition.workflow.idempotency_key
    if setting is None:
        return None
    return evaluator.key(setting.value, {"inputs": new.inputs, "run": run_root(new.run)})


def admission(definition: Definition, evaluator: Evaluator, run: Run, inputs: Mapping[str, Json]) -> Join:
    """The request for a slot.  Raises EvaluationError where the supersession key cannot be rendered."""
    concurrency = definition.workflow.concurrency
    assert concurrency is not None
    key = None
    if concurrency.supersession_key is not None and concurrency.on_busy != "wait":
        key = evaluator.key(concurrency.supersession_key.value, {"inputs": inputs, "run": run_root(run)})
    return Join(run.account, run.workflow, run.id, concurrency.limit, concurrency.on_busy, key)
