"""Outlines as text that other tools draw: Mermaid flow charts and Graphviz DOT."""

from __future__ import annotations

from interlock.analyzer.drawing.outline import Lane, Node, Outline

_MERMAID = {
    "wait": ("([", "])"),
    "pause": ("([", "])"),
    "child": ("[[", "]]"),
    "start": ("[[", "]]"),
    "claim": ("[/", "/]"),
}


class _Names:
    """Names that both languages take, one for each path."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def of(self, path: str) -> str:
        return self._names.setdefault(path, f"n{len(self._names)}")


def mermaid(drawn: Outline) -> str:
    """A Mermaid flow chart, top to bottom."""
    names = _Names()
    lines = ["flowchart TD", f"  subgraph {names.of('')}[{_quote(_title(drawn))}]", "    direction TB"]
    _mermaid_lane(drawn.lane, "", names, lines, "    ")
    for lane in drawn.handlers:
        lines.append(f"    subgraph {names.of('/' + lane.name)}[{_quote(lane.name)}]")
        _mermaid_lane(lane, lane.name, names, lines, "      ")
        lines.append("    end")
    lines.append("  end")
    return "\n".join(lines) + "\n"


def _title(drawn: Outline) -> str:
    return f"{drawn.workflow} ({drawn.admission})" if drawn.admission else drawn.workflow


def _label(node: Node, newline: str) -> str:
    lines = [node.step or node.kind, f"{node.kind}: {node.detail}" if node.detail else node.kind]
    if node.when:
        lines.append(f"when {node.when}")
    if node.marks:
        lines.append(", ".join(node.marks))
    return newline.join(lines)


def _quote(text: str) -> str:
    return '"' + text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;") + '"'


def _mermaid_lane(lane: Lane, path: str, names: _Names, lines: list[str], indent: str) -> None:
    for node in lane.nodes:
        name = names.of(node.path)
        label = "<br/>".join(_quote(part)[1:-1] for part in _label(node, "\n").split("\n"))
        if not node.lanes:
            left, right = _MERMAID.get(node.shape, ("[", "]"))
            lines.append(f'{indent}{name}{left}"{label}"{right}')
            continue
        lines.append(f'{indent}subgraph {name}["{label}"]')
        lines.append(f"{indent}  direction TB")
        for inner in node.lanes:
            if inner.name:
                lines.append(f"{indent}  subgraph {names.of(node.path + '//' + inner.name)}[{_quote(inner.name)}]")
                _mermaid_lane(inner, node.path, names, lines, indent + "    ")
                lines.append(f"{indent}  end")
            else:
                _mermaid_lane(inner, node.path, names, lines, indent + "  ")
        lines.append(f"{indent}end")
    end = f"{names.of(path + '//end')}"
    ends = False
    for number, node in enumerate(lane.nodes):
        here = names.of(node.path)
        if node.follows and number + 1 < len(lane.nodes):
            lines.append(f"{indent}{here} --> {names.of(lane.nodes[number + 1].path)}")
    for arrow in lane.arrows:
        source = names.of(lane.nodes[arrow.source].path)
        ends = ends or arrow.target < 0
        target = end if arrow.target < 0 else names.of(lane.nodes[arrow.target].path)
        text = f"|{arrow.label or 'next'}|"
        lines.append(f"{indent}{source} {'-.->' if arrow.kind == 'loop' else '-->'}{text} {target}")
    if ends:
        lines.append(f"{indent}{end}(( ))")


def dot(drawn: Outline) -> str:
    """A Graphviz digraph with clusters for everything that has steps inside."""
    names = _Names()
    lines = [
        "digraph workflow {",
        "  compound=true; rankdir=TB; fontname=Helvetica;",
        "  node [shape=box, style=rounded, fontname=Helvetica];",
        f"  label={_dot_quote(_title(drawn))}; labelloc=t;",
    ]
    _dot_lane(drawn.lane, "", names, lines, "  ")
    for lane in drawn.handlers:
        lines.append(f"  subgraph cluster_{names.of('/' + lane.name)} {{ label={_dot_quote(lane.name)}; style=dashed;")
        _dot_lane(lane, lane.name, names, lines, "    ")
        lines.append("  }")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _dot_quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _first(node: Node, names: _Names) -> str:
    """A node that edges can end at: of a cluster the first node inside."""
    for lane in node.lanes:
        if lane.nodes:
            return _first(lane.nodes[0], names)
    return names.of(node.path)


def _last(node: Node, names: _Names) -> str:
    for lane in reversed(node.lanes):
        if lane.nodes:
            return _last(lane.nodes[-1], names)
    return names.of(node.path)


def _dot_lane(lane: Lane, path: str, names: _Names, lines: list[str], indent: str) -> None:
    for node in lane.nodes:
        label = _dot_quote(_label(node, "\n"))
        if not any(inner.nodes for inner in node.lanes):
            lines.append(f"{indent}{names.of(node.path)} [label={label}];")
            continue
        lines.append(f"{indent}subgraph cluster_{names.of(node.path)} {{ label={label};")
        for inner in node.lanes:
            if inner.name:
                cluster = names.of(node.path + "//" + inner.name)
                lines.append(f"{indent}  subgraph cluster_{cluster} {{ label={_dot_quote(inner.name)}; style=dotted;")
                _dot_lane(inner, node.path, names, lines, indent + "    ")
                lines.append(f"{indent}  }}")
            else:
                _dot_lane(inner, node.path, names, lines, indent + "  ")
        lines.append(f"{indent}}}")
    for number, node in enumerate(lane.nodes):
        if node.follows and number + 1 < len(lane.nodes):
            after = lane.nodes[number + 1]
            lines.append(f"{indent}{_last(node, names)} -> {_first(after, names)};")
    for arrow in lane.arrows:
        source = _last(lane.nodes[arrow.source], names)
        label = _dot_quote(arrow.label or "next")
        if arrow.target < 0:
            end = names.of(path + "//end")
            lines.append(f"{indent}{end} [shape=point]; {source} -> {end} [label={label}];")
        else:
            style = ", style=dashed, constraint=false" if arrow.kind == "loop" else ""
            lines.append(f"{indent}{source} -> {_first(lane.nodes[arrow.target], names)} [label={label}{style}];")
