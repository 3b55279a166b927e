"""The other side of the examples: a small HTTP server that plays every system they talk to.

By hand:  python examples/server.py  serves on a free port of the loopback interface, prints its
address and every request, until it is interrupted.  The demo and the tests start one in their own
process, and make it slow, refuse, or drop a connection at the moment they want.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit


class Request(NamedTuple):
    """One request that came in; ``query`` holds the last value of each name."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    json: Any

    @property
    def what(self) -> str:
        return f"{self.method} {self.path}"


Answer = tuple[int, Any]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that broke off is no news here; anything else is a mistake of these pages."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Gate:
    """Holds the answers of one kind of request until it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def open(self) -> None:
        self._open.set()

    def wait(self) -> None:
        self._open.wait(120)


class Outside:
    """Starts with the context: ``with Outside() as outside: … outside.url``.

    Every fault is given for a request written as ``"POST /entries"``.
    """

    def __init__(self, *, port: int = 0, on_request: Callable[[Request], None] | None = None) -> None:
        self.requests: list[Request] = []
        self.entries: dict[str, str] = {}
        self.on_request = on_request
        self._lock = threading.Condition()
        self._gates: dict[str, Gate] = {}
        self._drops: dict[str, int] = {}
        self._failures: dict[str, list[int]] = {}
        self._server = _Server(("127.0.0.1", port), _handler_of(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Outside:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        for gate in self._gates.values():
            gate.open()
        self._server.shutdown()
        self._server.server_close()

    # --- what the demo and the tests do to it ---

    def hold(self, what: str) -> Gate:
        """Hold the answers to these requests back until the gate is opened."""
        self._gates[what] = Gate()
        return self._gates[what]

    def drop(self, what: str, times: int = 1) -> None:
        """Act on the next request, and close the connection without an answer."""
        self._drops[what] = times

    def fail(self, what: str, *statuses: int) -> None:
        """Answer the next requests with these statuses, without acting."""
        self._failures[what] = list(statuses)

    def seen(self, what: str) -> list[Request]:
        """The requests of one kind, oldest first."""
        with self._lock:
            return [request for request in self.requests if request.what == what]

    def wait_for(self, what: str, count: int = 1, seconds: float = 60) -> list[Request]:
        """Wait until so many requests of one kind came in; TimeoutError where they do not."""
        until = time.monotonic() + seconds
        with self._lock:
            while True:
                found = [request for request in self.requests if request.what == what]
                if len(found) >= count:
                    return found
                if not self._lock.wait(max(0.0, until - time.monotonic())) and time.monotonic() >= until:
                    raise TimeoutError(f"{count} × {what} expected, {len(found)} came in {seconds:g} s")

    # --- what it answers ---

    def answer(self, request: Request) -> Answer | None:
        """Status and JSON; None closes the connection without a word."""
        with self._lock:
            self.requests.append(request)
            self._lock.notify_all()
        if self.on_request is not None:
            self.on_request(request)
        gate = self._gates.get(request.what)
        if gate is not None:
            gate.wait()
        with self._lock:
            failures = self._failures.get(request.what)
            if failures:
                return failures.pop(0), {"error": "out of order"}
            answer = self._act(request)
            if self._drops.get(request.what, 0):
                self._drops[request.what] -= 1
                return None
        return answer

    def _act(self, request: Request) -> Answer:
        for method, pattern, act in ROUTES:
            found = re.fullmatch(pattern, request.path)
            if found is not None and method == request.method:
                return act(self, request, *found.groups())
        return 404, {"error": f"nothing at {request.path}"}

    def count(self, what: str) -> int:
        return sum(request.what == what for request in self.requests)


# --- the systems ----------------------------------------------------------------------------------


def _fixed(value: Any) -> Callable[..., Answer]:
    return lambda outside, request, *parts: (200, value)


def _publish(outside: Outside, request: Request) -> Answer:
    if request.headers.get("authorization") != "Bearer cms-token-of-the-demo":
        return 401, {"error": "who are you?"}
    return 201, {"url": f"/images/{request.json['image']}"}


def _entry(outside: Outside, request: Request) -> Answer:
    """A ledger that does not know idempotency keys: every post that arrives is an entry."""
    name = f"e{len(outside.entries) + 1}"
    outside.entries[name] = request.json["account"]
    return 201, {"id": name}


def _agent(outside: Outside, request: Request) -> Answer:
    task = request.json["task"]
    if task == "rumours":
        return 422, {"error": "no sources"}
    return 200, {"summary": f"what is known about {task}"}


def _job(outside: Outside, request: Request, name: str) -> Answer:
    if outside.count(request.what) < 3:
        return 200, {"state": "working"}
    return 200, {"state": "ready", "result": f"{name} is done"}


def _delivery(outside: Outside, request: Request, name: str) -> Answer:
    return 200, {"orders": [{"order": f"{name}-{number}", "amount": number * 10, "note": ""} for number in (1, 2, 3)]}


def _echo(status: int, **made: str) -> Callable[..., Answer]:
    def act(outside: Outside, request: Request, *parts: str) -> Answer:
        known = {**(request.json if isinstance(request.json, dict) else {}), "part": parts[0] if parts else ""}
        return status, {name: text.format_map(known) for name, text in made.items()}

    return act


ITEMS = [{"id": "p1", "name": "paper"}, {"id": "p2", "name": "ink"}, {"id": "p3", "name": "quill"}]

ROUTES: tuple[tuple[str, str, Callable[..., Answer]], ...] = (
    ("GET", "/products.json", _fixed({"items": ITEMS})),
    ("GET", "/prices.json", _fixed({"prices": {"p1": 4, "p2": 12}})),
    ("POST", "/images", _publish),
    ("POST", "/entries", _entry),
    ("GET", "/plan", _fixed({"topics": ["ink", "paper", "rumours"]})),
    ("POST", "/run", _agent),
    ("GET", "/numbers", _fixed({"regions": ["north", "south"]})),
    ("GET", "/regions/(.+)", lambda outside, request, region: (200, {"total": len(region)})),
    ("PUT", "/reports/(.+)", _echo(201, stored="{part}")),
    ("DELETE", "/reports/(.+)", _echo(200, removed="{part}")),
    ("POST", "/deliveries", _echo(202, delivered="{report}")),
    ("GET", "/jobs/(.+)", _job),
    ("POST", "/render", _echo(200, html="<p>{text}</p>")),
    ("POST", "/orders/(.+)/refund", _echo(200, refunded="{part}")),
    ("POST", "/invoices", _echo(201, invoice="i-{order}")),
    ("POST", "/receipts", _echo(201, receipt="{reference}")),
    ("GET", "/deliveries/(.+)", _delivery),
    ("POST", "/parcels", _echo(201, id="parcel-{order}")),
    ("POST", "/translate", _echo(200, text="{text} ({to})")),
    ("GET", "/mirrors/two/(.+)", lambda outside, request, path: (200, {"file": path})),
    ("POST", "/staged", _echo(201, id="{service}-{release}")),
    ("DELETE", "/staged/(.+)", _echo(200, removed="{part}")),
    ("POST", "/live", _echo(200, url="https://live.example/{id}")),
    ("POST", "/mails", _echo(201, id="mail-to-{to}")),
    ("PUT", "/indexes/(.+)", lambda outside, request, name: (200, {"documents": request.json["revision"] * 100})),
    ("GET", "/shelves/(.+)", _echo(200, shelf="{part}")),
    ("GET", "/carts/(.+)", _echo(200, cart="{part}")),
    ("POST", "/moves", _echo(200, moved="{item}")),
    ("GET", "/counts/(.+)", _fixed({"count": 7})),
)


# --- HTTP -----------------------------------------------------------------------------------------


def _handler_of(outside: Outside) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve()

        do_POST = do_PUT = do_DELETE = do_PATCH = do_GET

        def _serve(self) -> None:
            address = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {name: values[-1] for name, values in parse_qs(address.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = outside.answer(
                Request(self.command, address.path, query, headers, json.loads(body) if body else None)
            )
            if answer is None:
                self.close_connection = True
                self.connection.close()
                return
            status, value = answer
            text = json.dumps(value).encode()
            # Whoever asked may be gone by now: the demo kills one on purpose.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: the requests are kept."""

    return Handler


def main() -> None:
    def show(request: Request) -> None:
        print(request.what, json.dumps(request.json) if request.json is not None else "", flush=True)

    with Outside(on_request=show) as outside:
        print(f"The other side of the examples is at {outside.url}; end it with Ctrl-C.", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
