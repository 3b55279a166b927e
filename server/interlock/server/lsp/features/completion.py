"""``textDocument/completion`` with its resolve, and ``textDocument/signatureHelp``."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from interlock.analyzer.config import SHARED_FILE
from interlock.analyzer.query.complete import Completions, complete
from interlock.analyzer.query.complete_expression import Signature, signature_at
from interlock.analyzer.query.draft import drafts
from interlock.analyzer.query.expression import expression_at
from interlock.analyzer.query.items import Item
from interlock.analyzer.query.settings import complete_settings
from interlock.server.lsp.convert import offset_of, range_of
from interlock.server.lsp.document import Lines
from interlock.server.lsp.index import View

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server

_KINDS = {
    "field": lsp.CompletionItemKind.Field,
    "kind": lsp.CompletionItemKind.Class,
    "value": lsp.CompletionItemKind.EnumMember,
    "block": lsp.CompletionItemKind.Module,
    "workflow": lsp.CompletionItemKind.File,
    "name": lsp.CompletionItemKind.Variable,
    "step": lsp.CompletionItemKind.Variable,
    "member": lsp.CompletionItemKind.Property,
    "function": lsp.CompletionItemKind.Function,
    "keyword": lsp.CompletionItemKind.Keyword,
}


def register(server: Server) -> None:
    server.on(
        lsp.TEXT_DOCUMENT_COMPLETION,
        answer,
        lsp.CompletionOptions(trigger_characters=["{", ".", ":", " ", "'", "[", "-"], resolve_provider=True),
    )
    server.on(lsp.COMPLETION_ITEM_RESOLVE, resolve)
    server.on(
        lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
        signature,
        lsp.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=[","]),
    )


def answer(server: Server, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    settings = server.publisher.open_settings.get(params.text_document.uri)
    if settings is not None:
        path, lines, _ = settings
        if not path.endswith(".toml"):
            return None
        offset = offset_of(lines, params.position)
        shared = os.path.basename(path) == SHARED_FILE
        return _offer(server, lines, offset, complete_settings(lines.text, offset, shared))
    view = server.view(params.text_document.uri)
    if view is None:
        return None
    offset = offset_of(view.lines, params.position)
    if _is_noise(view, offset, params.context):
        return lsp.CompletionList(is_incomplete=False, items=[])
    return _offer(server, view.lines, offset, complete(view.file, view.program, view.unit_at(offset), offset))


def _offer(server: Server, lines: Lines, offset: int, found: Completions) -> lsp.CompletionList:
    server.offered = found.items
    place = range_of(lines, found.start, found.end)
    before = lines.text[found.start : offset]
    # What is before the word and is replaced with it (blanks, a brace): clients look for it in the text of an item.
    typed = re.sub(r"\w*\Z", "", before) if before.startswith((" ", "\t", "{")) else ""
    snippets = server.can("text_document.completion.completion_item.snippet_support")
    order = sorted(range(len(found.items)), key=lambda n: _order(found.items[n]))
    items = [_item(found.items[number], number, rank, place, typed, snippets) for rank, number in enumerate(order)]
    return lsp.CompletionList(is_incomplete=False, items=items)


def _is_noise(view: View, offset: int, context: lsp.CompletionContext | None) -> bool:
    """A trigger character where nothing begins: a blank in a sentence, a dash in a word."""
    if context is None or context.trigger_kind != lsp.CompletionTriggerKind.TriggerCharacter:
        return False
    text = view.text
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    if context.trigger_character == " ":
        return not before.rstrip().endswith((":", "-", ",", "{", "[")) and bool(before.strip())
    if context.trigger_character == "-":
        return bool(before.strip(" -"))
    return False


def _order(item: Item) -> tuple[int, int, str]:
    return (item.rank, item.order, item.label)


def _item(item: Item, number: int, rank: int, place: lsp.Range, typed: str, snippets: bool) -> lsp.CompletionItem:
    insert = item.insert or item.label
    form = None
    if item.snippet and snippets:
        form = lsp.InsertTextFormat.Snippet
    elif item.snippet:
        insert = _plain(insert)
    return lsp.CompletionItem(
        label=item.label,
        kind=_KINDS[item.kind],
        detail=item.detail or None,
        sort_text=f"{rank:05d}",
        filter_text=typed + item.label,
        insert_text_format=form,
        insert_text_mode=lsp.InsertTextMode.AdjustIndentation if "\n" in insert else None,
        text_edit=lsp.TextEdit(place, insert),
        data=number,
    )


def _plain(snippet: str) -> str:
    """A snippet for a client that has none: its tab stops give way to what they suggest."""
    return re.sub(r"\$\{\d+:([^}]*)\}|\$\d+", lambda found: found[1] or "", snippet)


def resolve(server: Server, item: lsp.CompletionItem) -> lsp.CompletionItem:
    offered = server.offered
    if isinstance(item.data, int) and 0 <= item.data < len(offered) and offered[item.data].label == item.label:
        text = offered[item.data].documentation
        if text:
            item.documentation = server.markup(text, "text_document.completion.completion_item.documentation_format")
    return item


def signature(server: Server, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    view = server.view(params.text_document.uri)
    if view is None:
        return None
    offset = offset_of(view.lines, params.position)
    found = _signature(view, offset)
    if found is None:
        return None
    rows = [
        lsp.SignatureInformation(label, server.markup(found.doc), _parameters(label), found.active)
        for label in found.labels
    ]
    fitting = next((n for n, row in enumerate(rows) if len(row.parameters or ()) > found.active), 0)
    return lsp.SignatureHelp(rows, active_signature=fitting, active_parameter=found.active)


def _signature(view: View, offset: int) -> Signature | None:
    unit = view.unit_at(offset)
    if unit is not None:
        within = expression_at(unit, offset)
        if within is not None and (found := signature_at(within)) is not None:
            return found
    for draft in drafts(view.file, view.program, unit, offset):
        if draft.unit is not None:
            within = expression_at(draft.unit, draft.offset, draft.source)
            if within is not None:
                return signature_at(within)
    return None


def _parameters(label: str) -> list[lsp.ParameterInformation]:
    """The parameters of ``string.indexOf(string, int) -> int``, as stretches of the label."""
    head = label.rsplit(" -> ", 1)[0]
    start = head.find("(") + 1
    depth, at, found = 0, start, []
    for number in range(start, len(head)):
        letter = head[number]
        if letter in ",)" and depth == 0:
            if head[at:number].strip():
                skip = len(head[at:number]) - len(head[at:number].lstrip())
                found.append(lsp.ParameterInformation((at + skip, number)))
            at = number + 1
        depth += (letter == "(") - (letter == ")" and depth > 0)
    return found
