// A real editor for the end-to-end test: code-server with the .vsix installed, a browser on it, and the verbs
// that a person has: open a file, run a command, look into a webview.
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-gpu", "--disable-dev-shm-usage"];

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Starts it all. `home` is an empty folder for what the editor writes, `path` goes before PATH. */
export async function startEditor({ tools, vsix, folder, home, settings, path, shots }) {
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
  const env = { ...process.env, PATH: `${path}:${process.env.PATH}`, HOME: home };
  const installed = spawnSync(process.execPath, [...common, "--install-extension", vsix], { env, encoding: "utf8" });
  if (installed.status !== 0) throw new Error(`The extension could not be installed: ${installed.stdout}${installed.stderr}`);
  const port = await freePort();
  const server = spawn(process.execPath, [...common, "--auth", "none", "--disable-telemetry", "--disable-update-check", "--bind-addr", `127.0.0.1:${port}`], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let said = "";
  for (const out of [server.stdout, server.stderr]) out.on("data", (text) => (said += text));
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(60_000);
  mkdirSync(shots, { recursive: true });
  const editor = new Editor(page, `http://127.0.0.1:${port}/?folder=${encodeURIComponent(resolve(folder))}`, shots, set);
  for (let tries = 0; !said.includes("HTTP server listening"); tries++) {
    if (tries > 300 || server.exitCode !== null) throw new Error(`code-server did not start: ${said}`);
    await sleep(100);
  }
  editor.user = user;
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
export async function until(what, ask, limit = 60_000) {
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

class Editor {
  constructor(page, url, shots, set) {
    Object.assign(this, { page, url, shots, set });
  }

  async load() {
    await this.page.goto(this.url);
    await this.page.waitForSelector(".monaco-workbench .part.statusbar");
    await this.page.waitForSelector(".explorer-folders-view .monaco-list-row");
  }

  /** What the extension wrote into its log. */
  log() {
    const found = [];
    const folder = join(this.user, "logs");
    for (const name of existsSync(folder) ? readdirSync(folder, { recursive: true }) : [])
      if (/-Interlock( Runs)?\.log$/.test(name)) found.push(`${name}:\n${readFileSync(join(folder, name), "utf8")}`);
    return found.join("\n");
  }

  async shot(name) {
    await this.page.mouse.move(700, 899); // no tooltip in the picture
    await sleep(300);
    return this.page.screenshot({ path: join(this.shots, `${name}.png`) });
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
