import assert from "node:assert/strict";
import { test } from "node:test";
import { hasModeline, suppressed } from "../src/comments.ts";
import type { Asks } from "../src/runs/events.ts";
import { everyLine, keyOf, renewed, type Line, type Placed } from "../src/view/lines.ts";
import { asksOfPositions, groups, moment, span, stepItems, storeFile, type Item, type RunRow } from "../src/view/model.ts";

const run = (name: string, status: string, more: Partial<RunRow> = {}): RunRow => ({ run: name, workflow: `w-${name}`, status, dispatched_at: 100, ended_at: null, error: null, ...more });

test("runs stand by state, what needs a person first, and empty groups are left out", () => {
  const found = groups([run("a", "completed", { ended_at: 165 }), run("b", "held_for_review"), run("c", "delayed"), run("d", "waiting_for_signal")], [], [], new Map());
  assert.deepEqual(found.map((one) => [one.label, one.description]), [["Held for Review", "1"], ["Waiting", "2"], ["Completed", "1"]]);
  assert.deepEqual(found[1]?.children?.map((one) => one.description), [`delayed · since ${moment(100)}`, `waiting for signal · since ${moment(100)}`]);
  assert.equal(found[2]?.children?.[0]?.description, `${moment(100)}, took 1m5s`);
});

test("what a run asks decides what can be done with it", () => {
  const asks = new Map<string, Asks[]>([["a", [{ kind: "decision" }, { kind: "signal", names: ["go"] }]]]);
  const [waiting, failed] = groups([run("a", "waiting_for_signal"), run("b", "failed", { error: "timeout" })], [], [], asks);
  assert.equal(waiting?.children?.[0]?.context, "run:live:decision:signal");
  assert.deepEqual(waiting?.children?.[0]?.signals, ["go"]);
  assert.equal(failed?.children?.[0]?.context, "run:failed");
});

test("a lease shows its holders and its tickets in order, by the names of their workflows", () => {
  const [, leases] = groups([run("a", "running")], [{
    key: "shelf", limit: 1, holders: [{ run: "a", fence: 7, since: 90, lifetime: "run", review: true }],
    waiters: [{ run: "x", path: "hold", ticket: 3, since: 95 }, { run: "y", path: "hold", ticket: 9, since: 99 }],
  }], [], new Map());
  const shelf = leases?.children?.[0];
  assert.equal(shelf?.description, "1 of 1 held, 2 waiting");
  assert.deepEqual(shelf?.children?.map((one) => `${one.label}: ${one.description}`), [
    `w-a: fence 7, for the run, since ${moment(90)}, in review`, `x: place 1, ticket 3, hold, since ${moment(95)}`, `y: place 2, ticket 9, hold, since ${moment(99)}`,
  ]);
});

test("every line of the view has an id of its own", () => {
  const found = groups([run("a", "running"), run("b", "running")], [{ key: "k", limit: 2, holders: [], waiters: [] }], [{ workflow: "w-a", active: ["a"], waiting: ["b", "c"] }], new Map());
  const ids = found.flatMap((one) => [one, ...(one.children ?? []).flatMap((inner) => [inner, ...(inner.children ?? [])])]).map((one) => one.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.includes("queued:w-a:c"));
});

test("a step that waits for a person can be answered, one that has moved on cannot", () => {
  const step = { path: "ask", visit: 2, state: "waiting" as const, detail: "waits", asks: { kind: "decision" as const } };
  const position = { path: "ask", visit: 2, status: "signal", waits_on: 'the signal "approved", "rejected"', waits_for: ["approved", "rejected"] };
  const [open] = stepItems("r", "w", [step], [position]);
  assert.equal(open?.context, "step:decision");
  assert.equal(open?.description, 'visit 2 · waits for the signal "approved", "rejected"');
  assert.equal(stepItems("r", "w", [step], [])[0]?.context, "step");
});

test("the positions of a run say what is asked", () => {
  const position = (...waits_for: string[]) => ({ path: "p", visit: 1, status: "signal", waits_on: "words", waits_for });
  assert.deepEqual(asksOfPositions("waiting_for_signal", [position("approval"), position("a", "b"), position()]), [{ kind: "approval" }, { kind: "signal", names: ["a", "b"] }]);
  assert.deepEqual(asksOfPositions("held_for_review", []), [{ kind: "review", reason: "" }]);
});

const item = (id: string, more: Partial<Item> = {}): Item => ({ id, label: id, description: "", tooltip: id, icon: "x", context: "c", ...more });
const placed = (...items: Item[]): Placed[] => items.map((one) => ({ place: { cwd: "/w", store: "s", account: "a" }, item: one }));
const first = (...items: Item[]): Line[] => renewed([], placed(...items), []).lines;

test("what is read again and has not changed is drawn by nobody", () => {
  const items = (): Item[] => [item("g", { children: [item("a"), item("b")], expanded: true }), item("r", { lazy: true })];
  const before = first(...items());
  const changed: Line[] = [];
  const { lines, another } = renewed(before, placed(...items()), changed);
  assert.deepEqual([changed, another], [[], false]);
  assert.deepEqual(everyLine(lines).map(keyOf), ["/w|g", "/w|a", "/w|b", "/w|r"]);
  for (const [place, line] of everyLine(lines).entries()) assert.equal(line, everyLine(before)[place]);
});

test("only the line whose words have changed is drawn again", () => {
  const before = first(item("g", { children: [item("a"), item("b")] }), item("h", { children: [] }));
  const changed: Line[] = [];
  const { lines, another } = renewed(before, placed(item("g", { children: [item("a"), item("b", { description: "now" })] }), item("h", { children: [] })), changed);
  assert.equal(another, false);
  assert.deepEqual(changed.map(keyOf), ["/w|b"]);
  assert.equal(lines[0]?.children?.[1]?.item.description, "now");
});

test("where a line comes, goes or moves, the one around it is drawn again, once", () => {
  const before = first(item("g", { children: [item("a"), item("b")] }), item("h", { children: [item("c", { children: [item("d")] })] }));
  const after = (inside: Item[]): string[] => {
    const changed: Line[] = [];
    assert.equal(renewed(first(item("g", { children: [item("a"), item("b")] })), placed(item("g", { children: inside })), changed).another, false);
    return changed.map(keyOf);
  };
  assert.deepEqual([after([item("a")]), after([item("b"), item("a")]), after([item("a", { label: "A" }), item("b"), item("n")])], [["/w|g"], ["/w|g"], ["/w|g"]]);
  assert.equal(renewed(before, placed(item("h", { children: [] })), []).another, true);
});

test("the steps of a run that is shown stay when the run is read again", () => {
  const [run] = first(item("r", { lazy: true }));
  assert.ok(run);
  run.children = first(item("step"));
  const changed: Line[] = [];
  const { lines } = renewed([run], placed(item("r", { lazy: true, description: "done" })), changed);
  assert.deepEqual(changed, [run]);
  assert.deepEqual(lines[0]?.children?.map(keyOf), ["/w|step"]);
});

test("a moment of another day has its day with it", () => {
  const now = Date.now() / 1000;
  assert.match(moment(now), /^\d\d:\d\d$/);
  assert.ok(moment(now - 200_000).length > 6 && moment(now - 200_000).endsWith(moment(now - 200_000).slice(-5)));
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
