"""Commands that a client can have executed: a workflow's graph as JSON, and the page of a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse
from urllib.request import url2pathname

from interlock.analyzer.rules.catalog import find_rule
from interlock.server.lsp.convert import page_uri, range_of
from interlock.server.lsp.document import Lines
from interlock.server.lsp.features.names import refusal

if TYPE_CHECKING:
    from interlock.server.lsp.server import Server

GRAPH = "interlock.graph"
EXPLAIN = "interlock.explain"


def register(server: Server) -> None:
    server.on_command(GRAPH, graph)
    server.on_command(EXPLAIN, explain)


def graph(server: Server, arguments: Sequence[Any]) -> object:
    """Arguments: the document's URI, and the name of the workflow where it holds several.

    Gives the graph with the place of everything in the picture.  Each step has its ``range`` in the client's
    positions, and the graph that of the YAML document which the workflow is.
    """
    from interlock.analyzer.drawing.json import as_json
    from interlock.analyzer.drawing.layout import place
    from interlock.analyzer.drawing.outline import outline

    view = server.view(arguments[0]) if arguments and isinstance(arguments[0], str) else None
    if view is None:
        raise refusal("interlock.graph takes the URI of a workflow file, and this is none.")
    name = arguments[1] if len(arguments) > 1 else None
    for unit in view.units():
        if unit.workflow.steps is not None and (name is None or unit.name == name):
            drawn = as_json(place(outline(unit)))
            drawn["range"] = range_of(view.lines, *view.extent(unit))
            _place_steps(view.lines, drawn)
            return drawn
    raise refusal("There is no such workflow with steps in this file.")


def _place_steps(lines: Lines, part: dict[str, Any]) -> None:
    """Says of every step inside where it stands for the client."""
    for lane in part["lanes"]:
        for step in lane["nodes"]:
            step["range"] = range_of(lines, step["offset"], step["end_offset"])
            _place_steps(lines, step)


def explain(server: Server, arguments: Sequence[Any]) -> object:
    """Argument: the code or name of a rule.  Gives its page as Markdown."""
    word = arguments[0] if arguments and isinstance(arguments[0], str) else ""
    rule = find_rule(word)
    if rule is None:
        raise refusal(f'No rule is called "{word}".')
    page = page_uri(rule.code)
    text = f"# {rule.code} {rule.name}\n\n{rule.title}.\n"
    if page is not None:
        with open(url2pathname(urlparse(page).path), encoding="utf-8") as file:
            text = file.read()
    return {"code": rule.code, "name": rule.name, "severity": rule.severity, "markdown": text, "page": page}
