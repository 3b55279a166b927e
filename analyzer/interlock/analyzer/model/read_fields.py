"""Reads a mapping by its row of the language table: known fields, unknown ones, missing ones."""

from __future__ import annotations

from collections.abc import Iterable

from interlock.analyzer.findings import Edit, Fix
from interlock.analyzer.language import fields as f
from interlock.analyzer.language.blocks import BUILT_IN
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.language.table import BUDGET, FAMILY_TITLES, KINDS, RUN_CONCURRENCY, SHAPES, STEP, WORKFLOW
from interlock.analyzer.model.read_values import Found, ValueReader, describe
from interlock.analyzer.model.values import ListValue, MapValue, Setting, Value
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence


class Row:
    """One field that was written: its row of the table, its key and its value behind aliases."""

    __slots__ = ("field", "key", "value", "via")

    def __init__(self, field: f.Field | f.KindRow, key: Span, value: Node, via: Span | None) -> None:
        self.field = field
        self.key = key
        self.value = value
        self.via = via


class Rows:
    """The fields of one mapping as they were written.

    ``unknown`` tells that a field was reported that stands for no known one: what seems to be
    missing may be that field.
    """

    __slots__ = ("key", "rows", "span", "unknown")

    def __init__(self, key: Span, span: Span) -> None:
        self.key = key
        self.span = span
        self.rows: dict[str, Row] = {}
        self.unknown = False

    @property
    def keys(self) -> dict[str, Span]:
        return {name: row.key for name, row in self.rows.items()}


#: Where a field of this name belongs, for "no such field here".
_HOMES: dict[str, list[str]] = {}
for _shape in SHAPES.values():
    for _name in _shape.fields:
        if _shape.title not in _HOMES.setdefault(_name, []):
            _HOMES[_name].append(_shape.title)
for _name in KINDS:
    _HOMES.setdefault(_name, []).append("a step")


#: Words of other languages, with what does the same here: at the top, and on a step.
_OTHER_WORDS_ABOVE = {
    "name": 'A workflow is named by "workflow".',
    "on": "Nothing is said here of what starts a run: remove it.",
    "jobs": 'Steps stand in "steps"; those that run beside each other are the branches of a "concurrency".',
    "tasks": 'Steps stand in "steps".',
    "env": 'What a run is given stands in "inputs" and "secrets".',
    "variables": 'What a run is given stands in "inputs" and "secrets".',
    "timeout": 'The time of a whole run is limited by "deadline".',
}
_OTHER_WORDS = {
    "if": 'A condition is written with "when".',
    "condition": 'A condition is written with "when".',
    "name": 'A step is named by "id".',
    "uses": 'What a step calls is written with "block".',
    "run": 'What a step calls is written with "block".',
    "with": 'What a block is given stands in "params".',
    "args": 'What a block is given stands in "params".',
    "retries": 'Attempts are counted by "retry: {max_attempts: 3}".',
    "needs": 'Steps run in the order in which they are written; "next" goes elsewhere.',
    "depends_on": 'Steps run in the order in which they are written; "next" goes elsewhere.',
    "goto": 'Where to go on is written with "next".',
    "parallel": 'Branches beside each other are written with "concurrency".',
    "sleep": 'A pause is written with "delay".',
    "wait": 'A pause is written with "delay".',
}


_GLANCE = 10
"""No hint lists more fields than this."""


def _fields_of(names: list[str], rows: Rows) -> str | None:
    """What may be written instead, where that is a list to take in at a glance."""
    free = [name for name in names if name not in rows.rows]
    return f"What can stand here: {', '.join(free)}." if 0 < len(free) <= _GLANCE else None


def _homes(name: str, title: str, rows: Rows) -> str | None:
    """Where a field belongs: what stands beside it or around it, if that takes it, else whatever does."""
    beside = [SHAPES[other].title for other in rows.rows if other in SHAPES and name in SHAPES[other].fields]
    if title == STEP.title and beside:
        return f'"{name}" belongs in {beside[0]}.'
    homes = [home for home in _HOMES.get(name, ()) if home != title]
    if title in KINDS and STEP.title in homes:
        homes = [STEP.title, *(home for home in homes if home != STEP.title)]
    return f'"{name}" belongs in {" or ".join(homes[:3])}.' if homes else None


class FieldReader(ValueReader):
    """Reads mappings by the table, and fields by their type."""

    def rows(
        self,
        found: Found,
        key: Span,
        known: dict[str, f.Field],
        title: str,
        kinds: dict[str, f.KindRow] | None = None,
        ignore_x: bool = False,
    ) -> Rows | None:
        """The written fields of a mapping; None (and IL105) where it is no mapping.

        An unknown field with one near name counts as that field unless it stands there too.
        """
        node = found.node
        if not isinstance(node, Mapping):
            self.wrong(found, _subject(title), "a mapping")
            return None
        rows = Rows(key, found.span)
        strangers: list[tuple[Scalar, Span, Node, Span | None]] = []
        for key_node, value, alias in self.pairs(node, found.via):
            via = alias or found.via
            inner = self.follow(key_node, via)
            if inner is None:
                continue
            if not isinstance(inner.node, Scalar):
                self.sink.add("IL105", inner.span, f"A field's name is a text, not {describe(inner.node)}.")
                continue
            name = inner.node.value
            row = known.get(name) or (kinds.get(name) if kinds else None)
            if row is not None and isinstance(inner.node.data, str):
                if name not in rows.rows:
                    rows.rows[name] = Row(row, inner.span, value, via)
            elif not (ignore_x and name.startswith("x-")):
                strangers.append((inner.node, inner.span, value, via))
        self._strangers(rows, strangers, known, title, kinds or {})
        return rows

    def _strangers(
        self,
        rows: Rows,
        strangers: list[tuple[Scalar, Span, Node, Span | None]],
        known: dict[str, f.Field],
        title: str,
        kinds: dict[str, f.KindRow],
    ) -> None:
        names = [*known, *kinds]
        for key, span, value, via in strangers:
            name = key.value
            shown = name if len(name) <= 60 else name[:57] + "…"
            near = nearest(name, names)
            hint, fix = self._advice(name, value, title, rows) or _fields_of(names, rows), None
            if near is not None and near not in rows.rows:
                hint = f'Did you mean "{near}"?'
                fix = Fix(f'Change it to "{near}"', (Edit(span, near),))
                rows.rows[near] = Row(known.get(near) or kinds[near], span, value, via)
            else:
                self.leave(value)
                rows.unknown |= near is None
            self.sink.add("IL103", span, f'"{shown}" is no field of {title}.', hint, fix=fix)

    def _advice(self, name: str, value: Node, title: str, rows: Rows) -> str | None:
        """What to do with a field that stands for no known one."""
        if title == WORKFLOW.title:
            if name in _OTHER_WORDS_ABOVE:
                return _OTHER_WORDS_ABOVE[name]
            if name in STEP.fields or name in KINDS:
                return f'"{name}" belongs in a step.'
            homes = [shape.title for shape in (BUDGET, RUN_CONCURRENCY) if name in shape.fields]
            return f'"{name}" belongs in {homes[0]}.' if homes else None
        if title == STEP.title:
            if name in _OTHER_WORDS:
                return _OTHER_WORDS[name]
            if name in BUILT_IN:
                text = isinstance(value, Scalar) and value.value
                return f'Write "block: {name}"{", and what it takes in params" if text else ""}.'
        return _homes(name, title, rows)

    def missing(self, rows: Rows, required: Iterable[f.Field], title: str) -> None:
        """IL104 for each required field that was not written."""
        if rows.unknown:
            return
        for field in required:
            if field.name not in rows.rows:
                self.sink.add(
                    "IL104",
                    rows.key,
                    f'{_subject(title)} needs "{field.name}", and it is missing.',
                    field.doc,
                    fix=self._fill(rows, field, title),
                )

    def _fill(self, rows: Rows, field: f.Field, title: str) -> Fix | None:
        """A fix for the fields that have a value which is right for a start."""
        from interlock.analyzer.model import mend

        if title == STEP.title and field.name == "id":
            kind = next((name for name in rows.rows if name in KINDS), "")
            block = rows.rows["block"].value if kind == "block" else None
            value = mend.fresh_id(rows.span, kind, block.value if isinstance(block, Scalar) else "")
        elif title == WORKFLOW.title and field.name == "workflow":
            value = mend.file_name(rows.span)
        elif field.name == "max_attempts":
            value = "3"
        else:
            return None
        return mend.add_field(rows.span, list(rows.keys.values()), f"{field.name}: {value}")

    def misplaced(self, rows: Rows, family: str, kind: Span, others: Iterable[str] = ()) -> None:
        """IL302 for each field that the family does not take; it is left out of the rows.

        ``kind`` is the key of what does not take it; ``others`` are the families of kinds that are one too
        many: their fields went with them.
        """
        for name, row in list(rows.rows.items()):
            if isinstance(row.field, f.KindRow) or not row.field.on or family in row.field.on:
                continue
            del rows.rows[name]
            self.leave(row.value)
            if not set(others).isdisjoint(row.field.on):
                continue
            homes = sorted(FAMILY_TITLES[home] for home in row.field.on)
            self.sink.add(
                "IL302",
                row.key,
                f'"{name}" means nothing on {FAMILY_TITLES[family]}.',
                f"It belongs to {' or '.join(homes)}.",
                beside=(kind,),
            )

    # -- fields by type ---------------------------------------------------------------------

    def found(self, rows: Rows, name: str) -> tuple[Row, Found] | None:
        row = rows.rows.get(name)
        if row is None:
            return None
        found = self.follow(row.value, row.via)
        return None if found is None else (row, found)

    def simple(self, rows: Rows, name: str) -> Setting[object] | None:
        """A field of a scalar type or a list of names, as a setting."""
        pair = self.found(rows, name)
        if pair is None:
            return None
        row, found = pair
        assert isinstance(row.field, f.Field)
        kind = row.field.type
        title = f'"{name}"'
        if not isinstance(kind, f.Flag):
            self_found = self.unquoted(found)
            if self_found is not None:
                if not isinstance(kind, f.Text) or not kind.template:
                    return None
                found = self_found
        read = self.scalar(found, kind, title)
        return None if read is None else Setting(read, row.key, found.span)

    def scalar(self, found: Found, kind: f.FieldType, title: str) -> object | None:
        if isinstance(kind, f.Text):
            if kind.template:
                return self.template_text(found, title)
            return self.plain_text(found, title, kind.maximum)
        if isinstance(kind, f.Name):
            return self.name(found, kind.kind, title)
        if isinstance(kind, f.Duration):
            return self.seconds(found, title)
        if isinstance(kind, f.Whole):
            return self.whole(found, kind, title)
        if isinstance(kind, f.Choice):
            return self.choice(found, kind, title)
        if isinstance(kind, f.Flag):
            return self.flag(found, title)
        raise AssertionError(f"no scalar type: {kind!r}")

    def list_or_template(self, rows: Rows, name: str) -> Setting[Value] | None:
        """A list of values, or a template that gives one."""
        pair = self.found(rows, name)
        if pair is None:
            return None
        row, found = pair
        found = self.unquoted(found) or found
        node = found.node
        value: Value | None = None
        if isinstance(node, Sequence):
            value = self.value(node, found.via)
        elif isinstance(node, Scalar) and isinstance(node.data, str):
            leaf = self.text(node, found.via)
            if hasattr(leaf, "parts") or "{" in node.value:
                value = leaf
            else:
                self.wrong(found, f'"{name}"', "a list, or a template that gives one")
        else:
            self.wrong(found, f'"{name}"', "a list, or a template that gives one")
        return None if value is None else Setting(value, row.key, found.span)

    def object(self, rows: Rows, name: str) -> Setting[MapValue] | None:
        """A mapping with free keys."""
        pair = self.found(rows, name)
        if pair is None:
            return None
        row, found = pair
        kind = row.field.type
        assert isinstance(kind, f.Object)
        if self.unquoted(found, fixable=False) is not None:
            return None
        if not isinstance(found.node, Mapping):
            self.wrong(found, f'"{name}"', "a mapping")
            return None
        names = "output" if kind.names == "output" else None
        return Setting(self.mapping(found, names=names), row.key, found.span)

    def literal_list(self, rows: Rows, name: str) -> Setting[ListValue] | None:
        pair = self.found(rows, name)
        if pair is None:
            return None
        row, found = pair
        if not isinstance(found.node, Sequence):
            self.wrong(found, f'"{name}"', "a list")
            return None
        value = self.value(found.node, found.via, template=False, title=f'"{name}"')
        return Setting(value, row.key, found.span) if isinstance(value, ListValue) else None


def _subject(title: str) -> str:
    """What a mapping is, as a sentence begins with it: a bare field name is quoted, not capitalised."""
    if " " not in title:
        return f'"{title}"'
    return title[:1].upper() + title[1:]
