"""Events to nodes: one loop over one piece's event stream.

Gives nodes with exact spans whichever parser the events come from, and finds what the parsers do not
look for: duplicate keys, undefined and endless aliases, too much depth.  Which text makes a piece, and
what to do with a piece that is refused, is left to ``parse`` and ``recover``.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamStartEvent,
)

from interlock.analyzer.source.text import Piece, Span
from interlock.analyzer.syntax.nodes import (
    Alias,
    Entry,
    Mapping,
    Node,
    Plain,
    Scalar,
    Sequence,
    Style,
    SyntaxProblem,
)
from interlock.analyzer.syntax.scalars import MAYBE_NUMBER, WORDS, number, tagged
from interlock.analyzer.syntax.streams import EventStream
from interlock.analyzer.syntax.strict import lone_dash, lost_text, shallow

MAX_DEPTH = 100
"""How deep collections may be nested, aliases expanded."""

MAX_EXPANSION = 1_000_000
"""How many nodes the aliases of one document may stand for (section 1)."""

DEPTH_MESSAGE = f"this is nested more than {MAX_DEPTH} levels deep, which no workflow needs"
_STYLES: dict[str | None, Style] = {
    "": "plain",
    None: "plain",
    "'": "single",
    '"': "double",
    "|": "literal",
    ">": "folded",
}
# What may stand between the start that a parser gives a node and its content.
_PROPERTIES = re.compile(r"(?:&\S+|![^\s{}]*|[ \t\r\n]+|(?<=\s)#[^\n\r]*)*")
_FLOW_PROPERTIES = re.compile(r"(?:&[^\s,\[\]{}]+|!<[^\s>]*>|![^\s,\[\]{}]*|[ \t\r\n]+|(?<=\s)#[^\n\r]*)*")
_REMARK = re.compile(r"(?:^|(?<=\s))#[^\n\r]*")
_BLANK_BLOCKS = frozenset("\n" * count for count in range(32))
"""The values of block scalars without text, as far as anybody writes such."""
_HEADER = re.compile(r"[|>][-+0-9]*")


class Refusal(msgspec.Struct, frozen=True, eq=False):
    """Why a text is not YAML: what the parser said, and where.

    ``flow`` is where the innermost flow collection begins that was open then.
    """

    problem: str
    context: str
    at: int
    since: int | None = None
    flow: int | None = None
    deep: bool = False


class Outer(msgspec.Struct, eq=False):
    """What the pieces before this one left: anchors, names of fenced-off ones, nodes expanded.

    ``deep`` tells that an alias was reported to nest too deeply: once is enough.
    """

    anchors: dict[str, Node]
    lost: set[str]
    expanded: int = 0
    deep: bool = False


class Built(msgspec.Struct, frozen=True, eq=False):
    """What one piece's events gave; ``hashes`` are the scalars that hold a ``#``."""

    root: Node | None
    problems: tuple[SyntaxProblem, ...]
    anchors: dict[str, Node]
    uses: dict[str, Node]
    expanded: int
    hashes: tuple[tuple[int, int], ...]
    settled: bool


class _Names:
    """The anchors and aliases of one piece."""

    def __init__(self, piece: Piece, outer: Outer, problems: list[SyntaxProblem]) -> None:
        self.piece = piece
        self.outer = outer
        self.problems = problems
        self.anchors: dict[str, Node] = {}
        self.open: dict[str, list[Any]] = {}
        self.uses: dict[str, Node] = {}
        self.expanded = 0
        self.settled = True

    def begin(self, name: str, frame: list[Any]) -> None:
        """An anchored collection begins: until it ends, its name means what would contain itself."""
        self.open[name] = frame

    def end(self, name: str, node: Node, frame: list[Any]) -> None:
        """An anchored collection ends; an anchor of the same name inside it has come later, and wins."""
        if self.open.get(name) is frame:
            del self.open[name]
            self.anchors[name] = node

    def define(self, name: str, node: Node) -> None:
        self.anchors[name] = node
        self.open.pop(name, None)

    def alias(self, name: str, start: int, end: int, depth: int) -> Alias:
        span = Span(self.piece, start, end)
        if name in self.open:
            self._say("IL110", span, f'"*{name}" stands inside its own anchor, so it would never end; remove it')
            return Alias(self.piece, start, end, name, None, True)
        target = self.anchors.get(name)
        if target is None:
            target = self.outer.anchors.get(name)
            if target is not None:
                self.uses[name] = target
        if target is None:
            self.settled = False
            if name not in self.outer.lost:
                self._say(
                    "IL101",
                    span,
                    f'no anchor "&{name}" stands before "*{name}"; define it first, '
                    "or put quotes around a text that begins with *",
                )
            return Alias(self.piece, start, end, name, None)
        size, height = measure(target)
        if depth + height > MAX_DEPTH:
            self.settled = False
            if not self.outer.deep:
                self.outer.deep = True
                self._say("IL101", span, DEPTH_MESSAGE)
            return Alias(self.piece, start, end, name, None, True)
        before = self.outer.expanded + self.expanded
        self.expanded += size
        if before + size > MAX_EXPANSION:
            self.settled = False
            if before <= MAX_EXPANSION:
                self._say(
                    "IL110",
                    span,
                    f'with "*{name}" the aliases of this document stand for more than '
                    f"{MAX_EXPANSION:,} nodes; write fewer copies",
                )
            return Alias(self.piece, start, end, name, None, True)
        return Alias(self.piece, start, end, name, target, False, size, height)

    def _say(self, code: str, span: Span, message: str) -> None:
        self.problems.append(SyntaxProblem(code, span, message))


def measure(node: Node) -> tuple[int, int]:
    """How many nodes, and how many levels, a node has when every alias in it is expanded."""
    size = height = 0
    waiting: list[tuple[Node, int]] = [(node, 1)]
    while waiting:
        one, level = waiting.pop()
        if isinstance(one, Alias):
            size += one.size
            level += one.height - 1
        else:
            size += 1
            if isinstance(one, Mapping):
                for entry in one.entries:
                    waiting.append((entry.key, level + 1))
                    waiting.append((entry.value, level + 1))
            elif isinstance(one, Sequence):
                waiting.extend((item, level + 1) for item in one.items)
        if level > height:
            height = level
    return size, height


def build(
    stream: EventStream,
    piece: Piece,
    text: str,
    outer: Outer,
    back: dict[int, str] | None,
    unique_root: bool = True,
) -> Built | Refusal:
    """The nodes of one piece, or why it is refused; never raises.

    ``text`` is what the stream reads: as long as the piece's own text, with stand-ins that ``back``
    puts back.  ``unique_root`` false leaves duplicate keys of the root to the caller.
    """
    stack: list[list[Any]] = []
    try:
        return _build(stream, piece, text, outer, back, unique_root, stack)
    except RecursionError:
        return Refusal("nested too deeply", "", 0, deep=True)
    except Exception as error:  # whatever a parser raises on odd input, it means that it refuses it
        return _refusal(error, text, stack)


def _refusal(error: Exception, text: str, stack: list[list[Any]]) -> Refusal:
    problem_mark = getattr(error, "problem_mark", None)
    context_mark = getattr(error, "context_mark", None)
    mark = problem_mark or context_mark
    at = mark.index if mark else len(text)
    problem = getattr(error, "problem", None)
    context = getattr(error, "context", None)
    flow = next((frame[1] for frame in reversed(stack) if frame[5]), None)
    return Refusal(
        str(problem or context or error),
        str(context or ""),
        min(at, len(text)),
        context_mark.index if context_mark else None,
        flow,
    )


def _build(
    stream: EventStream,
    piece: Piece,
    text: str,
    outer: Outer,
    back: dict[int, str] | None,
    unique_root: bool,
    stack: list[list[Any]],
) -> Built | Refusal:
    # One loop without calls into helpers for what is frequent: this is where the time of a parse goes.
    # A frame of the stack: children of the collection around, start, anchor, tag, piece text, flow.
    problems: list[SyntaxProblem] = []
    names = _Names(piece, outer, problems)
    hashes: list[tuple[int, int]] = []
    documents = 0
    children: list[Any] = []
    get_event = stream.get_event
    styles = _STYLES
    words = WORDS
    maybe_number = MAYBE_NUMBER
    data: Plain
    while True:
        event = get_event()
        kind = type(event)
        if kind is ScalarEvent:
            start = event.start_mark.index
            end = event.end_mark.index
            value = event.value
            style = styles[event.style]
            anchor = event.anchor
            tag = event.tag if event.ctag is not None else None
            if back is not None:
                value = value.translate(back)
            if anchor is not None or tag is not None:
                start = _content(text, start, end, value, style, stack)
            if style == "plain":
                if tag is not None:
                    data = tagged(value, tag, True)
                elif value in words:
                    data = words[value]
                elif value[0] in maybe_number:
                    data = number(value)
                    if value == "-" and (slip := lone_dash(piece, text, start)):
                        problems.append(slip)
                else:
                    data = value
                if not value and anchor is None and tag is None:
                    start = end = _empty_place(text, start, children, stack)
            else:
                data = value if tag is None else tagged(value, tag, False)
                if style == "literal" or style == "folded":
                    head = _HEADER.match(text, start).end()  # type: ignore[union-attr]
                    if text.startswith("#", head):  # libyaml takes this for a comment
                        problem = "expected chomping or indentation indicators, but found '#'"
                        return Refusal(problem, "while scanning a block scalar", head, start)
                    end = _block_end(text, head, end)
                    if "#" in value:  # in its header it begins a comment
                        hashes.append((text.index("\n", head), end))
                    if stack and value in _BLANK_BLOCKS:
                        first = children[0].start if children else start
                        if slip := lost_text(piece, text, head, stack[-1], first):
                            problems.append(slip)
                else:
                    if "#" in value:
                        hashes.append((start, end))
                    if text.find("\n", start, end) >= 0 and stack and not stack[-1][5]:
                        first = children[0].start if children else start
                        if slip := shallow(piece, text, start, end, stack[-1], first):
                            problems.append(slip)
            if anchor is None:
                children.append(Scalar(piece, start, end, value, style, data, None, tag))
            else:
                if back is not None:
                    anchor = anchor.translate(back)
                node = Scalar(piece, start, end, value, style, data, anchor, tag)
                names.define(anchor, node)
                children.append(node)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            if len(stack) >= MAX_DEPTH:
                return Refusal(DEPTH_MESSAGE, "", event.start_mark.index, deep=True)
            start = event.start_mark.index
            anchor = event.anchor
            tag = event.tag if event.ctag is not None else None
            if anchor is not None or tag is not None:
                start = _behind_properties(text, start, stack)
            frame = [children, start, anchor, tag, len(stack), event.flow_style]
            stack.append(frame)
            if anchor is not None:
                if back is not None:
                    frame[2] = anchor = anchor.translate(back)
                names.begin(anchor, frame)
            children = []
        elif kind is MappingEndEvent:
            frame = stack.pop()
            around, start, anchor, tag, _, flow = frame
            end = event.end_mark.index
            if not flow or event.start_mark.index == end:  # a block, or the one pair of [key: value]
                start = children[0].start if children else start
                end = children[-1].end if children else start
            keys = children[::2]
            if unique_root or stack:
                _find_duplicates(keys, problems)
            pairs = tuple(map(Entry, keys, children[1::2]))
            mapping = Mapping(piece, start, end, pairs, flow, anchor, tag)
            if anchor is not None:
                names.end(anchor, mapping, frame)
            children = around
            if flow and stack and not stack[-1][5]:
                _lines(piece, text, mapping, children, stack, problems)
            children.append(mapping)
        elif kind is SequenceEndEvent:
            frame = stack.pop()
            around, start, anchor, tag, _, flow = frame
            end = event.end_mark.index if flow else children[-1].end if children else start
            sequence = Sequence(piece, start, end, tuple(children), flow, anchor, tag)
            if anchor is not None:
                names.end(anchor, sequence, frame)
            children = around
            if flow and stack and not stack[-1][5]:
                _lines(piece, text, sequence, children, stack, problems)
            children.append(sequence)
        elif kind is AliasEvent:
            name = event.anchor if back is None else event.anchor.translate(back)
            children.append(names.alias(name, event.start_mark.index, event.end_mark.index, len(stack)))
        elif kind is DocumentStartEvent:
            documents += 1
            if documents > 1:
                return Refusal("expected '<stream end>', but found a second document", "", event.start_mark.index)
        elif kind is not DocumentEndEvent and kind is not StreamStartEvent:
            break
    root = children[0] if children else None
    return Built(root, tuple(problems), names.anchors, names.uses, names.expanded, tuple(hashes), names.settled)


def _lines(
    piece: Piece,
    text: str,
    node: Mapping | Sequence,
    siblings: list[Any],
    stack: list[list[Any]],
    problems: list[SyntaxProblem],
) -> None:
    """The lines of a flow collection in a block one are indented more than that."""
    if text.find("\n", node.start, node.end) >= 0:
        first = siblings[0].start if siblings else node.start
        if slip := shallow(piece, text, node.start, node.end, stack[-1], first):
            problems.append(slip)


def _content(text: str, start: int, end: int, value: str, style: Style, stack: list[list[Any]]) -> int:
    """Where a scalar with an anchor or a tag begins; an empty one stands behind them."""
    if not value and style == "plain":
        return end
    return min(end, _behind_properties(text, start, stack))


def _behind_properties(text: str, start: int, stack: list[list[Any]]) -> int:
    pattern = _FLOW_PROPERTIES if stack and stack[-1][5] else _PROPERTIES
    found = pattern.match(text, start)
    return found.end() if found else start


def _empty_place(text: str, start: int, siblings: list[Any], stack: list[list[Any]]) -> int:
    """Where a value that was left out would stand: right behind what comes before it.

    The parsers put it anywhere up to the next token, and differ in that.
    """
    before = siblings[-1].end if siblings else stack[-1][1] if stack else 0
    gap = text[before:start]
    if "#" in gap:
        gap = _REMARK.sub(lambda found: " " * len(found[0]), gap)
    gap = gap.rstrip()
    if len(siblings) % 2 and gap.endswith("?"):  # a value left out before a key with "?"
        gap = gap[:-1].rstrip()
    return before + len(gap) if before < start else start


def _block_end(text: str, first: int, end: int) -> int:
    """The end of the last line of a block scalar that is not blank.

    ``first``, the end of its header, when there is none.
    """
    line_end = text.find("\n", first, end)
    if line_end < 0:
        return first
    body_end = line_end + len(text[line_end:end].rstrip())
    if body_end <= line_end:
        return first
    stop = text.find("\n", body_end, end)
    if stop < 0:
        return end
    return stop - 1 if text[stop - 1] == "\r" else stop


def _find_duplicates(keys: list[Any], problems: list[SyntaxProblem]) -> None:
    try:
        if len({key.data for key in keys}) == len(keys):
            return
    except AttributeError:  # an alias or a collection among them
        pass
    problems.extend(duplicates(keys))


def duplicates(keys: list[Node]) -> list[SyntaxProblem]:
    """IL102 for every key of a mapping that an earlier one equals: same value and same type."""
    problems = []
    first: dict[tuple[Any, ...], Node] = {}
    for key in keys:
        scalar = key.target if isinstance(key, Alias) else key
        if not isinstance(scalar, Scalar):
            continue
        merge = scalar.style == "plain" and scalar.value == "<<" and scalar.tag is None
        data = scalar.data
        name = (merge, type(data), "nan" if data != data else data, _own_tag(scalar.tag))
        earlier = first.setdefault(name, key)
        if earlier is not key:
            word = scalar.value if len(scalar.value) <= 60 else scalar.value[:57] + "..."
            hint = "merge several with <<: [*a, *b]" if merge else None
            problems.append(
                SyntaxProblem(
                    "IL102",
                    key.span,
                    f'the key "{word}" stands twice in this mapping; keep one of them',
                    hint,
                    ((earlier.span, "first here"),),
                )
            )
    return problems


def _own_tag(tag: str | None) -> str | None:
    """The tag where it makes a type of its own; those of the core schema show in the value's type."""
    return None if tag is None or tag == "!" or tag.startswith("tag:yaml.org,2002:") else tag
