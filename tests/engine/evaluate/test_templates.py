"""Templates against the real CEL runtime: types, texts, keys, errors, and input that must not kill it."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from interlock.analyzer.expressions.syntax import parse
from interlock.analyzer.expressions.template import split
from interlock.analyzer.model.nodes import Condition
from interlock.analyzer.model.values import (
    Expression,
    ListValue,
    Literal,
    MapValue,
    Member,
    Template,
    Value,
)
from interlock.analyzer.source.text import Piece, SourceText, Span
from interlock.analyzer.syntax.nodes import Scalar
from interlock.engine.evaluate import TemplateEvaluator, fill, moment, secret_names
from interlock.engine.ports import EvaluationError
from interlock.engine.values import dump, load

EVALUATOR = TemplateEvaluator()


def written(data: object) -> Value:
    """A value as the reader gives it for this YAML data."""
    text = data if isinstance(data, str) else "-"
    source = SourceText("t.workflow.yaml", text)
    piece = Piece(source, text)
    span = Span(piece, 0, len(text))
    if isinstance(data, dict):
        return MapValue(tuple(Member(name, span, written(item)) for name, item in data.items()), span)
    if isinstance(data, list):
        return ListValue(tuple(written(item) for item in data), span)
    scalar = Scalar(piece, 0, len(text), text, "plain", data)  # type: ignore[arg-type]
    if isinstance(data, str):
        cut = split(data)
        if cut.is_template:
            parts = tuple(
                part if isinstance(part, str) else Expression(part.source, parse(part.source).tree, scalar, part.start)
                for part in cut.parts
            )
            return Template(data, parts, cut.whole, span, scalar)
        return Literal(cut.text, span, scalar)
    return Literal(data, span, scalar)  # type: ignore[arg-type]


def value(data: object, **scope: Any) -> Any:
    return EVALUATOR.value(written(data), scope)


def failure(data: object, how: str = "value", **scope: Any) -> tuple[str, str]:
    with pytest.raises(EvaluationError) as caught:
        getattr(EVALUATOR, how)(written(data), scope)
    return caught.value.code, caught.value.message


def same(left: Any, right: Any) -> bool:
    """Equal, and every number of the same kind."""
    return bool(dump(left) == dump(right))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{1}", 1),
        ("{1.0}", 1.0),
        ("{x.a}", 5),
        ("{x.f}", 1.0),
        ("{x.n}", None),
        ("{x.l}", [1, 2.0, "z", None, True]),
        ("{x.a} and {x.f}", "5 and 1"),
        ("{{x}}", "{x}"),
        ("{ {'a': {'b': 1}}.a.b }", 1),
        ("{x.s}!", "é😀!"),
        ("l: {x.l}", 'l: [1,2,"z",null,true]'),
        ("m: { {'b': 1, 'a': 2} }", 'm: {"a":2,"b":1}'),
        ("{x.b}", True),
        ("is {x.b}", "is true"),
        ("{size(x.s)}", 2),
        ("{has(x.zz)}", False),
        ("{x.?zz.orValue('d')}", "d"),
        ("{x.l.map(i, type(i) == int)}", [True, False, False, False, False]),
        ("{1e21} {1e-7} {0.1} {100.0} {-0.0}", "1e+21 1e-7 0.1 100 0"),
        ("{base64.encode(b'hello')}", "aGVsbG8="),
        ("{math.greatest(1, 3)}", 3),
        ("{'a,b'.split(',')}", ["a", "b"]),
        ("{1 == 1.0}", True),
        ("{[1u]}", [1]),
        ("{18446744073709551615u}", 18446744073709551615.0),
    ],
)
def test_a_template_gives_its_value(text: str, result: Any) -> None:
    x = {"a": 5, "f": 1.0, "n": None, "l": [1, 2.0, "z", None, True], "s": "é😀", "b": True}
    assert same(value(text, x=x), result)


def test_templates_stand_at_any_depth_of_lists_and_maps() -> None:
    assert value({"a": ["{x}", {"b": "<{x}>"}, 3]}, x=1.5) == {"a": [1.5, {"b": "<1.5>"}, 3]}


@pytest.mark.parametrize("name", ["list", "string", "type", "bool"])
def test_a_name_like_a_type_reads_the_scope(name: str) -> None:
    assert value(f"{{{name}.a}}", **{name: {"a": 1}}) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{x.missing}", 'no key "missing"'),
        ("{nobody}", 'no "nobody"'),
        ("{x.a + 1.0}", "int, double"),
        ("{9223372036854775807 + 1}", "overflow"),
        ("{1 / 0}", "divide by zero"),
        ("{x.l[7]}", "none at 7"),
        ("{b'x'}", "bytes"),
        ("{duration('1s')}", "duration"),
        ("{[timestamp(0)]}", "timestamp"),
        ("{optional.of(1)}", "optional"),
        ("{[optional.of(1)]}", "optional"),
        ("{ {'a': optional.none()} }", "optional"),
        ("{ {'a': {'b': [optional.of(1)]}} }", "optional"),
        ("{[1].first()}", "optional"),
        ("{ {1: 2} }", "key that is no text"),
        ("{1.0 / 0.0}", "number"),
        ("{type(1)}", "JSON"),
        ("{x.n.y}", "no map"),
        ("{1 +}", "failed"),
        ("{" + "(" * 40 + "1" + ")" * 40 + "}", "32"),
        ("{" + "[" * 4000 + "1" + "]" * 4000 + "}", "failed"),
        ("{y.map(i, i)}", "10,000"),
        ("{y.map(i, y.map(j, j))}", "10,000"),
    ],
)
def test_what_fails_at_run_time_is_an_expression_error(text: str, says: str) -> None:
    code, message = failure(text, x={"a": 1, "l": [1], "n": None}, y=list(range(10_001)))
    assert code == "expression"
    assert says in message
    assert "\n" not in message


def test_null_in_a_text_is_refused_and_null_alone_is_kept() -> None:
    assert value("{x}", x=None) is None
    assert failure("a{x}", x=None)[0] == "null-in-text"
    assert failure("{x}", "text", x=None)[0] == "null-in-text"
    assert failure(None, "text")[0] == "null-in-text"
    assert value("{x}{y}", x=[None], y="") == "[null]"


@pytest.mark.parametrize(
    ("text", "key"),
    [("k:{x}", "k:7"), ("{x}", "7"), ("{1.5}", "1.5"), ("{true}", "true"), ("a" * 512, "a" * 512)],
)
def test_a_key_is_scalar_text(text: str, key: str) -> None:
    assert EVALUATOR.key(written(text), {"x": 7}) == key


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad-key"),
        ("{''}", "bad-key"),
        ("a" * 513, "bad-key"),
        ("{x}", "bad-key"),
        ("k{x}", "bad-key"),
        ("{y}", "bad-key"),
        ("{z}", "null-in-text"),
        ("k{z}", "null-in-text"),
    ],
)
def test_a_key_of_another_kind_is_refused(text: str, code: str) -> None:
    assert failure(text, "key", x=[1], y={}, z=None)[0] == code


def test_a_condition_is_a_boolean_and_nothing_else() -> None:
    span = Span(Piece(SourceText("t", ""), ""), 0, 0)

    def holds(data: object, **scope: Any) -> bool:
        read = written(data)
        return EVALUATOR.condition(Condition(read if isinstance(read, Template) else bool(data), span, span), scope)

    assert holds("{x > 1}", x=2)
    assert not holds(False)
    with pytest.raises(EvaluationError, match="true or false") as caught:
        holds("{x}", x="true")
    assert caught.value.code == "expression"


def test_next_is_a_text() -> None:
    template = written("{x ? 'a' : 'end'}")
    assert isinstance(template, Template)
    assert EVALUATOR.next(template, {"x": False}) == "end"
    assert failure("{1}", "next")[0] == "bad-next"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("{timestamp('1970-01-01T00:01:00Z')}", 60.0),
        ("{timestamp(run.started_at) + duration('1h')}", 3600.5),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("{'1970-01-01T00:00:01.25Z'}", 1.25),
        ("1970-01-01T00:00:{x}Z", 30.0),
    ],
)
def test_until_is_a_time(text: str, seconds: float) -> None:
    run = {"started_at": "1970-01-01T00:00:00.500Z"}
    assert EVALUATOR.until(written(text), {"run": run, "x": 30}) == seconds


@pytest.mark.parametrize("text", ["tomorrow", "{5}", "{null}", "1970-01-01", "2020-13-01T00:00:00Z", "{[1]}"])
def test_until_refuses_what_is_no_time(text: str) -> None:
    assert failure(text, "until")[0] == "bad-value"


def test_moment_reads_offsets_and_fractions() -> None:
    assert moment("2020-02-29T12:00:00.000001-05:00") == pytest.approx(1582995600.000001)


# --- secrets -------------------------------------------------------------------------------------


def test_what_reads_secrets_is_left_for_the_worker() -> None:
    params = written(
        {
            "url": "https://{x.host}/",
            "headers": {"Authorization": "Bearer {secrets.TOKEN}", "X": "{x.id}"},
            "list": ["{secrets.A + x.id + y}"],
        }
    )
    assert isinstance(params, MapValue)
    x = {"host": "a.example", "id": "7", "huge": "z" * 1000}
    rendered = EVALUATOR.params(params, {"x": x, "y": "!"})
    assert rendered.value == {
        "url": "https://a.example/",
        "headers": {"Authorization": None, "X": "7"},
        "list": [None],
    }
    assert secret_names(rendered.deferred) == {"TOKEN", "A"}
    assert "huge" not in str(rendered.deferred)
    stored = msgspec.json.decode(msgspec.json.encode(rendered), type=type(rendered))
    filled = fill(stored.value, stored.deferred, {"TOKEN": "t0k", "A": "a"})
    assert filled["headers"]["Authorization"] == "Bearer t0k"
    assert filled["list"] == ["a7!"]
    assert stored.value["headers"]["Authorization"] is None


def test_two_templates_of_one_text_read_other_fields_of_one_root() -> None:
    params = written({"a": "{secrets.T}{x.a}{x.b}"})
    assert isinstance(params, MapValue)
    rendered = EVALUATOR.params(params, {"x": {"a": 1, "b": 2, "c": 3}})
    assert fill(rendered.value, rendered.deferred, {"T": "t"}) == {"a": "t12"}


# --- input that must not end the process ----------------------------------------------------------


def nested(depth: int) -> Any:
    made: Any = 1
    for _ in range(depth):
        made = [made]
    return made


def test_a_text_with_nul_is_not_cut() -> None:
    assert value("{x.a}", x={"a": "one\0two"}) == "one\0two"
    assert value("<{x}>", x=["\0", "\ufdd0"]) == '<["\\u0000","\ufdd0"]>'
    assert value("{size(x)}", x="a\0b") == 3


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_a_value_nested_too_deeply_is_refused(depth: int) -> None:
    assert failure("{size(x)}", x=nested(depth))[0] == "bad-value"


def test_values_within_the_limit_pass() -> None:
    assert value("{x}", x=nested(250)) == nested(250)


@pytest.mark.parametrize(
    "text",
    [
        "{size(x.replace('a', x))}",
        "{x.replace('a', x).replace('a', x)}",
        "{[x, x, x].map(i, [x, x].map(j, x.replace('a', j)).join(x)).join(x).size()}",
        "{l.map(i, x + x + x + x).size()}",
    ],
)
def test_what_would_take_all_memory_is_an_error(text: str) -> None:
    code, message = failure(text, x="a" * 300_000, l=[1] * 9_999)
    assert code == "expression"
    assert "memory" in message or "seconds" in message or "large" in message


def test_what_only_could_become_large_is_evaluated() -> None:
    text = "b" * 200_000
    assert value("{size(x.replace(y, z))}", x=text, y="a", z=text) == 200_000


def test_ordinary_macros_over_large_lists_are_evaluated_here() -> None:
    people = [{"name": f"n{i}", "age": i} for i in range(5_000)]
    assert value("{people.filter(p, p.age < 2).map(p, p.name)}", people=people) == ["n0", "n1"]


def test_macros_take_lists_of_ten_thousand() -> None:
    numbers = list(range(10_000))
    assert value("{numbers.map(n, n * 2)}", numbers=numbers) == [2 * n for n in numbers]
    assert value("{(numbers).filter(n, n % 2 == 0).map(n, {'n': n})[4999].n}", numbers=numbers) == 9998
    assert value("{numbers.map(n, n).size() + numbers.filter(n, n < k).size()}", numbers=numbers, k=5) == 10_005


def test_a_macro_that_is_not_asked_for_may_fail() -> None:
    numbers = list(range(1_000))
    assert value("{ok ? [0] : numbers.map(n, n.nothing)}", numbers=numbers, ok=True) == [0]
    assert failure("{ok ? [0] : numbers.map(n, n.nothing)}", numbers=numbers, ok=False)[0] == "expression"
    assert value("{ok ? 0 : more.map(n, n).size()}", more=numbers * 11, ok=True) == 0


# --- numbers and storage --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "back"),
    [
        (b"1.0", 1.0),
        (b"1", 1),
        (b"-0.0", -0.0),
        (b"9223372036854775807", 9223372036854775807),
        (b"9223372036854775808", 9223372036854775808.0),
        (b"-9223372036854775809", -9223372036854775809.0),
        (b"123456789012345678901234567890", 1.2345678901234568e29),
        (b"1e2", 100.0),
    ],
)
def test_storing_keeps_the_kind_of_a_number(text: bytes, back: float) -> None:
    first = load(text)
    assert type(first) is type(back)
    assert first == back
    assert math.copysign(1, first) == math.copysign(1, back)
    again = load(dump([first]))[0]
    assert type(again) is type(back)
    assert again == back
    assert type(value("{x}", x=again)) is type(back)
