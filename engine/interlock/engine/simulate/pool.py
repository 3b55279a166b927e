"""Workflows for the simulation: together they use every step kind, policy and stop, over few keys."""

from __future__ import annotations

POOL = """
workflow: edit
inputs: {n: {type: integer, default: 0}}
concurrency: {limit: 1, on_busy: supersede, supersession_key: "{inputs.n}"}
steps:
  - id: made
    block: work
    params: {n: "{inputs.n}"}
    compensate: {block: undo, params: {n: 1}}
    retry: {max_attempts: 2, delay: 5s}
  - {id: claim, concurrency: {resource: "k{inputs.n}", lifetime: run}}
  - id: pub
    concurrency:
      resource: site
      protected: true
      steps:
        - {id: look, block: work, params: {}}
        - {id: act, block: write, params: {fence: "{lease.fence}"}}
      outputs: {seen: "{act.params.fence}"}
  - {id: after, block: work, params: {s: "{pub.output.seen}"}, compensate: {block: undo, params: {n: 2}}}
on_cancel: [{id: tidy, block: work, params: {}}, {id: more, block: work, params: {}}]
---
workflow: latest
inputs: {n: {type: integer, default: 0}}
concurrency: {limit: 1, on_busy: latest_waiting, supersession_key: "{inputs.n}"}
deadline: 10m
compensate_on_failure: true
steps:
  - {id: a, block: work, params: {}, compensate: {block: undo, params: {}}}
  - id: h
    concurrency:
      resource: "k{inputs.n}"
      steps: [{id: s, block: work, params: {}}, {id: w, wait_for_signal: {name: go}}]
on_deadline: [{id: tell, block: work, params: {}}]
---
workflow: many
inputs: {n: {type: integer, default: 0}}
concurrency: {limit: 2}
budget: {max_transitions: 28, max_cost_units: 40}
steps:
  - id: par
    concurrency:
      on_error: collect
      limit: 2
      branches:
        a:
          steps:
            - {id: c, concurrency: {resource: "k{inputs.n}", lifetime: run, on_busy: skip}}
            - {id: f, when: "{!c.acquired}", concurrency: {resource: spare, lifetime: run, on_busy: fail}}
            - {id: s, block: work, params: {}}
        b:
          steps:
            - {id: h, timeout: 2m, concurrency: {resource: k1, steps: [{id: s, block: work, params: {}}]}}
        c:
          steps:
            - id: h
              concurrency: {resource: k2, protected: true, steps: [{id: act, block: write, params: {}}]}
  - id: items
    for_each:
      items: [0, 1, 2, 3]
      limit: 3
      mode: quorum
      quorum: 2
      steps:
        - {id: s, block: work, params: {n: "{item}"}, compensate: {block: undo, params: {n: "{item}"}}}
        - id: p
          when: "{item > 1}"
          concurrency: {resource: "i{item}", protected: true, steps: [{id: act, block: write, params: {}}]}
      outputs: {n: "{item}"}
  - {id: again, block: count, params: {}, next: "{again.more ? 'again' : 'end'}"}
---
workflow: parent
inputs: {n: {type: integer, default: 0}}
steps:
  - {id: kid, timeout: 20m, run_workflow: {workflow: child, inputs: {n: "{inputs.n}"}, result_key: got}}
  - {id: go, start_workflows: {workflow: child, items: "{[0, 1, 2]}", payload_key: n, result_key: ids, group_key: g}}
  - {id: wait, wait_for_workflow_group: {group: g, mode: any, result_key: some}}
  - {id: rest, wait_for_workflows: {workflows: "{ids}", mode: quorum, quorum: 1, result_key: all}}
---
workflow: child
inputs: {n: integer}
concurrency: {limit: 2}
steps:
  - {id: h, concurrency: {resource: "k{inputs.n}", limit: 1, steps: [{id: s, block: work, params: {}}]}}
  - {id: c, concurrency: {resource: pool, limit: 2, lifetime: run}}
  - {id: t, block: work, params: {}}
outputs: {n: "{inputs.n}"}
---
workflow: locks
inputs: {n: {type: integer, default: 0}}
steps:
  - {id: one, concurrency: {resource: "k{inputs.n}", lifetime: run}}
  - {id: pause, delay: 30s}
  - {id: two, concurrency: {resource: "k{(inputs.n + 1) % 3}", lifetime: run}}
  - {id: s, block: work, params: {f: "{one.fence}"}}
---
workflow: asks
inputs: {n: {type: integer, default: 0}}
budget: {max_state_bytes: 400}
steps:
  - {id: ask, timeout: 5m, wait_for_approval: {}}
  - {id: decide, wait_for_decision: {}}
  - {id: both, wait_for_signals: {names: [a, b], result_key: ab}}
  - {id: s, block: work, params: {}, retry: {max_attempts: 3, delay: 1s, backoff: exponential}}
"""

NAMES = ("edit", "latest", "many", "parent", "child", "locks", "asks")
SIGNALS = ("go", "approval", "approved", "rejected", "a", "b")
