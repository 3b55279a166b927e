import assert from "node:assert/strict";
import { test } from "node:test";
import { hasModeline, suppressed } from "../src/comments.ts";
import type { Asks } from "../src/runs/events.ts";
import { asksOfPositions, groups, span, stepItems, storeFile, type RunRow } from "../src/view/model.ts";

const run = (name: string, status: string, more: Partial<RunRow> = {}): RunRow => ({ run: name, workflow: `w-${name}`, status, dispatched_at: 100, ended_at: null, error: null, ...more });

test("runs stand by state, what needs a person first, and empty groups are left out", () => {
  const found = groups([run("a", "completed", { ended_at: 165 }), run("b", "held_for_review"), run("c", "delayed"), run("d", "waiting_for_signal")], [], [], new Map(), 160);
  assert.deepEqual(found.map((one) => [one.label, one.description]), [["Held for Review", "1"], ["Waiting", "2"], ["Completed", "1"]]);
  assert.deepEqual(found[1]?.children?.map((one) => one.description), ["delayed · 1m ago", "waiting for signal · 1m ago"]);
  assert.equal(found[2]?.children?.[0]?.description, "took 1m5s");
});

test("what a run asks decides what can be done with it", () => {
  const asks = new Map<string, Asks[]>([["a", [{ kind: "decision" }, { kind: "signal", names: ["go"] }]]]);
  const [waiting, failed] = groups([run("a", "waiting_for_signal"), run("b", "failed", { error: "timeout" })], [], [], asks, 100);
  assert.equal(waiting?.children?.[0]?.context, "run:live:decision:signal");
  assert.deepEqual(waiting?.children?.[0]?.signals, ["go"]);
  assert.equal(failed?.children?.[0]?.context, "run:failed");
});

test("a lease shows its holders and its tickets in order, by the names of their workflows", () => {
  const [, leases] = groups([run("a", "running")], [{
    key: "shelf", limit: 1, holders: [{ run: "a", fence: 7, since: 90, lifetime: "run", review: true }],
    waiters: [{ run: "x", path: "hold", ticket: 3, since: 95 }, { run: "y", path: "hold", ticket: 9, since: 99 }],
  }], [], new Map(), 100);
  const shelf = leases?.children?.[0];
  assert.equal(shelf?.description, "1 of 1 held, 2 waiting");
  assert.deepEqual(shelf?.children?.map((one) => `${one.label}: ${one.description}`), [
    "w-a: fence 7, for the run, since 10s, in review", "x: place 1, ticket 3, hold, since 5s", "y: place 2, ticket 9, hold, since 1s",
  ]);
});

test("every line of the view has an id of its own", () => {
  const found = groups([run("a", "running"), run("b", "running")], [{ key: "k", limit: 2, holders: [], waiters: [] }], [{ workflow: "w-a", active: ["a"], waiting: ["b", "c"] }], new Map(), 1);
  const ids = found.flatMap((one) => [one, ...(one.children ?? []).flatMap((inner) => [inner, ...(inner.children ?? [])])]).map((one) => one.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.includes("queued:w-a:c"));
});

test("a step that waits for a person can be answered, one that has moved on cannot", () => {
  const step = { path: "ask", visit: 2, state: "waiting" as const, detail: "waits", asks: { kind: "decision" as const } };
  const position = { path: "ask", visit: 2, status: "signal", waits_on: 'the signal "approved", "rejected"', wakes_at: null };
  const [open] = stepItems("r", "w", [step], [position]);
  assert.equal(open?.context, "step:decision");
  assert.equal(open?.description, 'waiting · visit 2 · waits for the signal "approved", "rejected"');
  assert.equal(stepItems("r", "w", [step], [])[0]?.context, "step");
});

test("the words of a status say what is asked", () => {
  const position = (waits_on: string | null, status = "signal") => ({ path: "p", visit: 1, status, waits_on, wakes_at: null });
  assert.deepEqual(asksOfPositions("waiting_for_signal", [position('the signal "approval"'), position('the signal "a", "b"'), position('the key "x"', "ticket"), position(null)]), [{ kind: "approval" }, { kind: "signal", names: ["a", "b"] }]);
  assert.deepEqual(asksOfPositions("held_for_review", []), [{ kind: "review", reason: "" }]);
});

test("a store is waited for where it lies in the folder of its workspace", () => {
  assert.deepEqual(["sqlite:///.interlock/state.db", "sqlite:///a.db?x=1"].map(storeFile), [".interlock/state.db", "a.db"]);
  for (const store of ["memory:", "", "postgresql://h/d", "sqlite:////abs.db", "sqlite:///../up.db", "sqlite:///C:/x.db"]) assert.equal(storeFile(store), undefined, store);
});

test("stretches of time are short", () => {
  assert.deepEqual([-1, 59.6, 61, 3600, 90_000, 200_000].map(span), ["0s", "1m", "1m1s", "1h0m", "25h0m", "2d"]);
});

test("the modeline is the first comment, and nothing else before it", () => {
  for (const text of ["# interlock: workflow\n", "\uFEFF\n\n  #interlock:workflow", "# interlock: workflow\r\nworkflow: a"]) assert.equal(hasModeline(text), true, text);
  for (const text of ["# other\n# interlock: workflow", "a: 1\n# interlock: workflow", "# interlock: workflows", ""]) assert.equal(hasModeline(text), false, text);
});

test("the cursor in a suppression chooses its rule", () => {
  const line = "  x: 1  # interlock: ignore[nested-wait, IL407] because";
  assert.equal(suppressed(line, line.indexOf("nested") + 2), "nested-wait");
  assert.equal(suppressed(line, line.indexOf("IL407") + 2), "IL407");
  assert.equal(suppressed(line, 3), undefined);
  assert.equal(suppressed("plain", 1), undefined);
});
