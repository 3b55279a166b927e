import assert from "node:assert/strict";
import { test } from "node:test";
import { definitionPath, Lines, painted, parseEvent, parseEvents, Progress } from "../src/runs/events.ts";

let seq = 0;
function after(...kinds: [kind: string, path?: string | null, data?: Record<string, unknown>, visit?: number][]): Progress {
  const progress = new Progress();
  for (const [kind, path, data, visit] of kinds)
    progress.apply({ seq: ++seq, run: "r", at: 0, kind, path: path ?? null, visit: visit ?? (path ? 1 : null), data: data ?? {} });
  return progress;
}

test("lines come whole, however the text arrives", () => {
  const found: string[] = [];
  const lines = new Lines((line) => found.push(line));
  for (const part of ["a", "b\r\nc", "\n\nd"]) lines.push(part);
  assert.deepEqual(found, ["ab", "c", ""]);
  lines.end();
  assert.deepEqual(found, ["ab", "c", "", "d"]);
});

test("what is no event is left out", () => {
  const good = '{"seq":1,"run":"r","at":2.5,"kind":"run.queued","path":null,"visit":null,"data":{}}';
  assert.deepEqual(parseEvents(`nonsense\n[]\nnull\n{"seq":"1"}\n${good}\n`).map((one) => one.kind), ["run.queued"]);
  assert.equal(parseEvent("{"), undefined);
});

test("a step goes from waiting to settled, and its question goes with it", () => {
  const asking = after(["run.admitted"], ["step.entered", "ask"], ["wait.opened", "ask", { names: ["approved", "rejected"] }]);
  assert.deepEqual(asking.questions.map((one) => [one.path, one.asks]), [["ask", { kind: "decision" }]]);
  assert.equal(asking.status, "running");
  const done = after(["wait.opened", "ask", { names: ["approval"] }], ["step.completed", "ask"]);
  assert.deepEqual(done.questions, []);
  assert.equal(done.steps.get("ask")?.state, "settled");
});

test("nothing is asked once the run is over", () => {
  const over = after(["wait.opened", "ask", { names: ["approval"] }], ["run.cancelled"]);
  assert.equal(over.over, true);
  assert.deepEqual(over.questions, []);
});

test("a review that is settled replaces what had been seen of the steps inside", () => {
  const seen = (decision: string) => {
    const progress = after(
      ["step.completed", "write/first"], ["step.failed", "write/put", { message: "500" }], ["step.skipped", "write/not"], ["step.failed", "writer"],
      ["review.opened", "write", { message: "500" }], ["review.settled", "write", { decision }],
    );
    return Object.fromEntries([...progress.steps].map(([path, step]) => [path, step.state]));
  };
  assert.deepEqual(seen("committed"), { "write/first": "settled", "write/put": "settled", "write/not": "skipped", writer: "failed", write: "running" });
  assert.deepEqual(seen("not-committed"), { writer: "failed", write: "running" });
  assert.deepEqual(seen("abandon"), { "write/first": "settled", "write/put": "failed", "write/not": "skipped", writer: "failed", write: "failed" });
});

test("an event that was seen changes nothing", () => {
  const progress = after(["step.completed", "a"]);
  assert.equal(progress.apply({ seq, run: "r", at: 0, kind: "step.failed", path: "a", visit: 1, data: {} }), false);
  assert.equal(progress.steps.get("a")?.state, "settled");
});

test("a retried run runs again", () => {
  const progress = after(["run.failed", null, { message: "no" }], ["run.retried"], ["run.admitted"]);
  assert.equal(progress.status, "running");
  assert.equal(progress.over, false);
});

test("items are painted on the one step that they run, with a count", () => {
  const paint = painted(after(["step.completed", "each/0/say"], ["step.failed", "each/1/say", { message: "no" }], ["step.entered", "each/2/say"]));
  assert.deepEqual(paint["each/say"], { state: "failed", text: "1 of 3", title: "failed: no" });
});

test("a review matters more than anything else, a visit is counted", () => {
  const paint = painted(after(["step.completed", "e/0/s", {}, 2], ["review.opened", "e/1/s", { message: "maybe" }, 3], ["step.failed", "e/2/s"]));
  assert.equal(paint["e/s"]?.state, "review");
  assert.equal(paint["e/s"]?.text, "1 of 3 · visit 3");
});

test("the positions of items are no part of a definition's path", () => {
  assert.equal(definitionPath("par/left/results/3/fetch"), "par/left/results/fetch");
});
