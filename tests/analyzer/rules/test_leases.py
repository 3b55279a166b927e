"""Claims and sections by themselves: empty ones, their keys, what shares a lease, what is never checked."""

from __future__ import annotations

import pytest
from found import codes, diagnostics, marks

LOG = "{id: s, block: log, params: {message: hi}}"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            f"""
            workflow: w
            steps:
              - id: bare
                concurrency:  # IL308
                  resource: a
              - id: nulled
                concurrency:  # IL308
                  resource: b
                  steps:
              - id: listed
                concurrency:  # IL308
                  resource: c
                  on_busy: fail
                  steps: []
              - id: spelled_out
                concurrency:  # IL308
                  resource: d
                  lifetime: step
              - id: full
                concurrency: {{resource: e, steps: [{LOG}]}}
              - id: lasting
                concurrency: {{resource: f, lifetime: run, on_busy: fail}}
            """,
            id="empty",
        ),
        pytest.param(
            """
            workflow: w
            steps:
              - id: unreadable_steps
                concurrency:
                  resource: a
                  steps: none  # IL105
              - id: unreadable_lifetime
                concurrency:
                  resource: b
                  lifetime: forever  # IL112
              - id: near
                concurrency:
                  resource: c
                  stps: [{id: x, block: log, params: {message: hi}}]  # IL103
              - id: far
                concurrency:
                  resource: d
                  body: [{id: y, block: log, params: {message: hi}}]  # IL103
              - id: shield
                concurrency:
                  resource: e
                  protected: true  # IL314
            """,
            id="silent where another mistake decides",
        ),
    ],
)
def test_sections_without_steps(text: str) -> None:
    assert codes(text) == marks(text)


def test_keys_are_text_of_1_to_512_characters() -> None:
    long, longer = "é" * 512, "é" * 513
    text = f"""
    workflow: w
    inputs: {{k: string}}
    steps:
      - id: a
        concurrency: {{resource: {long}, lifetime: run, on_busy: fail}}
      - id: b
        concurrency:
          resource: {longer}  # IL311
          lifetime: run
          on_busy: fail
      - id: c
        concurrency:
          resource: ""  # IL311
          lifetime: run
          on_busy: fail
      - id: d
        concurrency:
          resource: "{longer}{{inputs.k}}"  # IL311
          lifetime: run
          on_busy: fail
    """
    assert codes(text) == marks(text)


def test_branches_that_take_one_key_share_its_lease() -> None:
    text = f"""
    workflow: w
    inputs: {{k: string}}
    steps:
      - id: both
        concurrency:
          branches:
            left:
              steps:
                - {{id: one, concurrency: {{resource: gpu, steps: [{LOG}]}}}}
                - {{id: two, concurrency: {{resource: gpu, steps: [{LOG}]}}}}
                - {{id: three, concurrency: {{resource: "x:{{inputs.k}}", steps: [{LOG}]}}}}
                - {{id: four, concurrency: {{resource: left, steps: [{LOG}]}}}}
            right:
              steps:
                - id: deep
                  for_each:
                    items: [1]
                    steps:
                      - id: inner
                        concurrency:
                          resource: gpu  # IL312
                          steps: [{LOG}]
                - id: again
                  concurrency:
                    on_busy: skip
                    resource: gpu  # IL312
                    steps: [{LOG}]
                - id: same_text
                  concurrency:
                    resource: "x:{{ inputs.k }}"  # IL312
                    steps: [{LOG}]
    """
    assert codes(text) == marks(text)


def test_the_first_of_the_sharing_branches_is_named() -> None:
    text = f"""
    workflow: w
    steps:
      - id: both
        concurrency:
          branches:
            a: {{steps: [{{id: x, concurrency: {{resource: gpu, steps: [{LOG}]}}}}]}}
            b: {{steps: [{{id: y, concurrency: {{resource: gpu, steps: [{LOG}]}}}}]}}
            c: {{steps: [{{id: z, concurrency: {{resource: gpu, steps: [{LOG}]}}}}]}}
    """
    found = diagnostics(text)
    assert [(one.line, one.code) for one in found] == [(8, "IL312"), (9, "IL312")]
    assert all([related.line for related in one.related] == [7] for one in found)


def test_branches_one_after_another_share_nothing() -> None:
    text = f"""
    workflow: w
    steps:
      - id: both
        concurrency:
          limit: 1
          branches:
            a: {{steps: [{{id: x, concurrency: {{resource: gpu, steps: [{LOG}]}}}}]}}
            b: {{steps: [{{id: y, concurrency: {{resource: gpu, steps: [{LOG}]}}}}]}}
    """
    assert codes(text) == []


def test_a_template_that_reads_a_branch_s_own_names_differs_between_branches() -> None:
    branch = """
              steps:
                - {id: pick, block: set, params: {n: a}}
                - {id: take, concurrency: {resource: "x:{pick.n}", steps: [{id: s, block: log, params: {message: hi}}]}}
    """
    text = f"""
    workflow: w
    steps:
      - id: both
        concurrency:
          branches:
            a:{branch}
            b:{branch}
    """
    assert codes(text) == []


def test_items_that_take_one_key_share_its_lease() -> None:
    text = f"""
    workflow: w
    inputs: {{list: array, k: string}}
    steps:
      - {{id: pick, block: set, params: {{n: a}}}}
      - id: each
        for_each:
          items: "{{inputs.list}}"
          as: thing
          steps:
            - {{id: own, block: set, params: {{n: "{{string(thing)}}"}}}}
            - id: literal
              concurrency:
                resource: gpu  # IL312
                steps: [{LOG}]
            - id: from_outside
              concurrency:
                resource: "x:{{pick.n}}:{{inputs.k}}"  # IL312
                steps: [{LOG}]
            - {{id: by_item, concurrency: {{resource: "y:{{string(thing)}}", steps: [{LOG}]}}}}
            - {{id: by_index, concurrency: {{resource: "z:{{index}}", steps: [{LOG}]}}}}
            - {{id: by_step, concurrency: {{resource: "q:{{own.n}}", steps: [{LOG}]}}}}
    """
    assert codes(text) == marks(text)


@pytest.mark.parametrize(
    "fields", ['items: ["a"]', "items: []", 'items: "{inputs.list}", limit: 1', "items: [1, 2], limit: 1"]
)
def test_items_that_never_run_beside_each_other_share_nothing(fields: str) -> None:
    text = f"""
    workflow: w
    inputs: {{list: {{type: array, default: []}}}}
    steps:
      - {{id: seen, block: set, params: {{n: "{{inputs.list}}"}}}}
      - id: each
        for_each: {{{fields}, steps: [{{id: x, concurrency: {{resource: gpu, steps: [{LOG}]}}}}]}}
    """
    assert codes(text) == []


CLAIM = "concurrency: {resource: a, lifetime: run, on_busy: skip}"


@pytest.mark.parametrize(
    "reader",
    [
        '- {id: r, when: "{c.acquired}", block: log, params: {message: hi}}',
        '- {id: r, block: log, params: {message: "{c}"}}',
        '- {id: r, block: log, params: {message: "{state}"}}',
        '- {id: r, block: log, params: {message: "{state.c.acquired}"}}',
        "- {id: r, block: log, params: {message: \"{state['c'].acquired}\"}}",
        '- {id: r, block: log, params: {message: "{[1].map(k, state[string(k)])}"}}',
    ],
)
def test_a_claim_that_is_asked_for_is_checked(reader: str) -> None:
    text = f"""
    workflow: w
    steps:
      - {{id: c, {CLAIM}}}
      {reader}
    """
    assert codes(text) == []


@pytest.mark.parametrize(
    "reader",
    [
        '- {id: r, block: log, params: {message: "{has(c.fence)}"}}',
        '- {id: r, block: log, params: {message: "{has(state.other)}"}}',
        "- {id: r, block: log, params: {message: hi}}",
    ],
)
def test_a_claim_that_nothing_asks_for(reader: str) -> None:
    text = f"""
    workflow: w
    steps:
      - id: c
        concurrency:
          resource: a
          lifetime: run
          on_busy: skip  # IL316
      {reader}
    """
    assert codes(text) == marks(text)


def test_reading_before_the_claim_does_not_count_unless_a_loop_leads_back() -> None:
    text = """
    workflow: w
    steps:
      - {id: r, block: log, params: {message: "{state}"}}
      - id: c
        concurrency:
          resource: a
          lifetime: run
          on_busy: skip  # IL316
    ---
    workflow: loop
    deadline: 1h
    steps:
      - {id: r, block: log, params: {message: "{state}"}}
      - id: c
        concurrency: {resource: b, lifetime: run, on_busy: skip}
        next: "{has(c.fence) ? 'end' : 'r'}"
    """
    assert codes(text) == marks(text)


def test_where_a_claim_may_be_read() -> None:
    text = f"""
    workflow: outputs
    steps:
      - {{id: c, {CLAIM}}}
    outputs: {{got: "{{c.acquired}}"}}
    ---
    workflow: own_next
    steps:
      - id: c
        {CLAIM}
        next: "{{c.acquired ? 'work' : 'end'}}"
      - {LOG.replace("id: s", "id: work")}
    ---
    workflow: handler
    steps:
      - {{id: c, {CLAIM}}}
    on_cancel:
      - {{id: tell, block: log, params: {{message: "{{state.c.acquired}}"}}}}
    ---
    workflow: inner_state_is_not_public
    steps:
      - id: each
        for_each:
          items: [1]
          steps:
            - id: c
              concurrency:
                resource: a
                lifetime: run
                on_busy: skip  # IL316
      - {{id: r, block: log, params: {{message: "{{state}}"}}}}
    ---
    workflow: inner_outputs
    steps:
      - id: each
        for_each:
          items: [1]
          steps: [{{id: c, {CLAIM}}}]
          outputs: {{got: "{{c.acquired}}"}}
    ---
    workflow: another_branch_s_claim
    steps:
      - id: both
        concurrency:
          branches:
            a:
              steps:
                - id: c
                  concurrency:
                    resource: left
                    lifetime: run
                    on_busy: skip  # IL316
            b:
              steps:
                - {{id: c, concurrency: {{resource: right, lifetime: run, on_busy: skip}}}}
              outputs: {{got: "{{c.acquired}}"}}
    """
    assert codes(text) == marks(text)


def test_constant_keys() -> None:
    text = f"""
    workflow: w
    idempotency_key: always  # IL317
    steps:
      - id: a
        concurrency:
          resource: "mine:{{run.id}}"  # IL317
          steps: [{LOG}]
      - id: b
        concurrency:
          resource: "mine:{{run['id']}}"  # IL317
          steps: [{LOG.replace("id: s", "id: t")}]
      - id: c
        concurrency:
          resource: "mine:{{run.workflow}}"
          steps: [{LOG.replace("id: s", "id: u")}]
    ---
    workflow: varied
    inputs: {{k: string}}
    idempotency_key: "varied:{{inputs.k}}"
    steps: [{LOG}]
    """
    assert codes(text) == marks(text)


def test_a_time_out_of_what_never_waits() -> None:
    text = f"""
    workflow: w
    steps:
      - id: a
        timeout: 5s  # IL318
        concurrency: {{resource: a, on_busy: skip, steps: [{LOG}]}}
      - id: b
        timeout: 5s  # IL318
        concurrency: {{resource: b, on_busy: fail, steps: [{LOG.replace("id: s", "id: t")}]}}
      - id: c
        timeout: 5s
        concurrency: {{resource: c, on_busy: wait, steps: [{LOG.replace("id: s", "id: u")}]}}
      - id: d
        timeout: 5s
        concurrency: {{resource: d, steps: [{LOG.replace("id: s", "id: v")}]}}
    """
    assert codes(text) == marks(text)
