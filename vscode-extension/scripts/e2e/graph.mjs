// The graph: drawn, clicked, followed, walked by keyboard, saved; and that its page lets nothing in.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { said, until } from "./editor.mjs";

const line = (editor, wanted) => until(`the cursor in line ${wanted}`, () => editor.page.locator(".line-numbers.active-line-number", { hasText: wanted }).count());

export async function graph(editor, folder) {
  await editor.clear();
  await editor.open("broken.workflow.yaml");
  await editor.command("Interlock: Show Graph");
  const frame = await editor.webview("#stage g.node");
  await until("the error on its node", () => frame.$('g.node.has-error[data-path="hold/inner"]'));
  await editor.shot("graph", true);
  await closed(frame);
  await frame.locator('g.node[data-path="both/right/b"]').click();
  await line(editor, /^2[56]$/);
  await until("the step marked", () => frame.$('g.node.current[data-path="both/right/b"]'));
  await editor.page.locator(".editor-instance .view-lines").first().click({ position: { x: 200, y: 40 } });
  await editor.goTo(7, 8);
  await until("the cursor's step marked", () => frame.$('g.node.current[data-path="hold"]'));
  await editor.goTo(7, 13);
  await editor.page.keyboard.type("er");
  await until("the edit in the picture", () => frame.$('g.node[data-path="holder"]'));
  await editor.page.keyboard.press("Control+z");
  await until("the edit undone in the picture", () => frame.$('g.node[data-path="hold"]'));
  const stop = frame.locator('g.node[tabindex="0"]');
  await stop.focus();
  await stop.press("Home");
  await stop.press("ArrowDown");
  await until("the second step by keyboard", () => frame.$('g.node.current[data-path="hold"]'));
  await stop.press("ArrowDown");
  await stop.press("Enter");
  await line(editor, /^11$/);
  await sight(editor, frame);
  await frame.locator("#save").click();
  await editor.page.locator(".quick-input-widget input.input").waitFor({ state: "visible" });
  await editor.page.keyboard.press("Enter");
  await until("the saved picture", () => existsSync(join(folder, "broken.svg")));
  assert.match(readFileSync(join(folder, "broken.svg"), "utf8"), /^<svg [^>]*>.*has-error/s);
  said("the graph: drawn, clicked, marked by the cursor, edited, walked by keyboard, zoomed, saved");
}

/** Zooming, pushing and fitting. */
async function sight(editor, frame) {
  const where = () => frame.locator("#stage svg > g").getAttribute("transform");
  const changes = async (what, act) => {
    const before = await where();
    await act();
    await until(what, async () => (await where()) !== before);
  };
  await changes("larger", () => frame.locator("#in").click());
  await frame.locator("#stage").hover();
  await changes("pushed by the wheel", () => editor.page.mouse.wheel(0, 40));
  await changes("smaller by the keyboard", () => frame.locator("#stage").press("-"));
  await changes("everything again", () => frame.locator("#fit").click());
}

/** Nothing from outside gets into the page: what it tries is a violation of its policy. */
async function closed(frame) {
  const refused = await frame.evaluate(async () => {
    const found = [];
    document.addEventListener("securitypolicyviolation", (event) => found.push(event.effectiveDirective));
    const image = document.createElement("img");
    image.src = "https://example.invalid/x.png";
    const script = document.createElement("script");
    script.textContent = "window.entered = true";
    document.body.append(image, script);
    await fetch("https://example.invalid/").catch(() => undefined);
    await new Promise((done) => setTimeout(done, 0));
    image.remove();
    script.remove();
    return { found, entered: window.entered === true };
  });
  for (const kind of ["connect-src", "img-src", "script-src-elem"]) assert.ok(refused.found.includes(kind), `${kind} in ${refused.found}`);
  assert.equal(refused.entered, false);
}

/** A long workflow; and the graph is there again when the window is opened anew. */
export async function long(editor) {
  await editor.clear();
  await editor.open("long.workflow.yaml");
  const lens = editor.page.locator(".codelens-decoration a", { hasText: "Graph" }).first();
  await lens.waitFor();
  const began = performance.now();
  await lens.click();
  const frame = await editor.webview("#stage");
  await frame.waitForSelector('g.node[data-path="s299"]');
  const opened = Math.round(performance.now() - began);
  // What comes before the page asks for its script is the editor's own: any other page takes as long.
  const own = await frame.evaluate(() => {
    const script = performance.getEntriesByType("resource").find((one) => one.name.endsWith("graph.js"));
    return Math.round(performance.now() - script.startTime);
  });
  const drawn = Math.round(Number(await frame.locator("#stage").getAttribute("data-drawn")));
  await editor.goTo(302, 11);
  await until("the last step marked", () => frame.$('g.node.current[data-path="s299"]'));
  await editor.page.keyboard.type("x");
  const typed = performance.now();
  await frame.waitForSelector('g.node[data-path="sx299"]');
  const followed = Math.round(performance.now() - typed);
  await editor.page.keyboard.press("Control+z");
  await editor.shot("long");
  said(`300 steps: ${drawn} ms to draw, ${opened} ms from a click to the picture in a new panel (${own} ms of them since it asked for its script), ${followed} ms from an edit`);
  await editor.reload();
  const again = await editor.webview('#stage g.node[data-path="s299"]');
  await editor.open("long.workflow.yaml");
  await editor.goTo(5, 9);
  await until("the graph follows the cursor again", () => again.$('g.node.current[data-path="s2"]'));
  said("the graph comes back with the window");
}
