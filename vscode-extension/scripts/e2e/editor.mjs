// A real editor for the end-to-end test: code-server with the .vsix installed, a browser on it, and the verbs
// that a person has: open a file, run a command, look into a webview.
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-gpu", "--disable-dev-shm-usage"];

/** How long anything may take: only a broken editor needs it, a busy machine is waited for. */
const LIMIT = 120_000;

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/**
 * Starts it all. `vsix` are the extensions to install, `home` is an empty folder for what the editor writes,
 * `path` goes before PATH, `pictures` is where those of the documentation go, if they are wanted.
 */
export async function startEditor({ tools, vsix, folder, home, settings, path, shots, pictures }) {
  const require = createRequire(join(tools, "package.json"));
  const { chromium } = require("playwright-core");
  const entry = join(tools, "node_modules/code-server/out/node/entry.js");
  const [config, user, extensions] = ["config.yaml", "user", "extensions"].map((name) => join(home, name));
  for (const name of ["User", "Machine"]) mkdirSync(join(user, name), { recursive: true });
  writeFileSync(config, "");
  // The editor asks a login shell for its environment, which sets PATH anew.
  for (const name of [".profile", ".bashrc"]) writeFileSync(join(home, name), `export PATH="${path}:$PATH"\n`);
  // Settings of the machine are read from a file of their own; those that it does not take it leaves alone.
  const set = (more) => {
    for (const name of ["User", "Machine"]) writeFileSync(join(user, name, "settings.json"), JSON.stringify({ ...settings, ...more }));
  };
  set({});
  const common = [entry, "--config", config, "--user-data-dir", user, "--extensions-dir", extensions];
  const rest = (process.env.PATH ?? "").split(":").filter((one) => !existsSync(join(one, "interlock")));
  const env = { ...process.env, PATH: [path, ...rest].join(":"), HOME: home };
  const installed = spawnSync(process.execPath, [...common, ...vsix.flatMap((one) => ["--install-extension", one])], { env, encoding: "utf8" });
  if (installed.status !== 0) throw new Error(`The extensions could not be installed: ${installed.stdout}${installed.stderr}`);
  const port = await freePort();
  const server = spawn(process.execPath, [...common, "--auth", "none", "--disable-telemetry", "--disable-update-check", "--bind-addr", `127.0.0.1:${port}`], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let said = "";
  for (const out of [server.stdout, server.stderr]) out.on("data", (text) => (said += text));
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  mkdirSync(shots, { recursive: true });
  const editor = new Editor(page, `http://127.0.0.1:${port}/?folder=${encodeURIComponent(resolve(folder))}`, shots, set);
  editor.pictures = pictures && { folder: pictures, upng: require("upng-js") };
  for (let tries = 0; !said.includes("HTTP server listening"); tries++) {
    if (tries * 100 > LIMIT || server.exitCode !== null) throw new Error(`code-server did not start: ${said}`);
    await sleep(100);
  }
  Object.assign(editor, { user, home });
  editor.stop = async () => {
    await browser.close();
    try {
      process.kill(-server.pid);
    } catch {
      // it has ended by itself
    }
  };
  return editor;
}

export const sleep = (time) => new Promise((done) => setTimeout(done, time));

/** Waits until something is so; its last answer is what is returned. */
export async function until(what, ask, limit = LIMIT) {
  const end = Date.now() + limit;
  for (let error; ; ) {
    try {
      const found = await ask();
      if (found) return found;
    } catch (caught) {
      error = caught;
    }
    if (Date.now() > end) throw new Error(`It did not happen: ${what}${error ? ` (${error.message})` : ""}`);
    await sleep(150);
  }
}

export const said = (words) => console.log(`e2e: ${words}`);

export const squiggles = (editor) => editor.page.locator(".editor-group-container.active .squiggly-error").count();

class Editor {
  constructor(page, url, shots, set) {
    Object.assign(this, { page, url, shots, set });
  }

  async load() {
    await this.page.goto(this.url);
    await this.page.waitForSelector(".monaco-workbench .part.statusbar");
    await this.page.waitForSelector(".explorer-folders-view .monaco-list-row");
  }

  /** Opens the window anew, with what it remembers. */
  async reload() {
    await this.page.evaluate(() => (window.before = true));
    await this.command("Developer: Reload Window");
    await until("a new window", () => this.page.evaluate(() => window.before === undefined && document.querySelector(".monaco-workbench .part.statusbar") !== null));
  }

  /** What the extension wrote into its log. */
  log() {
    const found = [];
    const folder = join(this.user, "logs");
    for (const name of existsSync(folder) ? readdirSync(folder, { recursive: true }) : [])
      if (/-Interlock( Runs)?\.log$/.test(name)) found.push(`${name}:\n${readFileSync(join(folder, name), "utf8")}`);
    return found.join("\n");
  }

  /** Keeps a picture of the window; one for the documentation too, where those are wanted. */
  async shot(name, documentation = false) {
    await this.page.mouse.move(700, 899); // no tooltip in the picture
    await this.page.evaluate(() => Promise.all(document.getAnimations().filter((one) => one.effect?.getComputedTiming().endTime < 1e4).map((one) => one.finished.catch(() => undefined))));
    const png = await this.page.screenshot({ path: join(this.shots, `${name}.png`) });
    if (!documentation || !this.pictures) return;
    const { upng, folder } = this.pictures;
    const { width, height } = upng.decode(png);
    writeFileSync(join(folder, `${name}.png`), Buffer.from(upng.encode([upng.toRGBA8(upng.decode(png))[0]], width, height, 256)));
  }

  async pick(text, key) {
    await this.page.keyboard.press(key);
    const input = this.page.locator(".quick-input-widget input.input");
    await input.waitFor({ state: "visible" });
    await input.fill(text);
  }

  async open(name) {
    // By the explorer: quick open needs a program for searching that code-server may not have here.
    await this.command("View: Show Explorer");
    await this.page.locator(`.explorer-folders-view .monaco-list-row[aria-label^="${name}"]`).first().dblclick();
    await this.page.locator(`.tab.active[aria-label*="${name}"]`).first().waitFor();
    await this.page.locator(".editor-group-container.active .view-lines").waitFor();
  }

  async command(title) {
    await this.pick(`>${title}`, "F1");
    await this.page.locator(`.quick-input-list .monaco-list-row[aria-label^="${title}"]`).first().click();
  }

  /** A line of the tree in the side bar, by how its label begins. */
  row(label) {
    return this.page.locator(`.sidebar .monaco-list-row[aria-label^="${label}"]`).first();
  }

  /** Waits until the tree has no such line any more: until then the lines below it will move. */
  async gone(label) {
    await until(`no line ${label}`, async () => (await this.row(label).count()) === 0);
  }

  /** Uses one of the buttons that a line of the tree has. */
  async press(label, action) {
    await this.retried(async () => {
      await this.row(label).hover({ timeout: 5000 });
      await this.row(label).locator(`.actions .action-label[aria-label="${action}"]`).click({ timeout: 5000 });
    });
  }

  /** Chooses from the menu of a line of the tree. */
  async menu(label, action) {
    await this.retried(async () => {
      await this.page.keyboard.press("Escape");
      await this.row(label).click({ button: "right", timeout: 5000 });
      // By the keyboard: a menu takes no click for a moment after it has opened.
      const item = this.page.locator(".monaco-menu .action-menu-item", { hasText: action }).first();
      await item.hover({ timeout: 5000 });
      await this.page.keyboard.press("Enter");
      await item.waitFor({ state: "hidden", timeout: 5000 });
    });
  }

  /** Does something again that the window may have interrupted by drawing itself anew. */
  async retried(act, limit = LIMIT) {
    let last;
    await until("what was tried several times", () => act().then(() => true, (error) => void (last = error)), limit).catch(() => {
      throw last;
    });
  }

  /** Fills in the input box at the top, or chooses the line there that has the text. */
  async fill(text) {
    const input = this.page.locator(".quick-input-widget input.input");
    await input.waitFor({ state: "visible" });
    await input.fill(text);
    await this.page.keyboard.press("Enter");
  }

  async choose(text, timeout = LIMIT) {
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first().click({ timeout });
  }

  /** Shows the view of runs. */
  async view() {
    await this.command("View: Show Interlock");
    await this.page.locator(".sidebar .title-label", { hasText: "Interlock" }).waitFor();
  }

  /** Closes the tab whose name has the text. */
  async closeTab(text) {
    const tab = this.page.locator(".tab", { hasText: text });
    await this.retried(async () => {
      await tab.first().hover({ timeout: 5000 });
      await tab.first().locator(".codicon-close").first().click({ timeout: 5000 });
    });
    await until("the tab closed", async () => (await tab.count()) === 0);
  }

  /** Closes everything that is open. */
  async clear() {
    await this.command("View: Close All Editors");
    await until("no editors", async () => (await this.page.locator(".tab").count()) === 0);
  }

  /** Puts the cursor there; both count from 1. */
  async goTo(line, column) {
    await this.pick(`:${line}:${column}`, "Control+g");
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: `line ${line}` }).first().waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  /** The page inside a webview that has such an element. */
  webview(selector) {
    return until(`a webview with ${selector}`, async () => {
      for (const frame of this.page.frames()) {
        try {
          if (await frame.$(selector)) return frame;
        } catch {
          // it went away meanwhile
        }
      }
      return undefined;
    });
  }

  notification(text) {
    return this.page.locator(".notification-list-item", { hasText: text }).first();
  }
}
