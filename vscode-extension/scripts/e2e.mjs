// End to end, in VS Code itself (as code-server) with Debian's Chromium: what a person does on the first day.
// Screenshots go to out/e2e. Exits with 0 and says so where the editor cannot be had.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { sleep, startEditor, until } from "./editor.mjs";

const tools = resolve(process.env.INTERLOCK_E2E ?? ".e2e");
const programs = resolve(process.env.INTERLOCK_BIN ?? "../.venv/bin");

const FILES = {
  "interlock.toml": "",
  "broken.workflow.yaml": `workflow: broken
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
          concurrency: {resource: "stock", steps: [{id: count, block: log, params: {message: "1"}}]}
  - id: claim
    concurrency: {resource: "page:{inputs.url}", lifetime: run}
  - id: both
    concurrency:
      branches:
        left:
          steps:
            - {id: a, block: log, params: {message: "left"}}
        right:
          steps:
            - {id: b, block: log, params: {message: "{fetch.status}"}}
`,
  "parent.workflow.yaml": `workflow: parent
steps:
  - id: call
    run_workflow: {workflow: child.one, inputs: {n: 1}, result_key: answer}
  - id: say
    block: log
    params: {message: "{answer.done}"}
`,
  "child.workflow.yaml": `workflow: child.one
inputs: {n: integer}
steps:
  - id: work
    block: log
    params: {message: "{inputs.n}"}
outputs: {done: "{inputs.n + 1}"}
`,
  "publish.workflow.yaml": `workflow: publish
inputs:
  page: {type: string, default: home}
  tone: {type: string, enum: [plain, formal], default: plain}
  copies: {type: integer, default: 3}
secrets: [E2E_TOKEN]
steps:
  - id: greet
    block: log
    params: {message: "publishing {inputs.page}"}
  - id: claim
    concurrency: {resource: "page:{inputs.page}", lifetime: run}
  - id: ask
    wait_for_decision: {}
  - id: each
    for_each:
      items: [1, 2, 3]
      as: n
      steps:
        - {id: write, block: log, params: {message: "copy {n} of {inputs.copies}"}}
  - id: undo
    when: "{decision.outcome == 'rejected'}"
    block: log
    params: {message: "undone"}
outputs: {outcome: "{decision.outcome}"}
`,
  "plain.yaml": "# interlock: workflow\nworkflow: by-modeline\nstps: []\n",
  "long.workflow.yaml": `workflow: long\nsteps:\n${Array.from({ length: 300 }, (_, n) => `  - {id: s${n}, block: log, params: {message: "${n}"}}\n`).join("")}`,
};

function prepare() {
  const setup = spawnSync("bash", ["scripts/e2e-setup.sh", tools], { stdio: ["ignore", "inherit", "inherit"] });
  if (setup.status !== 0) {
    console.log("e2e: skipped: the editor cannot be had on this machine.");
    process.exit(0);
  }
  if (!existsSync(join(programs, "interlock"))) throw new Error(`There is no interlock in ${programs}; run make first.`);
  const packed = spawnSync("npm", ["run", "--silent", "package"], { encoding: "utf8" });
  if (packed.status !== 0) throw new Error(`The extension could not be packed: ${packed.stdout}${packed.stderr}`);
  const base = mkdtempSync(join(tmpdir(), "interlock-e2e-"));
  const folder = join(base, "shop");
  mkdirSync(folder);
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  mkdirSync(join(base, "home"));
  return { base, folder };
}

const read = (folder, name) => readFileSync(join(folder, name), "utf8");
const said = (words) => console.log(`e2e: ${words}`);
const squiggles = (editor) => editor.page.locator(".editor-group-container.active .squiggly-error").count();

async function untrusted(editor) {
  await editor.load();
  await editor.open("broken.workflow.yaml");
  await until("squiggles in an untrusted workspace", () => squiggles(editor));
  await editor.page.locator(".codelens-decoration a", { hasText: "references" }).first().waitFor();
  assert.equal(await editor.page.locator(".codelens-decoration a", { hasText: "Run" }).count(), 0);
  await editor.shot("untrusted");
  said("an untrusted workspace shows diagnostics, and offers no run");
}

async function checks(editor, folder) {
  editor.set({ "security.workspace.trust.enabled": false });
  await sleep(500);
  await editor.load();
  await editor.open("broken.workflow.yaml");
  await until("squiggles", () => squiggles(editor));
  await editor.page.locator(".codelens-decoration a", { hasText: "Run" }).first().waitFor();
  await editor.goTo(5, 6);
  await editor.page.keyboard.press("Control+k");
  await editor.page.keyboard.press("Control+i");
  await editor.page.locator(".monaco-hover", { hasText: "blok" }).first().waitFor();
  await editor.shot("hover");
  await editor.page.keyboard.press("Escape");
  await editor.page.keyboard.press("Control+.");
  const fix = editor.page.locator(".action-widget .monaco-list-row.action", { hasText: "block" }).first();
  await fix.waitFor();
  await editor.shot("quick-fix");
  await editor.page.keyboard.press("Enter");
  await editor.page.keyboard.press("Control+s");
  await until("the fix in the file", () => read(folder, "broken.workflow.yaml").includes("    block: http"));
  said("a squiggle, its hover and its fix");
}

async function modeline(editor) {
  await editor.open("plain.yaml");
  await editor.page.locator(".statusbar-item", { hasText: "Interlock Workflow" }).first().waitFor();
  await until("squiggles by the modeline", () => squiggles(editor));
  said("a file with the modeline");
}

async function rename(editor, folder) {
  await editor.open("child.workflow.yaml");
  await editor.goTo(1, 13);
  await editor.page.keyboard.press("F2");
  const input = editor.page.locator(".rename-box input");
  await input.waitFor();
  await input.fill("child.two");
  await editor.page.keyboard.press("Enter");
  await until("the new name in both files", () => read(folder, "child.workflow.yaml").includes("child.two") && read(folder, "parent.workflow.yaml").includes("workflow: child.two"));
  said("a rename across two files");
}

async function graph(editor, folder) {
  await editor.clear();
  await editor.open("broken.workflow.yaml");
  await editor.command("Interlock: Show Graph");
  const frame = await editor.webview("#stage g.node");
  await until("the error on its node", () => frame.$('g.node.has-error[data-path="hold/inner"]'));
  await editor.shot("graph");
  await frame.locator('g.node[data-path="both/right/b"]').click();
  await until("the cursor at the step", () => editor.page.locator(".line-numbers.active-line-number", { hasText: /^2[23]$/ }).count());
  await until("the step marked", () => frame.$('g.node.current[data-path="both/right/b"]'));
  await editor.page.locator(".editor-instance .view-lines").first().click({ position: { x: 200, y: 40 } });
  await editor.goTo(7, 8);
  await until("the cursor's step marked", () => frame.$('g.node.current[data-path="hold"]'));
  await editor.goTo(7, 13);
  await editor.page.keyboard.type("er");
  await until("the edit in the picture", () => frame.$('g.node[data-path="holder"]'));
  await editor.page.keyboard.press("Control+z");
  await until("the edit undone in the picture", () => frame.$('g.node[data-path="hold"]'));
  await frame.locator("#stage").focus().catch(() => undefined);
  await frame.locator('g.node[tabindex="0"]').focus();
  await frame.locator('g.node[tabindex="0"]').press("Home");
  await frame.locator('g.node[tabindex="0"]').press("ArrowDown");
  await until("the second step by keyboard", () => frame.$('g.node.current[data-path="hold"]'));
  await frame.locator("#save").click();
  await editor.page.locator(".quick-input-widget input.input").waitFor({ state: "visible" });
  await editor.page.keyboard.press("Enter");
  await until("the saved picture", () => existsSync(join(folder, "broken.svg")));
  assert.match(read(folder, "broken.svg"), /^<svg [^>]*>.*has-error/s);
  said("the graph: drawn, clicked, marked by the cursor, edited, walked by keyboard, saved");
}

async function long(editor) {
  await editor.clear();
  await editor.open("long.workflow.yaml");
  await editor.command("Interlock: Show Graph");
  const frame = await editor.webview('#stage g.node[data-path="s299"]');
  const time = await frame.locator("#stage").getAttribute("data-drawn");
  await editor.shot("long");
  said(`300 steps drawn in ${time} ms`);
}

async function run(editor, folder) {
  await editor.clear();
  await editor.open("publish.workflow.yaml");
  await editor.page.locator(".codelens-decoration a", { hasText: "Run" }).first().click();
  const form = await editor.webview("form #run");
  await form.locator('[data-name="page"]').fill("news");
  await form.locator('[data-name="copies"]').fill("many");
  await form.locator('[data-name="secret:E2E_TOKEN"]').fill("swordfish");
  await form.locator("#run").click();
  await until("the problem in the form", () => form.locator(".problem", { hasText: "copies" }).count());
  await editor.shot("form");
  await form.locator('[data-name="copies"]').fill("2");
  await form.locator("#run").click();
  const asked = editor.notification("waits for your decision");
  await asked.waitFor();
  const frame = await editor.webview('#stage g.node[data-path="ask"]');
  await until("the waiting step painted", () => frame.$('g.node.is-waiting[data-path="ask"]'));
  await editor.page.locator('.activitybar .action-item a[aria-label^="Interlock"]').first().click();
  const row = editor.page.locator('.monaco-list-row[aria-label^="publish,"]').first();
  await row.waitFor();
  await row.locator(".monaco-tl-twistie").click();
  await editor.page.locator('.monaco-list-row[aria-label^="ask,"]').first().waitFor();
  await editor.page.locator('.monaco-list-row[aria-label^="page:news,"]').first().waitFor();
  await editor.shot("run");
  await asked.locator(".monaco-button", { hasText: "Approve" }).click();
  await editor.notification("publish completed").waitFor();
  await until("the items painted", () => frame.$('g.node.is-settled[data-path="each/write"]'));
  await until("the skipped step painted", () => frame.$('g.node.is-skipped[data-path="undo"]'));
  await editor.page.locator('.monaco-list-row[aria-label^="Completed,"]').first().waitFor();
  await editor.shot("done");
  await editor.command("Preferences: Toggle between Light/Dark Themes");
  await editor.page.locator(".monaco-workbench.vs-dark").waitFor();
  await sleep(1000);
  await editor.shot("dark");
  for (const name of ["state.db", "state.db-wal"]) {
    const path = join(folder, ".interlock", name);
    if (existsSync(path)) assert.ok(!readFileSync(path).includes("swordfish"), `the secret stands in ${name}`);
  }
  said("a run to its end, with a form and a decision on the way, seen in the view");
}

async function explain(editor) {
  await editor.clear();
  await editor.open("plain.yaml");
  await editor.goTo(3, 2);
  await editor.command("Interlock: Explain Rule Under the Cursor");
  await editor.webview("h1:has-text('IL103')");
  await editor.shot("explain");
  said("a rule explained");
}

/** Where there is no program: an environment that cannot be made, and one that can. */
async function makes(editor, wanted) {
  await editor.load();
  await editor.open("broken.workflow.yaml");
  const offer = editor.notification("was not found");
  await offer.waitFor();
  await editor.shot("offer");
  await offer.locator(".monaco-button", { hasText: "Make an Environment" }).click();
  await until("what went wrong is said", () => editor.notification("could not be made").count(), 120_000);
  await editor.shot("not-made");
  editor.set({ "security.workspace.trust.enabled": false, "interlock.package": wanted });
  await sleep(500);
  await editor.load();
  await offer.locator(".monaco-button", { hasText: "Make an Environment" }).click();
  await until("squiggles by the program that was installed", () => squiggles(editor), 200_000);
  said("an environment made, and first one that could not be");
}

/** Begins with an editor of its own, and ends it whatever happens. */
async function within(name, settings, path, tests) {
  const { base, folder } = prepare();
  const editor = await startEditor({
    tools, vsix: resolve("interlock-workflows.vsix"), folder, home: join(base, "home"), path, shots: resolve("out/e2e"),
    settings: { ...SETTINGS, ...settings },
  });
  try {
    await tests(editor, folder);
    said(`${name}: all done`);
  } catch (error) {
    console.error(error, editor.log());
    await editor.shot(`failed-${name}`).catch(() => undefined); // the browser may be gone
    process.exitCode = 1;
  } finally {
    await editor.stop();
    rmSync(base, { recursive: true, force: true });
  }
}

const SETTINGS = {
  "workbench.startupEditor": "none", "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.banner": "never",
  "telemetry.telemetryLevel": "off", "workbench.tips.enabled": false, "files.refactoring.autoSave": true, "extensions.ignoreRecommendations": true,
  "chat.commandCenter.enabled": false, "workbench.secondarySideBar.defaultVisibility": "hidden", "editor.minimap.enabled": false,
};
rmSync("out/e2e", { recursive: true, force: true });
const wanted = process.env.INTERLOCK_E2E_PACKAGE; // what pip installs; only this part is done then
if (wanted !== undefined) {
  const settings = { "security.workspace.trust.enabled": false, "interlock.package": join(tmpdir(), "no-such-wheel.whl") };
  await within("environment", settings, "/nowhere", (editor) => makes(editor, wanted));
} else {
  await within("editor", {}, programs, async (editor, folder) => {
    await untrusted(editor);
    await checks(editor, folder);
    await modeline(editor);
    await rename(editor, folder);
    await graph(editor, folder);
    await long(editor);
    await explain(editor);
    await run(editor, folder);
  });
}
