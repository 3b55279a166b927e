"""The server itself: its life, its documents, and who does what on which thread.

The loop's thread reads messages, keeps the texts of open documents and writes; the desk's thread reads
and judges them.  Features are functions of this object and the parameters of their request, and run at
the desk.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from importlib.metadata import version
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar

from lsprotocol import types as lsp
from pygls.lsp._capabilities import get_capability
from pygls.lsp.server import LanguageServer

from interlock.analyzer.query.items import Item
from interlock.server.lsp import features
from interlock.server.lsp.desk import Desk, Outdated
from interlock.server.lsp.diagnostics import Publisher
from interlock.server.lsp.document import Document, Encoding, Place
from interlock.server.lsp.files import below, path_of, territories
from interlock.server.lsp.index import Index, View
from interlock.server.lsp.later import Later
from interlock.server.lsp.protocol import Protocol
from interlock.server.lsp.settings import Known, is_settings
from interlock.server.lsp.transport import Listener, Watcher, Writer

T = TypeVar("T")

logger = logging.getLogger(__name__)

About: TypeAlias = Literal["file", "others", "workspace"]
"""What a question is about: a file alone; also others, so that it waits until all are here; or all of them, so
that those that were only told of from memory are read for it."""

DEBOUNCE = 0.004
"""Seconds without an edit after which the text is checked: what comes in one burst costs one check."""


LARGE = 0.3
"""Seconds of work after which a check has made so much that is kept that a search for garbage would be felt."""


def keep() -> None:
    """Spares what there is now the search for garbage, which would come in the middle of typing otherwise.

    What was spared before is searched once more, so that nothing is lost for good.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class Server(LanguageServer):
    """One client's server.  ``encoding`` is None until ``initialize``."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("interlock", version("interlock"), protocol_cls=Protocol)
        self.encoding: Encoding | None = None
        self.documents: dict[str, Document] = {}
        self.folders: list[str] = []
        self.settings = Known()
        self._strays: dict[str, str] = {}
        self.index = Index("utf-16")
        self.publisher = Publisher(self)
        self.desk = Desk(self._check)
        self.exit_code = 1
        self.tokens: dict[str, tuple[str, list[int]]] = {}
        self._token_count = 0
        self._scans = 0
        self._later = Later()
        self.offered: tuple[Item, ...] = ()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._done: asyncio.Event | None = None
        self._watcher: Watcher | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        hooks: dict[str, Callable[[Any], None]] = {
            lsp.INITIALIZE: self._initialize,
            lsp.INITIALIZED: self._initialized,
            lsp.SHUTDOWN: self._shut_down,
            lsp.TEXT_DOCUMENT_DID_OPEN: _ignore,
            lsp.TEXT_DOCUMENT_DID_SAVE: self._saved,
            lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: self._watched,
            lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: self._configured,
        }
        for method, hook in hooks.items():
            self.feature(method)(_hook(hook))  # pygls marks what it registers: no method can be marked
        features.register(self)

    # -- registering ------------------------------------------------------------------------

    def on(
        self, method: str, answer: Callable[[Server, Any], object], options: object = None, about: About = "file"
    ) -> None:
        """A feature: its function runs at the desk, with the texts as they were when it was asked."""
        self.feature(method, options)(self._asking(lambda params: answer(self, params), about))

    def on_command(self, name: str, answer: Callable[[Server, Sequence[Any]], object], about: About = "file") -> None:
        self.command(name)(self._asking(lambda *arguments: answer(self, arguments), about))

    def _asking(self, answer: Callable[..., object], about: About) -> Callable[..., object]:
        """A handler whose work is done at the desk; the protocol looks for ``asks``."""

        def work(*arguments: Any) -> object:
            try:
                return answer(*arguments)
            except Outdated:
                raise content_modified() from None

        def handler(*arguments: Any) -> object:
            raise AssertionError("this is never called: the desk is asked")

        def asks(*arguments: Any) -> Future[object]:
            if about == "file":
                return self.desk.ask(lambda: work(*arguments))
            uri = getattr(getattr(arguments[0] if arguments else None, "text_document", None), "uri", "")
            number = self.version_of(uri)

            def late() -> object:
                if about == "workspace":
                    self.index.wake_all()
                return work(*arguments)

            def question() -> Future[object]:
                return self.desk.ask(late if self.version_of(uri) == number else _outdated)

            return self._later.ask(question)

        handler.asks = asks  # type: ignore[attr-defined]
        return handler

    async def ask(self, work: Callable[[], T], changes: bool = False) -> T:
        """Has something done at the desk."""
        return await asyncio.wrap_future(self.desk.ask(work, changes))

    def can(self, path: str) -> bool:
        """Whether the client says that it can do something, as ``text_document.hover.…``."""
        return bool(get_capability(self.client_capabilities, path, False))

    def capability(self, path: str) -> Any:
        """What the client says of a capability; None where it says nothing."""
        return get_capability(self.client_capabilities, path, None)

    def remember_tokens(self, uri: str, data: list[int]) -> str:
        """Keeps the tokens that a client was given, for the next difference."""
        self._token_count += 1
        self.tokens[uri] = (str(self._token_count), data)
        return str(self._token_count)

    def view(self, uri: str) -> View | None:
        """A file as a question sees it; None where it is no workflow file.  At the desk only."""
        return self.index.view(uri)

    def markup(self, text: str, where: str = "text_document.hover.content_format") -> lsp.MarkupContent:
        """Markdown, or plain text for a client that does not read it."""
        formats = get_capability(self.client_capabilities, where, None)
        kind = lsp.MarkupKind.Markdown
        if formats is not None and kind not in formats:
            return lsp.MarkupContent(lsp.MarkupKind.PlainText, text.replace("**", "").replace("```\n", ""))
        return lsp.MarkupContent(kind, text)

    def workspace_edit(self, edits: dict[str, list[lsp.TextEdit]]) -> lsp.WorkspaceEdit:
        """Edits by URI, with the versions that they are for where the client takes them."""
        if not self.can("workspace.workspace_edit.document_changes"):
            return lsp.WorkspaceEdit(changes=edits)
        changes: list[lsp.TextDocumentEdit] = []
        for uri, rows in edits.items():
            entry = self.index.entry(uri)
            number = None if entry is None else entry.version
            changes.append(lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(uri, number), [*rows]))
        return lsp.WorkspaceEdit(document_changes=[*changes])

    # -- life -------------------------------------------------------------------------------

    def _initialize(self, params: lsp.InitializeParams) -> None:
        from pygls.capabilities import ServerCapabilitiesBuilder

        chosen = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
        word = str(getattr(chosen, "value", chosen))
        self.encoding = "utf-8" if word == "utf-8" else "utf-32" if word == "utf-32" else "utf-16"
        self.index = Index(self.encoding)
        folders = [folder.uri for folder in params.workspace_folders or []]
        if not folders and params.root_uri:
            folders = [params.root_uri]
        elif not folders and params.root_path:
            folders = [os.path.abspath(params.root_path)]
        self.folders = [path for uri in folders if (path := path_of(uri) or (uri if os.path.isabs(uri) else None))]
        self.publisher.pulled = get_capability(params.capabilities, "text_document.diagnostic", None) is not None
        if params.process_id:
            self._watcher = Watcher(params.process_id, lambda: self.from_outside(lambda: self.stop(1)))
            self._watcher.start()

    def _initialized(self, params: lsp.InitializedParams) -> None:
        self._task(self._watch_files())
        self._look()

    def _shut_down(self, params: None) -> None:
        self.desk.close()
        self._later.give_up()

    def stop(self, code: int) -> None:
        """Ends the loop; the process then ends with this code."""
        self.exit_code = code
        self.desk.close()
        if self._watcher is not None:
            self._watcher.stop()
        if self._done is not None:
            self._done.set()

    async def serve(self, source: BinaryIO, sink: BinaryIO) -> int:
        """Answers one client until it says ``exit``, or goes away; the answer is the exit code."""
        self.loop = asyncio.get_running_loop()
        self._done = asyncio.Event()
        self.protocol.set_writer(Writer(sink))
        self.desk.start()
        Listener(
            source,
            lambda body: self.from_outside(lambda: self.protocol.receive(body)),
            lambda: self.from_outside(lambda: self.stop(self.exit_code)),
        ).start()
        await self._done.wait()
        return self.exit_code

    def from_outside(self, work: Callable[[], None]) -> None:
        assert self.loop is not None
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(work)

    def _task(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("A task failed", exc_info=error)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A failing feature is a line in the log and an error to who asked, never a box on the screen."""
        logger.error("%s", error)

    # -- documents --------------------------------------------------------------------------

    def opened(self, uri: str, language: str, number: int, text: str) -> None:
        assert self.encoding is not None
        self.documents[uri] = Document(uri, language, number, text, self.encoding)
        path = path_of(uri)
        if path is not None and path.endswith((".yaml", ".yml")) and self._is_stray(path):
            self._strays[os.path.dirname(path)] = path
            self._look()
        self._hand_over(self.documents[uri])

    def _is_stray(self, path: str) -> bool:
        """Whether a file lies outside of all folders, and is the first of its own that is open."""
        folder = os.path.dirname(path)
        if folder in self._strays or any(below(path, one) for one in self.folders):
            return False
        return os.path.isdir(folder)

    def changed(self, uri: str, number: int, changes: Sequence[lsp.TextDocumentContentChangeEvent]) -> None:
        document = self.documents.get(uri)
        if document is None:
            logger.warning("A change of a document that is not open: %s", uri)
            return
        for change in changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                start, end = change.range.start, change.range.end
                document.edit(Place(start.line, start.character), Place(end.line, end.character), change.text)
            else:
                document.replace(change.text)
        document.version = number
        self._hand_over(document)

    def closed(self, uri: str) -> None:
        if self.documents.pop(uri, None) is None:
            return
        self.tokens.pop(uri, None)
        path = path_of(uri)
        if path is not None and is_settings(path):
            self._change(lambda: self.publisher.open_settings.pop(uri, None), uri)
            return
        self._change(lambda: self.index.drop(uri), uri)
        folder = os.path.dirname(path or "")
        if folder in self._strays and not any(os.path.dirname(path_of(one) or "") == folder for one in self.documents):
            del self._strays[folder]
            self._look()

    def _saved(self, params: lsp.DidSaveTextDocumentParams) -> None:
        """Settings hold from when they are saved, also for a client that watches no files."""
        path = path_of(params.text_document.uri)
        if path is not None and is_settings(path):
            self._look()

    def _hand_over(self, document: Document, edited: bool = True) -> None:
        """The text of a document goes to the desk; questions about it are outdated where it was ``edited``."""
        uri, language, lines, number = document.uri, document.language, document.lines, document.version
        path = path_of(uri)
        if path is not None and is_settings(path):
            self._change(lambda: self.publisher.open_settings.update({uri: (path, lines, number)}), uri)
            return
        self._change(lambda: self.index.put(uri, language, lines, number), uri if edited else None)

    def _change(self, work: Callable[[], object], uri: str | None = None) -> None:
        self.desk.ask(work, changes=uri or True)
        self.desk.check_soon(DEBOUNCE)

    def judge(self, uri: str) -> None:
        """Has everything judged now, for a question about one document.  At the desk only."""
        self.index.check(lambda: self.desk.give_way_to(uri))

    # -- checking ---------------------------------------------------------------------------

    def _check(self) -> None:
        begin = time.thread_time()
        messages = self.publisher.prepare(self.index.check(self.desk.give_way))
        self.from_outside(lambda: self.publisher.publish(messages))
        if time.thread_time() - begin > LARGE:
            keep()

    def version_of(self, uri: str) -> int | None:
        """The newest version of an open document."""
        document = self.documents.get(uri)
        return None if document is None else document.version

    # -- the workspace ----------------------------------------------------------------------

    def _look(self) -> None:
        """Looks through all folders (again); questions about the whole workspace wait for that."""
        self._scans += 1
        self._later.hold()
        folders = (*self.folders, *self._strays)
        self.desk.ask(lambda: self.index.wait_for(folders))
        self._task(self._scan(self._scans))

    async def _scan(self, number: int) -> None:
        """Reads the workflow files of all folders; what is wrong with those that are open is told all the same."""
        try:
            await self._read_folders(tuple(self.folders), tuple(self._strays.values()))
        finally:
            if number == self._scans:  # a later one has still to see what there is
                await self.ask(self.index.finish)
                self._later.release()
                self.desk.check_soon(0.0)
                self._task(self._wake(number))

    async def _read_folders(self, folders: Sequence[str], strays: Sequence[str]) -> None:
        """A few files at a time, with a progress that can be seen."""
        found = await asyncio.to_thread(territories, folders, self.settings, strays)
        for one in found:
            if one.problem is not None:
                self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"interlock: {one.problem}"))
        paths = await self.ask(lambda: self.index.set_territories(found), changes=True)
        for document in list(self.documents.values()):
            self._hand_over(document, False)  # what counts as a workflow file may have changed
        token = "interlock/index"
        shown = len(paths) > 20 and self.can("window.work_done_progress")
        if shown:
            try:
                await self.work_done_progress.create_async(token)
                self.work_done_progress.begin(token, lsp.WorkDoneProgressBegin("Reading workflow files", percentage=0))
            except Exception:  # a client that will not show it
                shown = False
        step = 10
        for start in range(0, len(paths), step):
            part = paths[start : start + step]
            await self.ask(lambda part=part: self._read_part(part), changes=True)  # type: ignore[misc]
            if shown:
                done = min(len(paths), start + step)
                self.work_done_progress.report(
                    token,
                    lsp.WorkDoneProgressReport(message=f"{done} of {len(paths)}", percentage=100 * done // len(paths)),
                )
        if shown:
            self.work_done_progress.end(token, lsp.WorkDoneProgressEnd(message=f"{len(paths)} files"))

    def _read_part(self, paths: list[str]) -> None:
        for path in paths:
            self.index.load(path)

    async def _wake(self, number: int) -> None:
        """Reads, one at a time, the files that were told of from memory: questions will be about them."""
        slept = False
        while number == self._scans:
            woken = await self.ask(self.index.wake_one)
            if woken is None:
                if slept and self.can("workspace.code_lens.refresh_support"):
                    self.workspace_code_lens_refresh(None)
                return
            slept = True
            await asyncio.sleep(0.005 if woken else 0.05)
            self.desk.check_soon(0.0)

    async def _watch_files(self) -> None:
        if not self.can("workspace.did_change_watched_files.dynamic_registration"):
            return
        patterns = ("**/*.{yaml,yml}", "**/interlock.toml", "**/pyproject.toml", "**/interlock.blocks.json")
        options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(one) for one in patterns])
        registration = lsp.Registration("interlock/files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        try:
            await self.client_register_capability_async(lsp.RegistrationParams([registration]))
        except Exception as error:
            logger.warning("The client does not watch files: %s", error)

    def _watched(self, params: lsp.DidChangeWatchedFilesParams) -> None:
        events = [(path, change.type) for change in params.changes if (path := path_of(change.uri))]
        self._change(lambda: self._on_disk(events))
        if any(is_settings(path) for path, _ in events):
            self._look()

    def _on_disk(self, events: list[tuple[str, lsp.FileChangeType]]) -> None:
        for path, kind in events:
            if path.endswith((".yaml", ".yml")):
                self.index.refresh(path)
            elif kind == lsp.FileChangeType.Deleted:
                self.index.forget_below(path)

    def _configured(self, params: lsp.DidChangeConfigurationParams) -> None:
        self._look()

    def folders_changed(self, added: list[str], removed: list[str]) -> None:
        gone = {path_of(uri) for uri in removed}
        self.folders = [path for path in self.folders if path not in gone]
        self.folders.extend(path for uri in added if (path := path_of(uri)) and path not in self.folders)
        self._look()


def _hook(work: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda params: work(params)


def _ignore(params: Any) -> None:
    return None


def _outdated() -> object:
    raise content_modified()


def content_modified() -> Exception:
    from pygls.exceptions import JsonRpcException

    return JsonRpcException("The text has changed meanwhile.", code=lsp.LSPErrorCodes.ContentModified.value)
