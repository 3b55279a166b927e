"""Where secrets flow, and where ``secrets`` may stand: IL501 to IL503, IL505 to IL508."""

from __future__ import annotations

import re

import pytest
from found import codes, diagnostics

from interlock.analyzer.language.blocks import BUILT_IN, BlockSpec

WANT = re.compile(r"#\s*want:\s*([A-Z0-9, ]+)$")


def check(text: str, *others: str, blocks: dict[str, BlockSpec] | None = None) -> None:
    """Holds the findings about secrets against the ``# want: CODE`` at the ends of lines."""
    wanted = sorted(
        (number, code.strip())
        for number, line in enumerate(text.split("\n"), 1)
        if (match := WANT.search(line))
        for code in match[1].split(",")
    )
    found = [(line, code) for line, code in codes(text, *others, blocks=blocks) if code.startswith("IL50")]
    assert sorted(set(found)) == wanted


def steps(*lines: str, head: str = "") -> str:
    body = "\n".join(lines)
    return (
        f"workflow: w\ninputs: {{user: string, token: {{type: string, secret: true}}, xs: array}}\n"
        f"secrets: [KEY]\n{head}\nsteps:\n{body}\n"
    )


def log(expression: str, want: bool = True) -> str:
    return f'- {{id: say, block: log, params: {{message: "{expression}"}}}}' + ("  # want: IL507" if want else "")


# -- sources and expressions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "{secrets.KEY}",
        "{secrets['KEY']}",
        "{secrets}",
        "{secrets[inputs.user]}",
        "{inputs.token}",
        "{inputs}",
        "{inputs[inputs.user]}",
        "key: {inputs.token}",
        "{inputs.token + '!'}",
        "{inputs.token.upperAscii()}",
        "{base64.encode(bytes(inputs.token))}",
        "{size(inputs.user) > 3 ? inputs.token : ''}",
        "{[inputs.user, inputs.token]}",
        "{ {'a': inputs.token} }",
        "{ {'a': inputs.token}.a }",
        "{[inputs.token].map(x, x)}",
        "{[1, 2].map(x, inputs.token)}",
        "{[inputs.token].filter(x, x != '')}",
        "{inputs.?token.orValue('')}",
        "{inputs.?user.orValue(inputs.token)}",
        "{inputs.tokn}",
    ],
)
def test_what_carries_a_secret(expression: str) -> None:
    check(steps(log(expression)))


@pytest.mark.parametrize(
    "expression",
    [
        "{inputs.user}",
        "{size(inputs.token)}",
        "{inputs.token == 'a'}",
        "{inputs.token in inputs.xs}",
        "{inputs.token > 'a' ? 'long' : 'short'}",
        "{ {'a': inputs.token, 'b': 1}.b }",
        "{[inputs.token].map(x, size(x))}",
        "{[inputs.token].exists(x, x == 'a')}",
        "{run.id}",
    ],
)
def test_what_gives_nothing_away(expression: str) -> None:
    check(steps(log(expression, want=False)))


def test_every_reading_is_told() -> None:
    found = [one for one in diagnostics(steps(log("{inputs.token} and {secrets.KEY}"))) if one.code == "IL507"]
    assert [one.column for one in found] == [45, 64]


# -- sinks ----------------------------------------------------------------------------------------------


def test_keys() -> None:
    check(
        """\
workflow: w
inputs: {user: string, token: {type: string, secret: true}}
secrets: [KEY]
concurrency: {limit: 1, on_busy: supersede, supersession_key: "{inputs.token}"}  # want: IL502
idempotency_key: "k:{secrets.KEY}"  # want: IL503
steps:
  - id: a
    concurrency:
      resource: "r:{inputs.user}:{inputs.token}"  # want: IL501
      steps:
        - {id: say, block: log, params: {message: "{lease.key}"}}  # want: IL507
        - {id: fine, block: log, params: {message: "{lease.fence}"}}
"""
    )


def test_secrets_in_a_key_are_its_error_even_where_they_give_nothing_away() -> None:
    claim = '- {id: a, concurrency: {lifetime: run, on_busy: fail, resource: "{size(secrets.KEY)}"}}  # want: IL501'
    check(steps(claim, head='idempotency_key: "{secrets.KEY}"  # want: IL503'))


def test_the_log_in_handlers_and_compensations_is_a_log() -> None:
    check(
        steps(
            "- id: a",
            "  block: http",
            "  params: {url: 'https://a.example', headers: {Authorization: 'Bearer {secrets.KEY}'}}",
            "  compensate: {block: log, params: {message: 'undo {inputs.token}'}}  # want: IL507",
            "on_cancel:",
            log("{secrets.KEY}"),
            "on_deadline:",
            "- {id: x, block: set, params: {a: '{secrets.KEY}'}}",
            log("{inputs.token}").replace("say", "say2"),
        )
    )


def test_a_log_by_a_near_name_is_a_log() -> None:
    check(steps('- {id: a, block: lgo, params: {mesage: "{inputs.token}"}}  # want: IL507'))


# -- set and the public state ---------------------------------------------------------------------------


def test_set_carries_member_by_member() -> None:
    check(
        steps(
            "- id: s",
            "  block: set",
            "  params:",
            "    plain: '{inputs.user}'",
            "    deep: {key: '{secrets.KEY}', other: 1}  # want: IL505",
            "    list: ['{inputs.token}', b]  # want: IL505",
            "- {id: t, block: set, params: {all: '{s.deep}', one: '{s.deep.key}', no: '{s.plain}'}}",
            log("{s.plain} {s.deep.other} {t.no} {t.all.other}", want=False),
            log("{s.deep.key}").replace("say", "say2"),
            log("{s.list[1]}").replace("say", "say3"),
            log("{t.all}").replace("say", "say4"),
            log("{state}").replace("say", "say5"),
            log("{state.t.one}").replace("say", "say6"),
            log("{state.t.no} {state.other}", want=False).replace("say", "say7"),
            log("{s}").replace("say", "say8"),
        )
    )


def test_state_holds_what_has_settled() -> None:
    check(
        steps(
            log("{state}", want=False),
            "- {id: s, block: set, params: {a: '{secrets.KEY}'}}  # want: IL505",
            log("{state}").replace("say", "say2"),
        )
    )


def test_other_blocks_give_nothing_back() -> None:
    check(
        steps(
            "- {id: h, block: http, params: {url: 'https://a.example', json: '{secrets.KEY}'}}",
            log("{h.text}", want=False),
        )
    )


def test_a_near_name_of_a_step_counts_as_it() -> None:
    check(
        steps(
            "- {id: derive, block: set, params: {a: '{secrets.KEY}'}}  # want: IL505",
            log("{derve.a}"),
        )
    )


def test_a_loop_carries_a_secret_back() -> None:
    check(
        steps(
            log("{state}"),
            "- {id: s, block: set, params: {a: '{secrets.KEY}', old: '{state}'}}  # want: IL505",
            "- {id: again, when: '{size(s.a) > 3}', delay: 1s, next: say}",
            head="deadline: 1h",
        )
    )


def test_blocks_of_a_manifest() -> None:
    spec = BlockSpec("acme.login", "", {}, None, True, 1, (("token",), ("keys", "*", "value")))
    check(
        steps(
            "- {id: a, block: acme.login, params: {}}  # want: IL505",
            log("{a.token}"),
            log("{a.keys.first.value}").replace("say", "say2"),
            log("{a.user} {a.keys.first.name}", want=False).replace("say", "say3"),
            "- {id: b, block: set, params: {x: '{a.token}'}}",
        ),
        blocks={**BUILT_IN, "acme.login": spec},
    )


# -- containers -----------------------------------------------------------------------------------------


def test_branches_sections_and_items_are_stored_by_their_outputs() -> None:
    check(
        """\
workflow: w
inputs: {user: string, xs: {type: array, secret: true}}
secrets: [KEY]
steps:
  - id: p
    concurrency:
      branches:
        a:
          steps: [{id: s, block: set, params: {k: "{secrets.KEY}", n: 1}}]
          outputs:
            k: "{s.k}"  # want: IL505
            n: "{s.n}"
        b:
          steps:
            - id: q
              concurrency:
                resource: r
                steps: [{id: s, block: set, params: {k: "{secrets.KEY}"}}]
                outputs: {k: "{s.k}"}
          outputs: {k: "{q.output.k}"}  # want: IL505
  - id: f
    for_each:
      items: "{inputs.xs}"
      steps:
        - {id: s, block: log, params: {message: "{item.name} {index}"}}  # want: IL507
        - {id: t, block: set, params: {k: "{item}", n: "{index}"}}
      outputs: {k: "{t.k}", n: "{t.n}"}  # want: IL505
  - {id: a1, block: log, params: {message: "{p.branches.a.output.k}"}}  # want: IL507
  - {id: a2, block: log, params: {message: "{p.branches.b.output.k}"}}  # want: IL507
  - {id: a3, block: log, params: {message: "{p.branches.a.output.n} {p.branches.a.status}"}}
  - {id: a4, block: log, params: {message: "{f.results[0].k}"}}  # want: IL507
  - {id: a5, block: log, params: {message: "{f.results[0].n} {f.total} {f.results.map(r, r.n)}"}}
  - {id: a6, block: log, params: {message: "{f.winner.output.k}"}}  # want: IL507
  - {id: a7, block: log, params: {message: "{p}"}}  # want: IL507
"""
    )


def test_literal_items_carry_what_stands_in_them() -> None:
    check(
        steps(
            "- id: f",
            "  for_each:",
            "    items: [{k: '{inputs.token}', n: 1}, {k: x, n: 2}]",
            "    as: one",
            "    steps:",
            "      - {id: s, block: log, params: {message: '{one.k}'}}  # want: IL507",
            "      - {id: t, block: log, params: {message: '{one.n}'}}",
        )
    )


# -- outputs --------------------------------------------------------------------------------------------


def test_outputs_are_told_where_the_secret_first_enters() -> None:
    check(
        steps(
            "- {id: s, block: set, params: {a: '{secrets.KEY}'}}  # want: IL505",
            "outputs:",
            "  again: '{s.a}'",
            "  first: '{inputs.token}'  # want: IL505",
            "  both: '{s.a}{inputs.token}'  # want: IL505",
            "  fine: '{size(inputs.token)}'",
        )
    )


# -- other runs -----------------------------------------------------------------------------------------

CHILD = """
workflow: child
inputs: {open: {type: any, required: false}, hidden: {type: string, secret: true, required: false}}
steps: [{id: s, block: set, params: {n: 1}}]
outputs: {back: "{inputs.open}", n: "{s.n}"}
"""


def test_inputs_of_another_run() -> None:
    check(
        steps(
            "- id: r",
            "  run_workflow:",
            "    workflow: child",
            "    inputs:",
            "      open: 'x{inputs.token}'  # want: IL505",
            "      hidden: '{inputs.token}'",
            "    result_key: got",
            log("{got.back}"),
            log("{got.n}", want=False).replace("say", "say2"),
            "- {id: t, block: set, params: {x: '{got.back}'}}",
        ),
        CHILD,
    )


def test_a_child_sees_what_its_callers_hand_in() -> None:
    caller = steps(
        "- {id: r, run_workflow: {workflow: child, inputs: {open: {a: '{inputs.token}', b: 1}}, result_key: got}}"
    )
    check(
        """\
workflow: child
inputs: {open: any}
steps:
  - {id: a, block: log, params: {message: "{inputs.open.a}"}}  # want: IL507
  - {id: b, block: log, params: {message: "{inputs.open.b}"}}
  - {id: s, block: set, params: {x: "{inputs.open.a}"}}
""",
        caller,
    )


def test_a_secret_crosses_three_files_and_shows_its_way() -> None:
    top = steps(
        "- {id: r, run_workflow: {workflow: middle, inputs: {key: '{inputs.token}'}, result_key: got}}",
        '- {id: c, concurrency: {lifetime: run, on_busy: fail, resource: "{got.deep.value}"}}  # want: IL501',
    )
    middle = """
        workflow: middle
        inputs: {key: {type: string, secret: true}}
        steps: [{id: r, run_workflow: {workflow: last, inputs: {key: "{inputs.key}"}, result_key: deep}}]
        """
    last = """
        workflow: last
        inputs: {key: {type: string, secret: true}}
        steps: [{id: s, block: set, params: {x: "{inputs.key}"}}]
        outputs: {value: "{s.x}"}
        """
    check(top, middle, last)
    (found,) = [one for one in diagnostics(top, middle, last) if one.code == "IL501"]
    assert [place.file[4] for place in found.related] == ["2", "2", "2", "1", "0"]
    assert found.related[0].message == 'input "key" is declared secret here'


def test_a_child_without_outputs_gives_its_state() -> None:
    child = """
        workflow: child
        secrets: [KEY]
        steps:
          - {id: s, block: set, params: {a: "{secrets.KEY}", b: 1}}
        """
    check(
        steps(
            "- {id: r, run_workflow: {workflow: child, result_key: got}}",
            log("{got.s.a}"),
            log("{got.s.b}", want=False).replace("say", "say2"),
            "- {id: m, run_workflow: {workflow: child}}",
            log("{state.s.a}").replace("say", "say3"),
        ),
        child,
    )


def test_workflows_that_run_each_other() -> None:
    other = """
        workflow: other
        inputs: {x: any}
        steps:
          - id: r
            when: "{size(inputs.x) > 3}"
            run_workflow: {workflow: w, inputs: {user: "{inputs.x}", token: t, xs: []}, result_key: k}
        outputs: {x: "{inputs.x}"}
        """
    check(
        steps(
            "- {id: r, run_workflow: {workflow: other, inputs: {x: '{inputs.token}'}, result_key: k}}  # want: IL505",
            log("{k.x}"),
            log("{inputs.user}").replace("say", "say2"),
        ),
        other,
    )


def test_started_runs() -> None:
    check(
        steps(
            "- id: a",
            "  start_workflows:",
            "    workflow: child",
            "    payload_key: open",
            "    result_key: ids",
            "    items:",
            "      - {open: '{inputs.token}', other: '{secrets.KEY}'}  # want: IL505,IL508",
            "      - {hidden: '{inputs.token}'}",
            "      - '{inputs.token}'  # want: IL505",
            "      - '{inputs.user}'",
            "- id: b",
            "  start_workflows: {workflow: child, payload_key: hidden, result_key: x, items: ['{inputs.token}']}",
            log("{ids}", want=False),
            head="budget: {max_started_workflows: 9}",
        ),
        CHILD,
    )


def test_runs_that_inherit() -> None:
    child = "workflow: child\ninputs: {token: any, n: any}\nsteps: [{id: s, delay: 1s}]"
    start = "start_workflows: {workflow: child, payload_key: n, result_key: ids, items: [1]"
    head = "budget: {max_started_workflows: 9}"
    check(steps(f"- id: a\n  {start}}}  # want: IL505", head=head), child)
    check(steps(f"- id: a\n  {start}, inherit_state: false}}", head=head), child)
    declared = child.replace("token: any", "token: {type: string, secret: true}")
    check(steps(f"- id: a\n  {start}}}", head=head), declared)
    check(steps(f"- id: a\n  {start.replace('[1]', '[{token: mine, n: 1}]')}}}", head=head), child)


def test_dependency_waits_carry_nothing() -> None:
    check(
        steps(
            "- {id: a, wait_for_workflow: {workflow: '{inputs.token}', result_key: got}}",
            log("{got}", want=False),
        )
    )


# -- IL506, IL508 ---------------------------------------------------------------------------------------


def test_secrets_stand_only_in_params() -> None:
    check(
        steps(
            "- {id: a, when: \"{secrets.KEY != ''}\", block: log, params: {message: hi}}  # want: IL508",
            "- id: b",
            "  for_each: {items: '{secrets.KEY}', steps: [{id: s, delay: 1s}]}  # want: IL508",
            "- id: c",
            "  concurrency:",
            "    branches:",
            "      x: {steps: [{id: s, delay: 1s}], outputs: {k: '{secrets.KEY}'}}  # want: IL508",
            "- {id: d, run_workflow: {workflow: child, inputs: {open: '{secrets.KEY}'}, result_key: r}}  # want: IL508",
            "- {id: e, wait_for_workflow: {workflow: '{secrets.KEY}', result_key: g}}  # want: IL508",
            "- {id: f, wait_for_signal: {name: n, result_key: h, match: {a: '{secrets.KEY}'}}}  # want: IL508",
            "- {id: g2, delay: 1s, next: '{secrets.KEY}'}  # want: IL508",
            "- {id: h2, block: http, params: {url: 'https://a.example'}, compensate: {block: http, params: "
            "{url: 'https://a.example', headers: {A: '{secrets.KEY}'}}}}",
            "outputs: {x: '{secrets.KEY}'}  # want: IL508",
            head="budget: {max_transitions: 90}",
        ),
        CHILD,
    )


def test_undeclared_secrets() -> None:
    call = "- {{id: a, block: http, params: {{url: 'https://a.example', headers: {{A: '{{secrets.{}}}'}}}}}}"
    check(steps(call.format("KEY")))
    check(steps(call.format("OTHER") + "  # want: IL506"))
    check(steps(call.format("?OTHER") + "  # want: IL506"))
    check(steps("- {id: a, delay: 1s, when: \"{secrets.OTHER == 'x'}\"}  # want: IL506, IL508"))
    check(steps(log("{secrets.OTHER}", want=False) + "  # want: IL506, IL507"))
    check(steps("- {id: a, delay: 1s}", head='idempotency_key: "{secrets.OTHER}"  # want: IL503, IL506'))
    check(steps(call.format("OTHER")).replace("secrets: [KEY]", "secrets: KEY"))


@pytest.mark.parametrize(
    ("declared", "used", "mended"),
    [
        ("secrets: [API_KEY, B]", "API_KYE", 'A: "{secrets.API_KEY}"'),
        ("secrets: [API_KEY]", "OTHER", "secrets: [API_KEY, OTHER]"),
        ("secrets:\n  - API_KEY", "OTHER", "secrets:\n  - API_KEY\n  - OTHER\n"),
        ("description: none", "OTHER", "description: none\nsecrets: [OTHER]\nsteps:"),
    ],
)
def test_fixes_of_undeclared_secrets(declared: str, used: str, mended: str) -> None:
    text = (
        f"workflow: w\n{declared}\nsteps:\n  - id: a\n    block: http\n"
        f'    params: {{url: "https://a.example", headers: {{A: "{{secrets.{used}}}"}}}}\n'
    )
    (found,) = [one for one in diagnostics(text) if one.code == "IL506"]
    assert found.fix is not None
    for edit in found.fix.edits:
        lines = text.split("\n")
        start = sum(len(line) + 1 for line in lines[: edit.line - 1]) + edit.column - 1
        end = sum(len(line) + 1 for line in lines[: edit.end_line - 1]) + edit.end_column - 1
        text = text[:start] + edit.text + text[end:]
    assert mended in text
    assert codes(text) == []


# -- the whole ------------------------------------------------------------------------------------------


def test_the_way_is_told_from_the_source() -> None:
    (found,) = [
        one
        for one in diagnostics(
            steps(
                "- {id: s, block: set, params: {a: {b: '{secrets.KEY}'}}}",
                "- {id: t, block: set, params: {c: 'x{s.a.b}'}}",
                log("{t.c}", want=False),
            )
        )
        if one.code == "IL507"
    ]
    assert [(place.line, place.message) for place in found.related] == [
        (3, 'secret "KEY" is declared here'),
        (6, 'it goes into "s.a.b"'),
        (7, 'it goes into "t.c"'),
    ]


def test_nesting_without_end_is_cut() -> None:
    text = steps(
        "- {id: s, block: set, params: {a: '{inputs.token}', more: '{state}', n: 1}}  # want: IL505",
        "- {id: t, block: set, params: {more: '{state}', other: ['{state}', {x: '{state}'}]}}",
        "- {id: again, when: '{size(s.a) > 3}', delay: 1s, next: s}",
        log("{t}"),
        head="deadline: 1h",
    )
    check(text)
