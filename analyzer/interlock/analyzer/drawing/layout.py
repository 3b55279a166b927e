"""Where everything of an outline goes on paper: columns of boxes, branches side by side.

Units are SVG pixels.  A lane is a column; a step with lanes is a box around them; jumps run in
gutters beside the column, loops on the left and the others on the right; claims that last to the
end of the run get a band that reaches down to the end of their column.
"""

from __future__ import annotations

import msgspec

from interlock.analyzer.drawing.outline import Arrow, Lane, Node, Outline

CHARACTER = 7.0
SMALL = 7.05
LINE = 16.0
PAD = 12.0
GAP = 26.0
GUTTER = 18.0
BAND = 7.0
LEAST = 120.0


class Box(msgspec.Struct):
    """A placed node; ``lanes`` are the placed lists inside it."""

    node: Node
    x: float
    y: float
    width: float
    height: float
    head: float
    lanes: list[Column]


class Column(msgspec.Struct):
    """A placed lane.  ``left`` and ``right`` count the gutters on its sides; ``bands`` are claims."""

    lane: Lane
    x: float
    y: float
    width: float
    height: float
    boxes: list[Box]
    left: list[Arrow]
    right: list[Arrow]
    bands: list[int]

    @property
    def axis(self) -> float:
        """The middle of its boxes."""
        return self.boxes[0].x + self.boxes[0].width / 2 if self.boxes else self.x + self.width / 2


class Sheet(msgspec.Struct):
    """The whole picture."""

    outline: Outline
    width: float
    height: float
    head: float
    columns: list[Column]


def lines_of(node: Node) -> list[str]:
    """The lines of text in a node's head, after its name."""
    if node.shape in ("section", "claim"):
        lines = [f"holds {node.detail}"]
    elif node.shape in ("block", "items"):
        lines = [node.detail or node.kind]
    else:
        lines = [f"{node.kind} {node.detail}".strip()]
    if node.when:
        lines.append(f"when {node.when}")
    if node.marks:
        lines.append(" · ".join(node.marks))
    return lines


def place(drawn: Outline) -> Sheet:
    """Measures and places an outline."""
    head = 44.0 + (LINE if drawn.intervals or drawn.admission else 0)
    columns = [_column(drawn.lane), *(_column(lane) for lane in drawn.handlers)]
    x = PAD * 2
    for column in columns:
        _move(column, x, head + PAD)
        x += column.width + GAP * 1.5
    height = max((column.y + column.height for column in columns), default=head) + PAD * 2
    title = len(drawn.workflow) * 10 + 60
    notes = len(_notes(drawn)) * SMALL + 60
    return Sheet(drawn, max(x - GAP * 1.5 + PAD * 2, title, notes), height, head, columns)


def _notes(drawn: Outline) -> str:
    return " · ".join([drawn.admission, *(f"{name} {text}" for name, text in drawn.intervals)])


def _box(node: Node) -> Box:
    texts = lines_of(node)
    head = PAD + LINE * (1 + len(texts)) + PAD / 2
    width = max(LEAST, len(node.step) * CHARACTER * 1.15 + PAD * 2 + 10, *(len(t) * SMALL + PAD * 2 for t in texts))
    columns = [_column(lane) for lane in node.lanes if lane.nodes]
    if not columns:
        return Box(node, 0, 0, width, head, head, [])
    inner = sum(column.width for column in columns) + GAP * (len(columns) - 1)
    tall = max(column.height for column in columns)
    return Box(node, 0, 0, max(width, inner + PAD * 2), head + tall + PAD, head, columns)


def _column(lane: Lane) -> Column:
    boxes = [_box(node) for node in lane.nodes]
    left = [arrow for arrow in lane.arrows if arrow.kind == "loop"]
    right = [arrow for arrow in lane.arrows if arrow.kind != "loop"]
    bands = [number for number, node in enumerate(lane.nodes) if node.to_the_end]
    wide = max((box.width for box in boxes), default=LEAST)
    title = LINE + 4 if lane.name else 0.0
    height = title + sum(box.height for box in boxes) + GAP * max(0, len(boxes) - 1)
    if any(arrow.target < 0 for arrow in right):
        height += GAP
    width = wide + GUTTER * (len(left) + len(right)) + (BAND + 6) * len(bands)
    return Column(lane, 0, 0, width, height, boxes, left, right, bands)


def _move(column: Column, x: float, y: float) -> None:
    """Places a column with its upper left corner there, and everything in it."""
    column.x, column.y = x, y
    wide = max((box.width for box in column.boxes), default=0.0)
    start = x + GUTTER * len(column.left) + (BAND + 6) * len(column.bands)
    top = y + (LINE + 4 if column.lane.name else 0)
    for box in column.boxes:
        box.x = start + (wide - box.width) / 2
        box.y = top
        inner = sum(one.width for one in box.lanes) + GAP * max(0, len(box.lanes) - 1)
        at = box.x + (box.width - inner) / 2
        for one in box.lanes:
            _move(one, at, box.y + box.head)
            at += one.width + GAP
        top += box.height + GAP
