// Runs: one from the form to its end with a decision on the way, and what can be done from the view.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { said, until } from "./editor.mjs";

export async function run(editor, folder) {
  await editor.clear();
  await editor.open("publish.workflow.yaml");
  await editor.page.locator(".codelens-decoration a", { hasText: "Run" }).first().click();
  const form = await editor.webview("form #run");
  assert.deepEqual(await form.locator('[data-name="tone"] option').allTextContents(), ["plain", "formal"]);
  assert.equal(await form.locator('[data-name="copies"]').inputValue(), "3");
  await form.locator('[data-name="page"]').fill("news");
  await form.locator('[data-name="copies"]').fill("many");
  await form.locator('[data-name="secret:E2E_TOKEN"]').fill("swordfish");
  await form.locator("#run").click();
  await until("the problem in the form", () => form.locator(".problem", { hasText: "copies" }).count());
  await editor.shot("form", true);
  await form.locator('[data-name="copies"]').fill("2");
  await form.locator("#run").click();
  const asked = editor.notification("waits for your decision");
  await asked.waitFor();
  const frame = await editor.webview('#stage g.node[data-path="ask"]');
  await until("the waiting step painted", () => frame.$('g.node.is-waiting[data-path="ask"]'));
  await editor.view();
  await editor.row("publish,").waitFor();
  await editor.row("publish,").locator(".monaco-tl-twistie").click();
  await editor.row("ask,").waitFor();
  await editor.row("page:news,").waitFor();
  await editor.page.locator(".panel .view-line", { hasText: "plain: news" }).first().waitFor();
  await editor.shot("run", true);
  await asked.locator(".monaco-button", { hasText: "Approve" }).click();
  await editor.notification("publish completed").waitFor();
  await until("the items painted", () => frame.$('g.node.is-settled[data-path="each/write"]'));
  await until("the skipped step painted", () => frame.$('g.node.is-skipped[data-path="undo"]'));
  await editor.row("Completed,").waitFor();
  await editor.shot("done");
  await editor.command("Preferences: Toggle between Light/Dark Themes");
  await editor.page.locator(".monaco-workbench.vs-dark").waitFor();
  await until("the page of the graph dark", () => frame.$("body.vscode-dark"));
  await editor.shot("dark");
  await frame.locator("#clear").click();
  await until("the run off the picture", async () => (await frame.$$("g.node.is-settled")).length === 0);
  for (const name of ["state.db", "state.db-wal"]) {
    const path = join(folder, ".interlock", name);
    if (existsSync(path)) assert.ok(!readFileSync(path).includes("swordfish"), `the secret stands in ${name}`);
  }
  said("a run to its end, with a form and a decision on the way, seen in the graph, the output and the view");
}

/** What is done from the view, with runs that a worker elsewhere does: the view follows what happens there. */
export async function desk(editor, folder, programs) {
  const interlock = (...args) => {
    const ended = spawnSync(join(programs, "interlock"), args, { cwd: folder, encoding: "utf8" });
    assert.equal(ended.status, 0, `interlock ${args.join(" ")}: ${ended.stderr}`);
    return ended.stdout;
  };
  const dispatch = (workflow) => JSON.parse(interlock("dispatch", "desk.workflow.yaml", `--workflow=${workflow}`, "--json")).run;
  const status = (run) => JSON.parse(interlock("status", run, "--json"));
  const ends = (run, wanted) => until(`the run ${wanted}`, () => status(run).status === wanted);
  await editor.clear();
  await editor.open("desk.workflow.yaml");
  await editor.view();
  const runs = Object.fromEntries(["guarded", "flaky", "holder"].map((name) => [name, dispatch(name)]));
  const pair = [runs.holder, dispatch("holder")];
  const singles = [dispatch("single"), dispatch("single")];
  const worker = spawn(join(programs, "interlock"), ["worker"], { cwd: folder, stdio: "ignore" });
  try {
    await editor.row("Held for Review,").waitFor();
    await editor.row("Failed,").waitFor();
    await editor.row("shelf, 1 of 1 held, 1 waiting").waitFor();
    await editor.row("holder, place 1, ticket").waitFor();
    await editor.row("single, 1 active, 1 waiting").waitFor();
    await editor.shot("view");
    // Which of the two came first is the worker's business.
    runs.holder = JSON.parse(interlock("leases", "--json")).find((one) => one.key === "shelf").holders[0].run;
    const second = pair.find((one) => one !== runs.holder);

    await editor.menu("guarded,", "Show in Graph");
    const frame = await editor.webview('#stage g.node.is-review[data-path="write"]');
    await editor.shot("review");
    await editor.retried(async () => {
      await editor.press("guarded,", "Settle Review…");
      await editor.choose("Committed", 5000);
    });
    await editor.fill('{"status": 201}');
    await ends(runs.guarded, "completed");
    assert.deepEqual(status(runs.guarded).outputs, { status: 201 });
    await until("the end in the graph", () => frame.$('g.node.is-settled[data-path="tell"]'));
    await until("the write that was committed in the graph", () => frame.$('g.node.is-settled[data-path="write/put"]'));
    await editor.gone("Held for Review,");

    await editor.press("flaky,", "Retry");
    await ends(runs.flaky, "completed");
    await editor.gone("Failed,");

    await editor.menu("holder, waiting for signal", "Send Signal…");
    await editor.fill('{"word": "yes"}');
    await ends(runs.holder, "completed");
    assert.deepEqual(status(runs.holder).outputs, { word: "yes" });
    await until("the lease with the next one", () => status(second).status === "waiting_for_signal");
    await editor.gone("holder, waiting for resource");
    await editor.press("holder, waiting for signal", "Cancel");
    await editor.page.locator(".monaco-dialog-box .monaco-button", { hasText: "Cancel the Run" }).click();
    await ends(second, "cancelled");
    await editor.gone("holder, waiting for signal");

    const [first, queued] = singles[0] === JSON.parse(interlock("queue", "--json")).find((one) => one.workflow === "single").active[0] ? singles : singles.reverse();
    await editor.press("single, waiting for signal", "Reject");
    await editor.fill("not now");
    await ends(first, "completed");
    assert.deepEqual(status(first).outputs, { outcome: "rejected", why: "not now" });
    await until("the next one admitted", () => status(queued).status === "waiting_for_signal");
    await editor.gone("Queued,");
    await editor.press("single, waiting for signal", "Approve");
    await ends(queued, "completed");
    await editor.gone("Waiting,");

    await editor.retried(async () => {
      await editor.row("Completed,").click({ timeout: 5000 });
      await editor.page.keyboard.press("ArrowRight");
      await editor.row("guarded,").waitFor({ timeout: 5000 });
    });
    await editor.menu("single,", "Open Definition");
    await editor.page.locator(".line-numbers.active-line-number", { hasText: /^(2\d|3\d)$/ }).waitFor();
    await editor.menu("single,", "Copy Id");
    await until("the id in the clipboard", async () => [first, queued].includes(await editor.page.evaluate(() => navigator.clipboard.readText())));
    await editor.menu("single,", "Show Status");
    await editor.page.locator(".view-line", { hasText: '"workflow": "single"' }).first().waitFor();
    await editor.shot("view-done");

    // Nobody works any more: a run that stands still goes on from here, and asks by a notification.
    const ended = new Promise((done) => worker.on("exit", done));
    worker.kill();
    await ended;
    const late = dispatch("holder");
    await editor.menu("holder, waiting for signal", "Go On");
    await editor.notification('told waits for "go"').locator(".monaco-button", { hasText: "Send Signal" }).click();
    await editor.fill('{"word": "late"}');
    await ends(late, "completed");
    await editor.notification("holder completed").waitFor();
  } finally {
    worker.kill();
  }
  said("from the view: reviewed, retried, signalled, cancelled, rejected, approved, opened, copied, shown, gone on with");
}
