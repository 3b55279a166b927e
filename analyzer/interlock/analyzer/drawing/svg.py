"""A placed outline as SVG: one file that stands alone, for light and dark pages."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from interlock.analyzer.drawing.layout import (
    BAND,
    GAP,
    GUTTER,
    LINE,
    PAD,
    Box,
    Column,
    Sheet,
    lines_of,
)

_STYLE = """
.page{fill:#fff}.title{font:600 17px system-ui,sans-serif;fill:#1c2733}
.note{font:12px system-ui,sans-serif;fill:#5b6b7a}
.name{font:600 13px system-ui,sans-serif;fill:#1c2733}.text{font:11.5px ui-monospace,monospace;fill:#44525f}
.lane{font:600 11.5px system-ui,sans-serif;fill:#5b6b7a}
.box{stroke-width:1.3}.line{fill:none;stroke:#7b8a98;stroke-width:1.4}
.loop{stroke:#b4690e;stroke-dasharray:5 3}.jump{stroke:#3b6fb6}.mark{font:10.5px system-ui,sans-serif;fill:#5b6b7a}
.block{fill:#f5f8fb;stroke:#9fb0bf}.branches{fill:#f2f6ff;stroke:#8ea8d8}.section{fill:#fff7ea;stroke:#d9a441}
.claim{fill:#fff1d6;stroke:#d9a441}.items{fill:#eefaf3;stroke:#77b893}.child{fill:#f6f0ff;stroke:#a78bd0}
.start{fill:#f6f0ff;stroke:#a78bd0}.wait{fill:#fff0f0;stroke:#d08b8b}.pause{fill:#f4f4f4;stroke:#a5a5a5}
.broken{fill:#ffe3e3;stroke:#d33}.band{fill:#e9b44c;opacity:.55}.inner{fill:none;stroke:#b9c4ce;stroke-dasharray:3 3}
@media (prefers-color-scheme:dark){.page{fill:#161b22}.title,.name{fill:#e6edf3}.note,.text,.lane,.mark{fill:#9fb0c0}
.line{stroke:#8b98a5}.jump{stroke:#6ea0e6}.loop{stroke:#e0a04a}.inner{stroke:#4a5663}
.block{fill:#1f2730;stroke:#4b5b6a}.branches{fill:#1a2436;stroke:#4c6da8}.section{fill:#2b2415;stroke:#9a7427}
.claim{fill:#33290f;stroke:#9a7427}.items{fill:#16281f;stroke:#437a5b}.child,.start{fill:#241d33;stroke:#6f56a0}
.wait{fill:#2e1d1f;stroke:#8f5555}.pause{fill:#24272b;stroke:#666}.broken{fill:#3d1518;stroke:#e05252}}
"""


def svg(sheet: Sheet) -> str:
    """The SVG text of a sheet."""
    drawn = sheet.outline
    width, height = round(sheet.width), round(sheet.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label={quoteattr("Graph of " + drawn.workflow)}>',
        f"<style>{_STYLE.strip()}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#7b8a98"/></marker></defs>',
        f'<rect class="page" width="{width}" height="{height}" rx="8"/>',
        f'<text class="title" x="{PAD * 2}" y="32">{escape(drawn.workflow)}</text>',
    ]
    notes = [drawn.admission] if drawn.admission else []
    notes += [f"{name} {text}" for name, text in drawn.intervals]
    if notes:
        parts.append(f'<text class="note" x="{PAD * 2}" y="52">{escape(" · ".join(notes))}</text>')
    for column in sheet.columns:
        _column(column, parts, "")
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _column(column: Column, parts: list[str], frame: str) -> None:
    if column.lane.name:
        parts.append(
            f'<rect class="inner" x="{column.x - 6:.1f}" y="{column.y - 2:.1f}" '
            f'width="{column.width + 12:.1f}" height="{column.height + 8:.1f}" rx="6"/>'
            f'<text class="lane" x="{column.x + 2:.1f}" y="{column.y + 11:.1f}">{escape(column.lane.name)}</text>'
        )
    _bands(column, parts)
    _flow(column, parts)
    for box in column.boxes:
        _box(box, parts)
    _jumps(column, parts)


def _bands(column: Column, parts: list[str]) -> None:
    """Leases that last to the end of the run, from where they are taken to the end of the column."""
    bottom = column.y + column.height
    for place, number in enumerate(column.bands):
        box = column.boxes[number]
        x = column.x + GUTTER * len(column.left) + place * (BAND + 6)
        parts.append(
            f'<rect class="band" x="{x:.1f}" y="{box.y + 6:.1f}" width="{BAND}" '
            f'height="{max(8.0, bottom - box.y - 6):.1f}" rx="3"><title>{escape(box.node.lease)} is held '
            f"to the end of the run</title></rect>"
        )


def _flow(column: Column, parts: list[str]) -> None:
    for above, below in zip(column.boxes, column.boxes[1:], strict=False):
        if above.node.follows:
            x = column.axis
            parts.append(
                f'<path class="line" d="M{x:.1f} {above.y + above.height:.1f}V{below.y - 1:.1f}" '
                f'marker-end="url(#tip)"/>'
            )


def _jumps(column: Column, parts: list[str]) -> None:
    left_edge = min((box.x for box in column.boxes), default=column.x)
    right_edge = max((box.x + box.width for box in column.boxes), default=column.x)
    for place, arrow in enumerate(column.left):
        source, target = column.boxes[arrow.source], column.boxes[arrow.target]
        x = left_edge - (BAND + 6) * len(column.bands) - GUTTER * (place + 0.7)
        start, end = source.y + source.height - 10, target.y + 12
        parts.append(_elbow(source.x, start, x, target.x, end, "loop"))
    for place, arrow in enumerate(column.right):
        source = column.boxes[arrow.source]
        x = right_edge + GUTTER * (place + 0.7)
        start = source.y + source.height - 10
        if arrow.target < 0:
            end = column.y + column.height
            parts.append(
                f'<path class="line jump" d="M{source.x + source.width:.1f} {start:.1f}H{x:.1f}V{end:.1f}"/>'
                f'<circle cx="{x:.1f}" cy="{end:.1f}" r="4" fill="#3b6fb6"><title>end</title></circle>'
            )
        else:
            target = column.boxes[arrow.target]
            parts.append(_elbow(source.x + source.width, start, x, target.x + target.width, target.y + 12, "jump"))


def _elbow(x1: float, y1: float, x: float, x2: float, y2: float, kind: str) -> str:
    return f'<path class="line {kind}" d="M{x1:.1f} {y1:.1f}H{x:.1f}V{y2:.1f}H{x2:.1f}" marker-end="url(#tip)"/>'


def _box(box: Box, parts: list[str]) -> None:
    node = box.node
    radius = box.height / 2 if node.shape in ("wait", "pause") and not box.lanes and box.height < 64 else 7
    parts.append(
        f'<g data-path={quoteattr(node.path)} data-line="{node.line}">'
        f'<rect class="box {node.shape}" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{min(radius, 16):.0f}"/>'
    )
    x, y = box.x + PAD, box.y + PAD + 8
    parts.append(f'<text class="name" x="{x:.1f}" y="{y:.1f}">{escape(node.step or node.kind)}</text>')
    for number, line in enumerate(lines_of(node), 1):
        kind = "text" if number == 1 else "mark"
        parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y + LINE * number:.1f}">{escape(line)}</text>')
    parts.append("</g>")
    for column in box.lanes:
        _column(column, parts, node.path)


__all__ = ["GAP", "svg"]
