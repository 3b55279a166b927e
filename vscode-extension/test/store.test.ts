import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command } from "../src/program/commandline.ts";
import type { Desk } from "../src/runs/desk.ts";
import { Store } from "../src/view/store.ts";

const PLACE = { cwd: "/w", store: "sqlite:///s.db", account: "a" };
const event = (seq: number, run: string): string => JSON.stringify({ seq, run, at: 0, kind: "signal.received", path: null, visit: null, data: {} });

/** A command line that knows some runs, all of which wait for an approval; `asked` is what it was asked, in order. */
function commandLine(runs: string[] | undefined) {
  const asked: string[] = [];
  const streams: { say: (line: string) => void; end: () => void; stopped: boolean }[] = [];
  const desk = {
    read: async ({ args }: Command) => {
      asked.push(args[0] === "status" ? `status ${args[1]}` : (args[0] ?? ""));
      if (runs === undefined) return undefined;
      if (args[0] === "status") return { status: "waiting_for_signal", positions: [{ path: "p", visit: 1, status: "signal", waits_on: "", waits_for: ["approval"] }] };
      return args[0] === "runs" ? runs.map((run) => ({ run, workflow: "w", status: "waiting_for_signal", dispatched_at: 0, ended_at: null, error: null })) : [];
    },
    succeed: async ({ args }: Command) => {
      asked.push(`events ${args[1]}`);
      return `${event(3, "r")}\n${event(7, "r")}\n`;
    },
    stream: (command: Command, out: (line: string) => void) => {
      asked.push(`follow ${command.args.find((one) => one.startsWith("--after"))}`);
      const one = { say: out, end: () => undefined as void, stopped: false };
      streams.push(one);
      return { ended: new Promise<undefined>((resolve) => (one.end = () => resolve(undefined))), stop: () => void (one.stopped = true) };
    },
  };
  const behind = new Proxy(desk, {
    get: (whole, name: keyof typeof desk) => (_place: unknown, ...rest: [Command, (line: string) => void]) => whole[name](...rest),
  });
  let happened = 0;
  const store = new Store(behind as unknown as Desk, PLACE, () => (happened += 1));
  return { store, asked, streams, count: () => happened };
}

test("a store is followed from its newest event on before it is read", async () => {
  const { store, asked } = commandLine(["r"]);
  const { items, touched } = await store.read();
  assert.deepEqual(asked, ["runs", "events r", "follow --after=7", "runs", "leases", "queue", "status r"]);
  assert.equal(items[0]?.children?.[0]?.context, "run:live:approval");
  assert.equal(touched, undefined);
});

test("a store without runs is followed from its beginning, and one that is not there is not followed", async () => {
  const empty = commandLine([]);
  assert.deepEqual((await empty.store.read()).items, []);
  assert.ok(empty.asked.includes("follow --after=0"));
  const none = commandLine(undefined);
  assert.deepEqual((await none.store.read()).items, []);
  assert.deepEqual(none.asked, ["runs"]);
});

test("only the runs in which something has happened are asked again what they wait for", async () => {
  const { store, asked, streams, count } = commandLine(["r", "s"]);
  await store.read();
  asked.length = 0;
  streams[0]?.say("no event");
  streams[0]?.say(event(8, "s"));
  assert.equal(count(), 1);
  const { touched } = await store.read();
  assert.deepEqual([...(touched ?? [])], ["s"]);
  assert.deepEqual(asked, ["runs", "leases", "queue", "status s"]);
  assert.deepEqual([...((await store.read()).touched ?? [])], []);
});

test("who stops looking starts no program, and what is followed no more is silent", async () => {
  const { store, asked, streams, count } = commandLine(["r"]);
  const reading = store.read();
  store.stop();
  await reading;
  assert.equal(streams.length, 0);
  await store.read();
  assert.equal(asked.filter((one) => one.startsWith("follow")).length, 1);
  store.stop();
  assert.equal(streams[0]?.stopped, true);
  streams[0]?.say(event(9, "r"));
  assert.equal(count(), 0);
});

test("a store whose program ended is followed anew at the next reading", async () => {
  const { store, asked, streams } = commandLine(["r"]);
  await store.read();
  streams[0]?.end();
  await new Promise((done) => setImmediate(done));
  assert.equal((await store.read()).touched, undefined);
  assert.equal(asked.filter((one) => one.startsWith("follow")).length, 2);
});
