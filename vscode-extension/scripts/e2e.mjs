// End to end, in VS Code itself (as code-server) with Debian's Chromium: what a person does on the first day.
// Screenshots go to out/e2e, with --pictures those of the README to images/ too; a word after it names the one
// part to do. Exits with 0 and says so where the editor cannot be had.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { explain, mends, modeline, rename, trust, walkthrough } from "./e2e/checks.mjs";
import { said, startEditor } from "./e2e/editor.mjs";
import { files } from "./e2e/files.mjs";
import { graph, long } from "./e2e/graph.mjs";
import { another, makes, order, restarts } from "./e2e/program.mjs";
import { desk, run } from "./e2e/runs.mjs";
import { startService } from "./e2e/service.mjs";
import { packYaml } from "./e2e/yaml.mjs";

const tools = resolve(process.env.INTERLOCK_E2E ?? ".e2e");
const programs = resolve(process.env.INTERLOCK_BIN ?? "../.venv/bin");
const words = process.argv.slice(2);
const pictures = words.includes("--pictures") ? resolve("images") : undefined;
const part = words.find((one) => !one.startsWith("--"));

const SETTINGS = {
  "workbench.startupEditor": "none", "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.banner": "never",
  "telemetry.telemetryLevel": "off", "workbench.tips.enabled": false, "files.refactoring.autoSave": true, "extensions.ignoreRecommendations": true,
  "chat.commandCenter.enabled": false, "workbench.secondarySideBar.defaultVisibility": "hidden", "editor.minimap.enabled": false,
  "remote.autoForwardPorts": false, "files.autoSave": "off",
};

function prepare() {
  const setup = spawnSync("bash", ["scripts/e2e/setup.sh", tools], { stdio: ["ignore", "inherit", "inherit"] });
  if (setup.status !== 0) {
    said("skipped: the editor cannot be had on this machine.");
    process.exit(0);
  }
  if (!existsSync(join(programs, "interlock"))) throw new Error(`There is no interlock in ${programs}; run make first.`);
  const packed = spawnSync(process.execPath, ["scripts/package.mjs"], { encoding: "utf8" });
  if (packed.status !== 0) throw new Error(`The extension could not be packed: ${packed.stdout}${packed.stderr}`);
  said(packed.stdout.trim().split("\n").at(-1));
}

/** Does a part in an editor of its own, and ends that whatever happens. */
async function within(name, options, tests) {
  if (part !== undefined && part !== name) return;
  const base = mkdtempSync(join(tmpdir(), "interlock-e2e-"));
  const [folder, home] = [join(base, "shop"), join(base, "home")];
  for (const one of [folder, home]) mkdirSync(one);
  const service = await startService();
  let editor;
  try {
    for (const [file, text] of Object.entries(files(service.address))) writeFileSync(join(folder, file), text);
    const { settings, path, vsix } = await options(base);
    editor = await startEditor({
      tools, folder, home, path, pictures, shots: resolve("out/e2e"), vsix: [resolve("interlock-workflows.vsix"), ...(vsix ?? [])], settings: { ...SETTINGS, ...settings },
    });
    await tests(editor, folder);
    said(`${name}: all done`);
  } catch (error) {
    console.error(error, editor?.log());
    await editor?.shot(`failed-${name}`).catch(() => undefined); // the browser may be gone
    process.exitCode = 1;
  } finally {
    await editor?.stop();
    service.stop();
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  }
}

prepare();
rmSync("out/e2e", { recursive: true, force: true });
for (const one of ["out/e2e", ...(pictures ? [pictures] : [])]) mkdirSync(one, { recursive: true });
await within("editor", async (base) => ({ path: programs, vsix: [await packYaml(tools, base)] }), async (editor, folder) => {
  await trust(editor);
  await mends(editor, folder);
  await modeline(editor);
  await rename(editor, folder);
  await graph(editor, folder);
  await long(editor);
  await explain(editor);
  await restarts(editor, folder);
  await order(editor, folder, programs);
});
const trusted = { "security.workspace.trust.enabled": false };
await within("runs", () => ({ path: programs, settings: trusted }), async (editor, folder) => {
  await editor.load();
  await run(editor, folder);
  await desk(editor, folder, programs);
});
// The editor takes note of steps done before the walkthrough is seen where it shows its page of welcome at the start.
await within("walkthrough", () => ({ path: programs, settings: { ...trusted, "workbench.startupEditor": "welcomePage" } }), async (editor) => {
  await editor.load();
  await walkthrough(editor);
});
const missing = join(tmpdir(), "no-such-wheel.whl");
await within("environment", (base) => ({ path: another(base), settings: { ...trusted, "interlock.package": missing } }), (editor) => makes(editor));
