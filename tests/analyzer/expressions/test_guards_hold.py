"""Facts and guards are sound: checked against the runtime over every small state."""

from __future__ import annotations

from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.analyzer.analysis import check_texts
from interlock.analyzer.expressions import uses as u
from interlock.analyzer.expressions.syntax import parse

ENV = cel.NewEnv(variables={"a": cel.Type.DYN}, extensions=[ext_optional.ExtOptional()])
ABSENT = object()

ATOMS = [
    *("has(a.x)", "has(a.s)", "has(a.ok)", "has(a.x.p)", "a.x != null", "a.x == null", "null != a.s", "a.ok"),
    *("a.s == 'u'", "'u' != a.s", "a.ok == true", "a.ok != false", "a.x.p == 1", "a.x.p > 1", "'x' in a"),
    *(
        "a.?ok.orValue(false)",
        "a.?ok.orValue(true)",
        "a.?s.orValue('') == 'u'",
        "a.?x.hasValue()",
        "'p' in a.x",
    ),
    *("a.s in ['u', 'v']", "a.s in ['u']", "a['s'] == 'u'", "a.?x.?p.orValue(1) == 2", "true", "false"),
]


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> str:
    form = draw(st.integers(0, 6)) if depth else 0

    def sub() -> str:
        return draw(conditions(depth=depth - 1))

    if form <= 1:
        return draw(st.sampled_from(ATOMS))
    if form == 2:
        return f"!({sub()})"
    if form == 3:
        return f"({sub()} ? {sub()} : {sub()})"
    op = "&&" if form <= 5 else "||"
    return "(" + f" {op} ".join(sub() for _ in range(draw(st.integers(2, 3)))) + ")"


@st.composite
def states(draw: st.DrawFn) -> dict[str, Any]:
    members = {
        "x": st.sampled_from([ABSENT, None, {}, {"p": 1}, {"p": 2}]),
        "s": st.sampled_from([ABSENT, None, "u", "v", "w"]),
        "ok": st.sampled_from([ABSENT, None, True, False]),
    }
    drawn = {name: draw(choice) for name, choice in members.items()}
    return {name: value for name, value in drawn.items() if value is not ABSENT}


def outcome(text: str, state: dict[str, Any]) -> Any:
    """The value, or None where the evaluation fails."""
    try:
        value = ENV.compile(text, disable_check=True).eval(data={"a": state})
        return None if value.type().name() == "ERROR" else value.plain_value()
    except RuntimeError:
        return None


def look_up(path: tuple[str, ...], state: dict[str, Any]) -> Any:
    """The value at a path, or ABSENT."""
    value: Any = {"a": state}
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return ABSENT
        value = value[name]
    return value


def holds(guard: u.Guard, state: dict[str, Any]) -> bool:
    value = look_up(guard.path, state)
    if guard.kind == "has":
        return (value is not ABSENT) != guard.negated
    if value is ABSENT:
        return False
    if guard.kind == "not_null":
        return (value is not None) != guard.negated
    if guard.kind == "equals":
        return bool(value == guard.value) != guard.negated
    return value is (not guard.negated)


@settings(max_examples=500, deadline=None)
@given(conditions(), states())
def test_what_a_true_condition_says_is_so(text: str, state: dict[str, Any]) -> None:
    facts = u.conditions(parse(text).tree)
    if outcome(text, state) is True:
        assert [fact for fact in facts if not holds(fact, state)] == []


def excuses(use: u.Use, state: dict[str, Any]) -> bool:
    """Whether a guard keeps a failure of the use from coming through.

    What was decided further left was evaluated first, and any of it may have failed instead. What stands
    further right helps only where it comes out the other way, without failing itself.
    """
    for guard in use.absorbed:
        if holds(guard, state):
            continue
        value = look_up(guard.path, state)
        opposite = {
            "has": isinstance(look_up(guard.path[:-1], state), dict),
            "truthy": isinstance(value, bool),
        }.get(guard.kind, value is not ABSENT)
        if guard in use.guards or opposite:
            return True
    return False


@settings(max_examples=500, deadline=None)
@given(conditions(), states())
def test_a_failure_has_a_use_that_no_guard_excuses(text: str, state: dict[str, Any]) -> None:
    """So a rule that is quiet about guarded uses never misses the last reason of a failure."""
    if outcome(text, state) is None:
        blamed = [use for use in u.uses(parse(text).tree) if look_up(use.path, state) in (ABSENT, None)]
        assert [use for use in blamed if not excuses(use, state)] != []


def test_what_was_tested_for_null_is_none_in_the_type_of_the_result() -> None:
    text = """\
workflow: w
inputs: {n: {type: integer, required: false}, s: {type: string, required: false}}
steps:
  - id: a
    block: set
    params:
      n: "{inputs.n != null ? inputs.n : 1}"
      s: "{inputs.s == null ? 'none' : inputs.s}"
      m: "{inputs.s == null || inputs.n == null ? 'none' : inputs.s}"
      still: "{inputs.n != null ? inputs.s : 'none'}"
  - {id: b, block: log, params: {message: "{a.n} {a.s} {a.m}"}}
  - {id: c, block: log, params: {message: "{a.still}"}}
  - id: d
    for_each:
      items: [{part: "{inputs.s}"}]
      steps: [{id: e, block: log, params: {message: "{item.part}"}}]
"""
    found = check_texts({"guards.workflow.yaml": text})
    assert [(one.line, one.code) for one in found] == [(12, "IL207"), (16, "IL207")]
    assert "input" not in found[1].message
