import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const { contributes } = manifest;
const sources = ["src/extension.ts", "src/view/actions.ts", "src/program/keeper.ts"].map((path) => readFileSync(path, "utf8")).join("\n");

test("every command that is offered is there", () => {
  for (const { command } of contributes.commands as { command: string }[]) {
    const name = command.replace(/^interlock\.(run\.)?/, "");
    assert.ok(sources.includes(`on("${name}"`), command);
  }
});

test("menus, keys and views name commands that exist", () => {
  const known = new Set((contributes.commands as { command: string }[]).map((one) => one.command));
  const menus = Object.values(contributes.menus as Record<string, { command: string }[]>).flat();
  for (const { command } of [...menus, ...contributes.keybindings]) assert.ok(known.has(command), command);
});

test("every setting says what it is for, and what it can execute is not taken from an untrusted workspace", () => {
  const restricted: string[] = manifest.capabilities.untrustedWorkspaces.restrictedConfigurations;
  for (const [name, row] of Object.entries(contributes.configuration.properties as Record<string, { description?: string; markdownDescription?: string }>))
    assert.ok(row.description ?? row.markdownDescription, name);
  for (const name of ["interlock.path", "interlock.package", "interlock.run.blocks", "interlock.run.allow"]) assert.ok(restricted.includes(name), name);
});

test("every file that is named is there", () => {
  const text = JSON.stringify([manifest.icon, contributes]);
  for (const [, path] of text.matchAll(/"(?:\.\/)?((?:media|syntaxes|snippets)\/[^"]+|language-configuration\.json)"/g)) assert.ok(existsSync(path ?? ""), path);
});

test("steps of the walkthrough are done by what really happens", () => {
  const commands = new Set((contributes.commands as { command: string }[]).map((one) => one.command));
  for (const { id, description, completionEvents } of contributes.walkthroughs[0].steps as { id: string; description: string; completionEvents: string[] }[]) {
    for (const [, command] of description.matchAll(/\(command:([^)]+)\)/g)) assert.ok(commands.has(command ?? ""), id);
    for (const event of completionEvents) {
      const [kind, name] = event.split(":");
      assert.ok(kind === "onCommand" ? commands.has(name ?? "") : kind === "onContext" && sources.includes(`"setContext", "${name}"`), event);
    }
  }
});

test("a lock file that names no registry", () => {
  assert.doesNotMatch(readFileSync("package-lock.json", "utf8"), /"resolved"/);
});

const program = [process.env["INTERLOCK"], resolve("../.venv/bin/interlock")].find((one) => one !== undefined && existsSync(one));

/** A snippet as it stands after Tab was pressed at every stop. */
function expanded(body: string[]): string {
  let text = body.join("\n").replaceAll("\\}", "\u0001");
  for (let before = ""; before !== text; ) {
    before = text;
    text = text.replace(/\$\{\d+:([^${}]*(?:\{[^${}]*\}[^${}]*)*)\}/g, "$1").replace(/\$\{\d+\|([^,|]*)[^|]*\|\}/g, "$1");
  }
  return text.replaceAll("\u0001", "}");
}

test("every snippet makes a workflow that is right", { skip: program === undefined && "there is no interlock to ask" }, (context) => {
  const alone = mkdtempSync(join(tmpdir(), "snippets-")); // no other workflows around
  context.after(() => rmSync(alone, { recursive: true }));
  const snippets = JSON.parse(readFileSync("snippets/workflow.json", "utf8")) as Record<string, { prefix: string; body: string[] }>;
  const child = "---\nworkflow: child\ninputs: {item_id: {type: integer, required: false}}\nsteps:\n  - id: a\n    block: log\n    params: {message: \"{state}\"}\noutputs: {done: \"{string(inputs.item_id != null)}\"}\n";
  for (const [name, { prefix, body }] of Object.entries(snippets)) {
    const steps = expanded(body).replace(/^/gm, "  ");
    const text = prefix === "workflow" ? expanded(body) + "\n" : `workflow: w\nbudget: {max_started_workflows: 9}\nsteps:\n${steps}\n${child}`;
    const args = ["check", "--stdin-filename", "s.workflow.yaml", "--format", "json", "-"];
    const { stdout } = spawnSync(program ?? "", args, { input: text, encoding: "utf8", cwd: alone });
    const found = (JSON.parse(stdout) as { diagnostics: { severity: string; message: string }[] }).diagnostics;
    assert.deepEqual(found.filter((one) => one.severity !== "hint").map((one) => one.message), [], `${name}:\n${text}`);
  }
});
