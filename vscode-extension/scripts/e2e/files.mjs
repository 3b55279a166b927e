// The workspace that the end-to-end test works in.
const log = (id, message) => `{id: ${id}, block: log, params: {message: "${message}"}}`;

export const BROKEN = `workflow: broken
inputs: {url: string}
steps:
  - id: fetch
    blok: http
    params: {url: "{inputs.url}"}
  - id: hold
    concurrency:
      resource: "shelf"
      steps:
        - id: inner
          concurrency:
            resource: "stock"
            steps:
              - ${log("count", "1")}
  - id: claim
    concurrency: {resource: "page:{inputs.url}", lifetime: run}
  - id: both
    concurrency:
      branches:
        left:
          steps:
            - ${log("a", "left")}
        right:
          steps:
            - ${log("b", "{fetch.status}")}
`;

const PARENT = `workflow: parent
steps:
  - id: call
    run_workflow: {workflow: child.one, inputs: {n: 1}, result_key: answer}
  - id: say
    block: log
    params: {message: "{answer.done}"}
`;

const CHILD = `workflow: child.one
inputs: {n: integer}
steps:
  - ${log("work", "{inputs.n}")}
outputs: {done: "{inputs.n + 1}"}
`;

const PUBLISH = `workflow: publish
inputs:
  page: {type: string, default: home}
  tone: {type: string, enum: [plain, formal], default: plain}
  copies: {type: integer, default: 3}
secrets: [E2E_TOKEN]
steps:
  - id: greet
    block: log
    params: {message: "{inputs.tone}: {inputs.page}"}
  - id: claim
    concurrency:
      resource: "page:{inputs.page}"
      lifetime: run
  - id: ask
    wait_for_decision: {}
  - id: each
    for_each:
      items: [1, 2, 3]
      as: n
      steps:
        - id: write
          block: log
          params: {message: "{n} of {inputs.copies}"}
  - id: undo
    when: "{decision.outcome == 'rejected'}"
    block: log
    params: {message: "undone"}
outputs: {outcome: "{decision.outcome}"}
`;

// What the view's actions are tried on. The service answers as its path says.
const DESK = (service) => `workflow: guarded
steps:
  - id: write
    concurrency:
      resource: "site"
      protected: true
      steps:
        - {id: put, block: http, params: {url: "${service}/unknown", method: PUT}}
      outputs: {status: "{put.status}"}
  - ${log("tell", "{write.output.status}")}
outputs: {status: "{write.output.status}"}
---
workflow: flaky
steps:
  - {id: fetch, block: http, params: {url: "${service}/second-time"}}
---
workflow: holder
steps:
  - id: claim
    concurrency: {resource: "shelf", lifetime: run}
  - id: told
    wait_for_signal: {name: go, result_key: message}
outputs: {word: "{message.word}"}
---
workflow: single
concurrency: {limit: 1}
steps:
  - id: sure
    wait_for_decision: {}
outputs: {outcome: "{decision.outcome}", why: "{decision.data.?reason.orValue('')}"}
`;

const LONG = `workflow: long\nsteps:\n${Array.from({ length: 300 }, (_, n) => `  - ${log(`s${n}`, n)}\n`).join("")}`;

/** The files by their names; `service` is the address of the service that workflows call. */
export const files = (service) => ({
  "interlock.toml": 'patterns = ["*.workflow.yaml", "flow-*.yaml"]\n',
  "broken.workflow.yaml": BROKEN,
  "parent.workflow.yaml": PARENT,
  "child.workflow.yaml": CHILD,
  "publish.workflow.yaml": PUBLISH,
  "desk.workflow.yaml": DESK(service),
  "long.workflow.yaml": LONG,
  "flow-named.yaml": "workflow: named-by-settings\nstps: []\n",
  "plain.yaml": "# interlock: workflow\nworkflow: by-modeline\nstps: []\n",
  "other.yaml": "a: [1, 2\n",
});
