"""What expressions read, under which guards, what flows, and the canonical text."""

from __future__ import annotations

import pytest

from interlock.analyzer.expressions import uses as u
from interlock.analyzer.expressions.syntax import parse


def read(text: str) -> list[str]:
    return [".".join(use.path) + ("[]" if use.dynamic else "") for use in u.uses(parse(text).tree)]


def guard(text: str) -> u.Guard:
    """``has a.b``, ``not has a.b``, ``not_null a``, ``truthy a``, ``equals a 'x'``."""
    words = text.split()
    negated = words[0] == "not"
    kind, path, *value = words[1:] if negated else words
    literal = int(value[0]) if value and value[0].isdigit() else value[0].strip("'") if value else None
    return u.Guard(kind, tuple(path.split(".")), literal, negated)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("a.b.c + d", ["a.b.c", "d"]),
        ("a['b'].?c", ["a.b.c"]),
        ("a[b.c].d", ["a[]", "b.c"]),
        ("a[0].b", ["a[]"]),
        ("a.b.startsWith(c)", ["a.b", "c"]),
        ("math.abs(a) + math.x", ["a", "math.x"]),
        ("type(a) == int", ["a"]),
        ("a.map(x, x.y + b.z)", ["a", "b.z"]),
        ("a.map(x, x.map(y, x + y))", ["a"]),
        ("x.map(x, x)", ["x"]),
        ("[a, {'k': b}, {c: d}]", ["a", "b", "c", "d"]),
        ("f(a).b", ["a"]),
        ("has(a.b) ? c : d", ["a.b", "c", "d"]),
        ("1 + 2", []),
    ],
)
def test_paths(text: str, paths: list[str]) -> None:
    assert read(text) == paths


def test_spans_of_a_use() -> None:
    (use,) = u.uses(parse("1 + a['bc'].?d").tree)
    assert (use.start, use.end) == (4, 14)
    assert use.starts == (4, 7, 13)
    assert use.ends == (5, 9, 14)
    assert use.optional == (False, False, True)
    assert use.test == "optional"


@pytest.mark.parametrize(
    ("text", "guards"),
    [
        ("has(a.x) && USE", ["has a.x"]),
        ("a.x != null && USE", ["not_null a.x", "has a.x", "not_null a"]),
        ("null != a.x && USE", ["not_null a.x"]),
        ("a.x == null ? 1 : USE", ["not_null a.x"]),
        ("a.x == null ? USE : 1", ["not not_null a.x"]),
        ("a.x == null || USE", ["not_null a.x"]),
        ("!has(a.x) || USE", ["has a.x"]),
        ("!(has(a.x) && b) ? 1 : USE", ["has a.x", "truthy b"]),
        ("a.s == 'failed' && USE", ["equals a.s 'failed'", "not_null a.s"]),
        ("a.s != 'failed' && USE", ["not equals a.s 'failed'"]),
        ("a.s in ['failed'] && USE", ["equals a.s 'failed'"]),
        ("!(a.s in ['x', 'y']) && USE", ["not equals a.s 'x'", "not equals a.s 'y'"]),
        ("'x' in a && USE", ["has a.x"]),
        ("a.ok && USE", ["truthy a.ok"]),
        ("a.ok == true && USE", ["truthy a.ok"]),
        ("a.ok ? 1 : USE", ["not truthy a.ok"]),
        ("a.?ok.orValue(false) && USE", ["truthy a.ok", "has a.ok"]),
        ("a.?s.orValue('') == 'x' && USE", ["equals a.s 'x'", "has a.s"]),
        ("a.?x.hasValue() && USE", ["has a.x"]),
        ("(has(a.x) && b || has(a.x) && c) && USE", ["has a.x"]),
        ("(b ? has(a.x) : false) && USE", ["has a.x", "truthy b"]),
        ("has(a.x) && [1].all(i, USE)", ["has a.x"]),
        ("has(a.x) && (b || USE)", ["has a.x", "not truthy b"]),
    ],
)
def test_guards(text: str, guards: list[str]) -> None:
    use = next(use for use in u.uses(parse(text).tree) if use.path == ("USE",))
    for wanted in map(guard, guards):
        assert wanted in use.guards
        assert wanted in use.absorbed


@pytest.mark.parametrize(
    "text",
    [
        "has(a.x) || USE",
        "(has(a.x) || b) && USE",
        "[1].all(a, has(a.x)) && USE",
        "[1].all(a, has(a.x) && USE)",
        "(b ? has(a.x) : c) && USE",
        "USE || has(a.x)",
    ],
)
def test_no_guard(text: str) -> None:
    use = next(use for use in u.uses(parse(text).tree) if use.path == ("USE",))
    assert guard("has a.x") not in use.guards + use.absorbed


def test_a_guard_on_the_right_absorbs_the_failure() -> None:
    use = u.uses(parse("a.x > 1 && has(a.x)").tree)[0]
    assert use.guards == ()
    assert use.absorbed == (guard("has a.x"),)
    use = u.uses(parse("a.x > 1 || !has(a.x)").tree)[0]
    assert use.absorbed == (guard("has a.x"),)


def test_two_reads_do_not_absorb_each_other() -> None:
    first, second = u.uses(parse("a.x.p == 1 && a.x.q == 2").tree)
    assert guard("has a.x") not in first.absorbed
    assert guard("has a.x") in second.guards


def test_tests_are_told_from_reads() -> None:
    tests = [use.test for use in u.uses(parse("has(a.x) && a.y == null && a.z.?w == b && a.v == 1").tree)]
    assert tests == ["has", "null", "optional", "", ""]


def test_conditions() -> None:
    facts = u.conditions(parse("step.acquired && run.attempt == 1 && !has(s.x)").tree)
    assert guard("truthy step.acquired") in facts
    assert guard("equals run.attempt 1") in facts
    assert guard("not has s.x") in facts
    assert u.conditions(parse("a || b").tree) == ()
    assert u.conditions(parse("false").tree) == ()


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("secrets.A", ["secrets.A"]),
        ("secrets.A + b", ["secrets.A", "b"]),
        ("(secrets.A)", ["secrets.A"]),
        ("secrets.A == b", []),
        ("size(secrets.A) + secrets.B.size()", []),
        ("secrets.A == 'x' ? b : c", ["b", "c"]),
        ("secrets.A ? b : c", ["secrets.A", "b", "c"]),
        ("secrets.A.startsWith('x')", ["secrets.A"]),
        ("secrets.A in b", []),
        ("has(secrets.A)", []),
        ("!secrets.A && b", ["secrets.A", "b"]),
        ("table[secrets.A]", ["table", "secrets.A"]),
        ("[secrets.A].map(x, x + 'b')", ["secrets.A"]),
        ("[secrets.A].map(x, 1)", []),
        ("[secrets.A].filter(x, true)", ["secrets.A"]),
        ("[secrets.A].all(x, x == 'a')", []),
        ("[secrets.A].exists(x, x.contains('a'))", ["secrets.A"]),
        ("base64.encode(bytes(secrets.A))", ["secrets.A"]),
        ("a.?b.orValue(secrets.A)", ["a.b", "secrets.A"]),
        (".secrets.A + ''", ["secrets.A"]),
    ],
)
def test_flow(text: str, carried: list[str]) -> None:
    assert [".".join(use.path) for use in u.flows(parse(text).tree)] == carried


def test_flow_by_member() -> None:
    found = u.flows_at(parse("{'a': secrets.A, 'b': {'c': 1, 'd': x + y}}").tree)
    assert [(flow.path, [".".join(use.path) for use in flow.uses]) for flow in found] == [
        (("a",), ["secrets.A"]),
        (("b", "c"), []),
        (("b", "d"), ["x", "y"]),
    ]
    (whole,) = u.flows_at(parse("{k: secrets.A}").tree)
    assert whole.path == ()
    assert [use.path for use in whole.uses] == [("k",), ("secrets", "A")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.b+1", " ( a . b ) + 1 // comment"),
        ("a&&b||c", "(a && b) || c"),
        ("'x'", '"x"'),
        ("a?b:c?d:e", "a ? b : (c ? d : e)"),
        ("a-b-c", "((a - b) - c)"),
        ("inputs.image_id", "inputs . image_id"),
    ],
)
def test_same_text(one: str, other: str) -> None:
    assert u.canonical(parse(one).tree) == u.canonical(parse(other).tree)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a-(b-c)", "a-b-c"),
        ("(a||b)&&c", "a||b&&c"),
        ("-(1).x", "-1.x"),
        ("a.b", "a.?b"),
        ("'1'", "1"),
        ("1", "1.0"),
        ("1u", "1"),
        ("(a?b:c)?d:e", "a?b:c?d:e"),
        ("!(a==b)", "!a==b"),
        ("a.`b-c`", "a.b-c"),
        ("b'a'", "'a'"),
    ],
)
def test_other_text(one: str, other: str) -> None:
    assert u.canonical(parse(one).tree) != u.canonical(parse(other).tree)


def test_references_and_literals() -> None:
    assert not u.references(parse("[1].all(x, x > 0) && type(1) == int").tree)
    assert u.references(parse("[1].all(x, x > y)").tree)
    literals = u.string_literals(parse("a ? 'end' : b['k'] == \"x\" ? 'y' : ''").tree)
    assert [(node.value, node.start) for node in literals] == [
        ("end", 4),
        ("k", 14),
        ("x", 22),
        ("y", 28),
        ("", 34),
    ]


def test_a_long_chain_is_read_whole() -> None:
    chain = parse(" && ".join(f"has(a.x{n})" for n in range(5000))).tree
    assert len(u.uses(chain)) == 5000
    assert len(u.conditions(chain)) == 5001
