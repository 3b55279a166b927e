"""Reads steps: their kinds, their fields, and the step lists inside them (sections 5 to 9)."""

from __future__ import annotations

import re
from typing import Any

from interlock.analyzer.expressions.syntax import parse
from interlock.analyzer.findings import Sink
from interlock.analyzer.language import fields as f
from interlock.analyzer.language.table import KINDS, SHAPES, STEP
from interlock.analyzer.model.nodes import (
    BlockCall,
    Branch,
    Branches,
    Broken,
    Compensate,
    Condition,
    Delay,
    DependencyWait,
    ForEach,
    Kind,
    Retry,
    RunWorkflow,
    Section,
    SignalWait,
    StartWorkflows,
    Step,
    StepList,
)
from interlock.analyzer.model.read_fields import FieldReader, Row, Rows
from interlock.analyzer.model.read_values import Found
from interlock.analyzer.model.values import ListValue, Literal, Setting, Template
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.nodes import Mapping, Node, Scalar, Sequence

_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SWITCHES = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}
_FORMS = {
    "wait_for_workflow": ("one", False),
    "wait_for_workflows": ("many", False),
    "wait_for_agents": ("many", True),
    "wait_for_workflow_group": ("group", False),
    "wait_for_agent_group": ("group", True),
}
_ANSWERS = {
    "wait_for_approval": ("approval", ("approval",)),
    "wait_for_input": ("input", ("input",)),
    "wait_for_decision": ("decision", ("approved", "rejected")),
}


class StepReader(FieldReader):
    """Reads step lists into the model.

    ``broken`` tells that parts of the document could not be parsed: a list may then look empty.
    ``bad_ids`` are the ids that are no legal names, and the names that expressions see in them:
    what refers to such a step is not one mistake more.  ``torn`` is set for the next step alone: a
    key of it stands in what could not be read.  ``saw_empty`` tells that a list looked empty: what was
    said then depends on ``broken``, and nothing else does.
    """

    broken = False
    torn = False
    saw_empty = False

    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self.bad_ids: list[str] = []

    def step_list(self, node: Node, via: Span | None, key: Span, empty_code: str, empty: str) -> StepList | None:
        """The steps of a list; an empty one is ``empty_code`` at ``key`` or at the value."""
        found = self.follow(node, via)
        if found is None:
            return None
        inner = found.node
        if isinstance(inner, Scalar) and inner.data is None:
            self.saw_empty = True
            if not self.broken:
                self.sink.add(empty_code, key, empty, "Add at least one step.")
            return None
        if not isinstance(inner, Sequence):
            self.wrong(found, '"steps"', "a list of steps")
            return None
        self.saw_empty = self.saw_empty or not inner.items
        if not inner.items and empty_code and not self.broken:
            self.sink.add(empty_code, key if empty_code == "IL309" else found.span, empty, "Add at least one step.")
            return None
        steps = [self.step(item, found.via) for item in inner.items]
        return StepList(key, found.span, tuple(step for step in steps if step is not None))

    def handlers(self, rows: Rows, name: str) -> StepList | None:
        """``on_cancel`` or ``on_deadline``: blocks only (IL415)."""
        row = rows.rows.get(name)
        if row is None:
            return None
        read = self.step_list(row.value, row.via, row.key, "IL113", f'"{name}" has no steps.')
        for step in read.steps if read else ():
            if not isinstance(step.kind, BlockCall | Broken):
                self.sink.add(
                    "IL415",
                    step.kind.key,
                    f'"{name}" holds blocks only, and "{step.kind_name}" is none.',
                    "The end of the run is decided when its handlers run: nothing can be waited for there.",
                )
        return read

    def step(self, node: Node, via: Span | None) -> Step | None:
        torn, self.torn = self.torn, False
        found = self.follow(node, via)
        if found is None:
            return None
        rows = self.rows(found, found.span, STEP.fields, STEP.title, KINDS)
        if rows is None:
            return None
        rows.unknown = rows.unknown or torn
        kind_row, too_many = self._kind_row(rows)
        span = found.span
        if kind_row is None:
            kind: Kind = Broken(span)
            kind_name, family = "", ""
        else:
            assert isinstance(kind_row.field, f.KindRow)
            kind_name = kind_row.field.name
            kind, family, inner_when = self._kind(kind_row, rows)
        if family and kind_row is not None:
            self.misplaced(rows, family, kind_row.key, too_many)
        self.missing(rows, (STEP.fields["id"],), STEP.title)
        identifier = self.simple(rows, "id")
        written = "" if identifier is not None else self._bad_id(rows)
        when = self.condition(rows, "when")
        inner = False
        spare: Condition | None = None
        if kind_row is not None and inner_when is not None:
            if when is not None or "when" in rows.rows:
                self._double_when(when, inner_when)
                spare = inner_when
            else:
                when, inner = inner_when, True
        id_row = rows.rows.get("id")
        return Step(
            str(identifier.value) if identifier else "",
            identifier.span if identifier else (id_row.key if id_row else _start(span)),
            span,
            kind,
            kind_name,
            when,
            inner,
            self._retry(rows),
            self.simple(rows, "timeout"),  # type: ignore[arg-type]
            self.simple(rows, "cost_units"),  # type: ignore[arg-type]
            self._compensate(rows),
            self._next(rows),
            rows.keys,
            spare,
            rows.unknown,
            written,
        )

    def _bad_id(self, rows: Rows) -> str:
        """Takes note of what stands in the place of an id, and gives it as messages show it."""
        pair = self.found(rows, "id")
        if pair is None or not isinstance(pair[1].node, Scalar):
            return ""
        word = pair[1].node.value
        self.bad_ids += {word, *_NAMES.findall(word)}
        line = " ".join(word.split())
        return line if len(line) <= 60 else line[:57] + "…"

    def _double_when(self, outer: Condition | None, inner: Condition) -> None:
        from interlock.analyzer.model.mend import join_conditions

        self.sink.add(
            "IL315",
            inner.key,
            '"when" stands on the step and inside "concurrency".',
            "Keep one of them, which may ask for both.",
            fix=join_conditions(outer.span, inner.key, inner.span) if outer is not None else None,
        )

    def _kind_row(self, rows: Rows) -> tuple[Row | None, tuple[str, ...]]:
        """The row that gives the kind; IL107 for none, and for each one too many, with their families."""
        kinds = [row for row in rows.rows.values() if isinstance(row.field, f.KindRow)]
        if not kinds:
            if not rows.unknown:
                self.sink.add(
                    "IL107",
                    _start(rows.span),
                    "This step has no kind, so it does nothing.",
                    "Give it one of: " + ", ".join(KINDS) + ".",
                )
            return None, ()
        kinds.sort(key=lambda row: row.key.offset)
        first = kinds[0].field.name
        too_many: list[str] = []
        for row in kinds[1:]:
            assert isinstance(row.field, f.KindRow)
            del rows.rows[row.field.name]
            self.leave(row.value)
            too_many.extend(row.field.families)
            self.sink.add(
                "IL107",
                row.key,
                f'A step has one kind: this one is a "{first}" already, so "{row.field.name}" cannot stand here.',
                "Make it a step of its own.",
            )
        return kinds[0], tuple(too_many)

    def condition(self, rows: Rows, name: str) -> Condition | None:
        pair = self.found(rows, name)
        if pair is None:
            return None
        row, found = pair
        found = self.unquoted(found) or found
        node = found.node
        if isinstance(node, Scalar):
            if isinstance(node.data, bool):
                return Condition(node.data, row.key, found.span)
            if isinstance(node.data, str):
                leaf = self.text(node, found.via)
                if isinstance(leaf, Template):
                    return Condition(leaf, row.key, found.span)
                if "{" in node.value or "}" in node.value:
                    return None
        hint = _braces(node.value) if isinstance(node, Scalar) and isinstance(node.data, str) else None
        self.wrong(found, '"when"', "true, false, or a template of one boolean expression", hint=hint)
        return None

    # -- kinds ------------------------------------------------------------------------------

    def _kind(self, row: Row, step: Rows) -> tuple[Kind, str, Condition | None]:
        """The kind, its family, and the condition that stood inside it."""
        kind_row = row.field
        assert isinstance(kind_row, f.KindRow)
        name = kind_row.name
        if name == "block":
            return self._block(row, step), "block", None
        found = self.follow(row.value, row.via)
        family = kind_row.families[0]
        if found is None:
            return Broken(row.key), family if len(kind_row.families) == 1 else "", None
        if name == "delay" and not isinstance(found.node, Mapping):
            seconds = self.seconds(found, '"delay"')
            setting = None if seconds is None else Setting(seconds, row.key, found.span)
            return Delay(row.key, seconds=setting), family, None
        shape = SHAPES[name]
        if name == "concurrency" and isinstance(found.node, Scalar) and found.node.data is None:
            return self._step_concurrency(row.key, Rows(row.key, found.span))
        inner = self.rows(found, row.key, shape.fields, shape.title if name != "concurrency" else name)
        if name == "concurrency":
            if inner is None:
                return Broken(row.key), "", None
            return self._step_concurrency(row.key, inner)
        if inner is None:
            return Broken(row.key), family, None
        self.missing(inner, (x for x in shape.fields.values() if x.required), shape.title)
        return self._plain_kind(name, row.key, inner), family, None

    def _block(self, row: Row, step: Rows) -> BlockCall:
        found = self.follow(row.value, row.via)
        block = None
        if found is not None and self.unquoted(found) is None:
            word = self.name(found, "block", '"block"')
            block = Setting(word, row.key, found.span) if word is not None else None
        return BlockCall(row.key, block, self.object(step, "params"))

    def _step_concurrency(self, key: Span, rows: Rows) -> tuple[Kind, str, Condition | None]:
        has_branches, has_resource = "branches" in rows.rows, "resource" in rows.rows
        family = "branches" if has_branches else "resource"
        if has_branches and has_resource:
            self.sink.add(
                "IL301",
                key,
                'This mixes parallel branches and a resource: "branches" and "resource" exclude each other.',
                "Make two steps of it, or put the resource inside a branch.",
            )
            family = ""
        elif not has_branches and not has_resource and not rows.unknown:
            self.sink.add(
                "IL301",
                key,
                'This is neither parallel branches nor a section: it has no "branches" and no "resource".',
                'Add "branches" or "resource".',
            )
            family = ""
        elif not has_branches and not has_resource:
            family = ""
        if family:
            self.misplaced(rows, family, key)
        when = self.condition(rows, "when")
        kind: Kind
        if has_branches:
            kind = self._branches(key, rows)
            if not family and "steps" in rows.rows:
                self._section_steps(rows)
        else:
            kind = self._section(key, rows)
        return kind, family, when

    def _branches(self, key: Span, rows: Rows) -> Branches:
        row = rows.rows["branches"]
        branches: list[Branch] = []
        found = self.follow(row.value, row.via)
        if found is not None:
            node = found.node
            if isinstance(node, Mapping) and node.entries:
                branches = self._each_branch(found)
            elif isinstance(node, Mapping) or (isinstance(node, Scalar) and node.data is None):
                self.sink.add("IL309", row.key, '"branches" has no branches.', "Add at least one.")
            else:
                self.wrong(found, '"branches"', "a mapping of names to branches")
        return Branches(
            key,
            tuple(branches),
            row.key,
            self.simple(rows, "limit"),  # type: ignore[arg-type]
            self.simple(rows, "on_error"),  # type: ignore[arg-type]
            rows.keys,
        )

    def _each_branch(self, found: Found) -> list[Branch]:
        branches: list[Branch] = []
        shape = SHAPES["branch"]
        assert isinstance(found.node, Mapping)
        for key, value, alias in self.pairs(found.node, found.via):
            via = alias or found.via
            inner = self.follow(key, via)
            if inner is None:
                continue
            name = self.name(inner, "branch", "A branch")
            body = self.follow(value, via)
            if body is None:
                continue
            if isinstance(body.node, Scalar) and body.node.data is None:
                self._empty_branch(inner)
                branches.append(Branch(name or "", inner.span, None, None))
                continue
            rows = self.rows(body, inner.span, shape.fields, shape.title)
            if rows is None:
                continue
            steps = None
            if row := rows.rows.get("steps"):
                steps = self.step_list(row.value, row.via, inner.span, "IL309", f'Branch "{name or ""}" has no steps.')
            elif not rows.unknown:
                self._empty_branch(inner)
            branches.append(Branch(name or "", inner.span, steps, self.object(rows, "outputs")))
        return branches

    def _empty_branch(self, key: Found) -> None:
        if not isinstance(key.node, Scalar):
            return  # no name, which has been told
        self.sink.add("IL309", key.span, f'Branch "{key.node.value}" has no steps.', "Add at least one step.")

    def _section_steps(self, rows: Rows) -> StepList | None:
        row = rows.rows.get("steps")
        if row is None:
            return None
        found = self.follow(row.value, row.via)
        if found is None or (isinstance(found.node, Scalar) and found.node.data is None):
            return None
        return self.step_list(row.value, row.via, row.key, "", "")

    def _section(self, key: Span, rows: Rows) -> Section:
        pair = self.found(rows, "resource")
        resource = None
        if pair is not None:
            row, found = pair
            node = found.node
            if isinstance(node, Scalar) and node.data is None:
                self.sink.add("IL311", found.span if node.value else row.key, "A resource key must not be empty.")
            else:
                value = self.template_text(found, '"resource"')
                resource = None if value is None else Setting(value, row.key, found.span)
        steps = self._section_steps(rows)
        return Section(
            key,
            resource,
            self.simple(rows, "limit"),  # type: ignore[arg-type]
            self.simple(rows, "on_busy"),  # type: ignore[arg-type]
            self.simple(rows, "lifetime"),  # type: ignore[arg-type]
            self.simple(rows, "protected"),  # type: ignore[arg-type]
            steps,
            self.object(rows, "outputs"),
            rows.keys,
            (steps is None or not steps.steps) and self._may_have_steps(rows),
        )

    def _may_have_steps(self, rows: Rows) -> bool:
        """Whether something was written that is no readable list of steps, but may be meant as one."""
        pair = self.found(rows, "steps")
        if pair is None:
            return rows.unknown or "steps" in rows.rows
        node = pair[1].node
        return bool(node.items) if isinstance(node, Sequence) else not isinstance(node, Scalar) or node.data is not None

    def _plain_kind(self, name: str, key: Span, rows: Rows) -> Kind:
        if name == "for_each":
            return self._for_each(key, rows)
        if name == "delay":
            return Delay(key, until=self.simple(rows, "until"))  # type: ignore[arg-type]
        if name == "run_workflow":
            return RunWorkflow(
                key,
                self.simple(rows, "workflow"),  # type: ignore[arg-type]
                self.object(rows, "inputs"),
                self.simple(rows, "result_key"),  # type: ignore[arg-type]
                rows.keys,
            )
        if name in ("start_workflows", "start_agents"):
            return StartWorkflows(
                key,
                name == "start_agents",
                self.list_or_template(rows, "items"),
                self.simple(rows, "workflow"),  # type: ignore[arg-type]
                self.simple(rows, "payload_key"),  # type: ignore[arg-type]
                self.simple(rows, "inherit_state"),  # type: ignore[arg-type]
                self.simple(rows, "result_key"),  # type: ignore[arg-type]
                self.simple(rows, "group_key"),  # type: ignore[arg-type]
                rows.keys,
            )
        if name in _FORMS:
            return self._dependency(name, key, rows)
        return self._signal(name, key, rows)

    def _for_each(self, key: Span, rows: Rows) -> ForEach:
        steps = None
        if row := rows.rows.get("steps"):
            steps = self.step_list(row.value, row.via, row.key, "IL113", '"for_each" has no steps.')
        return ForEach(
            key,
            self.list_or_template(rows, "items"),
            self.simple(rows, "as"),  # type: ignore[arg-type]
            self.simple(rows, "limit"),  # type: ignore[arg-type]
            self.simple(rows, "mode"),  # type: ignore[arg-type]
            self.simple(rows, "quorum"),  # type: ignore[arg-type]
            steps,
            self.object(rows, "outputs"),
            rows.keys,
        )

    def _dependency(self, name: str, key: Span, rows: Rows) -> DependencyWait:
        form, agents = _FORMS[name]
        runs: Any = None
        if form == "one":
            runs = self.simple(rows, "workflow")
        elif form == "many":
            runs = self.list_or_template(rows, "workflows")
            if runs is not None and isinstance(runs.value, ListValue):
                for item in runs.value.items:
                    if not isinstance(item, Template) and not (
                        isinstance(item, Literal) and isinstance(item.data, str)
                    ):
                        self.sink.add("IL105", item.span, "A run id is a text.")
        return DependencyWait(
            key,
            form,
            agents,
            runs,
            self.simple(rows, "group") if form == "group" else None,  # type: ignore[arg-type]
            self.simple(rows, "mode") if form != "one" else None,  # type: ignore[arg-type]
            self.simple(rows, "quorum") if form != "one" else None,  # type: ignore[arg-type]
            self.simple(rows, "result_key"),  # type: ignore[arg-type]
            rows.keys,
        )

    def _signal(self, name: str, key: Span, rows: Rows) -> SignalWait:
        mode: Any = None
        match: Any = None
        correlation: Any = None
        if name in _ANSWERS:
            form, words = _ANSWERS[name]
            names = tuple(Setting(word, key, key) for word in words)
        elif name == "wait_for_signal":
            form = "signal"
            one: Any = self.simple(rows, "name")
            names = (one,) if one is not None else ()
        else:
            form = "signals"
            mode = self.simple(rows, "mode")
            names = self._signal_names(rows)
        if form != "decision":
            match = self.object(rows, "match")
            correlation = self.simple(rows, "correlation_key")
        return SignalWait(
            key,
            form,
            names,
            mode,
            self.simple(rows, "result_key"),  # type: ignore[arg-type]
            match,
            correlation,
            rows.keys,
        )

    def _signal_names(self, rows: Rows) -> tuple[Setting[str], ...]:
        pair = self.found(rows, "names")
        if pair is None:
            return ()
        _, found = pair
        node = found.node
        if not isinstance(node, Sequence):
            self.wrong(found, '"names"', "a list of signal names")
            return ()
        if not node.items:
            self.sink.add("IL105", found.span, '"names" takes at least one signal name, and this list is empty.')
            return ()
        names: list[Setting[str]] = []
        for item in node.items:
            inner = self.follow(item, found.via)
            if inner is None:
                continue
            word = self.plain_text(inner, "A signal's name", 128)
            if word is not None:
                names.append(Setting(word, inner.span, inner.span))
        return tuple(names)

    # -- small mappings ---------------------------------------------------------------------

    def nested(self, rows: Rows, name: str, shape_name: str) -> Rows | None:
        pair = self.found(rows, name)
        if pair is None:
            return None
        row, found = pair
        shape = SHAPES[shape_name]
        inner = self.rows(found, row.key, shape.fields, shape.title)
        if inner is not None:
            self.missing(inner, (x for x in shape.fields.values() if x.required), shape.title)
        return inner

    def _retry(self, step: Rows) -> Retry | None:
        rows = self.nested(step, "retry", "retry")
        if rows is None:
            return None
        return Retry(
            rows.key,
            self.simple(rows, "max_attempts"),  # type: ignore[arg-type]
            self.simple(rows, "delay"),  # type: ignore[arg-type]
            self.simple(rows, "backoff"),  # type: ignore[arg-type]
            self.simple(rows, "max_delay"),  # type: ignore[arg-type]
        )

    def _compensate(self, step: Rows) -> Compensate | None:
        rows = self.nested(step, "compensate", "compensate")
        if rows is None:
            return None
        block: Any = self.simple(rows, "block")
        return Compensate(rows.key, block, self.object(rows, "params"), rows.keys)

    def _next(self, rows: Rows) -> Setting[str | Template] | None:
        pair = self.found(rows, "next")
        if pair is None:
            return None
        row, found = pair
        found = self.unquoted(found) or found
        value = self.template_text(found, '"next"')
        if value is None:
            return None
        if isinstance(value, Template):
            return Setting(value, row.key, found.span)
        assert isinstance(value, Literal)
        return Setting(str(value.data), row.key, found.span)


def _start(span: Span) -> Span:
    """The place where a mapping starts, for what is missing in it."""
    return Span(span.piece, span.start, span.start, span.via)


def _braces(text: str) -> str | None:
    """What to write for a condition that was written without its braces; None where it is no expression."""
    word = text.strip()
    if word.lower() in _SWITCHES:
        return f"Write {_SWITCHES[word.lower()]} without quotes."
    if not word or len(word) > 120 or "\n" in word or parse(word).problems:
        return None
    quote = "'" if '"' in word or "\\" in word else '"'
    return f"Write {quote}{{{word}}}{quote}." if quote not in word else "Put braces around the expression."
