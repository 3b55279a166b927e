"""``make demo`` without a terminal: it shows what it promises, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_demo_shows_everything_and_cleans_up(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py")],
        cwd="/",
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "Traceback" not in done.stdout
    parts = dict(re.findall(r"^=== ([^\n]*)\n(.*?)(?=^=== |\Z)", done.stdout, re.MULTILINE | re.DOTALL))
    clean, broken, branches, timeline, claim, killed, decided, review, deadlock, remembered = parts.values()
    assert "nothing found" in clean
    assert "lock-order-cycle" in broken
    assert "secret-in-log" in broken
    assert '"complete": true' in branches
    assert "run.completed" in timeline
    assert '"published": true' in claim
    assert '"published": false' in claim
    assert "deliver begins again: its worker was lost" in killed
    assert "GET /numbers 1 time" in killed
    assert 'outputs     {"outcome":"approved"}' in decided
    assert "held_for_review" in review
    assert "Settled as committed" in review
    assert "The server was asked 1 time" in review
    assert "error       deadlock" in deadlock
    assert "stock.count  completed" in deadlock or "stock.move  completed" in deadlock
    assert remembered.count("completed") == 7
    assert remembered.count("failed") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_server_of_the_examples_can_be_started_by_hand() -> None:
    server = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "server.py")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+:\d+", server.stdout.readline())
        assert found is not None
        with urllib.request.urlopen(f"{found[0]}/products.json", timeout=30) as answer:
            assert b"quill" in answer.read()
        assert server.stdout.readline().startswith("GET /products.json")
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0
    finally:
        server.kill()
        server.communicate()
