"""The server starts, answers, and ends as the protocol says, whatever its client sends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from client import CAPABILITIES, Client, Failure
from documents import WORKFLOW, Opened

COMMAND = [sys.executable, "-m", "interlock.server.cli.main", "lsp"]


def test_shutdown_and_exit_end_it_well(client: Client) -> None:
    client.initialize()
    assert client.request("shutdown", None) is None
    with pytest.raises(Failure) as caught:
        client.request("textDocument/hover", client.at("file:///x", 0, 0))
    assert caught.value.code == -32600
    client.notify("exit", None)
    assert client.process.wait(30) == 0


def test_exit_without_shutdown_is_a_failure(client: Client) -> None:
    client.initialize()
    client.notify("exit", None)
    assert client.process.wait(30) == 1


def test_the_end_of_the_input_ends_it(client: Client) -> None:
    client.initialize()
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(30) == 1


def test_nothing_is_answered_before_initialize(client: Client) -> None:
    with pytest.raises(Failure) as caught:
        client.request("textDocument/hover", client.at("file:///x", 0, 0))
    assert caught.value.code == -32002
    client.initialize()
    with pytest.raises(Failure):
        client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})


@pytest.mark.skipif(os.name == "nt", reason="processes are looked at in another way there")
def test_it_goes_when_its_client_has_gone(client: Client) -> None:
    parent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    client.initialize(processId=parent.pid)
    Opened(client, WORKFLOW).diagnostics()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert client.process.wait(30) == 1


def test_the_encoding_is_one_that_the_client_knows(client: Client) -> None:
    server = client.initialize(capabilities={**CAPABILITIES, "general": {"positionEncodings": ["utf-8", "utf-16"]}})
    assert server["capabilities"]["positionEncoding"] == "utf-8"
    opened = Opened(client, 'workflow: a\nsteps: [{id: "😀", blok: log, params: {message: x}}]\n')
    found = {one["code"]: one["range"]["start"]["character"] for one in opened.diagnostics()}
    assert found["unknown-field"] == 21


def test_without_a_word_on_encodings_it_is_utf_16(client: Client) -> None:
    assert client.initialize(capabilities={})["capabilities"]["positionEncoding"] == "utf-16"


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[]", b"null", b"17", b'"x"', b"{}", b'{"jsonrpc": "1.0", "id": 1, "method": "shutdown"}',
        b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "method": 5}', b'{"jsonrpc": "2.0", "method": "no/such"}',
        b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {}}',
        b'{"jsonrpc": "2.0", "method": "textDocument/didOpen"}',
        b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///none",'
        b' "version": 3}, "contentChanges": [{"text": ""}]}}',
        b'{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///none"}}}',
        b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 99}}',
        b'{"jsonrpc": "2.0", "method": "workspace/didChangeWatchedFiles", "params": {"changes":'
        b' [{"uri": "::", "type": 1}]}}', b'{"jsonrpc": "2.0", "id": 77, "result": null}',
        b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": ""}}',
        b"\xff\xfe", b"[" * 100_000,
    ],
)  # fmt: skip
def test_odd_messages_do_not_end_it(shared: Client, body: bytes) -> None:
    shared.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert Opened(shared, WORKFLOW).diagnostics() == []


def test_odd_headers_do_not_end_it(shared: Client) -> None:
    shared.write(b"Nonsense\r\nContent-Type: x\r\n\r\ncontent-length: 2\r\nX: y\r\n\r\n{}")
    assert Opened(shared, WORKFLOW).diagnostics() == []


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"textDocument": {"uri": 5}, "position": 3},
        {"textDocument": {"uri": "file:///x"}, "position": {"line": "a"}},
        5,
    ],
)
def test_odd_parameters_are_an_error_of_the_request(shared: Client, params: object) -> None:
    with pytest.raises(Failure) as caught:
        shared.request("textDocument/hover", params)
    assert caught.value.code == -32602


def test_an_unknown_request_is_an_error_of_the_request(shared: Client) -> None:
    with pytest.raises(Failure) as caught:
        shared.request("textDocument/noSuchThing", {})
    assert caught.value.code == -32601


POSITIONED = [
    "hover", "completion", "signatureHelp", "definition", "documentHighlight", "prepareRename", "prepareCallHierarchy",
]  # fmt: skip
WHOLE = ["documentSymbol", "foldingRange", "documentLink", "semanticTokens/full", "codeLens", "diagnostic"]
ODD = [
    "", "\n", "\ufeff", "- a", "a: b: c", "{", "&a [*a]", "workflow: a\nsteps: *x", "workflow: [a]\nsteps: {}",
    "workflow: a\nsteps:\n- ", "workflow: a\nsteps:\n  - id: a\n    when: \"{",
    "workflow: a\r\nsteps:\r\n  - id: é😀\r\n",
    "workflow: a\nsteps:\n  - &s {id: a, block: log, params: {message: x}}\n  - *s\n",
    "---\nworkflow: a\n---\nworkflow: b\n",
    "workflow: a\nx\rsteps: []", "workflow: \"\\ud83d\"\n", "\x00", "workflow: a\nsteps: " + "[" * 3000,
]  # fmt: skip


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_every_feature_lives_through_every_document(shared: Client, text: str) -> None:
    opened = Opened(shared, text)
    opened.diagnostics()
    for line, character in ((0, 0), (0, 5), (1, 3), (99, 99)):
        for method in POSITIONED:
            shared.request(f"textDocument/{method}", shared.at(opened.uri, line, character))
        shared.request(
            "textDocument/references", shared.at(opened.uri, line, character, context={"includeDeclaration": True})
        )
    for method in WHOLE:
        opened.whole(method)
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    opened.whole("inlayHint", range=everything)
    opened.whole("semanticTokens/range", range=everything)
    opened.whole("codeAction", range=everything, context={"diagnostics": []})
    opened.whole("selectionRange", positions=[{"line": 1, "character": 2}])


def test_questions_about_what_is_not_open_have_no_answer(shared: Client) -> None:
    for method in POSITIONED:
        assert not shared.request(f"textDocument/{method}", shared.at("file:///nowhere/none.workflow.yaml", 0, 0))


def test_questions_between_edits_are_answered_for_their_text(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    numbers = []
    for word in ("alpha", "beta", "gamma"):
        opened.replace(WORKFLOW.replace("order.ship", word))
        numbers.append((word, shared.begin("textDocument/documentSymbol", {"textDocument": {"uri": opened.uri}})))
    assert [(word, shared.result(number)[0]["name"]) for word, number in numbers] == [
        (word, word) for word, _ in numbers
    ]


def test_nothing_but_messages_comes_out_and_nothing_is_complained_of(client: Client) -> None:
    client.initialize()
    Opened(client, WORKFLOW).diagnostics()
    assert client.close() == 0
    assert b"".join(client.errors) == b""


# -- a port --------------------------------------------------------------------------------------


@pytest.fixture
def listening() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    process = subprocess.Popen([*COMMAND, "--tcp", "127.0.0.1:0"], stderr=subprocess.PIPE)
    assert process.stderr is not None
    found = re.search(rb":(\d+)", process.stderr.readline())
    assert found is not None
    yield process, int(found[1])
    process.kill()
    process.wait()
    process.stderr.close()


def test_it_speaks_on_a_port(listening: tuple[subprocess.Popen[bytes], int]) -> None:
    process, port = listening
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(
            Client.frame(
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "initialize",
                    "params": {"processId": None, "rootUri": None, "capabilities": {}},
                }
            )
        )
        assert b"capabilities" in connection.recv(65536)
        connection.sendall(Client.frame({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}))
        time.sleep(0.1)
        connection.sendall(Client.frame({"jsonrpc": "2.0", "method": "exit"}))
        assert process.wait(30) == 0


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:x", "127.0.0.1:99999"])
def test_a_bad_address_is_one_line(address: str) -> None:
    done = subprocess.run([*COMMAND, "--tcp", address], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


def test_checking_on_the_command_line_imports_none_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.workflow.yaml"
    path.write_text(WORKFLOW)
    code = (
        "import sys; from interlock.server.cli.main import main; "
        f"main(['check', {str(path)!r}]); "
        "print([name for name in sys.modules if name.startswith(('pygls', 'lsprotocol', 'interlock.server.lsp'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == b"[]"
