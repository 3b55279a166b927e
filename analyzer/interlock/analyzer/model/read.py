"""Reads a document into a workflow, and reports what is wrong with its form (section 4)."""

from __future__ import annotations

from typing import Any

import msgspec

from interlock.analyzer.findings import Finding, Sink
from interlock.analyzer.language.fields import Field
from interlock.analyzer.language.table import BUDGET, INPUT, INPUT_TYPES, RUN_CONCURRENCY, SHAPES, WORKFLOW
from interlock.analyzer.model.nodes import Budget, Input, RunConcurrency, Secret, Step, Workflow
from interlock.analyzer.model.read_fields import Rows
from interlock.analyzer.model.read_steps import StepReader
from interlock.analyzer.model.read_values import Found
from interlock.analyzer.model.values import ListValue, Literal, MapValue, Setting, Value, plain
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.nodes import Alias, Document, Mapping, Node, Scalar, Sequence


class ReadStep(msgspec.Struct, frozen=True, eq=False):
    """What one step at the top gave: the same again as long as its node is the same.

    ``broken`` is whether the document was broken then, which matters where a list looked ``empty``, and
    ``torn`` whether a key of this step was among what could not be read; ``bad_ids`` are the ids in it that
    are no names, ``unread`` the inputs that are named in what could not be used.  ``settled``: nothing in it
    speaks of the line it stands on, as an id that a fix makes up does.
    """

    step: Step | None
    findings: tuple[Finding, ...]
    broken: bool
    torn: bool
    bad_ids: tuple[str, ...]
    unread: tuple[str, ...]
    empty: bool
    settled: bool


class ReadSteps:
    """The steps of a file's lists at the top by their nodes: those of the reading before, and of this one."""

    __slots__ = ("before", "now")

    def __init__(self, before: ReadSteps | None = None) -> None:
        self.before: dict[Node, ReadStep] = before.now if before is not None else {}
        self.now: dict[Node, ReadStep] = {}


def read_document(document: Document, memory: ReadSteps | None = None) -> tuple[Workflow | None, list[Finding]]:
    """The workflow of a document, and what is wrong with its form.

    The workflow is None where the document is no mapping at all.  With a ``memory``, steps whose nodes
    are still those of the reading before keep their objects.
    """
    sink = Sink()
    workflow = _WorkflowReader(sink, memory or ReadSteps()).workflow(document)
    return workflow, sink.findings()


def has_type(value: object, type_name: str) -> bool:
    """Whether a JSON value is of an input type of section 4; an integer is a number too."""
    if type_name == "any":
        return True
    if type_name == "boolean":
        return isinstance(value, bool)
    if type_name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if type_name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    kinds: dict[str, type] = {"string": str, "array": list, "object": dict}
    return isinstance(value, kinds[type_name])


def _torn(document: Document, rows: Rows, name: str) -> bool:
    """Whether a part of a top-level field may stand in what could not be read."""
    if not document.broken:
        return False
    row = rows.rows.get(name)
    if row is None or name in document.broken_keys:
        return True
    later = (other.key.offset for other in rows.rows.values() if other.key.offset > row.key.offset)
    end = min(later, default=None)
    return any(row.key.offset < span.offset and (end is None or span.offset < end) for span in document.broken)


def _torn_keys(document: Document) -> frozenset[int]:
    """Where pieces begin that could not be read and hold keys of the step before them."""
    return frozenset(
        span.piece.base for span in document.broken if span.position.column > 1 and not span.text.startswith("-")
    )


class _WorkflowReader(StepReader):
    def __init__(self, sink: Sink, memory: ReadSteps) -> None:
        super().__init__(sink)
        self._memory = memory
        self._inside = False
        self._torn_off: frozenset[int] = frozenset()

    def step(self, node: Node, via: Span | None) -> Step | None:
        """A step; what is inside of one, or behind an alias, is not remembered by itself."""
        if self._inside or via is not None or isinstance(node, Alias):
            return super().step(node, via)
        torn = bool(self._torn_off) and node.piece.base + len(node.piece.text) in self._torn_off
        known = self._memory.before.get(node)
        stale = known is None or known.torn != torn or (known.empty and known.broken != self.broken)
        if known is None or stale or not known.settled:
            mark, ids, left = self.sink.mark(), len(self.bad_ids), len(self.unread)
            self._inside = True
            self.saw_empty = False
            self.torn = torn
            step = super().step(node, via)
            self._inside = False
            bad_ids, unread = tuple(self.bad_ids[ids:]), tuple(self.unread[left:])
            findings = self.sink.since(mark)
            settled = not any(one.code == "IL104" and one.fix is not None for one in findings)
            known = ReadStep(step, findings, self.broken, torn, bad_ids, unread, self.saw_empty, settled)
        else:
            if known.findings:
                self.sink.extend(known.findings)
            if known.bad_ids or known.unread:
                self.bad_ids += known.bad_ids
                self.unread += known.unread
        self._memory.now[node] = known
        return known.step

    inputs_open = False

    def workflow(self, document: Document) -> Workflow | None:
        root = document.root
        if root is None:
            return None
        found = self.follow(root, None)
        if found is None:
            return None
        start = Span(root.piece, root.start, root.start)
        rows = self.rows(found, start, WORKFLOW.fields, WORKFLOW.title, ignore_x=True)
        if rows is None:
            return None
        self.broken = bool(document.broken)
        self._torn_off = _torn_keys(document)
        if document.broken_keys or (document.broken and "steps" not in rows.rows):
            rows.unknown = True
        self.missing(rows, (x for x in WORKFLOW.fields.values() if x.required), WORKFLOW.title)
        steps = None
        if row := rows.rows.get("steps"):
            steps = self.step_list(row.value, row.via, row.key, "IL113", "A workflow needs at least one step.")
        outputs = self.object(rows, "outputs")
        inputs_row = rows.rows.get("inputs")
        simple: Any = self.simple
        return Workflow(
            found.span,
            simple(rows, "workflow"),
            simple(rows, "version"),
            simple(rows, "description"),
            self._inputs(rows),
            inputs_row.key if inputs_row else None,
            self._secrets(rows),
            self._admission(rows),
            self._budget(rows),
            simple(rows, "idempotency_key"),
            simple(rows, "deadline"),
            simple(rows, "compensate_on_failure"),
            steps,
            outputs,
            self.handlers(rows, "on_cancel"),
            self.handlers(rows, "on_deadline"),
            rows.keys,
            bool(document.broken),
            (*document.broken_ids, *self.bad_ids),
            self.inputs_open or _torn(document, rows, "inputs"),
            tuple(dict.fromkeys(self.unread)),
        )

    # -- inputs -----------------------------------------------------------------------------

    def _inputs(self, rows: Rows) -> dict[str, Input]:
        pair = self.found(rows, "inputs")
        if pair is None:
            return {}
        _, found = pair
        if not isinstance(found.node, Mapping):
            self.wrong(found, '"inputs"', "a mapping of names to types")
            self.inputs_open = True
            return {}
        inputs: dict[str, Input] = {}
        for key, value, alias in self.pairs(found.node, found.via):
            via = alias or found.via
            inner = self.follow(key, via)
            body = self.follow(value, via)
            if inner is None or body is None:
                self.inputs_open = True
                continue
            name = self.name(inner, "input", "An input")
            read = self._input(inner, body, name or "")
            self.inputs_open |= name is None
            if name is not None and read is not None and name not in inputs:
                inputs[name] = read
        return inputs

    def _input(self, key: Found, body: Found, name: str) -> Input | None:
        if not isinstance(body.node, Mapping | Sequence):
            assert isinstance(body.node, Scalar)
            word = self._type_word(body)
            return Input(name, key.span, word, body.span)
        rows = self.rows(body, key.span, INPUT.fields, INPUT.title)
        if rows is None:
            return Input(name, key.span, "any", body.span)
        self.missing(rows, (INPUT.fields["type"],), INPUT.title)
        pair = self.found(rows, "type")
        word = "any" if pair is None else self._type_word(pair[1])
        simple: Any = self.simple
        secret = simple(rows, "secret")
        default = self._default(rows)
        enum = self.literal_list(rows, "enum")
        read = Input(
            name,
            key.span,
            word,
            pair[1].span if pair else key.span,
            bool(secret and secret.value),
            default,
            enum,
            simple(rows, "required"),
        )
        self._check_default(read)
        return read

    def _type_word(self, found: Found) -> str:
        kind: Any = INPUT.fields["type"].type
        word = self.choice(found, kind, "The type of an input")
        return word if word in INPUT_TYPES else "any"

    def _default(self, rows: Rows) -> Setting[Value] | None:
        pair = self.found(rows, "default")
        if pair is None:
            return None
        row, found = pair
        value = self.value(found.node, found.via, template=False, title='"default"')
        return None if value is None else Setting(value, row.key, found.span)

    def _check_default(self, read: Input) -> None:
        allowed = None
        if read.enum is not None:
            allowed = [plain(item) for item in read.enum.value.items]
            for item in read.enum.value.items:
                if not has_type(plain(item), read.type):
                    self.sink.add("IL105", item.span, f'"{read.name}" is of type {read.type}, and this value is not.')
        if read.default is None:
            return
        value = plain(read.default.value)
        shown = _show(read.default.value)
        if not has_type(value, read.type):
            self.sink.add(
                "IL115",
                read.default.span,
                f'The default {shown} of "{read.name}" is not of its type, {read.type}.',
            )
        elif read.enum is not None and not any(_same(value, item) for item in allowed or ()):
            self.sink.add(
                "IL115",
                read.default.span,
                f'The default {shown} of "{read.name}" is not one of its allowed values.',
                f"Allowed are: {', '.join(_show(item) for item in read.enum.value.items[:20])}.",
            )

    def _secrets(self, rows: Rows) -> tuple[Secret, ...]:
        pair = self.found(rows, "secrets")
        if pair is None:
            return ()
        _, found = pair
        if not isinstance(found.node, Sequence):
            self.wrong(found, '"secrets"', "a list of names")
            return ()
        secrets: list[Secret] = []
        for item in found.node.items:
            inner = self.follow(item, found.via)
            if inner is None:
                continue
            name = self.name(inner, "secret", "A secret")
            if name is not None:
                secrets.append(Secret(name, inner.span))
        return tuple(secrets)

    # -- admission and budgets --------------------------------------------------------------

    def _admission(self, rows: Rows) -> RunConcurrency | None:
        pair = self.found(rows, "concurrency")
        if pair is None:
            return None
        row, found = pair
        fields: dict[str, Field] = dict(SHAPES["concurrency"].fields)
        fields.update(RUN_CONCURRENCY.fields)
        inner = self.rows(found, row.key, fields, "concurrency")
        if inner is None:
            return None
        for name in list(inner.rows):
            if name not in RUN_CONCURRENCY.fields:
                misplaced = inner.rows.pop(name)
                self.leave(misplaced.value)
                self.sink.add(
                    "IL302",
                    misplaced.key,
                    f'"{name}" means nothing for the admission of runs.',
                    "It belongs in the concurrency of a step.",
                )
        simple: Any = self.simple
        return RunConcurrency(
            row.key,
            simple(inner, "limit"),
            simple(inner, "on_busy"),
            simple(inner, "supersession_key"),
            inner.keys,
        )

    def _budget(self, rows: Rows) -> Budget | None:
        inner = self.nested(rows, "budget", "budget")
        if inner is None:
            return None
        simple: Any = self.simple
        return Budget(inner.key, **{name: simple(inner, name) for name in BUDGET.fields}, fields=inner.keys)


def _same(one: object, other: object) -> bool:
    """JSON equality: true is not 1."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    return one == other


def _show(value: Value) -> str:
    if isinstance(value, Literal):
        return f'"{value.data}"' if isinstance(value.data, str) else str(plain(value)).lower()
    return "map" if isinstance(value, MapValue) else "list" if isinstance(value, ListValue) else "value"
