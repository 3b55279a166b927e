"""The curves of docs/benchmarks.md as pictures: how the cost of a thing moves with the size of what is there.

Measures the curves that are named, each in processes of its own, keeps what it found in
docs/benchmarks/curves.json, and draws every curve in that file as an SVG beside it.  Without a name it only
draws.

usage: python benchmarks/plots.py [growth] [waiters] [check]
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import check  # type: ignore[import-not-found]
from workflow_texts import github_text, workflow_text  # type: ignore[import-not-found]

import engine  # type: ignore[import-not-found]

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
LINES = (10, 100, 1_000, 10_000, 50_000)
PEERS = ("yamllint", "zizmor")
ROUNDS, RUNS = 3, 640

Points = list[tuple[float, float]]


class Plot(NamedTuple):
    """A picture: what it shows, what its axes count, and whether the upright one grows by factors too."""

    title: str
    across: str
    upright: str
    lines: dict[str, Points]
    factors: bool = False


# --- measuring ---------------------------------------------------------------------------------------


def growth() -> object:
    return engine.own("growth", RUNS)


def waiters() -> object:
    return engine.own("waiters", RUNS)


def checking() -> object:
    """Seconds of a whole ``interlock check``, and of its peers, on one file of so many lines."""
    tools = check.peers(PEERS)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for lines in LINES:
            own, github = folder / f"own{lines}", folder / f"github{lines}"
            check.write(own, {"flow.workflow.yaml": workflow_text(lines, 0)})
            check.write(github, {".github/workflows/a.yml": github_text(lines, 0)})
            places = {
                "interlock": ([*check.INTERLOCK, "check", "--no-cache"], own),
                "yamllint": ([str(check.VENV / "bin" / "yamllint"), "-d", "relaxed", "."], own),
                "zizmor": (
                    [str(check.VENV / "bin" / "zizmor"), "--offline", "--no-progress", "-q", "."],
                    github,
                ),
            }
            times: dict[str, list[float]] = {tool: [] for tool in ("interlock", *tools)}
            for turn in range(ROUNDS + 1):
                for tool in list(times):
                    seconds = check.once(*places[tool], folder / "cache")
                    if seconds is None:
                        del times[tool]
                    elif turn:
                        times[tool].append(seconds)
            rows.append({"lines": lines, **{tool: statistics.median(found) for tool, found in times.items()}})
            print(f"  {lines:,} lines ...", file=sys.stderr)
    return rows


CURVES: dict[str, Callable[[], object]] = {"growth": growth, "waiters": waiters, "check": checking}


# --- what is drawn -----------------------------------------------------------------------------------


def plots(curves: dict[str, list[dict[str, float]]]) -> dict[str, Plot]:
    """The pictures for the curves at hand, by the name of their file."""
    made = {}
    if rows := curves.get("growth"):
        steps = [(row["stored_runs"], row["steps_per_second"]) for row in rows]
        made["growth"] = Plot(
            "Durable steps per second, by finished runs in the store", "runs", "steps/s", {"interlock": steps}
        )
        memory = [(row["stored_runs"], row["memory_mib"]) for row in rows]
        made["memory"] = Plot(
            "Memory of the worker's process, by finished runs in the store", "runs", "MiB", {"interlock": memory}
        )
    if rows := curves.get("waiters"):
        grants = [(row["waiters"], row["grants_per_second"]) for row in rows]
        made["waiters"] = Plot(
            "Grants of one key per second, by runs that wait for it", "waiting runs", "grants/s", {"interlock": grants}
        )
    if rows := curves.get("check"):
        tools = [name for name in rows[0] if name != "lines"]
        lines = {tool: [(row["lines"], row[tool]) for row in rows if tool in row] for tool in tools}
        made["check"] = Plot("Seconds of one check, by lines of the file", "lines", "seconds", lines, factors=True)
    return made


# --- drawing -----------------------------------------------------------------------------------------

COLOURS = ("#0969da", "#bc4c00", "#1a7f37")
GREY = "#808890"
"""Legible on white and on black: the picture has no ground of its own."""


def draw(plot: Plot, path: Path) -> None:
    """The picture as SVG, with its text as text."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    grey = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), GREY)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "interlock", "font.family": "sans-serif", **grey}):
        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        axes = figure.add_subplot()
        for (name, points), colour in zip(plot.lines.items(), COLOURS, strict=False):
            axes.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=4, linewidth=2, label=name)
        axes.set(title=plot.title, xlabel=plot.across, ylabel=plot.upright, xscale="log")
        if plot.factors:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        for axis in (axes.xaxis, axes.yaxis) if plot.factors else (axes.xaxis,):
            axis.set_major_formatter("{x:,g}")
        axes.grid(color=GREY, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})


def main() -> int:
    wanted = sys.argv[1:]
    unknown = [name for name in wanted if name not in CURVES]
    if unknown:
        print(f'There is no curve "{unknown[0]}", only {", ".join(CURVES)}.', file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    kept = OUT / "curves.json"
    curves: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for name in wanted:
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        found = CURVES[name]()
        curves[name] = {"load_before": load, "python": platform.python_version(), "rows": found}
        kept.write_text(json.dumps(curves, indent=1) + "\n", encoding="utf-8")
    for name, plot in plots({name: found["rows"] for name, found in curves.items()}).items():
        draw(plot, OUT / f"{name}.svg")
        print(OUT / f"{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
