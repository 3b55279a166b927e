"""No part of a secret is shown, also where what is shown was cut, split or rewritten before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest

from interlock.engine.client import Engine

LONG = "eyJ" + "".join(f"part-{number:04}." for number in range(80)) + "end"
LINES = "first-line-of-the-key\nsecond-line-of-the-key"
ODD = "p@ss wörd+=&?tail <x>"
NAME = "hunter2hunter2"
SECRETS = (LONG, LINES, ODD, NAME)


class Refusing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


STEPS = {
    "the last line of an error": (
        'block: shell, params: {command: ["sh", "-c", "echo \\"$T\\" >&2; exit 3"], env: {T: "{inputs.t}"}}'
    ),
    "the last words of a process": 'block: python, params: {call: "test_leaks_block:die", args: {t: "{inputs.t}"}}',
    "an address": 'block: http, params: {url: "URL/{inputs.t}"}',
    "a header": 'block: http, params: {url: "URL", headers: {x: "{inputs.t}ö"}}',
    "a condition": 'when: "{inputs.t}", block: log, params: {message: x}',
    "a place to go to": "block: log, params: {message: x}, next: \"{inputs.n == 1 ? inputs.t : 's'}\"",
    "a key that is missing": "block: set, params: {x: \"{ {'a': 1}[inputs.t] }\"}",
    "a code": 'block: fail, params: {message: x, code: "{inputs.t}"}',
    "a number": 'block: set, params: {x: "{int(inputs.t)}"}',
}


@pytest.mark.parametrize("secret", SECRETS, ids=["long", "lines", "odd", "name"])
@pytest.mark.parametrize("where", STEPS)
def test_no_part_of_a_secret_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, where: str, secret: str
) -> None:
    (tmp_path / "test_leaks_block.py").write_text(
        "import os, sys\ndef die(t):\n    sys.stderr.write(t)\n    sys.stderr.flush()\n    os._exit(3)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (
        "workflow: w\nbudget: {max_transitions: 9}\n"
        "inputs: {t: {type: any, secret: true}, n: {type: any, default: 1}}\n"
        f"steps:\n  - {{id: s, {STEPS[where].replace('URL', url)}}}\n"
    )
    with Engine(f"sqlite:///{tmp_path}/s.db", allow=["shell", "python"]) as engine:
        engine.define(text)
        result = engine.run("w", {"t": secret})
        assert result.status == "failed"
        assert result.error is not None
        shown = msgspec.json.encode([engine.export(result.run), engine.status(result.run)]).decode()
    shown += result.error.message + unquote(shown) + unquote(result.error.message)
    pieces = [secret[at : at + 8] for at in range(len(secret) - 7)]
    assert [piece for piece in pieces if piece in shown] == []
    assert [file.name for file in tmp_path.glob("s.db*") if secret.encode() in file.read_bytes()] == []
