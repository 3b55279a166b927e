"""What is wrong, told to the client: pushed to those that only listen, given to those that ask.

Nothing is pushed for a version that is not the newest; of files that nobody has opened only what changed
is told.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from interlock.analyzer.config import Config
from interlock.analyzer.diagnostics import Diagnostic
from interlock.server.lsp import convert, settings
from interlock.server.lsp.desk import Outdated
from interlock.server.lsp.document import Lines
from interlock.server.lsp.files import key_of, uri_of
from interlock.server.lsp.index import Entry, Group

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server


class Publisher:
    """``pulled``: the client asks for diagnostics itself."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.pulled = False
        self._told: dict[str, tuple[int | None, list[Diagnostic]]] = {}
        self._results: dict[str, tuple[list[Diagnostic], str]] = {}
        self._settings: dict[str, tuple[list[lsp.Diagnostic], int | None]] = {}
        #: Settings files that are open: path, text, and version by URI.
        self.open_settings: dict[str, tuple[str, Lines, int]] = {}
        self._count = 0

    # -- push -------------------------------------------------------------------------------

    def prepare(self, groups: list[Group]) -> list[lsp.PublishDiagnosticsParams]:
        """The messages that a check gives rise to.  At the desk."""
        messages: list[lsp.PublishDiagnosticsParams] = []
        for group in groups:
            for key, entry in group.entries.items():
                if entry.version is None and not self.server.index.complete:
                    continue
                found = group.diagnostics.get(key, [])
                if self._told.get(entry.uri) == (entry.version, found):
                    continue
                if entry.version is None and not found and not self._told.get(entry.uri, (None, []))[1]:
                    continue
                self._told[entry.uri] = (entry.version, found)
                messages.append(lsp.PublishDiagnosticsParams(entry.uri, self.items(entry, found), entry.version))
        wrong = self.of_settings()
        for uri in wrong.keys() | self._settings.keys() | self.open_settings.keys():
            version = self.open_settings[uri][2] if uri in self.open_settings else None
            if (wrong.get(uri, []), version) != self._settings.get(uri, ([], None)):
                messages.append(lsp.PublishDiagnosticsParams(uri, wrong.get(uri, []), version))
                self._settings[uri] = wrong.get(uri, []), version
        known = {entry.uri for entry in self.server.index.entries()}
        # While files are being read, one that is not here may still come.
        gone = [uri for uri in self._told if uri not in known] if self.server.index.complete else []
        messages.extend(lsp.PublishDiagnosticsParams(uri, []) for uri in gone if self._told.pop(uri)[1])
        return messages

    def of_settings(self) -> dict[str, list[lsp.Diagnostic]]:
        """What is wrong with settings, by the URI of the file that holds them: as it is open, else on disk."""
        index = self.server.index
        found: dict[str, list[lsp.Diagnostic]] = {}
        for territory in index.territories:
            config = territory.settings.config
            if config.path is not None and config.source is not None and (config.problems or config.faults):
                found[uri_of(os.path.abspath(config.path))] = self._of_config(config)
            for path, (text, faults) in territory.manifests.faults.items():
                found[uri_of(path)] = settings.rows(text, index.encoding, faults)
        for uri, (path, lines, _) in self.open_settings.items():
            for other in [one for one in found if key_of(one) == path]:
                del found[other]
            if path.endswith(".json"):
                faults = settings.manifest_faults(lines.text.encode("utf-8", "surrogatepass"))
                rows = settings.rows(lines.text, index.encoding, faults)
            else:
                written = settings.config_of_text(path, lines.text)
                rows = [] if written is None else self._of_config(written)
            if rows:
                found[uri] = rows
        return found

    def _of_config(self, config: Config) -> list[lsp.Diagnostic]:
        index = self.server.index
        assert config.source is not None
        lines = Lines(config.source.text, index.encoding)
        rows = [convert.diagnostic(index, lines, one) for one in config.problems]
        return [*settings.rows(config.source.text, index.encoding, config.faults), *rows]

    def items(self, entry: Entry, found: list[Diagnostic]) -> list[lsp.Diagnostic]:
        return [convert.diagnostic(self.server.index, entry.lines, one) for one in found]

    def publish(self, messages: list[lsp.PublishDiagnosticsParams]) -> None:
        """Sends what is still true.  On the loop's thread."""
        server = self.server
        if self.pulled:
            if messages and server.can("workspace.diagnostics.refresh_support"):
                server.workspace_diagnostic_refresh(None)
            return
        for message in messages:
            newest = server.version_of(message.uri)
            if message.version is not None and message.version != newest:
                continue
            server.text_document_publish_diagnostics(message)

    # -- pull -------------------------------------------------------------------------------

    def result_id(self, entry: Entry, found: list[Diagnostic]) -> str:
        known = self._results.get(entry.key)
        if known is None or known[0] != found:
            self._count += 1
            known = self._results[entry.key] = (found, str(self._count))
        return known[1]


def document(server: Server, params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
    """``textDocument/diagnostic``."""
    try:
        server.judge(params.text_document.uri)
    except Outdated:
        raise _again() from None
    index = server.index
    entry = index.entry(params.text_document.uri)
    if entry is None:
        key = key_of(params.text_document.uri)
        wrong = server.publisher.of_settings().items()
        return lsp.RelatedFullDocumentDiagnosticReport(
            [row for uri, rows in wrong if key_of(uri) == key for row in rows]
        )
    group = index.where[entry.key]
    if group.stale:  # its folder is still looked through
        raise _again()
    found = group.diagnostics.get(entry.key, [])
    number = server.publisher.result_id(entry, found)
    if params.previous_result_id == number:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(number)
    return lsp.RelatedFullDocumentDiagnosticReport(server.publisher.items(entry, found), result_id=number)


def workspace(server: Server, params: lsp.WorkspaceDiagnosticParams) -> lsp.WorkspaceDiagnosticReport:
    """``workspace/diagnostic``."""
    try:
        server.judge("")
    except Outdated:
        raise _again() from None
    before = {one.uri: one.value for one in params.previous_result_ids}
    items: list[lsp.WorkspaceDocumentDiagnosticReport] = []
    for group in server.index.groups.values():
        for key, entry in group.entries.items():
            found = group.diagnostics.get(key, [])
            number = server.publisher.result_id(entry, found)
            if before.pop(entry.uri, None) == number:
                items.append(lsp.WorkspaceUnchangedDocumentDiagnosticReport(entry.uri, number, entry.version))
            else:
                rows = server.publisher.items(entry, found)
                items.append(
                    lsp.WorkspaceFullDocumentDiagnosticReport(entry.uri, rows, entry.version, result_id=number)
                )
    for uri, rows in server.publisher.of_settings().items():
        before.pop(uri, None)
        items.append(lsp.WorkspaceFullDocumentDiagnosticReport(uri, rows, result_id="settings"))
    items.extend(lsp.WorkspaceFullDocumentDiagnosticReport(uri, []) for uri in before)
    return lsp.WorkspaceDiagnosticReport(items)


def _again() -> Exception:
    from pygls.exceptions import JsonRpcException

    return JsonRpcException(
        "The text has changed meanwhile.",
        code=lsp.LSPErrorCodes.ServerCancelled.value,
        data={"retriggerRequest": True},
    )
