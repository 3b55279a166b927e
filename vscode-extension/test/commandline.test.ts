import assert from "node:assert/strict";
import { test } from "node:test";
import * as commands from "../src/program/commandline.ts";
import { perform } from "../src/program/process.ts";

const place = { cwd: "/w", store: "sqlite:///a b.db", account: "-x" };
const none = { blocks: [], allow: [] };

test("inputs go by standard input, so that no list of processes shows them", () => {
  const command = commands.dispatch(place, "/w/a.workflow.yaml", "a", { pin: "s3cret" }, none);
  assert.deepEqual(command.args, ["dispatch", "/w/a.workflow.yaml", "--workflow=a", "--inputs=-", "--json", "--store=sqlite:///a b.db", "--account=-x"]);
  assert.deepEqual(JSON.parse(command.input ?? ""), { pin: "s3cret" });
});

test("secrets are named, and their values appear nowhere", () => {
  const { args } = commands.resume(place, "r1", ["TOKEN"], { blocks: ["my.blocks"], allow: ["shell"] });
  assert.deepEqual(args.slice(-3), ["--secret=TOKEN", "--allow=shell", "--blocks=my.blocks"]);
});

test("a result goes with a committed review only", () => {
  const committed = commands.review(place, "r1", "committed", "pay", { a: 1 });
  assert.deepEqual(committed.args, ["review", "r1", "committed", "--store=sqlite:///a b.db", "--path=pay", "--result=@-"]);
  assert.equal(committed.input, '{"a":1}');
  const abandoned = commands.review(place, "r1", "abandon", undefined, { a: 1 });
  assert.deepEqual(abandoned, { args: ["review", "r1", "abandon", "--store=sqlite:///a b.db"] });
});

test("what a shell would act on arrives as it is", async () => {
  const given = ["$(echo no)", "a b", "`id`", '"', "*", "; exit 3", ""];
  const ended = await perform(process.execPath, { args: ["-e", "console.log(JSON.stringify(process.argv.slice(1)))", "--", ...given] });
  assert.deepEqual(JSON.parse(ended.stdout), given);
});

test("a program that is not there says so and does not throw", async () => {
  const ended = await perform("/nowhere/interlock", { args: [] });
  assert.equal(ended.code, undefined);
  assert.match(ended.stderr, /ENOENT/);
});
