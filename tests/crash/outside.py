"""The outside world of the crash tests: an HTTP server in a process of its own that keeps what it is sent.

It refuses, fails, answers late or hangs up as a hash of the request's key and count says, until it is told
to be calm; and it refuses a fence below the highest that it has seen of a key, as fences are made for.
``python outside.py`` prints its port and ends with its standard input.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWERS = (
    ["done"] * 78
    + ["done, then 503"] * 5
    + ["done, then gone"] * 3
    + ["refused with 409"] * 4
    + ["failed with 500"] * 4
    + ["slow"] * 6
)
SLOW_SECONDS = 0.7


class Records:
    """What has arrived, in order, under one lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.all: list[dict[str, Any]] = []
        self.seen: dict[str, int] = {}
        self.fences: dict[str, int] = {}
        self.under_way = 0
        self.calm = False

    def take(self, key: str, body: dict[str, Any]) -> tuple[str, float]:
        """Decide on a request and keep it; the answer and how long to wait for it."""
        with self.lock:
            count = self.seen[key] = self.seen.get(key, 0) + 1
            digest = hashlib.sha256(f"{key} {count}".encode()).digest()
            answer = "done" if self.calm else ANSWERS[int.from_bytes(digest[:2], "big") % len(ANSWERS)]
            name, fence = body.get("key"), body.get("fence")
            if name is not None and fence is not None:
                if fence < self.fences.get(name, 0):
                    answer = "stale fence"
                else:
                    self.fences[name] = fence
            self.all.append({"idempotency": key, "answer": answer, **body})
        pause = 0.0 if self.calm else digest[2] / 255 * 0.06
        return answer, SLOW_SECONDS if answer == "slow" else pause


RECORDS = Records()
STATUS = {"done": 200, "slow": 200, "done, then 503": 503, "refused with 409": 409, "failed with 500": 500}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length) or b"{}")
        if self.path == "/calm":
            RECORDS.calm = True
            self._answer(200, {})
            return
        with RECORDS.lock:
            RECORDS.under_way += 1
        try:
            answer, pause = RECORDS.take(self.headers.get("Idempotency-Key", ""), body)
            time.sleep(pause)
        finally:
            with RECORDS.lock:
                RECORDS.under_way -= 1
        if answer == "done, then gone":
            self.close_connection = True
            self.connection.close()
            return
        self._answer(STATUS.get(answer, 409), {"answer": answer})

    def do_GET(self) -> None:
        if self.path == "/under-way":
            self._answer(200, RECORDS.under_way)
            return
        with RECORDS.lock:
            records = list(RECORDS.all)
        self._answer(200, records)

    def _answer(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True

    def handle(self) -> None:
        try:
            super().handle()
        except (OSError, ValueError):
            self.close_connection = True

    def log_message(self, format: str, *given: Any) -> None:
        pass


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
