"""Call hierarchy: which workflow runs or starts which, or waits for which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from interlock.analyzer.graph.program import Unit
from interlock.analyzer.model.nodes import DependencyWait, walk
from interlock.analyzer.query.outline import calls_in
from interlock.analyzer.source.text import Span
from interlock.server.lsp.convert import offset_of, span_range
from interlock.server.lsp.index import Entry, View

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server


def register(server: Server) -> None:
    server.on(lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, prepare, about="workspace")
    server.on(lsp.CALL_HIERARCHY_INCOMING_CALLS, incoming, about="workspace")
    server.on(lsp.CALL_HIERARCHY_OUTGOING_CALLS, outgoing, about="workspace")


def prepare(server: Server, params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem] | None:
    """The workflow that the name under the cursor means, else the one that the cursor is in."""
    view = server.view(params.text_document.uri)
    if view is None:
        return None
    offset = offset_of(view.lines, params.position)
    unit = view.unit_at(offset)
    if unit is None:
        return None
    for _, name, span, _ in calls_in(unit.workflow):
        if span.offset <= offset <= span.end_offset and name in view.program.by_name:
            unit = view.program.by_name[name]
    item = _item(view, unit)
    return None if item is None else [item]


def _item(view: View, unit: Unit) -> lsp.CallHierarchyItem | None:
    entry = view.index.workflow_entry(unit.workflow)
    if entry is None or unit.workflow.name is None:
        return None
    name = span_range(entry.lines, unit.workflow.name.span)
    whole = span_range(entry.lines, unit.workflow.span)
    if name.start < whole.start or whole.end < name.end:
        whole = name
    return lsp.CallHierarchyItem(unit.name, lsp.SymbolKind.Module, entry.uri, whole, name, data=unit.name)


def _unit(server: Server, item: lsp.CallHierarchyItem) -> tuple[View, Unit] | None:
    view = server.view(item.uri)
    unit = view.program.by_name.get(item.name) if view is not None else None
    return None if view is None or unit is None else (view, unit)


def _reached(unit: Unit) -> Iterator[tuple[str, Span]]:
    """The workflows that one runs, starts, or waits for, with the places that say so."""
    for _, name, span, _ in calls_in(unit.workflow):
        yield name, span
    for step in walk(unit.workflow.steps):
        kind = step.kind
        if isinstance(kind, DependencyWait):
            starts = (start.workflow for start in unit.groups.waited_for(kind))
            for name in dict.fromkeys(start.value for start in starts if start is not None):
                yield name, kind.key


def incoming(
    server: Server, params: lsp.CallHierarchyIncomingCallsParams
) -> list[lsp.CallHierarchyIncomingCall] | None:
    found = _unit(server, params.item)
    if found is None:
        return None
    view, unit = found
    answers: list[lsp.CallHierarchyIncomingCall] = []
    for caller in view.program.units:
        spans = [span for name, span in _reached(caller) if name == unit.name]
        item = _item(view, caller) if spans else None
        if item is not None:
            answers.append(lsp.CallHierarchyIncomingCall(item, _ranges(view, spans)))
    return answers


def outgoing(
    server: Server, params: lsp.CallHierarchyOutgoingCallsParams
) -> list[lsp.CallHierarchyOutgoingCall] | None:
    found = _unit(server, params.item)
    if found is None:
        return None
    view, unit = found
    by_name: dict[str, list[Span]] = {}
    for name, span in _reached(unit):
        by_name.setdefault(name, []).append(span)
    answers: list[lsp.CallHierarchyOutgoingCall] = []
    for name, spans in by_name.items():
        child = view.program.by_name.get(name)
        item = _item(view, child) if child is not None else None
        if item is not None:
            answers.append(lsp.CallHierarchyOutgoingCall(item, _ranges(view, spans)))
    return answers


def _ranges(view: View, spans: list[Span]) -> list[lsp.Range]:
    found: list[lsp.Range] = []
    for span in spans:
        entry: Entry | None = view.index.entry_of_path(span.source.path)
        if entry is not None:
            found.append(span_range(entry.lines, span))
    return found
