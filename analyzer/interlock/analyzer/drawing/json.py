"""A placed outline as JSON, for programs that draw it themselves."""

from __future__ import annotations

from itertools import pairwise

from interlock.analyzer.drawing.layout import Box, Column, Sheet, lines_of


def as_json(sheet: Sheet) -> dict[str, object]:
    """The outline with the place of everything; lines and columns count from 1, offsets code points."""
    drawn = sheet.outline
    return {
        "version": 1,
        "workflow": drawn.workflow,
        "file": drawn.file,
        "line": drawn.line,
        "admission": drawn.admission,
        "intervals": dict(drawn.intervals),
        "width": round(sheet.width, 1),
        "height": round(sheet.height, 1),
        "lanes": [_column(column) for column in sheet.columns],
    }


def _column(column: Column) -> dict[str, object]:
    return {
        "name": column.lane.name,
        "x": round(column.x, 1),
        "y": round(column.y, 1),
        "width": round(column.width, 1),
        "height": round(column.height, 1),
        "nodes": [_box(box) for box in column.boxes],
        "edges": _edges(column),
    }


def _edges(column: Column) -> list[dict[str, object]]:
    nodes = column.lane.nodes
    edges: list[dict[str, object]] = [
        {"from": above.path, "to": below.path, "kind": "then"} for above, below in pairwise(nodes) if above.follows
    ]
    for arrow in column.lane.arrows:
        target = None if arrow.target < 0 else nodes[arrow.target].path
        edges.append({"from": nodes[arrow.source].path, "to": target, "kind": arrow.kind, "label": arrow.label})
    return edges


def _box(box: Box) -> dict[str, object]:
    node = box.node
    return {
        "path": node.path,
        "id": node.step,
        "kind": node.kind,
        "shape": node.shape,
        "detail": node.detail,
        "when": node.when,
        "marks": list(node.marks),
        "lines": lines_of(node),
        "lease": node.lease,
        "held_to_the_end": node.to_the_end,
        "line": node.line,
        "column": node.column,
        "offset": node.offset,
        "end_offset": node.end_offset,
        "x": round(box.x, 1),
        "y": round(box.y, 1),
        "width": round(box.width, 1),
        "height": round(box.height, 1),
        "lanes": [_column(column) for column in box.lanes],
    }
