"""How long ``interlock check`` takes, beside yamllint and zizmor on files of the same sizes.

Whole processes, by wall time, one after the other in turn; medians.  The peers are installed into
a virtual environment of the benchmark's own (benchmarks/.venv).  zizmor reads GitHub's workflows, so
it gets such files with as many lines.

usage: python benchmarks/check.py [--rounds N] [--json] [--no-peers]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from workflow_texts import github_text, workflow_text, workspace_texts  # type: ignore[import-not-found]

PEERS = ("yamllint", "zizmor")
VENV = Path(__file__).parent / ".venv"
FILES, LINES = 500, 78_000


class Task(NamedTuple):
    """One row: what is done, the command of each tool, and what has to be gone before each run."""

    name: str
    commands: dict[str, list[str]]
    folders: dict[str, Path]
    forget: Path | None = None


def peers() -> dict[str, str]:
    """The peers that could be installed, with their versions."""
    python = VENV / "bin" / "python"
    if not python.exists():
        print("Setting up the peers (once) ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        for peer in PEERS:
            if subprocess.run([*install, peer], check=False).returncode:
                print(f"{peer} could not be installed, and is left out.", file=sys.stderr)
    found = {}
    for peer in PEERS:
        tool = VENV / "bin" / peer
        if tool.exists():
            said = subprocess.run([str(tool), "--version"], capture_output=True, text=True, check=True)
            found[peer] = said.stdout.split()[-1]
    return found


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def tasks(folder: Path, tools: set[str], cache: Path) -> list[Task]:
    """Writes the files of all tasks."""
    rows: list[Task] = []
    sizes: list[tuple[str, dict[str, str], dict[str, str]]] = []
    for lines in (1_000, 20_000):
        own, github = workflow_text(lines, 1), github_text(lines)
        sizes.append((f"{lines:,} lines", {"a.workflow.yaml": own}, {".github/workflows/a.yml": github}))
    many = workspace_texts(FILES, LINES)
    others = {
        f".github/workflows/a{number}.yml": github_text(text.count("\n"), number)
        for number, text in enumerate(many.values())
    }
    sizes.append((f"{FILES} files, {LINES:,} lines", many, others))
    for number, (name, own_texts, github_texts) in enumerate(sizes):
        own_folder, github_folder = folder / f"own{number}", folder / f"github{number}"
        write(own_folder, own_texts)
        write(github_folder, github_texts)
        commands = {"interlock": [sys.executable, "-m", "interlock.server.cli.main", "check"]}
        if "yamllint" in tools:
            commands["yamllint"] = [str(VENV / "bin" / "yamllint"), "-d", "relaxed", "."]
        if "zizmor" in tools:
            commands["zizmor"] = [str(VENV / "bin" / "zizmor"), "--offline", "--no-progress", "-q", "."]
        folders = {"interlock": own_folder, "yamllint": own_folder, "zizmor": github_folder}
        rows.append(Task(name, commands, folders, cache))
        if number == len(sizes) - 1:
            rows.append(Task(f"{name}, unchanged", {"interlock": commands["interlock"]}, folders))
    return rows


def once(command: list[str], folder: Path, cache: Path) -> float:
    """Seconds of one process.  Ends the benchmark where the tool itself fails."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    # Without byte code every start would compile: that is no installation that anybody has.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, env=environment, check=False)
    seconds = time.perf_counter() - started
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode == 2 or "Traceback" in said or done.returncode < 0:
        sys.exit(f"{' '.join(command)} failed in {folder}:\n{said[-1000:]}")
    return seconds


def measure(rows: list[Task], rounds: int, cache: Path) -> dict[str, dict[str, float]]:
    """The median seconds of each tool, by task; the first round warms up and does not count."""
    results: dict[str, dict[str, float]] = {}
    for task in rows:
        times: dict[str, list[float]] = {tool: [] for tool in task.commands}
        for number in range(rounds + 1):
            for tool, command in task.commands.items():
                if task.forget is not None and tool == "interlock":
                    shutil.rmtree(task.forget, ignore_errors=True)
                seconds = once(command, task.folders[tool], cache)
                if number:
                    times[tool].append(seconds)
        results[task.name] = {tool: statistics.median(values) for tool, values in times.items()}
        print(f"  {task.name} ...", file=sys.stderr)
    return results


def table(results: dict[str, dict[str, float]]) -> str:
    tools = ["interlock", *PEERS]
    lines = ["| what | " + " | ".join(tools) + " | beside yamllint | beside zizmor |", "| --- |" + " ---: |" * 5]
    for name, times in results.items():
        cells = [f"{times[tool]:.3f} s" if tool in times else "–" for tool in tools]
        ratios = [f"{times['interlock'] / times[peer]:.2f}" if peer in times else "–" for peer in PEERS]
        lines.append(f"| {name} | " + " | ".join(cells + ratios) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="How long interlock check takes, beside its peers.")
    parser.add_argument("--rounds", type=int, default=7, help="how often each command is timed (default: 7)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--no-peers", action="store_true", help="time interlock alone")
    options = parser.parse_args()
    versions = {} if options.no_peers else peers()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        results = measure(tasks(Path(folder), set(versions), cache), max(1, options.rounds), cache)
    machine = {
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load_before": load,
        "peers": versions,
    }
    if options.json:
        print(json.dumps({"seconds": results, "machine": machine}, indent=2))
        return 0
    print(table(results))
    told = ", ".join(f"{name} {version}" for name, version in versions.items()) or "no peers"
    print(f"\nPython {machine['python']}, {machine['processors']} processors, load before {load}; {told}.")
    print("A ratio below 1 means that interlock took less time.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
