"""Inlay hints and code lenses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from interlock.analyzer.query.hints import Lens, hints, lenses
from interlock.server.lsp.convert import offset_of, span_range
from interlock.server.lsp.features.names import location
from interlock.server.lsp.index import View

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server


def register(server: Server) -> None:
    server.on(lsp.TEXT_DOCUMENT_INLAY_HINT, inlay, lsp.InlayHintOptions(resolve_provider=False))
    server.on(lsp.TEXT_DOCUMENT_CODE_LENS, lens, lsp.CodeLensOptions(resolve_provider=False), about="others")


def inlay(server: Server, params: lsp.InlayHintParams) -> list[lsp.InlayHint] | None:
    view = server.view(params.text_document.uri)
    if view is None:
        return None
    start, end = offset_of(view.lines, params.range.start), offset_of(view.lines, params.range.end)
    found: list[lsp.InlayHint] = []
    for unit in view.units():
        for hint in hints(unit, start, end):
            place = view.lines.place(hint.offset)
            label = hint.text.strip()
            found.append(
                lsp.InlayHint(
                    lsp.Position(place.line, place.character),
                    label,
                    tooltip=hint.doc,
                    padding_left=True,
                )
            )
    return found


def lens(server: Server, params: lsp.CodeLensParams) -> list[lsp.CodeLens] | None:
    view = server.view(params.text_document.uri)
    if view is None:
        return None
    return [_lens(view, one) for unit in view.units() for one in lenses(unit) if one.at.via is None]


def _lens(view: View, one: Lens) -> lsp.CodeLens:
    where = span_range(view.lines, one.at)
    if one.kind == "run":
        return lsp.CodeLens(where, lsp.Command(one.title, "interlock.run", arguments=[view.uri, one.at.text]))
    places = [place for span in one.others if (place := location(view, span)) is not None]
    return lsp.CodeLens(
        where, lsp.Command(one.title, "interlock.showReferences", arguments=[view.uri, where.start, places])
    )
