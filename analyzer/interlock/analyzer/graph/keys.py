"""Resource keys as the nodes of the lock order: when two places take "the same key" (section 6.3).

A key is a literal, or a template.  What a template gives is known only in a run, so two templates
are one node when their literal parts and their expressions are the same text.  What is held
where, and who waits for what, is left to ``leases`` and ``locks``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from interlock.analyzer.expressions import ast
from interlock.analyzer.expressions.uses import canonical
from interlock.analyzer.model.values import Expression, Literal, Template, Value

if TYPE_CHECKING:
    from interlock.analyzer.graph.program import Unit

#: The longest key, in characters.
LONGEST = 512

#: What stays the same as long as a run lives.
_FIXED = frozenset({"inputs", "run"})


class Key(msgspec.Struct, frozen=True, cache_hash=True):
    """One node.  ``text`` is the literal itself, or the template with its expressions normalized.

    ``roots`` are the names that its expressions begin with, ``expressions`` their texts.
    """

    template: bool
    text: str
    roots: frozenset[str] = frozenset()
    expressions: frozenset[str] = frozenset()

    @property
    def stable(self) -> bool:
        """Whether it is one and the same key throughout a run: it reads only ``inputs`` and ``run``."""
        return self.roots <= _FIXED


def known_text(value: Value) -> str | None:
    """The text that a value surely is: a literal, or a template of nothing but string literals."""
    if isinstance(value, Literal):
        return value.data if isinstance(value.data, str) else None
    if not isinstance(value, Template):
        return None
    parts: list[str] = []
    for part in value.parts:
        text = part if isinstance(part, str) else _constant(part)
        if text is None:
            return None
        parts.append(text)
    return "".join(parts)


def _constant(expression: Expression) -> str | None:
    tree = expression.tree
    return tree.value if isinstance(tree, ast.Literal) and isinstance(tree.value, str) else None


def key_of(unit: Unit, value: Value | None) -> Key | None:
    """The node of a ``resource``; None where the key is broken, which was reported.

    An empty or overlong literal is broken too (IL311).
    """
    if isinstance(value, Literal):
        text = value.data
        return Key(False, text) if isinstance(text, str) and 0 < len(text) <= LONGEST else None
    if not isinstance(value, Template):
        return None
    parts: list[str] = []
    roots: set[str] = set()
    expressions: set[str] = set()
    for part in value.parts:
        if isinstance(part, str):
            parts.append(part.replace("{", "{{").replace("}", "}}"))
            continue
        if part.tree is None:
            return None
        text = canonical(part.tree)
        expressions.add(text)
        parts.append(f"{{{text}}}")
        roots.update(use.path[0] for use in unit.uses(part))
    return Key(True, "".join(parts), frozenset(roots), frozenset(expressions))
