"""Parser for CEL: text in, a tree and problems out, also for text that is half typed.

Accepts exactly what Google's runtime compiles without its checker; macros are expanded by the runtime at
parse time, so their forms are judged here too. Types and names are the checker's part. One expression
gives at most one syntax problem: what follows the first one is guesswork.
"""

from __future__ import annotations

import msgspec

from interlock.analyzer.expressions import lexer
from interlock.analyzer.expressions.ast import (
    Binary,
    Call,
    Entry,
    Field,
    Ident,
    Index,
    Item,
    ListLiteral,
    Literal,
    Logic,
    MapLiteral,
    Message,
    Missing,
    Node,
    Select,
    Ternary,
    Unary,
    children,
)
from interlock.analyzer.expressions.macros import MACROS, expand
from interlock.analyzer.expressions.problem import Problem

MAX_DEPTH = 32
"""Levels of nesting that the runtime's parser takes, the expression itself being the first."""

_RELATIONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "in"})
_CLOSERS = frozenset({")", "]", "}"})


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """``tree`` is always there; without problems the runtime compiles the text."""

    tree: Node
    problems: tuple[Problem, ...]


def parse(text: str, start: int = 0, end: int | None = None) -> Parsed:
    """Parse ``text[start:end]``; all positions are offsets into ``text`` (IL201 for what is wrong)."""
    stop = len(text) if end is None else end
    parser = _Parser(text, start, stop)
    tree = parser.whole()
    problems = tuple(parser.problems)
    # Each level takes two characters at the least, so short texts need no measuring.
    if stop - start > 2 * MAX_DEPTH - 2 and too_deep(tree):
        problems = problems or (_too_deep(tree.start, tree.end),)
        tree = Missing(tree.start, tree.end)
    return Parsed(tree, problems)


def too_deep(tree: Node) -> bool:
    """Whether the tree has more levels than the runtime takes; needs no recursion to tell."""
    level: list[Node] = [tree]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return True
        level = [child for node in level for child in children(node)]
    return False


def _too_deep(start: int, end: int) -> Problem:
    return Problem(
        "IL201",
        start,
        end,
        f"the expression is nested deeper than {MAX_DEPTH} levels, which is more than is evaluated",
        "split it: compute a part in an earlier step",
    )


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str, start: int, stop: int) -> None:
        self.text = text
        self.stop = stop
        self.problems: list[Problem] = []
        self.depth = 0
        kinds: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        if stop - start > lexer.MAX_LENGTH:
            self.fail(
                start,
                stop,
                f"the expression is longer than {lexer.MAX_LENGTH} characters",
                "compute a part of it in an earlier step",
            )
            stop = start
        for match in lexer.TOKEN.finditer(text, start, stop):
            kind = match.lastgroup
            if kind == "space":
                continue
            if kind == "punct":
                kind = match[0]
            elif kind == "ident":
                if match[0] in lexer.KEYWORDS:
                    kind = match[0]
            elif kind == "bad":
                self.bad(match.start(), match[0])
                continue
            kinds.append(kind or "")
            starts.append(match.start())
            ends.append(match.end())
        kinds.append("end")
        starts.append(stop)
        ends.append(stop)
        self.kinds, self.starts, self.ends = kinds, starts, ends
        self.at = 0

    # -- problems ----------------------------------------------------------------------------------

    def fail(
        self,
        start: int,
        end: int,
        message: str,
        hint: str | None = None,
        fix: tuple[int, int, str] | None = None,
    ) -> None:
        """Report a problem unless there is one already."""
        if not self.problems:
            self.problems.append(Problem("IL201", start, end, message, hint, fix))

    def bad(self, at: int, character: str) -> None:
        hint: str | None = None
        fix: tuple[int, int, str] | None = None
        end = at + 1
        if character in "'\"":
            message = "this string is never closed, or holds a bad escape"
            hint = f"close it with {character}, and write a backslash twice"
            end = self.stop
        elif character in "&|=":
            double = character * 2
            message = f'"{character}" is not an operator of an expression'
            hint, fix = f'did you mean "{double}"?', (at, end, double)
        elif character == "`":
            message = "backticks hold the name of a field, of letters, digits, and _ . - / or a blank"
        elif character == "$":
            message = '"$" has no meaning in an expression'
            hint = "names stand as they are: {inputs.x}"
        else:
            message = f'"{character}" has no meaning in an expression'
        self.fail(at, end, message, hint, fix)

    def unexpected(self, wanted: str) -> None:
        """The current token is not what the grammar wants."""
        kind = self.kinds[self.at]
        start, end = self.starts[self.at], self.ends[self.at]
        if kind == "end":
            self.fail(self.last_end(), self.stop, f"the expression ends where {wanted} should stand")
            return
        word = self.text[start:end]
        hint = None
        fix: tuple[int, int, str] | None = None
        if kind == "ident" and word in ("and", "or", "not"):
            operator = {"and": "&&", "or": "||", "not": "!"}[word]
            hint, fix = f'did you mean "{operator}"?', (start, end, operator)
        elif kind == "string":
            word = "a string"
        self.fail(start, end, f'"{word}" stands where {wanted} should stand', hint, fix)

    def last_end(self) -> int:
        return self.ends[self.at - 1] if self.at else self.starts[0]

    def expect(self, kind: str, wanted: str) -> bool:
        if self.kinds[self.at] == kind:
            self.at += 1
            return True
        self.unexpected(wanted)
        return False

    # -- grammar -----------------------------------------------------------------------------------

    def whole(self) -> Node:
        if self.kinds[0] == "end":
            at = self.starts[0]
            self.fail(at, at, "there is no expression here", "write an expression")
            return Missing(at, at)
        tree = self.expression()
        if self.kinds[self.at] != "end":
            self.unexpected("an operator or the end of the expression")
        return tree

    def expression(self) -> Node:
        """``or`` or ``or ? or : expression``. The runtime counts the nesting of this rule."""
        self.depth += 1
        if self.depth > MAX_DEPTH + 1:
            problem = _too_deep(self.starts[self.at], self.stop)
            self.fail(problem.start, problem.end, problem.message, problem.hint)
            self.at = len(self.kinds) - 1
            self.depth -= 1
            return Missing(problem.start, self.last_end())
        start = self.starts[self.at]
        node = self.logic_or()
        if self.kinds[self.at] == "?":
            self.at += 1
            then = self.logic_or()
            if self.expect(":", '":" and the other choice'):
                otherwise = self.expression()
            else:
                otherwise = self.missing()
            node = Ternary(min(start, node.start), self.last_end(), node, then, otherwise)
        self.depth -= 1
        return node

    def logic_or(self) -> Node:
        start = self.starts[self.at]
        node = self.logic_and()
        if self.kinds[self.at] != "||":
            return node
        operands = [node]
        while self.kinds[self.at] == "||":
            self.at += 1
            operands.append(self.logic_and())
        return Logic(min(start, node.start), self.last_end(), "||", tuple(operands))

    def logic_and(self) -> Node:
        start = self.starts[self.at]
        node = self.relation()
        if self.kinds[self.at] != "&&":
            return node
        operands = [node]
        while self.kinds[self.at] == "&&":
            self.at += 1
            operands.append(self.relation())
        return Logic(min(start, node.start), self.last_end(), "&&", tuple(operands))

    def relation(self) -> Node:
        start = self.starts[self.at]
        node = self.sum()
        while (op := self.kinds[self.at]) in _RELATIONS:
            at = self.at
            self.at += 1
            right = self.sum()
            node = Binary(min(start, node.start), self.last_end(), op, node, right, self.starts[at], self.ends[at])
        return node

    def sum(self) -> Node:
        start = self.starts[self.at]
        node = self.product()
        while (op := self.kinds[self.at]) in ("+", "-"):
            at = self.at
            self.at += 1
            right = self.product()
            node = Binary(min(start, node.start), self.last_end(), op, node, right, self.starts[at], self.ends[at])
        return node

    def product(self) -> Node:
        start = self.starts[self.at]
        node = self.unary()
        while (op := self.kinds[self.at]) in ("*", "/", "%"):
            at = self.at
            self.at += 1
            right = self.unary()
            node = Binary(min(start, node.start), self.last_end(), op, node, right, self.starts[at], self.ends[at])
        return node

    def unary(self) -> Node:
        op = self.kinds[self.at]
        if op not in ("!", "-"):
            return self.member()
        at = self.at
        count = 0
        while self.kinds[self.at] == op:
            self.at += 1
            count += 1
        if op == "-" and count == 1 and self.kinds[self.at] in ("int", "double"):
            self.at = at
            return self.member()
        if self.kinds[self.at] == "-" and self.kinds[self.at + 1] in ("int", "double"):
            operand = self.member()
        elif self.kinds[self.at] in ("!", "-"):
            self.fail(
                self.starts[at],
                self.ends[self.at],
                '"!" and "-" cannot stand next to each other',
                "put the inner one into parentheses",
            )
            while self.kinds[self.at] in ("!", "-"):
                self.at += 1
            operand = self.member()
        else:
            operand = self.member()
        return Unary(self.starts[at], self.last_end(), op, count, operand)

    def member(self) -> Node:
        start = self.starts[self.at]
        node = self.primary()
        while True:
            kind = self.kinds[self.at]
            if kind == ".":
                node = self.select(node, start)
            elif kind == "[":
                self.at += 1
                optional = self.question()
                index = self.expression()
                self.close("]")
                node = Index(min(start, node.start), self.last_end(), node, index, optional)
            else:
                return node

    def question(self) -> bool:
        if self.kinds[self.at] == "?":
            self.at += 1
            return True
        return False

    def select(self, node: Node, start: int) -> Node:
        start = min(start, node.start)  # something missing stands before the token that took its place
        self.at += 1
        optional = self.question()
        kind = self.kinds[self.at]
        name_start, name_end = self.starts[self.at], self.ends[self.at]
        if kind == "escaped":
            self.at += 1
            field = self.text[name_start + 1 : name_end - 1]
            return Select(start, name_end, node, field, name_start, name_end, optional)
        if kind != "ident":
            at = self.last_end()
            if kind in lexer.KEYWORDS:
                word = self.text[name_start:name_end]
                self.fail(
                    name_start,
                    name_end,
                    f'"{word}" is a word of CEL itself and cannot stand after a dot',
                    f'write ["{word}"] instead',
                )
                self.at += 1
                return Select(start, name_end, node, word, name_start, name_end, optional)
            self.unexpected("the name of a member")
            return Select(start, at, node, "", at, at, optional)
        self.at += 1
        name = self.text[name_start:name_end]
        if self.kinds[self.at] == "(" and not optional:
            return self.call(start, name, name_start, name_end, node)
        return Select(start, name_end, node, name, name_start, name_end, optional)

    def call(
        self,
        start: int,
        name: str,
        name_start: int,
        name_end: int,
        target: Node | None,
        absolute: bool = False,
    ) -> Node:
        opened = self.ends[self.at]
        self.at += 1
        args: list[Node] = []
        commas: list[int] = []
        if self.kinds[self.at] != ")":
            args.append(self.expression())
            while self.kinds[self.at] == ",":
                commas.append(self.starts[self.at])
                self.at += 1
                args.append(self.expression())
        self.close(")")
        end = self.last_end()
        plain = Call(start, end, name, name_start, name_end, target, tuple(args), opened, tuple(commas), absolute)
        return expand(plain, self.fail) if name in MACROS and not absolute else plain

    def close(self, kind: str) -> None:
        """Take the closing bracket, skipping what cannot be read before it."""
        if self.kinds[self.at] == kind:
            self.at += 1
            return
        self.unexpected(f'"{kind}"')
        depth = 0
        at = self.at
        while self.kinds[at] != "end":
            if depth == 0 and self.kinds[at] == kind:
                self.at = at + 1
                return
            if self.kinds[at] in ("(", "[", "{"):
                depth += 1
            elif self.kinds[at] in _CLOSERS:
                depth -= 1
                if depth < 0:
                    return
            at += 1

    # -- primaries ---------------------------------------------------------------------------------

    def missing(self) -> Missing:
        at = self.last_end()
        return Missing(at, at)

    def primary(self) -> Node:
        kind = self.kinds[self.at]
        start, end = self.starts[self.at], self.ends[self.at]
        if kind == "ident":
            return self.name(start, absolute=False)
        if kind in _LITERALS:
            return self.literal(kind, start, end)
        if kind == "(":
            self.at += 1
            node = self.expression()
            self.close(")")
            return node
        if kind == "[":
            return self.list_literal(start)
        if kind == "{":
            return self.map_literal(start)
        if kind == "." and self.kinds[self.at + 1] == "ident":
            self.at += 1
            return self.name(start, absolute=True)
        if kind == "escaped":
            self.fail(start, end, "a name in backticks can stand only after a dot")
            self.at += 1
            return Missing(start, end)
        self.unexpected("a value")
        missing = self.missing()
        if kind in _RELATIONS or kind in ("&&", "||", "*", "/", "%", "+"):
            return missing  # the operator still joins what stands on its right
        if kind not in _CLOSERS and kind not in (",", ":", "?", "end"):
            self.at += 1
        return missing

    def name(self, start: int, absolute: bool) -> Node:
        at = self.at
        name_start, name_end = self.starts[at], self.ends[at]
        name = self.text[name_start:name_end]
        self.at += 1
        following = self.kinds[self.at]
        if following == "{" or following == ".":
            message = self.message(at, start)
            if message is not None:
                return message
        if name in lexer.RESERVED:
            self.fail(
                name_start,
                name_end,
                f'"{name}" is a reserved word of CEL and cannot be a name',
                "use another name; after a dot it may stand",
            )
        if following == "(":
            return self.call(start, name, name_start, name_end, None, absolute)
        return Ident(start, name_end, name, absolute)

    def message(self, first: int, start: int) -> Node | None:
        """``a.b.C{…}``: a chain of plain names directly before a brace."""
        at = first + 1
        kinds = self.kinds
        while kinds[at] == "." and kinds[at + 1] == "ident":
            at += 2
        if kinds[at] != "{":
            return None
        name = "".join(self.text[self.starts[i] : self.ends[i]] for i in range(first, at))
        name_end = self.ends[at - 1]
        self.at = at + 1
        fields: list[Field] = []
        while kinds[self.at] not in ("}", ",", "end"):
            optional = self.question()
            field_start, field_end = self.starts[self.at], self.ends[self.at]
            if kinds[self.at] not in ("ident", "escaped"):
                self.unexpected("the name of a field")
                break
            self.at += 1
            field = self.text[field_start:field_end].strip("`")
            if not self.expect(":", '":" and a value'):
                break
            fields.append(Field(field, field_start, field_end, self.expression(), optional))
            if kinds[self.at] != "," or kinds[self.at + 1] == "}":
                break
            self.at += 1
            if kinds[self.at] == ",":
                self.unexpected("a field")
        self.question_comma()
        self.close("}")
        return Message(start, self.last_end(), name, name_end, tuple(fields))

    def question_comma(self) -> None:
        if self.kinds[self.at] == ",":
            self.at += 1

    def list_literal(self, start: int) -> Node:
        self.at += 1
        items: list[Item] = []
        kinds = self.kinds
        while kinds[self.at] not in ("]", "end"):
            if kinds[self.at] == ",":
                if items:
                    self.unexpected("an element")
                break
            optional = self.question()
            items.append(Item(self.expression(), optional))
            if kinds[self.at] != "," or kinds[self.at + 1] == "]":
                break
            self.at += 1
        self.question_comma()
        self.close("]")
        return ListLiteral(start, self.last_end(), tuple(items))

    def map_literal(self, start: int) -> Node:
        self.at += 1
        entries: list[Entry] = []
        kinds = self.kinds
        while kinds[self.at] not in ("}", "end"):
            if kinds[self.at] == ",":
                if entries:
                    self.unexpected("an entry")
                break
            optional = self.question()
            key = self.expression()
            if self.expect(":", '":" and a value'):
                entries.append(Entry(key, self.expression(), optional))
            else:
                entries.append(Entry(key, self.missing(), optional))
            if kinds[self.at] != "," or kinds[self.at + 1] == "}":
                break
            self.at += 1
        self.question_comma()
        self.close("}")
        return MapLiteral(start, self.last_end(), tuple(entries))

    def literal(self, kind: str, start: int, end: int) -> Node:
        self.at += 1
        text = self.text[start:end]
        if kind == "string" or kind == "bytes":
            try:
                if kind == "string":
                    word, quote = lexer.string_value(text)
                    return Literal(start, end, "string", word, quote)
                data, quote = lexer.bytes_value(text)
                return Literal(start, end, "bytes", data, quote)
            except lexer.BadLiteral as error:
                self.fail(start, end, f"this literal has no value: {error}")
                return Missing(start, end)
        if kind == "-":
            kind = self.kinds[self.at]
            end = self.ends[self.at]
            text = "-" + self.text[self.starts[self.at] : end]
            self.at += 1
        if kind == "int":
            number = int(text, 16) if "x" in text else _decimal(text)
            if not -(1 << 63) <= number < 1 << 63:
                self.fail(
                    start,
                    end,
                    "this number does not fit into a 64-bit integer",
                    "write it with a decimal point",
                )
            return Literal(start, end, "int", number, plain="x" not in text)
        if kind == "double":
            return Literal(start, end, "double", float(text))
        if kind == "uint":
            digits = text[:-1]
            number = int(digits, 16) if "x" in digits else _decimal(digits)
            if number >= 1 << 64:
                self.fail(start, end, "this number does not fit into a 64-bit unsigned integer")
            return Literal(start, end, "uint", number)
        if kind == "null":
            return Literal(start, end, "null", None)
        return Literal(start, end, "bool", kind == "true")


_LITERALS = frozenset({"int", "uint", "double", "string", "bytes", "true", "false", "null", "-"})


def _decimal(text: str) -> int:
    """The number, or one that is too large for 64 bits where Python would refuse to read it."""
    digits = text.lstrip("-0") or "0"
    number = int(digits) if len(digits) < 30 else 1 << 65
    return -number if text.startswith("-") else number
