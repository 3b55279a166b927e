"""Pictures: everything of the workflow is in them, inside the page, and nothing overlaps."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from interlock.analyzer.analysis import program_of, read_file
from interlock.analyzer.drawing.json import as_json
from interlock.analyzer.drawing.layout import place
from interlock.analyzer.drawing.mermaid import dot, mermaid
from interlock.analyzer.drawing.outline import outline
from interlock.analyzer.drawing.svg import svg
from interlock.analyzer.graph.program import Unit
from interlock.analyzer.model.nodes import walk
from interlock.analyzer.source.text import SourceText

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples").glob("*.workflow.yaml"))

LOOP = """
workflow: loop
budget: {max_transitions: 9}
steps:
  - {id: ask, block: http, params: {url: "https://a.example"}}
  - id: stop
    when: "{ask.status == 200}"
    block: log
    params: {message: "a < b & \\"c\\""}
    next: end
  - {id: again, delay: 5s, next: ask}
"""


def units(text: str) -> list[Unit]:
    return program_of([read_file(SourceText("x.workflow.yaml", text))]).units


def boxes(lane: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for node in lane["nodes"]:
        found.append(node)
        for inner in node["lanes"]:
            found += boxes(inner)
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_step_is_drawn_inside_the_page_and_siblings_do_not_overlap(path: Path) -> None:
    for unit in units(path.read_text(encoding="utf-8")):
        sheet = as_json(place(outline(unit)))
        lanes: Any = sheet["lanes"]
        drawn = [box for lane in lanes for box in boxes(lane)]
        steps = [step.id for steps in (unit.workflow.steps, unit.workflow.on_cancel, unit.workflow.on_deadline)
                 for step in walk(steps)]  # fmt: skip
        assert sorted(box["id"] for box in drawn) == sorted(steps)
        for box in drawn:
            assert 0 <= box["x"] <= box["x"] + box["width"] <= float(str(sheet["width"]))
            assert 0 <= box["y"] <= box["y"] + box["height"] <= float(str(sheet["height"]))
        for lane in lanes:
            for above, below in zip(lane["nodes"], lane["nodes"][1:], strict=False):
                assert above["y"] + above["height"] < below["y"]


def test_jumps_back_are_loops_and_jumps_out_end() -> None:
    lane: Any = as_json(place(outline(units(LOOP)[0])))["lanes"]
    kinds = {(edge["from"], edge["to"]): edge["kind"] for edge in lane[0]["edges"]}
    assert kinds == {
        ("ask", "stop"): "then",
        ("stop", "again"): "then",
        ("stop", None): "jump",
        ("again", "ask"): "loop",
    }


def test_the_json_says_what_stands_under_the_name_of_each_step() -> None:
    sheet: Any = as_json(place(outline(units(LOOP)[0])))
    assert [box["lines"] for box in boxes(sheet["lanes"][0])] == [
        ["http https://a.example"],
        ['log a < b & "c"', "when ask.status == 200"],
        ["delay 5s"],
    ]


def test_the_svg_is_xml_with_every_name_in_it() -> None:
    root = ElementTree.fromstring(svg(place(outline(units(LOOP)[0]))))
    words = [element.text for element in root.iter() if element.text]
    assert {"ask", "stop", "again", "loop"} <= set(words)
    assert any('a < b & "c"' in word for word in words)


def test_text_forms_escape_what_would_break_them() -> None:
    drawn = outline(units(LOOP)[0])
    assert "#lt; b #amp; #quot;c#quot;" in mermaid(drawn)
    assert '\\"c\\"' in dot(drawn)
    assert "-.->" in mermaid(drawn)


def test_json_is_json() -> None:
    for unit in units(LOOP):
        assert json.loads(json.dumps(as_json(place(outline(unit)))))["workflow"] == "loop"


BOXES = """
workflow: boxes
budget: {max_transitions: 50}
steps:
  - id: both
    concurrency:
      limit: 2
      branches:
        one:
          steps:
            - {id: a, block: log, params: {message: x}, next: "{true ? 'end' : 'b'}"}
            - {id: b, block: log, params: {message: x}}
        two:
          steps:
            - {id: c, block: log, params: {message: x}, next: "{true ? 'end' : 'd'}"}
            - {id: d, block: log, params: {message: x}}
  - id: lock
    concurrency:
      resource: r
      steps:
        - {id: e, block: log, params: {message: x}}
  - id: each
    for_each: {items: "{[1]}", steps: [{id: f, block: log, params: {message: x}}]}
    next: "{true ? 'end' : 'lock'}"
"""

_STEP = re.compile(r'(?:subgraph )?(\w+) (?:\{ |\[)label="(\w+)\\n')
_EDGE = re.compile(r"(\w+) -> (\w+)(?: \[(.*)\])?;")


def dot_edges(text: str) -> list[tuple[str, str, str]]:
    """The edges of a DOT text between the names of steps: what is seen to leave, to be entered, and its look."""
    steps = dict(_STEP.findall(text))
    names = dict(steps)
    for key, step in steps.items():
        node = key.removeprefix("cluster_")
        names |= {
            f"{node}_in": f"top of {step}",
            f"{node}_out": f"bottom of {step}",
            f"{node}_end": f"end after {step}",
        }
    found = []
    for source, target, attributes in _EDGE.findall(text):
        said = dict(part.split("=", 1) for part in attributes.split(", ") if part)
        shown = " ".join(f"{key}={steps.get(value, value)}" for key, value in said.items())
        found.append((names[source], names[target], shown))
    return found


def test_dot_draws_edges_from_box_to_box_and_every_list_inside_has_an_end() -> None:
    assert sorted(dot_edges(dot(outline(units(BOXES)[0])))) == sorted(
        [
            ("top of both", "a", "style=invis"),
            ("a", "b", ""),
            ("a", "end after a", 'label="maybe"'),
            ("end after a", "bottom of both", "style=invis"),
            ("b", "bottom of both", "style=invis"),
            ("top of both", "c", "style=invis"),
            ("c", "d", ""),
            ("c", "end after c", 'label="maybe"'),
            ("end after c", "bottom of both", "style=invis"),
            ("d", "bottom of both", "style=invis"),
            ("bottom of both", "top of lock", "ltail=both lhead=lock"),
            ("top of lock", "e", "style=invis"),
            ("e", "bottom of lock", "style=invis"),
            ("bottom of lock", "top of each", "ltail=lock lhead=each"),
            ("top of each", "f", "style=invis"),
            ("f", "bottom of each", "style=invis"),
            ("bottom of each", "end after both", 'label="maybe" ltail=each'),
            ("bottom of each", "top of lock", 'label="maybe" style=dashed constraint=false ltail=each lhead=lock'),
        ]
    )


def test_a_box_that_loops_to_itself_names_no_border_to_cut_at() -> None:
    text = BOXES.replace("'end' : 'lock'", "'end' : 'each'")
    found = [edge for edge in dot_edges(dot(outline(units(text)[0]))) if edge[1] == "top of each"]
    assert found[1:] == [("bottom of each", "top of each", 'label="maybe" style=dashed constraint=false')]


def test_each_list_of_a_mermaid_chart_has_an_end_of_its_own() -> None:
    text = mermaid(outline(units(BOXES)[0]))
    ends = re.findall(r"\|maybe\| (\w+_end)$", text, re.MULTILINE)
    assert len(ends) == len(set(ends)) == 3
    assert all(f"{end}(( ))" in text for end in ends)


def test_a_budget_that_is_too_small_is_drawn_as_what_is_needed() -> None:
    text = "workflow: w\nbudget: {max_cost_units: 5}\nsteps:\n  - {id: a, block: set, cost_units: 20}\n"
    assert ("cost units", "at least 20, limit 5") in outline(units(text)[0]).intervals
