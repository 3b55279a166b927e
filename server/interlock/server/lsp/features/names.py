"""Definition, references, highlight, and renaming."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from interlock.analyzer.query.blocks import described_at, key_in_json
from interlock.analyzer.query.place import document_at
from interlock.analyzer.query.rename import Refusal, fixed, places, rename
from interlock.analyzer.query.symbols import TITLES, Occurrence, anchors, symbol_at
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.nodes import Document
from interlock.server.lsp.convert import offset_of, range_of, span_range
from interlock.server.lsp.document import Lines
from interlock.server.lsp.files import uri_of
from interlock.server.lsp.index import View

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server


def register(server: Server) -> None:
    server.on(lsp.TEXT_DOCUMENT_DEFINITION, definition, about="workspace")
    server.on(lsp.TEXT_DOCUMENT_REFERENCES, references, about="workspace")
    server.on(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, highlight)
    server.on(lsp.TEXT_DOCUMENT_PREPARE_RENAME, prepare, about="workspace")
    server.on(lsp.TEXT_DOCUMENT_RENAME, answer_rename, about="workspace")


Positioned: TypeAlias = (
    lsp.DefinitionParams
    | lsp.ReferenceParams
    | lsp.DocumentHighlightParams
    | lsp.PrepareRenameParams
    | lsp.RenameParams
)


class Found:
    """The name under the cursor, with the document it stands in."""

    def __init__(self, view: View, document: Document | None, one: Occurrence) -> None:
        self.view = view
        self.document = document
        self.one = one

    def all(self) -> list[Occurrence]:
        return places(self.view.program, self.document, self.one)


def find(server: Server, params: Positioned) -> Found | None:
    view = server.view(params.text_document.uri)
    if view is None:
        return None
    offset = offset_of(view.lines, params.position)
    document = document_at(view.file.tree.documents, offset)
    one = symbol_at(view.program, view.units(), offset)
    if one is None and document is not None:
        for other in anchors(document):
            if other.span.offset - 1 <= offset <= other.span.end_offset:
                one = other
    return None if one is None else Found(view, document, one)


def location(view: View, span: Span) -> lsp.Location | None:
    entry = view.index.entry_of_path(span.source.path)
    return None if entry is None else lsp.Location(entry.uri, span_range(entry.lines, span))


def definition(server: Server, params: lsp.DefinitionParams) -> list[lsp.Location] | list[lsp.LocationLink] | None:
    found = find(server, params)
    if found is None:
        return _of_block(server, params)
    view = found.view
    if not server.can("text_document.definition.link_support"):
        spans = [one.span for one in found.all() if one.defines]
        return [place for span in spans if (place := location(view, span)) is not None]
    links: list[lsp.LocationLink] = []
    for one in found.all():
        entry = view.index.entry_of_path(one.span.source.path)
        if one.defines and entry is not None:
            name = span_range(entry.lines, one.span)
            whole = name
            if one.whole is not None and one.whole.source is one.span.source:
                whole = span_range(entry.lines, one.whole)
                if not (whole.start <= name.start and name.end <= whole.end):
                    whole = name
            links.append(lsp.LocationLink(entry.uri, whole, name, span_range(view.lines, found.one.span)))
    return links


def _of_block(server: Server, params: lsp.DefinitionParams) -> list[lsp.Location] | None:
    """Where a manifest describes the block, parameter or result under the cursor."""
    view = server.view(params.text_document.uri)
    offset = offset_of(view.lines, params.position) if view is not None else 0
    unit = view.unit_at(offset) if view is not None else None
    if view is None or unit is None or view.group.territory is None:
        return None
    path = described_at(unit, view.file.tree.documents, offset)
    texts = view.group.territory.manifests.texts if path is not None else {}
    for file, text in reversed(texts.items()):  # of two alike the last one stands
        place = key_in_json(text, path or ())
        if place is not None:
            return [lsp.Location(uri_of(file), range_of(Lines(text, view.index.encoding), *place))]
    return None


def references(server: Server, params: lsp.ReferenceParams) -> list[lsp.Location] | None:
    found = find(server, params)
    if found is None:
        return None
    spans = [one.span for one in found.all() if params.context.include_declaration or not one.defines]
    return [place for span in spans if (place := location(found.view, span)) is not None]


def highlight(server: Server, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight] | None:
    found = find(server, params)
    if found is None:
        return None
    view = found.view
    return [
        lsp.DocumentHighlight(
            span_range(view.lines, one.span),
            lsp.DocumentHighlightKind.Write if one.defines else lsp.DocumentHighlightKind.Read,
        )
        for one in found.all()
        if one.span.source is view.file.source
    ]


def prepare(server: Server, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
    found = find(server, params)
    if found is None:
        return None
    if not any(one.defines for one in found.all()):
        title = TITLES[found.one.symbol.kind]
        raise refusal(f'The {title} "{found.one.symbol.name}" is not defined in this workspace.')
    if (why := fixed(found.one.symbol)) is not None:
        raise refusal(why)
    return lsp.PrepareRenamePlaceholder(span_range(found.view.lines, found.one.span), found.one.symbol.name)


def answer_rename(server: Server, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
    found = find(server, params)
    if found is None:
        raise refusal("There is no name here that could be changed.")
    view = found.view
    unit = view.unit_at(found.one.span.offset)
    if unit is None:
        raise refusal("There is no workflow here.")
    spans = rename(view.program, unit, found.document, found.one, params.new_name)
    if isinstance(spans, Refusal):
        raise refusal(spans.reason)
    edits: dict[str, list[lsp.TextEdit]] = {}
    for span in spans:
        place = location(view, span)
        if place is not None:
            edits.setdefault(place.uri, []).append(lsp.TextEdit(place.range, params.new_name))
    return server.workspace_edit(edits)


def refusal(reason: str) -> JsonRpcException:
    return JsonRpcException(reason, code=lsp.LSPErrorCodes.RequestFailed.value)
