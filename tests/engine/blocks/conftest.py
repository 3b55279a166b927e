"""A small HTTP server on loopback, and what a block needs to run."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from interlock.engine.blocks import Context, Registry
from interlock.engine.blocks.children import Children
from interlock.engine.blocks.http import new_client
from interlock.engine.blocks.running import run_block
from interlock.engine.ports import Outcome


class Recorder(ThreadingHTTPServer):
    """Answers by path and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Recorder

    def answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        self.server.requests.append(
            {"method": self.command, "path": self.path, "headers": dict(self.headers), "body": body}
        )
        path, _, _ = self.path.partition("?")
        if path.startswith("/status/"):
            self.reply(int(path.rsplit("/", 1)[1]), b"no")
        elif path == "/drop":
            self.close_connection = True
            self.connection.close()
        elif path == "/slow":
            time.sleep(3)
            self.reply(200, b"late")
        elif path == "/big":
            self.reply(200, b"x" * 200_000, {"Transfer-Encoding": "chunked"})
        elif path == "/loop":
            self.reply(302, b"", {"Location": "/loop"})
        elif path == "/away":
            self.reply(302, b"", {"Location": "file:///etc/passwd"})
        elif path == "/moved":
            self.reply(302, b"", {"Location": "/json"})
        elif path == "/cookie":
            self.reply(200, b"{}", {"Set-Cookie": "session=1; Path=/"})
        elif path == "/binary":
            self.reply(200, b"a\0\xff", {"Content-Type": "application/octet-stream"})
        elif path == "/latin":
            self.reply(200, "é".encode("latin-1"), {"Content-Type": "text/plain; charset=latin-1"})
        elif path.startswith("/charset/"):
            kind = {"Content-Type": f"text/plain; charset={path.rsplit('/', 1)[1]}"}
            self.reply(200, b'"\\ud800 +2AA- xn--a-ecp"', kind)
        elif path == "/numbers":
            self.reply(200, b'{"i": 1, "f": 1.0, "big": 12345678901234567890}')
        else:
            self.reply(200, json.dumps({"path": self.path}).encode(), {"X-Two": "b"})

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = do_PATCH = do_OPTIONS = answer

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        chunked = bool(headers and "Transfer-Encoding" in headers)
        if not chunked:
            self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if chunked:
            for at in range(0, len(body), 50_000):
                part = body[at : at + 50_000]
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.wfile.write(body)

    def handle(self) -> None:
        # A client that was out of time has gone when its answer comes.
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Recorder]:
    made = Recorder()
    thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@asynccontextmanager
async def services() -> AsyncIterator[dict[str, Any]]:
    children = Children(limit=2)
    try:
        async with new_client() as client:
            yield {"http": client, "children": children}
    finally:
        await children.close()


@pytest.fixture
def run() -> Callable[..., Outcome]:
    """Runs one attempt of a block in a loop of its own; ``log`` gathers what it logs."""

    def run_one(
        name: str,
        params: Any,
        *,
        blocks: tuple[Any, ...] = (),
        timeout: float | None = None,
        log: list[tuple[str, str]] | None = None,
        repeat: int = 1,
    ) -> Outcome:
        registry = Registry(blocks, allow=("shell", "python"))

        async def main() -> Outcome:
            async with services() as given:
                for _ in range(repeat):
                    context = Context(
                        run="r1",
                        path="fetch",
                        idempotency_key="r1/fetch/1",
                        log=lambda level, message: log.append((level, message)) if log is not None else None,
                        services=given,
                    )
                    outcome = await run_block(registry, name, params, context, timeout=timeout)
                return outcome

        return asyncio.run(main())

    return run_one
