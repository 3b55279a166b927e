"""Outlines as text that other tools draw: Mermaid flow charts and Graphviz DOT."""

from __future__ import annotations

from itertools import pairwise

import msgspec

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
    _mermaid_lane(drawn.lane, names, lines, "    ")
    for lane in drawn.handlers:
        lines.append(f"    subgraph {names.of('/' + lane.name)}[{_quote(lane.name)}]")
        _mermaid_lane(lane, names, lines, "      ")
        lines.append("    end")
    lines.append("  end")
    return "\n".join(lines) + "\n"


def _title(drawn: Outline) -> str:
    return f"{drawn.workflow} ({drawn.admission})" if drawn.admission else drawn.workflow


def _label(node: Node) -> str:
    lines = [node.step or node.kind, f"{node.kind}: {node.detail}" if node.detail else node.kind]
    if node.when:
        lines.append(f"when {node.when}")
    if node.marks:
        lines.append(", ".join(node.marks))
    return "\n".join(lines)


def _quote(text: str) -> str:
    return '"' + text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;") + '"'


def _mermaid_lane(lane: Lane, names: _Names, lines: list[str], indent: str) -> None:
    for node in lane.nodes:
        name = names.of(node.path)
        label = "<br/>".join(_quote(part)[1:-1] for part in _label(node).split("\n"))
        if not node.lanes:
            left, right = _MERMAID.get(node.shape, ("[", "]"))
            lines.append(f'{indent}{name}{left}"{label}"{right}')
            continue
        lines.append(f'{indent}subgraph {name}["{label}"]')
        lines.append(f"{indent}  direction TB")
        for inner in node.lanes:
            if inner.name:
                lines.append(f"{indent}  subgraph {names.of(node.path + '//' + inner.name)}[{_quote(inner.name)}]")
                _mermaid_lane(inner, names, lines, indent + "    ")
                lines.append(f"{indent}  end")
            else:
                _mermaid_lane(inner, names, lines, indent + "  ")
        lines.append(f"{indent}end")
    end = f"{names.of(lane.nodes[0].path)}_end" if lane.nodes else ""  # a point of this list alone
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
    if drawn.lane.nodes:
        _dot_lane(drawn.lane, names, lines, "  ")
    for lane in drawn.handlers:
        if not lane.nodes:
            continue
        lines.append(f"  subgraph cluster_{names.of('/' + lane.name)} {{ label={_dot_quote(lane.name)}; style=dashed;")
        _dot_lane(lane, names, lines, "    ")
        lines.append("  }")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _dot_quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class _Ends(msgspec.Struct, frozen=True):
    """Where the edges of a drawn node end and begin; ``cluster`` names the box around it, if it is one."""

    entry: str
    exit: str
    cluster: str = ""


def _ends(node: Node, names: _Names) -> _Ends:
    """Graphviz knows no edge to a cluster, only to nodes in it: a cluster has an anchor at its top and bottom."""
    name = names.of(node.path)
    if not any(inner.nodes for inner in node.lanes):
        return _Ends(name, name)
    return _Ends(f"{name}_in", f"{name}_out", f"cluster_{name}")


def _dot_edge(source: _Ends, target: _Ends, *attributes: str) -> str:
    """An edge that is cut off at the borders of the boxes it leads out of and into."""
    said = list(attributes)
    if source.cluster != target.cluster:  # a loop of one box stays inside it
        said += [f"ltail={source.cluster}"] if source.cluster else []
        said += [f"lhead={target.cluster}"] if target.cluster else []
    listed = f" [{', '.join(said)}]" if said else ""
    return f"{source.exit} -> {target.entry}{listed};"


def _dot_lane(lane: Lane, names: _Names, lines: list[str], indent: str) -> tuple[str, list[str]]:
    """Draws a list of steps; gives the node where it begins, and those where it can end."""
    ends = [_ends(node, names) for node in lane.nodes]
    for node, own in zip(lane.nodes, ends, strict=True):
        if own.cluster:
            _dot_cluster(node, own, names, lines, indent)
        else:
            lines.append(f"{indent}{own.entry} [label={_dot_quote(_label(node))}];")
    leaves = [own.exit for number, own in enumerate(ends) if not lane.nodes[number].follows]
    for number, (source, target) in enumerate(pairwise(ends)):
        if lane.nodes[number].follows:
            lines.append(f"{indent}{_dot_edge(source, target)}")
    if lane.nodes[-1].follows:
        leaves.append(ends[-1].exit)
    out = _Ends("", "")
    for arrow in lane.arrows:
        label = f"label={_dot_quote(arrow.label or 'next')}"
        if arrow.target >= 0:
            style = ("style=dashed", "constraint=false") if arrow.kind == "loop" else ()
            lines.append(f"{indent}{_dot_edge(ends[arrow.source], ends[arrow.target], label, *style)}")
            continue
        if not out.entry:
            name = f"{names.of(lane.nodes[0].path)}_end"
            out = _Ends(name, name)
            lines.append(f"{indent}{name} [shape=point];")
            leaves.append(name)
        lines.append(f"{indent}{_dot_edge(ends[arrow.source], out, label)}")
    return ends[0].entry, leaves


def _dot_cluster(node: Node, own: _Ends, names: _Names, lines: list[str], indent: str) -> None:
    """A box with its lanes; unseen edges hold every lane between the two anchors."""
    lines.append(f"{indent}subgraph {own.cluster} {{ label={_dot_quote(_label(node))};")
    unseen = '[shape=point, style=invis, width=0, label=""]'
    lines += [f"{indent}  {anchor} {unseen};" for anchor in (own.entry, own.exit)]
    for inner in node.lanes:
        if not inner.nodes:
            continue
        deeper = indent + "  "
        if inner.name:
            cluster = names.of(f"{node.path}//{inner.name}")
            lines.append(f"{deeper}subgraph cluster_{cluster} {{ label={_dot_quote(inner.name)}; style=dotted;")
            first, leaves = _dot_lane(inner, names, lines, deeper + "  ")
            lines.append(f"{deeper}}}")
        else:
            first, leaves = _dot_lane(inner, names, lines, deeper)
        lines.append(f"{deeper}{own.entry} -> {first} [style=invis];")
        lines += [f"{deeper}{leaf} -> {own.exit} [style=invis];" for leaf in leaves]
    lines.append(f"{indent}}}")
