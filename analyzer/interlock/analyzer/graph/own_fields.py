"""What an edit of a workflow's own fields means to its steps: which of them can tell, and by what they read.

A field is compared by what it says, not by where it stands.  What is judged again is decided by
``incremental``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from interlock.analyzer.graph.mentions import Ties
from interlock.analyzer.graph.slice import Intricate, outward
from interlock.analyzer.language.blocks import BlockSpec
from interlock.analyzer.model.nodes import Step, Workflow
from interlock.analyzer.source.text import Piece

#: Fields of which no other field and no step can tell the content.
_SILENT = frozenset({"description"})
_FIELDS = (
    "workflow",
    "version",
    "inputs",
    "secrets",
    "concurrency",
    "budget",
    "idempotency_key",
    "deadline",
    "compensate_on_failure",
    "outputs",
    "on_cancel",
    "on_deadline",
)


class OwnFields(msgspec.Struct, frozen=True):
    """The fields that say something else than before.

    ``same_inputs`` are the inputs that are declared as they were: whoever reads another one can tell, also one
    that is not declared, for it may be meant for one that is.
    """

    changed: frozenset[str]
    same_inputs: frozenset[str]

    def seen_by(self, ties: Ties) -> set[Step | None]:
        """The steps, and what is of none, that can tell the difference."""
        found: set[Step | None] = {None} if self.changed else set()
        if "inputs" in self.changed:
            for one in (ties.all_inputs, ties.inheriting, ties.merging):
                found.update(one)
            for name, readers in ties.inputs.items():
                if name not in self.same_inputs:
                    found.update(readers)
        if "secrets" in self.changed:
            found |= ties.undeclared(frozenset())
        if "version" in self.changed:
            found.update(ties.running)
        if "budget" in self.changed:
            found.update(ties.counting)
        return found


def own_fields(before: Workflow, after: Workflow, blocks: Mapping[str, BlockSpec]) -> OwnFields | None:
    """What the own fields of two readings of a workflow say differently; None where that is not decided here."""
    changed: set[str] = set()
    try:
        for field in _FIELDS:
            name = "name" if field == "workflow" else field
            old, new = getattr(before, name), getattr(after, name)
            if (field in before.fields) != (field in after.fields) or outward(old, blocks) != outward(new, blocks):
                changed.add(field)
        if before.inputs_open != after.inputs_open:
            changed.add("inputs")
        same = {
            name
            for name, new_one in after.inputs.items()
            if (old_one := before.inputs.get(name)) is not None and outward(old_one, blocks) == outward(new_one, blocks)
        }
    except Intricate:
        return None
    if "workflow" in changed:
        return None
    return OwnFields(frozenset(changed - _SILENT), frozenset(same))


def own_pieces(workflow: Workflow) -> frozenset[Piece]:
    """The pieces in which the own fields stand."""
    return frozenset(span.piece for span in workflow.fields.values())


def own_values(workflow: Workflow) -> Iterator[object]:
    """What the own fields say, ``steps`` left out."""
    for field in workflow.__struct_fields__:
        if field != "steps":
            yield getattr(workflow, field)


__all__ = ["OwnFields", "own_fields", "own_pieces", "own_values"]
