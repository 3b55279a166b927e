"""From syntax nodes to values: literals, templates, names, durations, choices.

Every method returns None where it reported an error; what depends on types of expressions or on
other steps is left to the rules.
"""

from __future__ import annotations

import re

from interlock.analyzer.expressions.problem import Problem
from interlock.analyzer.expressions.syntax import parse
from interlock.analyzer.expressions.template import split
from interlock.analyzer.findings import Edit, Fix, Sink, sentence
from interlock.analyzer.language import fields as f
from interlock.analyzer.language.names import TITLES, duration, legal_name, meant_duration, name_problem, spell_duration
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.language.table import RESOURCE_POLICIES, RUN_POLICIES
from interlock.analyzer.model.values import (
    Expression,
    ListValue,
    Literal,
    MapValue,
    Member,
    Setting,
    Template,
    Value,
)
from interlock.analyzer.source.text import Span
from interlock.analyzer.syntax.locate import locate
from interlock.analyzer.syntax.nodes import Alias, Mapping, Node, Scalar, Sequence
from interlock.analyzer.syntax.resolve import MERGE_MESSAGE, pairs

LARGEST = 2**63
_INPUT = re.compile(r"\binputs\s*(?:\.\s*([A-Za-z_]\w*)|\[\s*[\"']([^\"'\]]+)[\"']\s*\])")
_FILLED = frozenset({"params", "inputs", "outputs", "match"})
"""Mappings whose values are templates, though they themselves may be none."""
_NO_TIME = re.compile(r"(?:0+[dhms]?)+\Z")


def describe(node: Node) -> str:
    """What a node is, as messages say it."""
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Scalar):
        data = node.data
        if data is None:
            return "nothing" if not node.value else "null"
        if isinstance(data, bool):
            return f"the boolean {node.value}"
        if isinstance(data, int | float):
            return f"the number {node.value}"
        return "a text"
    return "an alias"


class Found:
    """A node as a reader meets it: behind its aliases, with the alias it was reached through."""

    __slots__ = ("node", "via")

    def __init__(self, node: Node, via: Span | None) -> None:
        self.node = node
        self.via = via

    @property
    def span(self) -> Span:
        node = self.node
        return Span(node.piece, node.start, node.end, self.via)


class ValueReader:
    """Reads scalars and value trees, and reports what is wrong with them.

    ``unread`` are the inputs that are named in what could not be used: whoever wrote it reads them.
    """

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.unread: list[str] = []

    def leave(self, node: Node) -> None:
        """Something that was reported is not looked into; what it names counts as read."""
        text = node.piece.text[node.start : node.end]
        if "inputs" in text:
            self.unread += (first or second for first, second in _INPUT.findall(text))

    # -- nodes ------------------------------------------------------------------------------

    def follow(self, node: Node, via: Span | None) -> Found | None:
        """The node behind aliases; None for an alias that leads nowhere (it was reported)."""
        while isinstance(node, Alias):
            if via is None:
                via = Span(node.piece, node.start, node.end)
            if node.target is None:
                return None
            node = node.target
        return Found(node, via)

    def wrong(self, found: Found, title: str, wanted: str, code: str = "IL105", hint: str | None = None) -> None:
        node = found.node
        self.leave(node)
        if code == "IL105" and isinstance(node, Scalar) and isinstance(node.data, str):
            if split(node.value).is_template:
                self.sink.add(
                    code,
                    found.span,
                    f"{title} takes {wanted}, and no template may stand here.",
                    "Write out its fields; their values may be templates."
                    if wanted == "a mapping" and title.strip('"') in _FILLED
                    else "Write the value out: it is needed before any run.",
                )
                return
        self.sink.add(code, found.span, f"{title} takes {wanted}, not {describe(node)}.", hint)

    def unquoted(self, found: Found, fixable: bool = True) -> Found | None:
        """Reports ``{x}`` without quotes, and gives the text that was meant."""
        node = found.node
        if not isinstance(node, Mapping) or not node.flow or len(node.entries) != 1:
            return None
        key, value = node.entries[0].key, node.entries[0].value
        if not isinstance(key, Scalar) or key.style != "plain" or key.value == "<<":
            return None
        if not isinstance(value, Scalar) or value.data is not None or value.end > value.start:
            return None
        if ":" in node.piece.text[key.end : node.end]:
            return None
        written = node.piece.text[node.start : node.end]
        fix = None
        quote = "'" if '"' in written or "\\" in written else '"'
        if fixable and quote not in written and "\n" not in written:
            fix = Fix("Put quotes around the template", (Edit(found.span, f"{quote}{written}{quote}"),))
        self.sink.add(
            "IL109",
            found.span,
            f'"{written}" without quotes is a mapping with one key, not a template.',
            "Put quotes around it.",
            fix=fix,
        )
        text = Scalar(node.piece, node.start, node.end, written, "plain", written)
        return Found(text, found.via)

    # -- templates and values ---------------------------------------------------------------

    def text(self, node: Scalar, via: Span | None) -> Literal | Template:
        """A string as a literal or a template; reports IL201 for what is wrong in its braces."""
        value = node.value
        span = Span(node.piece, node.start, node.end, via)
        if "{" not in value and "}" not in value:
            return Literal(value, span, node)
        cut = split(value)
        for problem in cut.problems:
            self._expression_problem(node, via, 0, problem)
        if cut.problems and not cut.is_template:
            # A brace too many: what was meant is not known, and nothing more is said about it.
            at = cut.problems[0].start
            return Template(value, (Expression("", None, node, at, via),), True, span, node)
        if not cut.is_template:
            return Literal("".join(part for part in cut.parts if isinstance(part, str)), span, node)
        parts: list[str | Expression] = []
        for part in cut.parts:
            if isinstance(part, str):
                parts.append(part)
                continue
            tree = None
            # What is wrong besides with an expression without an end is the same mistake: nobody can tell where
            # it was to end, or whether it was to be one.
            if part.closed and part.source.strip():
                parsed = parse(part.source)
                for problem in parsed.problems:
                    self._expression_problem(node, via, part.start, problem)
                tree = None if parsed.problems else parsed.tree
            parts.append(Expression(part.source, tree, node, part.start, via))
        return Template(value, tuple(parts), cut.whole, span, node)

    def _expression_problem(self, node: Scalar, via: Span | None, base: int, problem: Problem) -> None:
        first = locate(node, problem.start + base)
        last = max(first, locate(node, problem.end + base))
        self.sink.add(
            problem.code,
            Span(node.piece, first, last, via),
            sentence(problem.message),
            sentence(problem.hint) if problem.hint is not None else None,
        )

    def value(self, node: Node, via: Span | None, template: bool = True, title: str = "This") -> Value | None:
        """A value tree; None where the whole of it is unusable."""
        found = self.follow(node, via)
        if found is None:
            return None
        found = self.unquoted(found) or found
        inner = found.node
        if isinstance(inner, Scalar):
            return self._leaf(inner, found, template, title)
        if isinstance(inner, Sequence):
            items = (self.value(item, found.via, template, title) for item in inner.items)
            return ListValue(tuple(item for item in items if item is not None), found.span)
        assert isinstance(inner, Mapping)
        return self.mapping(found, template, title)

    def _leaf(self, node: Scalar, found: Found, template: bool, title: str) -> Value | None:
        data = node.data
        if isinstance(data, str):
            leaf = self.text(node, found.via)
            if isinstance(leaf, Template) and not template:
                self.wrong(found, title, "a literal value")
                return None
            return leaf
        if isinstance(data, float) and (data != data or data in (float("inf"), float("-inf"))):
            self.sink.add("IL105", found.span, f'"{node.value}" is no JSON number, and every value must be JSON.')
            return None
        if isinstance(data, int) and not isinstance(data, bool) and not -LARGEST <= data < LARGEST:
            data = float(data)
        return Literal(data, found.span, node)

    def mapping(self, found: Found, template: bool = True, title: str = "This", names: str | None = None) -> MapValue:
        """A mapping with free keys; keys of another kind than text are read as they are written."""
        node = found.node
        assert isinstance(node, Mapping)
        members: list[Member] = []
        for key, value, alias in self.pairs(node, found.via):
            via = alias or found.via
            inner = self.follow(key, via)
            if inner is None:
                continue
            if not isinstance(inner.node, Scalar):
                self.sink.add("IL105", inner.span, f"A key must be a text, not {describe(inner.node)}.")
                continue
            name = inner.node.value
            if names is not None and (why := name_problem(names, name)):
                self.bad_name(inner.span, names, name, why)
            read = self.value(value, via, template, title)
            if read is not None:
                members.append(Member(name, inner.span, read))
        return MapValue(tuple(members), found.span)

    def pairs(self, node: Mapping, via: Span | None) -> list[tuple[Node, Node, Span | None]]:
        """The entries with merges applied; what came through an alias carries its span."""
        entries: list[tuple[Node, Node, Span | None]] = []
        wrong: list[Node] = []
        for key, value, alias in pairs(node, wrong):
            span = None
            if alias is not None and via is None:
                span = Span(alias.piece, alias.start, alias.end)
            entries.append((key, value, span))
        for bad in wrong:
            self.sink.add("IL105", Span(bad.piece, bad.start, bad.end, via), sentence(MERGE_MESSAGE))
        return entries

    # -- scalars of one kind ----------------------------------------------------------------

    def bad_name(self, span: Span, kind: str, word: str, why: str) -> None:
        shown = word if len(word) <= 80 else word[:77] + "…"
        legal = legal_name(kind, word)
        hint = f'Write it as "{legal}", here and where it is read.' if legal is not None else None
        self.sink.add("IL106", span, f'"{shown}" is no {TITLES.get(kind, kind)}: it {why}.', hint)

    def name(self, found: Found, kind: str, title: str) -> str | None:
        node = found.node
        if not isinstance(node, Scalar):
            self.wrong(found, title, f"a {TITLES.get(kind, kind)}")
            return None
        if kind == "block" and (not isinstance(node.data, str) or split(node.value).is_template):
            self.wrong(found, title, "a block name, written out")
            return None
        if not isinstance(node.data, str):
            self.sink.add("IL106", found.span, f"{title} takes a {TITLES.get(kind, kind)}, not {describe(node)}.")
            return None
        why = name_problem(kind, node.value)
        if why is not None:
            self.bad_name(found.span, kind, node.value, why)
            return None
        return node.value

    def plain_text(self, found: Found, title: str, maximum: int | None) -> str | None:
        node = found.node
        if not isinstance(node, Scalar) or not isinstance(node.data, str):
            written = node.value if isinstance(node, Scalar) and len(node.value) <= 60 else ""
            self.wrong(found, title, "a text", hint=f'Put quotes around it: "{written}".' if written else None)
            return None
        leaf = node.value
        if "{" in leaf or "}" in leaf:
            cut = split(leaf)
            if cut.is_template:
                self.wrong(found, title, "a text")
                return None
            leaf = "".join(part for part in cut.parts if isinstance(part, str)) if not cut.problems else leaf
        if maximum is not None and len(leaf) > maximum:
            self.sink.add("IL105", found.span, f"{title} takes at most {maximum} characters, and this has {len(leaf)}.")
            return None
        return leaf

    def template_text(self, found: Found, title: str, code: str = "IL105") -> Value | None:
        """A text that may hold expressions, as a key or a run id."""
        found = self.unquoted(found) or found
        node = found.node
        if not isinstance(node, Scalar) or not isinstance(node.data, str):
            self.wrong(found, title, "a text", code)
            return None
        return self.text(node, found.via)

    def seconds(self, found: Found, title: str) -> float | None:
        node = found.node
        if isinstance(node, Mapping | Sequence):
            self.wrong(found, title, "a duration such as 30s, 5m or 1h30m")
            return None
        data = node.data if isinstance(node, Scalar) else None
        if isinstance(data, str | int) and not isinstance(data, bool):
            if (seconds := duration(data)) is not None:
                return seconds
        shown = node.value if isinstance(node, Scalar) else ""
        meant = meant_duration(shown)
        self.sink.add(
            "IL111",
            found.span,
            f'"{shown}" is {"no time at all" if _NO_TIME.match(shown) else "no duration"}.',
            f'Write "{meant}".'
            if meant is not None
            else "Write a positive time such as 30s, 5m, 2h, 1d or 1h30m, or a whole number of seconds.",
        )
        return None

    def whole(self, found: Found, kind: f.Whole, title: str) -> int | None:
        node = found.node
        data = node.data if isinstance(node, Scalar) else None
        if isinstance(data, int) and not isinstance(data, bool) and kind.minimum <= data < LARGEST:
            return data
        if kind.code == "IL105":
            if isinstance(data, int) and not isinstance(data, bool):
                self.sink.add(
                    "IL105",
                    found.span,
                    f"{title} takes a whole number of at least {kind.minimum}, not {data}.",
                )
            else:
                self.wrong(found, title, f"a whole number of at least {kind.minimum}")
            return None
        number = isinstance(data, int | float) and not isinstance(data, bool)
        shown = describe(node)
        if isinstance(node, Scalar) and isinstance(data, str):
            shown = f'"{node.value}"'
        self.sink.add(
            kind.code,
            found.span,
            f"{title} takes a whole number of at least {kind.minimum}, not {shown}.",
            f"Write a whole number, {kind.minimum} or more."
            if number
            else "Write it as a number: it can be no expression.",
        )
        return None

    def choice(self, found: Found, kind: f.Choice, title: str) -> str | None:
        node = found.node
        if isinstance(node, Mapping | Sequence) and kind.code == "IL112":
            self.wrong(found, title, "one of " + ", ".join(kind.words))
            return None
        word = node.value if isinstance(node, Scalar) else ""
        if isinstance(node, Scalar) and isinstance(node.data, str) and word in kind.words:
            return word
        near = nearest(word, kind.words) if word else None
        fix = None
        if near is not None:
            fix = Fix(f'Change it to "{near}"', (Edit(found.span, near),))
        shown = f'"{word}"' if word else describe(node)
        elsewhere = None
        if kind.code == "IL304" and word in (*RUN_POLICIES, *RESOURCE_POLICIES):
            near = None
            fix = Fix('Change it to "wait", the default', (Edit(found.span, "wait"),))
            what = "resource, in a step" if word in RESOURCE_POLICIES else "admission of runs, at the top level"
            elsewhere = f'"{word}" is a policy for the {what}.'
        self.sink.add(
            kind.code,
            found.span,
            f"{title} is one of {', '.join(kind.words)}, not {shown}.",
            f'Did you mean "{near}"?' if near else elsewhere,
            fix=fix,
        )
        return near

    def flag(self, found: Found, title: str) -> bool | None:
        node = found.node
        if isinstance(node, Scalar) and isinstance(node.data, bool):
            return node.data
        self.wrong(found, title, "true or false")
        return None


__all__ = ["Found", "Setting", "ValueReader", "describe", "spell_duration"]
