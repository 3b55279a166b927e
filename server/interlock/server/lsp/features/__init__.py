"""The features of the protocol, one module each; this one knows which there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from interlock.server.lsp import diagnostics
from interlock.server.lsp.features import (
    actions,
    calls,
    commands,
    completion,
    hints,
    hover,
    names,
    structure,
    tokens,
    workflows,
)

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server


def register(server: Server) -> None:
    server.on(
        lsp.TEXT_DOCUMENT_DIAGNOSTIC,
        diagnostics.document,
        lsp.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True, identifier="interlock"),
    )
    server.on(lsp.WORKSPACE_DIAGNOSTIC, diagnostics.workspace)
    for feature in (hover, completion, names, structure, tokens, hints, calls, actions, commands, workflows):
        feature.register(server)
