"""pygls' protocol with documents of our own, and with answers to what it would leave unanswered.

pygls keeps the text of documents in a class that ends lines where Python does (at U+2028, NEL, form feed);
here only the server's documents are told of changes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server

logger = logging.getLogger(__name__)

_NOTHING = object()
_EXPECTED = frozenset(
    {
        lsp.LSPErrorCodes.RequestFailed.value,
        lsp.LSPErrorCodes.ContentModified.value,
        lsp.LSPErrorCodes.ServerCancelled.value,
        lsp.ErrorCodes.InvalidParams.value,
    }
)


class _Told(logging.Filter):
    """Keeps out pygls' traceback of a message that cannot be read: we say so in a line."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith("Unable to deserialize message")


logging.getLogger("pygls.protocol.json_rpc").addFilter(_Told())


class Protocol(LanguageServerProtocol):
    _server: Server

    # -- messages ---------------------------------------------------------------------------

    def receive(self, body: bytes) -> None:
        """One message.  Whatever it is, nothing but ``exit`` ends the server."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(None, -32700, "The message is not JSON.")
            return
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._refuse(None, -32600, 'A message is an object with "jsonrpc": "2.0".')
            return
        identifier = message.get("id", _NOTHING)
        known = identifier is _NOTHING or identifier is None or isinstance(identifier, str | int)
        if not known or isinstance(identifier, bool):
            self._refuse(None, -32600, "An id is a text or a whole number.")
            return
        asks = "method" in message and identifier is not _NOTHING
        if asks and self._shutdown:
            self._refuse(identifier, -32600, "The server has been shut down.")
            return
        method = message.get("method")
        if asks and self._server.encoding is None and method != lsp.INITIALIZE:
            self._refuse(identifier, -32002, "The server has not been initialized.")
            return
        if asks and self._server.encoding is not None and method == lsp.INITIALIZE:
            self._refuse(identifier, -32600, "The server has been initialized already.")
            return
        try:
            self.handle_message(self.structure_message(message))
        except JsonRpcException as error:
            logger.warning("A message could not be read: %s", method)
            if asks:
                self._refuse(identifier, -32602, f"The parameters of {method} cannot be read: {error}")
        except Exception:
            logger.exception("A message could not be handled: %s", method)
            if asks:
                self._refuse(identifier, -32603, f"{method} failed; the log tells more.")

    def _execute_handler(
        self,
        msg_id: str | int,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Runs a handler; one that asks the desk is put there at once, before any later change of a text."""
        asks = getattr(handler, "asks", None)
        if asks is None:
            super()._execute_handler(msg_id, handler, callback, args, kwargs)
            return
        future: Future[Any] = asks(*(args or ()))
        self._request_futures[msg_id] = future
        future.add_done_callback(lambda done: self._server.from_outside(lambda: callback(done)))

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        """A request is given up; what is no id belongs to none."""
        if isinstance(msg_id, str | int):
            super()._handle_cancel_notification(msg_id)

    def _send_handler_result(self, future: Future[Any], *, msg_id: str | int) -> None:
        """An answer; a request that was refused for a reason is no fault, and leaves no trace in the log."""
        error = None if future.cancelled() else future.exception()
        if isinstance(error, JsonRpcException) and error.code in _EXPECTED:
            self._request_futures.pop(msg_id, None)
            self._send_response(msg_id, error=error.to_response_error())
            return
        super()._send_handler_result(future, msg_id=msg_id)

    def _refuse(self, identifier: object, code: int, text: str) -> None:
        answer = {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": text}}
        self._send_data(answer)

    # -- documents --------------------------------------------------------------------------

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        self._server.opened(document.uri, str(document.language_id), document.version, document.text)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        self._server.changed(params.text_document.uri, params.text_document.version, params.content_changes)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self._server.closed(params.text_document.uri)

    # -- life -------------------------------------------------------------------------------

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, lsp.InitializeResult]:
        result: lsp.InitializeResult = yield from super().lsp_initialize(params)
        return result

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: Any) -> None:  # type: ignore[override]
        self._server.stop(0 if self._shutdown else 1)

    @lsp_method(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(self, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        self._server.folders_changed(
            [folder.uri for folder in params.event.added], [folder.uri for folder in params.event.removed]
        )
