"""``textDocument/hover``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from interlock.analyzer.query.hover import hover
from interlock.server.lsp.convert import offset_of, range_of

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server


def register(server: Server) -> None:
    server.on(lsp.TEXT_DOCUMENT_HOVER, answer)


def answer(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    view = server.view(params.text_document.uri)
    if view is None:
        return None
    offset = offset_of(view.lines, params.position)
    unit = view.unit_at(offset)
    found = hover(view.program, unit, view.file.tree.documents, view.file.suppressions, offset)
    if found is None:
        return None
    return lsp.Hover(server.markup(found.text), range_of(view.lines, found.start, found.end))
