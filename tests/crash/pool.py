"""Workflows for the crash tests: every step kind, policy and stop, over few keys, acting on the outside server.

``url`` is the outside server, ``n`` one of few numbers, so that runs meet at keys and supersede each other.
"""

from __future__ import annotations

POOL = """
workflow: publish
inputs: {url: string, n: integer, token: {type: string, secret: true}}
concurrency: {limit: 1, on_busy: supersede, supersession_key: "{inputs.n}"}
steps:
  - id: made
    block: http
    params: {url: "{inputs.url}", method: POST, headers: {X-Token: "{inputs.token}"}, json: {}}
    retry: {max_attempts: 4, delay: 1s}
    timeout: 5s
    compensate: {block: http, params: {url: "{inputs.url}", method: POST, json: {}}}
  - {id: claim, concurrency: {resource: "image:{inputs.n}", lifetime: run}}
  - id: pub
    concurrency:
      resource: site
      protected: true
      steps:
        - {id: look, block: set, params: {fence: "{lease.fence}"}}
        - id: act
          block: http
          params: {url: "{inputs.url}", method: POST, json: {key: site, fence: "{lease.fence}"}}
      outputs: {seen: "{look.fence}"}
  - {id: after, block: set, params: {seen: "{pub.output.seen}"}}
outputs: {seen: "{after.seen}"}
on_cancel: [{id: tidy, block: http, params: {url: "{inputs.url}", method: POST, json: {}}}]
---
workflow: brief
inputs: {url: string, n: integer}
concurrency: {limit: 1, on_busy: latest_waiting, supersession_key: "{inputs.n}"}
deadline: 20m
compensate_on_failure: true
steps:
  - id: a
    block: http
    params: {url: "{inputs.url}", method: POST, json: {}}
    retry: {max_attempts: 3, delay: 1s, backoff: exponential}
    compensate: {block: http, params: {url: "{inputs.url}", method: POST, json: {}}}
  - id: hold
    concurrency:
      resource: "image:{inputs.n}"
      steps:
        - {id: rest, delay: 1s}
        - id: act
          block: http
          params: {url: "{inputs.url}", method: POST, json: {key: "image:{inputs.n}", fence: "{lease.fence}"}}
on_deadline: [{id: tell, block: set, params: {}}]
---
workflow: fan
inputs: {url: string, n: integer}
concurrency: {limit: 3}
budget: {max_transitions: 40}
steps:
  - id: par
    concurrency:
      on_error: collect
      limit: 2
      branches:
        a:
          steps:
            - {id: c, concurrency: {resource: "pool:{inputs.n}", lifetime: run, on_busy: skip}}
            - {id: f, when: "{!c.acquired}", concurrency: {resource: spare, lifetime: run, on_busy: fail}}
            - {id: s, block: http, params: {url: "{inputs.url}", method: POST, json: {}}}
        b:
          steps:
            - id: h
              timeout: 3m
              concurrency: {resource: site, steps: [{id: s, block: set, params: {}}]}
        c:
          steps:
            - id: h
              concurrency:
                resource: press
                protected: true
                steps:
                  - id: act
                    block: http
                    params: {url: "{inputs.url}", method: POST, json: {key: press, fence: "{lease.fence}"}}
  - id: items
    for_each:
      items: [0, 1, 2, 3]
      limit: 3
      mode: quorum
      quorum: 2
      steps:
        - id: s
          block: http
          params: {url: "{inputs.url}", method: POST, json: {item: "{item}"}}
          compensate: {block: http, params: {url: "{inputs.url}", method: POST, json: {}}}
        - id: p
          when: "{item > 1}"
          concurrency:
            resource: "item:{item}"
            protected: true
            steps:
              - id: act
                block: http
                params: {url: "{inputs.url}", method: POST, json: {key: "item:{item}", fence: "{lease.fence}"}}
      outputs: {n: "{item}"}
  - {id: turn, block: set, params: {more: "{!has(state.turn)}"}, next: "{turn.more ? 'turn' : 'end'}"}
---
workflow: parent
inputs: {url: string, n: integer}
steps:
  - id: kid
    run_workflow: {workflow: child, inputs: {url: "{inputs.url}", n: "{inputs.n}"}, result_key: got}
  - id: go
    start_workflows: {workflow: child, items: "{[0, 1]}", payload_key: n, result_key: ids, group_key: g}
  - {id: wait, wait_for_workflow_group: {group: g, mode: any, result_key: some}}
  - {id: rest, wait_for_workflows: {workflows: "{ids}", mode: quorum, quorum: 1, result_key: all}}
---
workflow: child
inputs: {url: string, n: integer}
concurrency: {limit: 4}
steps:
  - id: h
    concurrency:
      resource: "desk:{inputs.n}"
      steps:
        - id: t
          block: http
          params: {url: "{inputs.url}", method: POST, json: {key: "desk:{inputs.n}", fence: "{lease.fence}"}}
          retry: {max_attempts: 3, delay: 1s}
  - {id: c, concurrency: {resource: two, limit: 2, lifetime: run}}
outputs: {n: "{inputs.n}"}
---
workflow: locks
inputs: {url: string, n: integer}
steps:
  - {id: one, concurrency: {resource: "lock:{inputs.n}", lifetime: run}}
  - {id: pause, delay: 1s}
  - {id: two, concurrency: {resource: "lock:{(inputs.n + 1) % 3}", lifetime: run}}
  - {id: s, block: http, params: {url: "{inputs.url}", method: POST, json: {fence: "{one.fence}"}}}
---
workflow: asks
inputs: {url: string, n: integer}
steps:
  - {id: ask, timeout: 30m, wait_for_approval: {}}
  - {id: told, block: http, params: {url: "{inputs.url}", method: POST, json: {}}}
  - {id: decide, wait_for_decision: {}}
  - {id: both, wait_for_signals: {names: [a, b], result_key: ab}}
  - {id: loud, wait_for_signal: {name: go, match: {x: 1}}}
---
workflow: shelled
inputs: {url: string, n: integer}
steps:
  - id: s
    block: shell
    params: {command: ["/bin/sh", "-c", "read line; sleep 0.$line; echo $line"], stdin: "0{inputs.n}"}
    retry: {max_attempts: 3, delay: 1s}
  - {id: after, block: log, params: {message: "{s.stdout}"}}
"""

NAMES = ("publish", "brief", "fan", "parent", "child", "locks", "asks", "shelled")
WEIGHTS = (6, 3, 4, 3, 3, 2, 4, 1)
SIGNALS = ("approval", "approved", "rejected", "a", "b", "go")
