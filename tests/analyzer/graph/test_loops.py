"""The loops of a list are its strongly connected parts, whatever its jumps."""

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.analyzer.analysis import program_of, read_file
from interlock.analyzer.graph.flow import END, ListFlow
from interlock.analyzer.source.text import SourceText

SIZE = 7
jumps = st.lists(st.sets(st.integers(0, SIZE - 1), max_size=3), min_size=SIZE, max_size=SIZE)


def _flow(targets: list[set[int]]) -> ListFlow:
    lines = ["workflow: w", "steps:"]
    for number, some in enumerate(targets):
        words = " : ".join(f"run.attempt == {each} ? 's{each}'" for each in sorted(some))
        jump = f', next: "{{{words} : ' + "'end'" + '}"' if some else ""
        lines.append(f"  - {{id: s{number}, block: log{jump}}}")
    [unit] = program_of([read_file(SourceText("w", "\n".join(lines) + "\n"))]).units
    assert unit.flow.top is not None
    return unit.flow.top


@settings(deadline=None, max_examples=150)
@given(jumps)
def test_loops_are_the_strongly_connected_parts(targets):
    flow = _flow(targets)
    graph = networkx.DiGraph()
    for number in flow.reachable:
        graph.add_edges_from((number, edge.target) for edge in flow.edges[number] if edge.target != END)
    expected = [
        frozenset(part)
        for part in networkx.strongly_connected_components(graph)
        if len(part) > 1 or any(graph.has_edge(one, one) for one in part)
    ]
    assert [loop.members for loop in flow.loops] == sorted(expected, key=min)
