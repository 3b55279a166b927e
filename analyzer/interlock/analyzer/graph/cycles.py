"""Which nodes of a graph lie on a cycle, asked so that graphs without one cost next to nothing.

networkx is imported only where a cycle is left after what can lie on none was taken away: its
import costs more than checking a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Set


def components(successors: Mapping[int, Set[int]]) -> list[set[int]]:
    """The sets of nodes that can reach each other, as far as a cycle leads through them.

    A node alone counts where it is its own successor.  The order is that of the smallest nodes.
    """
    left = _peel({node: set(targets) for node, targets in successors.items()})
    if not left:
        return []
    import networkx

    graph = networkx.DiGraph()
    for node, targets in left.items():
        graph.add_edges_from((node, target) for target in targets)
    found = [set(part) for part in networkx.strongly_connected_components(graph)]
    found = [part for part in found if len(part) > 1 or any(node in left[node] for node in part)]
    return sorted(found, key=min)


class Ways:
    """Shortest ways in a graph that is asked many times."""

    def __init__(self, successors: Mapping[int, Set[int]]) -> None:
        import networkx

        self._graph = networkx.DiGraph()
        for node in sorted(successors):
            self._graph.add_edges_from((node, target) for target in sorted(successors[node]))

    def shortest(self, start: int, goal: int) -> list[int]:
        """The nodes of a shortest way, both ends included; there must be one."""
        import networkx

        if self._graph.has_edge(start, goal):
            return [start, goal]
        path: list[int] = networkx.shortest_path(self._graph, start, goal)
        return path


def _peel(graph: dict[int, set[int]]) -> dict[int, set[int]]:
    """The graph without the nodes that no edge enters or none leaves, again and again."""
    entering: dict[int, set[int]] = {}
    for node, targets in graph.items():
        for target in targets:
            entering.setdefault(target, set()).add(node)
    for node in entering:
        graph.setdefault(node, set())
    todo = [node for node in graph if not graph[node] or not entering.get(node)]
    while todo:
        node = todo.pop()
        if node not in graph:
            continue
        for target in graph.pop(node):
            entering[target].discard(node)
            if not entering[target] and target in graph:
                todo.append(target)
        for source in entering.pop(node, ()):
            if source in graph:
                graph[source].discard(node)
                if not graph[source]:
                    todo.append(source)
    return graph
