"""Conversations with the language server by chance: edits, questions, nonsense, in whatever order.

One session is one server on two pipes.  Every request is answered or refused, never by "failed"; nothing is
complained of on standard error but what the log says by itself; and a document after many edits has the
diagnostics that it has when it is opened anew.
"""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path
from types import ModuleType
from typing import Any

from fuzz.mutate import PIECES, corpus, mutated

POSITIONED = ("hover", "completion", "signatureHelp", "definition", "documentHighlight", "prepareRename",
              "prepareCallHierarchy", "references", "rename", "selectionRange", "linkedEditingRange")  # fmt: skip
WHOLE = ("documentSymbol", "foldingRange", "documentLink", "semanticTokens/full", "codeLens", "diagnostic",
         "inlayHint", "semanticTokens/range", "codeAction", "semanticTokens/full/delta")  # fmt: skip
OTHER = ("workspace/symbol", "workspace/executeCommand", "workspace/diagnostic", "completionItem/resolve",
         "codeAction/resolve", "callHierarchy/incomingCalls", "callHierarchy/outgoingCalls", "$/unknown", "no/such",
         "textDocument/willSaveWaitUntil", "initialize", "interlock/graph")  # fmt: skip
NOTES = ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/didSave",
         "workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles", "$/cancelRequest", "$/setTrace",
         "workspace/didChangeWorkspaceFolders", "initialized", "window/workDoneProgress/cancel", "x")  # fmt: skip
ODD: list[Any] = [None, True, -1, 0, 3.5, 2**31, 2**53, 10**30, "", "file:///nowhere", "::", "\ud800", [], {}, [[]],
                  {"uri": "file:///none"}, {"line": -1, "character": 10**9}, {"start": 1, "end": {}}]  # fmt: skip
RAW = [
    b"{", b"[]", b"null", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b"[" * 100_000, b'{"jsonrpc": "2.0", "id": {}}', b"",
    b'{"jsonrpc": "2.0", "method": ["x"], "id": 3.5}', b'{"jsonrpc": "2.0", "id": [1], "method": "shutdownx"}',
    b'{"jsonrpc": "2.0", "id": "zz", "result": 5}', b'{"jsonrpc": "2.0", "id": null, "method": "x"}', b'"xxxxx',
    b'[{"jsonrpc": "2.0", "id": 1, "method": "x"}]', b'{"jsonrpc": "2.0", "id": 1e999, "method": "x"}',
]  # fmt: skip
HEADERS = [b"Content-Length: -5\r\n\r\n", b"Content-Length: x\r\n\r\n", b"Nonsense\r\n\r\n", b"\r\n\r\n",
           b"Content-Length:\r\n\r\n", b"Content-Length: 9999999999999999\r\n\r\n", b"\x00\xff: 3\r\n\r\n"]  # fmt: skip


def _client_module() -> ModuleType:
    """The client that the server's own tests use."""
    path = Path(__file__).parents[1] / "server" / "lsp" / "client.py"
    spec = importlib.util.spec_from_file_location("fuzz_lsp_client", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def place(text: str, offset: int) -> dict[str, int]:
    """The position of an offset, in UTF-16; never between the two halves of a CRLF."""
    if text[offset - 1 : offset + 1] == "\r\n":
        offset -= 1
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    last = before.rpartition("\n")[2]
    return {"line": before.count("\n"), "character": len(last.encode("utf-16-le")) // 2}


class Session:
    """One server and the editor's side of its documents."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.client = _client_module().Client()
        self.texts: dict[str, str] = {}
        self.asked: list[object] = []
        self.corpus = corpus()
        self.sent = 0

    def run(self, count: int) -> list[str]:
        """The faults of so many messages."""
        rng, client = self.rng, self.client
        try:
            for _ in range(rng.randrange(4)):  # before it is asked to begin
                self.ask(rng.choice(POSITIONED), self.odd())
            client.initialize()
            for _ in range(count):
                self.step()
            faults = self.answers() + self.fresh()
            return faults + self.end()
        finally:
            client.process.kill()
            client.close()

    def step(self) -> None:
        rng, client = self.rng, self.client
        self.sent += 1
        way = rng.random()
        if way < 0.3 and self.texts:
            self.edit(rng.choice(sorted(self.texts)))
        elif way < 0.36 or not self.texts:
            uri = f"file:///fuzz/{rng.choice('abc')}.workflow.yaml"
            if uri in self.texts:
                self.close(uri)
            else:
                self.texts[uri] = mutated(rng, self.corpus).decode("utf-8", "replace")
                client.open(uri, self.texts[uri])
        elif way < 0.7:
            self.question(rng.choice(sorted(self.texts)))
        elif way < 0.8:
            self.ask(rng.choice((*POSITIONED, *WHOLE)), self.odd())
        elif way < 0.86:
            self.begin(rng.choice(OTHER), self.odd())
        elif way < 0.93:
            method = rng.choice(NOTES)
            params = self.odd()
            # What an editor says of documents that it has open is no nonsense; any other may be.
            client.send({"jsonrpc": "2.0", "method": method, "params": params})
        elif way < 0.96:
            body = rng.choice(RAW)
            client.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        elif way < 0.98:
            client.write(rng.choice(HEADERS))
        elif self.asked:
            client.notify("$/cancelRequest", {"id": rng.choice(self.asked)})

    def edit(self, uri: str) -> None:
        rng, text = self.rng, self.texts[uri]
        changes = []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            start = rng.randint(0, len(text))
            end = min(len(text), start + rng.choice((0, 0, 1, 2, 10, 200)))
            if text[start - 1 : start + 1] == "\r\n":
                start -= 1
            if text[end - 1 : end + 1] == "\r\n":
                end -= 1
            put = rng.choice((rng.choice(PIECES), text[: rng.randint(0, 40)], "x", ""))
            span = {"start": place(text, start), "end": place(text, max(start, end))}
            text = text[:start] + put + text[max(start, end) :]
            changes.append({"range": span, "text": put})
        if rng.random() < 0.05:
            text = mutated(rng, self.corpus).decode("utf-8", "replace")
            changes.append({"text": text})
        self.texts[uri] = text
        self.client.change(uri, *changes)

    def close(self, uri: str) -> None:
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        del self.texts[uri]

    def question(self, uri: str) -> None:
        rng = self.rng
        at = place(self.texts[uri], rng.randint(0, len(self.texts[uri])))
        if rng.random() < 0.1:
            at = {"line": rng.choice((0, 10**6, 2**31 - 1)), "character": rng.choice((0, 10**6, 2**31 - 1))}
        span = {"start": {"line": 0, "character": 0}, "end": at}
        more = {"context": {"includeDeclaration": True, "diagnostics": []}, "range": span, "positions": [at, at],
                "newName": rng.choice(("a", "9", "", "x y")), "previousResultId": "1"}  # fmt: skip
        params = {"textDocument": {"uri": uri}, "position": at, **more}
        method = rng.choice((*POSITIONED, *WHOLE))
        if method in ("completion", "signatureHelp"):
            del params["context"]  # theirs is another
        self.ask(method, params)

    def odd(self) -> Any:
        """Parameters of any form: absent, of another type, or right but for a part."""
        rng = self.rng
        if rng.random() < 0.3:
            return rng.choice(ODD)
        names = ("textDocument", "position", "range", "context", "id", "item", "command", "arguments", "settings",
                 "changes", "event", "query", "contentChanges", "newName", "positions", "value", "data")  # fmt: skip
        return {name: self.odd() if rng.random() < 0.2 else rng.choice(ODD) for name in rng.sample(names, 4)}

    def ask(self, feature: str, params: Any) -> None:
        self.begin(f"textDocument/{feature}", params)

    def begin(self, method: str, params: Any) -> None:
        # Some numbers are texts, as the protocol allows.
        identifier: object = f"n{self.sent}" if self.rng.random() < 0.2 else 10_000 + self.sent
        self.sent += 1
        self.asked.append(identifier)
        self.client.send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params})

    def answers(self) -> list[str]:
        faults = []
        for identifier in self.asked:
            answer = self.client.wait(
                lambda one=identifier: self.client.answers.get(one), f"the answer to {identifier}"
            )
            if answer.get("error", {}).get("code") == -32603:
                faults.append(f"request {identifier}: {json.dumps(answer['error'])}")
        return faults

    def fresh(self) -> list[str]:
        """Every document is closed and opened again: its diagnostics stay."""
        faults = []
        for uri, text in sorted(self.texts.items()):
            self.client.replace(uri, text + "\n")
            self.client.change(uri, self.last_line(text))
            edited = self.client.diagnostics(uri)
            self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            self.client.open(uri, text, version=self.client.versions[uri] + 1)
            if self.client.diagnostics(uri) != edited:
                faults.append(f"{uri}: opened anew it has other diagnostics: {text!r}")
        return faults

    @staticmethod
    def last_line(text: str) -> dict[str, Any]:
        """The change that takes the last line end away again."""
        at = place(text, len(text))
        return {"range": {"start": at, "end": {"line": at["line"] + 1, "character": 0}}, "text": ""}

    def end(self) -> list[str]:
        """A good end, or half a message: it goes either way, and says nothing."""
        client, rng = self.client, self.rng
        if rng.random() < 0.5:
            client.request("shutdown", None)
            number = client.begin("textDocument/hover", {})
            client.wait(lambda: client.answers.get(number), "a refusal after shutdown")
            client.notify("exit", None)
            wanted = 0
        else:
            client.write(
                rng.choice((b"Content-Length: 50\r\n\r\n{", b"Content-Le", b"Content-Length: 99999999999\r\n\r\nx"))
            )
            client.process.stdin.close()
            wanted = 1
        code = client.process.wait(60)
        said = b"".join(client.errors).decode("utf-8", "replace")
        faults = [f"exit code {code} instead of {wanted}"] if code != wanted else []
        at = said.find("Traceback")
        return faults + ([f"said: {said[max(0, at - 200) : at + 2000]}"] if at >= 0 else [])


def sessions(first: int, count: int, messages: int) -> int:
    """Sessions from a seed on; the answer is how many had a fault, each of which is told."""
    broken = 0
    for seed in range(first, first + count):
        try:
            faults = session(seed, messages)
        except (AssertionError, OSError) as error:
            faults = [str(error)]
        broken += bool(faults)
        for fault in faults:
            print(f"session {seed}: {fault}", flush=True)
        if (seed - first + 1) % max(1, count // 20) == 0:
            print(f"{seed - first + 1:,} of {count:,} sessions, {broken} with faults", flush=True)
    return broken


def session(seed: int, count: int) -> list[str]:
    """What went wrong in one conversation of ``count`` messages."""
    return Session(seed).run(count)
