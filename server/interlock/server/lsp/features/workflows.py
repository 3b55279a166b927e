"""The command that says which workflows a file holds and what a run of each has to be given.

For clients that start runs: they learn the inputs, secrets and blocks here and need not read YAML.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from interlock.analyzer.graph.program import Unit
from interlock.analyzer.model.nodes import Input, blocks_of
from interlock.analyzer.model.values import plain
from interlock.analyzer.query.outline import calls_in
from interlock.server.lsp.convert import range_of, span_range
from interlock.server.lsp.index import View

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server

WORKFLOWS = "interlock.workflows"


def register(server: Server) -> None:
    server.on_command(WORKFLOWS, workflows, about="workspace")


def workflows(server: Server, arguments: Sequence[Any]) -> list[dict[str, object]] | None:
    """Argument: the document's URI.  One object for each named workflow with steps; None for other files.

    ``secrets`` and ``blocks`` are those of the workflow and of all that it can start, sorted; ``range`` is
    that of its name and ``document`` that of the YAML document which it is, in the client's positions.
    """
    view = server.view(arguments[0]) if arguments and isinstance(arguments[0], str) else None
    if view is None:
        return None
    return [_described(view, unit) for unit in view.units() if unit.name and unit.workflow.steps is not None]


def _described(view: View, unit: Unit) -> dict[str, object]:
    name = unit.workflow.name
    closure = _closure(view, unit)
    return {
        "name": unit.name,
        "range": span_range(view.lines, name.span if name is not None else unit.workflow.span),
        "document": range_of(view.lines, *view.extent(unit)),
        "inputs": [_input(one) for one in unit.workflow.inputs.values()],
        "secrets": sorted({secret.name for each in closure for secret in each.workflow.secrets}),
        "blocks": sorted({block for each in closure for block in blocks_of(each.workflow)}),
    }


def _input(one: Input) -> dict[str, object]:
    row: dict[str, object] = {"name": one.name, "type": one.type, "secret": one.secret, "required": one.required}
    if one.default is not None:
        row["default"] = plain(one.default.value)
    if one.enum is not None:
        row["enum"] = plain(one.enum.value)
    return row


def _closure(view: View, unit: Unit) -> list[Unit]:
    """The workflow and those that a run of it can start, at any depth."""
    found = {id(unit): unit}
    waiting = [unit]
    while waiting:
        for _, name, _, _ in calls_in(waiting.pop().workflow):
            child = view.program.by_name.get(name)
            if child is not None and id(child) not in found:
                found[id(child)] = child
                waiting.append(child)
    return list(found.values())
