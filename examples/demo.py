"""What `make demo` shows: the examples checked, the broken ones explained, and runs on this machine.

Everything happens in a temporary folder and against a small HTTP server on the loopback
interface; nothing is left behind.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
INTERLOCK = [sys.executable, "-m", "interlock.server.cli.main"]

DATA = {
    "/products.json": {
        "items": [
            {"id": "p1", "name": "paper"},
            {"id": "p2", "name": "ink"},
            {"id": "p3", "name": "quill"},
        ]
    },
    "/prices.json": {"prices": {"p1": 4, "p2": 12}},
}


class Handler(BaseHTTPRequestHandler):
    """Serves the data of the examples."""

    def do_GET(self) -> None:
        body = DATA.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the demo speaks for itself."""


def say(text: str) -> None:
    print(f"\n=== {text}\n", flush=True)


def interlock(*arguments: str, folder: Path, expect: int) -> None:
    """Runs one command and shows it; another exit code than the expected one ends the demo."""
    print("$ interlock " + " ".join(arguments), flush=True)
    done = subprocess.run([*INTERLOCK, *arguments], cwd=folder, check=False)
    if done.returncode != expect:
        sys.exit(f"the demo expected exit code {expect} here, and got {done.returncode}")


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_address[1]}"
    with tempfile.TemporaryDirectory(prefix="interlock-demo-") as name:
        folder = Path(name)
        good, broken = folder / "good", folder / "broken"
        shutil.copytree(HERE, good, ignore=shutil.ignore_patterns("*.py", "broken", "__pycache__", ".*"))
        shutil.copytree(HERE / "broken", broken)
        say("The examples are clean")
        interlock("check", folder=good, expect=0)
        say("Two broken ones: what the tool is for")
        interlock("check", folder=broken, expect=1)
        say("Two sources fetched side by side, and combined")
        interlock(
            "run",
            "catalog.workflow.yaml",
            "--input",
            f"products_url={home}/products.json",
            "--input",
            f"prices_url={home}/prices.json",
            folder=good,
            expect=0,
        )
        say("What the store remembers of it")
        interlock("runs", folder=good, expect=0)
    server.shutdown()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
