"""Draws docs/images/diagnostic.svg: what `interlock check` says about examples/broken/deadlock.workflow.yaml."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from interlock.analyzer.analysis import diagnose, judge, read_file
from interlock.analyzer.report.text import render_text
from interlock.analyzer.source.text import SourceText

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = "examples/broken/deadlock.workflow.yaml"


def main() -> None:
    text = (ROOT / EXAMPLE).read_text(encoding="utf-8")
    file = read_file(SourceText(EXAMPLE, text))
    found = diagnose([file], judge([file]))
    report = render_text(found, {EXAMPLE: file.source}, 1, color=True)
    console = Console(record=True, width=112, file=StringIO(), force_terminal=True)
    console.print(Text("$ interlock check examples/broken/deadlock.workflow.yaml", style="bold"))
    console.print(Text.from_ansi(report))
    svg = console.export_svg(title="interlock check")
    # The picture has to stand alone: no fonts from elsewhere.
    svg = re.sub(r"@font-face\s*\{[^}]*\}", "", svg)
    (ROOT / "docs/images/diagnostic.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
