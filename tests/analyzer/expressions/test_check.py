"""The checker: codes, spans, hints and fixes, and its silence about what it cannot know."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from interlock.analyzer.expressions import types as t
from interlock.analyzer.expressions.check import Checked, check
from interlock.analyzer.expressions.syntax import parse

NAMES: dict[str, t.Type] = {
    "inputs": t.Record(
        {
            "count": t.INT,
            "rate": t.DOUBLE,
            "name": t.STRING,
            "tone": t.String(("plain", "formal")),
            "tags": t.List(t.STRING),
            "flag": t.BOOL,
            "maybe": t.OneOf((t.NULL, t.STRING)),
            "any": t.DYN,
        },
        False,
        "the inputs",
    ),
    "fetch": t.Record({"status": t.INT, "json": t.DYN, "headers": t.Map(t.STRING)}, False, 'the result of "fetch"'),
    "branch": t.Record(
        {"status": t.String(("completed", "failed")), "output": t.OneOf((t.NULL, t.Record({"x": t.INT})))}
    ),
    "loose": t.Record({"known": t.INT}, True),
    "state": t.DYN,
}


class Names:
    def resolve(self, name: str) -> t.Type | None:
        return NAMES.get(name)

    def names(self) -> Iterable[str]:
        return NAMES


def checked(text: str) -> Checked:
    parsed = parse(text)
    assert parsed.problems == ()
    return check(parsed.tree, Names())


def found(text: str) -> list[tuple[str, str]]:
    return [(p.code, text[p.start : p.end]) for p in checked(text).problems]


@pytest.mark.parametrize(
    ("text", "code", "span", "fixed"),
    [
        ("inptus.count", "IL202", "inptus", "inputs.count"),
        ("nowhere.x", "IL202", "nowhere", None),
        ("True", "IL202", "True", "true"),
        ("sise(inputs.name)", "IL202", "sise", "size(inputs.name)"),
        ("inputs.name.contians('a')", "IL202", "contians", "inputs.name.contains('a')"),
        ("math.flor(1.0)", "IL202", "flor", "math.floor(1.0)"),
        ("contains(inputs.name, 'a')", "IL202", "contains", None),
        ("inputs.name.string()", "IL202", "string", None),
        ("Foo{a: 1}", "IL202", "Foo", None),
        ("inputs.cuont + 1", "IL205", "cuont", "inputs.count + 1"),
        ("inputs['cuont']", "IL205", "cuont", "inputs['count']"),
        ("inputs.?cuont", "IL205", "cuont", "inputs.?count"),
        ("has(fetch.statsu)", "IL205", "statsu", "has(fetch.status)"),
        ("{'a': 1}.zzz", "IL205", "zzz", None),
        ("inputs.rate * 2", "IL206", "inputs.rate * 2", "inputs.rate * 2.0"),
        ("-3 + inputs.rate", "IL206", "-3 + inputs.rate", "-3.0 + inputs.rate"),
        ("inputs.count + 1.5", "IL206", "inputs.count + 1.5", None),
        ("1u + 1", "IL206", "1u + 1", None),
        ("inputs.name + 1", "IL206", "inputs.name + 1", None),
        ("inputs.flag + 1", "IL206", "inputs.flag", None),
        ("1.5 % 2.0", "IL206", "1.5", None),
        ("null < 1", "IL206", "null", None),
        ("inputs.count < 'a'", "IL206", "inputs.count < 'a'", None),
        ("inputs.tags < inputs.tags", "IL206", "inputs.tags", None),
        ("inputs.count && inputs.flag", "IL206", "inputs.count", None),
        ("inputs.name ? 1 : 2", "IL206", "inputs.name", None),
        ("!inputs.count", "IL206", "inputs.count", None),
        ("-inputs.name", "IL206", "inputs.name", None),
        ("-1u", "IL206", "1u", None),
        ("inputs.name.x", "IL205", "x", None),
        ("null.x", "IL206", "x", None),
        ("has(inputs.tags.x)", "IL205", "x", None),
        ("inputs.tags['a']", "IL206", "'a'", None),
        ("[1][0.5]", "IL206", "0.5", None),
        ("fetch.headers[1]", "IL206", "1", None),
        ("inputs.name[0]", "IL206", "inputs.name", None),
        ("'a' in inputs.name", "IL206", "inputs.name", None),
        ("[1] in fetch.headers", "IL206", "[1]", None),
        ("size(inputs.count)", "IL206", "inputs.count", None),
        ("inputs.count.size()", "IL206", "inputs.count", None),
        ("inputs.name.replace('a')", "IL206", "replace('a')", None),
        ("inputs.tags.join(1)", "IL206", "1", None),
        ("math.floor(1)", "IL206", "1", None),
        ("math.bitAnd(1, 2u)", "IL206", "bitAnd(1, 2u)", None),
        ("inputs.name.map(x, x)", "IL206", "inputs.name", None),
        ("inputs.tags.all(x, x)", "IL206", "x", None),
        ("inputs.tags.all(x)", "IL206", "all(x)", None),
        ("inputs.tags.map(x, x + 1)", "IL206", "x + 1", None),
        ("has(inputs.name, 1)", "IL206", "has(inputs.name, 1)", None),
        ("[?1]", "IL206", "1", None),
        ("{1.5: 2}", "IL206", "1.5", None),
        ("{'a': 1, 'a': 2}", "IL206", "'a'", None),
        ("inputs.?name + 'a'", "IL206", "inputs.?name", None),
        ("inputs.name.orValue('a')", "IL206", "inputs.name", None),
        ("inputs.?name.or('a')", "IL206", "'a'", None),
        ("inputs.?name.optFlatMap(n, n)", "IL206", "n", None),
        ("timestamp('2020-01-01T00:00:00Z') + 1", "IL206", "timestamp('2020-01-01T00:00:00Z') + 1", None),
        ("inputs.count == '3'", "IL206", "inputs.count == '3'", None),
        ("inputs.name != 3", "IL206", "inputs.name != 3", None),
        ("inputs.flag == 'true'", "IL206", "inputs.flag == 'true'", None),
        ("inputs.name == inputs.count", "IL206", "inputs.name == inputs.count", None),
        ("inputs.?name == 'a'", "IL206", "inputs.?name == 'a'", None),
        ("inputs.count in ['1', '2']", "IL206", "inputs.count in ['1', '2']", None),
        ("1 in inputs.name.split(',')", "IL206", "1 in inputs.name.split(',')", None),
        ("type(inputs.any) == 'string'", "IL206", "type(inputs.any) == 'string'", None),
        ("!!inputs.name == true", "IL206", "!!inputs.name == true", None),
        ("inputs.tone == 'plian'", "IL215", "'plian'", "inputs.tone == 'plain'"),
        ('"failde" != branch.status', "IL215", '"failde"', '"failed" != branch.status'),
        ("inputs.tone in ['formal', 'loud']", "IL215", "'loud'", None),
        ("'loud' in [inputs.tone]", "IL215", "'loud'", None),
        ("branch.status == 3", "IL215", "3", None),
        ("(inputs.flag ? branch.status : 'none') == 'other'", "IL215", "'other'", None),
    ],
)
def test_one_mistake_gives_one_problem(text: str, code: str, span: str, fixed: str | None) -> None:
    (problem,) = checked(text).problems
    assert (problem.code, text[problem.start : problem.end]) == (code, span)
    if problem.fix is None:
        assert fixed is None
    else:
        start, end, replacement = problem.fix
        assert text[:start] + replacement + text[end:] == fixed


@pytest.mark.parametrize(
    "text",
    [
        "fetch.json.a.b + 1",
        "state.x[inputs.any].y == 3",
        "inputs.any + 1 == inputs.any",
        "loose.other.x",
        "inputs.maybe.size()",
        "branch.output.x + 1",
        "branch.output != null && branch.output.x > 1",
        "inputs.count < inputs.rate",
        "inputs.count == inputs.rate",
        "inputs.count == 1.5",
        "inputs.any == 'a'",
        "inputs.count in [1, 'a']",
        "inputs.count in [1.0, 2.0]",
        "fetch.json.code == 'a' || fetch.json.code == 1",
        "fetch.headers == {}",
        "(inputs.flag ? 'a' : null) == null",
        "inputs.name == null",
        "branch.status == null",
        "'a' in fetch.headers",
        "inputs.tone in ['formal', 'plain']",
        "inputs.tags.map(x, x.size() > 1, x + 'a').join(',')",
        "fetch.headers.all(k, k.startsWith('x'))",
        "inputs.?name.orValue('a') + 'b'",
        "fetch.headers[?'x'].optMap(v, v + 'a').orValue('')",
        "[?inputs.?name]",
        "math.greatest(inputs.count, 3) + 1",
        "timestamp('2020-01-01T00:00:00Z') + duration('1h') > timestamp(0)",
        "type(inputs.any) == string",
        "int(inputs.flag) + 1",
        "base64.encode(bytes(inputs.name))",
        "'%s: %d'.format([inputs.name, inputs.count])",
        "inputs.flag ? inputs.name : null",
        "'a' == 'b'",
        "{'a': {'b': [1]}}.a.b[0] + 1",
        "{1: 'a'}[1] + 'b'",
        "[1, 'a'].map(x, x + 1)",
    ],
)
def test_silence(text: str) -> None:
    assert found(text) == []


def test_several_mistakes_give_several_problems() -> None:
    text = "nowhere.x + inputs.cuont > 0 && inputs.tone == 'plian' && size(3) > 1"
    assert found(text) == [("IL202", "nowhere"), ("IL205", "cuont"), ("IL215", "'plian'"), ("IL206", "3")]


def test_a_near_match_is_taken_as_meant() -> None:
    text = "inptus.cuont + 'a'"
    assert found(text) == [("IL202", "inptus"), ("IL206", text), ("IL205", "cuont")]


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("inputs.count + 1", t.INT),
        ("inputs.flag ? 'a' : 'b'", t.String(("a", "b"))),
        ("inputs.flag ? 1 : null", t.OneOf((t.INT, t.NULL))),
        ("inputs.tags.map(x, x.size())", t.List(t.INT)),
        ("inputs.tags.filter(x, x != '')", t.List(t.STRING)),
        ("inputs.?name", t.Optional(t.STRING)),
        ("inputs.?name.orValue('a')", t.STRING),
        ("fetch.headers.x", t.STRING),
        ("fetch.json.x", t.DYN),
        ("inputs.any + 1", t.INT),
        ("{'a': 1}", t.Record({"a": t.INT})),
        ("[1, 2] + [3]", t.List(t.INT)),
        ("inputs.tags.first()", t.Optional(t.STRING)),
        ("math.least(1, 2)", t.INT),
        ("nowhere + 1", t.INT),
        ("int", t.TYPE),
        ("inputs.count - 1 > 0", t.BOOL),
    ],
)
def test_types(text: str, type: t.Type) -> None:
    assert checked(text).type == type


def test_messages_offer_what_there_is() -> None:
    (problem,) = checked("fetch.body").problems
    assert problem.message == 'there is no member "body" in the result of "fetch"'
    assert problem.hint == "it has: status, json, headers"


def test_a_macro_variable_hides_a_name() -> None:
    assert found("inputs.tags.all(fetch, fetch.size() > 0) && fetch.status == 1") == []
    assert found("inputs.tags.all(tag, tga == 'a')") == [("IL202", "tga")]
    assert found("inputs.tags.all(x, true) && xyz") == [("IL202", "xyz")]


def test_a_list_of_very_many_strings_is_a_list_of_strings() -> None:
    text = "[" + ", ".join(f"'{n}'" for n in range(5000)) + "]"
    assert checked(text).type == t.List(t.STRING)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "fetch.status == '200'",
            "an integer is never equal to a string, so this is always false",
            "write 200 without quotes",
        ),
        (
            "3 != inputs.name",
            "an integer is never equal to a string, so this is always true",
            "write it as a string: '3'",
        ),
        (
            "inputs.flag == 'true'",
            "a boolean is never equal to a string, so this is always false",
            "write true without quotes",
        ),
        (
            "fetch.status in ['200']",
            "an integer is never in a list of strings, so this is always false",
            "write 200 without quotes",
        ),
        (
            "inputs.?name == 'a'",
            "an optional value (a string) is never equal to a string, so this is always false",
            "take the value out with orValue() first",
        ),
    ],
)
def test_a_comparison_of_unlike_types_says_what_it_gives_and_what_to_write(text: str, message: str, hint: str) -> None:
    (problem,) = checked(text).problems
    assert (problem.message, problem.hint) == (message, hint)
