"""A language client on two pipes that knows nothing of the server but the protocol.

It speaks raw JSON, so that a fault of the libraries that the server is made of shows, too.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

TIMEOUT = 60.0

CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
        "completion": {
            "completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]},
        },
        "hover": {"contentFormat": ["markdown"]},
        "rename": {"prepareSupport": True},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}},
            "resolveSupport": {"properties": ["edit"]},
            "dataSupport": True,
        },
    },
    "workspace": {"workspaceEdit": {"documentChanges": True}},
    "window": {"workDoneProgress": True},
}


class Failure(Exception):
    """An error response."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data")


class Client:
    """Starts a server, and talks to it.  Requests of the server are answered with null."""

    def __init__(self, command: list[str] | None = None, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command or [sys.executable, "-m", "interlock.server.cli.main", "lsp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self.errors: list[bytes] = []
        self.notes: list[tuple[str, Any]] = []
        self.asked: list[tuple[str, Any]] = []
        self.answers: dict[object, dict[str, Any]] = {}
        self.published: dict[str, list[dict[str, Any]]] = {}
        self._number = 0
        self._news: queue.Queue[None] = queue.Queue()
        self._changed = threading.Condition()
        self.ended = False
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()
        self.server: dict[str, Any] = {}
        self.versions: dict[str, int] = {}

    # -- wire -------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    @staticmethod
    def frame(message: object) -> bytes:
        body = json.dumps(message).encode()
        return b"Content-Length: %d\r\n\r\n" % len(body) + body

    def send(self, message: object) -> None:
        self.write(self.frame(message))

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()) and line.strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not line:
                break
            self._take(json.loads(stream.read(length)))
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)

    def _take(self, message: dict[str, Any]) -> None:
        reply = None
        with self._changed:
            if "method" not in message:
                self.answers[message.get("id")] = message
            elif "id" in message:
                self.asked.append((message["method"], message.get("params")))
                reply = {"jsonrpc": "2.0", "id": message["id"], "result": None}
            else:
                self.notes.append((message["method"], message.get("params")))
                if message["method"] == "textDocument/publishDiagnostics":
                    self.published.setdefault(message["params"]["uri"], []).append(message["params"])
            self._changed.notify_all()
        if reply is not None:
            self.send(reply)

    def wait(self, ready: Callable[[], Any], what: str = "the server", seconds: float = TIMEOUT) -> Any:
        """Waits until ``ready`` gives something true, and gives it."""
        with self._changed:
            if not self._changed.wait_for(lambda: ready() or self.ended, seconds) or not ready():
                raise AssertionError(f"waited in vain for {what}: " + b"".join(self.errors).decode()[-2000:])
            return ready()

    # -- protocol ---------------------------------------------------------------------------

    def begin(self, method: str, params: object) -> int:
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def result(self, number: object) -> Any:
        answer = self.wait(lambda: self.answers.get(number), f"the answer to {number}")
        if "error" in answer:
            raise Failure(answer["error"])
        return answer["result"]

    def request(self, method: str, params: object) -> Any:
        return self.result(self.begin(method, params))

    def notify(self, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def initialize(self, *roots: Path, capabilities: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        params = {
            "processId": None,
            "rootUri": None,
            "capabilities": CAPABILITIES if capabilities is None else capabilities,
            "workspaceFolders": [{"uri": root.as_uri(), "name": root.name} for root in roots] or None,
            **more,
        }
        self.server = self.request("initialize", params)
        self.notify("initialized", {})
        return self.server

    def close(self) -> int:
        """Shuts the server down as the protocol says; the answer is its exit code."""
        if self.process.poll() is None and not self.ended:
            try:
                self.request("shutdown", None)
                self.notify("exit", None)
            except (OSError, AssertionError):
                self.process.kill()
        code = self.process.wait(TIMEOUT)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()
        return code

    # -- documents --------------------------------------------------------------------------

    def open(self, uri: str, text: str, language: str = "yaml", version: int = 1) -> None:
        self.versions[uri] = version
        self.notify(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": language, "version": version, "text": text}},
        )

    def change(self, uri: str, *changes: dict[str, Any]) -> int:
        self.versions[uri] += 1
        self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": self.versions[uri]}, "contentChanges": list(changes)},
        )
        return self.versions[uri]

    def replace(self, uri: str, text: str) -> int:
        return self.change(uri, {"text": text})

    def diagnostics(self, uri: str, version: int | None = None) -> list[dict[str, Any]]:
        """What was published for a version (the newest one sent by default)."""
        wanted = self.versions.get(uri) if version is None else version

        def ready() -> Any:
            return [one for one in self.published.get(uri, ()) if one.get("version") == wanted]

        found: list[dict[str, Any]] = self.wait(ready, f"diagnostics of {uri}")[-1]["diagnostics"]
        return found

    def at(self, uri: str, line: int, character: int, **more: Any) -> dict[str, Any]:
        return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}, **more}


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    """One change of a range."""
    return {
        "range": {
            "start": {"line": start[0], "character": start[1]},
            "end": {"line": end[0], "character": end[1]},
        },
        "text": text,
    }
