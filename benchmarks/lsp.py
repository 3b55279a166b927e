"""How fast the language server answers: edits to diagnostics, hover, completion, indexing, memory.

Drives ``interlock lsp`` over standard input and output as an editor does, with edits of several kinds, and
prints percentiles.  ``--peers`` runs zizmor and yaml-language-server on files of the same sizes in the same
run, installed into folders of the benchmark's own (benchmarks/.venv, benchmarks/.venv-node).  They know other
languages: zizmor reads GitHub's workflows, and yaml-language-server reads ours as plain YAML, so only the order
of magnitude is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "server" / "lsp")]

from client import Client, edit  # noqa: E402
from workflow_texts import github_text, workflow_text, workspace_texts  # noqa: E402

PYTHON_PEERS, NODE_PEERS = HERE / ".venv", HERE / ".venv-node"
PEERS = {
    "zizmor": [str(PYTHON_PEERS / "bin" / "zizmor"), "--lsp"],
    "yaml-language-server": [str(NODE_PEERS / "node_modules" / ".bin" / "yaml-language-server"), "--stdio"],
}


def place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)


class Editor:
    """One open document, and the time from an edit to its diagnostics."""

    def __init__(self, client: Client, uri: str, text: str) -> None:
        self.client, self.uri, self.text = client, uri, text
        client.open(uri, text)
        client.diagnostics(uri)

    def change(self, start: int, end: int, new: str) -> float:
        first, last = place(self.text, start), place(self.text, end)
        self.text = self.text[:start] + new + self.text[end:]
        begin = time.perf_counter()
        self.client.change(self.uri, edit(first, last, new))
        self.client.diagnostics(self.uri)
        return (time.perf_counter() - begin) * 1000

    def ask(self, method: str, offset: int) -> float:
        line, character = place(self.text, offset)
        begin = time.perf_counter()
        self.client.request(f"textDocument/{method}", self.client.at(self.uri, line, character))
        return (time.perf_counter() - begin) * 1000


def letters(editor: Editor, chance: random.Random) -> Iterator[float]:
    """A word typed into an address, letter by letter, and taken out again."""
    at = editor.text.index("/items/", chance.randrange(len(editor.text) // 2)) + 7
    for number, letter in enumerate("abcdef"):
        yield editor.change(at + number, at + number, letter)
    for number in reversed(range(6)):
        yield editor.change(at + number, at + number + 1, "")


def comments(editor: Editor, chance: random.Random) -> Iterator[float]:
    """A comment in a line of its own."""
    at = editor.text.index("\n  - id: ", chance.randrange(len(editor.text) // 2))
    yield editor.change(at, at, "\n  # note")
    yield editor.change(at, at + 9, "")


def names(editor: Editor, chance: random.Random) -> Iterator[float]:
    """The id of a step, which others read: what they say changes with it."""
    at = editor.text.index("- id: call_", chance.randrange(len(editor.text) // 2)) + 11
    yield editor.change(at, at, "x")
    yield editor.change(at, at + 1, "")


def breaks(editor: Editor, chance: random.Random) -> Iterator[float]:
    """A quote typed, and closed: in between the step is no YAML."""
    at = editor.text.index("block: set", chance.randrange(len(editor.text) // 2)) + 7
    yield editor.change(at, at, '"')
    yield editor.change(at, at + 1, "")


EDITS: dict[str, Callable[[Editor, random.Random], Iterator[float]]] = {
    "letters in a text": letters,
    "a comment": comments,
    "a name that others read": names,
    "a quote that breaks a step": breaks,
}


def row(name: str, times: list[float]) -> None:
    times.sort()
    half = statistics.median(times)
    most = times[min(len(times) - 1, int(len(times) * 0.95))]
    print(f"  {name:<34} {len(times):5}  p50 {half:8.1f} ms  p95 {most:8.1f} ms  max {times[-1]:8.1f} ms")


def rounds_for(lines: int) -> int:
    return 12 if lines <= 2000 else 4


def measure(lines: int) -> None:
    print(f"interlock lsp, {lines:,} lines")
    client = Client()
    client.initialize()
    chance = random.Random(5)
    editor = Editor(client, "file:///nowhere/bench.workflow.yaml", workflow_text(lines, seed=1))
    for name, edits in EDITS.items():
        row(name, [one for _ in range(rounds_for(lines)) for one in edits(editor, chance)])
    for method in ("hover", "completion"):
        times = []
        for _ in range(20):
            at = editor.text.index("{inputs.", chance.randrange(len(editor.text) // 2)) + 8
            editor.change(at, at, "")
            times.append(editor.ask(method, at))
        row(method, times)
    client.close()


def memory(process: int) -> float | None:
    """Resident memory in MiB, where the system tells."""
    try:
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    except OSError:
        return None
    return None


def indexed(client: Client) -> bool:
    return any(method == "$/progress" and note["value"]["kind"] == "end" for method, note in client.notes)


def index(files: int, lines: int) -> None:
    """The start of a server on a workspace that nobody has checked, and again on what was found then."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        for path, text in workspace_texts(files, lines).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        (folder / "interlock.toml").write_text("")
        caches = Path(name) / "cache"
        for what in ("cold", "from what was found before"):
            client = Client(environment={**os.environ, "XDG_CACHE_HOME": str(caches)})
            begin = time.perf_counter()
            client.initialize(folder)
            client.wait(partial(indexed, client), "the index", 600)
            took = time.perf_counter() - begin
            while not list(caches.rglob("*.bin")):
                time.sleep(0.05)
            kept = time.perf_counter() - begin
            used = memory(client.process.pid)
            client.close()
            print(f"workspace of {files} files, {lines:,} lines, {what}: indexed in {took:.2f} s, ", end="")
            print(f"judged in {kept:.1f} s, memory {used or 0:.0f} MiB" if what == "cold" else f"{used or 0:.0f} MiB")


def install(name: str) -> str | None:
    """Installs a peer where it is missing, and tells its version; None where it cannot be had."""
    command = Path(PEERS[name][0])
    try:
        if name == "zizmor":
            if not command.exists():
                if not PYTHON_PEERS.exists():
                    subprocess.run([sys.executable, "-m", "venv", str(PYTHON_PEERS)], check=True)
                subprocess.run([str(PYTHON_PEERS / "bin" / "python"), "-m", "pip", "install", "-q", name], check=True)
            told = subprocess.run([str(command), "--version"], check=True, capture_output=True, text=True)
            return told.stdout.split()[-1]
        if not command.exists():
            NODE_PEERS.mkdir(exist_ok=True)
            install = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(NODE_PEERS), name]
            subprocess.run(install, check=True)
        package = NODE_PEERS / "node_modules" / name / "package.json"
        return str(json.loads(package.read_text())["version"])
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"  {name}: cannot be had: {error}")
        return None


def peer_text(name: str, lines: int) -> str:
    if name != "zizmor":
        return workflow_text(lines, seed=1)
    return github_text(lines)


def peer(name: str, lines: int) -> None:
    """A peer's time from an edit to the diagnostics of that version: letters typed into a text and taken out."""
    client = Client(PEERS[name])
    mark, path = ("name: step", ".github/workflows/a.yml") if name == "zizmor" else ("/items/", "a.yaml")
    with tempfile.TemporaryDirectory() as folder:
        file, text = Path(folder) / path, peer_text(name, lines)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        uri = file.as_uri()
        client.initialize(Path(folder))
        client.open(uri, text)
        try:
            client.wait(lambda: client.published.get(uri), name)
            offset = text.index(mark, len(text) // 2) + len(mark)
            at, end = place(text, offset), place(text, offset + 1)
            longer = text[:offset] + "x" + text[offset:]
            sync = client.server["capabilities"]["textDocumentSync"]
            whole = (sync if isinstance(sync, int) else sync.get("change")) == 1  # it takes whole texts only
            times = []
            for number in range(12):
                before, there = len(client.published[uri]), number % 2 == 1
                change = edit(at, end, "") if there else edit(at, at, "x")
                begin = time.perf_counter()
                client.change(uri, {"text": text if there else longer} if whole else change)
                client.wait(lambda: len(client.published[uri]) > before, name)  # noqa: B023
                times.append((time.perf_counter() - begin) * 1000)
            row(f"{name}, {lines:,} lines", times)
        except AssertionError as error:
            print(f"  {name}, {lines:,} lines: {str(error)[:200]}")
    client.process.kill()
    client.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, nargs="*", default=[1000, 20_000])
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    for lines in options.lines:
        measure(lines)
    if options.files:
        index(options.files, options.files * 156)
    for name in PEERS if options.peers else ():
        version = install(name)
        if version is not None:
            print(f"{name} {version}")
            for lines in options.lines:
                peer(name, lines)


if __name__ == "__main__":
    main()
