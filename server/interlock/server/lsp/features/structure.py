"""Symbols of a document and of the workspace, folding, selection ranges, and links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from interlock.analyzer.query.outline import Outline, calls_in, enclosing, folds, outline
from interlock.analyzer.rules.catalog import find_rule
from interlock.server.lsp.convert import offset_of, page_uri, range_of, span_range
from interlock.server.lsp.document import Lines
from interlock.server.lsp.index import Entry

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server

_KINDS = {
    "workflow": lsp.SymbolKind.Module,
    "input": lsp.SymbolKind.Field,
    "secret": lsp.SymbolKind.Key,
    "step": lsp.SymbolKind.Function,
    "branch": lsp.SymbolKind.Namespace,
    "output": lsp.SymbolKind.Property,
    "handler": lsp.SymbolKind.Event,
}
_MOST = 500
"""How many symbols of a workspace one answer gives."""


def register(server: Server) -> None:
    server.on(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, document_symbols)
    server.on(lsp.WORKSPACE_SYMBOL, workspace_symbols, about="workspace")
    server.on(lsp.TEXT_DOCUMENT_FOLDING_RANGE, folding)
    server.on(lsp.TEXT_DOCUMENT_SELECTION_RANGE, selection)
    server.on(lsp.TEXT_DOCUMENT_DOCUMENT_LINK, links, lsp.DocumentLinkOptions(resolve_provider=False), about="others")


def document_symbols(
    server: Server, params: lsp.DocumentSymbolParams
) -> list[lsp.DocumentSymbol] | list[lsp.SymbolInformation] | None:
    entry = server.index.entry(params.text_document.uri)
    if entry is None:
        return None
    found = [outline(workflow) for workflow in entry.read().workflows]
    if server.can("text_document.document_symbol.hierarchical_document_symbol_support"):
        return [_symbol(entry.lines, one) for one in found]
    return [_information(entry, one, above) for top in found for one, above in _flat(top, None)]


def _symbol(lines: Lines, one: Outline) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        name=one.name,
        kind=_KINDS[one.kind],
        range=range_of(lines, one.start, one.end),
        selection_range=range_of(lines, one.name_start, one.name_end),
        detail=one.detail or None,
        children=[_symbol(lines, inner) for inner in one.inner],
    )


def _flat(one: Outline, above: str | None) -> Iterator[tuple[Outline, str | None]]:
    yield one, above
    for inner in one.inner:
        yield from _flat(inner, one.name)


def _information(entry: Entry, one: Outline, above: str | None) -> lsp.SymbolInformation:
    place = lsp.Location(entry.uri, range_of(entry.lines, one.start, one.end))
    return lsp.SymbolInformation(place, one.name, _KINDS[one.kind], container_name=above)


def workspace_symbols(server: Server, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
    """Names that hold the letters of the query in their order; the closest ones first."""
    found: list[tuple[int, str, lsp.WorkspaceSymbol]] = []
    query = params.query.lower()
    for entry in server.index.entries():
        for workflow in entry.read().workflows:
            for one, above in _flat(outline(workflow), None):
                if one.kind in ("input", "secret", "output", "handler"):
                    continue
                distance = fuzzy(query, one.name.lower())
                if distance is not None:
                    place = lsp.Location(entry.uri, range_of(entry.lines, one.name_start, one.name_end))
                    rank = distance + (0 if one.kind == "workflow" else 1)
                    symbol = lsp.WorkspaceSymbol(place, one.name, _KINDS[one.kind], container_name=above)
                    found.append((rank, one.name, symbol))
    found.sort(key=lambda one: one[:2])
    return [symbol for _, _, symbol in found[:_MOST]]


def fuzzy(query: str, name: str) -> int | None:
    """How far a name is from a query; None where its letters do not stand in it in their order."""
    at = distance = 0
    for letter in query:
        found = name.find(letter, at)
        if found < 0:
            return None
        distance += 2 * (found - at)
        at = found + 1
    return distance + (len(name) - at > 0)


def folding(server: Server, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange] | None:
    entry = server.index.entry(params.text_document.uri)
    if entry is None:
        return None
    lines, text = entry.lines, entry.lines.text
    found: dict[int, lsp.FoldingRange] = {}
    for fold in folds(entry.read().tree):
        end = fold.end
        while end > fold.start and text[end - 1] in " \t\r\n":
            end -= 1
        first, last = lines.place(fold.start).line, lines.place(end).line
        if last > first and (first not in found or found[first].end_line < last):
            kind = lsp.FoldingRangeKind.Comment if fold.comment else lsp.FoldingRangeKind.Region
            found[first] = lsp.FoldingRange(first, last, kind=kind)
    return sorted(found.values(), key=lambda one: one.start_line)


def selection(server: Server, params: lsp.SelectionRangeParams) -> list[lsp.SelectionRange] | None:
    view = server.view(params.text_document.uri)
    if view is None:
        return None
    answers: list[lsp.SelectionRange] = []
    for position in params.positions:
        offset = offset_of(view.lines, position)
        found: lsp.SelectionRange | None = None
        for start, end in reversed(enclosing(view.program, view.file.tree, view.unit_at(offset), offset)):
            found = lsp.SelectionRange(range_of(view.lines, start, end), found)
        answers.append(found or lsp.SelectionRange(lsp.Range(position, position)))
    return answers


def links(server: Server, params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink] | None:
    """Names of other workflows lead to their files, rules in suppressions to their pages."""
    view = server.view(params.text_document.uri)
    if view is None:
        return None
    found: list[lsp.DocumentLink] = []
    for unit in view.units():
        for _, name, span, _ in calls_in(unit.workflow):
            child = view.program.by_name.get(name)
            entry = view.index.workflow_entry(child.workflow) if child is not None else None
            if child is None or entry is None or child.workflow.name is None or span.via is not None:
                continue
            line = entry.lines.place(child.workflow.name.span.offset).line + 1
            target = f"{entry.uri}#L{line}"
            found.append(lsp.DocumentLink(span_range(view.lines, span), target, f'Open workflow "{name}"'))
    for suppression in view.file.suppressions:
        for rule_name in suppression.rules:
            rule = find_rule(rule_name.name)
            page = page_uri(rule.code) if rule is not None else None
            if rule is not None and page is not None:
                found.append(lsp.DocumentLink(span_range(view.lines, rule_name.span), page, rule.title))
    return found
