"""``interlock check --statistics``: counts by rule, and what each workflow may use at least and at most."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from interlock.analyzer.analysis import program_of
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.graph.intervals import budget_intervals
from interlock.analyzer.rules.catalog import BY_NAME
from interlock.server.cli.checking import Checked, Result

#: Column of the table, and the quantity it shows.
COLUMNS = (
    ("transitions", "transitions"),
    ("cost units", "cost_units"),
    ("items", "for_each_items"),
    ("runs", "started_workflows"),
    ("state bytes", "state_bytes"),
    ("delay (s)", "delay"),
)


def statistics_of(result: Result, found: Sequence[Diagnostic]) -> dict[str, Any]:
    """As JSON: ``rules`` by name with their counts, ``workflows`` with intervals.

    An interval is ``[least, greatest, limit]``; null stands for no path that completes, for no bound,
    and for no budget.
    """
    counts = Counter(one.name for one in found)
    rules = {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], BY_NAME[name].code))}
    return {"rules": rules, "workflows": [row for part in result.checked for row in _workflows(part)]}


def _workflows(part: Checked) -> list[dict[str, Any]]:
    batch = part.batch
    tied = batch.tied(one.shown for one in part.wanted)
    models = batch.read(number for number, one in enumerate(batch.files) if one.shown in tied)
    program = program_of(models, part.blocks.specs)
    wanted = {one.shown for one in part.wanted}
    rows: list[dict[str, Any]] = []
    for unit in program.units:
        file = unit.workflow.span.source.path
        if file not in wanted:
            continue
        intervals = budget_intervals(unit)
        row: dict[str, Any] = {"workflow": unit.name, "file": file}
        for _, name in COLUMNS:
            one = getattr(intervals, name)
            row[name] = [_number(one.least), _number(one.greatest), _number(one.limit)]
        rows.append(row)
    return rows


def _number(value: float | None) -> float | None:
    if value is None or math.isinf(value):
        return None
    return int(value) if float(value).is_integer() else value


def render_statistics(statistics: dict[str, Any]) -> str:
    """Two tables for people."""
    parts: list[str] = []
    if statistics["rules"]:
        width = max(map(len, statistics["rules"]))
        parts.append("\nDiagnostics by rule:")
        parts += [f"  {name.ljust(width)}  {count}" for name, count in statistics["rules"].items()]
    if statistics["workflows"]:
        rows = [["workflow", *(title for title, _ in COLUMNS)]]
        rows += [
            [row["workflow"] or "?", *(_shown(row[name]) for _, name in COLUMNS)] for row in statistics["workflows"]
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        parts.append("\nWhat a completed run uses (least..greatest):")
        parts += [
            "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
    return "\n".join(parts) + "\n" if parts else ""


def _shown(interval: Sequence[float | None]) -> str:
    least, greatest, limit = interval
    if least is None:
        return "never"
    if limit is not None and least > limit:
        return f"at least {least} (limit {limit})"
    if least == greatest:
        return str(least)
    return f"{least}..{'∞' if greatest is None else greatest}"
