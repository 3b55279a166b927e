"""One thing that may be written at the cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

ItemKind: TypeAlias = Literal[
    "field", "kind", "value", "block", "workflow", "name", "step", "member", "function", "keyword"
]


class Item(msgspec.Struct, frozen=True):
    """``insert`` is what to write where it is not the label; a ``snippet`` has tab stops.

    Lower ``rank`` comes first, then lower ``order``, then the alphabet.  ``documentation`` is Markdown, made
    when somebody wants it.
    """

    label: str
    kind: ItemKind
    detail: str = ""
    doc: str | Callable[[], str] = ""
    insert: str = ""
    snippet: bool = False
    rank: int = 2
    order: int = 0

    @property
    def documentation(self) -> str:
        return self.doc if isinstance(self.doc, str) else self.doc()
