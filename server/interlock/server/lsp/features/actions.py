"""Code actions: the fixes of the rules, all of them at once, suppressions, and other changes.

An action that costs something to make is made when it is chosen, for clients that can wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.query.actions import Change, changes_at, suppress
from interlock.analyzer.query.place import document_at
from interlock.server.lsp import convert
from interlock.server.lsp.convert import offset_of, range_of
from interlock.server.lsp.index import View

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server

FIX_ALL = "source.fixAll.interlock"
_QUOTE = "IL109"


def register(server: Server) -> None:
    kinds = [lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorExtract, FIX_ALL]
    server.on(lsp.TEXT_DOCUMENT_CODE_ACTION, answer, lsp.CodeActionOptions(kinds, resolve_provider=True))
    server.on(lsp.CODE_ACTION_RESOLVE, resolve)


def answer(server: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction] | None:
    view = server.view(params.text_document.uri)
    if view is None:
        return None
    found = judged(server, view)
    start, end = offset_of(view.lines, params.range.start), offset_of(view.lines, params.range.end)
    here = [one for one in found if one.offset <= end and start <= max(one.end_offset, one.offset)]
    actions = [*_of_diagnostics(server, view, here), *_of_place(server, view, start, here), *_of_file(view, found)]
    wanted = params.context.only
    if wanted is not None:
        actions = [one for one in actions if any(_is(_word(one.kind), _word(kind)) for kind in wanted)]
    lazy = "edit" in (server.capability("text_document.code_action.resolve_support.properties") or ())
    if not lazy or not server.can("text_document.code_action.data_support"):
        actions = [_made(server, view, one) for one in actions]
    return [one for one in actions if one.edit is not None or one.data is not None]


def _word(kind: object) -> str:
    """A kind as the protocol writes it: ``str`` of a member of the enumeration is its Python name."""
    return str(getattr(kind, "value", kind))


def _is(kind: str, wanted: str) -> bool:
    return wanted == "" or kind == wanted or kind.startswith(wanted + ".")


def judged(server: Server, view: View) -> list[Diagnostic]:
    """What is wrong in a file, of its newest text."""
    server.judge(view.uri)
    return view.group.diagnostics.get(view.entry.key, [])


def _of_diagnostics(server: Server, view: View, here: list[Diagnostic]) -> Iterator[lsp.CodeAction]:
    for one in here:
        row = convert.diagnostic(server.index, view.lines, one)
        mark = {"uri": view.uri, "version": view.entry.version, "code": one.code, "offset": one.offset}
        if one.fix is not None:
            yield lsp.CodeAction(
                one.fix.title,
                lsp.CodeActionKind.QuickFix,
                [row],
                is_preferred=one.fix.sure,
                data={**mark, "do": "fix", "title": one.fix.title},
            )
        change = suppress(view.file.tree, view.file.suppressions, one)
        if change is not None:
            yield _action(view, change, lsp.CodeActionKind.QuickFix, [row])


def _of_place(server: Server, view: View, offset: int, here: list[Diagnostic]) -> Iterator[lsp.CodeAction]:
    document = document_at(view.file.tree.documents, offset)
    codes = {one.code for one in here}
    unit = view.unit_at(offset)
    for change in changes_at(unit, document, view.program.blocks, offset, codes):
        refactors = change.title.startswith("Make it an input")
        kind = lsp.CodeActionKind.RefactorExtract if refactors else lsp.CodeActionKind.QuickFix
        yield _action(view, change, kind, None)


def _action(view: View, change: Change, kind: lsp.CodeActionKind, rows: list[lsp.Diagnostic] | None) -> lsp.CodeAction:
    edits = [[start, end, text] for start, end, text in change.edits]
    data = {"uri": view.uri, "version": view.entry.version, "do": "change", "edits": edits}
    return lsp.CodeAction(change.title, kind, rows, data=data)


def _of_file(view: View, found: list[Diagnostic]) -> Iterator[lsp.CodeAction]:
    fixable = [one for one in found if one.fix is not None and one.fix.sure]
    mark = {"uri": view.uri, "version": view.entry.version}
    if fixable:
        yield lsp.CodeAction("Fix all that can be fixed in this file", FIX_ALL, data={**mark, "do": "all"})
    if sum(one.code == _QUOTE for one in fixable) > 1:
        title = "Put quotes around all templates"
        yield lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, data={**mark, "do": "all", "code": _QUOTE})


# -- making --------------------------------------------------------------------------------------


def resolve(server: Server, action: lsp.CodeAction) -> lsp.CodeAction:
    view = server.view(action.data["uri"]) if isinstance(action.data, dict) and "uri" in action.data else None
    return action if view is None else _made(server, view, action)


def _made(server: Server, view: View, action: lsp.CodeAction) -> lsp.CodeAction:
    data: Any = action.data
    if action.edit is not None or not isinstance(data, dict) or data.get("version") != view.entry.version:
        return action
    edits: dict[str, list[lsp.TextEdit]] = {}
    if data["do"] == "change":
        edits[view.uri] = [lsp.TextEdit(range_of(view.lines, a, b), text) for a, b, text in data["edits"]]
    elif data["do"] == "fix":
        for one in judged(server, view):
            if one.fix is not None and (one.code, one.offset, one.fix.title) == (
                data["code"],
                data["offset"],
                data["title"],
            ):
                edits = convert.fix_edits(server.index, one.fix)
                break
    elif data["do"] == "all":
        edits[view.uri] = _all(server, view, data.get("code"))
    if any(edits.values()):
        action.edit = server.workspace_edit(edits)
    return action


def _all(server: Server, view: View, code: str | None) -> list[lsp.TextEdit]:
    """The edits of all fixes that stay in the file and do not touch one another."""
    kept: list[lsp.TextEdit] = []
    taken: list[tuple[lsp.Position, lsp.Position]] = []
    for one in judged(server, view):
        if one.fix is None or not one.fix.sure or (code is not None and one.code != code):
            continue
        edits = convert.fix_edits(server.index, one.fix)
        if set(edits) != {view.uri}:
            continue
        rows = edits[view.uri]
        if any(row.range.start <= end and start <= row.range.end for row in rows for start, end in taken):
            continue
        kept.extend(rows)
        taken.extend((row.range.start, row.range.end) for row in rows)
    return kept
