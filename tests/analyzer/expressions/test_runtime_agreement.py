"""Our front end and Google's runtime agree.

Ours accepts exactly what the runtime compiles; every function we list is there with the overloads we
list, and no others; the runtime never meets a type error in what the checker vouched for, and fails where
the checker says it must.
"""

from __future__ import annotations

import datetime
import itertools
import json
import pathlib
import re
from collections.abc import Iterable
from typing import Any

import pytest
from cel_expr_python import cel
from cel_expr_python.ext import ext_encoders, ext_math, ext_optional, ext_strings
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.analyzer.expressions import ast
from interlock.analyzer.expressions import types as t
from interlock.analyzer.expressions import uses as u
from interlock.analyzer.expressions.check import Checker, check
from interlock.analyzer.expressions.functions import FUNCTIONS, MACROS, METHODS, TYPE_NAMES, Function
from interlock.analyzer.expressions.syntax import parse

DATA = pathlib.Path(__file__).parent / "data"

VALUES: dict[str, tuple[t.Type, Any, Any]] = {
    "i": (t.INT, cel.Type.DYN, 2),
    "d": (t.DOUBLE, cel.Type.DYN, 1.5),
    "s": (t.STRING, cel.Type.DYN, "ab"),
    "b": (t.BOOL, cel.Type.DYN, True),
    "n": (t.NULL, cel.Type.DYN, None),
    "by": (t.BYTES, cel.Type.DYN, b"ab"),
    "li": (t.List(t.INT), cel.Type.DYN, [1, 2]),
    "ls": (t.List(t.STRING), cel.Type.DYN, ["a", "b"]),
    "m": (t.Map(t.INT), cel.Type.DYN, {"k": 1}),
    "r": (
        t.Record({"i": t.INT, "s": t.STRING, "w": t.String(("x", "y")), "in": t.Record({"d": t.DOUBLE})}),
        cel.Type.DYN,
        {"i": 3, "s": "c", "w": "x", "in": {"d": 2.5}},
    ),
    "ts": (t.TIMESTAMP, cel.Type.TIMESTAMP, datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)),
    "du": (t.DURATION, cel.Type.DURATION, datetime.timedelta(seconds=5)),
}
ENV = cel.NewEnv(
    variables={name: kind for name, (_, kind, _) in VALUES.items()},
    extensions=[
        ext_optional.ExtOptional(),
        ext_strings.ExtStrings(),
        ext_math.ExtMath(),
        ext_encoders.ExtEncoders(),
    ],
)
ACTIVATION = {name: value for name, (_, _, value) in VALUES.items()}
TYPE_ERRORS = re.compile(
    "No matching overloads|non-message|expected integer type|Invalid map key type|Invalid container"
    "|type conversion error|No value with name|must be numeric|expected a list"
)
CLASSES: dict[str, tuple[type[t.Type], ...]] = {
    "INT": (t.Int,),
    "UINT": (t.Uint,),
    "DOUBLE": (t.Double,),
    "STRING": (t.String,),
    "BYTES": (t.Bytes,),
    "BOOL": (t.Bool,),
    "NULL": (t.Null,),
    "TIMESTAMP": (t.Timestamp,),
    "DURATION": (t.Duration,),
    "TYPE": (t.TypeOf,),
    "OPTIONAL": (t.Optional,),
    "LIST": (t.List,),
    "MAP": (t.Map, t.Record),
}


class Names:
    def resolve(self, name: str) -> t.Type | None:
        return VALUES[name][0] if name in VALUES else None

    def names(self) -> Iterable[str]:
        return VALUES


def compiles(text: str) -> bool:
    try:
        ENV.compile(text, disable_check=True)
    except Exception:
        return False
    return True


def evaluate(text: str) -> tuple[str, str]:
    """The name of the result's type and the error, one of them empty."""
    try:
        value = ENV.compile(text, disable_check=True).eval(data=ACTIVATION)
        kind = value.type().name()
        if kind == "ERROR":
            return "", str(value.plain_value())
    except RuntimeError as error:
        return "", str(error)
    except TypeError:
        return "OPTIONAL", ""  # the binding cannot convert opaque values
    if "optional" in kind:
        return "OPTIONAL", ""
    return kind.split("<")[0], ""


# -- conformance expressions -------------------------------------------------------------------------

CONFORMANCE: list[dict[str, Any]] = json.loads((DATA / "conformance.json").read_text("utf-8"))


def test_conformance_expressions_are_accepted_as_the_runtime_does() -> None:
    wrong = [
        row["expr"]
        for row in CONFORMANCE
        if not row["compiles"] == compiles(row["expr"]) == (not parse(row["expr"]).problems)
    ]
    assert wrong == []


def test_conformance_results_have_the_type_that_was_inferred() -> None:
    class Nothing:
        def resolve(self, name: str) -> t.Type | None:
            return None

        def names(self) -> Iterable[str]:
            return ()

    expected = {
        "int": t.INT,
        "uint": t.UINT,
        "double": t.DOUBLE,
        "string": t.STRING,
        "bool": t.BOOL,
        "bytes": t.BYTES,
        "null": t.NULL,
        "list": t.List(t.DYN),
        "map": t.Map(t.DYN, t.DYN),
        "type": t.TYPE,
    }
    judged = 0
    for row in CONFORMANCE:
        if "type" in row and row["compiles"]:
            result = check(parse(row["expr"]).tree, Nothing())
            if not result.problems:
                judged += 1
                assert t.assignable(expected[row["type"]], result.type), row["expr"]
    assert judged > 1000


# -- the table of functions --------------------------------------------------------------------------

SAMPLES = {
    "int": "i",
    "uint": "1u",
    "double": "d",
    "string": "s",
    "bytes": "by",
    "bool": "b",
    "null": "n",
    "timestamp": "ts",
    "duration": "du",
    "strings": "ls",
    "ints": "li",
    "map": "m",
    "type": "type(i)",
    "optional": "optional.of(i)",
    "optionals": "[optional.of(i)]",
}


def argument_lists(most: int) -> list[tuple[str, ...]]:
    """Every choice of samples up to two arguments, of strings and integers above."""
    found: list[tuple[str, ...]] = [()]
    for count in range(1, most + 1):
        found += itertools.product(SAMPLES.values() if count <= 2 else ("s", "i"), repeat=count)
    return found


def agree(text: str) -> bool:
    reported = any(p.code == "IL206" for p in check(parse(text).tree, Names()).problems)
    return reported == bool(TYPE_ERRORS.search(evaluate(text)[1]))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_has_exactly_these_overloads(name: str) -> None:
    texts = [f"{name}({', '.join(args)})" for args in argument_lists(2)]
    if name in ("math.greatest", "math.least"):
        texts = [text for text in texts if not parse(text).problems]
    assert [text for text in texts if not agree(text)] == []


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_has_exactly_these_overloads(name: str) -> None:
    texts = [
        f"{receiver}.{name}({', '.join(args)})"
        for receiver in SAMPLES.values()
        for args in argument_lists(1 if receiver != "s" else 3)
        # The runtime does not look at the alternative of an optional that has a value.
        if name != "or" or not args or args[0].startswith("optional.")
    ]
    assert [text for text in texts if not agree(text)] == []


EXAMPLES = {
    **SAMPLES,
    **dict.fromkeys(("dyn", "T", "int | uint | double"), "i"),
    **dict.fromkeys(("list(T)", "list(int | uint | double)"), "li"),
    "list(string)": "ls",
    "map(dyn)": "m",
    "optional(T)": "optional.of(i)",
    "list(optional(T))": "[optional.of(i)]",
}
UNDECLARED = {"int(bool) -> int", "optional.unwrap(list(optional(T))) -> list(T)"} | {
    "list(optional(T)).unwrapOpt() -> list(T)"
}
"""What the evaluator has and the runtime's own checker does not know."""


@pytest.mark.parametrize("function", [*FUNCTIONS.values(), *METHODS.values()], ids=lambda f: f.name)
def test_the_runtimes_checker_knows_every_function(function: Function) -> None:
    for overload, text in zip(function.overloads, function.signatures(), strict=True):
        call = f"{function.name}({', '.join(EXAMPLES[t.signature_name(arg)] for arg in overload.args)})"
        if overload.receiver is not None:
            call = f"{EXAMPLES[t.signature_name(overload.receiver)]}.{call}"
        if text in UNDECLARED:
            assert evaluate(call)[1] == ""
        else:
            ENV.compile(call)


def test_names_of_types_are_the_runtimes() -> None:
    for name in TYPE_NAMES:
        assert evaluate(name)[0] == "TYPE"


def test_macros_are_the_runtimes() -> None:
    """A macro expands: its variable is no unknown name. Ones of other extensions do not."""
    calls = {
        "has": "has(r.i)",
        "map": "li.map(v, v)",
        "optMap": "optional.of(1).optMap(v, v)",
        "optFlatMap": "optional.of(1).optFlatMap(v, optional.of(v))",
        **{name: f"li.{name}(v, v > 0)" for name in ("all", "exists", "exists_one", "filter")},
    }
    assert set(calls) == set(MACROS)
    for text in calls.values():
        assert evaluate(text)[1] == ""
        assert check(parse(text).tree, Names()).problems == ()
    for text in (
        "cel.bind(v, 1, v)",
        "li.existsOne(v, v > 0)",
        "li.transformList(j, v, v)",
        "li.all(j, v, v > 0)",
    ):
        assert evaluate(text)[1] != ""
        assert check(parse(text).tree, Names()).problems != ()


# -- generated expressions ---------------------------------------------------------------------------

ATOMS = [
    *("a", "x", "1", "-1", "1u", "0x1F", "0xffu", "1.5", ".5", "1e3", "-2.5e-3", "true", "false", "null"),
    *("9223372036854775808", "-9223372036854775808", "0xffffffffffffffff", "18446744073709551616u"),
    *("'s'", '"t"', r"r'\a'", "b'x'", "'''m'n'''", '""""""', r"'\n'", r"'\x00'", r"'\ud83d'", r"b'\377'"),
    *(r"br'\'", r"'\z'", "if", "as", "in", "_x", "`q`"),
]
NAMES_OF_MACROS = ["f", "map", "all", "exists", "exists_one", "filter", "optMap", "optFlatMap", "if", "has"]


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> str:
    """Mostly valid expressions of every form of the grammar."""

    def sub() -> str:
        return draw(expressions(depth=depth - 1))

    def some(most: int) -> list[str]:
        return [sub() for _ in range(draw(st.integers(0, most)))]

    def pick(*choices: str) -> str:
        return draw(st.sampled_from(choices))

    if depth == 0:
        return pick(*ATOMS)
    form = draw(st.integers(0, 17))
    if form == 0:
        return pick(*ATOMS)
    if form <= 2:
        ops = ("+", "-", "*", "/", "%", "==", "!=", "<", ">=", "in", "&&", "||")
        return f"{sub()} {pick(*ops)} {sub()}"
    if form == 3:
        return f"{sub()} ? {sub()} : {sub()}"
    if form == 4:
        return f"({sub()})"
    if form <= 6:
        return f"{sub()}.{pick('f', 'if', 'in', '`a-b`', '?g', '?`h`')}"
    if form == 7:
        return f"{sub()}[{pick('', '?')}{sub()}]"
    if form == 8:
        return f"{pick('!', '-', '!!', '--')}{sub()}"
    if form == 9:
        return "[" + ", ".join(pick("", "", "?") + item for item in some(2)) + pick("", ",") + "]"
    if form == 10:
        entries = (f"{pick('', '', '?')}{key}: {sub()}" for key in some(2))
        return "{" + ", ".join(entries) + pick("", ",") + "}"
    if form == 11:
        return f"{pick('f', 'size', 'has', 'all', 'if', 'math')}({', '.join(some(2))})"
    if form == 12:
        return f"{sub()}.{pick(*NAMES_OF_MACROS)}({pick('x', '(x)', '!!x', 'a.b', '__result__', 'if')}, {sub()})"
    if form == 13:
        return f"{sub()}.map(x, {sub()}, {sub()})"
    if form == 14:
        return f"has({sub()}.{pick('f', '?f', '`f`', 'g()')})"
    if form == 15:
        return f"math.{pick('greatest', 'least')}({', '.join(some(3))})"
    if form == 16:
        field = pick("f", "?f", "`g`", "in")
        return f"{pick('F', 'a.b.F', '.F', 'if')}{{{field}: {sub()}{pick('', ',')}}}"
    return f".{sub()}"


WORDS = [
    *(
        "a",
        "b",
        ".",
        "?",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ",",
        ":",
        "+",
        "-",
        "!",
        "&&",
        "||",
        "==",
        "in",
        "1",
        "1.",
    ),
    *(".5", "1u", "'s'", "//c\n", " ", "\n", "`x`", "%", "true", '"', "\\", "#", "e5", "0x"),
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """An expression with one or two of its words replaced, removed or added."""
    words = re.findall(r"\w+|\s+|.", draw(expressions(depth=3)), re.DOTALL)
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(words)))
        words[at : at + draw(st.integers(0, 1))] = draw(st.lists(st.sampled_from(WORDS), max_size=1))
    return "".join(words)


@settings(max_examples=400, deadline=None)
@given(st.one_of(expressions(), mutated(), st.lists(st.sampled_from(WORDS), max_size=8).map("".join)))
def test_ours_accepts_what_the_runtime_compiles(text: str) -> None:
    assert compiles(text) == (not parse(text).problems)


@pytest.mark.parametrize(
    ("before", "middle", "after"),
    [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("!", "a", ""),
        ("!(", "a", ")"),
        ("", "a", ".b"),
        ("", "a", "[1]"),
        ("a.f(", "1", ")"),
        ("", "1", "+1"),
        ("", "a", "&&b"),
        ("a?b:", "1", ""),
        ("(", "1", "?a:b)"),
        ("[1].map(x,", "1", ")"),
        ("{1:", "1", "}"),
        ("F{a:", "1", "}"),
        ("math.greatest(", "1", ")"),
    ],
)
def test_ours_nests_as_deep_as_the_runtime(before: str, middle: str, after: str) -> None:
    for depth in range(26, 36):
        for text in (
            before * depth + middle + after * depth,
            f"x||y&&{before * depth}{middle}{after * depth}",
        ):
            assert compiles(text) == (not parse(text).problems)


@settings(max_examples=200, deadline=None)
@given(expressions())
def test_canonical_text_is_the_same_expression(text: str) -> None:
    parsed = parse(text)
    if not parsed.problems:
        again = u.canonical(parsed.tree)
        assert compiles(again)
        assert u.canonical(parse(again).tree) == again


# -- types ---------------------------------------------------------------------------------------------


@st.composite
def typed(draw: st.DrawFn, depth: int = 3, strict: bool = False) -> str:
    """Expressions over the declared variables; ``strict`` ones evaluate all of their parts."""

    def sub() -> str:
        return draw(typed(depth=depth - 1, strict=strict))

    def pick(*choices: str) -> str:
        return draw(st.sampled_from(choices))

    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return pick(*VALUES, "1", "2.0", "1u", "'x'", "r.in", "r.w", "true", "null", "b'z'")
    form = draw(st.integers(0, 11 if strict else 16))
    if form <= 2:
        return f"({sub()} {pick('+', '-', '*', '/', '%', '<', '<=', '==', '!=', 'in')} {sub()})"
    if form == 3:
        return f"{pick('!', '-')}({sub()})"
    if form == 4:
        return f"({sub()}).{pick('i', 's', 'k', '?i', 'in')}" if not draw(st.booleans()) else pick("r.i", "m.k", "m.?z")
    if form == 5:
        return f"({sub()})[{pick('0', '?0', repr('k'), '?' + repr('k'), sub())}]"
    if form == 6:
        names = [name for name in FUNCTIONS if name not in ("math.greatest", "math.least", "dyn")]
        return f"{pick(*names)}({', '.join(sub() for _ in range(draw(st.integers(0, 2))))})"
    if form <= 8:
        names = [name for name in METHODS if name not in ("format", "or")]
        return f"({sub()}).{pick(*names)}({', '.join(sub() for _ in range(draw(st.integers(0, 2))))})"
    if form == 9:
        return f"[{', '.join(sub() for _ in range(draw(st.integers(1, 2))))}]"
    if form == 10:
        return f"{{{pick(repr('k'), '1', sub())}: {sub()}}}"
    if form == 11:
        return f"optional.of({sub()})"
    if form == 12:
        return f"({sub()} {pick('&&', '||')} {sub()})"
    if form == 13:
        return f"({sub()} ? {sub()} : {sub()})"
    if form == 14:
        return f"({sub()}).{pick('all', 'exists', 'filter', 'map', 'optMap', 'exists_one')}(i, {sub()})"
    if form == 15:
        return f"has(({sub()}).{pick('i', 'k')})"
    return f"({sub()}).map(s, {sub()}, {sub()})"


class Recorder(Checker):
    """A checker that notes whether every type was known for certain."""

    certain = True

    def infer(self, node: ast.Node) -> t.Type:
        type = super().infer(node)
        self.certain = self.certain and is_certain(type)
        return type


def is_certain(type: t.Type) -> bool:
    if isinstance(type, (t.Dyn, t.OneOf)):
        return False
    if isinstance(type, t.List):
        return is_certain(type.item)
    if isinstance(type, t.Map):
        return is_certain(type.value) and is_certain(type.key)
    if isinstance(type, t.Optional):
        return is_certain(type.of)
    if isinstance(type, t.Record):
        return not type.open and all(is_certain(field) for field in type.fields.values())
    return True


@settings(max_examples=600, deadline=None)
@given(typed())
def test_the_runtime_is_never_surprised_by_a_type(text: str) -> None:
    parsed = parse(text)
    if parsed.problems:
        return
    checker = Recorder(Names())
    type = checker.infer(parsed.tree)
    if checker.problems:
        return
    kind, error = evaluate(text)
    if checker.certain:
        # A double may stand for the integer that it equals; whether it does is a matter of its value.
        assert not TYPE_ERRORS.search(error) or "got double" in error, error
    if kind and checker.certain:
        assert isinstance(type, CLASSES[kind]), (kind, type)


@settings(max_examples=600, deadline=None)
@given(typed(strict=True))
def test_what_the_checker_calls_a_type_error_fails(text: str) -> None:
    parsed = parse(text)
    # Nothing fails on an optional value that is absent, and what fails inside of one fails later.
    if parsed.problems or re.search(r"\?|optional|first|last|unwrap", text):
        return
    problems = check(parsed.tree, Names()).problems
    if any(problem.code in ("IL202", "IL206") and not OUTCOME.search(problem.message) for problem in problems):
        assert evaluate(text)[1] != "", problems


OUTCOME = re.compile(r"so this is always (true|false)$")


@settings(max_examples=600, deadline=None)
@given(typed())
def test_what_is_never_equal_comes_out_as_the_checker_says(text: str) -> None:
    parsed = parse(text)
    # The variable of a macro hides a name, and a part of the text does not show it.
    if parsed.problems or re.search(r"\.(all|exists|filter|map|optMap|exists_one)\(", text):
        return
    for problem in check(parsed.tree, Names()).problems:
        if claim := OUTCOME.search(problem.message):
            kind, error = evaluate(f"({text[problem.start : problem.end]}) == {claim[1]} ? 'as said' : 0")
            assert kind == "STRING" or error, problem


@pytest.mark.parametrize("left", SAMPLES.values())
@pytest.mark.parametrize("right", SAMPLES.values())
def test_unlike_types_are_never_equal(left: str, right: str) -> None:
    for op in ("==", "!=", "in"):
        text = f"{left} {op} [{right}]" if op == "in" else f"{left} {op} {right}"
        for problem in check(parse(text).tree, Names()).problems:
            claim = OUTCOME.search(problem.message)
            assert claim is not None, problem
            assert evaluate(f"({text}) == {claim[1]} ? 'as said' : 0")[0] == "STRING"
