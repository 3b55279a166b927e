"""Semantic tokens: whole, of a range, and as the difference to what was given before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from interlock.analyzer.query.tokens import KINDS, Token, tokens
from interlock.server.lsp.convert import offset_of
from interlock.server.lsp.document import Lines

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server

LEGEND = lsp.SemanticTokensLegend(list(KINDS), ["declaration"])
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


def register(server: Server) -> None:
    server.on(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, full, LEGEND)
    server.on(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, delta, LEGEND)
    server.on(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, part, LEGEND)


def encode(lines: Lines, found: list[Token]) -> list[int]:
    """Five numbers for each token: how far from the one before, how long, what it is."""
    data: list[int] = []
    line = character = 0
    for token in found:
        first, last = lines.place(token.start), lines.place(token.end)
        if first.line != last.line:
            continue
        column = first.character - (character if first.line == line else 0)
        data.extend(
            (first.line - line, column, last.character - first.character, _NUMBERS[token.kind], int(token.declares))
        )
        line, character = first.line, first.character
    return data


def _data(server: Server, uri: str, start: int = 0, end: int = 1 << 60) -> list[int] | None:
    view = server.view(uri)
    return None if view is None else encode(view.lines, tokens(view.file.tree, view.program.blocks, start, end))


def full(server: Server, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens | None:
    data = _data(server, params.text_document.uri)
    if data is None:
        return None
    return lsp.SemanticTokens(data, server.remember_tokens(params.text_document.uri, data))


def delta(server: Server, params: lsp.SemanticTokensDeltaParams) -> lsp.SemanticTokens | lsp.SemanticTokensDelta | None:
    uri = params.text_document.uri
    before = server.tokens.get(uri)
    data = _data(server, uri)
    if data is None:
        return None
    number = server.remember_tokens(uri, data)
    if before is None or before[0] != params.previous_result_id:
        return lsp.SemanticTokens(data, number)
    return lsp.SemanticTokensDelta(difference(before[1], data), number)


def difference(old: list[int], new: list[int]) -> list[lsp.SemanticTokensEdit]:
    """One edit: what stands between the same beginning and the same end."""
    start = 0
    most = min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < most - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    if start == len(old) == len(new):
        return []
    return [lsp.SemanticTokensEdit(start, len(old) - start - tail, new[start : len(new) - tail])]


def part(server: Server, params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens | None:
    entry = server.index.entry(params.text_document.uri)
    if entry is None:
        return None
    start, end = offset_of(entry.lines, params.range.start), offset_of(entry.lines, params.range.end)
    data = _data(server, params.text_document.uri, start, end)
    return None if data is None else lsp.SemanticTokens(data)
