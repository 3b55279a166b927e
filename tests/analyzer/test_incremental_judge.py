"""Whatever is edited, judging again gives what judging anew gives."""

from __future__ import annotations

import contextlib
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.analyzer.analysis import FileModel, diagnose, judge, read_file
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.incremental import Judge
from interlock.analyzer.source.text import SourceText

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from workflow_texts import workflow_text  # noqa: E402

FAULTY = """\
workflow: faulty
inputs:
  a: string
  b: {type: integer, required: false}
  token: {type: string, secret: true}
secrets: [KEY]
steps:
  - id: one
    when: "{inputs.a != ''}"
    block: http
    params: {url: "http://x.example/{inputs.b}", method: GET}
  - id: two
    block: set
    params: {v: "{one.json}", s: "{secrets.KEY}"}
  - id: three
    block: log
    params: {message: "{two.s} {one.status} {four.status} {nothing} {state.one}"}
  - id: four
    block: http
    params: {url: 5, expect: [x], extra: 1}
    retry: {max_attempts: 0}
  - id: many
    for_each:
      items: [1, 2]
      steps:
        - id: one
          block: log
          params: {message: "{item + 1} {index} {two.v.x} ghp_abcdefghijklmnopqrstuvwxyz0123456789"}
  - id: sides
    concurrency:
      limit: 9
      branches:
        left:
          steps:
            - id: inner
              block: log
              params: {message: "{four.nothing}"}
        right:
          steps:
            - id: other
              block: fail
              params: {message: "{inner.x}"}
  - id: ask
    wait_for_decision: {result_key: two}
  - id: lock
    concurrency:
      resource: "k:{secrets.KEY}"
      steps:
        - id: write
          block: http
          params: {url: "http://x.example", method: POST}
        - id: again
          block: http
          params: {url: "http://x.example", method: POST}
outputs:
  x: "{two.s}"
"""
JUMPY = """\
workflow: jumpy
inputs: {n: integer, far: {type: string, required: false}}
secrets: [KEY]
budget: {max_cost_units: 3}
deadline: 2h
compensate_on_failure: true
steps:
  - id: claim
    concurrency: {resource: "a:{inputs.n}", lifetime: run, on_busy: skip}
  - id: first
    block: http
    params: {url: "http://x.example"}
  - id: maybe
    when: "{first.status == 200}"
    block: set
    params: {v: "{first.json}", w: "{claim.acquired}"}
  - id: stop
    when: "{first.status != 200}"
    block: fail
    params: {message: "no"}
  - id: again
    block: log
    params: {message: "{maybe.v} {state.first} {secrets.KEY}"}
    next: "{first.status == 500 ? 'first' : 'later'}"
  - id: never
    block: log
    params: {message: x}
  - id: later
    concurrency: {resource: "b", steps: [{id: w, block: http, params: {url: "http://x.example", method: POST}}]}
  - id: pause
    delay: 3h
  - id: kids
    start_workflows: {items: "{maybe.v}", workflow: other, payload_key: p, result_key: runs, group_key: g}
  - id: done
    wait_for_workflow_group: {group: gg, result_key: all_of_them}
outputs: {x: "{maybe.w}", y: "{all_of_them}"}
on_cancel:
  - id: tidy
    block: log
    params: {message: "{state.maybe.v}"}
"""
LETTERS = [
    "x",
    "1",
    " ",
    "{",
    "}",
    '"',
    "inputs.a",
    "secrets.KEY",
    "one",
    "two.v",
    ".",
    "size(",
    ")",
    "\n",
    "#",
    ": ",
    "&n ",
    "*n",
]


def texts() -> Iterator[tuple[str, str]]:
    yield "faulty", FAULTY
    yield "ordinary", workflow_text(150, seed=3)
    yield "jumpy", JUMPY
    yield "straight", JUMPY.replace("next:", "x:").replace("block: fail", "block: log")
    for name in ("absent_a", "form", "scope", "secret_flows"):
        yield name, (ROOT / f"tests/analyzer/cases/{name}.workflow.yaml").read_text("utf-8")


def checked(files: list[FileModel], judge_them: Judge | None) -> list[Diagnostic]:
    return diagnose(files, judge(files) if judge_them is None else judge_them.judge(files))


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in texts()])
def test_edits_of_any_kind(text: str) -> None:
    chance = random.Random(len(text))
    again = Judge()
    model: FileModel | None = None
    now = text
    for number in range(40):
        if number % 12 == 0:
            now = text
        else:
            at = chance.randint(0, len(now))
            end = min(len(now), at + chance.choice((0, 0, 0, 1, 2, 8)))
            now = now[:at] + (chance.choice(LETTERS) if chance.random() < 0.75 else "") + now[end:]
        model = read_file(SourceText("a.workflow.yaml", now), model)
        fresh = read_file(SourceText("a.workflow.yaml", now))
        assert checked([model], again) == checked([fresh], None), now


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in texts()])
def test_edits_of_letters_alone(text: str) -> None:
    chance = random.Random(len(text))
    again, model, now = Judge(), None, text
    places = [at for at, letter in enumerate(text) if letter.isalpha()]
    for number in range(40):
        if number % 10 == 0:
            now = text
        at = chance.choice(places)
        now = now[:at] + chance.choice("abxyz019_") + now[at + 1 :]
        if chance.random() < 0.3:
            now = text[:at] + chance.choice(("q", "", "é")) + text[at:]
        model = read_file(SourceText("a.workflow.yaml", now), model)
        fresh = read_file(SourceText("a.workflow.yaml", now))
        assert checked([model], again) == checked([fresh], None), now


def blocks_of(text: str) -> list[tuple[int, int]]:
    """Where the steps of a text begin and end, whatever their depth."""
    starts = [found.start() for found in re.finditer(r"^ *- id:", text, re.M)]
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def restructured(text: str, chance: random.Random) -> str:
    """A text with one step renamed, broken, mended, doubled, removed, moved, or indented."""
    steps = blocks_of(text)
    if not steps:
        return text
    start, end = chance.choice(steps)
    step = text[start:end]
    kind = chance.choice(("rename", "rename", "take", "quote", "mend", "remove", "double", "move", "indent", "field"))
    names = re.findall(r"- id: *(\w+)", text)
    if kind == "rename":
        step = re.sub(r"- id: *(\w+)", lambda one: f"- id: {one[1]}{chance.choice('xy')}", step, count=1)
    elif kind == "take":
        step = re.sub(r"- id: *(\w+)", f"- id: {chance.choice(names)}", step, count=1)
    elif kind == "quote":
        at = chance.choice([found.start() for found in re.finditer(r": ", step)] or [0]) + 2
        step = step[:at] + chance.choice("\"'[{") + step[at:]
    elif kind == "mend":
        return re.sub(r": [\"'[{](?=\w+$)", ": ", text, count=1, flags=re.M)
    elif kind == "remove":
        step = ""
    elif kind == "double":
        step = step + re.sub(r"- id: *(\w+)", r"- id: \1_2", step) if chance.random() < 0.7 else step * 2
    elif kind == "move":
        other = chance.choice(steps)[0]
        rest = text[:start] + text[end:]
        return rest[:other] + step + rest[other:]
    elif kind == "indent":
        step = "".join("  " + line for line in step.splitlines(keepends=True))
    else:
        name = chance.choice(names)
        text_of = f'"{{{name}.x}}"'
        step = chance.choice((step.replace("block: ", "blok: "), re.sub(r'"[^"\n]*"', text_of, step, count=1)))
    return text[:start] + step + text[end:]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in texts()])
def test_edits_of_structure(text: str, seed: int) -> None:
    chance = random.Random(len(text) + seed)
    again, model, now = Judge(), None, text
    for number in range(30):
        now = text if number % 15 == 0 else restructured(now, chance) if chance.random() < 0.85 else now
        model = read_file(SourceText("a.workflow.yaml", now), model)
        fresh = read_file(SourceText("a.workflow.yaml", now))
        assert checked([model], again) == checked([fresh], None), now


CHAINED = """\
workflow: chained
version: v1
inputs:
  a: string
  b: {type: integer, required: false}
  hush: {type: string, secret: true}
secrets: [KEY, OTHER]
budget: {max_transitions: 900, max_for_each_items: 9}
deadline: 2h
steps:
  - id: one
    block: set
    params: {v: 1, w: "{inputs.a}", s: "{secrets.KEY}"}
  - id: two
    when: "{one.v == 1}"
    block: set
    params: {v: "{one.v}", w: "{one.w}", s: "{one.s}"}
  - id: each
    for_each:
      items: [1, 2, 3]
      steps:
        - id: inner
          block: set
          params: {v: "{two.v}", s: "{item}"}
      outputs: {v: "{inner.v}", s: "{two.s}"}
  - id: again
    block: log
    params: {message: "{two.v + 1} {each.results}"}
NEXT
  - id: sides
    concurrency:
      branches:
        left: {steps: [{id: in_left, block: set, params: {v: "{two.w}"}}], outputs: {v: "{in_left.v}"}}
        right: {steps: [{id: in_right, block: log, params: {message: "{each.total}"}}]}
  - id: held
    concurrency:
      resource: "key:{one.w}"
      steps:
        - {id: write, block: http, params: {url: "http://x.example/{two.w}", method: POST}}
      outputs: {s: "{two.s}", v: "{sides.branches.left.output.v}"}
  - id: three
    when: "{one.v == 1}"
    block: set
    params: {v: "{held.output.v}", w: "{two.w}", s: "{held.output.s}", n: "{run.version}"}
CALL
  - id: told
    block: log
    params: {message: "{three.v} {three.s} {three.w + 'x'} {inputs.b}"}
outputs: {v: "{three.v}", w: "{three.s}"}
on_cancel:
  - {id: tidy, block: log, params: {message: "{state.three.v} {inputs.hush}"}}
"""
JUMP = """\
    next: "{one.v == 1 ? 'sides' : 'told'}"
  - id: gone
    block: fail
    params: {message: "{two.v}"}"""
CALL = """\
  - id: round
    run_workflow: {workflow: chained, inputs: {a: "{three.s}", hush: "{three.v}"}, result_key: back}
  - id: more
    start_workflows: {items: "{one.w}", workflow: chained, payload_key: a, result_key: runs}"""
READ = [
    "one.v", "one.w", "one.s", "two.v", "two.s", "two.w", "three.v", "three.s", "each.results", "each.winner.output",
    "inner.v", "inputs.a", "inputs.b", "inputs.hush", "inputs.x", "secrets.KEY", "secrets.OTHER", "secrets.OTHR",
    "state.one.v", "state.two", "state", "run.version", "run.id", "item", "told.x", "back.v", "held.fence", "1", "'x'",
    "one.v == 1", "size(one.w)", "tow.v", "three",
]  # fmt: skip
HEADS = [
    ("a: string", "a: integer"), ("a: string", "ab: string"), ("  a: string\n", ""), ("required: false", "default: 3"),
    ("b: {", "x: {"), ("secret: true", "secret: false"), ("[KEY, OTHER]", "[KEY]"), ("secrets: [KEY, OTHER]\n", ""),
    ("inputs:\n", "inputs:\n  x: any\n"), ("version: v1\n", ""), ("version: v1", "version: 'v1"), ("v1\n", "v2 # c\n"),
    ("max_for_each_items: 9", "max_for_each_items: 2"), ("budget:", "x-budget:"), ("deadline: 2h", "deadline: 1s"),
    ("deadline: 2h\n", ""), ("deadline:", "description: it is\ndeadline:"), ("workflow: chained", "workflow: chain"),
    ("steps:\n", "concurrency: {limit: 2}\nsteps:\n"), ("steps:\n", "idempotency_key: '{secrets.KEY}'\nsteps:\n"),
    ("steps:\n", "# said\nsteps:\n"), ("outputs: {v", "outputs: {z"), ("outputs: {v", "x-out: {v"),
    ("on_cancel:", "on_deadline:"), ("id: tidy", "id: two"), ("deadline: 2h", "compensate_on_failure: true"),
]  # fmt: skip
PLAIN = [
    "  - id: fresh\n    block: set\n    params: {v: '{one.v}', w: 2}\n",
    "  - id: told\n    when: '{two.v == 2}'\n    block: log\n    params: {message: hello}\n",
    "  - id: early\n    block: fail\n    params: {message: hello}\n",
    "  - {id: claim, concurrency: {resource: 'c', lifetime: run, on_busy: skip}}\n",
    "  - {id: hop, delay: 3s, next: three}\n",
]


def chained() -> Iterator[tuple[str, str]]:
    yield "straight", CHAINED.replace("NEXT\n", "").replace("CALL\n", "")
    yield "jumping", CHAINED.replace("NEXT", JUMP).replace("CALL\n", "")
    yield "calling itself", CHAINED.replace("NEXT\n", "").replace("CALL", CALL)


def meant_otherwise(text: str, first: str, chance: random.Random) -> str:
    """A text in which something reads another name, its own fields say something else, or a step is new."""
    kind = chance.random()
    if kind < 0.5:
        found = chance.choice(list(re.finditer(r"\{[a-z0-9_.' =()]+\}", text)) or [None])
        return text if found is None else f"{text[: found.start()]}{{{chance.choice(READ)}}}{text[found.end() :]}"
    if kind < 0.75:
        old, new = chance.choice(HEADS)
        return text.replace(old, new, 1) if chance.random() < 0.6 else text.replace(new, old, 1) if new else text
    if kind < 0.9:
        at = chance.choice([found.start() for found in re.finditer(r"^  - ", text, re.M)] or [len(text)])
        return text[:at] + chance.choice(PLAIN) + text[at:]
    return restructured(text, chance) if chance.random() < 0.7 else first


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("first", [pytest.param(text, id=name) for name, text in chained()])
def test_edits_of_what_is_read_and_of_the_own_fields(first: str, seed: int) -> None:
    chance = random.Random(seed)
    again, model, now = Judge(), None, first
    for number in range(40):
        now = first if number % 10 == 0 else meant_otherwise(now, first, chance)
        model = read_file(SourceText("a.workflow.yaml", now), model)
        fresh = read_file(SourceText("a.workflow.yaml", now))
        assert checked([model], again) == checked([fresh], None), now


def steps_of(*steps: str) -> str:
    return "workflow: small\nsecrets: [KEY]\nsteps:\n" + "".join(f"  - {step}\n" for step in steps)


SMALL = "{id: end, block: log, params: {message: '{two.v}'}}"
TWO = "{id: two, block: set, params: {v: '{one.v}'}}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            steps_of("{id: one, block: set, params: {v: 1}}", TWO, SMALL),
            steps_of("{id: one, block: set, params: {v: '{secrets.KEY}'}}", TWO, SMALL),
            id="a secret goes through a step that is not edited",
        ),
        pytest.param(
            steps_of("{id: one, block: set, params: {v: a}}", TWO, SMALL.replace("two.v", "two.v.x")),
            steps_of("{id: one, block: set, params: {v: {x: 1}}}", TWO, SMALL.replace("two.v", "two.v.x")),
            id="a type goes through a step that is not edited",
        ),
        pytest.param(
            steps_of("{id: one, delay: 1s}", "{id: two, delay: 1s}", "{id: two, delay: 1s}"),
            steps_of("{id: one, delay: 2s}\n    - {id: two, delay: 1s}", "{id: two, delay: 1s}"),
            id="of two alike the second goes, and another comes before the first",
        ),
    ],
)
def test_an_edit_that_others_see_from_afar(before: str, after: str) -> None:
    again, model = Judge(), None
    for now in (before, after, before):
        model = read_file(SourceText("a.workflow.yaml", now), model)
        fresh = read_file(SourceText("a.workflow.yaml", now))
        assert checked([model], again) == checked([fresh], None)


def test_a_secret_is_declared_no_more_and_then_the_text_breaks() -> None:
    declared = steps_of(
        "{id: one, block: http, params: {url: 'http://x.example', headers: {a: '{secrets.KEY}'}}}", SMALL
    )
    missing = declared.replace("secrets: [KEY]\n", "")
    again, model = Judge(), None
    for now in (declared, missing, missing.replace("{message", "message"), missing):
        model = read_file(SourceText("a.workflow.yaml", now), model)
        fresh = read_file(SourceText("a.workflow.yaml", now))
        assert checked([model], again) == checked([fresh], None)


def workspace() -> list[str]:
    """Files that call each other, share locks, and hand secrets on."""
    calls = """\
workflow: caller
inputs: {q: string}
secrets: [KEY]
steps:
  - id: lease
    concurrency: {resource: "k", lifetime: run}
  - id: made
    block: set
    params: {token: "{secrets.KEY}", plain: "{inputs.q}"}
  - id: ran
    run_workflow: {workflow: jumpy, inputs: {n: 5, far: "{made.token}"}, result_key: back}
  - id: seen
    block: log
    params: {message: "{back.x} {back.nothing} {made.plain}"}
  - id: started
    start_workflows: {items: [{p: "{made.token}"}], workflow: other, result_key: ids}
outputs: {o: "{back.y}"}
"""
    other = """\
workflow: other
inputs: {p: {type: any, required: false}}
steps:
  - id: hold
    concurrency: {resource: "k", steps: [{id: w, block: log, params: {message: "{inputs.p}"}}]}
  - id: take
    concurrency: {resource: "a", lifetime: run}
  - id: call
    run_workflow: {workflow: lonely}
outputs: {z: "{hold.output}"}
"""
    return [JUMPY, calls, other, workflow_text(60, seed=4)]


@pytest.mark.parametrize("seed", range(3))
def test_edits_of_files_that_are_seen_together(seed: int) -> None:
    chance = random.Random(seed)
    firsts = workspace()
    again, now = Judge(), list(firsts)
    models: list[FileModel | None] = [None] * len(now)
    for number in range(30):
        at = chance.randrange(len(now))
        kind = chance.random()
        if number % 12 == 0:
            now = list(firsts)
        elif kind < 0.4:
            now[at] = restructured(now[at], chance)
        elif kind < 0.7:
            now[at] = meant_otherwise(now[at], firsts[at], chance)
        elif kind < 0.9:
            place = chance.randrange(len(now[at]))
            now[at] = now[at][:place] + chance.choice(LETTERS) + now[at][place:]
        else:
            now[at] = firsts[at]
        sources = [SourceText(f"{name}.workflow.yaml", text) for name, text in enumerate(now)]
        models = [
            model if model is not None and model.source.text == source.text else read_file(source, model)
            for source, model in zip(sources, models, strict=True)
        ]
        fresh = [read_file(SourceText(source.path, source.text)) for source in sources]
        got = checked([model for model in models if model is not None], again)
        assert got == checked(fresh, None), "\n=====\n".join(now)


def test_an_edit_that_no_caller_can_tell_judges_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = "workflow: caller\nsteps:\n  - {id: c, run_workflow: {workflow: called, result_key: r}}\n"
    called = "workflow: called\nsteps:\n  - {id: l, block: log, params: {message: hello}}\noutputs: {x: 1}\n"
    again = Judge()
    callers = read_file(SourceText("a.workflow.yaml", caller))
    model = read_file(SourceText("b.workflow.yaml", called))
    again.judge([callers, model])
    seen = watch(monkeypatch)
    for text in (called.replace("hello", "hi"), called.replace("x: 1", "y: 1")):
        model = read_file(SourceText("b.workflow.yaml", text), model)
        assert checked([callers, model], again) == checked(
            [read_file(SourceText("a.workflow.yaml", caller)), read_file(SourceText("b.workflow.yaml", text))], None
        )
        seen.append(0)
    assert seen == [1, 0, 1, 1, 0]


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in texts()])
def test_a_judgement_that_is_stopped_leaves_nothing_half_done(text: str) -> None:
    class Stopped(Exception):
        pass

    chance = random.Random(len(text))
    again, model, now = Judge(), None, text
    for _ in range(30):
        left = chance.randrange(40)

        def give_way() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Stopped

        now = restructured(now, chance) if chance.random() < 0.8 else text
        model = read_file(SourceText("a.workflow.yaml", now), model)
        with contextlib.suppress(Stopped):
            again.judge([model], None, give_way)
        if chance.random() < 0.5:
            fresh = read_file(SourceText("a.workflow.yaml", now))
            assert checked([model], again) == checked([fresh], None), now


def test_an_edit_that_others_see_judges_those_who_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch)
    text = workflow_text(1200, seed=1)
    again = Judge()
    model = read_file(SourceText("a.workflow.yaml", text))
    again.judge([model])
    at = text.index("- id: call_", len(text) // 2) + 11
    for now in (text[:at] + "x" + text[at:], text, text[:at] + '"' + text[at:], text):
        model = read_file(SourceText("a.workflow.yaml", now), model)
        again.judge([model])
    assert seen[0] > 100
    assert len(seen) > 1
    assert max(seen[1:]) < 40


def test_an_inner_edit_judges_one_step_and_not_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch)
    text = workflow_text(600, seed=1)
    again = Judge()
    model = read_file(SourceText("a.workflow.yaml", text))
    again.judge([model])
    at = text.index("/items/", len(text) // 2) + 1
    model = read_file(SourceText("a.workflow.yaml", text[:at] + "x" + text[at:]), model)
    again.judge([model])
    assert len(seen) == 2
    assert seen[1] < 5 < seen[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("description: Work", "description: Works"),
        ("version: v1", "version: v2"),
        ("inputs:\n", "inputs:\n  more: string\n"),
        ("budget: {max_transitions: 100000}\n", "budget: {max_transitions: 90000}\n"),
        ("steps:\n", "deadline: 3h\nsteps:\n"),
    ],
)
def test_an_edit_of_the_own_fields_judges_those_who_read_them(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    seen = watch(monkeypatch)
    text = workflow_text(1200, seed=1)
    again, model = Judge(), None
    for now in (text, text.replace(old, new)):
        assert now is text or now != text
        model = read_file(SourceText("a.workflow.yaml", now), model)
        again.judge([model])
    assert seen[0] > 100
    assert max(seen[1:]) < 40


def test_a_step_that_comes_into_a_list_with_jumps_judges_not_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: list[object] = []
    import interlock.analyzer.incremental as incremental

    original = incremental._whole
    monkeypatch.setattr(incremental, "_whole", lambda *given: (whole.append(1), original(*given))[1])
    text = workflow_text(1200, seed=1).replace("    block: log\n", "    block: log\n    next: end\n", 1)
    again, model = Judge(), None
    at = text.index("  - id: ", len(text) // 2)
    for now in (text, text[:at] + "  - id: new\n    delay: 1s\n" + text[at:], text):
        model = read_file(SourceText("a.workflow.yaml", now), model)
        again.judge([model])
    assert len(whole) == 1


def watch(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many steps at the top each pass of the rules of steps looks at."""
    import interlock.analyzer.incremental as incremental

    seen: list[int] = []
    original = incremental._found

    def watched(rules: tuple[object, ...], unit: object, give_way: object) -> object:
        if len(rules) > 5:
            seen.append(len(unit.workflow.steps.steps))  # type: ignore[attr-defined]
        return original(rules, unit, give_way)  # type: ignore[arg-type]

    monkeypatch.setattr(incremental, "_found", watched)
    return seen
