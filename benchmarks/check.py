"""How long ``interlock check`` takes, beside other checkers on files of the same sizes.

Whole processes, by wall time, one after the other in turn; medians.  The peers are installed into
a virtual environment of the benchmark's own (benchmarks/.venv).  yamllint reads our files as YAML and
check-jsonschema by the JSON Schema that ``interlock schema`` prints; zizmor reads GitHub's workflows and
cfn-lint CloudFormation templates, so they get such files with as many lines.  cfn-lint takes minutes:
it runs once, and only when it is named.

usage: python benchmarks/check.py [--rounds N] [--json] [--no-peers | --peers NAME,NAME]
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
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from workflow_texts import (  # type: ignore[import-not-found]
    cloudformation_text,
    github_text,
    workflow_text,
    workspace_texts,
)

PEERS = ("yamllint", "zizmor", "check-jsonschema", "cfn-lint")
SLOW = ("cfn-lint",)
"""These run once, and only when they are named."""
REFUSALS = {"zizmor": (1, 2, 3), "check-jsonschema": (2,), "yamllint": (255,)}
"""How these end when they have not read the files: quickly, so it is no measure."""
VENV = Path(__file__).parent / ".venv"
INTERLOCK = [str(Path(sys.executable).with_name("interlock"))]
FILES, LINES = 500, 78_000


class Task(NamedTuple):
    """One row: what is done, the command of each tool, and what has to be gone before each run."""

    name: str
    commands: dict[str, list[str]]
    folders: dict[str, Path]
    forget: Path | None = None


def peers(wanted: Sequence[str]) -> dict[str, str]:
    """Those of the wanted peers that could be installed, with their versions."""
    python = VENV / "bin" / "python"
    if not python.exists():
        print("Setting up the peers (once) ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    found = {}
    for peer in wanted:
        tool = VENV / "bin" / peer
        if not tool.exists() and subprocess.run([*install, peer], check=False).returncode:
            print(f"{peer} could not be installed, and is left out.", file=sys.stderr)
        if tool.exists():
            said = subprocess.run([str(tool), "--version"], capture_output=True, text=True, check=True)
            found[peer] = said.stdout.split()[-1]
    return found


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def tasks(folder: Path, tools: Iterable[str], cache: Path) -> list[Task]:
    """Writes the files of all tasks."""
    texts = {"own": workflow_text, "github": github_text, "cfn": cloudformation_text}
    names = {"own": "team{0}/flow{1}.workflow.yaml", "github": ".github/workflows/a{1}.yml", "cfn": "{1}.yaml"}
    many = [text.count("\n") for text in workspace_texts(FILES, LINES).values()]
    sizes = [("1,000 lines", [1_000]), ("20,000 lines", [20_000]), (f"{FILES} files, {LINES:,} lines", many)]
    schema = folder / "schema.json"
    schema.write_bytes(subprocess.run([*INTERLOCK, "schema"], capture_output=True, check=True).stdout)
    rows: list[Task] = []
    for number, (name, lengths) in enumerate(sizes):
        folders: dict[str, Path] = {}
        for kind, text in texts.items():
            folders[kind] = folder / f"{kind}{number}"
            pattern = names[kind]
            files = {pattern.format(place % 10, place): text(size, place) for place, size in enumerate(lengths)}
            write(folders[kind], files)
        commands = {"interlock": [*INTERLOCK, "check"]}
        own = [str(path.relative_to(folders["own"])) for path in sorted(folders["own"].rglob("*.yaml"))]
        every = {
            "yamllint": ["-d", "relaxed", "."],
            "zizmor": ["--offline", "--no-progress", "-q", "."],
            "check-jsonschema": ["--schemafile", str(schema), *own],
            "cfn-lint": [
                "--ignore-checks",
                "E3010",
                "I3010",
                "--",
                *(f"{place}.yaml" for place in range(len(lengths))),
            ],
        }
        commands |= {tool: [str(VENV / "bin" / tool), *every[tool]] for tool in tools}
        places = {"zizmor": folders["github"], "cfn-lint": folders["cfn"]}
        rows.append(Task(name, commands, {tool: places.get(tool, folders["own"]) for tool in commands}, cache))
        if number == len(sizes) - 1:
            own_only = {"interlock": commands["interlock"]}
            rows.append(Task(f"{name}, unchanged", own_only, {"interlock": folders["own"]}))
    return rows


def once(command: list[str], folder: Path, cache: Path) -> float | None:
    """Seconds of one process, ``None`` where a peer refuses the files.  Ends the benchmark where a tool breaks."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    # Without byte code every start would compile: that is no installation that anybody has.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, env=environment, check=False)
    seconds = time.perf_counter() - started
    said = done.stderr.decode("utf-8", "replace")
    if (done.returncode == 2 and command[: len(INTERLOCK)] == INTERLOCK) or "Traceback" in said or done.returncode < 0:
        sys.exit(f"{' '.join(command)} failed in {folder}:\n{said[-1000:]}")
    tool = Path(command[0]).name
    if done.returncode in REFUSALS.get(tool, ()):
        print(f"  {tool} does not read it: {said.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return seconds


def measure(rows: list[Task], rounds: int, cache: Path) -> dict[str, dict[str, float]]:
    """The median seconds of each tool that reads the files, by task; the first round warms up and does not count."""
    results: dict[str, dict[str, float]] = {}
    for task in rows:
        times: dict[str, list[float]] = {tool: [] for tool in task.commands}
        for number in range(rounds + 1):
            for tool, command in task.commands.items():
                if tool not in times or (tool in SLOW and number != 1):
                    continue
                if task.forget is not None and tool == "interlock":
                    shutil.rmtree(task.forget, ignore_errors=True)
                seconds = once(command, task.folders[tool], cache)
                if seconds is None:
                    del times[tool]
                elif number:
                    times[tool].append(seconds)
        results[task.name] = {tool: statistics.median(values) for tool, values in times.items()}
        print(f"  {task.name} ...", file=sys.stderr)
    return results


def table(results: dict[str, dict[str, float]], tools: Sequence[str]) -> str:
    """Seconds, and for each peer the share of its time that interlock took."""
    lines = ["| what | interlock | " + " | ".join(tools) + " |", "| --- | ---: |" + " ---: |" * len(tools)]
    for name, times in results.items():
        own = times["interlock"]
        cells = [f"{times[tool]:.2f} s ({own / times[tool]:.2f} ×)" if tool in times else "–" for tool in tools]
        lines.append(f"| {name} | {own:.3f} s | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="How long interlock check takes, beside its peers.")
    parser.add_argument("--rounds", type=int, default=7, help="how often each command is timed (default: 7)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--no-peers", action="store_true", help="time interlock alone")
    parser.add_argument(
        "--peers",
        default=",".join(peer for peer in PEERS if peer not in SLOW),
        help=f"which of {', '.join(PEERS)} (default: %(default)s)",
    )
    options = parser.parse_args()
    wanted = [name for name in options.peers.split(",") if name]
    for name in wanted:
        if name not in PEERS:
            parser.error(f'--peers: there is no peer "{name}", only {", ".join(PEERS)}')
    versions = {} if options.no_peers else peers(wanted)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        results = measure(tasks(Path(folder), versions, cache), max(1, options.rounds), cache)
    machine = {
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load_before": load,
        "peers": versions,
    }
    if options.json:
        print(json.dumps({"seconds": results, "machine": machine}, indent=2))
        return 0
    print(table(results, list(versions)))
    told = ", ".join(f"{name} {version}" for name, version in versions.items()) or "no peers"
    print(f"\nPython {machine['python']}, {machine['processors']} processors, load before {load}; {told}.")
    print("In brackets: the time of interlock as a multiple of the peer's; below 1 it took less.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
