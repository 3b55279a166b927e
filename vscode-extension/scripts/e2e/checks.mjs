// Checking: what is shown in a workspace that nobody trusts, diagnostics, fixes, renames, the pages of rules.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { said, squiggles, until } from "./editor.mjs";

const read = (folder, name) => readFileSync(join(folder, name), "utf8");
const lens = (editor, text) => editor.page.locator(".codelens-decoration a", { hasText: text }).first();

/** Only diagnostics until the workspace is trusted, and everything once it is. */
export async function trust(editor) {
  await editor.load();
  await editor.open("broken.workflow.yaml");
  await until("squiggles in an untrusted workspace", () => squiggles(editor));
  await lens(editor, "references").waitFor();
  assert.equal(await editor.page.locator(".codelens-decoration a", { hasText: "Run" }).count(), 0);
  assert.equal(await editor.page.locator('.editor-actions .action-label[aria-label^="Show Graph"]').count(), 0);
  await editor.view();
  await editor.page.locator(".sidebar .welcome-view", { hasText: "trust this workspace" }).waitFor();
  await editor.pick(">Interlock:", "F1");
  await editor.page.locator('.quick-input-list .monaco-list-row[aria-label^="Interlock: Show Log"]').waitFor();
  for (const name of ["Show Graph", "Run Workflow", "Make an Environment"])
    assert.equal(await editor.page.locator(`.quick-input-list .monaco-list-row[aria-label^="Interlock: ${name}"]`).count(), 0, name);
  await editor.page.keyboard.press("Escape");
  await editor.shot("untrusted");
  await editor.command("Workspaces: Manage Workspace Trust");
  await editor.page.locator(".workspace-trust-editor .monaco-button", { hasText: "Trust" }).first().click();
  await editor.open("broken.workflow.yaml");
  await lens(editor, "Run").waitFor();
  said("an untrusted workspace shows diagnostics and executes nothing; trusting it is enough for the rest");
}

export async function mends(editor, folder) {
  await editor.goTo(5, 6);
  await editor.page.keyboard.press("Control+k");
  await editor.page.keyboard.press("Control+i");
  const hover = editor.page.locator(".monaco-hover", { hasText: "blok" }).first();
  await hover.locator(".action", { hasText: "Quick Fix" }).waitFor();
  await editor.shot("hover", true);
  await hover.locator("a.code-link").click();
  await editor.webview("h1:has-text('IL103')");
  await editor.closeTab("IL103");
  await editor.goTo(5, 6);
  await editor.page.keyboard.press("Control+.");
  await editor.page.locator(".action-widget .monaco-list-row.action", { hasText: 'Change it to "block"' }).first().waitFor();
  await editor.shot("quick-fix");
  await editor.page.keyboard.press("Enter");
  await until("the fix in the text", () => editor.page.locator(".view-line", { hasText: "block:" }).count());
  await editor.page.keyboard.press("Control+s");
  await until("the fix in the file", () => read(folder, "broken.workflow.yaml").includes("    block: http"));
  said("a squiggle, its hover with the page of the rule, and its fix");
}

/** A file by the workspace's settings, another by its modeline; and what another extension says about YAML is not said again of workflows. */
export async function modeline(editor) {
  await editor.open("flow-named.yaml");
  await editor.page.locator(".statusbar-item", { hasText: "Interlock Workflow" }).first().waitFor();
  await until("squiggles by the settings", () => squiggles(editor));
  await editor.open("other.yaml");
  await until("what the other extension finds in plain YAML", () => squiggles(editor));
  await editor.open("plain.yaml");
  await editor.page.locator(".statusbar-item", { hasText: "Interlock Workflow" }).first().waitFor();
  await until("squiggles by the modeline", () => squiggles(editor));
  await editor.goTo(3, 10);
  await editor.page.keyboard.type("]");
  await editor.command("View: Focus Problems");
  const sources = editor.page.locator(".markers-panel .monaco-list-row .marker-source");
  await until("what both extensions find", async () => {
    const texts = await sources.allTextContents();
    return texts.some((one) => one.startsWith("YAML")) && texts.some((one) => one.startsWith("interlock"));
  });
  await editor.page.locator(".viewpane-filter input").first().fill("plain.yaml");
  await until("only what is found in the file with the modeline", async () => {
    const texts = await sources.allTextContents();
    return texts.length > 0 && texts.every((one) => one.startsWith("interlock"));
  });
  await editor.shot("problems");
  await editor.page.locator(".viewpane-filter input").first().fill("");
  await editor.command("View: Hide Panel");
  await editor.command("File: Revert File");
  said("files with the modeline and named by interlock.toml, beside an extension for YAML: nothing twice");
}

export async function rename(editor, folder) {
  await editor.open("child.workflow.yaml");
  await lens(editor, "Run").waitFor();
  await editor.goTo(1, 13);
  await editor.page.keyboard.press("F2");
  const input = editor.page.locator(".rename-box input");
  await input.waitFor();
  await input.fill("child.two");
  await editor.page.keyboard.press("Enter");
  await until("the new name in both files", () => read(folder, "child.workflow.yaml").includes("child.two") && read(folder, "parent.workflow.yaml").includes("workflow: child.two"));
  said("a rename across two files");
}

export async function explain(editor) {
  await editor.clear();
  await editor.open("plain.yaml");
  await until("squiggles", () => squiggles(editor));
  await editor.goTo(3, 2);
  await editor.command("Interlock: Explain Rule Under the Cursor");
  await editor.webview("h1:has-text('IL103')");
  await editor.shot("explain");
  said("a rule explained");
}

/** The first steps: each is done by its own button, also where no editor is open. */
export async function walkthrough(editor) {
  await until("the program found", () => editor.log().includes("found on the PATH"));
  await editor.clear();
  const see = async () => {
    await editor.command("Welcome: Open Walkthrough...");
    await editor.choose("First steps with Interlock");
  };
  await see();
  const step = (name) => editor.page.locator(".getting-started-step", { hasText: name }).first();
  const ticked = (name) => until(`the step "${name}" done`, async () => (await step(name).locator(".codicon-getting-started-step-checked").count()) === 1);
  const press = async (name, button) => {
    await editor.retried(async () => {
      if ((await step(name).getAttribute("aria-expanded")) !== "true") await step(name).click({ timeout: 5000 });
      await step(name).locator(".monaco-button", { hasText: button }).waitFor({ timeout: 5000 });
    });
    await editor.shot(`walkthrough-${button}`);
    await step(name).locator(".monaco-button", { hasText: button }).click();
  };
  await ticked("Get the program");
  await press("Write a workflow", "New Workflow");
  await editor.page.locator(".editor-group-container.active .view-line", { hasText: "workflow: name" }).waitFor();
  await editor.shot("new");
  await editor.command("View: Revert and Close Editor");
  await see();
  await ticked("Write a workflow");
  await press("See it drawn", "Show Graph");
  await editor.choose("publish");
  await editor.webview('#stage g.node[data-path="ask"]');
  await see();
  await ticked("See it drawn");
  await press("Run it", "Run Workflow");
  await editor.choose("publish");
  await editor.webview("form #run");
  await editor.closeTab("Run publish");
  await see();
  await ticked("Run it");
  await editor.shot("walkthrough");
  said("the walkthrough: every step done by its button");
}
