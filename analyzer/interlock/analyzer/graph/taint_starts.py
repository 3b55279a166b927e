"""What ``start_workflows`` and ``start_agents`` hand to their children, as far as it is secret.

A map item gives its members as inputs, any other goes under the payload key; behind them stand
the parent's state and inputs, unless ``inherit_state`` is false (section 8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.analyzer.graph.taint_shapes import Shape, element, hop, member
from interlock.analyzer.model.nodes import StartWorkflows
from interlock.analyzer.model.values import ListValue, Literal, MapValue, Value, expressions
from interlock.analyzer.source.text import Span

if TYPE_CHECKING:
    from interlock.analyzer.graph.taint_steps import Place, UnitTaint


class StartInputs:
    """One step that starts runs."""

    def __init__(self, run: UnitTaint, kind: StartWorkflows, place: Place) -> None:
        self.run = run
        self.kind = kind
        self.place = place
        self.child = run.unit.program.child(kind.workflow)

    def deliver(self) -> None:
        """Gives the children what they get, and reports what would be stored for the first time."""
        if self.child is None or self.kind.items is None:
            return
        items = self.kind.items.value
        if isinstance(items, ListValue):
            for item in items.items:
                self._item(item)
        else:
            self._opaque(element(self.run.carried(items, self.place)), items.span)
        if self.kind.inherit_state:
            self._inherit(items)

    def _label(self, name: str) -> str:
        return f'input "{name}" of workflow "{self.child.name if self.child else ""}"'

    def _item(self, item: Value) -> None:
        assert self.child is not None
        if isinstance(item, MapValue):
            for given in item.members:
                name = None if given.name.startswith("_") else self.run.declared(self.child, given.name)
                if name is not None:
                    label = self._label(name)
                    shape = self.run.stored(given.value, self.place, name, label, f"it goes into {label}")
                    self.run.taint.give(self.child, name, shape)
        elif not isinstance(item, Literal):
            self._opaque(self.run.carried(item, self.place), item.span)

    def _opaque(self, shape: Shape | None, span: Span) -> None:
        """An item whose form is known only at run time."""
        if shape is None or self.child is None:
            return
        payload = self.kind.payload_key
        for given, inner in shape.members.items():
            if not given.startswith("_"):
                self._give(given, inner, span)
        loose = Shape(shape.own) if shape.own else shape.rest
        if loose is not None:
            for name in [payload] if payload else list(self.child.workflow.inputs):
                self._give(name, loose, span)

    def _give(self, given: str, shape: Shape, span: Span) -> None:
        assert self.child is not None
        name = self.run.declared(self.child, given)
        if name is not None:
            self.run.store(shape, span, self._label(name))
            text = f"it goes into {self._label(name)}"
            self.run.taint.give(self.child, name, hop(shape, span, text, keep_fresh=False))

    def _inherit(self, items: Value) -> None:
        """The child's inputs that no item gives come from the parent's state, then its inputs."""
        assert self.child is not None
        kind = self.kind
        left_out = {kind.result_key, *self._read_names(items)}
        span = kind.inherit_state_field.span if kind.inherit_state_field else kind.key
        state, inputs = self.run.state_at(self.place), self.run.inputs
        for name in self.child.workflow.inputs:
            if name.startswith("_") or name in left_out or _always_given(items, name, kind.payload_key):
                continue
            for source in (member(state, name), member(inputs, name)):
                if source is not None:
                    self._give(name, source, span)

    def _read_names(self, items: Value) -> set[str]:
        """The names that ``items`` reads from: they are not handed on."""
        found: set[str] = set()
        for expression in expressions(items):
            for use in self.run.unit.uses(expression):
                found.add(use.path[1] if use.path[0] in ("inputs", "state") and use.path[1:] else use.path[0])
        return found


def _always_given(items: Value, name: str, payload_key: str | None) -> bool:
    """Whether every item itself gives this input."""
    if not isinstance(items, ListValue) or not items.items:
        return False
    return all(
        item.member(name) is not None if isinstance(item, MapValue) else name == payload_key for item in items.items
    )
